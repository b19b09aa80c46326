"""What it means, in P and in D, for an item to be on one side of its breakpoint."""

from __future__ import annotations

from pessimal.problem import Vector
from pessimal.search.codes import ABOVE
from pessimal.search.items import Items
from pessimal.search.simplex import Simplex
from pessimal.tolerances import NO_PULL


class Sides:
    """The table of items, for compiled code."""

    def __init__(self, items: Items) -> None:
        self.n_items = len(items)
        self.row = items.row
        self.breakpoint = items.breakpoint
        self.dual_row = items.dual_row
        self.sense = items.sense
        self.value = items.value

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
