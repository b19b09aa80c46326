"""The floor of the part λ = 0, against models that fit flipped labels best in boxes, by SciPy."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import linprog

from pessimal import Budget, TuningProblem
from pessimal.lp.watch import Watch
from pessimal.problem import Mask, Vector
from pessimal.solvers.base import Task
from pessimal.solvers.search.parts import floor_without_price, parts_of


def drawn(seed: int, share_positive: float) -> tuple[TuningProblem, Mask]:
    rng = np.random.default_rng(seed)
    X, y = rng.standard_normal((20, 3)), np.where(rng.random(20) < share_positive, 1.0, -1.0)
    y[[0, 8]], y[[1, 9]] = 1.0, -1.0
    X[:, 0] += 0.7 * y
    weight = rng.uniform(0.1, 1.0, 12) if seed % 2 else None
    problem = TuningProblem(X[:8], y[:8], X[8:], y[8:], val_weight=weight)
    return problem, np.arange(12) < (12 if seed % 3 else 7)


def fitted_to_flipped(problem: TuningProblem, flipped: Mask, box: Vector) -> Vector:
    """Return ``(w, b)`` of a box that fits the flipped labels best."""
    X, y = problem.X_val[flipped], problem.y_val[flipped]
    n, p = X.shape
    margins = -y[:, None] * np.hstack([X, -np.ones((n, 1))])
    bounds = [*((-limit, limit) for limit in box), (None, None), *[(0.0, None)] * n]
    cost = np.concatenate([np.zeros(p + 1), problem.flipped_weight(flipped)])
    rows = np.hstack([-margins, -np.eye(n)])
    return np.asarray(linprog(cost, A_ub=rows, b_ub=-np.ones(n), bounds=bounds).x[: p + 1])


@pytest.mark.parametrize("share_positive", [0.5, 0.2])
@pytest.mark.parametrize("seed", range(6))
def test_no_model_that_fits_flipped_labels_best_is_below_the_floor(
    seed: int, share_positive: float
) -> None:
    problem, flipped = drawn(seed, share_positive)
    floor, rng = floor_without_price(problem, flipped), np.random.default_rng(seed)
    for size in (0.0, 0.01, 0.3, 1.0):
        u = fitted_to_flipped(problem, flipped, size * problem.upper * rng.random(3))
        assert problem.val_loss(u[:-1], float(u[-1])) >= floor - 1e-9


def test_a_model_without_weights_reaches_the_floor() -> None:
    problem, flipped = drawn(4, 0.5)
    u = fitted_to_flipped(problem, flipped, np.zeros(3))
    assert problem.val_loss(u[:-1], float(u[-1])) == pytest.approx(
        floor_without_price(problem, flipped), abs=1e-9
    )


def test_the_part_without_a_price_is_no_better_than_its_floor() -> None:
    problem, flipped = drawn(2, 0.5)
    without_price, _ = parts_of(Task(problem, Budget(epsilon=0.2), flipped), 0, Watch())
    assert without_price.bound() >= floor_without_price(problem, flipped)
