"""From a tuning problem to the box of least worst case: where to start, what to prove.

One group is a line, solved to proved optimality. With more, descent goes from the best single
limit, the boxes of the optimistic and of the paper's pessimistic problem, smallest and largest, and
the widest box, the best of them first, so the answer is no worse than any of them. Few groups are
then branched on until bound and answer meet.

Both problems are lower bounds as well. No box has a better best case than the optimistic optimum.
And no box has a worst case below the paper's optimum, whichever points are flipped: with a copy
that trains best, the paper's model is one of the near-optimal ones of that box. So after descent
the points are flipped that the worst model of the best box loses on, which comes closest to it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import replace
from operator import attrgetter

import numpy as np

from pessimal.errors import SolverError
from pessimal.minimax.descent import Descent
from pessimal.minimax.evaluations import Evaluations, Stop
from pessimal.minimax.groups import GroupsSpec, groups_of
from pessimal.minimax.line import minimise_on_line
from pessimal.minimax.proof import Leaf, check_leaf
from pessimal.minimax.regions import MOST_GROUPS, minimise_in_regions
from pessimal.problem import Budget, Mask, TuningProblem, Vector
from pessimal.search import Limits, search_optimistic, search_pessimistic
from pessimal.solution import Outcome, Status
from pessimal.ties import largest_box, smallest_box
from pessimal.tolerances import OPTIMAL_GAP

START_NODES = 10_000
"""Nodes that may be spent on each of the problems whose boxes are starts, beside all others."""

BOUND_NODES = 100_000
"""The same for each of the problems that are solved for their bound."""


def minimise_worst_case(
    problem: TuningProblem, budget: Budget, groups: GroupsSpec, limits: Limits
) -> Outcome:
    """Find the box, in groups, whose exact worst case is smallest."""
    in_groups = groups_of(problem, groups)
    evaluations = Evaluations(problem, budget, in_groups, limits)
    notes: tuple[str, ...] = ()
    try:
        status = _one(evaluations) if len(in_groups) == 1 else _several(evaluations)
    except Stop as stop:
        status = stop.status
    except SolverError as error:
        status, notes = Status.NOT_PROVED, (str(error),)
    except KeyboardInterrupt:
        status = Status.INTERRUPTED
    best = evaluations.best or evaluations.first_glance()
    return Outcome(
        w=best.u[:-1],
        b=float(best.u[-1]),
        box=in_groups.box(best.h),
        lower_bound=min(evaluations.lower_bound, best.value),
        status=status,
        nodes=evaluations.nodes,
        notes=notes,
    )


def _one(evaluations: Evaluations) -> Status:
    return _confirm(evaluations, minimise_on_line(evaluations))


def _several(evaluations: Evaluations) -> Status:
    """Descend from several starts, then prove what can be proved."""
    groups = evaluations.groups
    # All of them first, so that a limit does not leave any out.
    points = [evaluations.at(h, evaluations.best_value) for h in _starts(evaluations)]
    if np.array_equal(groups.lower, groups.upper):  # nothing to choose
        evaluations.prove(evaluations.best_value)
    descent = Descent(evaluations)
    for point in sorted(points, key=attrgetter("value")):
        if evaluations.met:
            return Status.OPTIMAL
        descent.improve(point.h)
    _flip_what_is_lost(evaluations, descent)
    if evaluations.met:
        return Status.OPTIMAL
    if len(groups) > MOST_GROUPS:
        return Status.NOT_PROVED
    certain = evaluations.lower_bound
    return _confirm(evaluations, minimise_in_regions(evaluations), certain)


def _flip_what_is_lost(evaluations: Evaluations, descent: Descent) -> None:
    """Solve the paper's problem against the worst model, for its bound and for its boxes."""
    problem, budget, groups = evaluations.problem, evaluations.budget, evaluations.groups
    flipped: set[bytes] = set()
    while (best := evaluations.best) and not evaluations.met:
        lost = best.active
        if lost.tobytes() in flipped:
            return
        flipped.add(lost.tobytes())
        limits = evaluations.rest(BOUND_NODES)
        paper = _heeding_interrupts(search_pessimistic(problem, budget, lost, limits))
        evaluations.prove(paper.lower_bound)
        for h in _distinct(map(groups.around, _tied(problem, budget, lost, paper))):
            descent.improve(h)


def _confirm(evaluations: Evaluations, leaves: list[Leaf], certain: float = 0.0) -> Status:
    """Let the lower bound be what HiGHS confirms of a proof, or what is `certain` without it."""
    bound = evaluations.best_value
    if evaluations.lower_bound < bound - OPTIMAL_GAP:
        return Status.NOT_PROVED
    problem, budget, groups = evaluations.problem, evaluations.budget, evaluations.groups
    for leaf in leaves:
        evaluations.check_time()
        bound = min(bound, check_leaf(problem, budget, groups, leaf, evaluations.check_time))
    evaluations.lower_bound = max(certain, bound)
    proved = evaluations.lower_bound >= evaluations.best_value - OPTIMAL_GAP
    return Status.OPTIMAL if proved else Status.NOT_PROVED


def _starts(evaluations: Evaluations) -> list[Vector]:
    """Return hyperparameters to start from; the searches that find them leave a bound, too."""
    problem, budget, groups = evaluations.problem, evaluations.budget, evaluations.groups
    _find_single_limit(evaluations)
    single = [] if evaluations.best is None else [groups.box(evaluations.best.h)]
    optimistic = _heeding_interrupts(search_optimistic(problem, evaluations.rest(START_NODES)))
    evaluations.prove(optimistic.lower_bound)
    everyone = np.ones(problem.n_val, dtype=np.bool_)
    limits = evaluations.rest(START_NODES)
    paper = _heeding_interrupts(search_pessimistic(problem, budget, everyone, limits))
    evaluations.prove(paper.lower_bound)
    boxes = [
        *single,
        *_tied(problem, Budget(), None, optimistic),
        *_tied(problem, budget, everyone, paper),
        problem.upper,
    ]
    return _distinct(map(groups.around, boxes))


def _distinct(points: Iterable[Vector]) -> list[Vector]:
    return list({h.tobytes(): h for h in points}.values())


def _tied(
    problem: TuningProblem, budget: Budget, flipped: Mask | None, outcome: Outcome
) -> Iterator[Vector]:
    """Yield the boxes of one optimal model: as found, the smallest, the largest."""
    yield outcome.box
    for tie_break in (smallest_box, largest_box):
        yield tie_break(problem, budget, flipped, outcome.w, outcome.b, outcome.box)


def _find_single_limit(evaluations: Evaluations) -> None:
    """Let the best point be the best single limit, if the features can share one."""
    problem, budget = evaluations.problem, evaluations.budget
    if np.ptp(problem.lower) > 0.0:
        return
    limits = evaluations.rest(START_NODES)
    line = Evaluations(problem, budget, groups_of(problem, "one"), limits)
    with suppress(Stop, SolverError):
        minimise_on_line(line)
    if line.best is not None:
        box = line.groups.box(line.best.h)
        evaluations.best = replace(line.best, h=evaluations.groups.around(box))


def _heeding_interrupts(outcome: Outcome) -> Outcome:
    """Pass on a Ctrl-C that a search has taken for its own."""
    if outcome.status is Status.INTERRUPTED:
        raise KeyboardInterrupt
    return outcome
