"""What a bilevel solver answers."""

from __future__ import annotations

import enum
import math
from dataclasses import dataclass

from pessimal.bilevel.certificate import BilevelCertificate
from pessimal.problem import Vector


class BilevelStatus(enum.Enum):
    """What is known of a bilevel problem, and why its solver stopped.

    An infeasible problem has no decision with a response, or with all of them in the pessimistic
    view, that meets the outer constraints. That the follower is infeasible, or unbounded, after
    every decision is said apart. So is a pessimistic value that decisions approach and none has.
    """

    OPTIMAL = "optimal"
    INFEASIBLE = "infeasible"
    INNER_INFEASIBLE = "inner infeasible"
    INNER_UNBOUNDED = "inner unbounded"
    UNBOUNDED = "unbounded"
    WORST_UNBOUNDED = "worst response unbounded"
    UNATTAINED = "not attained"
    TIME_LIMIT = "time limit"
    NODE_LIMIT = "node limit"
    INTERRUPTED = "interrupted"
    NOT_PROVED = "not proved"


@dataclass(frozen=True, eq=False)
class BilevelSolution:
    """A decision with responses, if one was found, and what is proved about it.

    Attributes
    ----------
    status : BilevelStatus
    x : ndarray or None
        The decision.
    y : ndarray or None
        The responses: the best ones, or in the pessimistic view the worst ones.
    value : float
        Outer objective at the decision and these responses; infinite if there is none.
    bound : float
        No decision has a smaller value.
    nodes : int
    certificate : BilevelCertificate or None
    """

    status: BilevelStatus
    x: Vector | None = None
    y: Vector | None = None
    value: float = math.inf
    bound: float = -math.inf
    nodes: int = 0
    certificate: BilevelCertificate | None = None
