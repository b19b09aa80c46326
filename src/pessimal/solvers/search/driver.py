"""From a tuning problem to a proved optimum: which trees to search, when to stop.

The optimistic problem and the pessimistic one without a budget are one tree each. With a budget
the pessimistic problem has two parts: λ = 0, where the budget plays no role, and λ > 0, where it
must be used up. In the second part λ has a proved cap: the training optimum ``v`` of the box
satisfies ``F(u) + λ·L_T(u) ≤ F(v) + λ·L_T(v)``, and ``L_T(u) − L_T(v) ≥ ε·L_T*(upper) + δ``.

All parts share one incumbent. Trees and heuristic take turns by numbers of nodes, never by the
clock, so that the answer does not depend on the machine.

A search may be stopped anywhere: by a limit, by Ctrl-C, by an exception of a signal handler or of
the callback. So what is known of the problem is written down as a whole, between two turns of the
compiled code. Whatever happens within one, it still holds: bounds only grow.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from pessimal.errors import SolverError
from pessimal.interrupts import Interrupts, deferred_interrupts
from pessimal.limits import Deadline, Limits, Progress
from pessimal.lp.watch import Watch
from pessimal.problem import Budget, Mask, TuningProblem, Vector
from pessimal.solution import Outcome, Status
from pessimal.solvers.search.budget import BudgetCondition
from pessimal.solvers.search.codes import N_CUTS
from pessimal.solvers.search.heuristic import Heuristic
from pessimal.solvers.search.items import (
    Conditions,
    flipped_conditions,
    intercept_limit,
    optimistic_conditions,
    weighted_conditions,
)
from pessimal.solvers.search.tree import Tree
from pessimal.tolerances import CUTOFF
from pessimal.units import equilibrate

TURNS = ((4, 60), (30, 300), (150, 3000), (400, None))
"""Trials of the heuristic, then nodes of the tree (None: all that are left), in turns."""

SECONDS_BETWEEN_LOOKS = 0.02
"""How long compiled code runs before limits, callback and Ctrl-C are looked at."""


def search_optimistic(problem: TuningProblem, limits: Limits) -> Outcome:
    """Solve eq. (prob:optim-hinge)."""

    def parts(problem: TuningProblem, watch: Watch) -> list[_Part]:
        return [_part(problem, optimistic_conditions(problem), None, limits.seed, watch)]

    return _searched(problem, parts, limits)


def search_pessimistic(
    problem: TuningProblem, budget: Budget, flipped: Mask, limits: Limits
) -> Outcome:
    """Solve the paper's pessimistic problem, eq. (A-RPBL-hyper)."""

    def parts(problem: TuningProblem, watch: Watch) -> list[_Part]:
        return _pessimistic_parts(problem, budget, flipped, limits.seed, watch)

    return _searched(problem, parts, limits)


def _pessimistic_parts(
    problem: TuningProblem, budget: Budget, flipped: Mask, seed: int, watch: Watch
) -> list[_Part]:
    if budget.epsilon == 0.0 and budget.delta == 0.0:
        return [_part(problem, weighted_conditions(problem, flipped), None, seed, watch)]
    condition = BudgetCondition(problem, budget, intercept_limit(problem), watch)
    conditions = weighted_conditions(
        problem, flipped, _multiplier_cap(problem, flipped, condition.slack), N_CUTS
    )
    return [
        _part(problem, flipped_conditions(problem, flipped), None, seed, watch),
        _part(problem, conditions, condition, seed, watch),
    ]


def _searched(
    problem: TuningProblem, parts: Callable[[TuningProblem, Watch], list[_Part]], limits: Limits
) -> Outcome:
    """Search the parts of the problem in balanced units; answer in the user's."""
    with deferred_interrupts() as interrupts:
        clock = _Clock(limits.time_limit, interrupts)
        balanced = equilibrate(problem)
        search = _Search(parts(balanced.problem, clock.watch), limits, clock)
        outcome = search.run()
    return replace(outcome, w=outcome.w / balanced.factor, box=outcome.box / balanced.factor)


def _multiplier_cap(problem: TuningProblem, flipped: Mask, slack: float) -> float:
    """Largest λ > 0 that any optimum can have: the largest F over the slack of the budget."""
    if slack <= 0.0:
        return np.inf
    reach = np.abs(problem.X_val[flipped]) @ problem.upper
    largest = problem.flipped_weight(flipped) @ (1.0 + reach + intercept_limit(problem))
    return float(largest / slack)


@dataclass(frozen=True)
class _Part:
    """A tree, its heuristic, how often that is worth trying, and the bound at the root."""

    tree: Tree
    heuristic: Heuristic
    patience: int
    root: float


def _part(
    problem: TuningProblem,
    conditions: Conditions,
    condition: BudgetCondition | None,
    seed: int,
    watch: Watch,
) -> _Part:
    tree = Tree(conditions, condition, watch)
    heuristic = Heuristic(tree, conditions, problem, seed)
    # With many features a node, which bounds the flip of every item, costs far more than a trial.
    return _Part(tree, heuristic, 1 + problem.n_features // 20, tree.open_bound())


class _Clock:
    """The seconds since the search began, and whether it has to stop."""

    def __init__(self, time_limit: float | None, interrupts: Interrupts) -> None:
        self.started = time.perf_counter()
        self.deadline = Deadline.after(time_limit)
        self.interrupts = interrupts
        self.watch = Watch(self.time_is_up)

    def seconds(self) -> float:
        return time.perf_counter() - self.started

    def time_is_up(self) -> bool:
        """Whether compiled code should end what it is doing."""
        return self.interrupts.pending or self.deadline.over

    def deliver(self) -> None:
        """Raise what stopped the compiled code, other than the time limit."""
        if self.watch.error is not None:
            raise self.watch.error
        if self.interrupts.pending:
            self.interrupts.deliver()


class _Stop(Exception):  # noqa: N818 (a signal, not an error)
    def __init__(self, status: Status) -> None:
        self.status = status


class _Known(NamedTuple):
    """What is known for certain: the best ``u`` and its box, if any, its loss, a lower bound."""

    point: tuple[Vector, Vector] | None = None
    best: float = np.inf
    bound: float = 0.0
    nodes: int = 0


class _Search:
    """One run over the parts; `run` may be called once."""

    def __init__(self, parts: list[_Part], limits: Limits, clock: _Clock) -> None:
        self.parts = parts
        self.limits = limits
        self.clock = clock
        self.known = _Known()
        self.chunk = 1

    def run(self) -> Outcome:
        status = Status.OPTIMAL
        try:
            for part in self.parts:
                part.heuristic.starts(part.root)
                self.note()
                self.look()
            for part in self.parts:
                self.finish(part)
            self.clock.deliver()
        except _Stop as stop:
            status = stop.status
        except KeyboardInterrupt:
            if self.known.point is None:  # nothing to return
                raise
            status = Status.INTERRUPTED
        if self.known.point is None:
            self.settle()
        return self.outcome(status)

    def outcome(self, status: Status) -> Outcome:
        point, best, bound, nodes = self.known
        assert point is not None
        unresolved = sum(part.tree.unresolved for part in self.parts)
        notes: tuple[str, ...] = ()
        if status is Status.OPTIMAL and unresolved:
            notes = (f"{unresolved} nodes left unresolved",)
            if bound < best - 2.0 * CUTOFF:
                status = Status.NOT_PROVED
        u, box = point
        return Outcome(
            w=u[:-1],
            b=float(u[-1]),
            box=box,
            lower_bound=bound,
            status=status,
            nodes=nodes,
            notes=notes,
        )

    def finish(self, part: _Part) -> None:
        """Search a part to its end, heuristic and tree in turns."""
        tree = part.tree
        tree.incumbent.best = self.known.best
        for n_trials, n_nodes in TURNS:
            for _ in range(n_trials * part.patience):
                if self.known.best <= part.root + CUTOFF:
                    return
                part.heuristic.improve(part.root)
                if tree.incumbent.best < self.known.best:
                    self.note()
                self.look()
            last = None if n_nodes is None else tree.nodes + n_nodes
            while tree.depth >= 0 and (last is None or tree.nodes < last):
                if self.known.best <= part.root + CUTOFF:
                    return
                began = time.perf_counter()
                tree.advance(min(self.chunk, self.nodes_left(tree, last)))
                self.note()
                self.look()
                pace = SECONDS_BETWEEN_LOOKS / max(time.perf_counter() - began, 1e-6)
                self.chunk = max(1, int(self.chunk * min(pace, 10.0)))
            if tree.depth < 0:
                return

    def nodes_left(self, tree: Tree, last: int | None) -> int:
        """Nodes until the heuristic's next turn or the node limit."""
        left = self.chunk if last is None else last - tree.nodes
        if self.limits.node_limit is not None:
            left = min(left, self.limits.node_limit - self.known.nodes)
        return max(left, 1)

    def note(self) -> None:
        """Write down what the parts know; only to be called when all of them are whole."""
        point, best, bound, _ = self.known
        for part in self.parts:
            incumbent = part.tree.incumbent
            if incumbent.found and incumbent.best < best:
                best = incumbent.best
                point = incumbent.point()
        # Below their open nodes, and the cutoff behind their closed ones, the parts hold nothing.
        open_bound = min(max(part.root, part.tree.open_bound()) for part in self.parts)
        bound = max(bound, min(open_bound, best - CUTOFF))
        self.known = _Known(point, best, bound, sum(part.tree.nodes for part in self.parts))

    def look(self) -> None:
        """Tell the callback, mind Ctrl-C and the limits."""
        point, best, bound, nodes = self.known
        limits, seconds = self.limits, self.clock.seconds()
        if limits.callback is not None:
            limits.callback(Progress(best, bound, nodes, seconds))
        self.clock.deliver()
        if self.clock.deadline.over:
            raise _Stop(Status.TIME_LIMIT)
        if point is not None and limits.node_limit is not None and nodes >= limits.node_limit:
            raise _Stop(Status.NODE_LIMIT)

    def settle(self) -> None:
        """Have some model when time was too short, or the numbers too bad, for a good one."""
        self.clock.watch.dismiss()
        # In the first part a model needs no more than to fit best in its box.
        if not self.parts[0].heuristic.settle_for_narrowest():
            raise SolverError("training stalled in the narrowest box; try features of similar size")
        self.note()
