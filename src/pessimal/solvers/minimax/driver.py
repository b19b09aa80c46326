"""From a tuning problem to the box of least worst case: where to start, what to prove.

First a few boxes of all widths are bounded, each by one training. Then boxes are evaluated, the
most promising first: these, and those of the paper's pessimistic problem and of the optimistic one,
smallest and largest. Only then is any of them refined, so whatever the limits, the answer has a
bound no worse than theirs. One group is then a line, solved to proved optimality. With more, the
best single limit is another start, and descent goes from each, the best first. Few groups are then
branched on until bound and answer meet.

Both problems are lower bounds as well. No box has a better best case than the optimistic optimum.
And no box has a worst case below the paper's optimum, whichever points are flipped: with a copy
that trains best, the paper's model is one of the near-optimal ones of that box. So the points are
flipped that the worst model of the best box loses on, which comes closest to it: before descent,
for a bound in good time, and after it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import replace
from operator import attrgetter

import numpy as np

from pessimal.errors import SolverError
from pessimal.limits import Limits
from pessimal.problem import Budget, Mask, TuningProblem, Vector
from pessimal.solution import Outcome, Status
from pessimal.solvers.minimax.descent import Descent
from pessimal.solvers.minimax.evaluations import Evaluations, Point, Stop
from pessimal.solvers.minimax.groups import GroupsSpec, groups_of
from pessimal.solvers.minimax.line import minimise_on_line
from pessimal.solvers.minimax.proof import Leaf, check_leaf
from pessimal.solvers.minimax.regions import MOST_GROUPS, minimise_in_regions
from pessimal.solvers.search import search_optimistic, search_pessimistic
from pessimal.ties import largest_box, smallest_box
from pessimal.tolerances import OPTIMAL_GAP

START_NODES = 10_000
"""Nodes that may be spent on each of the problems whose boxes are starts, beside all others."""

LINE_NODES = 100
"""The same where a line follows, which proves its own bound if it has the time."""

BOUND_NODES = 100_000
"""The same for each of the problems that are solved for their bound."""

QUICK_NODES = 200
"""Of the evaluation of a start, before descent from any."""

SEARCH_SHARE, TIE_SHARE, LINE_SHARE = 0.1, 0.02, 0.25
"""Of the time left: for one such problem, a box tied with its own, the best single limit."""

LOOK_SHARE, QUICK_SHARE = 0.01, 0.7
"""Of the time left: for a look at a start, for its evaluation.

With hundreds of rows half an evaluation bounds next to nothing, so one has most of the time."""

WIDTHS = (0.0, 1.0, 0.25, 0.0625, 0.015625)
"""Boxes to start from, as shares of the way from the lower to the upper limits."""


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
    best = evaluations.best or evaluations.bounded(in_groups.lower)
    return Outcome(
        w=best.u[:-1],
        b=float(best.u[-1]),
        box=in_groups.box(best.h),
        lower_bound=min(evaluations.lower_bound, best.bound),
        status=status,
        nodes=evaluations.nodes,
        notes=notes,
        worst_case_bound=max(best.value, best.bound),
    )


def _one(evaluations: Evaluations) -> Status:
    simple = _of_all_widths(evaluations)
    for _ in _views(evaluations, LINE_NODES):  # for their bounds: their boxes have many limits
        pass
    _evaluated(evaluations, simple)
    certain = evaluations.lower_bound
    return _confirm(evaluations, minimise_on_line(evaluations), certain)


def _several(evaluations: Evaluations) -> Status:
    """Evaluate several starts, descend from them, then prove what can be proved."""
    groups = evaluations.groups
    simple = _of_all_widths(evaluations)
    points: list[Point] = []
    for budget, flipped, outcome in _views(evaluations, START_NODES):
        points += _evaluated(evaluations, _tied(evaluations, budget, flipped, outcome))
    points += _evaluated(evaluations, simple)
    if np.array_equal(groups.lower, groups.upper):  # nothing to choose
        evaluations.finish()
        evaluations.prove(evaluations.best_value)
        return Status.OPTIMAL
    points += _single_limit(evaluations)
    lost: set[bytes] = set()
    points += _evaluated(evaluations, _flip_what_is_lost(evaluations, lost, START_NODES))
    descent = Descent(evaluations)
    for point in sorted(points, key=attrgetter("bound")):
        if evaluations.met:
            break
        descent.improve(point.h)
    while boxes := _flip_what_is_lost(evaluations, lost, BOUND_NODES):
        for h in boxes:
            descent.improve(h)
    evaluations.finish()
    if evaluations.met:
        return Status.OPTIMAL
    if len(groups) > MOST_GROUPS:
        return Status.NOT_PROVED
    certain = evaluations.lower_bound
    return _confirm(evaluations, minimise_in_regions(evaluations), certain)


def _evaluated(evaluations: Evaluations, starts: list[Vector]) -> list[Point]:
    """Look at every start, then evaluate what may be the best, the most promising first.

    A look leaves a value and a bound that may be far apart: what promises most is the least of
    their geometric means.
    """
    points = [evaluations.quick(h, 0, LOOK_SHARE) for h in starts]
    for k in sorted(range(len(points)), key=lambda k: points[k].value * points[k].bound):
        if not points[k].exact and points[k].value < evaluations.best_value:
            points[k] = evaluations.quick(starts[k], QUICK_NODES, QUICK_SHARE)
    return points


def _flip_what_is_lost(
    evaluations: Evaluations, flipped: set[bytes], most_nodes: int
) -> list[Vector]:
    """Solve the paper's problem against the worst model, for its bound; return its boxes.

    There are none if the bound is met or those points have been flipped before.
    """
    problem, budget, best = evaluations.problem, evaluations.budget, evaluations.best
    if best is None or evaluations.met or best.active.tobytes() in flipped:
        return []
    lost = best.active
    flipped.add(lost.tobytes())
    if not problem.val_weight[lost].any():  # it loses on none
        return []
    limits = evaluations.rest(SEARCH_SHARE, most_nodes)
    paper = _heeding_interrupts(search_pessimistic(problem, budget, lost, limits))
    evaluations.prove(paper.lower_bound)
    return _tied(evaluations, budget, lost, paper)


def _confirm(evaluations: Evaluations, leaves: list[Leaf], certain: float) -> Status:
    """Let the lower bound be what HiGHS confirms of a proof, or what is `certain` without it."""
    evaluations.finish()
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


def _views(
    evaluations: Evaluations, most_nodes: int
) -> Iterator[tuple[Budget, Mask | None, Outcome]]:
    """Solve the paper's pessimistic problem and the optimistic one; both bound every worst case."""
    problem, budget = evaluations.problem, evaluations.budget
    everyone = np.ones(problem.n_val, dtype=np.bool_)
    limits = evaluations.rest(SEARCH_SHARE, most_nodes)
    paper = _heeding_interrupts(search_pessimistic(problem, budget, everyone, limits))
    evaluations.prove(paper.lower_bound)
    yield budget, everyone, paper
    limits = evaluations.rest(SEARCH_SHARE, most_nodes)
    optimistic = _heeding_interrupts(search_optimistic(problem, limits))
    evaluations.prove(optimistic.lower_bound)
    yield Budget(), None, optimistic


def _of_all_widths(evaluations: Evaluations) -> list[Vector]:
    """Return hyperparameters from the least to the largest, each with a bound."""
    low, high = evaluations.groups.lower, evaluations.groups.upper
    points = _distinct(np.minimum(low + share * (high - low), high) for share in WIDTHS)
    for h in points:
        evaluations.bounded(h)
        evaluations.check_time()
    if evaluations.best is not None:  # a small one, soon evaluated
        evaluations.quick(evaluations.best.h, 0, SEARCH_SHARE)
    return points


def _distinct(points: Iterable[Vector]) -> list[Vector]:
    return list({h.tobytes(): h for h in points}.values())


def _tied(
    evaluations: Evaluations, budget: Budget, flipped: Mask | None, outcome: Outcome
) -> list[Vector]:
    """Hyperparameters of the boxes of one optimal model: the smallest, as found, the largest."""
    w, b, found = outcome.w, outcome.b, outcome.box
    boxes = [found]
    for tie_break in (smallest_box, largest_box):
        evaluations.check_time()
        deadline = evaluations.deadline.share(TIE_SHARE)
        boxes.append(tie_break(evaluations.problem, budget, flipped, w, b, found, deadline))
    return _distinct(map(evaluations.groups.around, boxes))


def _single_limit(evaluations: Evaluations) -> list[Point]:
    """Return the best single limit, if the features can share one; it may be the best point."""
    problem, budget = evaluations.problem, evaluations.budget
    if evaluations.met or np.ptp(problem.lower) > 0.0:
        return []
    limits = evaluations.rest(LINE_SHARE, START_NODES)
    line = Evaluations(problem, budget, groups_of(problem, "one"), limits)
    with suppress(Stop, SolverError):
        minimise_on_line(line)
    if line.best is None:
        return []
    h = evaluations.groups.around(line.groups.box(line.best.h))
    return [evaluations.keep(replace(line.best, h=h))]


def _heeding_interrupts(outcome: Outcome) -> Outcome:
    """Pass on a Ctrl-C that a search has taken for its own."""
    if outcome.status is Status.INTERRUPTED:
        raise KeyboardInterrupt
    return outcome
