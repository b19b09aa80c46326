"""All near-optimal responses of one follower to a decision, and the worst of them.

A response y to x is near-optimal when it is feasible and ``f(x, y) ≤ f*(x) + ε·|f*(x)| + δ``.
Without ε and δ that is the optimal face, where every row with a positive multiplier is tight: so it
is written, because a budget that is met exactly leaves no interior, and its tolerance would be
multiplied by the multiplier of the budget.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.sparse import csr_array, vstack

from pessimal.bilevel.program import FollowerProgram
from pessimal.bilevel.response import program_at, respond, solve_quadratic
from pessimal.lp.highs import LinearProgram, WarmProgram
from pessimal.problem import Vector
from pessimal.tolerances import LP_FEASIBILITY


@dataclass(frozen=True)
class Tolerance:
    """How far above its optimum f* a response may be: ``ε·|f*| + δ``."""

    epsilon: float
    delta: float

    @property
    def none(self) -> bool:
        """Whether only optimal responses count."""
        return self.epsilon == 0.0 and self.delta == 0.0

    def above(self, least: float) -> float:
        """Return what is allowed above an optimum."""
        return self.epsilon * abs(least) + self.delta


def near_optimal_responses(
    follower: FollowerProgram, x: Vector, tolerance: Tolerance
) -> LinearProgram | None:
    """Return near-optimal responses as a linear program with cost 0; None if there are none."""
    response = respond(follower, x)
    if response is None:
        return None
    program = replace(program_at(follower, x), cost=np.zeros(len(follower)))
    if not tolerance.none:
        limit = response.value + tolerance.above(response.value)
        cost = follower.cost + follower.price @ x
        without = float(follower.outer_cost @ x) + follower.constant
        return program.with_row(cost, -np.inf, limit - without)
    rows, limits = response.of_rows, response.of_limits
    program = replace(
        program,
        row_lower=np.where(rows < 0.0, program.row_upper, program.row_lower),
        row_upper=np.where(rows > 0.0, program.row_lower, program.row_upper),
        lower=np.where(limits < 0.0, program.upper, program.lower),
        upper=np.where(limits > 0.0, program.lower, program.upper),
    )
    if follower.curved:  # all optimal responses have the same gradient of the quadratic part
        gradient = follower.curvature @ response.y
        error = LP_FEASIBILITY * np.maximum(1.0, np.abs(gradient))
        program = replace(
            program,
            matrix=csr_array(vstack([program.matrix.csr, follower.curvature])),
            row_lower=np.append(program.row_lower, gradient - error),
            row_upper=np.append(program.row_upper, gradient + error),
        )
    return program


def worst_response(responses: LinearProgram, direction: Vector) -> Vector | None:
    """Return the response with the largest ``direction·y``, or None if there is no largest."""
    lp = WarmProgram(replace(responses, cost=-direction))
    if not lp.solve():
        return None
    return np.clip(lp.point(), responses.lower, responses.upper)


def largest_by_clarabel(
    follower: FollowerProgram, x: Vector, least: float, tolerance: Tolerance, direction: Vector
) -> float:
    """Return the largest ``direction·y`` over near-optimal responses, by another solver."""
    at = program_at(follower, x)
    limit = least + tolerance.above(least) - float(follower.outer_cost @ x) - follower.constant
    within = at.with_row(at.cost, -np.inf, limit)
    if follower.curved or tolerance.none:  # a budget that is not linear, or leaves no interior
        responses = near_optimal_responses(follower, x, tolerance)
        if responses is None:
            return np.inf
        within = responses
    solved = solve_quadratic(replace(within, cost=-direction))
    return np.inf if solved is None else float(direction @ solved[0])
