"""The pessimistic view of optimal responses, where a follower's objective has prices or squares.

With ``ε = δ = 0`` the responses to x are the optimal face of the follower's problem: the feasible y
with the same gradient of the quadratic part and without slack where a multiplier π is positive. The
worst of them, which has the largest ``h·y``, has multipliers ν of its own,

    ``h = −Aᵀ·ν + curvature·ω``,

``ν ≥ 0`` and complementary to slacks as usual, but of any sign where π is *strictly* positive. That
is what prices do: where a multiplier vanishes, responses appear of which a decision nearby is
safe. So the largest outer objective may drop towards a decision and jump up in it, and its least
value may not be attained.

The strict inequality is a common lower limit t of the multipliers that have to be positive, and t
has to be positive (:mod:`pessimal.bilevel.strict_search`).
"""

from __future__ import annotations

import math

import numpy as np
from scipy.sparse import csr_array, eye_array

from pessimal.bilevel.answer import BilevelSolution, BilevelStatus
from pessimal.bilevel.complementarity_search import Outcome
from pessimal.bilevel.near_optimal import Tolerance
from pessimal.bilevel.optimality import Assembly, Columns, Multipliers, add_conditions, squares
from pessimal.bilevel.optimistic import STATUS, has_decisions, why_infeasible
from pessimal.bilevel.pessimistic import certify_pessimistic, worst_responses
from pessimal.bilevel.program import BilevelProgram, FollowerProgram
from pessimal.bilevel.strict_search import StrictSearch
from pessimal.limits import Deadline
from pessimal.problem import Vector
from pessimal.tolerances import OPTIMAL_GAP

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
    rows = program.rows
    assembly.add_rows([(x, rows.outer)], rows.lower, rows.upper)
    for follower in program.followers:
        own = y[follower.columns]
        multipliers = add_conditions(assembly, follower, x, own)
        direction = program.inner_cost[follower.columns]
        if direction.any():
            _add_adversary(assembly, follower, direction, own, multipliers, strict)
    cost = np.zeros(assembly.n_columns)
    cost[x], cost[y] = program.outer_cost, program.inner_cost
    nothing = csr_array((program.n_inner, program.n_inner))
    curved = squares(program.outer_curvature, nothing, x, y, assembly.n_columns)
    problem = assembly.build(cost, curved)
    problem.program.integer[x] = program.integer
    search = StrictSearch(problem, int(strict[0]), deadline, node_limit)
    found = search.run()
    if found.outcome is Outcome.INFEASIBLE:
        status = why_infeasible(program)
        if status is BilevelStatus.INFEASIBLE and has_decisions(program):
            status = BilevelStatus.WORST_UNBOUNDED
        return BilevelSolution(status, bound=math.inf, nodes=found.nodes)
    bound, status = found.bound + program.constant, STATUS[found.outcome]
    if found.point is None:
        return BilevelSolution(status, bound=bound, nodes=found.nodes)
    decision = found.point[x]
    decision[program.integer] = np.round(decision[program.integer])
    responses = worst_responses(program, decision, _OPTIMAL_ONLY, program.inner_cost)
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


def _add_adversary(
    assembly: Assembly,
    follower: FollowerProgram,
    direction: Vector,
    y: Columns,
    optimal: Multipliers,
    strict: Columns,
) -> None:
    """Add the conditions under which y has the largest ``direction·y`` on the optimal face."""
    A, unit = csr_array(follower.rows.inner), eye_array(len(follower), format="csr")
    free = np.full(len(follower), np.inf)
    omega = assembly.add_columns(-free, free)
    blocks = [(omega, follower.curvature)]
    _, equations = optimal.equations
    anything = np.full(len(equations), np.inf)
    blocks.append((assembly.add_columns(-anything, anything), -A[equations].T))
    for sides, normals, numbers in (
        (optimal.row_sides, A, optimal.rows),
        (optimal.limit_sides, unit, y),
    ):
        for (pi, which), sign in zip(sides, (1.0, -1.0), strict=True):
            zero, infinite = np.zeros(len(which)), np.full(len(which), np.inf)
            usual, reverse, guard = (assembly.add_columns(zero, infinite) for _ in range(3))
            blocks += [(usual, -sign * normals[which].T), (reverse, sign * normals[which].T)]
            assembly.add_pairs(usual, numbers[which], of_rows=normals is A, at_upper=sign < 0.0)
            # reverse > 0 only where π ≥ t: π + guard ≥ t, and guard or reverse is 0.
            one = eye_array(len(which), format="csr")
            t = csr_array(-np.ones((len(which), 1)))
            assembly.add_rows([(pi, one), (guard, one), (strict, t)], zero, infinite)
            assembly.add_pairs(reverse, guard, of_rows=False, at_upper=False)
    assembly.add_rows(blocks, direction, direction)
