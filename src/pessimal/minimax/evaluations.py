"""Exact worst cases of hyperparameters, the best seen so far, and when to stop.

Whatever solves a linear program looks at the clock first: with hundreds of rows a thousand of them
take seconds.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace

import numpy as np

from pessimal.minimax.groups import Groups
from pessimal.minimax.proof import Plane
from pessimal.problem import Budget, Mask, TuningProblem, Vector
from pessimal.search import Limits, Progress
from pessimal.solution import Status
from pessimal.tolerances import BUDGET_SLACK, OPTIMAL_GAP
from pessimal.worst.cases import WorstCases

START_SHARE = 0.25
"""Of the time limit, for each problem that is solved on the way: enough is left for the rest."""

LATE_SHARE = 0.05
"""Of the time limit, past its end, for a first box if none has been evaluated by then."""

SECONDS_BETWEEN_CALLS = 0.2
"""A callback hears of progress no more often than this."""


@dataclass(frozen=True, eq=False)
class Point:
    """Hyperparameters, a loss that a near-optimal model has, that model and its active hinges."""

    h: Vector
    limit: float
    value: float
    u: Vector
    active: Mask


class Stop(Exception):  # noqa: N818 (a signal, not an error)
    """A limit was reached or the user interrupted."""

    def __init__(self, status: Status) -> None:
        self.status = status


class Evaluations:
    """Evaluates hyperparameters; raises `Stop` at a limit."""

    def __init__(
        self, problem: TuningProblem, budget: Budget, groups: Groups, limits: Limits
    ) -> None:
        self.problem = problem
        self.budget = budget
        self.groups = groups
        self.limits = limits
        self.cases = WorstCases(problem, budget)
        self.best: Point | None = None
        self.unfinished: Point | None = None
        self.promising = groups.upper
        self.lower_bound = 0.0
        self.nodes = 0
        self._least_seen = np.inf
        self._started = time.perf_counter()
        self._heard = self._started

    @property
    def met(self) -> bool:
        """Whether the best value has met the lower bound."""
        return self.best_value <= self.lower_bound + OPTIMAL_GAP

    @property
    def best_value(self) -> float:
        """Smallest worst case so far."""
        return np.inf if self.best is None else self.best.value

    def limit(self, h: Vector) -> float:
        """Largest training loss of a near-optimal model."""
        self.check_time()
        return self.cases.limit(self.groups.box(h))

    def at(self, h: Vector, enough: float = np.inf) -> Point:
        """Find the worst case of h; any loss that is `enough` will do instead."""
        limit = self.limit(h)
        box = self.groups.box(h)
        worst = self.cases.worst(box, limit, enough, self._deadline, self._nodes_left())
        self.nodes += worst.nodes
        active = self.cases.active(worst.u)
        if worst.value < enough and worst.upper_bound > worst.value:
            self.unfinished = Point(h, limit, worst.upper_bound, worst.u, active)
            raise Stop(self._why())
        point = Point(h, limit, worst.value, worst.u, active)
        if point.value < min(self.best_value, enough):
            self.best = point
        self._report()
        return point

    def glance(self, h: Vector) -> float:
        """Estimate the worst case of h from below, without the tree."""
        limit = self.limit(h)
        seen = self.cases.glance(self.groups.box(h), limit, self._deadline)
        self.check_time()  # an estimate that was cut short is too small
        if seen < self._least_seen:
            self.promising, self._least_seen = h, seen
        return seen

    def scenario(self, h: Vector, limit: float, active: Mask) -> float:
        """Largest loss on the active hinges alone: a lower bound on the worst case."""
        self.check_time()
        return self.cases.scenario(self.groups.box(h), limit, active).value

    def tangent(self, h: Vector) -> Plane:
        """Tangent plane of the least training loss, which is convex: nowhere above it."""
        self.check_time()
        training = self.cases.train(self.groups.box(h))
        return Plane(h, training.loss, -self.groups.rates(h, training.rates))

    def slope(self, h: Vector, active: Mask) -> tuple[float, Vector]:
        """Value and gradient of that bound in h, the training limit moving along."""
        self.check_time()
        box = self.groups.box(h)
        training = self.cases.train(box)
        limit = self.budget.limit(training.loss) + BUDGET_SLACK
        scenario = self.cases.scenario(box, limit, active)
        rates = scenario.box_rates
        rates = rates - scenario.limit_rate * (1.0 + self.budget.relative) * training.rates
        return scenario.value, self.groups.rates(h, rates)

    def first_glance(self) -> Point:
        """Return a box, for want of an evaluated one, with a bound on its worst case.

        It is the one that time ran out on, or else the one that promised most, or the widest.
        """
        if self.unfinished is not None:
            return self.unfinished
        h = self.promising
        box = self.groups.box(h)
        limit = self.cases.limit(box)
        seconds = self.limits.time_limit
        late = np.inf if seconds is None else time.perf_counter() + LATE_SHARE * seconds
        worst = self.cases.worst(box, limit, deadline=late, node_limit=1)
        return Point(h, limit, worst.upper_bound, worst.u, self.cases.active(worst.u))

    def prove(self, bound: float) -> None:
        """Take note of a valid lower bound on every worst case."""
        self.lower_bound = max(self.lower_bound, bound)
        self._report()

    def rest(self, most_nodes: int) -> Limits:
        """Limits of a search that this one waits for: a share of what is left."""
        self.check_time()
        left = self._nodes_left()
        seconds = self.limits.time_limit
        if seconds is not None:
            seconds = max(0.0, min(START_SHARE * seconds, self._deadline - time.perf_counter()))
        return replace(
            self.limits,
            time_limit=seconds,
            node_limit=most_nodes if left is None else min(left, most_nodes),
            callback=None,
        )

    def check(self) -> None:
        """Raise `Stop` if a limit has been reached."""
        self.check_time()
        if self._nodes_left() == 0:
            raise Stop(Status.NODE_LIMIT)

    def check_time(self) -> None:
        """Raise `Stop` if time is over; an evaluation minds the nodes itself."""
        if time.perf_counter() > self._deadline:
            raise Stop(Status.TIME_LIMIT)

    @property
    def _deadline(self) -> float:
        limit = self.limits.time_limit
        return np.inf if limit is None else self._started + limit

    def _nodes_left(self) -> int | None:
        limit = self.limits.node_limit
        return None if limit is None else max(0, limit - self.nodes)

    def _why(self) -> Status:
        if time.perf_counter() > self._deadline:
            return Status.TIME_LIMIT
        return Status.NODE_LIMIT if self._nodes_left() == 0 else Status.NOT_PROVED

    def _report(self) -> None:
        now = time.perf_counter()
        if self.limits.callback is not None and now > self._heard + SECONDS_BETWEEN_CALLS:
            self._heard = now
            bound = min(self.lower_bound, self.best_value)
            self.limits.callback(Progress(self.best_value, bound, self.nodes, now - self._started))
