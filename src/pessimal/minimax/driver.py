"""From a tuning problem to the box of least worst case: where to start, what to prove.

One group is a line, solved to proved optimality. With more, descent goes from the best single
limit, the boxes of the optimistic and of the paper's pessimistic problem, smallest and largest, and
the widest box, the best of them first, so the answer is no worse than any of them. The optimistic optimum is a lower bound: no box has a better
best case. Few groups are then branched on until bound and answer meet.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from operator import attrgetter

import numpy as np

from pessimal.errors import SolverError
from pessimal.minimax.descent import Descent
from pessimal.minimax.evaluations import Evaluations, Stop
from pessimal.minimax.groups import Groups, GroupsSpec, groups_of
from pessimal.minimax.line import minimise_on_line
from pessimal.minimax.proof import Leaf, check_leaf
from pessimal.minimax.regions import MOST_GROUPS, minimise_in_regions
from pessimal.problem import Budget, Mask, TuningProblem, Vector
from pessimal.search import Limits, search_optimistic, search_pessimistic
from pessimal.solution import Outcome, Status
from pessimal.ties import largest_box, smallest_box
from pessimal.tolerances import OPTIMAL_GAP

START_NODES = 10_000
"""Nodes spent on each of the problems whose boxes are starts."""

START_SHARE = 0.25
"""Of the time limit, for each of the three problems: enough is left to evaluate their boxes."""


def minimise_worst_case(
    problem: TuningProblem, budget: Budget, groups: GroupsSpec, limits: Limits
) -> Outcome:
    """Find the box, in groups, whose exact worst case is smallest."""
    in_groups = groups_of(problem, groups)
    evaluations = Evaluations(problem, budget, in_groups, limits)
    leaves: list[Leaf] = []
    try:
        if len(in_groups) == 1:
            leaves = minimise_on_line(evaluations)
            status = Status.OPTIMAL
        else:
            leaves, status = _several(problem, budget, in_groups, evaluations)
    except Stop as stop:
        status = stop.status
    except SolverError:
        status = Status.NOT_PROVED
    except KeyboardInterrupt:
        status = Status.INTERRUPTED
    best = evaluations.best or evaluations.first_glance()
    bound = evaluations.lower_bound
    if status is Status.OPTIMAL and leaves:
        bound = min(check_leaf(problem, budget, in_groups, leaf) for leaf in leaves)
        if bound < best.value - OPTIMAL_GAP:
            status = Status.NOT_PROVED
    return Outcome(
        w=best.u[:-1],
        b=float(best.u[-1]),
        box=in_groups.box(best.h),
        lower_bound=min(bound, best.value),
        status=status,
        nodes=evaluations.nodes,
    )


def _several(
    problem: TuningProblem, budget: Budget, groups: Groups, evaluations: Evaluations
) -> tuple[list[Leaf], Status]:
    """Descend from several starts, then prove what can be proved."""
    starts, optimistic_bound = _starts(problem, budget, groups, evaluations)
    evaluations.prove(optimistic_bound)
    descent = Descent(evaluations)
    # All of them first, so that a limit does not leave any out.
    points = [evaluations.at(h, evaluations.best_value) for h in starts]
    for point in sorted(points, key=attrgetter("value")):
        if evaluations.met:
            return [], Status.OPTIMAL
        descent.improve(point.h)
    if evaluations.met:
        return [], Status.OPTIMAL
    if len(groups) > MOST_GROUPS:
        return [], Status.NOT_PROVED
    return minimise_in_regions(evaluations), Status.OPTIMAL


def _best_single_limit(problem: TuningProblem, budget: Budget, limits: Limits) -> Iterator[Vector]:
    """Return the box of the best single limit, if the features can share one."""
    if np.ptp(problem.lower) > 0.0:
        return
    line = Evaluations(problem, budget, groups_of(problem, "one"), limits)
    with suppress(Stop):
        minimise_on_line(line)
    if line.best is not None:
        yield line.groups.box(line.best.h)


def _starts(
    problem: TuningProblem, budget: Budget, groups: Groups, evaluations: Evaluations
) -> tuple[list[Vector], float]:
    """Boxes to start from, and the lower bound found on the way."""
    limits = evaluations.limits
    seconds = None if limits.time_limit is None else START_SHARE * limits.time_limit
    limits = replace(limits, callback=None, node_limit=START_NODES, time_limit=seconds)
    optimistic = search_optimistic(problem, limits)
    everyone = np.ones(problem.n_val, dtype=np.bool_)
    paper = search_pessimistic(problem, budget, everyone, limits)
    boxes = [
        *_best_single_limit(problem, budget, limits),
        *_tied(problem, Budget(), None, optimistic),
        *_tied(problem, budget, everyone, paper),
        problem.upper,
    ]
    starts = {h.tobytes(): h for h in map(groups.around, boxes)}
    return list(starts.values()), optimistic.lower_bound


def _tied(
    problem: TuningProblem, budget: Budget, flipped: Mask | None, outcome: Outcome
) -> Iterator[Vector]:
    """Yield the boxes of one optimal model: as found, the smallest, the largest."""
    yield outcome.box
    for tie_break in (smallest_box, largest_box):
        yield tie_break(problem, budget, flipped, outcome.w, outcome.b, outcome.box)
