"""Random problems, and worst cases on grids of hyperparameters: every set of hinges, by HiGHS."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import numpy as np

from pessimal.near_optimal.polyhedral.linear_program import near_optimal
from pessimal.problem import Budget, Mask, Matrix, TuningProblem, Vector, margin_rows
from pessimal.solvers.minimax.groups import GroupsSpec, groups_of


def overlapping(seed: int, n: int, p: int) -> tuple[Matrix, Vector]:
    """Two classes that cannot be separated, −1 and +1 in turns."""
    rng = np.random.default_rng(seed)
    y = np.where(np.arange(n) % 2 == 0, -1.0, 1.0)
    return rng.normal(size=(n, p)) + 0.4 * y[:, None], y


def random_problem(
    seed: int, n_train: int, n_val: int, p: int, upper: float = 1.0
) -> TuningProblem:
    """Draw a problem with such classes in both sets."""
    X, y = overlapping(seed, n_train + n_val, p)
    return TuningProblem(X[:n_train], y[:n_train], X[n_train:], y[n_train:], upper=upper)


def enumerated_worst_case(problem: TuningProblem, box: Vector, budget: Budget) -> float:
    """Largest validation loss in a box: the largest active-set loss over all sets of hinges."""
    models = near_optimal(problem, box, budget)
    rows = margin_rows(problem.X_val, problem.y_val)
    largest = 0.0
    for active in subsets(problem.n_val):
        weight = problem.val_weight * active
        u = models.minimise(weight @ rows)
        largest = max(largest, float(weight @ (1.0 - rows @ u)))
    return largest


def worst_cases_on_grid(
    problem: TuningProblem, budget: Budget, groups: GroupsSpec, n: int
) -> Vector:
    """Worst cases of `n` limits per group, evenly spaced, ends included."""
    in_groups = groups_of(problem, groups)
    ends = zip(in_groups.lower, in_groups.upper, strict=True)
    axes = [np.linspace(low, high, n) for low, high in ends]
    return np.array(
        [enumerated_worst_case(problem, in_groups.box(np.array(h)), budget) for h in product(*axes)]
    )


def subsets(n: int) -> Iterator[Mask]:
    """Yield all sets of n points, as masks."""
    for chosen in product((False, True), repeat=n):
        yield np.array(chosen)
