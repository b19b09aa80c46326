"""The linear program of the models near the optimum of training, and what follows without one.

Its variables are ``u = (w, b)``. Rows get bounds that no model of interest exceeds. The model
0 has training loss 1, so no box needs a training limit above ``1 + ε + δ``; then a training point
of weight ω has a hinge of at most ``limit/ω``, which at a positive point keeps b below
``limit/ω − 1 + Σ|x_j|·upper_j`` and at a negative one above the opposite. So does a whole class,
of weight ω together, with its mean for x.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pessimal.losses import HINGE, Hinge, Loss
from pessimal.lp.program import KinkedProgram
from pessimal.lp.watch import Watch
from pessimal.near_optimal.polyhedral.models import Models
from pessimal.problem import (
    Budget,
    Matrix,
    TuningProblem,
    Vector,
    distinct_rows,
    margin_rows,
)
from pessimal.tolerances import MEMBER, ROUNDING

SPARE_CUTS = 10
"""Rows for cuts beyond the number of variables; more than that cannot be nonbasic."""

MORE_CUTS = 30
"""The same where rows are few, so that cuts cost less than finding them again."""


def near_optimal_programs(
    problem: TuningProblem,
    budget: Budget,
    val_rows: Matrix,
    watch: Watch,
    spare_cuts: int = SPARE_CUTS,
) -> tuple[Models, Models]:
    """Return the set twice: with the margins of V as rows, and in few rows.

    Both have room for cuts; the second, of which only linear functions of u are asked, for more of
    them and for an objective cut.
    """
    q, limit = val_rows.shape[1], budget.limit(1.0)
    train = merged(margin_rows(problem.X_train, problem.y_train), problem.train_weight)[:2]
    objective_reach = float(_reach(problem, limit, val_rows).max())

    def program(rows: Matrix, n_cuts: int) -> Models:
        return Models(models_program(problem, limit, rows, n_cuts, objective_reach), *train, watch)

    return (
        program(val_rows, q + spare_cuts),
        program(val_rows[:0], q + max(spare_cuts, MORE_CUTS)),
    )


def models_program(
    problem: TuningProblem, limit: float, rows: Matrix, n_cuts: int, objective_reach: float = 0.0
) -> KinkedProgram:
    """Write the program of the models that train within `limit`, with rows, room for cuts and one.

    That one is an objective, which no model has larger than its reach.
    """
    low, high = intercept_range(problem, problem.upper, limit)
    train_rows = margin_rows(problem.X_train, problem.y_train)
    cut_reach = float(problem.train_weight @ _reach(problem, limit, train_rows))
    reach = np.concatenate(
        [_reach(problem, limit, rows), np.full(n_cuts, cut_reach), [objective_reach]]
    )
    size = rows.shape[1] + len(reach)
    return KinkedProgram(
        A=np.vstack([rows, np.zeros((n_cuts + 1, rows.shape[1]))]),
        low=np.concatenate([-problem.upper, [low], -reach]),
        high=np.concatenate([problem.upper, [high], reach]),
        slope_left=np.zeros(size),
        slope_right=np.zeros(size),
        kink=np.zeros(size),
        n_local=n_cuts + 1,
    )


def _reach(problem: TuningProblem, limit: float, rows: Matrix) -> Vector:
    """Bound ``|rows·u|`` over all boxes, for models that train within a limit."""
    low, high = intercept_range(problem, problem.upper, limit)
    return np.abs(rows[:, :-1]) @ problem.upper + max(-low, high)


def merged(rows: Matrix, weight: Vector) -> tuple[Matrix, Vector, NDArray[np.intp]]:
    """Return the distinct rows with their weights added up, and which of them each row is.

    Examples
    --------
    >>> rows, weight, which = merged(np.array([[2.0], [1.0], [2.0]]), np.ones(3))
    >>> rows.tolist(), weight.tolist(), which.tolist()
    ([[1.0], [2.0]], [1.0, 2.0], [1, 0, 1])
    """
    distinct, which = distinct_rows(rows)
    if len(distinct) == len(rows):  # as they came
        return rows, weight, np.arange(len(rows))
    return distinct, np.bincount(which, weight).astype(np.float64), which


def intercept_range(problem: TuningProblem, box: Vector, limit: float) -> tuple[float, float]:
    """Least and largest b that the box and a training limit allow, and perhaps a little more."""
    ends = []
    for rows, weight in problem.by_class:
        by_weights, hinges = np.abs(rows) @ box, limit / weight
        rounding = ROUNDING * (hinges + 1.0 + by_weights.max())  # of a mean: as of its rows
        ends.append(float((hinges - 1.0 + by_weights + rounding).min()))
    return -ends[0], ends[1]


def coarse_ranges(
    problem: TuningProblem, box: Vector, limit: float, rows: Matrix
) -> tuple[Vector, Vector]:
    """Bound linear forms ``rows·(w, b)`` from the box and a training limit alone."""
    by_intercept = rows[:, -1:] * np.array(intercept_range(problem, box, limit))
    by_weights = np.abs(rows[:, :-1]) @ box
    return by_intercept.min(axis=1) - by_weights, by_intercept.max(axis=1) + by_weights


def coarse_bound(problem: TuningProblem, box: Vector, limit: float, loss: Loss = HINGE) -> float:
    """Bound the mean loss on V from the box and a training limit alone.

    Each point has the worst weights of the box. The intercept is the same for all: a hinge is
    convex in it, so that it is worst at one of its ends.
    """
    if not isinstance(loss, Hinge):
        low, _ = coarse_ranges(problem, box, limit, margin_rows(problem.X_val, problem.y_val))
        return loss.mean(low, problem.val_weight)
    by_weights = np.abs(problem.X_val) @ box
    ends = intercept_range(problem, box, limit)
    bound = max(loss.mean(-problem.y_val * b - by_weights, problem.val_weight) for b in ends)
    terms = 1.0 + max(map(abs, ends)) + float(problem.val_weight @ by_weights)
    return bound + ROUNDING * terms


def best_intercept(problem: TuningProblem, w: Vector) -> float:
    """Return the b of least training loss for given weights: where the slopes of hinges cancel.

    Examples
    --------
    >>> problem = TuningProblem([[-1.0], [1.0], [3.0]], [-1, 1, 1], [[0.0]], [1])
    >>> best_intercept(problem, np.array([1.0]))
    0.0
    """
    at = problem.X_train @ w - problem.y_train
    order = np.argsort(at)
    negative = problem.train_weight[problem.y_train < 0.0].sum()
    slopes = np.cumsum(problem.train_weight[order]) - negative
    return float(at[order[np.argmax(slopes >= 0.0)]])


def trains_within(problem: TuningProblem, u: Vector, limit: float) -> bool:
    """Return whether a model ``(w, b)`` trains within a limit, but for rounding."""
    most = limit + MEMBER * problem.loss_unit(limit)
    return problem.train_loss(u[:-1], float(u[-1])) <= most


def pulled_back(problem: TuningProblem, u: Vector, inner: Vector, limit: float) -> Vector:
    """Pull a model towards one that trains well until it trains within the limit."""
    trained = problem.train_loss(inner[:-1], float(inner[-1]))
    while not trains_within(problem, u, limit):
        # The loss is convex, so on the way it is no more than on the chord.
        loss = problem.train_loss(u[:-1], float(u[-1]))
        u = inner + max(0.0, limit - trained) / (loss - trained) * (u - inner)
    return u


def all_pulled_back(problem: TuningProblem, models: Matrix, inner: Vector, limit: float) -> Matrix:
    """Pull back those of some models that train too badly; see `pulled_back`."""
    margins = models @ margin_rows(problem.X_train, problem.y_train).T
    losses = HINGE.value(margins) @ problem.train_weight
    for k in np.flatnonzero(losses > limit + MEMBER * problem.loss_unit(limit)):
        models[k] = pulled_back(problem, models[k], inner, limit)
    return models
