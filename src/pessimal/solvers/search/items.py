"""The two linear programs of the search and the items that tie them together.

The inner problem asks that ``u = (w, b)`` minimise, over the box ``|w_j| ≤ w̄_j``,

    L_T                     (optimistic),
    F + λ·L_T, some λ ≥ 0   (the paper's pessimistic problem),
    F                       (the latter's part λ = 0),

and a box that shrinks around ``u`` keeps it optimal, so ``w̄_j = max(|w_j|, lower_j)``. What remains
of the optimality conditions are two linear programs that share no variable:

* **P**: minimise ``L_V(u)``. Its rows are ``w``, ``b``, the margins of T and of V.
* **D**: are there multipliers? ``0 ≤ β_i ≤ λ·weight_i`` for the training points,
  ``0 ≤ α_k ≤ weight_k`` for the flipped ones, ``Σ β_i y_i + Σ α_k ȳ_k = 0``, and the pull
  ``c_j = Σ β_i y_i x_ij + Σ α_k ȳ_k x_kj`` on each weight.

An *item* is a row of P with a breakpoint. On either side of it one bound in D is implied:

    w_j < lower_j      c_j ≤ 0        w_j > −lower_j     c_j ≥ 0
    margin_i < 1       β_i = λ·weight_i    margin_i > 1       β_i = 0
    margin_k < −1      α_k = 0        margin_k > −1      α_k = weight_k

(margin_k with the true label). On the breakpoint nothing is implied.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pessimal.lp.program import KinkedProgram, empty_program
from pessimal.problem import Mask, Matrix, TuningProblem, Vector
from pessimal.solvers.search.codes import ABOVE, BELOW
from pessimal.solvers.search.sides import Sides

INF = np.inf
AT_MOST, AT_LEAST = -1, 1

RANDOM_COSTS = np.random.default_rng(0).uniform(0.5, 1.5, 1000)
"""Costs of D, in turn: it only asks for feasibility, but without costs its simplex could cycle."""


@dataclass(frozen=True)
class Conditions:
    """P, D and their items for one inner problem.

    The first columns of D are multipliers of points, whose margins are the rows `point_row` of P;
    `point_sign` is −1 for a training point (hinge active below 1), +1 for a flipped one (active
    above −1). In the weighted problem λ and the slacks ``λ·weight_i − β_i`` follow, then always
    the pulls c_j, from row `pull_row` on.
    """

    primal: KinkedProgram
    dual: KinkedProgram
    items: Sides
    point_row: NDArray[np.intp]
    point_sign: NDArray[np.intp]
    point_weight: Vector
    weighted: bool
    pull_row: int
    lower: Vector
    upper: Vector


def optimistic_conditions(problem: TuningProblem) -> Conditions:
    """``u`` minimises the training loss over the box."""
    nobody = np.empty(0, np.intp)
    return _conditions(problem, nobody, np.empty(0), problem.n_train, False, INF, 0)


def flipped_conditions(problem: TuningProblem, flipped: Mask) -> Conditions:
    """``u`` minimises the flipped loss over the box: the pessimistic problem's part λ = 0."""
    weight = problem.flipped_weight(flipped)
    return _conditions(problem, np.flatnonzero(flipped), weight, 0, False, INF, 0)


def weighted_conditions(
    problem: TuningProblem, flipped: Mask, multiplier_cap: float = INF, n_local: int = 0
) -> Conditions:
    """``u`` minimises ``F + λ·L_T`` over the box for some λ from 0 to a proved cap."""
    weight = problem.flipped_weight(flipped)
    flips = np.flatnonzero(flipped)
    return _conditions(problem, flips, weight, problem.n_train, True, multiplier_cap, n_local)


def _conditions(
    problem: TuningProblem,
    flips: NDArray[np.intp],
    flip_weight: Vector,
    n_train: int,
    weighted: bool,
    multiplier_cap: float,
    n_local: int,
) -> Conditions:
    """Conditions for the hinges of the flipped points, and of all training points or none.

    Columns of D are α, β and, if the two losses are `weighted`, λ; rows are then
    ``λ·weight_i − β_i``, and always ``c_j`` and the balance of labels.
    """
    p = problem.n_features
    n_flips = len(flips)
    n_points = n_flips + n_train
    n_columns = n_points + 1 if weighted else n_points
    n_slacks = n_train if weighted else 0
    pull_row = n_columns + n_slacks
    dual = empty_program(n_slacks + p + 1, n_columns)
    A, low, high = dual.A, dual.low, dual.high
    items = Sides(2 * p + n_points)
    point_row = np.empty(n_points, np.intp)
    point_sign = np.empty(n_points, np.intp)
    point_weight = np.empty(n_points)
    # Compiled code writes through these; the arrays themselves are returned.
    rows, signs, weights = point_row, point_sign, point_weight

    lower = problem.lower
    for j in range(p):
        low[pull_row + j] = -INF
        high[pull_row + j] = INF
        below = items.add(j, lower[j])
        above = below if lower[j] == 0.0 else items.add(j, -lower[j])
        items.imply(below, BELOW, pull_row + j, AT_MOST, 0.0)
        items.imply(above, ABOVE, pull_row + j, AT_LEAST, 0.0)

    X, y, weight = problem.X_train, problem.y_train, problem.train_weight
    for i in range(n_train):
        column = n_flips + i
        rows[column] = p + 1 + i
        signs[column] = -1
        weights[column] = weight[i]
        _write_pull(A, n_slacks, column, X, i, y[i])
        item = items.add(p + 1 + i, 1.0)
        items.imply(item, ABOVE, column, AT_MOST, 0.0)
        if weighted:
            A[i, column] = -1.0
            A[i, n_points] = weight[i]
            high[column] = high[n_columns + i] = INF
            items.imply(item, BELOW, n_columns + i, AT_MOST, 0.0)
        else:
            high[column] = weight[i]
            items.imply(item, BELOW, column, AT_LEAST, weight[i])

    # The row holds the margin with the true label, so the flipped hinge is active above −1.
    X, y, weight = problem.X_val, problem.y_val, flip_weight
    first_val = p + 1 + problem.n_train
    for k in range(n_flips):
        rows[k] = first_val + flips[k]
        signs[k] = 1
        weights[k] = high[k] = weight[k]
        _write_pull(A, n_slacks, k, X, flips[k], -y[flips[k]])
        item = items.add(rows[k], -1.0)
        items.imply(item, BELOW, k, AT_MOST, 0.0)
        items.imply(item, ABOVE, k, AT_LEAST, weight[k])

    if weighted:
        high[n_points] = multiplier_cap
    _write_costs(n_columns, dual.slope_left, dual.slope_right, RANDOM_COSTS)
    return Conditions(
        _primal(problem, n_local),
        dual,
        items,
        point_row,
        point_sign,
        point_weight,
        weighted,
        pull_row,
        problem.lower,
        problem.upper,
    )


def _write_pull(A: Matrix, row: int, column: int, X: Matrix, i: int, label: float) -> None:
    """Write what a point's multiplier adds to the pulls and to the balance of labels."""
    p = X.shape[1]
    for j in range(p):
        A[row + j, column] = label * X[i, j]
    A[row + p, column] = label


def _write_costs(n: int, left: Vector, right: Vector, costs: Vector) -> None:
    """Give the multipliers their costs."""
    for k in range(n):
        left[k] = right[k] = costs[k % len(costs)]


def _primal(problem: TuningProblem, n_local: int) -> KinkedProgram:
    """P: rows ``w``, ``b``, margins of T, margins of V; cost ``L_V``."""
    p, n_train, n_val = problem.n_features, problem.n_train, problem.n_val
    primal = empty_program(n_train + n_val + n_local, p + 1, n_local)
    A, low, high = primal.A, primal.low, primal.high
    slope_left, kink = primal.slope_left, primal.kink
    b_limit = intercept_limit(problem)
    upper = problem.upper
    for j in range(p):
        high[j] = upper[j]
    high[p] = b_limit
    X, y = problem.X_train, problem.y_train
    for i in range(n_train):
        _write_margin(A, i, X, i, y[i])
        high[p + 1 + i] = _reach(X, i, upper) + b_limit
    X, y, weight = problem.X_val, problem.y_val, problem.val_weight
    for i in range(n_val):
        k = p + 1 + n_train + i
        _write_margin(A, n_train + i, X, i, y[i])
        high[k] = _reach(X, i, upper) + b_limit
        slope_left[k] = -weight[i]
        kink[k] = 1.0
    for k in range(len(high)):
        low[k] = -high[k]
    return primal


def _write_margin(A: Matrix, row: int, X: Matrix, i: int, label: float) -> None:
    """Write the margin ``y·(x·w − b)`` of a point."""
    p = X.shape[1]
    for j in range(p):
        A[row, j] = label * X[i, j]
    A[row, p] = -label


def intercept_limit(problem: TuningProblem) -> float:
    """Bound on ``|b|`` that no optimum meets: 2 more than the largest ``|x·w|``.

    From 1 more on, every score lies outside the margin on one side, and moving b back improves the
    inner loss, or (λ = 0) leaves it as it is without harm to ``L_V``. The other 1 keeps optima off
    the bound, which would otherwise take a share in their multipliers.
    """
    upper = problem.upper
    return 2.0 + max(_largest_reach(problem.X_train, upper), _largest_reach(problem.X_val, upper))


def _largest_reach(X: Matrix, upper: Vector) -> float:
    largest = 0.0
    for i in range(X.shape[0]):
        largest = max(largest, _reach(X, i, upper))
    return largest


def _reach(X: Matrix, i: int, upper: Vector) -> float:
    """Largest ``|x·w|`` of a point over the widest box."""
    total = 0.0
    for j in range(X.shape[1]):
        total += abs(X[i, j]) * upper[j]
    return total
