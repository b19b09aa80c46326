"""The two scalings differ in one thing: whether the test rows take part."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.preprocessing import StandardScaler

from pessimal.datasets import (
    Split,
    load_cancer,
    load_diabetes,
    paper_split,
    split,
    standardize_all_rows,
    standardize_on_tuning_rows,
)
from pessimal.errors import InvalidInputError


@pytest.fixture
def raw() -> Split:
    data = load_diabetes()
    return split(data.X, data.y, 20, 15, seed=2)


def test_scaling_all_rows_agrees_with_scikit_learn() -> None:
    X = load_diabetes().X
    np.testing.assert_allclose(standardize_all_rows(X), StandardScaler().fit_transform(X))


def test_scaling_all_rows_gives_the_pinned_numbers() -> None:
    first_row = standardize_all_rows(load_cancer().X)[0]
    expected = [-0.132115, -0.992321, -1.043323, -0.870426, -0.766047]
    np.testing.assert_allclose(first_row[:5], expected, atol=1e-6)


def test_scaling_on_tuning_rows_agrees_with_scikit_learn(raw: Split) -> None:
    scaler = StandardScaler().fit(np.vstack([raw.X_train, raw.X_val]))
    scaled = standardize_on_tuning_rows(raw)
    np.testing.assert_allclose(scaled.X_train, scaler.transform(raw.X_train))
    np.testing.assert_allclose(scaled.X_val, scaler.transform(raw.X_val))
    np.testing.assert_allclose(scaled.X_test, scaler.transform(raw.X_test))


def test_scaling_on_tuning_rows_does_not_look_at_test_rows(raw: Split) -> None:
    other_test = replace(raw, X_test=1000.0 - 7.0 * raw.X_test)
    scaled, scaled_other = map(standardize_on_tuning_rows, (raw, other_test))
    np.testing.assert_array_equal(scaled.X_train, scaled_other.X_train)
    np.testing.assert_array_equal(scaled.X_val, scaled_other.X_val)


def test_scaling_on_tuning_rows_treats_equal_rows_equally(raw: Split) -> None:
    scaled = standardize_on_tuning_rows(replace(raw, X_test=raw.X_train))
    np.testing.assert_array_equal(scaled.X_test, scaled.X_train)


def test_scaling_leaves_labels_alone(raw: Split) -> None:
    scaled = standardize_on_tuning_rows(raw)
    np.testing.assert_array_equal(scaled.y_train, raw.y_train)
    np.testing.assert_array_equal(scaled.y_val, raw.y_val)
    np.testing.assert_array_equal(scaled.y_test, raw.y_test)


# The mean of equal numbers need not be that number in floating point; 0.1 is such a case.
@pytest.mark.parametrize("value", [0.0, 5.0, 0.1, 1e20])
def test_a_constant_column_becomes_zero(value: float) -> None:
    X = np.column_stack([np.full(11, value), np.arange(11.0)])
    scaled = standardize_all_rows(X)
    np.testing.assert_array_equal(scaled[:, 0], 0.0)
    assert scaled[:, 1].std() == pytest.approx(1.0)


def test_a_column_constant_on_tuning_rows_is_only_shifted(raw: Split) -> None:
    for part in (raw.X_train, raw.X_val):
        part[:, 0] = 3.0
    scaled = standardize_on_tuning_rows(raw)
    np.testing.assert_array_equal(scaled.X_test[:, 0], raw.X_test[:, 0] - 3.0)


def test_an_instance_of_the_paper_is_scaled_over_all_rows_then_split() -> None:
    data = load_cancer()
    instance = paper_split(data, 20, 15, seed=4)
    numbers = split(np.arange(449.0)[:, None], data.y, 20, 15, seed=4)
    scaled = StandardScaler().fit_transform(data.X)
    for part, rows in (
        (instance.X_train, numbers.X_train),
        (instance.X_val, numbers.X_val),
        (instance.X_test, numbers.X_test),
    ):
        np.testing.assert_allclose(part, scaled[rows.ravel().astype(int)])


@pytest.mark.parametrize("shape", [(3,), (0, 2), (2, 0)])
def test_what_is_no_table_is_refused(shape: tuple[int, ...]) -> None:
    with pytest.raises(InvalidInputError, match=r"X has shape .* table"):
        standardize_all_rows(np.zeros(shape))
