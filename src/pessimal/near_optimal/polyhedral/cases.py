"""Exact worst cases of many boxes of one problem, each starting from the last.

For a box w̄ the near-optimal set is ``Ψ = {|w| ≤ w̄, L_T ≤ (1 + ε)·L_T*(w̄) + δ}``. Two warm linear
programs serve: one trains, the other holds Ψ. Both are in balanced units; boxes and models here are
in those of the problem.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from pessimal.errors import SolverError
from pessimal.limits import NEVER, Deadline
from pessimal.losses import HINGE, OneBreakpoint
from pessimal.lp.codes import OPTIMAL
from pessimal.lp.simplex import Simplex
from pessimal.lp.watch import Watch
from pessimal.near_optimal.polyhedral.program import (
    best_intercept,
    coarse_ranges,
    intercept_range,
    merged,
    near_optimal_programs,
    pulled_back,
    training_program,
    trains_within,
)
from pessimal.near_optimal.polyhedral.stopping import stopping
from pessimal.near_optimal.polyhedral.tree import LossTree
from pessimal.problem import Budget, Mask, Matrix, TuningProblem, Vector, margin_rows
from pessimal.tolerances import CUTOFF, ROUNDING
from pessimal.units import equilibrate

_STARTS = 10
"""Of the models that are known, the worst so many are ascended from."""

_NODES_BETWEEN_LOOKS = 10
"""How far compiled code runs before the clock and Ctrl-C are looked at."""


@dataclass(frozen=True, eq=False)
class Training:
    """Least training loss of a box, its model, how fast it falls as the box widens, and a bound.

    No model of this box trains better than `bound`, nor one of another box by more than the `rates`
    times what is wider there: that follows from multipliers alone.
    """

    loss: float
    u: Vector
    rates: Vector
    bound: float


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
        self._training: dict[float, Simplex] = {}
        programs = near_optimal_programs(balanced.problem, budget, rows, self._watch)
        self._models, self._forms = programs
        # Counts of points that all weigh the same differ by whole points.
        same = np.ptp(problem.val_weight) <= CUTOFF / problem.n_val**2
        step = 1.0 / problem.n_val if loss.counts and same else 0.0
        self._loss = loss
        self._tree = LossTree(*programs, weight, loss.threshold, loss.counts, step)

    def train(self, box: Vector) -> Training:
        """Least training loss in a box; a small one is minimised again in its own unit."""
        unit = 1.0
        while True:
            training = self._train_in(unit, box)
            last, unit = unit, self.problem.loss_unit(training.loss)
            if unit >= last:
                return training

    def _train_in(self, unit: float, box: Vector) -> Training:
        if unit not in self._training:
            self._training[unit] = training_program(self._balanced, self.budget, unit, self._watch)
        simplex = self._training[unit]
        for j, limit in enumerate(self._factor * box):
            simplex.set_bounds(j, -limit, limit)
        with stopping(self._watch, self._deadline):
            status = simplex.solve(np.inf)
        if status != OPTIMAL:
            raise SolverError("training stalled")
        bound, rates = self._dual(-unit * simplex.multipliers()[len(box) + 1 :], box)
        # Of the model, not of the multipliers: where weights are tiny the bounds of rows are vast,
        # and with their rounding no model at all might train within the limit.
        u = self._in_box(simplex.values()[: len(box) + 1], box)
        if unit < 1.0:  # bounds on b are as large as the least weight is small, and so is rounding
            u[-1] = best_intercept(self.problem, u[:-1])
        return Training(self.problem.train_loss(u[:-1], float(u[-1])), u, rates, bound)

    @cached_property
    def _hinges(self) -> tuple[Matrix, Vector, Vector]:
        """Distinct training rows, their weights, and how large a hinge of each may be."""
        problem = self.problem
        rows = margin_rows(problem.X_train, problem.y_train)
        rows, weight, _ = merged(rows, problem.train_weight)
        b_reach = max(map(abs, intercept_range(problem, problem.upper, self.budget.limit(1.0))))
        return rows, weight, 1.0 + b_reach + np.abs(rows[:, :-1]) @ problem.upper

    def _dual(self, alpha: Vector, box: Vector) -> tuple[float, Vector]:
        """Bound the training loss by multipliers of the hinges; return how it falls with the box.

        With ``0 ≤ α ≤ weight``, of both classes the same in all, no loss is less than
        ``Σ α − Σ_j |α·x_j|·box_j``.
        """
        rows, weight, reach = self._hinges
        alpha = np.clip(alpha, 0.0, weight)
        positive = rows[:, -1] < 0.0
        totals = np.array([alpha[~positive].sum(), alpha[positive].sum()])
        shares = totals.min() / np.where(totals > 0.0, totals, 1.0)
        alpha *= shares[positive.astype(np.intp)]
        rates = np.abs(alpha @ rows[:, :-1])
        bound = float(alpha.sum() - rates @ box)
        return bound - ROUNDING * float(alpha @ reach), rates

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
        first = np.unique(self._which, return_index=True)[1]
        self._tree.ranges.know(low[first], high[first], exact[first].astype(np.intp))
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
                first = np.unique(self._which, return_index=True)[1]
                tree.ranges.hold(*(end[first] for end in ranges))
                return

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
