"""Exact worst cases of many boxes of one problem, each starting from the last.

For a box w̄ the near-optimal set is ``Ψ = {|w| ≤ w̄, L_T ≤ (1 + ε)·L_T*(w̄) + δ}``. Two warm linear
programs serve: one trains, the other holds Ψ. Both are in balanced units; boxes and models here are
in those of the problem.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np

from pessimal.errors import SolverError
from pessimal.lp.codes import OPTIMAL
from pessimal.problem import Budget, Mask, TuningProblem, Vector, margin_rows
from pessimal.tolerances import BUDGET_SLACK
from pessimal.units import balance
from pessimal.worst.hinges import HingeTree
from pessimal.worst.program import coarse_ranges, near_optimal_program, training_program

_NODES_BETWEEN_LOOKS = 10
"""How far compiled code runs before the clock and Ctrl-C are looked at."""


@dataclass(frozen=True, eq=False)
class Training:
    """Least training loss of a box, and how fast it falls as the box widens."""

    loss: float
    rates: Vector


@dataclass(frozen=True, eq=False)
class Worst:
    """A model ``u = (w, b)`` of Ψ, its validation loss, and a bound on the loss of all of Ψ."""

    u: Vector
    value: float
    upper_bound: float
    nodes: int


@dataclass(frozen=True, eq=False)
class Scenario:
    """Largest loss on fixed hinges, with its rates in the box and in the training limit."""

    value: float
    box_rates: Vector
    limit_rate: float


class WorstCases:
    """Worst cases over Ψ(w̄) for one problem and budget, box after box."""

    def __init__(self, problem: TuningProblem, budget: Budget) -> None:
        self.problem = problem
        self.budget = budget
        balanced = balance(problem)
        self._factor = balanced.factor
        self._training = training_program(balanced.problem, budget)
        self._models = near_optimal_program(balanced.problem, budget)
        self._tree = HingeTree(self._models, problem.val_weight)

    def train(self, box: Vector) -> Training:
        """Least training loss in a box."""
        for j, limit in enumerate(self._factor * box):
            self._training.set_bounds(j, -limit, limit)
        if self._training.solve(np.inf) != OPTIMAL:
            raise SolverError("training stalled")
        rates = self._factor * np.abs(self._training.multipliers()[: len(box)])
        # Of the model, not of the multipliers: where weights are tiny the bounds of rows are vast,
        # and with their rounding no model at all might train within the limit.
        u = self._training.values()
        w = np.clip(u[: len(box)] / self._factor, -box, box)
        return Training(self.problem.train_loss(w, float(u[len(box)])), rates)

    def limit(self, box: Vector) -> float:
        """Largest training loss of a near-optimal model of a box."""
        return self.budget.limit(self.train(box).loss) + BUDGET_SLACK

    def worst(
        self,
        box: Vector,
        limit: float,
        enough: float = np.inf,
        deadline: float = np.inf,
        node_limit: int | None = None,
    ) -> Worst:
        """Largest validation loss, or any that is `enough`, among the models within a limit.

        Past the deadline, the worst model so far and what is proved by then.
        """
        tree = self._tree
        self._narrow(box, limit, enough, deadline)
        left = np.inf if node_limit is None else node_limit
        while left > 0 and tree.advance(int(min(left, _NODES_BETWEEN_LOOKS))):
            left -= _NODES_BETWEEN_LOOKS
            if time.perf_counter() > deadline:
                break
        if tree.best == -np.inf:
            raise SolverError(
                "no model was found that trains as well as the best one; features of very "
                "different scale are the usual cause, so standardise them"
            )
        u = tree.worst_model()
        u[:-1] = np.clip(u[:-1] / self._factor, -box, box)  # to be rid of rounding
        return Worst(u, tree.best, tree.upper_bound(), tree.nodes)

    def glance(self, box: Vector, limit: float, deadline: float = np.inf) -> float:
        """Loss of a bad model within a limit, found by ascent from the ends of the ranges."""
        self._narrow(box, limit, np.inf, deadline)
        return self._tree.best

    def _narrow(self, box: Vector, limit: float, enough: float, deadline: float) -> None:
        """Find the ranges; past the deadline, one model at least."""
        tree = self._tree
        self._models.move_to(self._factor * box, limit)
        tree.start(enough)
        while tree.narrow():
            if tree.best > -np.inf and time.perf_counter() > deadline:
                rows = margin_rows(self.problem.X_val, self.problem.y_val)
                tree.hold(*coarse_ranges(self.problem, box, limit, rows))
                return

    def scenario(self, box: Vector, limit: float, active: Mask) -> Scenario:
        """Largest loss within a limit when only the `active` hinges count, linear ones."""
        self._models.move_to(self._factor * box, limit)
        value = self._models.scenario(self.problem.val_weight * active)
        rates = self._factor * self._models.box_rates()
        return Scenario(value, rates, self._models.limit_rate())

    def active(self, u: Vector) -> Mask:
        """Return which validation points have an active hinge at a model."""
        margins = self.problem.y_val * (self.problem.X_val @ u[:-1] - u[-1])
        return np.asarray(margins < 1.0)
