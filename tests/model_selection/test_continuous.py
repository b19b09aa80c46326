"""The best penalty of a range: a bound that no value of the range goes below."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression, Ridge, RidgeClassifier
from sklearn.svm import LinearSVC

from pessimal import near_optimal_set
from pessimal.errors import InvalidInputError
from pessimal.limits import AT_ONCE
from pessimal.model_selection import best_penalty


def drawn(seed: int, numbers: bool) -> tuple[Any, Any, Any, Any]:
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((90, 4))
    y = X @ [1.0, -0.5, 0.0, 0.0] + rng.standard_normal(90)
    y = y if numbers else (y > 0.0).astype(int)
    return X[:50], y[:50], X[50:], y[50:]


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(
    "estimator",
    [Ridge(), RidgeClassifier(), LogisticRegression(), LinearSVC()],
    ids=lambda estimator: type(estimator).__name__,
)
def test_no_value_of_a_fine_grid_is_below_the_bound(estimator: Any, seed: int) -> None:
    X, y, X_val, y_val = drawn(seed, isinstance(estimator, Ridge))
    best = best_penalty(estimator, X, y, X_val, y_val, low=1e-3, high=1e3, epsilon=0.05)
    assert 0.0 <= best.gap <= 0.01
    assert best.lower_bound <= best.worst.upper_bound
    for value in np.logspace(-3, 3, 60):
        estimator.set_params(**{best.parameter: value})
        members = near_optimal_set(estimator, X, y, epsilon=0.05)
        # Found is at most the worst case, and what is proved is above it.
        worst = members.worst(X_val, y_val, time_limit=AT_ONCE)
        assert worst.upper_bound >= best.lower_bound
        assert worst.value >= 0.99 * best.lower_bound
    estimator.set_params(**{best.parameter: best.value})
    again = near_optimal_set(estimator, X, y, epsilon=0.05).worst(X_val, y_val)
    assert again.value <= best.worst.upper_bound * (1.0 + 1e-6)


def test_fewer_cells_prove_less_and_nothing_wrong() -> None:
    data = drawn(0, True)
    few, many = (
        best_penalty(Ridge(), *data, low=1e-3, high=1e3, node_limit=n, gap=1e-3) for n in (3, 500)
    )
    assert few.lower_bound <= many.lower_bound <= few.worst.upper_bound
    assert few.gap > many.gap


def test_what_has_no_such_penalty_is_refused() -> None:
    data = drawn(0, False)
    with pytest.raises(InvalidInputError, match="parameter is None"):
        best_penalty(RandomForestClassifier(), *data, low=1.0, high=2.0)
    with pytest.raises(InvalidInputError, match="low and high"):
        best_penalty(LogisticRegression(), *data, low=2.0, high=1.0)
    with pytest.raises(InvalidInputError, match="pass a smooth loss"):
        best_penalty(LogisticRegression(), *data, low=1.0, high=2.0, loss="zero_one")
