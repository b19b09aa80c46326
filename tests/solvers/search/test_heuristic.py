"""Models found early: feasible, by SciPy's word, and not far from what other methods find."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import linprog

from pessimal import Budget, TuningProblem, solve_pessimistic
from pessimal.lp.watch import Watch
from pessimal.problem import Vector, margin_rows
from pessimal.solvers.base import Task
from pessimal.solvers.search.parts import parts_of

BUDGETS = (None, Budget(), Budget(epsilon=0.2), Budget(delta=0.01), Budget(0.5, 0.1))
"""None for the optimistic view."""


def gauss(seed: int, p: int, n: int, lower: float = 0.0) -> TuningProblem:
    """Two Gaussian classes, five features apart; every third problem in whole numbers."""
    rng = np.random.default_rng(seed)
    y = np.where(np.arange(2 * n) % 2 == 0, 1.0, -1.0)
    X = rng.standard_normal((2 * n, p))
    X[:, :5] += 0.4 * y[:, None]
    if seed % 3 == 0:
        X = np.round(2.0 * X)
    return TuningProblem(X[:n], y[:n], X[n:], y[n:], lower=lower)


def least(problem: TuningProblem, box: Vector, flipped: bool, limit: float | None = None) -> Vector:
    """Return the model of a box of least training loss, or of least flipped loss within a limit."""
    p, n, m = problem.n_features, problem.n_train, problem.n_val
    train = margin_rows(problem.X_train, problem.y_train)
    flips = -margin_rows(problem.X_val, problem.y_val)
    rows = np.block(
        [[-train, -np.eye(n), np.zeros((n, m))], [-flips, np.zeros((m, n)), -np.eye(m)]]
    )
    train_cost = np.concatenate([np.zeros(p + 1), problem.train_weight, np.zeros(m)])
    flipped_cost = np.concatenate([np.zeros(p + 1 + n), problem.val_weight])
    right = -np.ones(n + m)
    if limit is not None:
        rows, right = np.vstack([rows, train_cost]), np.append(right, limit)
    bounds = [*((-side, side) for side in box), (None, None), *[(0.0, None)] * (n + m)]
    fit = linprog(flipped_cost if flipped else train_cost, rows, right, bounds=bounds)
    return np.asarray(fit.x[: p + 1])


def assert_feasible(
    problem: TuningProblem, budget: Budget | None, w: Vector, b: float, box: Vector
) -> None:
    assert (np.abs(w) <= box + 1e-9).all()
    assert ((problem.lower <= box) & (box <= problem.upper)).all()
    best = least(problem, box, flipped=False)
    loss, best_loss = problem.train_loss(w, b), problem.train_loss(best[:-1], best[-1])
    if budget is None:
        assert loss <= best_loss + 1e-7
        return
    limit = max(budget.limit(best_loss), loss)  # the copy may be any model of the box
    everything = np.ones(problem.n_val, np.bool_)
    rival = least(problem, box, flipped=True, limit=limit + 1e-9)
    own = problem.flipped_loss(w, b, everything)
    assert own <= problem.flipped_loss(rival[:-1], rival[-1], everything) + 1e-6


@pytest.mark.parametrize("lower", [0.0, 0.1])
@pytest.mark.parametrize("budget", BUDGETS, ids=str)
@pytest.mark.parametrize("seed", range(4))
def test_models_that_are_climbed_to_are_inner_optimal(
    seed: int, budget: Budget | None, lower: float
) -> None:
    problem = gauss(seed, 6, 20, lower)
    flipped = None if budget is None else np.ones(problem.n_val, np.bool_)
    part = parts_of(Task(problem, budget or Budget(), flipped), seed, Watch())[-1]
    part.heuristic.climbs = True
    part.heuristic.try_initial_boxes(0.0)
    losses = []
    for _ in range(40):
        part.heuristic.improve(0.0, freely=True)
        losses.append(part.tree.incumbent.best)
        u, box = part.tree.incumbent.point()
        if losses[-1] < min(losses[:-1], default=np.inf):
            assert problem.val_loss(u[:-1], u[-1]) == pytest.approx(losses[-1], abs=1e-9)
            assert_feasible(problem, budget, u[:-1], u[-1], box)
    assert losses == sorted(losses, reverse=True)


def test_a_search_that_is_stopped_has_a_model_on_its_budget() -> None:
    # Patterns of the inner problem by HiGHS, each with its best box as one linear program, reach
    # .486995 in seconds. In the optimal box no vertex uses up the budget: only a point on an edge.
    rng = np.random.default_rng([1, 8, 60, 7])
    y = np.where(rng.random(120) < 0.5, 1.0, -1.0)
    y[:2] = 1.0, -1.0
    X = rng.standard_normal((120, 8))
    X[:, :5] += 0.4 * y[:, None]
    problem = TuningProblem(X[:60], y[:60], X[60:], y[60:], lower=0.05)
    solution = solve_pessimistic(problem, Budget(epsilon=0.2), node_limit=200)
    assert solution.objective <= 0.486995


def test_a_search_that_is_stopped_has_tried_both_parts() -> None:
    # With as many features as rows λ = 0 alone takes thousands of nodes, and its models lose 1.
    # Patterns by HiGHS, from boxes of all sizes, reach .3533 where λ > 0.
    rng = np.random.default_rng([2, 50])
    y = np.where(np.arange(100) % 2 == 0, 1.0, -1.0)
    X = rng.standard_normal((100, 50))
    X[:, :5] += 0.5 * y[:, None]
    problem = TuningProblem(X[:50], y[:50], X[50:], y[50:])
    solution = solve_pessimistic(problem, Budget(epsilon=0.2), node_limit=70)
    assert solution.objective <= 0.3533
