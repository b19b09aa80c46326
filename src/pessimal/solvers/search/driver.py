"""From a tuning problem to a proved optimum: which part is searched when, and when to stop.

All parts share one incumbent. Trees, heuristic and cells of boxes alternate by a schedule of nodes,
never by the clock, so that the answer does not depend on the machine. What takes more than a second
or two may go on in several processes (`Subtrees`).

A search may be stopped anywhere: by a limit, by Ctrl-C, by an exception of a signal handler or of
the callback. So what is known of the problem is recorded as a whole, between two calls of compiled
code. Whatever happens within one, it still holds: bounds only grow.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace
from math import ceil
from typing import NamedTuple

import numpy as np

from pessimal.errors import SolverError
from pessimal.interrupts import Interrupts, deferred_interrupts
from pessimal.limits import Deadline, Limits, Progress
from pessimal.lp.watch import Watch
from pessimal.problem import Budget, Mask, TuningProblem, Vector
from pessimal.solvers.base import BaseSolver, Result, Status, Stop, Task
from pessimal.solvers.search.parts import Part, active_set_parts, parts_of
from pessimal.solvers.search.tree import Tree
from pessimal.tolerances import CUTOFF
from pessimal.units import equilibrate

SCHEDULE = ((4, 60), (30, 300), (150, 3000))
"""Rounds of the heuristic, then nodes of the tree, alternately."""

LONG_SCHEDULE = ((20, 60), (100, 300), *((150, 1000),) * 3)
"""The same where a search takes long from the start, so that it is likely to be stopped."""

AGAIN, TIMES = (100, 10_000), 40
"""What recurs once a search takes long, in several processes too; in one, so many times."""

NODES_AT_ROOT = 3_000
"""Nodes in place of these, fewer with many features, while no node has lifted the root's bound.

Then better models are what is gained, if anything is.
"""

WIDE_GAP = 0.1
"""Gap, as a share of the best loss, above which a search takes long, too, from `CAP_STAGE` on."""

CAP_STAGE = 2
"""Place in the schedule from which on a lower cap of λ and cells of boxes are worth their time."""

WORK_ALONE = 1e8
"""Nodes times entries of their dictionaries before several processes begin: a second or two."""

SECONDS_BETWEEN_CHECKS = 0.02
"""How long compiled code runs before limits, callback and Ctrl-C are checked."""


class SearchSolver(BaseSolver):
    """Branch and bound on complementarities, with no big-M and no solver but its own."""

    name = "search"
    kinds = ("optimistic", "pessimistic")

    def _solve(self, task: Task, limits: Limits) -> Result:
        """Search the parts of the problem in balanced units; answer in the user's."""
        with deferred_interrupts() as interrupts:
            balanced = equilibrate(task.problem)
            task = replace(task, problem=balanced.problem)
            search = _Search(limits, interrupts, task=task)
            outcome = search.run(parts_of(task, limits.seed, search.watch))
            if outcome.status is Status.INTERRUPTED:
                # That was the answer to Ctrl-C, however often it came by now.
                interrupts.pending = False
        return replace(outcome, w=outcome.w / balanced.factor, box=outcome.box / balanced.factor)


class Bounded(NamedTuple):
    """A lower bound on the least loss, the box of the best model met, if any, and nodes."""

    bound: float
    box: Vector | None
    nodes: int


def bound_between(
    problem: TuningProblem,
    budget: Budget,
    active: Mask,
    floor: float,
    cutoff: float,
    limits: Limits,
) -> Bounded:
    """Bound the worst cases of all boxes of a problem from below, as far as it matters.

    That is between two values: the search ends with the first model no worse than `floor`, since no
    bound is above it, and closes what reaches `cutoff`. In every box the model that loses most on
    the `active` points is near-optimal, so its loss is no more than the worst case. The tree alone
    searches for the box where it is least: good models are not what is sought.
    """
    with deferred_interrupts() as interrupts:
        search = _Search(limits, interrupts, floor, cutoff)
        balanced = equilibrate(problem)
        parts = active_set_parts(balanced.problem, budget, active, limits.seed, search.watch)
        if search.search(parts) is Status.INTERRUPTED:
            raise KeyboardInterrupt
    point, _, bound, nodes = search.known
    return Bounded(bound, None if point is None else point[1] / balanced.factor, nodes)


class _Known(NamedTuple):
    """What is known for certain: the best ``u`` and its box, if any, its loss, a lower bound."""

    point: tuple[Vector, Vector] | None = None
    best: float = np.inf
    bound: float = 0.0
    nodes: int = 0


class _Search:
    """One run over the parts of a problem, with what it has to stop for.

    Losses of at least `cutoff` and below `floor` need not be told apart.
    """

    def __init__(
        self,
        limits: Limits,
        interrupts: Interrupts,
        floor: float = -np.inf,
        cutoff: float = np.inf,
        task: Task | None = None,
    ) -> None:
        deadline = Deadline.after(limits.time_limit)
        self.started = time.perf_counter()
        self.deadline = deadline
        self.limits = limits
        self.interrupts = interrupts
        # Without `self` in it: a cycle would keep the trees in memory after the search.
        self.watch = Watch(lambda: interrupts.pending or deadline.over)
        self.parts: list[Part] = []
        self.floor = floor
        self.tree_alone = cutoff < np.inf
        self.known = _Known(best=cutoff)
        self.chunk = 1
        self.task = task
        self.notes: tuple[str, ...] = ()

    def run(self, parts: list[Part]) -> Result:
        status = self.search(parts)
        if self.known.point is None:
            self.accept_narrowest()
        return self.outcome(status)

    def search(self, parts: list[Part]) -> Status:
        """Search the parts; return why it ended."""
        self.parts = parts
        try:
            for part in parts:
                if not self.tree_alone:
                    part.heuristic.try_initial_boxes(part.root_bound)
                self.record()
                self.check_limits()
            for part in parts:
                self.finish(part)
            self.raise_pending()
        except Stop as stop:
            return stop.status
        except KeyboardInterrupt:
            if self.known.point is None:  # nothing to return
                raise
            return Status.INTERRUPTED
        return Status.OPTIMAL

    def outcome(self, status: Status) -> Result:
        point, best, bound, nodes = self.known
        assert point is not None
        unresolved = sum(part.tree.unresolved for part in self.parts)
        notes = self.notes
        if status is Status.OPTIMAL and unresolved:
            notes += (f"{unresolved} nodes left unresolved",)
            if bound < best - 2.0 * CUTOFF:
                status = Status.NOT_PROVED
        u, box = point
        return Result(
            w=u[:-1],
            b=float(u[-1]),
            box=box,
            lower_bound=bound,
            status=status,
            nodes=nodes,
            notes=notes,
        )

    def finish(self, part: Part) -> None:
        """Search a part to its end, heuristic and tree alternately."""
        tree = part.tree
        assert isinstance(tree, Tree)
        tree.incumbent.best = self.known.best
        target = max(part.root_bound, self.floor)
        several = self.limits.n_jobs > 1 and self.task is not None
        for stage, (n_rounds, n_nodes) in enumerate(self.schedule(part)):
            alone = WORK_ALONE / part.n_entries if several and stage >= CAP_STAGE else np.inf
            if stage == CAP_STAGE:
                for _ in range(part.first_turns):
                    part.halve_cells(tree.incumbent.best, ahead=True)
                    self.record()
                    self.check_limits()
                part.find_cap(self.deadline)
                part.use_cap(self.known.best)
            if self.improve(part, stage, n_rounds):
                return
            last = min(tree.nodes + n_nodes, alone)
            while not tree.finished and tree.nodes < last:
                if self.known.best <= max(target, part.bound()) + CUTOFF:
                    return
                began, nodes = time.perf_counter(), tree.nodes
                most = min(self.nodes_left(tree, last), part.nodes_to_turn())
                tree.advance(min(self.chunk, most))
                if stage >= CAP_STAGE:
                    part.take_turn(tree.incumbent.best)
                self.record()
                self.check_limits()
                pace = SECONDS_BETWEEN_CHECKS / max(time.perf_counter() - began, 1e-6)
                self.chunk = max(1, int((tree.nodes - nodes) * min(pace, 10.0)))
            if tree.finished:
                return
            if tree.nodes >= alone:
                self.finish_in_processes(part, tree)
                return

    def schedule(self, part: Part) -> Iterator[tuple[int, float]]:
        """Yield how heuristic and tree of a part alternate, at last all nodes that are left."""
        n_rounds, n_nodes = AGAIN
        if self.tree_alone:
            n_rounds = 0
        else:
            yield from LONG_SCHEDULE if part.takes_long else SCHEDULE
            for _ in range(TIMES):
                while part.bound() <= part.root_bound:
                    yield n_rounds, NODES_AT_ROOT // part.boxes_per_round
                yield n_rounds, n_nodes
        yield n_rounds, np.inf

    def improve(self, part: Part, stage: int, n_rounds: int) -> bool:
        """Try boxes in a part and in the later ones, which have to wait; True: none is better."""
        for _ in range(n_rounds * part.boxes_per_round):
            best, bound = self.known.best, self.known.bound
            if best <= max(part.root_bound, self.floor) + CUTOFF:
                return True
            long = stage >= CAP_STAGE and best - bound > WIDE_GAP * best
            first = self.parts.index(part)
            for other in self.parts[first:] if stage > 0 else [part]:
                other.heuristic.climbs |= stage > 0
                other.heuristic.improve(other.root_bound, long or other.takes_long)
                if other.tree.incumbent.best < self.known.best:
                    self.record()
            part.tree.incumbent.best = min(part.tree.incumbent.best, self.known.best)
            self.check_limits()
        return False

    def finish_in_processes(self, part: Part, begun: Tree) -> None:
        """Have worker processes search the rest of a part."""
        from pessimal.solvers.search.subtrees import (  # noqa: PLC0415 (slow to import)
            Explorer,
            Subtrees,
        )

        assert self.task is not None
        limit = np.inf if self.limits.node_limit is None else self.limits.node_limit
        limit -= self.known.nodes - begun.nodes
        costs = begun.pseudo_costs()
        explorer = Explorer(self.task, self.parts.index(part), costs, self.watch)
        tree = Subtrees(begun, explorer, part.n_entries, self.limits.n_jobs, limit)
        part.tree = tree
        part.use_cap(self.known.best)
        n_rounds, n_nodes = AGAIN
        again = tree.nodes + n_nodes
        try:
            while not tree.finished:
                if self.known.best <= max(part.root_bound, part.bound()) + CUTOFF:
                    return
                if tree.advance(SECONDS_BETWEEN_CHECKS):
                    part.halve_some(tree.incumbent.best)
                self.record()
                if tree.nodes >= again:
                    again = tree.nodes + n_nodes
                    if self.improve(part, CAP_STAGE, n_rounds):
                        return
                self.check_limits()
        except (Stop, KeyboardInterrupt):
            tree.stop()
            self.record()
            raise
        finally:
            tree.close()
            self.notes += tree.notes

    def nodes_left(self, tree: Tree, last: float) -> int:
        """Nodes until the next round of the heuristic or the node limit."""
        left = min(self.chunk, last - tree.nodes)
        if self.limits.node_limit is not None:
            left = min(left, self.limits.node_limit - self.known.nodes)
        return max(ceil(left), 1)

    def record(self) -> None:
        """Record what the parts know; only to be called when all of them are whole."""
        point, best, bound, _ = self.known
        for part in self.parts:
            incumbent = part.tree.incumbent
            if incumbent.found and incumbent.best < best:
                best = incumbent.best
                point = incumbent.point()
        # Below their open nodes, and the cutoff behind their pruned ones, the parts hold nothing.
        open_bound = min(part.bound() for part in self.parts)
        bound = max(bound, min(open_bound, best - CUTOFF))
        if best < self.known.best:
            for part in self.parts:
                part.use_cap(best)
        self.known = _Known(point, best, bound, sum(part.tree.nodes for part in self.parts))

    def check_limits(self) -> None:
        """Call the callback; stop for Ctrl-C or a limit."""
        _, best, bound, nodes = self.known
        limits, seconds = self.limits, time.perf_counter() - self.started
        if limits.callback is not None:
            limits.callback(Progress(best, bound, nodes, seconds))
        self.raise_pending()
        if self.deadline.over:
            raise Stop(Status.TIME_LIMIT)
        if best < np.inf and limits.node_limit is not None and nodes >= limits.node_limit:
            raise Stop(Status.NODE_LIMIT)

    def raise_pending(self) -> None:
        """Raise what stopped the compiled code, other than the time limit."""
        if self.watch.error is not None:
            raise self.watch.error
        self.interrupts.deliver()

    def accept_narrowest(self) -> None:
        """Have some model when time was too short, or the numbers too bad, for a good one."""
        self.watch.dismiss()
        # In the first part a model needs no more than to fit best in its box.
        if not self.parts[0].heuristic.accept_narrowest():
            raise SolverError("training stalled in the narrowest box; try features of similar size")
        self.record()
