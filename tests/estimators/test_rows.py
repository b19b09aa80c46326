"""Merged rows and the draw of the validation set."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from titanic import COUNTS, titanic

from pessimal.estimators import OptimisticSVC, PessimisticSVCCV
from pessimal.estimators.base import Scaling
from pessimal.estimators.split import Rows, distinct, divide, draw_validation
from pessimal.problem import Mask, Matrix, Vector


@given(
    negatives=st.integers(1, 12),
    positives=st.integers(1, 12),
    share=st.floats(0.01, 0.99),
    seed=st.integers(0, 5),
)
def test_the_draw_leaves_both_classes_to_train_on(
    negatives: int, positives: int, share: float, seed: int
) -> None:
    n = negatives + positives
    if n < 3:
        return
    y = np.repeat([-1.0, 1.0], [negatives, positives])
    rows = Rows(np.arange(float(n))[:, None], y, np.ones(n))
    drawn = draw_validation(rows, share, np.random.RandomState(seed)) > 0.0
    assert drawn.sum() == np.clip(round(share * n), 1, n - 2)
    assert set(y[~drawn]) == {-1.0, 1.0}
    if min(negatives, positives) > 1:
        possible = [c - 1 for c in (negatives, positives)]
        wanted = [drawn.sum() * c / n for c in (negatives, positives)]
        for count, most, exact in zip(
            [drawn[:negatives].sum(), drawn[negatives:].sum()], possible, wanted, strict=True
        ):
            assert count <= most
            assert abs(count - exact) <= 1.0 + max(0.0, *(np.subtract(wanted, possible)))


def test_equal_rows_become_one_with_the_sum_of_their_weights() -> None:
    X = np.array([[0.0, 1.0], [-0.0, 1.0], [0.0, 1.0], [5.0, 5.0]])
    rows = Rows(X, np.array([1.0, 1.0, -1.0, -1.0]), np.array([2.0, 3.0, 1.0, 0.0]))
    merged = distinct(rows, np.empty((4, 0), dtype=np.bool_))
    np.testing.assert_array_equal(merged.rows.y, [-1.0, 1.0])
    np.testing.assert_array_equal(merged.rows.weight, [1.0, 5.0])
    np.testing.assert_array_equal(merged.position, [1, 1, 0, -1])


def test_rows_in_different_sets_stay_apart() -> None:
    rows = Rows(np.zeros((3, 1)), np.ones(3), np.ones(3))
    merged = distinct(rows, np.array([[True], [False], [True]]))
    np.testing.assert_array_equal(merged.sets, [[False], [True]])
    np.testing.assert_array_equal(merged.rows.weight, [1.0, 2.0])


@pytest.mark.parametrize("scale", [1e-200, 1e-9, 1.0, 1e9, 1e200])
def test_scaling_is_undone_in_the_users_units(scale: float) -> None:
    random = np.random.default_rng(0)
    X = scale * (random.standard_normal((20, 3)) + 2.0)
    X[:, 2] = scale
    rows = Rows(X, np.ones(20), random.uniform(0.5, 2.0, 20))
    scaling = Scaling.of(rows)
    scaled = scaling.scaled(X)
    np.testing.assert_allclose(np.average(scaled, axis=0, weights=rows.weight), 0.0, atol=1e-12)
    np.testing.assert_allclose(
        np.average(scaled**2, axis=0, weights=rows.weight), [1.0, 1.0, 0.0], atol=1e-12
    )
    coef, intercept = scaling.in_user_units(np.array([0.3, -0.7, 0.9]), 0.2)
    np.testing.assert_allclose(X @ coef + intercept, scaled @ [0.3, -0.7, 0.9] - 0.2, atol=1e-9)


def drawn_rows(X: Matrix, y: Vector, share: float, seed: int) -> Mask:
    rows = Rows(X, y, np.ones(len(y)))
    merged = distinct(rows, np.empty((len(y), 0), dtype=np.bool_))
    drawn = draw_validation(merged.rows, share, np.random.RandomState(seed))
    divided = divide(merged, rows, drawn)
    in_val: Mask = divided.sets[divided.position, 0]
    for side in (False, True):
        assert divided.rows.weight[divided.sets[:, 0] == side].sum() == np.sum(in_val == side)
    np.testing.assert_array_equal(divided.rows.X[divided.position], X)
    np.testing.assert_array_equal(divided.rows.y[divided.position], y)
    return in_val


@pytest.mark.parametrize("share", [0.25, 0.5, 0.8])
@pytest.mark.parametrize("seed", range(4))
def test_a_table_of_few_categories_is_divided_in_size_and_classes(share: float, seed: int) -> None:
    X, y = titanic()
    in_val = drawn_rows(X, y, share, seed)
    assert in_val.sum() == pytest.approx(share * 2201, abs=20)
    assert np.sum(y[in_val] > 0.0) == pytest.approx(share * 711, abs=10)
    for rank, male, adult, *counts in COUNTS:
        cell = (np.array([rank, rank == 0, male, adult]) == X).all(axis=1)
        for survived, n in zip((1.0, -1.0), counts, strict=True):
            if sum(counts) > 0.02 * 2201:
                assert abs(np.sum(in_val & cell & (y == survived)) - share * n) <= 1.0


@given(multiplicity=st.lists(st.integers(1, 5), min_size=8, max_size=40), seed=st.integers(0, 3))
def test_equal_features_that_are_few_stay_together_whatever_their_labels(
    multiplicity: list[int], seed: int
) -> None:
    X = np.repeat(np.arange(float(len(multiplicity))), multiplicity)[:, None]
    y = np.where(np.arange(len(X)) % 3 == 0, 1.0, -1.0)
    in_val = drawn_rows(X, y, 0.5, seed)
    assert 0 < in_val.sum() < len(y)
    assert set(y[~in_val]) == {-1.0, 1.0}
    for value in range(len(multiplicity)):
        assert len(set(in_val[X[:, 0] == value])) == 1
    assert abs(in_val.sum() - len(y) / 2) <= max(multiplicity)


def test_a_weight_that_is_no_count_is_not_divided() -> None:
    rows = Rows(np.arange(4.0)[:, None], np.array([-1.0, 1.0, -1.0, 1.0]), np.array([9.5, 1, 1, 1]))
    drawn = draw_validation(rows, 0.5, np.random.RandomState(0))
    assert set(drawn / rows.weight) == {0.0, 1.0}


def test_copies_of_a_whole_table_are_no_reason_to_divide_its_rows() -> None:
    X = np.repeat(np.arange(6.0), 50)[:, None]
    in_val = drawn_rows(X, np.where(X[:, 0] % 2 == 0, 1.0, -1.0), 0.5, 0)
    assert in_val.sum() == 150
    assert all(len(set(in_val[X[:, 0] == value])) == 1 for value in range(6))


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("model", [OptimisticSVC(), PessimisticSVCCV(cv=2, max_boxes=1)])
def test_numpy_s_unique_which_turns_ctrl_c_into_a_type_error_is_not_asked_for_rows(
    model: OptimisticSVC | PessimisticSVCCV, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = np.unique

    def unique(*arguments: Any, **options: Any) -> Any:
        assert options.get("axis") is None
        return real(*arguments, **options)

    monkeypatch.setattr(np, "unique", unique)
    model.fit([[0.0], [0.0], [1.0], [2.0], [3.0], [3.0]], [0, 1, 0, 1, 0, 1])
