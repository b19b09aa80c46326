"""The pessimistic view of optimal responses, where a follower's objective has prices or squares.

With ``ε = δ = 0`` the responses to x are the optimal face of the follower's problem: the feasible y
with the same gradient of the quadratic part and without slack where a multiplier π is positive. The
worst of them, which has the largest ``h·y``, has multipliers ν of its own,

    ``h = −Aᵀ·ν + curvature·ω``,

``ν ≥ 0`` and complementary to slacks as usual, but of any sign where π is *strictly* positive. That
is what prices do: where a multiplier vanishes, responses appear of which a decision nearby is
safe. So the largest outer objective may drop towards a decision and jump up in it, and its least
value may not be attained.

An outer constraint with y has to hold for the worst point of the face in its own direction, which
has a copy of y and multipliers of its own. Where h depends on x, as revenue does, and the
follower's constraints do not, ``h·y = −ν·limits`` is linear, for complementary ν.

The strict inequality is a common lower limit t of the multipliers that have to be positive, and t
has to be positive (:mod:`pessimal.bilevel.strict_search`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from scipy.sparse import csr_array, eye_array

from pessimal.bilevel.answer import BilevelSolution, BilevelStatus
from pessimal.bilevel.complementarity import Outcome
from pessimal.bilevel.near_optimal import Tolerance
from pessimal.bilevel.optimality import Assembly, Columns, Multipliers, add_conditions, squares
from pessimal.bilevel.optimistic import STATUS, has_decisions, why_infeasible
from pessimal.bilevel.pessimistic import certify_pessimistic, worst_responses
from pessimal.bilevel.program import BilevelProgram, FollowerProgram, RefusedError
from pessimal.bilevel.strict_search import StrictSearch
from pessimal.limits import Deadline
from pessimal.problem import Vector
from pessimal.tolerances import LP_FEASIBILITY, OPTIMAL_GAP

_OPTIMAL_ONLY = Tolerance(0.0, 0.0)


def solve_faces(program: BilevelProgram, deadline: Deadline, node_limit: float) -> BilevelSolution:
    """Minimise the largest outer objective, linear in the inner variables, on optimal faces."""
    assembly = Assembly()
    x = assembly.add_columns(program.lower, program.upper)
    y = assembly.add_columns(
        np.concatenate([f.lower for f in program.followers]),
        np.concatenate([f.upper for f in program.followers]),
    )
    strict = assembly.add_columns(np.zeros(1), np.ones(1))
    optimal = [add_conditions(assembly, f, x, y[f.columns]) for f in program.followers]
    faces = [
        _Face(follower, x, y[follower.columns], multipliers, strict)
        for follower, multipliers in zip(program.followers, optimal, strict=True)
    ]
    for row, h in zip(range(len(program.rows)), program.rows.inner.toarray(), strict=True):
        _add_row(assembly, program, row, h, faces)
    costs = [
        face.add_worst(assembly, program.inner_cost[f.columns], csr_array(program.price)[f.columns])
        for f, face in zip(program.followers, faces, strict=True)
    ]
    cost = np.zeros(assembly.n_columns)
    cost[x] = program.outer_cost
    for columns, values in (part for parts in costs for part in parts):
        cost[columns] += values
    nothing = csr_array((program.n_inner, program.n_inner))
    curved = squares(program.outer_curvature, nothing, x, y, assembly.n_columns)
    problem = assembly.build(cost, curved)
    problem.program.integer[x] = program.integer
    value_of = None
    if program.integer.all() and np.all(np.isfinite(program.upper - program.lower)):
        value_of = partial(_value_of, program)
    search = StrictSearch(problem, int(strict[0]), deadline, node_limit, value_of)
    found = search.run()
    if found.outcome is Outcome.INFEASIBLE:
        status = why_infeasible(program)
        alone = not abs(program.rows.inner).sum() > 0.0
        if status is BilevelStatus.INFEASIBLE and alone and has_decisions(program):
            status = BilevelStatus.WORST_UNBOUNDED
        return BilevelSolution(status, bound=math.inf, nodes=found.nodes)
    bound, status = found.bound + program.constant, STATUS[found.outcome]
    if found.point is None:
        return BilevelSolution(status, bound=bound, nodes=found.nodes)
    decision = found.point[x]
    decision[program.integer] = np.round(decision[program.integer])
    slope = program.inner_slope(decision)
    responses = worst_responses(program, decision, _OPTIMAL_ONLY, slope)
    if responses is None:
        return BilevelSolution(BilevelStatus.NOT_PROVED, bound=bound, nodes=found.nodes)
    value = program.objective(decision, responses)
    certificate = certify_pessimistic(program, program, decision, responses, _OPTIMAL_ONLY)
    if status is BilevelStatus.OPTIMAL:
        met = value - bound <= OPTIMAL_GAP * max(1.0, abs(value))
        if not search.attained:
            status = BilevelStatus.UNATTAINED
        elif not (met and certificate.ok):
            status = BilevelStatus.NOT_PROVED
    bound = min(bound, value)
    return BilevelSolution(status, decision, responses, value, bound, found.nodes, certificate)


def _value_of(program: BilevelProgram, x: Vector) -> float:
    """Return the largest outer objective after a decision, infinite if it is none."""

    def worst(direction: Vector) -> float:
        if not direction.any():
            return 0.0
        y = worst_responses(program, x, _OPTIMAL_ONLY, direction)
        return math.inf if y is None else float(direction @ y)

    rows = program.rows
    for sign, limits in ((1.0, rows.upper), (-1.0, -rows.lower)):
        for k in np.flatnonzero(np.isfinite(limits)).tolist():
            at = sign * float((rows.outer[[k]] @ x)[0])
            over = at + worst(sign * rows.inner[[k]].toarray()[0]) - limits[k]
            if over > LP_FEASIBILITY * max(1.0, abs(at)):
                return math.inf
    if worst_responses(program, x, _OPTIMAL_ONLY, np.zeros(program.n_inner)) is None:
        return math.inf
    nothing = np.zeros(program.n_inner)
    return program.objective(x, nothing) - program.constant + worst(program.inner_slope(x))


Cost = list[tuple[Columns, Vector]]
"""Columns and their share of a linear function."""


def _add_row(
    assembly: Assembly, program: BilevelProgram, row: int, h: Vector, faces: list[_Face]
) -> None:
    """Add an outer constraint, to hold for the worst of the responses that stand in it."""
    g, low, high = program.rows.outer[[row]], program.rows.lower[[row]], program.rows.upper[[row]]
    x = faces[0].x
    if not h.any():
        assembly.add_rows([(x, g)], low, high)
        return
    for sign, limit in ((1.0, high), (-1.0, -low)):
        if np.isfinite(limit[0]):
            blocks = [(x, sign * g)]
            for follower, face in zip(program.followers, faces, strict=True):
                own = sign * h[follower.columns]
                if own.any():
                    point = face.another(assembly)
                    blocks.append((point.y, csr_array(own[None, :])))
                    point.add_worst(assembly, own, csr_array((len(own), len(x))))
            assembly.add_rows(blocks, np.array([-np.inf]), limit)


@dataclass(frozen=True, eq=False)
class _Face:
    """A point y of the optimal face of a follower, whose multipliers are `optimal`."""

    follower: FollowerProgram
    x: Columns
    y: Columns
    optimal: Multipliers
    strict: Columns

    def another(self, assembly: Assembly) -> _Face:
        """Add another point of the face."""
        follower, rows, n = self.follower, self.follower.rows, len(self.follower)
        y = assembly.add_columns(follower.lower, follower.upper)
        numbers = assembly.add_rows([(self.x, rows.outer), (y, rows.inner)], rows.lower, rows.upper)
        for sides, members in ((self.optimal.row_sides, numbers), (self.optimal.limit_sides, y)):
            for (pi, which), at_upper in zip(sides, (False, True), strict=True):
                assembly.add_pairs(pi, members[which], members is numbers, at_upper)
        if follower.curved:
            zero = np.zeros(n)
            assembly.add_rows([(y, follower.curvature), (self.y, -follower.curvature)], zero, zero)
        return replace(self, y=y, optimal=replace(self.optimal, rows=numbers))

    def add_worst(self, assembly: Assembly, direction: Vector, price: csr_array) -> Cost:
        """Let y have the largest ``(direction + price·x)·y`` on the face; return that value.

        With prices the value is written by the multipliers ν: ``−ν·limits``.
        """
        follower, optimal = self.follower, self.optimal
        priced = bool(abs(price).sum() > 0.0)
        if not direction.any() and not priced:
            return []
        if priced:
            self._check_prices()
        A, unit = csr_array(follower.rows.inner), eye_array(len(follower), format="csr")
        free = np.full(len(follower), np.inf)
        omega = assembly.add_columns(-free, free)
        _, equations = optimal.equations
        anything = np.full(len(equations), np.inf)
        of_equations = assembly.add_columns(-anything, anything)
        blocks = [
            (omega, follower.curvature),
            (self.x, -price),
            (of_equations, -A[equations].T),
        ]
        value: Cost = [(of_equations, -follower.rows.lower[equations])]
        for sides, normals, members, limits in (
            (optimal.row_sides, A, optimal.rows, (follower.rows.lower, follower.rows.upper)),
            (optimal.limit_sides, unit, self.y, (follower.lower, follower.upper)),
        ):
            for (pi, which), limit, sign in zip(sides, limits, (1.0, -1.0), strict=True):
                zero, infinite = np.zeros(len(which)), np.full(len(which), np.inf)
                usual, reverse, guard = (assembly.add_columns(zero, infinite) for _ in range(3))
                blocks += [(usual, -sign * normals[which].T), (reverse, sign * normals[which].T)]
                value += [(usual, -sign * limit[which]), (reverse, sign * limit[which])]
                assembly.add_pairs(usual, members[which], normals is A, at_upper=sign < 0.0)
                # reverse > 0 only where π ≥ t: π + guard ≥ t, and guard or reverse is 0.
                one = eye_array(len(which), format="csr")
                t = csr_array(-np.ones((len(which), 1)))
                assembly.add_rows([(pi, one), (guard, one), (self.strict, t)], zero, infinite)
                assembly.add_pairs(reverse, guard, of_rows=False, at_upper=False)
        assembly.add_rows(blocks, direction, direction)
        return value if priced else [(self.y, direction)]

    def _check_prices(self) -> None:
        reason = "the outer objective has products of outer and inner variables, and "
        if abs(self.follower.rows.outer).sum() > 0.0:
            raise RefusedError(
                f"{reason}outer variables stand in the follower's constraints too; only one of "
                "both can be made linear",
                "objective",
            )
        if self.follower.curved:
            raise RefusedError(
                f"{reason}the follower's objective is quadratic; the worst value of such a product "
                "is not linear",
                "objective",
            )
