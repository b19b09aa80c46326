"""The optimality conditions of the inner problem: two linear programs and complementarities.

The inner problem asks that ``u = (w, b)`` minimise, over the box ``|w_j| ≤ w̄_j``,

    L_T                     (optimistic),
    F + λ·L_T, some λ ≥ 0   (the paper's pessimistic problem),
    F                       (the latter's part λ = 0),

and a box that shrinks around ``u`` keeps it optimal, so ``w̄_j = max(|w_j|, lower_j)``. What remains
of the optimality conditions are two linear programs that share no variable:

* **P**: minimise ``L_V(u)``. Its rows are ``w``, ``b``, the margins of T and of V.
* **D**: are there multipliers? ``0 ≤ β_i ≤ λ·weight_i`` for the training points,
  ``0 ≤ α_k ≤ weight_k`` for the flipped ones, ``Σ β_i y_i + Σ α_k ȳ_k = 0``, and the reduced cost
  ``c_j = Σ β_i y_i x_ij + Σ α_k ȳ_k x_kj`` of each weight, positive where it should grow.

A *complementarity* pairs a row of P, which has a breakpoint, with a row of D. On either side of the
breakpoint one bound in D is implied:

    w_j < lower_j      c_j ≤ 0             w_j > −lower_j     c_j ≥ 0
    margin_i < 1       β_i = λ·weight_i    margin_i > 1       β_i = 0
    margin_k < −1      α_k = 0             margin_k > −1      α_k = weight_k

(margin_k with the true label). On the breakpoint nothing is implied.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pessimal.lp.program import KinkedProgram, empty_program
from pessimal.lp.simplex import Simplex
from pessimal.problem import Mask, Matrix, TuningProblem, Vector
from pessimal.tolerances import REDUCED_COST

INF = np.inf
BELOW, ABOVE = 0, 1  # sides of a breakpoint, and of a bound; not typed, so that others can import

RANDOM_COSTS = np.random.default_rng(0).uniform(0.5, 1.5, 1000)
"""Costs of D, in turn: it only asks for feasibility, but without costs its simplex could cycle."""


class Complementarities:
    """A list of pairs, with space for `capacity` of them.

    If row `row` of P lies below or above its `breakpoint`, row `dual_row` of D must lie on side
    `dual_side` of `dual_value`, or on it. Row −1: that side implies nothing.
    """

    def __init__(self, capacity: int) -> None:
        self.n_pairs = 0
        self.row = np.empty(capacity, np.intp)
        self.breakpoint = np.empty(capacity)
        self.dual_row = np.full((capacity, 2), -1, np.intp)
        self.dual_side = np.empty((capacity, 2), np.intp)
        self.dual_value = np.empty((capacity, 2))

    def add(self, row: int, at: float) -> int:
        """Add row `row` of P with breakpoint `at`; return the number of the pair."""
        pair = self.n_pairs
        self.row[pair] = row
        self.breakpoint[pair] = at
        self.n_pairs = pair + 1
        return pair

    def imply(self, pair: int, side: int, dual_row: int, dual_side: int, value: float) -> None:
        """Have a side of a pair imply a bound of D."""
        self.dual_row[pair, side] = dual_row
        self.dual_side[pair, side] = dual_side
        self.dual_value[pair, side] = value

    def bound_primal(self, primal: Simplex, pair: int, side: int) -> None:
        """Restrict P to a side of the breakpoint."""
        _restrict(primal, self.row[pair], side, self.breakpoint[pair])

    def bound_dual(self, dual: Simplex, pair: int, side: int) -> None:
        """Restrict D to what a side implies."""
        k = self.dual_row[pair, side]
        if k >= 0:
            _restrict(dual, k, self.dual_side[pair, side], self.dual_value[pair, side])

    def implied(self, dual: Simplex, pair: int, side: int) -> bool:
        """Whether D already has the bound that a side implies."""
        k = self.dual_row[pair, side]
        if k < 0:
            return True
        if self.dual_side[pair, side] > 0:
            return dual.low[k] >= self.dual_value[pair, side]
        return dual.high[k] <= self.dual_value[pair, side]

    def satisfied(self, values: Vector, pair: int, side: int) -> bool:
        """Whether a point of D satisfies what a side implies."""
        k = self.dual_row[pair, side]
        if k < 0:
            return True
        if self.dual_side[pair, side] > 0:
            return values[k] >= self.dual_value[pair, side] - REDUCED_COST
        return values[k] <= self.dual_value[pair, side] + REDUCED_COST

    def undecided(self, primal: Simplex, k: int) -> int:
        """Pair on row `k` of P that may still lie on both sides, or −1."""
        for pair in range(self.n_pairs):
            if self.row[pair] == k and primal.low[k] < self.breakpoint[pair] < primal.high[k]:
                return pair
        return -1


def _restrict(program: Simplex, k: int, side: int, value: float) -> None:
    """Keep row `k` of a program on a side of a value, or on it."""
    if side > 0:
        program.set_bounds(k, max(value, program.low[k]), program.high[k])
    else:
        program.set_bounds(k, program.low[k], min(value, program.high[k]))


@dataclass(frozen=True)
class Conditions:
    """P, D and their complementarities for one inner problem.

    The first columns of D are multipliers of points, whose margins are the rows `point_row` of P;
    `point_sign` is −1 for a training point (hinge active below 1), +1 for a flipped one (active
    above −1). In the weighted problem λ and the slacks ``λ·weight_i − β_i`` follow, then always
    the reduced costs c_j, from row `reduced_cost_row` on.
    """

    primal: KinkedProgram
    dual: KinkedProgram
    pairs: Complementarities
    point_row: NDArray[np.intp]
    point_sign: NDArray[np.intp]
    point_weight: Vector
    weighted: bool
    reduced_cost_row: int
    lower: Vector
    upper: Vector


def optimistic_conditions(problem: TuningProblem) -> Conditions:
    """``u`` minimises the training loss over the box."""
    return _conditions(problem, np.zeros(problem.n_val, np.bool_), problem.n_train)


def flipped_conditions(problem: TuningProblem, flipped: Mask) -> Conditions:
    """``u`` minimises the flipped loss over the box: the pessimistic problem's part λ = 0."""
    return _conditions(problem, flipped, 0)


def weighted_conditions(
    problem: TuningProblem, flipped: Mask, multiplier_cap: float = INF, n_local: int = 0
) -> Conditions:
    """``u`` minimises ``F + λ·L_T`` over the box for some λ from 0 to a proved cap."""
    return _conditions(problem, flipped, problem.n_train, True, multiplier_cap, n_local)


def active_set_conditions(
    problem: TuningProblem,
    active: Mask,
    n_train: int,
    b_limit: float,
    multiplier_cap: float = INF,
    n_local: int = 0,
) -> Conditions:
    """``u`` loses most on the active hinges, as linear functions, for some price λ of ``L_T``.

    With no training points λ is 0. As F without its kinks it has no complementarities: every α_k is
    the weight of its point. Nothing but the training limit keeps b, so its bound is given.
    """
    weighted = n_train > 0
    return _conditions(problem, active, n_train, weighted, multiplier_cap, n_local, b_limit)


def _conditions(
    problem: TuningProblem,
    flipped: Mask,
    n_train: int,
    weighted: bool = False,
    multiplier_cap: float = INF,
    n_local: int = 0,
    b_limit: float = 0.0,
) -> Conditions:
    """Conditions for the hinges of the flipped points, and of all training points or none.

    Columns of D are α, β and, if the two losses are `weighted`, λ; rows are then
    ``λ·weight_i − β_i``, and always ``c_j`` and the balance of labels. Given a bound on b the
    flipped points count as linear functions.
    """
    flips = np.flatnonzero(flipped)
    p = problem.n_features
    n_flips = len(flips)
    n_points = n_flips + n_train
    n_columns = n_points + 1 if weighted else n_points
    n_slacks = n_train if weighted else 0
    reduced_cost_row = n_columns + n_slacks
    dual = empty_program(n_slacks + p + 1, n_columns)
    A, low, high = dual.A, dual.low, dual.high
    pairs = Complementarities(2 * p + n_points)
    point_row = np.empty(n_points, np.intp)
    point_sign = np.empty(n_points, np.intp)
    point_weight = np.empty(n_points)
    # Compiled code writes through these; the arrays themselves are returned.
    rows, signs, weights = point_row, point_sign, point_weight

    lower = problem.lower
    for j in range(p):
        low[reduced_cost_row + j] = -INF
        high[reduced_cost_row + j] = INF
        below = pairs.add(j, lower[j])
        above = below if lower[j] == 0.0 else pairs.add(j, -lower[j])
        pairs.imply(below, BELOW, reduced_cost_row + j, BELOW, 0.0)
        pairs.imply(above, ABOVE, reduced_cost_row + j, ABOVE, 0.0)

    X, y, weight = problem.X_train, problem.y_train, problem.train_weight
    for i in range(n_train):
        column = n_flips + i
        rows[column] = p + 1 + i
        signs[column] = -1
        weights[column] = weight[i]
        _write_multiplier(A, n_slacks, column, X, i, y[i])
        pair = pairs.add(p + 1 + i, 1.0)
        pairs.imply(pair, ABOVE, column, BELOW, 0.0)
        if weighted:
            A[i, column] = -1.0
            A[i, n_points] = weight[i]
            high[column] = high[n_columns + i] = INF
            pairs.imply(pair, BELOW, n_columns + i, BELOW, 0.0)
        else:
            high[column] = weight[i]
            pairs.imply(pair, BELOW, column, ABOVE, weight[i])

    # The row holds the margin with the true label, so the flipped hinge is active above −1.
    X, y, weight = problem.X_val, problem.y_val, problem.flipped_weight(flipped)
    first_val = p + 1 + problem.n_train
    for k in range(n_flips):
        rows[k] = first_val + flips[k]
        signs[k] = 1
        weights[k] = high[k] = weight[k]
        _write_multiplier(A, n_slacks, k, X, flips[k], -y[flips[k]])
        if b_limit > 0.0:
            low[k] = weight[k]
            continue
        pair = pairs.add(rows[k], -1.0)
        pairs.imply(pair, BELOW, k, BELOW, 0.0)
        pairs.imply(pair, ABOVE, k, ABOVE, weight[k])

    if weighted:
        high[n_points] = multiplier_cap
    left, right, costs = dual.slope_left, dual.slope_right, RANDOM_COSTS
    for k in range(n_columns):
        left[k] = right[k] = costs[k % len(costs)]
    return Conditions(
        _primal(problem, n_local, b_limit if b_limit > 0.0 else intercept_limit(problem)),
        dual,
        pairs,
        point_row,
        point_sign,
        point_weight,
        weighted,
        reduced_cost_row,
        problem.lower,
        problem.upper,
    )


def _write_multiplier(A: Matrix, row: int, column: int, X: Matrix, i: int, label: float) -> None:
    """Write what a point's multiplier adds to the reduced costs and to the balance of labels."""
    p = X.shape[1]
    for j in range(p):
        A[row + j, column] = label * X[i, j]
    A[row + p, column] = label


def _primal(problem: TuningProblem, n_local: int, b_limit: float) -> KinkedProgram:
    """P: rows ``w``, ``b``, margins of T, margins of V; cost ``L_V``."""
    p, n_train, n_val = problem.n_features, problem.n_train, problem.n_val
    primal = empty_program(n_train + n_val + n_local, p + 1, n_local)
    A, low, high = primal.A, primal.low, primal.high
    slope_left, kink = primal.slope_left, primal.kink
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
    largest = 0.0
    for X in (problem.X_train, problem.X_val):
        for i in range(X.shape[0]):
            largest = max(largest, _reach(X, i, upper))
    return 2.0 + largest


def _reach(X: Matrix, i: int, upper: Vector) -> float:
    """Largest ``|x·w|`` of a point over the widest box."""
    total = 0.0
    for j in range(X.shape[1]):
        total += abs(X[i, j]) * upper[j]
    return total
