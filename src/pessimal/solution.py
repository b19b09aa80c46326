"""What the user gets: a tuned box, its model, and what is proved about them."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from functools import cached_property

from pessimal.certificate import Certificate
from pessimal.near_optimal import Extreme, worst_case
from pessimal.problem import Budget, Mask, TuningProblem, Vector
from pessimal.solvers.base import Status
from pessimal.tolerances import OPTIMAL_GAP

__all__ = ["Status", "TuningSolution"]


@dataclass(frozen=True, eq=False)
class TuningSolution:
    """A tuned box, the model found in it, and what is known about both.

    Attributes
    ----------
    box : ndarray of shape (p,)
        The hyperparameters w̄.
    coef, intercept : ndarray of shape (p,), float
        The model, in scikit-learn's sign: the score is ``X @ coef + intercept``.
    objective : float
        Mean hinge loss of the model on the validation set, recomputed from the data.
    lower_bound : float
        No box and model of this problem has a smaller objective.
    status : Status
        Why the method stopped.
    seconds : float
        Wall-clock time of the method, tie-break included, certificate excluded.
    nodes : int
        Branch-and-bound nodes.
    method : str
        ``"search"``, ``"milp (solver)"``, or ``"worst case"`` for true pessimism.
    certificate : Certificate
        The inner problem solved again, by HiGHS.
    notes : tuple of str
        What the method has to say about its proof, such as a cap on a multiplier.
    time_limit : float or None
        Seconds that `exact_worst_case` may take: as many as the method had.
    worst_case_bound : float
        No near-optimal model of the box has a larger loss, as far as the method has proved: finite
        for true pessimism, infinite for the others, which do not ask.
    """

    problem: TuningProblem = field(repr=False)
    budget: Budget
    flipped: Mask | None = field(repr=False)
    box: Vector
    coef: Vector
    intercept: float
    objective: float
    lower_bound: float
    status: Status
    seconds: float
    nodes: int
    method: str
    certificate: Certificate
    notes: tuple[str, ...] = ()
    time_limit: float | None = None
    worst_case_bound: float = math.inf

    @property
    def gap(self) -> float:
        """Objective less lower bound; 0 when they have met.

        Where only a bound is known on the worst case of the box, that bound less the lower one.
        """
        known = self.worst_case_bound < math.inf
        answer = max(self.objective, self.worst_case_bound) if known else self.objective
        return max(0.0, answer - self.lower_bound)

    @property
    def proved(self) -> bool:
        """Whether this is a global optimum: bound and objective meet, the certificate holds."""
        return (
            self.status is Status.OPTIMAL and self.gap <= OPTIMAL_GAP and bool(self.certificate.ok)
        )

    @cached_property
    def exact_worst_case(self) -> Extreme:
        """Worst validation loss over all near-optimal models of the box, found on first use.

        From some fifty validation points on it can take long. If `time_limit` cuts it short, its
        `value` is the worst found, and only its `upper_bound` is a guarantee.
        """
        worst = worst_case(self.problem, self.box, self.budget, time_limit=self.time_limit)
        # The method may have proved more about this box than was proved now.
        bound = max(worst.value, min(worst.upper_bound, self.worst_case_bound))
        return replace(worst, upper_bound=bound)
