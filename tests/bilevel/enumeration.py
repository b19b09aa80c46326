"""Small bilevel programs solved from their definition; shares no code with the package.

*Optimistic*: the graph of the follower's argmin is the union of the faces of its KKT system, one
per choice of ``slack = 0`` or ``multiplier = 0`` for every inequality. `optimistic` solves one
program per face that is not empty.

*Pessimistic*, with a follower whose objective does not depend on the outer decision: for given x
the worst response is a linear program over ``Ψ(x) = {y feasible: d·y ≤ t(x)}``, with
``t(x) = f*(x) + ε|f*(x)| + δ``. Its dual polyhedron does not depend on x; so the worst value is
the least, over the vertices (λ, μ) of that polyhedron, of ``λ·(b − A x) + μ t(x)``, and t is convex
in x for ε ≤ 1. `pessimistic` solves one linear program per vertex.

*Pessimistic*, with prices and one outer variable, ε = δ = 0: which vertices of the follower are
optimal changes at finitely many x; `pessimistic_on_line` looks at them and at the open intervals
between them, where the infimum may not be attained.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import cvxpy
import numpy as np
from plain_arrays import Array, Arrays, Inner, Rows
from scipy.optimize import Bounds, LinearConstraint, linprog, milp

cp: Any = cvxpy

ZERO = 1e-9
"""Data of the tests are small rational numbers; what is smaller than this is 0."""

OPTIMAL, INFEASIBLE, UNBOUNDED, UNATTAINED = "optimal", "infeasible", "unbounded", "unattained"


@dataclass(frozen=True)
class Outcome:
    """What enumeration found: a status, the value (an infimum where unattained), and a point."""

    status: str
    value: float = math.nan
    x: Array = field(default_factory=lambda: np.empty(0))


# ------------------------------------------------------------------------------------------------
# One linear or convex quadratic program


def _minimise(
    cost: Array,
    A: Array,
    lower: Array,
    upper: Array,
    bounds: tuple[Array, Array],
    integer: Array,
    curvature: Array | None = None,
) -> tuple[str, float, Array]:
    """Minimise ``cost·z + ½ z·curvature z`` over rows and bounds."""
    if curvature is not None and np.any(curvature):
        return _minimise_quadratic(cost, A, lower, upper, bounds, curvature)
    rows = [LinearConstraint(A, lower, upper)] if len(A) else []

    def run(goal: Array, presolve: bool) -> Any:
        options = {"presolve": presolve}
        limits = Bounds(*bounds)
        return milp(goal, constraints=rows, bounds=limits, integrality=integer, options=options)

    for presolve in (True, False):
        found = run(cost, presolve)
        if found.status == 0:
            return OPTIMAL, float(found.fun), found.x
        feasible = run(0.0 * cost, presolve)
        if feasible.status == 2:
            return INFEASIBLE, math.inf, cost
        if feasible.status == 0 and found.status in (3, 4):
            return UNBOUNDED, -math.inf, feasible.x
    raise RuntimeError(f"no answer: {found.message} / {feasible.message}")


def _minimise_quadratic(
    cost: Array, A: Array, lower: Array, upper: Array, bounds: tuple[Array, Array], curvature: Array
) -> tuple[str, float, Array]:
    # An interior point method knows no unbounded program for certain; a linear one does: it is the
    # feasible one with a direction of descent in which the objective has no curvature.
    zero = np.zeros(len(cost))
    status, _, point = _minimise(zero, A, lower, upper, bounds, zero)
    if status == INFEASIBLE:
        return INFEASIBLE, math.inf, cost
    low, high = (np.where(np.isfinite(limit), 0.0, limit) for limit in (lower, upper))
    away = [np.where(np.isfinite(limit), 0.0, np.sign(limit)) for limit in bounds]
    rows, flat = np.vstack([A, curvature]), np.zeros(len(curvature))
    along = np.append(low, flat), np.append(high, flat)
    _, descent, _ = _minimise(cost, rows, *along, (away[0], away[1]), zero)
    if descent < -ZERO:
        return UNBOUNDED, -math.inf, point
    z = cp.Variable(len(cost))
    A, lower, upper = (np.concatenate(both) for both in (
        (A, np.eye(len(cost))), (lower, bounds[0]), (upper, bounds[1])))  # fmt: skip
    equal = lower == upper
    below, above = np.isfinite(lower) & ~equal, np.isfinite(upper) & ~equal
    limits = [A[equal] @ z == lower[equal]] if equal.any() else []
    limits += [A[below] @ z >= lower[below]] if below.any() else []
    limits += [A[above] @ z <= upper[above]] if above.any() else []
    goal = cost @ z + 0.5 * cp.quad_form(z, cp.psd_wrap(curvature))
    problem = cp.Problem(cp.Minimize(goal), limits)
    problem.solve(solver=cp.CLARABEL)
    if problem.status not in (cp.OPTIMAL, cp.OPTIMAL_INACCURATE):
        raise RuntimeError(f"no answer: {problem.status}")
    return OPTIMAL, float(problem.value), np.asarray(z.value)


class _System:
    """Rows ``lower ≤ A z ≤ upper`` that are being collected."""

    def __init__(self, width: int) -> None:
        self.A = np.empty((0, width))
        self.lower = np.empty(0)
        self.upper = np.empty(0)

    def add(self, A: Array, lower: Array, upper: Array) -> None:
        padded = np.zeros((len(A), self.A.shape[1]))
        padded[:, : A.shape[1]] = A
        self.A = np.vstack([self.A, padded])
        self.lower = np.append(self.lower, lower)
        self.upper = np.append(self.upper, upper)

    def add_rows(self, rows: Rows, y: slice) -> None:
        A = np.zeros((rows.count, self.A.shape[1]))
        A[:, : rows.A.shape[1]], A[:, y] = rows.A, rows.B
        self.add(A, np.where(rows.equal, rows.b, -np.inf), rows.b)


# ------------------------------------------------------------------------------------------------
# Optimistic


def optimistic(program: Arrays) -> Outcome:
    """Least outer value over all x and all optimal responses, face by face of the KKT systems."""
    n, size = program.n_outer, len(program.cost)
    if np.any(program.curvature[:n, n:]):
        return _optimistic_by_vertices(program)
    width = size + sum(f.rows.count for f in program.followers)
    system = _System(width)
    system.add_rows(program.rows, slice(n, size))
    pairs: list[tuple[int, int]] = []
    at_y, at_dual = n, size
    for f in program.followers:
        y, dual = slice(at_y, at_y + f.size), slice(at_dual, at_dual + f.rows.count)
        first = len(system.A)
        system.add_rows(f.rows, y)
        pairs += [(first + i, dual.start + i) for i in range(f.rows.count) if not f.rows.equal[i]]
        stationary = np.zeros((f.size, width))
        stationary[:, :n], stationary[:, y], stationary[:, dual] = f.price, f.curvature, f.rows.B.T
        system.add(stationary, -f.cost, -f.cost)
        at_y, at_dual = y.stop, dual.stop
    matrix, low, high = system.A, system.lower, system.upper
    floor, ceiling = np.full(width, -np.inf), np.full(width, np.inf)
    floor[[column for _, column in pairs]] = 0.0
    cost, curvature = np.zeros(width), np.zeros((width, width))
    cost[:size], curvature[:size, :size] = program.cost, program.curvature
    integer = np.zeros(width)
    integer[:n] = program.integer

    best = Outcome(INFEASIBLE, math.inf)
    stack: list[tuple[int, Array, Array]] = [(0, low, ceiling)]
    while stack:
        depth, low, ceiling = stack.pop()
        leaf = depth == len(pairs)
        status, value, point = _minimise(
            leaf * cost, matrix, low, high, (floor, ceiling), integer, leaf * curvature
        )
        if status == INFEASIBLE:
            continue
        if leaf:
            if status == UNBOUNDED:
                return Outcome(UNBOUNDED, -math.inf)
            if value < best.value:
                best = Outcome(OPTIMAL, value, point[:n])
            continue
        row, column = pairs[depth]
        tight, off = low.copy(), ceiling.copy()
        tight[row], off[column] = high[row], 0.0
        stack += [(depth + 1, tight, ceiling), (depth + 1, low, off)]
    return Outcome(best.status, best.value + program.constant, best.x)


def _optimistic_by_vertices(program: Arrays) -> Outcome:
    """For products of outer and inner variables in the outer objective.

    Every follower has a bounded polyhedron that does not depend on x, and no outer constraint
    involves y; so for given x some vertex is best, and for a given vertex all is linear in x.
    """
    n = program.n_outer
    assert not np.any(program.rows.B)
    assert not any(np.any(f.rows.A) or np.any(f.curvature) for f in program.followers)
    width = n + sum(f.rows.count for f in program.followers)
    best = Outcome(INFEASIBLE, math.inf)
    for vertices in itertools.product(*(list(_vertices(f.rows)) for f in program.followers)):
        y = np.concatenate(vertices)
        system = _System(width)
        system.add_rows(program.rows, slice(n, n))
        floor, ceiling, place = np.full(width, -np.inf), np.full(width, np.inf), n
        for f, vertex in zip(program.followers, vertices, strict=True):
            dual = slice(place, place + f.rows.count)
            stationary = np.zeros((f.size, width))
            stationary[:, :n], stationary[:, dual] = f.price, f.rows.B.T
            system.add(stationary, -f.cost, -f.cost)
            floor[dual] = np.where(f.rows.equal, -np.inf, 0.0)
            slack = f.rows.b - f.rows.B @ vertex
            ceiling[dual] = np.where(slack > ZERO, 0.0, np.inf)
            place = dual.stop
        cost, curvature, integer = np.zeros(width), np.zeros((width, width)), np.zeros(width)
        cost[:n] = program.cost[:n] + program.curvature[:n, n:] @ y
        curvature[:n, :n] = program.curvature[:n, :n]
        integer[:n] = program.integer
        status, value, point = _minimise(
            cost, system.A, system.lower, system.upper, (floor, ceiling), integer, curvature
        )
        if status == UNBOUNDED:
            return Outcome(UNBOUNDED, -math.inf)
        value += float(program.cost[n:] @ y + y @ program.curvature[n:, n:] @ y / 2)
        if status == OPTIMAL and value < best.value:
            best = Outcome(OPTIMAL, value, point[:n])
    return Outcome(best.status, best.value + program.constant, best.x)


def _vertices(rows: Rows) -> Iterator[Array]:
    """Yield the vertices of ``{y: B y ≤ b}``."""
    size, seen = rows.B.shape[1], set()
    fixed = [i for i in range(rows.count) if rows.equal[i]]
    free = [i for i in range(rows.count) if not rows.equal[i]]
    rank = np.linalg.matrix_rank(rows.B[fixed]) if fixed else 0
    for chosen in itertools.combinations(free, size - rank):
        basis = [*fixed, *chosen]
        if np.linalg.matrix_rank(rows.B[basis]) < size:
            continue
        y = np.linalg.lstsq(rows.B[basis], rows.b[basis], rcond=None)[0]
        slack = rows.b - rows.B @ y
        if slack.min() < -ZERO or np.abs(slack[fixed]).max(initial=0.0) > ZERO:
            continue
        key = tuple(np.round(y, 7) + 0.0)
        if key not in seen:
            seen.add(key)
            yield np.asarray(y, dtype=float)


# ------------------------------------------------------------------------------------------------
# Pessimistic


def pessimistic(program: Arrays, epsilon: float = 0.0, delta: float = 0.0) -> Outcome:
    """Least worst outer value over Ψ(x), vertex by vertex of the dual of the worst response.

    Needs linear followers without prices, and ε ≤ 1. An outer constraint that involves y must hold
    for all of Ψ(x).
    """
    assert epsilon <= 1.0
    assert not any(np.any(f.price) or np.any(f.curvature) for f in program.followers)
    n = program.n_outer
    assert not np.any(program.curvature[n:])
    starts = n + np.cumsum([0, *(f.size for f in program.followers)])
    places = [slice(a, b) for a, b in itertools.pairwise(starts)]

    # Columns: x, a feasible response of every follower, and every follower's limit t(x).
    size = len(program.cost)
    width = size + len(program.followers)
    system = _System(width)
    own = ~np.any(program.rows.B != 0.0, axis=1)
    of = program.rows
    system.add_rows(Rows(of.A[own], of.B[own], of.b[own], of.equal[own]), slice(n, size))
    for k, (f, place) in enumerate(zip(program.followers, places, strict=True)):
        system.add_rows(f.rows, place)
        duals = list(_dual_vertices(f.rows, -f.cost))
        if not duals:  # the follower is unbounded wherever it is feasible
            return Outcome(INFEASIBLE, math.inf)
        for pi in duals:  # f*(x) is the largest of slope·x + constant − π·(b − A x)
            for scale in {1.0 + epsilon, 1.0 - epsilon}:
                row = np.zeros(width)
                row[:n], row[size + k] = scale * (pi @ f.rows.A + f.slope) - f.slope, -1.0
                limit = scale * (pi @ f.rows.b - f.constant) + f.constant - delta
                system.add(row[None], np.array([-np.inf]), np.array([limit]))

    # One row for the objective and one per constraint that involves y: each takes its own vertices.
    demands, limits = [program.cost], [0.0]
    for i in np.flatnonzero(~own):
        for sign in (1.0, -1.0) if of.equal[i] else (1.0,):
            demands.append(sign * np.concatenate([of.A[i], of.B[i]]))
            limits.append(sign * of.b[i])
    choices = []
    for demand in demands:
        per_follower = []
        for f, place in zip(program.followers, places, strict=True):
            budget = Rows(
                np.vstack([f.rows.A, np.zeros((1, n))]), np.vstack([f.rows.B, f.cost[None]]),
                np.append(f.rows.b, 0.0), np.append(f.rows.equal, False),
            )  # fmt: skip
            per_follower.append(list(_dual_vertices(budget, demand[place])))
        choices.append(list(itertools.product(*per_follower)))
    best = Outcome(INFEASIBLE, math.inf)
    integer = np.zeros(width)
    integer[:n] = program.integer
    free = (np.full(width, -np.inf), np.full(width, np.inf))
    curvature = np.zeros((width, width))
    curvature[:n, :n] = program.curvature[:n, :n]
    for choice in itertools.product(*choices):
        written = [
            _worst_row(demand, duals, program, width)
            for demand, duals in zip(demands, choice, strict=True)
        ]
        rows = np.array([row for row, _ in written])
        above = np.array(limits) - np.array([constant for _, constant in written])
        status, value, point = _minimise(
            rows[0], np.vstack([system.A, rows[1:]]),
            np.append(system.lower, np.full(len(rows) - 1, -np.inf)),
            np.append(system.upper, above[1:]), free, integer, curvature,
        )  # fmt: skip
        if status == UNBOUNDED:
            return Outcome(UNBOUNDED, -math.inf)
        value += written[0][1]
        if status == OPTIMAL and value < best.value:
            best = Outcome(OPTIMAL, value, point[:n])
    return Outcome(best.status, best.value + program.constant, best.x)


def _worst_row(
    demand: Array, duals: Sequence[Array], program: Arrays, width: int
) -> tuple[Array, float]:
    """Return demand's x part plus Σ λ·(b − A x) + μ t(x), as a row and a constant."""
    n, size = program.n_outer, len(program.cost)
    row, constant = np.zeros(width), 0.0
    row[:n] = demand[:n]
    for k, (f, dual) in enumerate(zip(program.followers, duals, strict=True)):
        multipliers, mu = dual[:-1], dual[-1]
        row[:n] -= multipliers @ f.rows.A
        row[size + k] = mu
        constant += float(multipliers @ f.rows.b)
    return row, constant


def _dual_vertices(rows: Rows, goal: Array) -> Iterator[Array]:
    """Yield the vertices of ``{π: Bᵀ π = goal, π ≥ 0}``; equations count as two inequalities."""
    flipped = np.flatnonzero(rows.equal)
    columns = np.vstack([rows.B, -rows.B[flipped]]).T
    rank, seen = int(np.linalg.matrix_rank(columns)), set()
    if np.linalg.matrix_rank(np.column_stack([columns, goal])) > rank:
        return
    for chosen in itertools.combinations(range(columns.shape[1]), rank):
        basis = columns[:, chosen]
        if np.linalg.matrix_rank(basis) < rank:
            continue
        solved = np.linalg.lstsq(basis, goal, rcond=None)[0]
        if solved.min(initial=0.0) < -ZERO:
            continue
        pi = np.zeros(columns.shape[1])
        pi[list(chosen)] = np.maximum(solved, 0.0)
        folded = pi[: rows.count].copy()
        folded[flipped] -= pi[rows.count :]
        key = tuple(np.round(folded, 7) + 0.0)
        if key not in seen:
            seen.add(key)
            yield folded


def pessimistic_on_line(program: Arrays) -> Outcome:
    """Least worst value over optimal responses, for one outer variable in a bounded interval.

    Linear followers, prices allowed, no outer constraint that involves y, and followers whose
    feasible sets are bounded. Between two breakpoints the same bases are optimal and the worst
    value is a maximum of functions that are affine in x; at a breakpoint more of them may be.
    """
    n = program.n_outer
    assert n == 1
    assert not np.any(program.rows.B)
    low, high = _interval(program.rows)
    if low > high + ZERO:
        return Outcome(INFEASIBLE, math.inf)
    assert math.isfinite(low)
    assert math.isfinite(high)
    if program.integer[0]:
        points = range(math.ceil(low - ZERO), math.floor(high + ZERO) + 1)
        values = [(worst_at(program, np.array([float(x)])), float(x)) for x in points]
        value, x = min(values, default=(math.inf, math.nan))
        return Outcome(OPTIMAL if math.isfinite(value) else INFEASIBLE, value, np.array([x]))
    breakpoints = {low, high}
    for f in program.followers:
        breakpoints |= {x for x in _breakpoints(f) if low <= x <= high}
    grid = sorted(breakpoints)
    grid = [x for i, x in enumerate(grid) if i == 0 or x - grid[i - 1] > ZERO]
    attained = [(worst_at(program, np.array([x])), x) for x in grid]
    infimum = math.inf
    for a, b in itertools.pairwise(grid):
        pieces = [list(_pieces(program, k, (a + b) / 2)) for k in range(len(program.followers))]
        if not all(pieces):  # no response
            continue
        kinks = {
            (p - q) / (s - r)
            for own in pieces
            for (p, r), (q, s) in itertools.combinations(own, 2)
            if abs(s - r) > ZERO
        }
        for x in (a, b, *(kink for kink in kinks if a < kink < b)):
            worst = sum(max(at0 + at1 * x for at0, at1 in own) for own in pieces)
            worst += program.constant + program.cost[0] * x + program.curvature[0, 0] * x * x / 2
            infimum = min(infimum, worst)
            if a < x < b:
                attained.append((worst, x))
    value, x = min(attained)
    if math.isinf(min(value, infimum)):
        return Outcome(INFEASIBLE, math.inf)
    if infimum < value - 1e-7:
        return Outcome(UNATTAINED, infimum)
    return Outcome(OPTIMAL, value, np.array([x]))


def _interval(rows: Rows) -> tuple[float, float]:
    """Return the limits that rows give the one variable; the first above the second if none."""
    low, high = -math.inf, math.inf
    for a, b, equal in zip(rows.A[:, 0], rows.b, rows.equal, strict=True):
        if a == 0 and (b < -ZERO or (equal and b > ZERO)):
            return math.inf, -math.inf
        if a > 0 or (equal and a):
            high = min(high, b / a)
        if a < 0 or (equal and a):
            low = max(low, b / a)
    return low, high


def _pieces(program: Arrays, which: int, at: float) -> Iterator[tuple[float, float]]:
    """Yield a follower's part of the outer value, affine in x, for every basis optimal at `at`."""
    f = program.followers[which]
    start = program.n_outer + sum(other.size for other in program.followers[:which])
    cost = program.cost[start : start + f.size]
    product = program.curvature[start : start + f.size, 0]
    for basis in _bases(f):
        slack = basis.slack0 + at * basis.slack1
        slack = np.where(f.rows.equal, -np.abs(slack), slack)
        parts = np.append(slack, basis.dual0 + at * basis.dual1)
        if parts.min(initial=0.0) < -ZERO:
            continue
        assert not np.any(product) or not np.any(basis.y1)
        yield float(cost @ basis.y0), float(cost @ basis.y1 + product @ basis.y0)


@dataclass(frozen=True)
class _Basis:
    """A basic response, its slacks and the multipliers of its inequalities, affine in x."""

    y0: Array
    y1: Array
    slack0: Array
    slack1: Array
    dual0: Array
    dual1: Array


def _bases(f: Inner) -> Iterator[_Basis]:
    fixed = [i for i in range(f.rows.count) if f.rows.equal[i]]
    free = [i for i in range(f.rows.count) if not f.rows.equal[i]]
    rank = int(np.linalg.matrix_rank(f.rows.B[fixed])) if fixed else 0
    for chosen in itertools.combinations(free, f.size - rank):
        rows = [*fixed, *chosen]
        B = f.rows.B[rows]
        if np.linalg.matrix_rank(B) < f.size:
            continue
        inverse = np.linalg.pinv(B)
        y0, y1 = inverse @ f.rows.b[rows], -inverse @ f.rows.A[rows, 0]
        dual0, dual1 = -inverse.T @ f.cost, -inverse.T @ f.price[:, 0]
        yield _Basis(
            y0, y1, f.rows.b - f.rows.B @ y0, -f.rows.A[:, 0] - f.rows.B @ y1,
            dual0[len(fixed) :], dual1[len(fixed) :],
        )  # fmt: skip


def _breakpoints(f: Inner) -> Iterator[float]:
    """Yield every x at which a basis of the follower starts or stops being optimal."""
    for basis in _bases(f):
        slacks = zip(basis.slack0, basis.slack1, strict=True)
        for at0, at1 in (*slacks, *zip(basis.dual0, basis.dual1, strict=True)):
            if abs(at1) > ZERO:
                yield -at0 / at1


# ------------------------------------------------------------------------------------------------
# A given outer decision


def best_at(program: Arrays, x: Array) -> float:
    """Least outer value over the followers' optimal responses to x."""
    return _extreme_at(program, x, 1.0, 0.0, 0.0)


def worst_at(program: Arrays, x: Array, epsilon: float = 0.0, delta: float = 0.0) -> float:
    """Largest outer value over Ψ(x); infinite without response or where a constraint fails."""
    for row, b, equal in zip(
        np.hstack([program.rows.A, program.rows.B]), program.rows.b, program.rows.equal, strict=True
    ):
        error = 1e-6 * max(1.0, abs(b))
        if not _extreme_at(program, x, -1.0, epsilon, delta, row) <= b + error:
            return math.inf
        if equal and not _extreme_at(program, x, -1.0, epsilon, delta, -row) <= error - b:
            return math.inf
    return _extreme_at(program, x, -1.0, epsilon, delta)


def _extreme_at(
    program: Arrays, x: Array, sign: float, epsilon: float, delta: float, goal: Array | None = None
) -> float:
    n, start = program.n_outer, program.n_outer
    if goal is None:
        cost = program.cost[n:] + program.curvature[n:, :n] @ x
        total = float(program.cost[:n] @ x + x @ program.curvature[:n, :n] @ x / 2)
        total += program.constant
    else:
        cost, total = goal[n:], float(goal[:n] @ x)
    for f in program.followers:
        mine = slice(start, start + f.size)
        start = mine.stop
        d, b, free = f.cost + f.price @ x, f.rows.b - f.rows.A @ x, [(None, None)] * f.size
        less, equal = ~f.rows.equal, f.rows.equal
        least = linprog(d, f.rows.B[less], b[less], f.rows.B[equal], b[equal], free)
        if least.status != 0:
            return math.inf
        limit = least.fun + epsilon * abs(least.fun + f.slope @ x + f.constant) + delta
        # A solver's optimum is exact to its tolerance only; without this the set may be empty.
        limit += 1e-9 * (1.0 + abs(limit))
        there = linprog(
            sign * cost[mine.start - n : mine.stop - n],
            np.vstack([f.rows.B[less], d]), np.append(b[less], limit),
            f.rows.B[equal], b[equal], free,
        )  # fmt: skip
        if there.status != 0:
            return math.inf if there.status == 2 else -sign * math.inf
        total += sign * float(there.fun)
    return total


def reason(program: Arrays) -> str:
    """Say what leaves no decision, integrality apart; nothing if none of the three questions does.

    Whether x meets the rows without y; whether it then has responses, and with multipliers too.
    """
    n, size = program.n_outer, len(program.cost)
    width = 2 * size - n + sum(f.rows.count for f in program.followers)
    own, of = ~np.any(program.rows.B != 0.0, axis=1), program.rows
    system = _System(width)
    system.add_rows(Rows(of.A[own], of.B[own], of.b[own], of.equal[own]), slice(n, size))
    free, floor = np.full(width, np.inf), np.full(width, -np.inf)

    def nothing() -> bool:
        zero, limits = np.zeros(width), (floor, free)
        return _minimise(zero, system.A, system.lower, system.upper, limits, zero)[0] == INFEASIBLE

    if nothing():
        return "infeasible"
    start = n
    for f in program.followers:
        system.add_rows(f.rows, slice(start, start + f.size))
        start += f.size
    if nothing():
        return "inner infeasible"
    at_dual = 2 * size - n
    for f in program.followers:
        y, dual = slice(start, start + f.size), slice(at_dual, at_dual + f.rows.count)
        stationary = np.zeros((f.size, width))
        stationary[:, :n], stationary[:, y], stationary[:, dual] = f.price, f.curvature, f.rows.B.T
        system.add(stationary, -f.cost, -f.cost)
        floor[dual] = np.where(f.rows.equal, -np.inf, 0.0)
        start, at_dual = y.stop, dual.stop
    return "inner unbounded" if nothing() else ""
