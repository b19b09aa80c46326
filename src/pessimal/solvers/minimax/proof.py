"""What proves a lower bound on every worst case, checked again by HiGHS.

A *leaf* covers the hyperparameters between two corners. It names planes, which are affine functions
of h below the least training loss, sets S of active hinges, and a weight λ for every pair of them.
Then ``W(h)`` is at least the smallest ``Σ λ·φ_S(v)`` over the leaf's corners v, each term with the
training limit of its plane (`regions` says why). Leaves that cover all hyperparameters prove the
smallest of their bounds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import product

import numpy as np

from pessimal.errors import SolverError
from pessimal.lp.highs import WarmProgram
from pessimal.near_optimal.polyhedral.linear_program import BoxModels
from pessimal.problem import Budget, Mask, Matrix, TuningProblem, Vector, margin_rows
from pessimal.solvers.minimax.groups import Groups


@dataclass(frozen=True, eq=False)
class Plane:
    """The affine function ``value + slope·(h − at)``."""

    at: Vector
    value: float
    slope: Vector

    def __call__(self, h: Vector) -> float:
        """Value at h."""
        return self.value + float(self.slope @ (h - self.at))


def distinct_planes(planes: Iterable[Plane]) -> list[Plane]:
    """Leave out tangent planes of the same slope: a convex function has one of each."""
    kept: list[Plane] = []
    for plane in planes:
        if not any(np.allclose(plane.slope, other.slope) for other in kept):
            kept.append(plane)
    return kept


@dataclass(frozen=True, eq=False)
class Leaf:
    """Hyperparameters from `low` to `high`, and what bounds their worst cases from below.

    The weights of the `average` have a row for each plane and a column for each set.
    """

    low: Vector
    high: Vector
    planes: tuple[Plane, ...]
    sets: tuple[Mask, ...]
    average: Matrix


def corners(low: Vector, high: Vector) -> list[Vector]:
    """Vertices of the region between two points."""
    return [np.array(corner) for corner in product(*zip(low, high, strict=True))]


def check_leaf(
    problem: TuningProblem,
    budget: Budget,
    groups: Groups,
    leaf: Leaf,
    check_limits: Callable[[], None] = lambda: None,
) -> float:
    """Recompute the bound of a leaf from the data, with HiGHS, and check the limits meanwhile."""
    vertices = corners(leaf.low, leaf.high)
    losses = np.zeros(len(vertices))
    try:
        for plane, weights in zip(leaf.planes, leaf.average, strict=True):
            if not weights.any():
                continue
            # Should the plane be above the least training loss somewhere, lower it.
            lowered = min(0.0, _height_above(problem, groups, leaf, plane))
            for k, h in enumerate(vertices):
                check_limits()
                limit = problem.training_limit(budget, plane(h) + lowered)
                losses[k] += _loss(problem, groups.box(h), limit, leaf.sets, weights)
    except SolverError:
        return -np.inf
    return float(losses.min())


def _height_above(problem: TuningProblem, groups: Groups, leaf: Leaf, plane: Plane) -> float:
    """Least distance of the training loss above a plane, over all models and h of the leaf."""
    g, p = len(groups), problem.n_features
    models = BoxModels(problem, groups.feature_upper).program
    # Further columns h, and rows w_j − h_j ≤ 0, −w_j − h_j ≤ 0.
    rows = np.zeros((2 * p, len(models.cost) + g))
    rows[:, :p] = np.vstack([np.eye(p), -np.eye(p)])
    rows[:, -g:] = -np.tile(np.eye(g)[groups.of_feature], (2, 1))
    program = models.extended(
        cost=np.concatenate([np.zeros(p + 1), problem.train_weight, -plane.slope]),
        rows=rows,
        row_upper=np.zeros(2 * p),
        lower=leaf.low,
        upper=leaf.high,
    )
    return float(program.cost @ WarmProgram(program).minimise()) - plane(np.zeros(g))


def _loss(
    problem: TuningProblem, box: Vector, limit: float, sets: tuple[Mask, ...], weights: Vector
) -> float:
    """Sum of the largest losses on the hinges of each set, weighted."""
    rows = margin_rows(problem.X_val, problem.y_val)
    models = BoxModels(problem, box)
    models.limit_training(limit)
    total = 0.0
    for share, active in zip(weights, sets, strict=True):
        if share > 0.0:
            weight = problem.val_weight * active
            u = models.minimise(weight @ rows)
            total += share * float(weight @ (1.0 - rows @ u))
    return total
