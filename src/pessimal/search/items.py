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

import functools
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pessimal.problem import Mask, Matrix, TuningProblem, Vector
from pessimal.search.codes import ABOVE, BELOW
from pessimal.search.program import LinearProgram

AT_MOST, AT_LEAST = -1, 1

Implied = tuple[NDArray[np.intp], int, Vector | float]  # rows of D, sense, value


@dataclass(frozen=True)
class Items:
    """Rows of P with a breakpoint, and what each side of it implies in D (row −1: nothing)."""

    row: NDArray[np.intp]
    breakpoint: Vector
    dual_row: NDArray[np.intp]  # (n_items, 2), columns BELOW and ABOVE
    sense: NDArray[np.intp]  # AT_MOST or AT_LEAST
    value: Vector

    def __len__(self) -> int:
        return len(self.row)


@dataclass(frozen=True)
class Conditions:
    """P, D and their items for one inner problem.

    The first columns of D are multipliers of points, whose margins are the rows `point_row` of P;
    `point_sign` is −1 for a training point (hinge active below 1), +1 for a flipped one (active
    above −1). In the weighted problem λ and the slacks ``λ·weight_i − β_i`` follow, then always
    the pulls c_j, from row `pull_row` on.
    """

    primal: LinearProgram
    dual: LinearProgram
    items: Items
    point_row: NDArray[np.intp]
    point_sign: NDArray[np.intp]
    point_weight: Vector
    weighted: bool
    pull_row: int
    lower: Vector
    upper: Vector


def optimistic_conditions(problem: TuningProblem) -> Conditions:
    """``u`` minimises the training loss over the box."""
    rows = problem.n_features + 1 + np.arange(problem.n_train)
    return _one_loss(
        problem, problem.X_train, problem.y_train, problem.train_weight, rows, active=BELOW, at=1.0
    )


def flipped_conditions(problem: TuningProblem, flipped: Mask) -> Conditions:
    """``u`` minimises the flipped loss over the box: the pessimistic problem's part λ = 0."""
    X, labels = problem.X_val[flipped], -problem.y_val[flipped]
    rows = problem.n_features + 1 + problem.n_train + np.flatnonzero(flipped)
    # The row holds the margin with the true label, so the flipped hinge is active above −1.
    weight = problem.flipped_weight(flipped)
    return _one_loss(problem, X, labels, weight, rows, active=ABOVE, at=-1.0)


def weighted_conditions(
    problem: TuningProblem, flipped: Mask, multiplier_cap: float = np.inf, n_local: int = 0
) -> Conditions:
    """``u`` minimises ``F + λ·L_T`` over the box for some λ from 0 to a proved cap."""
    p, n_train = problem.n_features, problem.n_train
    index = np.flatnonzero(flipped)
    n_flipped = len(index)
    labels = -problem.y_val[index]
    weight = problem.flipped_weight(flipped)
    # Columns α, β, λ; rows λ·weight_i − β_i, then c_j, then the balance of labels.
    n_columns = n_flipped + n_train + 1
    A = np.zeros((n_train + p + 1, n_columns))
    beta = slice(n_flipped, n_flipped + n_train)
    A[:n_train, beta] = -np.eye(n_train)
    A[:n_train, -1] = problem.train_weight
    A[n_train:-1, :n_flipped] = (problem.X_val[index] * labels[:, None]).T
    A[n_train:-1, beta] = (problem.X_train * problem.y_train[:, None]).T
    A[-1, :n_flipped] = labels
    A[-1, beta] = problem.y_train
    low = np.full(n_columns + len(A), -np.inf)
    high = np.full(n_columns + len(A), np.inf)
    low[: n_columns + n_train] = 0.0
    high[:n_flipped] = weight
    high[n_columns - 1] = multiplier_cap
    low[-1] = high[-1] = 0.0

    slack_row = n_columns + np.arange(n_train)
    pull_row = n_columns + n_train
    train = _items(
        p + 1 + np.arange(n_train),
        1.0,
        below=(slack_row, AT_MOST, 0.0),
        above=(n_flipped + np.arange(n_train), AT_MOST, 0.0),
    )
    flips = _items(
        p + 1 + n_train + index,
        -1.0,
        below=(np.arange(n_flipped), AT_MOST, 0.0),
        above=(np.arange(n_flipped), AT_LEAST, weight),
    )
    items = _join(*_weight_items(problem, pull_row), train, flips)
    return Conditions(
        _primal(problem, n_local),
        _dual(A, low, high),
        items,
        np.concatenate([flips.row, train.row]),
        np.repeat([1, -1], [n_flipped, n_train]),
        np.concatenate([weight, problem.train_weight]),
        True,
        pull_row,
        problem.lower,
        problem.upper,
    )


def _one_loss(
    problem: TuningProblem,
    X: Matrix,
    labels: Vector,
    weight: Vector,
    rows: NDArray[np.intp],
    active: int,
    at: float,
) -> Conditions:
    """Conditions for one loss Σ weight·hinge, whose hinges are active on side `active` of `at`."""
    p, n = problem.n_features, len(labels)
    A = np.vstack([(X * labels[:, None]).T, labels])
    low = np.concatenate([np.zeros(n), np.full(p, -np.inf), [0.0]])
    high = np.concatenate([weight, np.full(p, np.inf), [0.0]])
    idle: Implied = (np.arange(n), AT_MOST, 0.0)
    full: Implied = (np.arange(n), AT_LEAST, weight)
    below, above = (full, idle) if active == BELOW else (idle, full)
    items = _join(*_weight_items(problem, n), _items(rows, at, below=below, above=above))
    return Conditions(
        _primal(problem),
        _dual(A, low, high),
        items,
        rows,
        np.full(n, -1 if active == BELOW else 1),
        weight.copy(),
        False,
        n,
        problem.lower,
        problem.upper,
    )


@functools.cache
def _random_costs(n: int) -> Vector:
    """Return the same numbers every time, once drawn."""
    return np.random.default_rng(0).uniform(0.5, 1.5, n)


def intercept_limit(problem: TuningProblem) -> float:
    """Bound on ``|b|`` that no optimum meets: 2 more than the largest ``|x·w|``.

    From 1 more on, every score lies outside the margin on one side, and moving b back improves the
    inner loss, or (λ = 0) leaves it as it is without harm to ``L_V``. The other 1 keeps optima off
    the bound, which would otherwise take a share in their multipliers.
    """
    reach = np.abs(np.vstack([problem.X_train, problem.X_val])) @ problem.upper
    return float(2.0 + reach.max())


def _primal(problem: TuningProblem, n_local: int = 0) -> LinearProgram:
    """P: rows ``w``, ``b``, margins of T, margins of V; cost ``L_V``."""
    X = np.vstack([problem.X_train, problem.X_val])
    y = np.concatenate([problem.y_train, problem.y_val])
    A = np.ascontiguousarray(np.hstack([X, -np.ones((len(X), 1))]) * y[:, None])
    reach = np.abs(X) @ problem.upper
    b_limit = intercept_limit(problem)
    high = np.concatenate([problem.upper, [b_limit], reach + b_limit, np.zeros(n_local)])
    val = slice(len(high) - n_local - problem.n_val, len(high) - n_local)
    slope_left = np.zeros(len(high))
    slope_left[val] = -problem.val_weight
    kink = np.zeros(len(high))
    kink[val] = 1.0
    A = np.vstack([A, np.zeros((n_local, A.shape[1]))])
    return LinearProgram(A, -high, high, slope_left, np.zeros(len(high)), kink, n_local)


def _dual(A: Matrix, low: Vector, high: Vector) -> LinearProgram:
    """D is a feasibility problem; random positive costs keep its simplex from cycling."""
    slope = np.zeros(len(low))
    slope[: A.shape[1]] = _random_costs(A.shape[1])
    kink = np.zeros(len(low))
    return LinearProgram(np.ascontiguousarray(A), low, high, slope, slope.copy(), kink)


def _items(rows: NDArray[np.intp], at: Vector | float, below: Implied, above: Implied) -> Items:
    n = len(rows)
    items = Items(
        row=rows,
        breakpoint=np.empty(n),
        dual_row=np.empty((n, 2), np.intp),
        sense=np.empty((n, 2), np.intp),
        value=np.empty((n, 2)),
    )
    items.breakpoint[:] = at
    for side, (dual_row, sense, value) in ((BELOW, below), (ABOVE, above)):
        items.dual_row[:, side] = dual_row
        items.sense[:, side] = sense
        items.value[:, side] = value
    return items


def _weight_items(problem: TuningProblem, pull_row: int) -> tuple[Items, ...]:
    """Items of the weights: one at 0, or two, at ±lower, where a feature has a lower limit."""
    free, held = np.flatnonzero(problem.lower == 0.0), np.flatnonzero(problem.lower)
    pull_back: Implied = (pull_row + free, AT_MOST, 0.0)
    pull_on: Implied = (pull_row + free, AT_LEAST, 0.0)
    at_zero = _items(free, 0.0, below=pull_back, above=pull_on)
    if len(held) == 0:
        return (at_zero,)
    lower, nothing = problem.lower[held], np.full(len(held), -1)
    pull_back, pull_on = (pull_row + held, AT_MOST, 0.0), (pull_row + held, AT_LEAST, 0.0)
    return (
        at_zero,
        _items(held, lower, below=pull_back, above=(nothing, AT_LEAST, 0.0)),
        _items(held, -lower, below=(nothing, AT_MOST, 0.0), above=pull_on),
    )


def _join(*parts: Items) -> Items:
    return Items(
        row=np.concatenate([part.row for part in parts]),
        breakpoint=np.concatenate([part.breakpoint for part in parts]),
        dual_row=np.concatenate([part.dual_row for part in parts]),
        sense=np.concatenate([part.sense for part in parts]),
        value=np.concatenate([part.value for part in parts]),
    )
