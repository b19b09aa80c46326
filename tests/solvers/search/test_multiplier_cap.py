"""The cap of λ against what it has to exceed, in boxes drawn at random and trained by SciPy."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import linprog

from pessimal import Budget, TuningProblem
from pessimal.errors import SolverError
from pessimal.limits import NEVER, Deadline
from pessimal.problem import Vector
from pessimal.solvers.search.multiplier_cap import MultiplierCap

BUDGETS = (Budget(epsilon=0.2), Budget(epsilon=0.1, delta=0.05), Budget(delta=0.1))


def drawn(seed: int) -> TuningProblem:
    """Noisy labels, so that no box trains to 0."""
    rng = np.random.default_rng(seed)
    X, y = rng.standard_normal((36, 3)), np.where(rng.random(36) < 0.5, 1.0, -1.0)
    return TuningProblem(X[:20], y[:20], X[20:], y[20:])


def trained(problem: TuningProblem, box: Vector) -> Vector:
    """Return ``(w, b)`` of the least training loss in a box."""
    n, p = problem.X_train.shape
    signed = problem.y_train[:, None] * np.hstack([problem.X_train, -np.ones((n, 1))])
    bounds = [*((-limit, limit) for limit in box), (None, None), *[(0.0, None)] * n]
    cost = np.concatenate([np.zeros(p + 1), problem.train_weight])
    rows = np.hstack([-signed, -np.eye(n)])
    return np.asarray(linprog(cost, A_ub=rows, b_ub=-np.ones(n), bounds=bounds).x[: p + 1])


@pytest.mark.parametrize("budget", BUDGETS, ids=str)
@pytest.mark.parametrize("seed", range(3))
def test_no_box_asks_for_a_larger_multiplier(seed: int, budget: Budget) -> None:
    problem, rng = drawn(seed), np.random.default_rng(seed)
    flipped = np.arange(problem.n_val) % 3 > 0 if seed == 1 else np.ones(problem.n_val, np.bool_)
    cap = MultiplierCap(problem, budget, flipped, NEVER)
    share = float(problem.val_weight[flipped].sum())
    for _ in range(60):
        v = trained(problem, problem.upper * rng.random(problem.n_features))
        margins = problem.y_val * (problem.X_val @ v[:-1] - v[-1])
        flipped_loss = problem.flipped_weight(flipped) @ np.maximum(0.0, 1.0 + margins)[flipped]
        slack = budget.epsilon * problem.train_loss(v[:-1], v[-1]) + budget.delta
        for loss in (0.3, 0.9, 5.0):
            largest = flipped_loss - max(0.0, 2.0 - loss / share)
            assert largest <= cap.below(loss) * slack + 1e-9


def test_grows_with_the_loss_of_the_incumbent() -> None:
    problem = drawn(7)
    cap = MultiplierCap(problem, BUDGETS[0], np.ones(problem.n_val, np.bool_), NEVER)
    assert 0.0 < cap.below(1.0) < cap.below(1.2) < np.inf


def test_holds_when_no_time_is_left_for_worst_cases() -> None:
    problem = drawn(8)
    everything = np.ones(problem.n_val, np.bool_)
    exact = MultiplierCap(problem, BUDGETS[0], everything, NEVER)
    hasty = MultiplierCap(problem, BUDGETS[0], everything, Deadline.after(1e-9).not_within(0.0))
    assert hasty.below(0.8) >= exact.below(0.8)


def test_there_is_none_where_the_budget_may_have_no_slack() -> None:
    # Training reaches 0 in every box: rounding alone decides about the slack.
    X, y = np.array([[0.3], [-0.3], [0.1]]), np.array([1.0, -1.0, 1.0])
    problem = TuningProblem(10.0 * X[:2], y[:2], X, y, lower=0.5, upper=1.0)
    with pytest.raises(SolverError):
        MultiplierCap(problem, Budget(epsilon=0.2), np.ones(3, np.bool_), NEVER)
