"""Merged rows and the draw of the validation set."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pessimal.estimators.rows import Rows, distinct, draw_validation
from pessimal.estimators.scaling import Scaling


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
    drawn = draw_validation(y, share, np.random.RandomState(seed))
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
