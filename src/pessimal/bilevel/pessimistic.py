"""The pessimistic view: the leader fears the worst of all near-optimal responses.

A response y to x is near-optimal when it is feasible and ``f(x, y) ≤ f*(x) + ε·|f*(x)| + δ``. The
leader minimises the largest outer objective over all of them, and outer constraints that hold y
have to hold for all of them.

The paper's Proposition 2 makes this an optimistic problem. The leader also picks a copy ŷ, feasible
but not necessarily optimal, and a budget ``τ ≥ f(x, ŷ) + ε·|f(x, ŷ)| + δ``. A new follower
maximises the outer objective over the feasible y with ``f(x, y) ≤ τ``. A larger budget admits more
responses and does the leader no good, so the best copy is an optimal response. That is true as
long as the budget grows with f: for ε ≤ 1, or where f cannot be negative.

Each outer constraint with y has a new follower of its own, who maximises its left-hand side: it
holds for all near-optimal responses if and only if it holds for the worst. Rows and objective being
linear, the new followers are too, and everything is exact.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.sparse import csr_array, vstack

from pessimal.bilevel.answer import BilevelSolution, BilevelStatus
from pessimal.bilevel.certificate import BilevelCertificate, certify, least_objective
from pessimal.bilevel.near_optimal import (
    Tolerance,
    largest_by_clarabel,
    near_optimal_responses,
    worst_response,
)
from pessimal.bilevel.node_program import End, NodeProgram
from pessimal.bilevel.optimality import Assembly
from pessimal.bilevel.optimistic import has_multipliers, solve_optimistic, why_infeasible
from pessimal.bilevel.program import BilevelProgram, FollowerProgram, Rows
from pessimal.bilevel.response import respond
from pessimal.errors import InvalidInputError
from pessimal.limits import NEVER, Deadline
from pessimal.problem import Vector
from pessimal.tolerances import LP_FEASIBILITY


@dataclass(frozen=True, eq=False)
class LinearFunction:
    """``outer·x + inner·y + constant``."""

    outer: Vector
    inner: Vector
    constant: float = 0.0


@dataclass(frozen=True, eq=False)
class Relaxation:
    """The optimistic problem that stands for a pessimistic one.

    Its outer variables are x, the copies ŷ, the budgets τ and, with pieces, their largest value θ.
    """

    original: BilevelProgram
    tolerance: Tolerance
    program: BilevelProgram

    def complete(self, outer: Vector) -> Vector | None:
        """Return the outer variables with the best copies and budgets for their decision."""
        original = self.original
        x, outer = outer[: original.n_outer], outer.copy()
        for k, follower in enumerate(original.followers):
            response = respond(follower, x)
            if response is None:
                return None
            columns = original.n_outer + np.arange(original.n_inner)[follower.columns]
            outer[columns] = response.y
            budget = response.value + self.tolerance.above(response.value)
            outer[original.n_outer + original.n_inner + k] = budget
        return outer


def relaxation(
    original: BilevelProgram, tolerance: Tolerance, pieces: Sequence[LinearFunction] | None = None
) -> Relaxation:
    """Write Proposition 2; with pieces, the largest of them is added to the objective."""
    n, m, followers = original.n_outer, original.n_inner, original.followers
    n_tau, n_theta = len(followers), 0 if pieces is None else 1
    n_new = n + m + n_tau + n_theta
    unit = np.eye(n_new)
    x, copy, tau = np.arange(n), n + np.arange(m), n + m + np.arange(n_tau)
    worst: list[FollowerProgram] = []

    def fear(function: LinearFunction) -> list[tuple[slice, Vector]]:
        """Add followers that maximise a function, and return where they respond, and to what."""
        parts = []
        for k, follower in enumerate(followers):
            direction = function.inner[follower.columns]
            if not direction.any():
                continue
            start = worst[-1].columns.stop if worst else 0
            columns = slice(start, start + len(follower))
            worst.append(_adversary(follower, direction, columns, n_new, int(tau[k])))
            parts.append((columns, direction))
        return parts

    outer_rows: list[Vector] = []
    inner_parts: list[list[tuple[slice, Vector]]] = []
    lower: list[float] = []
    upper: list[float] = []

    def add(row: Vector, parts: list[tuple[slice, Vector]], low: float, high: float) -> None:
        outer_rows.append(row)
        inner_parts.append(parts)
        lower.append(low)
        upper.append(high)

    rows = original.rows
    for g, h, low, high in zip(
        rows.outer.toarray(), rows.inner.toarray(), rows.lower, rows.upper, strict=True
    ):
        row = np.concatenate([g, np.zeros(n_new - n)])
        if not h.any():
            add(row, [], low, high)
            continue
        if np.isfinite(high):
            add(row, fear(LinearFunction(g, h)), -np.inf, high)
        if np.isfinite(low):
            add(-row, fear(LinearFunction(-g, -h)), -np.inf, -low)
    for k, follower in enumerate(followers):
        own, here = follower.rows, copy[follower.columns]
        for g, h, low, high in zip(
            own.outer.toarray(), own.inner.toarray(), own.lower, own.upper, strict=True
        ):
            row = np.zeros(n_new)
            row[x], row[here] = g, h
            add(row, [], low, high)
        # τ ≥ f(ŷ) + ε·|f(ŷ)| + δ is two rows.
        for share in {1.0 + tolerance.epsilon, 1.0 - tolerance.epsilon}:
            row = unit[tau[k]].copy()
            row[x] -= share * follower.outer_cost
            row[here] -= share * follower.cost
            add(row, [], share * follower.constant + tolerance.delta, np.inf)
    parts: list[tuple[slice, Vector]] = []
    if pieces is None:
        parts = fear(LinearFunction(original.outer_cost, original.inner_cost))
    for piece in pieces or ():
        row = np.append(piece.outer, np.zeros(n_new - n)) - unit[-1]
        add(row, fear(piece), -np.inf, -piece.constant)
    n_worst = worst[-1].columns.stop if worst else 0
    inner_rows = np.zeros((len(outer_rows), n_worst))
    for row, terms in zip(inner_rows, inner_parts, strict=True):
        for columns, direction in terms:
            row[columns] = direction
    inner_cost = np.zeros(n_worst)
    for columns, direction in parts:
        inner_cost[columns] = direction
    free = np.full(n_tau + n_theta, np.inf)
    square = original.outer_curvature.tocoo()
    curvature = csr_array((square.data, (square.row, square.col)), shape=(n_new, n_new))
    program = BilevelProgram(
        outer_cost=np.concatenate([original.outer_cost, np.zeros(m + n_tau), np.ones(n_theta)]),
        inner_cost=inner_cost,
        outer_curvature=curvature,
        inner_curvature=csr_array((n_worst, n_worst)),
        price=csr_array((n_worst, n_new)),
        constant=original.constant,
        rows=Rows(
            csr_array(np.array(outer_rows).reshape(-1, n_new)),
            csr_array(inner_rows),
            np.array(lower),
            np.array(upper),
        ),
        lower=np.concatenate([original.lower, *(f.lower for f in followers), -free]),
        upper=np.concatenate([original.upper, *(f.upper for f in followers), free]),
        integer=np.append(original.integer, np.zeros(n_new - n, dtype=np.bool_)),
        followers=tuple(worst),
    )
    return Relaxation(original, tolerance, program)


def _adversary(
    follower: FollowerProgram, direction: Vector, columns: slice, n_outer: int, tau: int
) -> FollowerProgram:
    """Return the follower who maximises ``direction·y`` within the budget τ."""
    n = follower.price.shape[1]
    outer = np.zeros((len(follower.rows) + 1, n_outer))
    outer[:-1, :n] = follower.rows.outer.toarray()
    outer[-1, :n], outer[-1, tau] = follower.outer_cost, -1.0
    return FollowerProgram(
        cost=-direction,
        price=csr_array((len(follower), n_outer)),
        curvature=csr_array((len(follower), len(follower))),
        rows=Rows(
            csr_array(outer),
            csr_array(vstack([follower.rows.inner, csr_array(follower.cost[None, :])])),
            np.append(follower.rows.lower, -np.inf),
            np.append(follower.rows.upper, -follower.constant),
        ),
        lower=follower.lower,
        upper=follower.upper,
        columns=columns,
    )


def solve_pessimistic(
    program: BilevelProgram,
    tolerance: Tolerance,
    deadline: Deadline = NEVER,
    node_limit: float = math.inf,
) -> BilevelSolution:
    """Minimise the largest outer objective over near-optimal responses."""
    check_pessimistic(program, tolerance)
    for follower in program.followers:
        if not has_multipliers(program, follower):
            return BilevelSolution(BilevelStatus.INNER_UNBOUNDED, bound=math.inf)
    relaxed = relaxation(program, tolerance)
    solution = solve_optimistic(relaxed.program, deadline, node_limit, relaxed.complete)
    return read_answer(relaxed, solution)


def read_answer(relaxed: Relaxation, solution: BilevelSolution) -> BilevelSolution:
    """Return the answer to the pessimistic problem, with the worst responses recomputed."""
    original = relaxed.original
    if solution.x is None:
        status = solution.status
        if status in _NOTHING:
            status = why_infeasible(original)
            if status is BilevelStatus.INFEASIBLE and solution.status is _NO_WORST:
                status = BilevelStatus.WORST_UNBOUNDED
        return replace(solution, status=status)
    x = solution.x[: original.n_outer]
    y = worst_responses(original, x, relaxed.tolerance, original.inner_cost)
    if y is None:
        return BilevelSolution(BilevelStatus.NOT_PROVED, bound=solution.bound, nodes=solution.nodes)
    value = original.objective(x, y)
    certificate = certify_pessimistic(original, x, y, solution.value, relaxed.tolerance)
    status = solution.status
    if status is BilevelStatus.OPTIMAL and not certificate.ok:
        status = BilevelStatus.NOT_PROVED
    bound = min(solution.bound, value)
    return BilevelSolution(status, x, y, value, bound, solution.nodes, certificate)


_NO_WORST = BilevelStatus.INNER_UNBOUNDED
_NOTHING = (BilevelStatus.INFEASIBLE, BilevelStatus.INNER_INFEASIBLE, _NO_WORST)


def check_pessimistic(program: BilevelProgram, tolerance: Tolerance) -> None:
    """Refuse what the relaxation cannot say exactly."""
    if abs(program.price).sum() > 0.0:
        raise InvalidInputError(
            "the outer objective has products of outer and inner variables; the pessimistic view "
            "takes outer objectives that are piecewise linear in the inner variables"
        )
    if abs(program.inner_curvature).sum() > 0.0:
        raise InvalidInputError(
            "the outer objective is quadratic in inner variables; the pessimistic view takes outer "
            "objectives that are piecewise linear in them"
        )
    for follower in program.followers:
        if follower.priced or follower.curved:
            what = "products of outer and inner variables" if follower.priced else "squares"
            raise InvalidInputError(
                f"a follower's objective has {what}; the pessimistic view takes linear and "
                "piecewise linear ones, with outer variables in constraints"
            )
        if tolerance.epsilon > 1.0 and not _is_nonnegative(program, follower):
            raise InvalidInputError(
                f"epsilon is {tolerance.epsilon!r}, and a follower's objective may be negative; "
                "pass at most 1, or use delta"
            )


def _is_nonnegative(program: BilevelProgram, follower: FollowerProgram) -> bool:
    """Whether a linear inner objective is proved to be nonnegative at all feasible points."""
    assembly = Assembly()
    x = assembly.add_columns(program.lower, program.upper)
    y = assembly.add_columns(follower.lower, follower.upper)
    rows = follower.rows
    assembly.add_rows([(x, rows.outer), (y, rows.inner)], rows.lower, rows.upper)
    cost = np.concatenate([follower.outer_cost, follower.cost])
    lp = NodeProgram(assembly.build(cost).program)
    return lp.end(NEVER) is End.OPTIMAL and lp.bound() + follower.constant >= -LP_FEASIBILITY


def worst_responses(
    program: BilevelProgram, x: Vector, tolerance: Tolerance, direction: Vector
) -> Vector | None:
    """Return near-optimal responses with the largest ``direction·y``; None if there are none."""
    y = np.zeros(program.n_inner)
    for follower in program.followers:
        responses = near_optimal_responses(follower, x, tolerance)
        if responses is None:
            return None
        own = worst_response(responses, direction[follower.columns])
        if own is None:
            return None
        y[follower.columns] = own
    return y


def certify_pessimistic(
    program: BilevelProgram, x: Vector, y: Vector, claimed: float, tolerance: Tolerance
) -> BilevelCertificate:
    """Check that responses are near-optimal, the worst, and that outer constraints fear none."""
    least = [least_objective(follower, x) for follower in program.followers]
    tolerated = np.array([tolerance.above(value) for value in least])

    def largest(direction: Vector) -> float:
        return sum(
            largest_by_clarabel(follower, x, best, tolerance, direction[follower.columns])
            for follower, best in zip(program.followers, least, strict=True)
            if direction[follower.columns].any()
        )

    at = largest(program.inner_cost) - program.inner_cost @ y
    certificate = certify(program, x, y, claimed, tolerated, program.objective(x, y) + at)
    rows, violation = program.rows, certificate.outer_violation
    for g, h, low, high in zip(
        rows.outer.toarray(), rows.inner.toarray(), rows.lower, rows.upper, strict=True
    ):
        if h.any():
            size = max(1.0, np.abs(g) @ np.abs(x) + np.abs(h) @ np.abs(y))
            over = g @ x + largest(h) - high if np.isfinite(high) else 0.0
            under = low - g @ x + largest(-h) if np.isfinite(low) else 0.0
            violation = max(violation, over / size, under / size)
    return replace(certificate, outer_violation=violation)
