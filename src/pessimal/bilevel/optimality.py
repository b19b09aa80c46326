"""A bilevel program as one level: the optimality conditions of its followers in place of them.

Follower k has multipliers π of its rows and limits, one for each finite side. Its response is
optimal if and only if it is feasible, ``cost + price·x + curvature·y − Aᵀ·π = 0``, and each π of
an inequality, which is ``≥ 0``, has a slack of 0 or is 0 itself. All but the last is linear.

The outer objective may hold products ``x·y`` that are ρ times those of the inner objective. Where
the rows of that follower hold no outer variable, strong duality makes them linear:

    ``(price·x)·y = π·limits − cost·y − y·curvature·y``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array, csr_array, eye_array, vstack

from pessimal.bilevel.complementarity import (
    NO_MULTIPLIER,
    NO_SLACK,
    ComplementarityProgram,
    Guess,
    Pairs,
)
from pessimal.bilevel.dual_vertices import vertex_bounds
from pessimal.bilevel.program import BilevelProgram, FollowerProgram, RefusedError
from pessimal.bilevel.response import Response, respond
from pessimal.lp.highs import LinearProgram
from pessimal.problem import Vector

Columns = NDArray[np.intp]


@dataclass(eq=False)
class Assembly:
    """A linear program with pairs that grows by blocks of columns and rows."""

    columns: list[tuple[Vector, Vector]] = field(default_factory=list)
    rows: list[tuple[Vector, Vector]] = field(default_factory=list)
    entries: list[tuple[Vector, Columns, Columns]] = field(default_factory=list)
    multipliers: list[Columns] = field(default_factory=list)
    members: list[tuple[Columns, bool, bool]] = field(default_factory=list)
    bounds: list[Callable[[Callable[[int], float]], Vector]] = field(default_factory=list)
    n_columns: int = 0
    n_rows: int = 0

    def add_columns(self, lower: Vector, upper: Vector) -> Columns:
        """Add columns and return their numbers."""
        start, self.n_columns = self.n_columns, self.n_columns + len(lower)
        self.columns.append((lower, upper))
        return np.arange(start, self.n_columns)

    def add_rows(self, blocks: list[tuple[Columns, Any]], lower: Vector, upper: Vector) -> Columns:
        """Add rows ``lower ≤ Σ matrix·columns ≤ upper`` and return their numbers."""
        start, self.n_rows = self.n_rows, self.n_rows + len(lower)
        for columns, matrix in blocks:
            block = coo_array(matrix)
            if block.nnz:
                self.entries.append((block.data, block.row + start, columns[block.col]))
        self.rows.append((lower, upper))
        return np.arange(start, self.n_rows)

    @property
    def limits(self) -> tuple[Vector, Vector]:
        """Lower and upper limits of all columns."""
        lower, upper = zip(*self.columns, strict=True)
        return np.concatenate(lower), np.concatenate(upper)

    def add_pairs(
        self, multipliers: Columns, members: Columns, of_rows: bool, at_upper: bool
    ) -> None:
        """Pair multipliers with the slacks of columns or rows to one of their limits."""
        self.multipliers.append(multipliers)
        self.members.append((members, of_rows, at_upper))

    def build(
        self, cost: Vector, squares: tuple[csr_array, Vector] | None = None
    ) -> ComplementarityProgram:
        """Return the program; squares are ``Σ ½·weight·(row·z)²`` of a matrix and weights."""
        matrix, weight = squares or (csr_array((0, self.n_columns)), np.zeros(0))
        n, k = self.n_columns, len(weight)
        free = np.full(k, np.inf)
        squared = self.add_columns(-free, free)
        epigraph = self.add_columns(np.zeros(k), free)
        self.add_rows([(np.arange(n), matrix), (squared, -eye_array(k))], np.zeros(k), np.zeros(k))
        none = (np.zeros(0), np.zeros(0, dtype=np.intp), np.zeros(0, dtype=np.intp))
        data = [np.concatenate(part) for part in zip(none, *self.entries, strict=True)]
        shape = (self.n_rows, self.n_columns)
        lower, upper = self.limits
        row_lower, row_upper = (np.concatenate(side) for side in zip(*self.rows, strict=True))
        member = [numbers + self.n_columns * of_rows for numbers, of_rows, _ in self.members]
        at_upper = [np.full(len(numbers), side) for numbers, _, side in self.members]
        empty = [np.zeros(0, dtype=np.intp)]
        return ComplementarityProgram(
            LinearProgram(
                cost=np.concatenate([cost, np.zeros(k), np.ones(k)]),
                matrix=csr_array((data[0], (data[1], data[2])), shape=shape),
                row_lower=row_lower,
                row_upper=row_upper,
                lower=lower,
                upper=upper,
            ),
            Pairs(
                np.concatenate([*empty, *self.multipliers]),
                np.concatenate([*empty, *member]),
                np.concatenate([np.zeros(0, dtype=np.bool_), *at_upper]),
            ),
            squared,
            epigraph,
            weight,
            lambda size: np.concatenate([np.zeros(0), *(bounds(size) for bounds in self.bounds)]),
        )


@dataclass(frozen=True, eq=False)
class Multipliers:
    """The multipliers of one follower: of equations, and of lower and upper sides.

    Each has its columns, and the rows, or the variables, that it belongs to; `rows` are the
    numbers of the follower's rows in the program.
    """

    rows: Columns
    equations: tuple[Columns, Columns]
    row_sides: tuple[tuple[Columns, Columns], tuple[Columns, Columns]]
    limit_sides: tuple[tuple[Columns, Columns], tuple[Columns, Columns]]


def add_conditions(
    assembly: Assembly, follower: FollowerProgram, x: Columns, y: Columns, feasible: bool = True
) -> Multipliers:
    """Add the optimality conditions of a follower, whose limits the columns y already have.

    Without the rows that make y feasible, what is added says that multipliers exist.
    """
    rows = follower.rows
    A = csr_array(rows.inner)
    free = np.full(len(rows), np.inf)
    limits = (rows.lower, rows.upper) if feasible else (-free, free)
    numbers = assembly.add_rows([(x, rows.outer), (y, A)], *limits)
    stationarity = [(x, follower.price), (y, follower.curvature)]
    equation = rows.lower == rows.upper

    def multipliers(which: Columns, transposed: Any, sign: float) -> Columns:
        low = np.full(len(which), 0.0 if sign else -np.inf)
        columns = assembly.add_columns(low, np.full(len(which), np.inf))
        stationarity.append((columns, -(sign or 1.0) * transposed))
        return columns

    equations = np.flatnonzero(equation)
    of_equations = (multipliers(equations, A[equations].T, 0.0), equations)
    row_sides, limit_sides = [], []
    unit = eye_array(len(follower), format="csr")
    for at_upper, sign in ((False, 1.0), (True, -1.0)):
        limit = rows.upper if at_upper else rows.lower
        which = np.flatnonzero(np.isfinite(limit) & ~equation)
        columns = multipliers(which, A[which].T, sign)
        assembly.add_pairs(columns, numbers[which], of_rows=True, at_upper=at_upper)
        row_sides.append((columns, which))
    for at_upper, sign in ((False, 1.0), (True, -1.0)):
        limit = follower.upper if at_upper else follower.lower
        which = np.flatnonzero(np.isfinite(limit))
        columns = multipliers(which, unit[which].T, sign)
        assembly.add_pairs(columns, y[which], of_rows=False, at_upper=at_upper)
        limit_sides.append((columns, which))
    assembly.add_rows(stationarity, -follower.cost, -follower.cost)
    members = [w for _, w in row_sides], [w for _, w in limit_sides]
    assembly.bounds.append(lambda size: _multiplier_bounds(follower, x, y, size, *members))
    return Multipliers(
        numbers, of_equations, (row_sides[0], row_sides[1]), (limit_sides[0], limit_sides[1])
    )


def _multiplier_bounds(
    follower: FollowerProgram,
    x: Columns,
    y: Columns,
    size: Callable[[int], float],
    of_rows: list[Columns],
    of_limits: list[Columns],
) -> Vector:
    """Bound the multipliers of pairs, in their order, at vertices of the dual."""
    limited = np.flatnonzero(np.isfinite(follower.lower) | np.isfinite(follower.upper))
    unit = eye_array(len(follower), format="csr")[limited]
    gradient = np.abs(follower.cost)
    for matrix, columns in ((follower.price, x), (follower.curvature, y)):
        entries = abs(matrix).tocoo()
        sizes = {k: size(k) for k in columns[np.unique(entries.col)].tolist()}
        for i, j, entry in zip(entries.row, columns[entries.col], entries.data, strict=True):
            gradient[i] += entry * sizes[int(j)]
    bounds = vertex_bounds(csr_array(vstack([follower.rows.inner, unit])), gradient)
    rows, limits = bounds[: len(follower.rows)], np.zeros(len(follower))
    limits[limited] = bounds[len(follower.rows) :]
    return np.concatenate([*(rows[w] for w in of_rows), *(limits[w] for w in of_limits)])


@dataclass(frozen=True, eq=False)
class SingleLevelProgram:
    """A bilevel program with its followers' optimality conditions, and where its columns are."""

    bilevel: BilevelProgram
    problem: ComplementarityProgram
    x: Columns
    y: Columns
    multipliers: tuple[Multipliers, ...]

    def split(self, z: Vector) -> tuple[Vector, Vector]:
        """Return decision and responses at a point."""
        x = z[self.x].copy()
        x[self.bilevel.integer] = np.round(x[self.bilevel.integer])
        return x, z[self.y]

    def guess(self, decision: Vector) -> Iterator[Guess]:
        """Propose the leaf of the followers' responses to a decision.

        What no follower sees stays free, to be chosen with the best of the responses.
        """
        bilevel = self.bilevel
        x = np.clip(decision, bilevel.lower, bilevel.upper)
        seen = bilevel.integer.copy()
        for follower in bilevel.followers:
            seen |= abs(follower.rows.outer).sum(axis=0) + abs(follower.price).sum(axis=0) > 0.0
        sides = []
        for follower, own in zip(bilevel.followers, self.multipliers, strict=True):
            response = respond(follower, x)
            if response is None:
                return
            sides += list(_sides(own, response))
        chosen = np.concatenate([np.zeros(0, dtype=np.int8), *sides])
        yield Guess(chosen, self.x[seen], x[seen])


def _sides(own: Multipliers, response: Response) -> Iterator[Any]:
    """Say which multipliers of a response are 0, in the order of the pairs."""
    for (_, which), at_upper in zip(own.row_sides, (False, True), strict=True):
        yield _active(response.of_rows[which], at_upper)
    for (_, which), at_upper in zip(own.limit_sides, (False, True), strict=True):
        yield _active(response.of_limits[which], at_upper)


def _active(multiplier: Vector, at_upper: bool) -> NDArray[np.int8]:
    positive = (-multiplier if at_upper else multiplier) > 0.0
    return np.where(positive, NO_SLACK, NO_MULTIPLIER).astype(np.int8)


def single_level_program(bilevel: BilevelProgram) -> SingleLevelProgram:
    """Write a bilevel program, in its optimistic form, as one level with complementarities."""
    assembly = Assembly()
    x = assembly.add_columns(bilevel.lower, bilevel.upper)
    none = np.zeros(0)
    y = assembly.add_columns(
        np.concatenate([none, *(f.lower for f in bilevel.followers)]),
        np.concatenate([none, *(f.upper for f in bilevel.followers)]),
    )
    rows = bilevel.rows
    assembly.add_rows([(x, rows.outer), (y, rows.inner)], rows.lower, rows.upper)
    multipliers = tuple(
        add_conditions(assembly, follower, x, y[follower.columns]) for follower in bilevel.followers
    )
    cost = np.zeros(assembly.n_columns)
    cost[x], cost[y] = bilevel.outer_cost, bilevel.inner_cost
    curvature = bilevel.inner_curvature.tolil(copy=True)
    for follower, own in zip(bilevel.followers, multipliers, strict=True):
        _add_products(bilevel, follower, own, cost, y, curvature)
    curved = squares(bilevel.outer_curvature, csr_array(curvature), x, y, assembly.n_columns)
    problem = assembly.build(cost, curved)
    problem.program.integer[x] = bilevel.integer
    return SingleLevelProgram(bilevel, problem, x, y, multipliers)


def _add_products(
    bilevel: BilevelProgram,
    follower: FollowerProgram,
    own: Multipliers,
    cost: Vector,
    y: Columns,
    curvature: Any,
) -> None:
    """Add ρ times the products of a follower's objective, by strong duality."""
    outer = csr_array(bilevel.price)[np.arange(bilevel.n_inner)[follower.columns]]
    if not abs(outer).sum() > 0.0:
        return
    inner = follower.price
    ratio = float((outer * inner).sum() / max((inner * inner).sum(), 1e-300))
    if abs(outer - ratio * inner).max() > 1e-12 * abs(outer).max():
        raise RefusedError(
            "the outer objective has products of outer and inner variables that are no multiple "
            "of those in the follower's objective; only such a multiple can be made linear",
            "objective",
        )
    if abs(follower.rows.outer).sum() > 0.0:
        raise RefusedError(
            "the outer objective has products of outer and inner variables, and outer variables "
            "stand in the follower's constraints too; only one of both can be made linear",
            "objective",
        )
    if follower.curved:
        if ratio > 0.0:
            raise RefusedError(
                "the outer objective has products of outer and inner variables, and the follower's "
                "objective is quadratic: together they are not convex",
                "objective",
            )
        numbers = np.arange(bilevel.n_inner)[follower.columns]
        curvature[np.ix_(numbers, numbers)] += -2.0 * ratio * follower.curvature.toarray()
    columns, which = own.equations
    cost[columns] += ratio * follower.rows.lower[which]
    for sides, lower, upper in (
        (own.row_sides, follower.rows.lower, follower.rows.upper),
        (own.limit_sides, follower.lower, follower.upper),
    ):
        for (columns, which), limit, sign in zip(sides, (lower, upper), (1.0, -1.0), strict=True):
            cost[columns] += ratio * sign * limit[which]
    cost[y[follower.columns]] -= ratio * follower.cost


def squares(
    outer: csr_array, inner: csr_array, x: Columns, y: Columns, n: int
) -> tuple[csr_array, Vector]:
    """Write ``½ x·outer·x + ½ y·inner·y`` as a sum of squares of linear functions."""
    rows, weights = [np.zeros((0, n))], [np.zeros(0)]
    for matrix, columns in ((outer, x), (inner, y)):
        used = np.flatnonzero(abs(matrix).sum(axis=0) > 0.0)
        values, vectors = np.linalg.eigh(matrix[used][:, used].toarray())
        kept = values > 1e-12 * max(1.0, np.abs(values).max(initial=0.0))
        if np.any(values < -1e-9 * max(1.0, np.abs(values).max(initial=0.0))):
            raise RefusedError(
                "the outer objective is not convex: its matrix is indefinite", "objective"
            )
        block = np.zeros((int(kept.sum()), n))
        block[:, columns[used]] = vectors[:, kept].T
        rows.append(block)
        weights.append(values[kept])
    return csr_array(np.vstack(rows)), np.concatenate(weights)
