"""Worst cases on grids of hyperparameters: every set of hinges tried, by HiGHS."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import numpy as np

from pessimal.minimax.groups import GroupsSpec, groups_of
from pessimal.problem import Budget, Mask, TuningProblem, Vector, margin_rows
from pessimal.training.near_optimal import near_optimal


def enumerated_worst_case(problem: TuningProblem, box: Vector, budget: Budget) -> float:
    """Largest validation loss in a box: the largest scenario over all sets of hinges."""
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
    """Worst cases of `n` limits a group, evenly spaced, ends included."""
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
