"""Least training losses of many boxes of one problem, each starting from the last.

A warm linear program in balanced units: its rows are the margins of T, with a kink at 1. That no
model trains better follows from multipliers of the hinges alone, in the units of the problem.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pessimal.errors import SolverError
from pessimal.limits import NEVER, Deadline
from pessimal.lp.codes import OPTIMAL
from pessimal.lp.program import KinkedProgram
from pessimal.lp.simplex import Simplex
from pessimal.lp.watch import Watch
from pessimal.near_optimal.polyhedral.program import best_intercept, intercept_range, merged
from pessimal.near_optimal.polyhedral.stopping import stopping
from pessimal.problem import Budget, TuningProblem, Vector, margin_rows
from pessimal.tolerances import ROUNDING


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


class WarmTraining:
    """Trains in one box after the other, until the deadline."""

    def __init__(self, problem: TuningProblem, budget: Budget, deadline: Deadline = NEVER) -> None:
        self.problem = problem
        self._deadline = deadline
        self._factor = problem.column_units
        rows = margin_rows(problem.X_train, problem.y_train)
        self._rows, self._weight, _ = merged(rows, problem.train_weight)
        self._b_range = intercept_range(problem, problem.upper, budget.limit(1.0))
        by_weights = np.abs(self._rows[:, :-1]) @ problem.upper
        self._reach = by_weights + max(map(abs, self._b_range))  # of the margins
        self._watch = Watch()
        self._programs: dict[float, Simplex] = {}

    def train(self, box: Vector) -> Training:
        """Least training loss in a box; a small one is minimised again in its own unit."""
        unit = 1.0
        while True:
            training = self._train_in(unit, box)
            last, unit = unit, self.problem.loss_unit(training.loss)
            if unit >= last:
                return training

    def _train_in(self, unit: float, box: Vector) -> Training:
        if unit not in self._programs:
            self._programs[unit] = self._program(unit)
        simplex = self._programs[unit]
        for j, limit in enumerate(self._factor * box):
            simplex.set_bounds(j, -limit, limit)
        with stopping(self._watch, self._deadline):
            status = simplex.solve(np.inf)
        if status != OPTIMAL:
            raise SolverError("training stalled")
        bound, rates = self._dual(-unit * simplex.multipliers()[len(box) + 1 :], box)
        # Of the model, not of the multipliers: where weights are tiny the bounds of rows are vast,
        # and with their rounding no model at all might train within the limit.
        *w, b = simplex.values()[: len(box) + 1]
        u = np.append(np.clip(w / self._factor, -box, box), b)
        if unit < 1.0:  # bounds on b are as large as the least weight is small, and so is rounding
            u[-1] = best_intercept(self.problem, u[:-1])
        return Training(self.problem.train_loss(u[:-1], float(u[-1])), u, rates, bound)

    def _program(self, unit: float) -> Simplex:
        """Minimise the training loss in a unit."""
        upper, reach = self._factor * self.problem.upper, self._reach
        low, high = self._b_range
        no_cost = np.zeros(len(upper) + 1)
        program = KinkedProgram(
            A=self._rows / np.append(self._factor, 1.0),
            low=np.concatenate([-upper, [low], -reach]),
            high=np.concatenate([upper, [high], reach]),
            slope_left=np.concatenate([no_cost, -self._weight / unit]),
            slope_right=np.concatenate([no_cost, np.zeros(len(reach))]),
            kink=np.concatenate([no_cost, np.ones(len(reach))]),
        )
        return Simplex(program, self._watch)

    def _dual(self, alpha: Vector, box: Vector) -> tuple[float, Vector]:
        """Bound the training loss by multipliers of the hinges; return how it falls with the box.

        With ``0 ≤ α ≤ weight``, of both classes the same in all, no loss is less than
        ``Σ α − Σ_j |α·x_j|·box_j``.
        """
        alpha = np.clip(alpha, 0.0, self._weight)
        positive = self._rows[:, -1] < 0.0
        totals = np.array([alpha[~positive].sum(), alpha[positive].sum()])
        shares = totals.min() / np.where(totals > 0.0, totals, 1.0)
        alpha *= shares[positive.astype(np.intp)]
        rates = np.abs(alpha @ self._rows[:, :-1])
        bound = float(alpha.sum() - rates @ box)
        return bound - ROUNDING * float(alpha @ (1.0 + self._reach)), rates
