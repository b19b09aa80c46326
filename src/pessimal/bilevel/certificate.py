"""Check an answer again, from the program alone and with another solver.

The followers' problems are solved after the decision by Clarabel, an interior-point method that
the search for linear followers never asks. In the pessimistic view so is the problem of the worst
response.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pessimal.bilevel.program import BilevelProgram, FollowerProgram, Rows
from pessimal.bilevel.response import program_at, solve_quadratic
from pessimal.problem import Vector
from pessimal.tolerances import CERTIFICATE


@dataclass(frozen=True)
class BilevelCertificate:
    """How far an answer is from feasible, and its objective recomputed.

    Attributes
    ----------
    inner_gap : float
        How much a follower could still improve its objective, beyond what the view allows it;
        relative where the objective is above 1. The largest of all followers.
    inner_violation, outer_violation : float
        Largest violation of a constraint, relative where its terms are above 1.
    worst_gap : float
        In the pessimistic view, how much worse another near-optimal response is; else 0.
    objective : float
        Outer objective, recomputed.
    objective_error : float
        Distance from the value that was claimed, relative where that is above 1.
    """

    inner_gap: float
    inner_violation: float
    outer_violation: float
    worst_gap: float
    objective: float
    objective_error: float

    @property
    def ok(self) -> bool:
        """Whether all of them are within `tolerances.CERTIFICATE`."""
        errors = (
            self.inner_gap,
            self.inner_violation,
            self.outer_violation,
            self.worst_gap,
            self.objective_error,
        )
        return all(error <= CERTIFICATE for error in errors)


def certify(
    program: BilevelProgram,
    x: Vector,
    y: Vector,
    claimed: float,
    tolerated: Vector | None = None,
    worst: float | None = None,
) -> BilevelCertificate:
    """Check a decision and its responses.

    `tolerated` is how much above its optimum each follower may be, by default nothing; `worst` is
    the value of the worst responses, recomputed by the caller.
    """
    gaps, violations = [0.0], [0.0]
    for k, follower in enumerate(program.followers):
        own = y[follower.columns]
        violations.append(_violation(follower.rows, x, own))
        violations.append(float(np.max([0.0, *(follower.lower - own), *(own - follower.upper)])))
        least = least_objective(follower, x)
        allowed = 0.0 if tolerated is None else float(tolerated[k])
        excess = follower.objective(x, own) - least - allowed
        gaps.append(excess / max(1.0, abs(least)))
    fraction = np.abs(x - np.round(x))[program.integer]
    limits = [*(program.lower - x), *(x - program.upper), *fraction]
    objective = program.objective(x, y)
    size = max(1.0, abs(claimed))
    return BilevelCertificate(
        inner_gap=float(np.max(gaps)),
        inner_violation=float(np.max(violations)),
        outer_violation=float(np.max([_violation(program.rows, x, y), *limits])),
        worst_gap=0.0 if worst is None else max(0.0, worst - objective) / size,
        objective=objective,
        objective_error=abs(objective - claimed) / size,
    )


def least_objective(follower: FollowerProgram, x: Vector) -> float:
    """Return the least inner objective after a decision, by Clarabel; −inf if it finds none."""
    solved = solve_quadratic(program_at(follower, x), follower.curvature)
    return -np.inf if solved is None else follower.objective(x, solved[0])


def _violation(rows: Rows, x: Vector, y: Vector) -> float:
    value = rows(x, y)
    size = np.maximum(1.0, abs(rows.outer) @ np.abs(x) + abs(rows.inner) @ np.abs(y))
    return float(np.max([0.0, *((rows.lower - value) / size), *((value - rows.upper) / size)]))
