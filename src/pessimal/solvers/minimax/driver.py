"""From a tuning problem to the box of least worst case: where to start, what to prove.

First a few boxes of all widths are bounded, each by one training. Then boxes are evaluated, the
most promising first: these, and those of the paper's pessimistic problem and of the optimistic one,
smallest and largest. Only then is any of them refined, so whatever the limits, the answer has a
bound no worse than theirs. One group is then a line, solved to proved optimality. With more, the
best single limit is another start, and descent goes from each, the best first. Then there is
branching until bound and answer meet: on regions of few groups, on cells of boxes of more.

Both problems are lower bounds as well. No box has a better best case than the optimistic optimum.
And no box has a worst case below the paper's optimum, whichever points are flipped: with a copy
that trains best, the paper's model is one of the near-optimal ones of that box. So the points are
flipped that the worst model of the best box loses on, which comes closest to it: before descent,
for a bound in good time, and after it.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import replace
from operator import attrgetter

import numpy as np

from pessimal.errors import SolverError
from pessimal.limits import Limits
from pessimal.problem import Vector
from pessimal.solvers.base import BaseSolver, Result, Status, Stop, Task
from pessimal.solvers.minimax.boxes import BoxSearch
from pessimal.solvers.minimax.descent import Descent
from pessimal.solvers.minimax.groups import groups_of
from pessimal.solvers.minimax.line import bound_on_line, minimise_on_line
from pessimal.solvers.minimax.oracle import Point, WorstCaseOracle
from pessimal.solvers.minimax.proof import Leaf, check_leaf
from pessimal.solvers.minimax.regions import MOST_GROUPS, minimise_in_regions
from pessimal.solvers.search.driver import SearchSolver
from pessimal.ties import largest_box, smallest_box
from pessimal.tolerances import OPTIMAL_GAP

START_NODES = 10_000
"""Nodes that may be spent on each of the problems whose boxes are starts, beside all others."""

LINE_NODES = 100
"""The same where a line follows, which proves its own bound if it has the time."""

UNLIMITED = 2**62
"""Nodes where the time alone is limited."""

BOUND_NODES = 100_000
"""The same for each of the problems that are solved for their bound."""

QUICK_NODES = 200
"""Of the evaluation of a start, before descent from any."""

DEFAULT_SHARE = 0.3
"""Of the time left, for the paper's pessimistic problem, so that its box is the one that the
default, ``inner="flip"``, finds in this share of the time."""

SEARCH_SHARE, TIE_SHARE, LINE_SHARE = 0.1, 0.1, 0.25
"""Of the time left: for another such problem, a box tied with its own, the best single limit."""

DESCENT_SHARE = 0.2
"""Of the time left, after which no other start is descended from: cells of boxes find better."""

ROOT_SHARE, QUICK_SHARE = 0.01, 0.7
"""Of the time left: for the root node of a start, for its evaluation.

With hundreds of rows half an evaluation bounds next to nothing, so one has most of the time."""

WIDTHS = (0.0, 1.0, 0.25, 0.0625, 0.015625)
"""Boxes to start from, as shares of the way from the lower to the upper limits."""


class WorstCaseSolver(BaseSolver):
    """Finds the box, in groups, whose exact worst case is smallest."""

    name = "worst case"
    kinds = ("worst case",)

    def _solve(self, task: Task, limits: Limits) -> Result:
        groups = task.groups
        assert groups is not None
        oracle = WorstCaseOracle(task.problem, task.budget, groups, limits)
        notes: tuple[str, ...] = ()
        try:
            status = _one(oracle) if len(groups) == 1 else _several(oracle)
        except Stop as stop:
            status = stop.status
        except SolverError as error:
            if oracle.deadline.over:
                status = Status.TIME_LIMIT
            else:
                status, notes = Status.NOT_PROVED, (str(error),)
        except KeyboardInterrupt:
            status = Status.INTERRUPTED
        best = oracle.best or oracle.bounded(groups.lower)
        return Result(
            w=best.u[:-1],
            b=float(best.u[-1]),
            box=groups.box(best.h),
            lower_bound=min(oracle.lower_bound, best.bound),
            status=status,
            nodes=oracle.nodes,
            notes=notes,
            worst_case_bound=max(best.value, best.bound),
        )


def _one(oracle: WorstCaseOracle) -> Status:
    simple = _of_all_widths(oracle)
    for task in _views(oracle):
        _search(oracle, task, LINE_NODES)  # for its bound: its box has many limits
    certain = oracle.lower_bound
    return _confirm(oracle, _minimised(oracle, simple), certain)


def _minimised(oracle: WorstCaseOracle, simple: list[Vector]) -> list[Leaf]:
    """Find the best single limit, a bound on it first, then the best of a few; return its proof."""
    parts = bound_on_line(oracle)
    _evaluated(oracle, simple)
    return minimise_on_line(oracle, parts)


def _several(oracle: WorstCaseOracle) -> Status:
    """Evaluate several starts, descend from them, then prove what can be proved."""
    groups = oracle.groups
    simple = _of_all_widths(oracle)
    paper, optimistic = _views(oracle)
    only_time = oracle.limits.time_limit is not None and oracle.limits.node_limit is None
    nodes = UNLIMITED if only_time else START_NODES
    points = _evaluated(oracle, _starts(oracle, paper, nodes, DEFAULT_SHARE))
    points += _evaluated(oracle, _starts(oracle, optimistic, START_NODES))
    points += _evaluated(oracle, simple)
    if np.array_equal(groups.lower, groups.upper):  # nothing to choose
        oracle.finish()
        oracle.prove(oracle.best_value)
        return Status.OPTIMAL
    points += _single_limit(oracle)
    lost: set[bytes] = set()
    points += _evaluated(oracle, _flip_what_is_lost(oracle, lost, START_NODES))
    descent = Descent(oracle)
    enough = oracle.deadline.share(DESCENT_SHARE)
    for point in sorted(points, key=attrgetter("bound")):
        if oracle.met or enough.over:
            break
        descent.improve(point.h)
    while boxes := _flip_what_is_lost(oracle, lost, BOUND_NODES):
        for h in boxes:
            descent.improve(h)
    oracle.finish()
    if oracle.met:
        return Status.OPTIMAL
    if len(groups) > MOST_GROUPS:
        BoxSearch(oracle, descent.sets).run()
        oracle.finish()
        return Status.OPTIMAL if oracle.met else Status.NOT_PROVED
    certain = oracle.lower_bound
    return _confirm(oracle, minimise_in_regions(oracle), certain)


def _evaluated(oracle: WorstCaseOracle, starts: list[Vector]) -> list[Point]:
    """Bound every start at its root, then evaluate what may be the best, most promising first.

    A root leaves a value and a bound that may be far apart: what promises most is the least of
    their geometric means.
    """
    points = [oracle.quick(h, 0, ROOT_SHARE) for h in starts]
    for k in sorted(range(len(points)), key=lambda k: points[k].value * points[k].bound):
        if not points[k].exact and points[k].value < oracle.best_value:
            points[k] = oracle.quick(starts[k], QUICK_NODES, QUICK_SHARE)
    return points


def _flip_what_is_lost(oracle: WorstCaseOracle, flipped: set[bytes], nodes: int) -> list[Vector]:
    """Solve the paper's problem against the worst model, for its bound; return its boxes.

    There are none if the bound is met or those points have been flipped before.
    """
    problem, best = oracle.problem, oracle.best
    if best is None or oracle.met or best.active.tobytes() in flipped:
        return []
    lost = best.active
    flipped.add(lost.tobytes())
    if not problem.val_weight[lost].any():  # it loses on none
        return []
    return _starts(oracle, Task(problem, oracle.budget, lost), nodes)


def _confirm(oracle: WorstCaseOracle, leaves: list[Leaf], certain: float) -> Status:
    """Let the lower bound be what HiGHS confirms of a proof, or what is `certain` without it."""
    oracle.finish()
    bound = oracle.best_value
    if oracle.lower_bound < bound - OPTIMAL_GAP:
        return Status.NOT_PROVED
    problem, budget, groups = oracle.problem, oracle.budget, oracle.groups
    for leaf in leaves:
        oracle.check_time()
        bound = min(bound, check_leaf(problem, budget, groups, leaf, oracle.check_time))
    oracle.lower_bound = max(certain, bound)
    proved = oracle.lower_bound >= oracle.best_value - OPTIMAL_GAP
    return Status.OPTIMAL if proved else Status.NOT_PROVED


def _views(oracle: WorstCaseOracle) -> tuple[Task, Task]:
    """Return the paper's pessimistic problem and the optimistic one."""
    everyone = np.ones(oracle.problem.n_val, dtype=np.bool_)
    return Task(oracle.problem, oracle.budget, everyone), Task(oracle.problem)


def _search(oracle: WorstCaseOracle, task: Task, nodes: int, share: float = SEARCH_SHARE) -> Result:
    """Solve a problem that bounds every worst case, and pass on a Ctrl-C that it has taken."""
    result = SearchSolver().solve(task, oracle.rest(share, nodes))
    if result.status is Status.INTERRUPTED:
        raise KeyboardInterrupt
    oracle.prove(result.lower_bound)
    return result


def _starts(
    oracle: WorstCaseOracle, task: Task, nodes: int, share: float = SEARCH_SHARE
) -> list[Vector]:
    """Solve such a problem; return its boxes: as found, the smallest and the largest tied."""
    result = _search(oracle, task, nodes, share)
    w, b, boxes = result.w, result.b, [result.box]
    for tie_break in (smallest_box, largest_box):
        oracle.check_time()
        deadline = oracle.deadline.share(TIE_SHARE)
        boxes.append(tie_break(task, w, b, result.box, deadline))
    return _distinct(map(oracle.groups.around, boxes))


def _of_all_widths(oracle: WorstCaseOracle) -> list[Vector]:
    """Return hyperparameters from the least to the largest, each with a bound."""
    low, high = oracle.groups.lower, oracle.groups.upper
    points = _distinct(np.minimum(low + share * (high - low), high) for share in WIDTHS)
    for h in points:
        oracle.bounded(h)
        oracle.check_time()
    if oracle.best is not None:  # a small one, soon evaluated
        oracle.quick(oracle.best.h, 0, SEARCH_SHARE)
    return points


def _distinct(points: Iterable[Vector]) -> list[Vector]:
    return list({h.tobytes(): h for h in points}.values())


def _single_limit(oracle: WorstCaseOracle) -> list[Point]:
    """Return the best single limit, if the features can share one; it may be the best point."""
    problem, budget = oracle.problem, oracle.budget
    if oracle.met or np.ptp(problem.lower) > 0.0:
        return []
    limits = oracle.rest(LINE_SHARE, START_NODES)
    line = WorstCaseOracle(problem, budget, groups_of(problem, "one"), limits)
    with suppress(Stop, SolverError):
        _minimised(line, _of_all_widths(line))
    if line.best is None:
        return []
    h = oracle.groups.around(line.groups.box(line.best.h))
    return [oracle.keep(replace(line.best, h=h))]
