"""What ordinary tuning of limits on weights would give, on the rows that pessimistic tuning had.

Ordinary tuning takes the limits within which some optimal model validates best. What matters of
them here is the same as of the limits that were tuned: the best and the worst that models within
them do that train well.
"""

from __future__ import annotations

from dataclasses import dataclass

from pessimal.limits import AT_ONCE, Deadline
from pessimal.near_optimal.base import Extreme
from pessimal.near_optimal.polyhedral.extremes import best_case, worst_case
from pessimal.problem import Vector
from pessimal.solution import Status, TuningSolution
from pessimal.solve import solve_optimistic

SHARE = 0.25
"""Of the time that tuning has left, for both its search and its worst case."""

MOST_CELLS = 100_000
"""In a table with more, its first training alone might take longer than that."""


@dataclass(frozen=True, eq=False)
class Ordinary:
    """Limits as ordinary tuning takes them, and what models within them do on validation rows.

    Attributes
    ----------
    box : ndarray of shape (p,)
    proved : bool
        Whether no other limits have a training optimum that validates better.
    best, worst : Extreme
        Least and largest validation loss of the models that train well.
    """

    box: Vector
    proved: bool
    best: Extreme
    worst: Extreme


def tuned_ordinarily(tuned: TuningSolution, deadline: Deadline, seed: int) -> Ordinary | None:
    """Tune the limits again, trusting training; None where there is no time for it.

    Parameters
    ----------
    tuned : TuningSolution
        The answer of pessimistic tuning.
    deadline : Deadline
        Of everything; this takes a share of what is left.
    seed : int
    """
    problem = tuned.problem
    too_large = problem.X_train.size + problem.X_val.size > MOST_CELLS
    if too_large or deadline.over or tuned.status is Status.INTERRUPTED:
        return None
    part = deadline.share(SHARE)
    try:
        half = max(part.share(0.5).left, AT_ONCE)
        found = solve_optimistic(problem, time_limit=half, seed=seed)
        best = best_case(problem, found.box, tuned.budget, time_limit=max(part.left, AT_ONCE))
        left = max(part.left, AT_ONCE)
        worst = worst_case(problem, found.box, tuned.budget, time_limit=left)
    except KeyboardInterrupt:
        return None
    return Ordinary(found.box, found.proved, best, worst)
