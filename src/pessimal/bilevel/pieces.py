"""The pessimistic view of an outer objective that is convex and piecewise linear in y.

CVXPY writes such an objective with auxiliary variables t, as ``min cost·t`` over rows in x, y and
t. They are set after the response: the leader fears ``max_y min_t``, not ``min_t max_y``. By
duality the objective is the largest of finitely many linear *pieces*, one for each vertex of the
dual.

Pieces are generated (column-and-constraint generation). The problem with some of them is a
relaxation, solved exactly. At its decision the worst response is found exactly too: the largest of
a convex function is an optimistic bilevel program, with y as leader and t as follower. Its piece is
added, until the worst case is no worse than the relaxation says.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from scipy.sparse import block_diag, csr_array

from pessimal.bilevel.answer import BilevelSolution, BilevelStatus
from pessimal.bilevel.complementarity import Engine, gap_of
from pessimal.bilevel.near_optimal import Tolerance, near_optimal_responses
from pessimal.bilevel.optimistic import solve_optimistic
from pessimal.bilevel.pessimistic import certify_pessimistic, no_answer
from pessimal.bilevel.program import BilevelProgram, FollowerProgram, RefusedError, Rows
from pessimal.bilevel.relaxation import LinearFunction, relaxation
from pessimal.bilevel.response import respond
from pessimal.errors import SolverError
from pessimal.limits import Deadline
from pessimal.problem import Mask, Vector


@dataclass(frozen=True, eq=False)
class Recourse:
    """``inner_cost·y + min cost·t`` subject to rows in x, y and t; its follower sees (x, y)."""

    columns: Mask
    follower: FollowerProgram
    inner_cost: Vector

    def piece(self, x: Vector, y: Vector) -> LinearFunction:
        """Return the linear piece of the inner part of the objective that is largest at a point."""
        response = respond(self.follower, np.concatenate([x, y]))
        if response is None:
            raise SolverError("HiGHS found no optimum of a convex function of the outer objective")
        follower, pi = self.follower, response.of_rows
        # Whatever π is, its Lagrangian is below the objective: the rest is a multiplier of limits.
        rest = follower.cost - follower.rows.inner.T @ pi
        slope = -(follower.rows.outer.T @ pi)
        return LinearFunction(
            slope[: len(x)],
            self.inner_cost + slope[len(x) :],
            _product(pi, follower.rows.lower, follower.rows.upper)
            + _product(rest, follower.lower, follower.upper),
        )


def _product(multiplier: Vector, lower: Vector, upper: Vector) -> float:
    """Multiply by the limits that multipliers belong to; those of no limit are rounding."""
    limit = np.where(multiplier > 0.0, lower, upper)
    return float(multiplier @ np.where(np.isfinite(limit), limit, 0.0))


def split_recourse(program: BilevelProgram) -> tuple[BilevelProgram, Recourse | None]:
    """Take out the auxiliary variables that depend on responses, with the rows that hold them."""
    outer, inner = (
        abs(program.rows.outer).toarray() > 0.0,
        abs(program.rows.inner).sum(axis=1) > 0.0,
    )
    columns, rows = np.zeros(program.n_outer, dtype=np.bool_), inner & False
    while True:
        reached = inner & (outer & program.auxiliary).any(axis=1) | (outer & columns).any(axis=1)
        found = (outer[reached] & program.auxiliary).any(axis=0)
        if np.array_equal(reached, rows) and np.array_equal(found, columns):
            break
        rows, columns = reached, found
    if not columns.any():
        return program, None
    _check(program, columns, rows, outer)
    here, own = np.flatnonzero(~columns), np.flatnonzero(columns)
    n = len(here) + program.n_inner
    taken, kept = (_rows(program.rows, which) for which in (rows, ~rows))
    recourse = FollowerProgram(
        cost=program.outer_cost[own],
        price=csr_array((len(own), n)),
        curvature=csr_array((len(own), len(own))),
        rows=Rows(
            csr_array(np.hstack([taken.outer[:, here].toarray(), taken.inner.toarray()])),
            csr_array(taken.outer[:, own]),
            taken.lower,
            taken.upper,
        ),
        lower=program.lower[own],
        upper=program.upper[own],
        columns=slice(0, len(own)),
    )
    followers = tuple(
        replace(
            follower,
            price=csr_array(follower.price[:, here]),
            rows=replace(follower.rows, outer=csr_array(follower.rows.outer[:, here])),
            outer_cost=follower.outer_cost[here],
        )
        for follower in program.followers
    )
    leader = BilevelProgram(
        outer_cost=program.outer_cost[here],
        inner_cost=program.inner_cost,
        outer_curvature=csr_array(program.outer_curvature[here][:, here]),
        inner_curvature=program.inner_curvature,
        price=csr_array(program.price[:, here]),
        constant=program.constant,
        rows=replace(kept, outer=csr_array(kept.outer[:, here])),
        lower=program.lower[here],
        upper=program.upper[here],
        integer=program.integer[here],
        followers=followers,
        auxiliary=program.auxiliary[here],
    )
    return leader, Recourse(columns, recourse, program.inner_cost)


def _rows(rows: Rows, which: Mask) -> Rows:
    k = np.flatnonzero(which)
    return Rows(rows.outer[k], rows.inner[k], rows.lower[k], rows.upper[k])


def _check(program: BilevelProgram, columns: Mask, rows: Mask, outer: Mask) -> None:
    if abs(program.outer_curvature[np.flatnonzero(columns)]).sum() > 0.0:
        raise RefusedError(
            "the outer objective is quadratic in inner variables; the pessimistic view takes outer "
            "objectives that are piecewise linear in them",
            "objective",
        )
    # Auxiliary variables that are linked to none with a cost describe a constraint.
    costly = columns & (program.outer_cost != 0.0)
    while True:
        linked = rows & (outer & costly).any(axis=1)
        found = costly | (columns & outer[linked].any(axis=0))
        if np.array_equal(found, costly):
            break
        costly = found
    if not np.array_equal(costly, columns):
        raise RefusedError(
            "an outer constraint is piecewise linear in inner variables; the pessimistic view "
            "takes linear ones, so write each of its pieces as a constraint",
            "constraints",
        )


def largest(
    program: BilevelProgram, recourse: Recourse, x: Vector, tolerance: Tolerance, deadline: Deadline
) -> BilevelSolution | None:
    """Maximise the inner part of the objective over near-optimal responses to a decision.

    In the answer, to a minimisation, y is the decision and t the response to it.
    """
    sets = [near_optimal_responses(follower, x, tolerance) for follower in program.followers]
    if any(responses is None for responses in sets):
        return None
    known = [responses for responses in sets if responses is not None]
    n, m, seen = len(x), program.n_inner, recourse.follower.rows
    moved = seen.outer[:, :n] @ x
    t = replace(
        recourse.follower,
        price=csr_array((len(recourse.follower), m)),
        rows=Rows(csr_array(seen.outer[:, n:]), seen.inner, seen.lower - moved, seen.upper - moved),
        outer_cost=np.zeros(m),
    )
    matrix = csr_array(block_diag([responses.matrix.csr for responses in known]))
    adversary = BilevelProgram(
        outer_cost=-program.inner_cost,
        inner_cost=-recourse.follower.cost,
        outer_curvature=csr_array((m, m)),
        inner_curvature=csr_array((len(t), len(t))),
        price=csr_array((len(t), m)),
        constant=0.0,
        rows=Rows(
            matrix,
            csr_array((matrix.shape[0], len(t))),
            np.concatenate([responses.row_lower for responses in known]),
            np.concatenate([responses.row_upper for responses in known]),
        ),
        lower=np.concatenate([responses.lower for responses in known]),
        upper=np.concatenate([responses.upper for responses in known]),
        integer=np.zeros(m, dtype=np.bool_),
        followers=(t,),
    )
    return solve_optimistic(adversary, deadline)


def solve_pieces(
    program: BilevelProgram,
    leader: BilevelProgram,
    recourse: Recourse,
    tolerance: Tolerance,
    deadline: Deadline,
    node_limit: float,
    engine: Engine,
) -> BilevelSolution:
    """Minimise the largest of all pieces, generating those that are needed."""
    # Proposition 1: the optimistic value is a lower bound, and its decision a start.
    start = solve_optimistic(program, deadline, node_limit, engine=engine)
    if start.x is None or start.y is None:
        unbounded = start.status is BilevelStatus.UNBOUNDED  # which says nothing of the worst
        return replace(start, status=BilevelStatus.NOT_PROVED) if unbounded else start
    nodes, bound, best = start.nodes, start.bound, _Worst(math.inf)
    pieces = [recourse.piece(start.x[~recourse.columns], start.y)]
    curved = abs(leader.outer_curvature).sum() > 0.0
    while True:
        least = -math.inf if curved else bound - leader.constant
        relaxed = relaxation(leader, tolerance, pieces, least)
        found = solve_optimistic(
            relaxed.program, deadline, node_limit - nodes, relaxed.complete, engine
        )
        nodes, status = nodes + found.nodes, found.status
        if found.x is None:
            if best.x is None:
                return replace(no_answer(relaxed, found), bound=bound, nodes=nodes)
            break
        bound = max(bound, found.bound)
        if status is BilevelStatus.NOT_PROVED and found.value - bound <= 2.0 * gap_of(found.value):
            status = BilevelStatus.OPTIMAL  # of the relaxation, whose certificate is not asked
        worst = _worst_case(program, leader, recourse, found.x, tolerance, deadline)
        if worst.value < best.value:
            best = worst
        if best.value - bound <= 2.0 * gap_of(best.value):
            status = BilevelStatus.OPTIMAL
            break
        if worst.status is not BilevelStatus.OPTIMAL:
            status = worst.status
        if status is not BilevelStatus.OPTIMAL:
            break
        assert worst.x is not None
        assert worst.y is not None
        pieces.append(recourse.piece(worst.x[~recourse.columns], worst.y))
    if best.x is None or best.y is None:
        return BilevelSolution(status, bound=bound, nodes=nodes)
    certificate = certify_pessimistic(program, leader, best.x, best.y, tolerance, best.bound)
    if status is BilevelStatus.OPTIMAL and not certificate.ok:
        status = BilevelStatus.NOT_PROVED
    lower = min(bound, best.value)
    return BilevelSolution(status, best.x, best.y, best.value, lower, nodes, certificate)


@dataclass(frozen=True, eq=False)
class _Worst:
    """The worst response to a decision: its value, a bound on it, and why its search stopped."""

    value: float
    bound: float = math.inf
    x: Vector | None = None
    y: Vector | None = None
    status: BilevelStatus = BilevelStatus.NOT_PROVED


def _worst_case(
    program: BilevelProgram,
    leader: BilevelProgram,
    recourse: Recourse,
    decision: Vector,
    tolerance: Tolerance,
    deadline: Deadline,
) -> _Worst:
    here = decision[: leader.n_outer]
    found = largest(leader, recourse, here, tolerance, deadline)
    if found is None:
        return _Worst(math.inf)
    if found.x is None or found.y is None:
        unbounded = found.status is BilevelStatus.UNBOUNDED
        status = BilevelStatus.WORST_UNBOUNDED if unbounded else found.status
        return _Worst(math.inf, status=status)
    x = np.zeros(program.n_outer)
    x[~recourse.columns], x[recourse.columns] = here, found.y
    value = program.objective(x, found.x)
    return _Worst(value, value + found.value - found.bound, x, found.x, found.status)
