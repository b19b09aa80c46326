"""Bounds of cells of boxes against models that SciPy finds to be feasible."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import linprog

from pessimal import Budget, TuningProblem, solve_pessimistic
from pessimal.lp.watch import Watch
from pessimal.problem import Mask, Vector
from pessimal.reproduction.instances import draw, tuning_problem
from pessimal.solvers.base import Task
from pessimal.solvers.search.box_cells import BoxCells
from pessimal.solvers.search.parts import parts_of

BUDGETS = (Budget(epsilon=0.2), Budget(epsilon=0.05, delta=0.05), Budget(delta=0.1), Budget(3.0))
ALL_CELLS = 400


def drawn(seed: int) -> tuple[TuningProblem, Mask]:
    """Noisy labels; whole numbers, repeated rows, weights and few flips now and then."""
    rng = np.random.default_rng(seed)
    X, y = rng.standard_normal((30, 3)), np.where(rng.random(30) < 0.5, 1.0, -1.0)
    if seed % 2:
        X = rng.integers(-2, 3, X.shape).astype(float)
        X[5:8], y[5:8] = X[4], y[4]
    lower = rng.choice([0.0, 0.2], 3)
    problem = TuningProblem(
        X[:16], y[:16], X[16:], y[16:], lower=lower, upper=rng.uniform(0.5, 2.0, 3)
    )
    if seed % 3 == 0:
        weight = rng.uniform(0.1, 1.0, 16)
        problem = replace(problem, train_weight=weight / weight.sum())
    flipped = np.ones(14, np.bool_) if seed % 4 else rng.random(14) < 0.7
    return problem, flipped


def cells_of(problem: TuningProblem, budget: Budget, flipped: Mask) -> BoxCells:
    """Return the cells of the part λ > 0."""
    cells = parts_of(Task(problem, budget, flipped), 0, Watch())[1].cells
    assert cells is not None
    return cells


def flipped_fit(
    problem: TuningProblem, budget: Budget, flipped: Mask, box: Vector
) -> tuple[float, float]:
    """Return ``L_V`` of the model of a box that fits flipped labels best in the budget, and λ.

    λ is 0 where the budget is not used up.
    """
    n, m, p = problem.n_train, int(flipped.sum()), problem.n_features
    hinges = np.hstack([problem.X_train, -np.ones((n, 1))]) * problem.y_train[:, None]
    flips = np.hstack([problem.X_val, -np.ones((problem.n_val, 1))]) * -problem.y_val[:, None]
    bounds = [*((-limit, limit) for limit in box), (None, None), *[(0.0, None)] * (n + m)]
    rows = np.block(
        [[-hinges, -np.eye(n), np.zeros((n, m))], [-flips[flipped], np.zeros((m, n)), -np.eye(m)]]
    )
    train = np.concatenate([np.zeros(p + 1), problem.train_weight, np.zeros(m)])
    cost = np.concatenate([np.zeros(p + 1 + n), problem.flipped_weight(flipped)])
    least = linprog(train, rows, -np.ones(n + m), bounds=bounds).fun
    limit = (1.0 + budget.epsilon) * least + budget.delta
    fit = linprog(cost, np.vstack([rows, train]), [*-np.ones(n + m), limit], bounds=bounds)
    w, b = fit.x[:p], fit.x[p]
    price = -float(fit.ineqlin.marginals[-1])
    return problem.val_loss(w, b), price if train @ fit.x >= limit - 1e-9 else 0.0


@pytest.mark.parametrize("limit", [np.inf, 2.0])
@pytest.mark.parametrize("budget", BUDGETS, ids=str)
@pytest.mark.parametrize("seed", range(6))
def test_no_feasible_model_is_better_than_the_bound(
    seed: int, budget: Budget, limit: float
) -> None:
    problem, flipped = drawn(seed)
    cells = cells_of(problem, budget, flipped)
    cells.advance(ALL_CELLS, np.inf, limit)
    rng = np.random.default_rng(seed)
    for _ in range(40):
        box = problem.lower + rng.random(3) * (problem.upper - problem.lower)
        loss, price = flipped_fit(problem, budget, flipped, box)
        if 0.0 < price <= limit:
            assert loss >= cells.bound() - 1e-8


def test_the_bound_only_grows_and_the_lowest_cell_lies_between_the_limits() -> None:
    problem, flipped = drawn(1)
    cells = cells_of(problem, BUDGETS[0], flipped)
    assert cells.bound() == 0.0
    bounds = []
    for _ in range(30):
        cells.advance(5, np.inf, np.inf)
        bounds.append(cells.bound())
        middle = cells.lowest()
        assert middle is not None
        assert (problem.lower <= middle).all()
        assert (middle <= problem.upper).all()
    assert bounds == sorted(bounds)
    assert bounds[-1] > bounds[0]


def test_cells_are_closed_at_the_cutoff() -> None:
    problem, flipped = drawn(2)
    cells = cells_of(problem, BUDGETS[0], flipped)
    cells.advance(ALL_CELLS, np.inf, 20.0)
    cutoff = cells.bound()
    again = cells_of(problem, BUDGETS[0], flipped)
    again.advance(10 * ALL_CELLS, cutoff - 1e-3, 20.0)
    assert again.bound() >= cutoff - 1e-3
    assert again.n_cells <= 2 * ALL_CELLS


def test_many_rows_have_a_close_bound_early() -> None:
    # The tree alone has a bound of .48 after as many nodes, and of .50 after 10 s.
    problem = tuning_problem(draw("diabetes", 60, 60, 4001))
    solution = solve_pessimistic(problem, Budget(epsilon=0.2), flip="all", node_limit=700)
    assert solution.lower_bound >= 0.95 * solution.objective
