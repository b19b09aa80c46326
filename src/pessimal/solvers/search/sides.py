"""Items: rows of P with a breakpoint, and what either side of it means, in P and in D."""

from __future__ import annotations

import numpy as np

from pessimal.lp.simplex import Simplex
from pessimal.problem import Vector
from pessimal.solvers.search.codes import ABOVE
from pessimal.tolerances import NO_PULL


class Sides:
    """The table of items, with room for `capacity` of them.

    Side `BELOW` or `ABOVE` of an item implies one bound in D: `value` for row `dual_row`, which
    must be at least that (`sense` 1) or at most (−1). Row −1: it implies nothing.
    """

    def __init__(self, capacity: int) -> None:
        self.n_items = 0
        self.row = np.empty(capacity, np.intp)
        self.breakpoint = np.empty(capacity)
        self.dual_row = np.full((capacity, 2), -1, np.intp)
        self.sense = np.empty((capacity, 2), np.intp)
        self.value = np.empty((capacity, 2))

    def add(self, row: int, at: float) -> int:
        """Add an item, row `row` of P with breakpoint `at`; return its number."""
        item = self.n_items
        self.row[item] = row
        self.breakpoint[item] = at
        self.n_items = item + 1
        return item

    def imply(self, item: int, side: int, dual_row: int, sense: int, value: float) -> None:
        """Have a side of an item imply a bound of D."""
        self.dual_row[item, side] = dual_row
        self.sense[item, side] = sense
        self.value[item, side] = value

    def hold(self, primal: Simplex, item: int, side: int) -> None:
        """Add a side to P."""
        k = self.row[item]
        at = self.breakpoint[item]
        if side == ABOVE:
            primal.set_bounds(k, max(at, primal.low[k]), primal.high[k])
        else:
            primal.set_bounds(k, primal.low[k], min(at, primal.high[k]))

    def impose(self, dual: Simplex, item: int, side: int) -> None:
        """Add what a side implies to D."""
        k = self.dual_row[item, side]
        if k >= 0:
            value = self.value[item, side]
            if self.sense[item, side] > 0:
                dual.set_bounds(k, max(value, dual.low[k]), dual.high[k])
            else:
                dual.set_bounds(k, dual.low[k], min(value, dual.high[k]))

    def imposed(self, dual: Simplex, item: int, side: int) -> bool:
        """Whether D already has what a side implies."""
        k = self.dual_row[item, side]
        if k < 0:
            return True
        if self.sense[item, side] > 0:
            return dual.low[k] >= self.value[item, side]
        return dual.high[k] <= self.value[item, side]

    def satisfied(self, values: Vector, item: int, side: int) -> bool:
        """Whether a point of D satisfies what a side implies."""
        k = self.dual_row[item, side]
        if k < 0:
            return True
        if self.sense[item, side] > 0:
            return values[k] >= self.value[item, side] - NO_PULL
        return values[k] <= self.value[item, side] + NO_PULL

    def undecided(self, primal: Simplex, k: int) -> int:
        """Item on row `k` of P that still has both sides, or −1."""
        for item in range(self.n_items):
            if self.row[item] == k and primal.low[k] < self.breakpoint[item] < primal.high[k]:
                return item
        return -1
