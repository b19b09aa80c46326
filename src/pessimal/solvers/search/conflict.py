"""Conflicts: sets of items whose sides no multipliers can prove together.

Candidates are items that could flip, each with a bound of P after its flip. Their implications are
imposed one by one on a copy of D, the largest bound first. When D turns infeasible its Farkas row
names the bounds it leans on; at least one of the candidates that imposed them must flip. The order
makes this conflict the best one: any other also holds a candidate whose bound is no larger than
that of the last one imposed.
"""

from __future__ import annotations

import numpy as np

from pessimal.lp.codes import INFEASIBLE, STALLED
from pessimal.lp.simplex import Simplex
from pessimal.lp.watch import Watch
from pessimal.solvers.search.codes import NO_CONFLICT, UNKNOWN
from pessimal.solvers.search.items import Conditions
from pessimal.solvers.search.node import Node
from pessimal.tolerances import PIVOT

INF = np.inf


class ConflictFinder:
    """The candidates of one node, and a copy of its D to try them on."""

    def __init__(self, conditions: Conditions, watch: Watch) -> None:
        sides = conditions.items
        self.sides = sides
        self.trial = Simplex(conditions.dual, watch)
        self.n = 0
        self.item = np.zeros(sides.n_items, np.intp)
        self.side = np.zeros(sides.n_items, np.intp)
        self.bound = np.zeros(sides.n_items)
        self.order = np.zeros(sides.n_items, np.intp)
        self.members = np.zeros(sides.n_items, np.intp)  # places in `order`
        self.low_by = np.zeros(self.trial.size, np.intp)  # who imposed a lower bound of D
        self.high_by = np.zeros(self.trial.size, np.intp)

    def clear(self) -> None:
        """Forget the candidates."""
        self.n = 0

    def add(self, item: int, side: int, bound: float) -> None:
        """Add a candidate with the bound of P after its flip."""
        self.item[self.n] = item
        self.side[self.n] = side
        self.bound[self.n] = bound
        self.n += 1

    def sort(self) -> None:
        """Order the candidates by bound, largest first."""
        for i in range(self.n):
            k = i
            while k > 0 and self.bound[self.order[k - 1]] < self.bound[i]:
                self.order[k] = self.order[k - 1]
                k -= 1
            self.order[k] = i

    def find(self, node: Node) -> int:
        """Write a conflict into the node's list of children; return its size.

        Or `NO_CONFLICT`, with multipliers that prove the node's ``u`` in `trial`, or `UNKNOWN`.
        """
        self.sort()
        trial = self.trial
        trial.copy_from(node.dual)
        for k in range(trial.size):
            self.low_by[k] = -1
            self.high_by[k] = -1
        for place in range(self.n):
            c = self.order[place]
            self.sides.impose(trial, self.item[c], self.side[c])
            k = self.sides.dual_row[self.item[c], self.side[c]]
            if self.sides.sense[self.item[c], self.side[c]] > 0:
                self.low_by[k] = place
            else:
                self.high_by[k] = place
            if trial.low[k] > trial.high[k]:
                count = self.insert(self.low_by[k], 0)
                return self.name(node, self.insert(self.high_by[k], count))
            status = trial.solve(INF)
            if status == INFEASIBLE:
                return self.name(node, self.farkas())
            if status == STALLED:
                return UNKNOWN
        return NO_CONFLICT

    def farkas(self) -> int:
        """Collect the candidates on whose bounds D's infeasible row leans."""
        trial = self.trial
        k = trial.basic[trial.row]
        count = self.insert(self.high_by[k] if trial.direction > 0 else self.low_by[k], 0)
        for j in range(trial.q):
            a = -trial.direction * trial.D[trial.row, j]
            k = trial.nonbasic[j]
            if a > PIVOT:
                count = self.insert(self.high_by[k], count)
            elif a < -PIVOT:
                count = self.insert(self.low_by[k], count)
        return count

    def insert(self, member: int, count: int) -> int:
        """Insert a member in its order, unless the bound was there before all candidates (−1)."""
        if member < 0:
            return count
        k = count
        while k > 0 and self.members[k - 1] > member:
            self.members[k] = self.members[k - 1]
            k -= 1
        self.members[k] = member
        return count + 1

    def name(self, node: Node, count: int) -> int:
        """Write items, sides and bounds of the members into the node's list."""
        for i in range(count):
            c = self.order[self.members[i]]
            node.item[i] = self.item[c]
            node.side[i] = self.side[c]
            node.bound[i] = self.bound[c]
        return count
