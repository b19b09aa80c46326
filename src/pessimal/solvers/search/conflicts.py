"""Conflicts: complementarities whose sides no multipliers can prove together.

Any conflict makes a valid branch, and how good it is decides how large the tree becomes. The child
with the lowest bound counts most, then the one with the next lowest. The search for a conflict
therefore imposes all candidates at once and takes them back, the lowest bound first, as long as D
stays infeasible without them.
"""

from __future__ import annotations

import numpy as np

from pessimal.lp.codes import INFEASIBLE, STALLED
from pessimal.lp.simplex import Simplex
from pessimal.lp.watch import Watch
from pessimal.solvers.search.complementarities import ABOVE, Conditions
from pessimal.solvers.search.node import Node
from pessimal.solvers.search.strong_branching import StrongBranching
from pessimal.tolerances import CUTOFF, PIVOT

INF = np.inf
# What was found, when not a conflict's size; not typed, so that others can import.
NO_CONFLICT, UNKNOWN, NO_MULTIPLIERS = -1, -2, -3
HIGH_ENOUGH = 0.8  # share of the way to the cutoff from which on a bound need not be higher


class ConflictFinder:
    """Finds the conflict whose lowest bound is highest, then the next lowest, and so on.

    Candidates are those that could be crossed, each with the bound of P on that branch, which may
    be an estimate. Their implications are imposed on a copy of D. If that is infeasible its Farkas
    row names the bounds it leans on; at least one of the candidates that imposed them must be
    crossed. The one with the lowest bound is taken back with all below it: D infeasible still, and
    a new Farkas row leans on better ones alone; D feasible, and every conflict among these holds
    it, so that it is kept. An estimate is replaced by a bound once its candidate is kept. A bound
    at the cutoff fixes the candidate for good, and the conflict is shorter by it.
    """

    def __init__(self, conditions: Conditions, strong: StrongBranching, watch: Watch) -> None:
        n_pairs = conditions.pairs.n_pairs
        self.pairs = conditions.pairs
        self.strong = strong
        self.trial = Simplex(conditions.dual, watch)
        self.n = 0
        self.pair = np.zeros(n_pairs, np.intp)
        self.side = np.zeros(n_pairs, np.intp)
        self.bound = np.zeros(n_pairs)
        self.estimated = np.zeros(n_pairs, np.intp)
        self.order = np.zeros(n_pairs, np.intp)
        self.kept = np.zeros(n_pairs, np.intp)  # by place in `order`
        self.size = 0
        self.members = np.zeros(n_pairs, np.intp)  # places in `order`
        self.low_by = np.zeros(self.trial.size, np.intp)  # who imposed a lower bound of D
        self.high_by = np.zeros(self.trial.size, np.intp)

    def add(self, pair: int, side: int, bound: float, estimated: bool) -> None:
        """Add a candidate with the bound of P after crossing it, or an estimate of that."""
        self.pair[self.n] = pair
        self.side[self.n] = side
        self.bound[self.n] = bound
        self.estimated[self.n] = estimated
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

        Or `NO_CONFLICT`, with multipliers that prove the node's ``u`` in `trial`, or `UNKNOWN`, or
        `NO_MULTIPLIERS` if all members have been fixed.
        """
        self.sort()
        trial = self.trial
        trial.copy_from(node.dual)
        self.low_by[:] = -1
        self.high_by[:] = -1
        self.size = 0
        end = 0
        while end < self.n and self.size == 0:
            self.kept[end] = False
            self.impose(end)
            end += 1
        if self.size == 0:
            status = trial.solve(INF)
            if status != INFEASIBLE:
                return UNKNOWN if status == STALLED else NO_CONFLICT
            self.farkas()
        self.improve(node, end)
        self.bound_members(node)
        return self.write_children(node)

    def improve(self, node: Node, end: int) -> None:
        """Exchange members with low bounds for others, where that can be done.

        The candidates up to `end` are imposed; later on those up to `end` and those that are kept.
        """
        gap = self.strong.incumbent.best - CUTOFF - node.primal.objective
        high_enough = node.primal.objective + HIGH_ENOUGH * gap
        while True:
            lowest = self.size - 1
            while lowest >= 0 and self.kept[self.members[lowest]]:
                lowest -= 1
            if lowest < 0:
                return
            place = self.members[lowest]
            if self.bound[self.order[place]] >= high_enough:
                return
            while end > place:
                end -= 1
                if not self.kept[end]:
                    self.take_back(node, end)
            status = self.trial.solve(INF)
            if status == INFEASIBLE:
                self.farkas()
            elif status == STALLED:
                return
            else:
                self.kept[place] = True
                self.bound_member(node, lowest)
                self.impose(place)

    def impose(self, place: int) -> None:
        """Bound D by a candidate; if another bounds it the opposite way, they are a conflict."""
        c = self.order[place]
        k = self.pairs.dual_row[self.pair[c], self.side[c]]
        by = place if self.bound[c] < INF else -1
        if self.pairs.dual_side[self.pair[c], self.side[c]] == ABOVE:
            self.low_by[k] = by
        else:
            self.high_by[k] = by
        self.pairs.bound_dual(self.trial, self.pair[c], self.side[c])
        if self.trial.low[k] > self.trial.high[k] and self.size == 0:
            self.insert(self.low_by[k])
            self.insert(self.high_by[k])

    def take_back(self, node: Node, place: int) -> None:
        """Give D the bound back that it has without a candidate."""
        c = self.order[place]
        k = self.pairs.dual_row[self.pair[c], self.side[c]]
        if self.pairs.dual_side[self.pair[c], self.side[c]] == ABOVE:
            self.low_by[k] = -1
            self.trial.set_bounds(k, node.dual.low[k], self.trial.high[k])
        else:
            self.high_by[k] = -1
            self.trial.set_bounds(k, self.trial.low[k], node.dual.high[k])

    def bound_members(self, node: Node) -> None:
        """Bound the members that are still estimated."""
        for member in range(self.size - 1, -1, -1):
            self.bound_member(node, member)

    def bound_member(self, node: Node, member: int) -> None:
        """Bound a member that was estimated; at the cutoff it is fixed, and a member no more."""
        c = self.order[self.members[member]]
        if not self.estimated[c]:
            return
        self.estimated[c] = False
        self.bound[c] = self.strong.crossing_bound(node, self.pair[c], self.side[c])
        if self.bound[c] == INF:
            node.fix(self.pair[c], self.side[c])
            self.size -= 1
            for i in range(member, self.size):
                self.members[i] = self.members[i + 1]

    def farkas(self) -> None:
        """Make members of the candidates on whose bounds D's infeasible row leans."""
        trial = self.trial
        self.size = 0
        k = trial.basic[trial.row]
        self.insert(self.high_by[k] if trial.direction > 0 else self.low_by[k])
        for j in range(trial.q):
            a = -trial.direction * trial.D[j, trial.row]
            k = trial.nonbasic[j]
            if a > PIVOT:
                self.insert(self.high_by[k])
            elif a < -PIVOT:
                self.insert(self.low_by[k])

    def insert(self, member: int) -> None:
        """Insert a member in its order, unless the bound was there before all candidates (−1)."""
        if member < 0:
            return
        k = self.size
        while k > 0 and self.members[k - 1] > member:
            self.members[k] = self.members[k - 1]
            k -= 1
        self.members[k] = member
        self.size += 1

    def write_children(self, node: Node) -> int:
        """Write pairs, sides and bounds of the members into the node's list, lowest bound last.

        The members are in the order of what was known of them at first: estimates, some of them.
        """
        for i in range(self.size):
            c = self.order[self.members[i]]
            k = i
            while k > 0 and node.bound[k - 1] < self.bound[c]:
                node.pair[k] = node.pair[k - 1]
                node.side[k] = node.side[k - 1]
                node.bound[k] = node.bound[k - 1]
                k -= 1
            node.pair[k] = self.pair[c]
            node.side[k] = self.side[c]
            node.bound[k] = self.bound[c]
        return self.size if self.size > 0 else NO_MULTIPLIERS
