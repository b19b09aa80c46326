"""The worst-case oracle: worst cases of hyperparameters, the best so far, and when to stop.

An evaluation ends with a model and a bound: the worst case is at least the loss of the model, and
at most the bound. They meet unless a limit cut the evaluation short. The best hyperparameters are
those of the least *bound*, because that is what is guaranteed. Evaluations, by what they cost:
`bounded` trains once and bounds the rest by box and budget, `climbed` finds a bad model by ascent,
`quick` finds the ranges of all margins and has few nodes, `at` branches, `bounded_by_moments`
leaves less of a gap where branching does not come to its end.

Whatever solves a linear program checks the time first: with hundreds of rows a thousand of them
take seconds. An interrupt may come at any moment, so what an answer is made of, the best point and
the lower bound, changes by single assignments of finished things.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace

import numpy as np

from pessimal.errors import SolverError
from pessimal.limits import Deadline, Limits, Progress
from pessimal.losses import HINGE
from pessimal.near_optimal.polyhedral.box_set import BoxSet
from pessimal.near_optimal.polyhedral.cases import WorstCases
from pessimal.near_optimal.polyhedral.linear_program import BoxModels
from pessimal.near_optimal.polyhedral.program import coarse_bound
from pessimal.problem import Budget, Mask, TuningProblem, Vector
from pessimal.solvers.base import Status, Stop
from pessimal.solvers.minimax.groups import Groups
from pessimal.solvers.minimax.proof import Plane
from pessimal.tolerances import CUTOFF, OPTIMAL_GAP
from pessimal.units import equilibrate

EVALUATION_SHARE = 0.1
"""Of the time left, for one evaluation: enough remains for others."""

SECONDS_BETWEEN_CALLS = 0.2
"""A callback hears of progress no more often than this."""


@dataclass(frozen=True, eq=False)
class Point:
    """Hyperparameters, a near-optimal model of theirs, its loss and hinges, a bound on all others.

    The worst case lies between `value`, the loss of the model, and `bound`.
    """

    h: Vector
    limit: float
    value: float
    bound: float
    u: Vector
    active: Mask

    @property
    def exact(self) -> bool:
        """Whether the worst case is known, to within what closes a branch."""
        return self.bound <= self.value + 2.0 * CUTOFF

    def settles(self, enough: float) -> bool:
        """Whether the worst case is known, or known to be `enough`."""
        return self.exact or self.value >= enough - CUTOFF


class WorstCaseOracle:
    """Evaluates hyperparameters; raises `Stop` at a limit."""

    def __init__(
        self, problem: TuningProblem, budget: Budget, groups: Groups, limits: Limits
    ) -> None:
        self._started = time.perf_counter()
        self.deadline = Deadline.after(limits.time_limit)
        self._quiet = Deadline(self._started + SECONDS_BETWEEN_CALLS)
        self.problem = problem
        self.budget = budget
        self.groups = groups
        self.limits = limits
        self.cases = WorstCases(problem, budget, deadline=self.deadline)
        self.best: Point | None = None
        self.lower_bound = 0.0
        self.nodes = 0

    @property
    def met(self) -> bool:
        """Whether the best bound has met the lower bound."""
        return self.best_value <= self.lower_bound + OPTIMAL_GAP

    @property
    def best_value(self) -> float:
        """Smallest bound on a worst case so far."""
        return np.inf if self.best is None else self.best.bound

    def limit(self, h: Vector) -> float:
        """Largest training loss of a near-optimal model."""
        self.check_time()
        return self.cases.limit(self.groups.box(h))

    def bounded(self, h: Vector) -> Point:
        """Bound the worst case of h by box and budget alone, at the cost of one training.

        HiGHS trains, from the data: an interrupt may have left the other programs in disorder.
        """
        box = self.groups.box(h)
        scaled = equilibrate(self.problem)
        deadline = self.deadline.share(EVALUATION_SHARE)
        trained = BoxModels(scaled.problem, scaled.factor * box).least_loss(deadline)
        u = np.append(np.clip(trained.w / scaled.factor, -box, box), trained.b)
        limit = self.problem.training_limit(self.budget, trained.value)
        # A model that might train better by far might not be near-optimal: it proves nothing.
        value = self.problem.val_loss(u[:-1], trained.b) if trained.optimal else 0.0
        bound = max(value, coarse_bound(self.problem, box, limit))
        return self.keep(Point(h, limit, value, bound, u, self.cases.active(u)))

    def climbed(self, h: Vector) -> Point:
        """Find a bad model of h by ascent alone; what bounds the others is box and budget."""
        limit, box = self.limit(h), self.groups.box(h)
        try:
            found = self.cases.climbed(box, limit, self.deadline)
        except SolverError:
            return self.bounded(h)
        bound = max(found.value, coarse_bound(self.problem, box, limit))
        return self.keep(Point(h, limit, found.value, bound, found.u, self.cases.active(found.u)))

    def quick(self, h: Vector, n_nodes: int, share: float) -> Point:
        """Bound the worst case of h with few nodes, in a share of the time left."""
        left = self._nodes_left()
        most = n_nodes if left is None else min(n_nodes, left)
        return self._worst(h, self.best_value, self.deadline.share(share), most)

    def at(self, h: Vector, enough: float = np.inf, share: float = EVALUATION_SHARE) -> Point:
        """Find the worst case of h; any loss that is `enough` will do instead.

        It is known unless the share of the time left was too small or a linear program stalled.
        """
        point = self._worst(h, enough, self.deadline.share(share), self._nodes_left())
        if not point.settles(enough):
            self.check()
        return point

    def settled(self, h: Vector, enough: float = np.inf, share: float = EVALUATION_SHARE) -> Point:
        """Find the worst case of h likewise; raise `Stop` where a linear program stalled.

        Whoever goes on until everything is known would never end there.
        """
        deadline = self.deadline.share(share)
        point = self.at(h, enough, share)
        if not (point.settles(enough) or deadline.over):
            raise Stop(Status.NOT_PROVED)
        return point

    def bounded_by_moments(self, point: Point, share: float) -> Point:
        """Lower the bound of a point whose search took too long, in a share of the time left."""
        deadline = self.deadline.share(share)
        if deadline.moment == np.inf or deadline.over:
            return point
        box = self.groups.box(point.h)
        members = BoxSet(self.problem, box, self.budget, deadline=deadline)
        cases = WorstCases(self.problem, self.budget)
        try:
            inner = np.append(members.trained.coef, -members.trained.intercept)
            cases.begin(box, members.training_limit, inner)
            members.search.explore(cases, self.problem, HINGE, deadline)
        except SolverError:
            return point
        bound = max(point.value, cases.known().upper_bound)
        return self.keep(replace(point, bound=min(point.bound, bound)))

    def finish(self) -> None:
        """Find the worst case of the best h, in all the time left."""
        while self.best is not None and not self.best.exact:
            self.settled(self.best.h, share=1.0)

    def active_set_loss(self, h: Vector, limit: float, active: Mask) -> float:
        """Largest loss on the active hinges alone: a lower bound on the worst case."""
        self.check_time()
        return self.cases.active_set_loss(self.groups.box(h), limit, active).value

    def loss_of_loser(self, h: Vector, active: Mask) -> float:
        """Loss of a model of h that loses most on the active hinges; infinite if none is found."""
        box, limit = self.groups.box(h), self.limit(h)
        worst = self.cases.active_set_loss(box, limit, active)
        known = np.isfinite(worst.value)
        return self.problem.val_loss(worst.u[:-1], float(worst.u[-1])) if known else np.inf

    def tangent(self, h: Vector) -> Plane:
        """Tangent plane of the least training loss, which is convex: nowhere above it."""
        self.check_time()
        training = self.cases.train(self.groups.box(h))
        return Plane(h, training.bound, -self.groups.rates(h, training.rates))

    def slope(self, h: Vector, active: Mask) -> tuple[float, Vector]:
        """Value and gradient of an active-set loss in h, the training limit moving along."""
        self.check_time()
        box = self.groups.box(h)
        training = self.cases.train(box)
        limit = self.problem.training_limit(self.budget, training.loss)
        loss = self.cases.active_set_loss(box, limit, active)
        limit_rates = (1.0 + self.budget.epsilon) * training.rates
        return loss.value, self.groups.rates(h, loss.box_rates - loss.limit_rate * limit_rates)

    def prove(self, bound: float) -> None:
        """Take note of a valid lower bound on every worst case."""
        self.lower_bound = max(self.lower_bound, bound)
        self._report()

    def rest(self, share: float, most_nodes: int) -> Limits:
        """Limits of a solver that this one waits for: a share of the time left, own nodes."""
        self.check_time()
        nodes = self.limits.node_limit
        limited = self.limits.time_limit is not None
        return replace(
            self.limits,
            time_limit=max(0.0, share * self.deadline.left) if limited else None,
            node_limit=most_nodes if nodes is None else min(nodes, most_nodes),
            callback=None,
        )

    def check(self) -> None:
        """Raise `Stop` if a limit has been reached."""
        self.check_time()
        if self._nodes_left() == 0:
            raise Stop(Status.NODE_LIMIT)

    def check_time(self) -> None:
        """Raise `Stop` if time is over; an evaluation minds the nodes itself."""
        if self.deadline.over:
            raise Stop(Status.TIME_LIMIT)

    def keep(self, point: Point) -> Point:
        """Let the point be the best if its bound is, or add what it says about the best."""
        best = self.best
        if best is not None and np.array_equal(best.h, point.h):
            worse = point if point.value > best.value else best
            point = replace(worse, bound=min(best.bound, point.bound))
            self.best = point
        elif point.bound < self.best_value:
            self.best = point
        self._report()
        return point

    def _nodes_left(self) -> int | None:
        limit = self.limits.node_limit
        return None if limit is None else max(0, limit - self.nodes)

    def _worst(self, h: Vector, enough: float, deadline: Deadline, most_nodes: int | None) -> Point:
        """Evaluate h with so many nodes below the root, which comes with the ranges."""
        limit, box = self.limit(h), self.groups.box(h)
        node_limit = None if most_nodes is None else 1 + most_nodes
        try:
            worst = self.cases.worst(box, limit, enough, deadline, node_limit)
        except SolverError:  # what box and budget say holds all the same
            return self.bounded(h)
        self.nodes += max(0, worst.nodes - 1)
        # Where a linear program stalled the tree has no bound of its own.
        coarse = max(worst.value, coarse_bound(self.problem, box, limit))
        bound = min(worst.upper_bound, coarse)
        return self.keep(Point(h, limit, worst.value, bound, worst.u, self.cases.active(worst.u)))

    def report(self) -> None:
        """Tell the callback what is known, before something that takes long."""
        self._quiet = Deadline(self._started)
        self._report()

    def _report(self) -> None:
        if self.limits.callback is not None and self._quiet.over:
            self._quiet = Deadline.after(SECONDS_BETWEEN_CALLS)
            seconds = time.perf_counter() - self._started
            bound = min(self.lower_bound, self.best_value)
            self.limits.callback(Progress(self.best_value, bound, self.nodes, seconds))
