"""Members with many or few rows wrong, against every member of a fine grid."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from pessimal.near_optimal import near_optimal_set

N, EPSILON = 60, 0.05


def drawn(seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return a column to train on and one to validate on, with noisy labels."""
    rng = np.random.default_rng(seed)
    found = []
    for _ in range(2):
        x = rng.normal(size=N)
        found += [x, np.where(x + rng.normal(size=N) > 0.3, 1.0, -1.0)]
    x_train, y_train, x_val, y_val = found
    return x_train, y_train, x_val, y_val


def errors_of_a_grid(seed: int) -> np.ndarray:
    """Return how many rows each model of a grid that trains well enough has wrong."""
    x_train, y_train, x_val, y_val = drawn(seed)
    w, b = np.meshgrid(np.linspace(-1.0, 4.0, 801), np.linspace(-3.0, 3.0, 801))
    objective = w * w / (2 * N)
    for x, y in zip(x_train, y_train, strict=True):
        objective += np.logaddexp(0.0, -y * (w * x + b)) / N
    well = objective <= (1.0 + EPSILON) * objective.min()
    wrong = np.zeros(int(well.sum()), dtype=int)
    for x, y in zip(x_val, y_val, strict=True):
        wrong += y * (w[well] * x + b[well]) < -1e-6
    return wrong


@pytest.mark.parametrize("seed", [1, 3, 8, 11, 13])
def test_as_many_and_as_few_rows_are_found_wrong_as_on_a_grid(seed: int) -> None:
    x_train, y_train, x_val, y_val = drawn(seed)
    members = near_optimal_set(LogisticRegression(), x_train[:, None], y_train, epsilon=EPSILON)
    wrong = errors_of_a_grid(seed)
    for extreme, on_grid in (
        (members.worst(x_val[:, None], y_val, "zero_one"), wrong.max()),
        (members.best(x_val[:, None], y_val, "zero_one"), wrong.min()),
    ):
        assert round(extreme.value * N) == on_grid
        assert extreme.lower_bound <= extreme.value <= extreme.upper_bound
        assert members.contains(extreme.model)
        scores = extreme.model.decision_function(x_val[:, None])
        assert round(extreme.value * N) == np.sum(y_val * scores < 0.0)


@pytest.mark.parametrize("epsilon", [0.0, 1e-6, 0.05])
def test_rows_far_from_the_threshold_have_no_slope_and_are_left_alone(epsilon: float) -> None:
    x_train, y_train, *_ = drawn(0)
    members = near_optimal_set(LogisticRegression(), x_train[:, None], y_train, epsilon=epsilon)
    far = np.array([[1e4], [2e4]])
    assert members.worst(far, np.array([1.0, 1.0]), "zero_one").upper_bound == 0.0
    assert members.best(far, np.array([-1.0, -1.0]), "zero_one").value == 1.0
