"""A node of the tree: P and D as they stand there, and the children that wait.

To *keep* an item is to add its side to P and the implied bound to D; to *flip* it is to add the
opposite side to P only. Together they cover everything, the breakpoint included. Child ``r`` of a
list of items keeps the first ``r − 1`` of them and flips the ``r``-th.

Behind the items stands one pseudo-item a feature, for the training budget: kept, ``w_j`` is
*pulled*, so that its box ends at ``|w_j|``; flipped, nothing pulls it, ``c_j = 0``.
"""

from __future__ import annotations

import numpy as np

from pessimal.lp.simplex import Simplex
from pessimal.lp.watch import Watch
from pessimal.solvers.search.codes import ABOVE
from pessimal.solvers.search.items import Conditions


class Node:
    """One level of the stack; its arrays are used again by every node of that depth."""

    def __init__(self, conditions: Conditions, watch: Watch) -> None:
        n_features = len(conditions.upper)
        n_elements = conditions.items.n_items + n_features + 2
        self.sides = conditions.items
        self.pull_row = conditions.pull_row
        self.primal = Simplex(conditions.primal, watch)
        self.dual = Simplex(conditions.dual, watch)
        self.pulled = np.zeros(n_features, np.intp)
        self.n_children = 0
        self.item = np.zeros(n_elements, np.intp)
        self.side = np.zeros(n_elements, np.intp)
        self.bound = np.zeros(n_elements)

    def copy_from(self, other: Node) -> None:
        """Take over the programs of `other`, not its children."""
        self.primal.copy_from(other.primal)
        self.dual.copy_from(other.dual)
        for j in range(len(self.pulled)):
            self.pulled[j] = other.pulled[j]
        self.n_children = 0

    def keep(self, item: int, side: int) -> None:
        """Add a side to P and what it implies to D."""
        if item < self.sides.n_items:
            self.sides.hold(self.primal, item, side)
            self.sides.impose(self.dual, item, side)
        elif side == ABOVE:
            self.pulled[item - self.sides.n_items] = 1

    def flip(self, item: int, side: int) -> None:
        """Add the opposite side to P."""
        if item < self.sides.n_items:
            self.sides.hold(self.primal, item, 1 - side)
        elif side == ABOVE:
            self.dual.set_bounds(self.pull_row + item - self.sides.n_items, 0.0, 0.0)

    def split(self, item: int, side: int) -> None:
        """Have two children, one that keeps an item and one that flips it.

        Written as a list of the item and its opposite: the child that keeps the first and flips
        the second stays on the item's side.
        """
        for c in range(2):
            self.item[c] = item
            self.side[c] = side if c == 0 else 1 - side
            self.bound[c] = self.primal.objective
        self.n_children = 2
