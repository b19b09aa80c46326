"""The pessimistic view: the leader fears the worst of all near-optimal responses.

Where the outer objective is linear in the inner variables, the relaxation of Proposition 2 is exact
(:mod:`pessimal.bilevel.relaxation`). Whatever is found of it, the worst response to the decision is
computed again, and certified.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from pessimal.bilevel.answer import BilevelSolution, BilevelStatus
from pessimal.bilevel.certificate import BilevelCertificate, certify, least_objective
from pessimal.bilevel.complementarity import Engine
from pessimal.bilevel.near_optimal import (
    Tolerance,
    largest_by_clarabel,
    near_optimal_responses,
    worst_response,
)
from pessimal.bilevel.optimistic import solve_optimistic, why_infeasible
from pessimal.bilevel.program import BilevelProgram, RefusedError
from pessimal.bilevel.relaxation import Relaxation, range_of, relaxation, rows_of
from pessimal.limits import Deadline
from pessimal.problem import Vector
from pessimal.tolerances import OPTIMAL_GAP


def solve_linear(
    program: BilevelProgram,
    tolerance: Tolerance,
    deadline: Deadline,
    node_limit: float,
    engine: Engine,
) -> BilevelSolution:
    """Minimise the largest outer objective, linear in the inner variables, over responses."""
    relaxed = relaxation(program, tolerance)
    found = solve_optimistic(relaxed.program, deadline, node_limit, relaxed.complete, engine)
    if found.x is None:
        return no_answer(relaxed, found)
    # The copy has done its work: here are the worst responses to the decision itself.
    x = found.x[: program.n_outer]
    y = worst_responses(program, x, tolerance, program.inner_slope(x))
    if y is None:
        return BilevelSolution(BilevelStatus.NOT_PROVED, bound=found.bound, nodes=found.nodes)
    value, status = program.objective(x, y), found.status
    certificate = certify_pessimistic(program, program, x, y, tolerance)
    if status in (BilevelStatus.OPTIMAL, BilevelStatus.NOT_PROVED):
        # Whatever was found of the copy: this is about the decision, and the bound holds.
        met = value - found.bound <= OPTIMAL_GAP * max(1.0, abs(value))
        proved = certificate.ok and met
        status = BilevelStatus.OPTIMAL if proved else BilevelStatus.NOT_PROVED
    bound = min(found.bound, value)
    return BilevelSolution(status, x, y, value, bound, found.nodes, certificate)


def no_answer(relaxed: Relaxation, found: BilevelSolution) -> BilevelSolution:
    """Say of the pessimistic problem why its relaxation has no answer."""
    nothing = (BilevelStatus.INFEASIBLE, BilevelStatus.INNER_INFEASIBLE)
    status = found.status
    if status in (*nothing, BilevelStatus.INNER_UNBOUNDED):
        status = why_infeasible(relaxed.original)
        if status not in nothing[1:] and found.status is BilevelStatus.INNER_UNBOUNDED:
            status = BilevelStatus.WORST_UNBOUNDED  # the inner problem of the relaxation
    return replace(found, status=status)


def check_pessimistic(program: BilevelProgram, tolerance: Tolerance) -> None:
    """Refuse what the relaxation cannot say exactly."""
    if abs(program.inner_curvature).sum() > 0.0:
        raise RefusedError(
            "the outer objective is quadratic in inner variables; the pessimistic view takes outer "
            "objectives that are piecewise linear in them",
            "objective",
        )
    for k, follower in enumerate(program.followers):
        if (follower.priced or follower.curved) and not tolerance.none:
            what = "products of outer and inner variables" if follower.priced else "squares"
            raise RefusedError(
                f"a follower's objective has {what}; the pessimistic view then takes epsilon=0 and "
                "delta=0 only",
                "objective",
                k,
            )
        if tolerance.epsilon > 1.0 and range_of(program, follower)[0] < 0.0:
            raise RefusedError(
                f"epsilon is {tolerance.epsilon!r}, and a follower's objective may be negative; "
                "pass at most 1, or use delta",
                "objective",
                k,
            )


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
    program: BilevelProgram,
    leader: BilevelProgram,
    x: Vector,
    y: Vector,
    tolerance: Tolerance,
    worst: float | None = None,
) -> BilevelCertificate:
    """Check that responses are near-optimal and the worst, and outer constraints hold for all.

    `leader` is the program without what is set after the response. The worst value is recomputed
    here unless it is given, which it is where it is not linear.
    """
    least = [least_objective(follower, x) for follower in program.followers]
    tolerated = np.array([tolerance.above(value) for value in least])
    value = program.objective(x, y)

    def largest(direction: Vector) -> float:
        return sum(
            largest_by_clarabel(follower, x, best, tolerance, direction[follower.columns])
            for follower, best in zip(program.followers, least, strict=True)
            if direction[follower.columns].any()
        )

    if worst is None:
        slope = program.inner_slope(x)
        worst = value + largest(slope) - float(slope @ y)
    certificate = certify(program, x, y, value, tolerated, worst)
    violation, here = certificate.outer_violation, x[: leader.n_outer]
    for g, h, low, high in rows_of(leader.rows):
        if h.any():
            size = max(1.0, float(np.abs(g) @ np.abs(here) + np.abs(h) @ np.abs(y)))
            at = float(g @ here)
            over = at + largest(h) - high if np.isfinite(high) else 0.0
            under = low - at + largest(-h) if np.isfinite(low) else 0.0
            violation = max(violation, over / size, under / size)
    return replace(certificate, outer_violation=violation)
