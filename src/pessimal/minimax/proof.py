"""What proves a lower bound on every worst case, checked again by HiGHS.

A *leaf* covers the hyperparameters between two corners. It names an affine function of h below the
least training loss, sets S of active hinges and weights λ for them. Then ``W(h)`` is at least the
smallest ``Σ_S λ_S·φ_S(v)`` over the leaf's corners v, with the training limit of the affine
function (`regions` says why). Leaves that cover all hyperparameters prove the smallest of their
bounds.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

import numpy as np

from pessimal.errors import SolverError
from pessimal.minimax.groups import Groups
from pessimal.problem import Budget, Mask, TuningProblem, Vector, margin_rows
from pessimal.tolerances import BUDGET_SLACK
from pessimal.training.linear import Program, WarmProgram
from pessimal.training.near_optimal import BoxModels


@dataclass(frozen=True, eq=False)
class Plane:
    """The affine function ``value + slope·(h − at)``."""

    at: Vector
    value: float
    slope: Vector

    def __call__(self, h: Vector) -> float:
        """Value at h."""
        return self.value + float(self.slope @ (h - self.at))


@dataclass(frozen=True, eq=False)
class Leaf:
    """Hyperparameters from `low` to `high`, and what bounds their worst cases from below."""

    low: Vector
    high: Vector
    training: Plane
    sets: tuple[Mask, ...]
    average: Vector

    def corners(self) -> list[Vector]:
        """Vertices of the region."""
        return corners(self.low, self.high)


def corners(low: Vector, high: Vector) -> list[Vector]:
    """Vertices of the region between two points."""
    return [np.array(corner) for corner in product(*zip(low, high, strict=True))]


def check_leaf(problem: TuningProblem, budget: Budget, groups: Groups, leaf: Leaf) -> float:
    """Recompute the bound of a leaf from the data, with HiGHS."""
    try:
        # Should the plane be above the least training loss somewhere, lower it.
        lowered = min(0.0, _room_above(problem, groups, leaf))
        losses = [
            _average_loss(problem, groups.box(h), budget.limit(leaf.training(h) + lowered), leaf)
            for h in leaf.corners()
        ]
    except SolverError:
        return -np.inf
    return min(losses)


def _room_above(problem: TuningProblem, groups: Groups, leaf: Leaf) -> float:
    """Least distance of the training loss above the plane, over all models and h of the leaf."""
    g, p, n = len(groups), problem.n_features, problem.n_train
    # Columns h, w, b, ξ; rows margin + ξ ≥ 1, h_j − w_j ≥ 0, h_j + w_j ≥ 0.
    member = np.eye(g)[groups.of_feature]
    matrix = np.zeros((n + 2 * p, g + p + 1 + n))
    matrix[:n, g : g + p + 1] = margin_rows(problem.X_train, problem.y_train)
    matrix[:n, g + p + 1 :] = np.eye(n)
    matrix[n:, :g] = np.vstack([member, member])
    matrix[n:, g : g + p] = np.vstack([-np.eye(p), np.eye(p)])
    cost = np.concatenate([-leaf.training.slope, np.zeros(p + 1), problem.train_weight])
    unbounded = np.full(1, np.inf)
    program = Program(
        cost=cost,
        matrix=matrix,
        row_lower=np.concatenate([np.ones(n), np.zeros(2 * p)]),
        row_upper=np.full(n + 2 * p, np.inf),
        lower=np.concatenate([leaf.low, -groups.feature_upper, -unbounded, np.zeros(n)]),
        upper=np.concatenate([leaf.high, groups.feature_upper, unbounded, np.full(n, np.inf)]),
    )
    return float(cost @ WarmProgram(program).minimise()) - leaf.training(np.zeros(g))


def _average_loss(problem: TuningProblem, box: Vector, limit: float, leaf: Leaf) -> float:
    rows = margin_rows(problem.X_val, problem.y_val)
    models = BoxModels(problem, box)
    models.limit_training(limit + BUDGET_SLACK)
    total = 0.0
    for share, active in zip(leaf.average, leaf.sets, strict=True):
        if share > 0.0:
            weight = problem.val_weight * active
            u = models.minimise(weight @ rows)
            total += share * float(weight @ (1.0 - rows @ u))
    return total
