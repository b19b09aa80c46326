"""The best point found, and how to find a better one from multipliers.

Given a point of D, an item must stand on a side whose implication that point satisfies, on its
breakpoint if it satisfies neither. That piece of the space of ``u`` is a polyhedron; its best point
is a linear program, and inner-optimal by construction, not to a tolerance.
"""

from __future__ import annotations

import numpy as np

from pessimal.lp.codes import OPTIMAL
from pessimal.lp.simplex import Simplex
from pessimal.lp.watch import Watch
from pessimal.problem import Vector
from pessimal.solvers.search.budget import BudgetCondition
from pessimal.solvers.search.items import Conditions
from pessimal.tolerances import CUTOFF, NO_PULL

ROUNDS = 10  # attempts to meet the budget in one piece


class Incumbent:
    """The best ``u`` so far, with the widest box its multipliers allow."""

    def __init__(
        self,
        conditions: Conditions,
        root: Simplex,
        budget: BudgetCondition | None,
        watch: Watch,
    ) -> None:
        n_features = len(conditions.upper)
        self.root = root
        self.sides = conditions.items
        self.budget = budget
        self.n_features = n_features
        self.pull_row = conditions.pull_row
        self.piece = Simplex(conditions.primal, watch)
        self.lower = conditions.lower
        self.upper = conditions.upper
        self.pulled = np.zeros(n_features, np.intp)
        self.box = np.zeros(n_features)
        self.best = np.inf
        self.found = False
        self.u = np.zeros(n_features + 1)
        self.u_box = np.zeros(n_features)

    def point(self) -> tuple[Vector, Vector]:
        """Return ``u`` and its box."""
        return np.array(self.u), np.array(self.u_box)

    def widest_box(self, primal: Simplex, values: Vector) -> None:
        """Compute the box of P's point: the limit where nothing pulls, otherwise ``|w_j|``."""
        for j in range(self.n_features):
            self.pulled[j] = abs(values[self.pull_row + j]) > NO_PULL
            if self.pulled[j]:
                self.box[j] = max(abs(primal.z[j]), self.lower[j])
            else:
                self.box[j] = self.upper[j]

    def try_multipliers(self, values: Vector) -> bool:
        """Take the best point of the piece of these multipliers if it beats the incumbent."""
        piece = self.piece
        piece.copy_from(self.root)
        for item in range(self.sides.n_items):
            for side in range(2):
                if not self.sides.satisfied(values, item, side):
                    self.sides.hold(piece, item, 1 - side)
        for k in range(piece.size):
            if piece.low[k] > piece.high[k]:
                return False
        self.widest_box(piece, values)
        for _ in range(ROUNDS):
            if self.budget is not None:
                self.budget.write(piece, self.pulled)
            if piece.solve(self.best - CUTOFF) != OPTIMAL:
                return False
            self.widest_box(piece, values)
            if self.budget is None or self.budget.met(piece, self.box):
                self.accept(piece)
                return True
        return False

    def accept(self, primal: Simplex) -> None:
        """Take P's point, with the box computed last, if it is better."""
        if primal.objective < self.best:
            self.take(primal.z, self.box, primal.objective)

    def take(self, z: Vector, box: Vector, objective: float) -> None:
        """Take the point that `z` begins with, proved in `box`."""
        self.best = objective
        self.found = True
        for j in range(self.n_features + 1):
            self.u[j] = z[j]
        for j in range(self.n_features):
            self.u_box[j] = box[j]
