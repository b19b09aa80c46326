"""Models whose answers come with a multiplier for each training hinge.

A cut is a sum of hinges, so multipliers of cuts are multipliers of hinges once it is known which
of them each cut counts. With these any other code can see for itself that a bound holds.
"""

from __future__ import annotations

import numpy as np

from pessimal.lp.program import KinkedProgram
from pessimal.lp.watch import Watch
from pessimal.near_optimal.polyhedral.models import Models
from pessimal.problem import Matrix, Vector


class TracedModels(Models):
    """The set, and which training points each of its cuts counts."""

    def __init__(
        self, program: KinkedProgram, train_rows: Matrix, train_weight: Vector, watch: Watch
    ) -> None:
        super().__init__(program, train_rows, train_weight, watch)
        self.counts = np.zeros((self.n_cuts, self.n_train), np.uint8)

    def trace(self, c: int, last: float) -> None:
        """Take note that cut `c` counts the hinges active so far on the way to `margin`."""
        for i in range(self.n_train):
            change = self.margin[i] - self.inner_margin[i]
            self.counts[c, i] = self.inner_margin[i] + last * change < 1.0

    def confine(self, rows: Matrix, reach: Vector, at_most: Vector) -> None:
        """Keep only the models with ``rows·u ≤ at_most``, where ``-rows·u`` is `reach` at most."""
        self.replace_rows(rows)
        for k in range(rows.shape[0]):
            self.set_bounds(self.q + k, -reach[k], at_most[k])

    def write_multipliers(self, of_hinges: Vector, of_rows: Vector) -> None:
        """Write the multipliers of the last end that bound what `minimise` minimised.

        None is negative. Those of cuts are shared out to the hinges that they count.
        """
        for i in range(self.n_train):
            of_hinges[i] = 0.0
        for c in range(self.n_cuts):
            share = -self.y[self.first_cut + c] / self.unit
            if share > 0.0 and self.cut_weight[c] > 0.0:
                for i in range(self.n_train):
                    if self.counts[c, i]:
                        of_hinges[i] += share * self.train_weight[i]
        for k in range(self.n_val):
            of_rows[k] = max(0.0, self.y[self.q + k])

    def blame(self) -> None:
        """Let the multipliers be those that prove that there is no model, after such an end."""
        for k in range(self.size):
            self.y[k] = 0.0
        for j in range(self.q):
            self.y[self.nonbasic[j]] = -self.direction * self.D[j, self.row]
        self.y[self.basic[self.row]] = self.direction
