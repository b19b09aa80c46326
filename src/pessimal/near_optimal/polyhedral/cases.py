"""Exact worst cases of many boxes of one problem, each starting from the last.

For a box w̄ the near-optimal set is ``Ψ = {|w| ≤ w̄, L_T ≤ (1 + ε)·L_T*(w̄) + δ}``. Warm linear
programs serve: one trains (`training`), the others hold Ψ, in balanced units; boxes and models here
are in those of the problem.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from pessimal.errors import SolverError
from pessimal.limits import NEVER, Deadline
from pessimal.losses import HINGE, OneBreakpoint
from pessimal.lp.watch import Watch
from pessimal.near_optimal.polyhedral.program import (
    coarse_ranges,
    merged,
    near_optimal_programs,
    pulled_back,
    trains_within,
)
from pessimal.near_optimal.polyhedral.stopping import stopping
from pessimal.near_optimal.polyhedral.training import Training, WarmTraining
from pessimal.near_optimal.polyhedral.tree import LossTree
from pessimal.problem import Budget, Mask, Matrix, TuningProblem, Vector, margin_rows
from pessimal.tolerances import CUTOFF
from pessimal.units import equilibrate

_STARTS = 10
"""Of the models that are known, the worst so many are ascended from."""

_NODES_BETWEEN_LOOKS = 10
"""How far compiled code runs before the clock and Ctrl-C are looked at."""


@dataclass(frozen=True, eq=False)
class Worst:
    """A model ``u = (w, b)`` of Ψ, its validation loss, and a bound on the loss of all of Ψ."""

    u: Vector
    value: float
    upper_bound: float
    nodes: int


@dataclass(frozen=True, eq=False)
class ActiveSetLoss:
    """Largest loss on fixed hinges, its model, its rates in the box and in the training limit."""

    value: float
    u: Vector
    box_rates: Vector
    limit_rate: float


class WorstCases:
    """Worst cases over Ψ(w̄) for one problem, budget and loss, box after box."""

    def __init__(
        self,
        problem: TuningProblem,
        budget: Budget,
        loss: OneBreakpoint = HINGE,
        deadline: Deadline = NEVER,
    ) -> None:
        self._deadline = deadline  # of training
        self.problem = problem
        self.budget = budget
        balanced = equilibrate(problem)
        self._factor = balanced.factor
        rows, weight, self._which = merged(
            margin_rows(balanced.problem.X_val, problem.y_val), problem.val_weight
        )
        self._watch = Watch()
        self._balanced = balanced.problem
        programs = near_optimal_programs(balanced.problem, budget, rows, self._watch)
        self._models, self._forms = programs
        # Counts of points that all weigh the same differ by whole points.
        same = np.ptp(problem.val_weight) <= CUTOFF / problem.n_val**2
        step = 1.0 / problem.n_val if loss.counts and same else 0.0
        self._loss = loss
        self._tree = LossTree(*programs, weight, loss.threshold, loss.counts, step)

    @cached_property
    def _training(self) -> WarmTraining:
        return WarmTraining(self.problem, self.budget, self._deadline)

    def train(self, box: Vector) -> Training:
        """Least training loss in a box."""
        return self._training.train(box)

    def limit(self, box: Vector) -> float:
        """Largest training loss of a near-optimal model of a box."""
        return self.problem.training_limit(self.budget, self.train(box).loss)

    def worst(
        self,
        box: Vector,
        limit: float,
        enough: float = np.inf,
        deadline: Deadline = NEVER,
        node_limit: int | None = None,
    ) -> Worst:
        """Largest loss, or any that is `enough`, among the models within a limit.

        Past the deadline, the worst model so far and what is proved by then.
        """
        self.begin(box, limit, self.train(box).u, enough)
        self.run(deadline, node_limit)
        return self.known()

    def climbed(self, box: Vector, limit: float, deadline: Deadline = NEVER) -> Worst:
        """Find a bad model within a limit by ascent alone, which takes a few linear programs."""
        self.begin(box, limit, self.train(box).u)
        with stopping(self._watch, deadline):
            self._tree.ascent.climb()
        return self.known()

    def begin(self, box: Vector, limit: float, inner: Vector, enough: float = np.inf) -> None:
        """Set out for the worst case of a box; `run` goes on with it, and `known` is valid at once.

        `inner` is a model within the limit.
        """
        if not trains_within(self.problem, inner, limit):
            raise SolverError("no model was found that trains within the limit")
        self._move_to(box, limit, inner)
        self._box, self._limit, self._inner = box, limit, inner
        self._proved, self._narrowed = np.inf, False
        self._tree.start(enough)

    def know(
        self, low: Vector, high: Vector, exact: Mask, members: Matrix, deadline: Deadline = NEVER
    ) -> None:
        """Take bounds on the validation margins over Ψ, and models of it, found before."""
        of_rows = self._of_rows
        self._tree.ranges.know(of_rows(low), of_rows(high), of_rows(exact).astype(np.intp))
        if len(members):
            self.ascend_from(members, deadline)

    def ascend_from(self, members: Matrix, deadline: Deadline = NEVER) -> None:
        """Ascend from the worst of some models of Ψ, as far as there is time."""
        margins = margin_rows(self.problem.X_val, self.problem.y_val) @ members.T
        losses = self.problem.val_weight @ self._loss.value(margins)
        ascent = self._tree.ascent
        with stopping(self._watch, deadline) as stops:
            for k in np.argsort(-losses, kind="stable")[:_STARTS]:
                before = ascent.best
                ascent.ascend_from(np.append(self._factor * members[k, :-1], members[k, -1]))
                if self._loss.counts and ascent.best > before:
                    ascent.sharpen()
                if stops():
                    break

    def solve_root(self, narrowing: Deadline, deadline: Deadline) -> None:
        """Solve the root alone, with the ranges that are found by an earlier deadline."""
        with stopping(self._watch, deadline) as stops:
            self._narrow(lambda: narrowing.over or stops())
            self._narrowed = True
            self._tree.advance(1)

    def run(self, deadline: Deadline = NEVER, node_limit: int | None = None) -> None:
        """Search until the worst case is proved, a limit is reached or Ctrl-C comes."""
        left = np.inf if node_limit is None else node_limit
        with stopping(self._watch, deadline) as stops:
            if not self._narrowed:
                self._narrow(stops)
                self._narrowed = True
            while left > 0 and self._tree.advance(int(min(left, _NODES_BETWEEN_LOOKS))):
                left -= _NODES_BETWEEN_LOOKS
                if stops():
                    break

    @property
    def gain(self) -> float:
        """By how much a loss must exceed another to count as larger."""
        return self._tree.least_gain

    @property
    def open(self) -> bool:
        """Whether a larger loss than that of the worst model so far has not been excluded."""
        known = self.known()
        return known.upper_bound > known.value + self.gain

    def prove(self, bound: float) -> None:
        """Take note that no model of Ψ has a larger loss than `bound`."""
        self._proved = min(self._proved, bound)

    def known(self) -> Worst:
        """Return the worst model so far, and what is proved by now."""
        tree, found = self._tree, self._tree.ascent
        u = self._in_box(found.worst_model(), self._box)
        u = pulled_back(self.problem, u, self._inner, self._limit)
        bound = min(tree.upper_bound(), self._proved)
        if self._loss.counts:
            if tree.step > 0.0:
                bound = tree.step * np.floor((bound + CUTOFF) / tree.step)
            return Worst(u, found.best, max(found.best, bound), tree.nodes)
        margins = self.problem.y_val * (self.problem.X_val @ u[:-1] - u[-1])
        value = self._loss.mean(margins, self.problem.val_weight)
        return Worst(u, value, max(value, bound), tree.nodes)

    def _narrow(self, stops: Callable[[], bool]) -> None:
        """Find the ranges, of as many points as there is time for."""
        tree = self._tree
        while tree.narrow():
            if stops():
                rows = margin_rows(self.problem.X_val, self.problem.y_val)
                ranges = coarse_ranges(self.problem, self._box, self._limit, rows)
                tree.ranges.hold(*map(self._of_rows, ranges))
                return

    def _of_rows(self, of_points: Vector | Mask) -> Vector:
        """Return what points that are alike have in common, once for each row of the program."""
        of_rows = np.empty(self._models.n_val)
        of_rows[self._which] = of_points
        return of_rows

    def _move_to(self, box: Vector, limit: float, inner: Vector) -> None:
        scaled = np.append(self._factor * inner[:-1], inner[-1])
        for models in (self._models, self._forms):
            models.move_to(self._factor * box, limit, self.problem.loss_unit(limit), scaled)

    def _in_box(self, u: Vector, box: Vector) -> Vector:
        """In the units of the problem, and without what rounding adds to the box."""
        return np.append(np.clip(u[:-1] / self._factor, -box, box), u[-1])

    def active_set_loss(self, box: Vector, limit: float, active: Mask) -> ActiveSetLoss:
        """Largest loss within a limit when only the `active` hinges count, linear ones."""
        self._move_to(box, limit, self.train(box).u)
        weight = np.zeros(self._models.n_val)
        np.add.at(weight, self._which, self.problem.val_weight * active)
        value = self._models.active_set_loss(weight)
        u = self._in_box(self._models.values()[: len(box) + 1], box)
        rates = self._factor * self._models.box_rates()
        return ActiveSetLoss(value, u, rates, self._models.limit_rate())

    def active(self, u: Vector) -> Mask:
        """Return which validation points have an active hinge at a model."""
        margins = self.problem.y_val * (self.problem.X_val @ u[:-1] - u[-1])
        return np.asarray(margins < 1.0)
