"""From a tuning problem to a proved optimum: which trees to search, when to stop.

The optimistic problem and the pessimistic one without a budget are one tree each. With a budget
the pessimistic problem has two parts: λ = 0, where the budget plays no role, and λ > 0, where it
must be used up. In the second part λ has a proved cap: the training optimum ``v`` of the box
satisfies ``F(u) + λ·L_T(u) ≤ F(v) + λ·L_T(v)``, and ``L_T(u) − L_T(v) ≥ ε·L_T*(upper) + δ``.

All parts share one incumbent. Trees and heuristic take turns by numbers of nodes, never by the
clock, so that the answer does not depend on the machine.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from pessimal.problem import Budget, Mask, TuningProblem, Vector
from pessimal.search.budget import BudgetCondition
from pessimal.search.codes import N_CUTS
from pessimal.search.heuristic import Heuristic
from pessimal.search.items import (
    Conditions,
    flipped_conditions,
    intercept_limit,
    optimistic_conditions,
    weighted_conditions,
)
from pessimal.search.tree import Tree
from pessimal.solution import Outcome, Status
from pessimal.tolerances import CUTOFF
from pessimal.units import Balanced, balance

TURNS = ((4, 60), (30, 300), (150, 3000), (400, None))
"""Trials of the heuristic, then nodes of the tree (None: all that are left), in turns."""

SECONDS_BETWEEN_LOOKS = 0.02
"""How long compiled code runs before limits, callback and Ctrl-C are looked at."""


@dataclass(frozen=True)
class Progress:
    """What a callback is told: best objective, valid lower bound, nodes, seconds."""

    incumbent: float
    bound: float
    nodes: int
    seconds: float


@dataclass(frozen=True)
class Limits:
    """When to stop, whom to tell, and the seed of the heuristic."""

    time_limit: float | None = None
    node_limit: int | None = None
    callback: Callable[[Progress], None] | None = None
    seed: int = 0


def search_optimistic(problem: TuningProblem, limits: Limits) -> Outcome:
    """Solve eq. (prob:optim-hinge)."""
    balanced = balance(problem)
    conditions = optimistic_conditions(balanced.problem)
    return _searched([_part(balanced.problem, conditions, None, limits)], balanced, limits)


def search_pessimistic(
    problem: TuningProblem, budget: Budget, flipped: Mask, limits: Limits
) -> Outcome:
    """Solve the paper's pessimistic problem, eq. (A-RPBL-hyper)."""
    balanced = balance(problem)
    return _searched(
        _pessimistic_parts(balanced.problem, budget, flipped, limits), balanced, limits
    )


def _pessimistic_parts(
    problem: TuningProblem, budget: Budget, flipped: Mask, limits: Limits
) -> list[_Part]:
    if budget.relative == 0.0 and budget.absolute == 0.0:
        return [_part(problem, weighted_conditions(problem, flipped), None, limits)]
    condition = BudgetCondition(problem, budget, intercept_limit(problem))
    conditions = weighted_conditions(
        problem, flipped, _multiplier_cap(problem, flipped, condition.slack), N_CUTS
    )
    return [
        _part(problem, flipped_conditions(problem, flipped), None, limits),
        _part(problem, conditions, condition, limits),
    ]


def _searched(parts: list[_Part], balanced: Balanced, limits: Limits) -> Outcome:
    """Search the parts; answer in the user's units."""
    outcome = _Search(parts, limits).run()
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
    limits: Limits,
) -> _Part:
    tree = Tree(conditions, condition)
    heuristic = Heuristic(tree, conditions, problem, limits.seed)
    # With many features a node, which bounds the flip of every item, costs far more than a trial.
    return _Part(tree, heuristic, 1 + problem.n_features // 20, tree.open_bound())


class _Stop(Exception):  # noqa: N818 (a signal, not an error)
    def __init__(self, status: Status) -> None:
        self.status = status


class _Search:
    """One run over the parts; `run` may be called once."""

    def __init__(self, parts: list[_Part], limits: Limits) -> None:
        self.parts = parts
        self.limits = limits
        self.started = time.perf_counter()
        self.best = np.inf
        self.incumbent: tuple[Vector, Vector] | None = None
        self.chunk = 1

    def run(self) -> Outcome:
        status = Status.OPTIMAL
        try:
            for part in self.parts:
                part.heuristic.starts(part.root)
                self.gather(part)
            for part in self.parts:
                self.finish(part)
        except _Stop as stop:
            status = stop.status
        except KeyboardInterrupt:
            status = Status.INTERRUPTED
        unresolved = sum(part.tree.unresolved for part in self.parts)
        if status is Status.OPTIMAL and unresolved and self.bound() < self.best - 2.0 * CUTOFF:
            status = Status.NOT_PROVED
        if self.incumbent is None:  # interrupted before the first trial: nothing to return
            raise KeyboardInterrupt
        u, box = self.incumbent
        return Outcome(
            w=u[:-1],
            b=float(u[-1]),
            box=box,
            lower_bound=self.bound(),
            status=status,
            nodes=self.nodes(),
            notes=(f"{unresolved} nodes left unresolved",) if unresolved else (),
        )

    def finish(self, part: _Part) -> None:
        """Search a part to its end, heuristic and tree in turns."""
        tree = part.tree
        tree.incumbent.best = self.best
        for n_trials, n_nodes in TURNS:
            for _ in range(n_trials * part.patience):
                if self.best <= part.root + CUTOFF:
                    return
                part.heuristic.improve(part.root)
                self.gather(part)
                self.look()
            last = None if n_nodes is None else tree.nodes + n_nodes
            while tree.depth >= 0 and (last is None or tree.nodes < last):
                if self.best <= part.root + CUTOFF:
                    return
                began = time.perf_counter()
                tree.advance(min(self.chunk, self.nodes_left(tree, last)))
                self.gather(part)
                self.look()
                pace = SECONDS_BETWEEN_LOOKS / max(time.perf_counter() - began, 1e-6)
                self.chunk = max(1, int(self.chunk * min(pace, 10.0)))
            if tree.depth < 0:
                return

    def nodes_left(self, tree: Tree, last: int | None) -> int:
        """Nodes until the heuristic's next turn or the node limit."""
        left = self.chunk if last is None else last - tree.nodes
        if self.limits.node_limit is not None:
            left = min(left, self.limits.node_limit - self.nodes())
        return max(left, 1)

    def gather(self, part: _Part) -> None:
        """Share a better incumbent."""
        incumbent = part.tree.incumbent
        if incumbent.found and incumbent.best < self.best:
            self.best = incumbent.best
            self.incumbent = incumbent.point()

    def look(self) -> None:
        """Tell the callback, mind the limits."""
        seconds = time.perf_counter() - self.started
        limits = self.limits
        if limits.callback is not None:
            limits.callback(Progress(self.best, self.bound(), self.nodes(), seconds))
        if self.incumbent is None:
            return
        if limits.time_limit is not None and seconds > limits.time_limit:
            raise _Stop(Status.TIME_LIMIT)
        if limits.node_limit is not None and self.nodes() >= limits.node_limit:
            raise _Stop(Status.NODE_LIMIT)

    def bound(self) -> float:
        """Lower bound of all parts: their open nodes, and the cutoff behind their closed ones."""
        open_bound = min(max(part.root, part.tree.open_bound()) for part in self.parts)
        return max(0.0, min(open_bound, self.best - CUTOFF))

    def nodes(self) -> int:
        """Nodes examined so far."""
        return sum(part.tree.nodes for part in self.parts)
