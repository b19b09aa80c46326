"""The conflict-driven tree.

To *keep* an item is to add its side to P and the implied bound to D; to *flip* it is to add the
opposite side to P only. Together they cover everything, the breakpoint included. At a node:

1. Solve P, closing the node at the cutoff, then D, closing it if infeasible.
2. For every item off its breakpoint, bound P after flipping it. At the cutoff: keep it for good.
3. Impose the remaining implications on a copy of D, the largest flip bound first. If all hold,
   ``u`` is inner-optimal in its own box and best in this node: a new incumbent.
4. Otherwise D's Farkas row names a conflict set: one of its items must flip. Child ``r`` keeps the
   first ``r − 1`` of them and flips the ``r``-th; depth first, lowest flip bound first.

The order of step 3 makes the conflict the best one: any other also holds an item whose flip bound
is no larger than the last one imposed.

With a `BudgetCondition` an incumbent must also use up its training budget. P then carries that
condition's rows, and a ``u`` that passes step 3 but fails the condition makes the node branch on
whatever the rows are loosest in: the side of a training point, the sign of a weight, or whether a
weight is *pulled* at all (``c_j = 0``, or its box ends at ``|w_j|``).
"""

from __future__ import annotations

import numpy as np

from pessimal.problem import Vector
from pessimal.search.budget import BudgetCondition
from pessimal.search.codes import ABOVE, BELOW, CUT_OFF, INFEASIBLE, OPTIMAL, PULL, STALLED
from pessimal.search.items import Conditions
from pessimal.search.simplex import Dictionary
from pessimal.tolerances import AT_BREAKPOINT, CUTOFF, NO_PULL, PIVOT

INF = np.inf
PIECE_ROUNDS = 10
FLIP_STEPS = 20


class Node:
    """P and D on one level of the stack, with the children that wait there."""

    def __init__(self, conditions: Conditions) -> None:
        n_features = len(conditions.upper)
        n_elements = len(conditions.items) + n_features + 2
        self.primal = Dictionary(*conditions.primal)
        self.dual = Dictionary(*conditions.dual)
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


class Tree:
    """Depth-first search for the best inner-optimal ``u``; resumable after any node."""

    def __init__(
        self, conditions: Conditions, best: float, budget: BudgetCondition | None = None
    ) -> None:
        items = conditions.items
        self.conditions = conditions
        self.budget = budget
        self.n_items = len(items)
        self.n_features = len(conditions.upper)
        self.pull_row = conditions.pull_row
        self.row = items.row
        self.breakpoint = items.breakpoint
        self.dual_row = items.dual_row
        self.sense = items.sense
        self.value = items.value
        self.best = best
        self.found = False
        self.nodes = 0
        self.depth = 0
        self.unresolved = 0
        self.unresolved_bound = INF
        self.levels: list[Node] = []
        self.scratch = Node(conditions)
        self.candidate = np.zeros(self.n_items, np.intp)
        self.candidate_side = np.zeros(self.n_items, np.intp)
        self.order = np.zeros(self.n_items, np.intp)
        self.flip_bound = np.zeros(self.n_items)
        self.low_by = np.zeros(self.scratch.dual.size, np.intp)
        self.high_by = np.zeros(self.scratch.dual.size, np.intp)
        self.trial_dual = Dictionary(*conditions.dual)
        self.lower = conditions.lower.copy()
        self.upper = conditions.upper.copy()
        self.piece_pulled = np.zeros(self.n_features, np.intp)
        self.box = np.zeros(self.n_features)
        self.best_u = np.zeros(self.n_features + 1)
        self.best_box = np.zeros(self.n_features)
        self.level(0).primal.solve(INF)

    def incumbent(self) -> tuple[Vector, Vector]:
        """Return ``u`` of the best point found and the widest box its multipliers allow."""
        return np.array(self.best_u), np.array(self.best_box)

    def advance(self, n_nodes: int) -> bool:
        """Examine up to `n_nodes` nodes; return whether any is left."""
        for _ in range(n_nodes):
            if self.depth < 0:
                break
            self.nodes += 1
            self.examine(self.level(self.depth))
            if not self.descend():
                break
        return self.depth >= 0

    def open_bound(self) -> float:
        """Return the smallest bound of a node not yet examined, or left unresolved."""
        bound = self.unresolved_bound
        for depth in range(self.depth + 1):
            node = self.level(depth)
            for c in range(node.n_children):
                bound = min(bound, node.bound[c])
        if self.depth >= 0 and self.level(self.depth).n_children == 0:
            # The node to be examined next carries its parent's bound for it.
            bound = min(bound, self.level(self.depth).primal.objective)
        return bound

    def level(self, depth: int) -> Node:
        """Node of this depth, made on first use."""
        if depth == len(self.levels):
            self.levels.append(Node(self.conditions))
        return self.levels[depth]

    def descend(self) -> bool:
        """Set up the next open child; False when the tree is done."""
        while self.depth >= 0:
            node = self.level(self.depth)
            while node.n_children > 0:
                last = node.n_children - 1
                node.n_children = last
                if node.bound[last] < self.best - CUTOFF:
                    child = self.level(self.depth + 1)
                    child.copy_from(node)
                    for c in range(last):
                        self.keep(child, node.item[c], node.side[c])
                    self.flip(child, node.item[last], node.side[last])
                    child.n_children = 0
                    child.primal.objective = node.bound[last]
                    self.depth += 1
                    return True
            self.depth -= 1
        return False

    def examine(self, node: Node) -> None:
        """Close the node, find an incumbent in it, or give it children."""
        node.n_children = 0
        while True:
            cut = self.best - CUTOFF
            if self.budget is not None:
                self.budget.write(node.primal, node.pulled)
            status = node.primal.solve(cut)
            if status == INFEASIBLE or status == CUT_OFF:
                return
            if status == STALLED:
                self.leave_open(node)
                return
            if node.dual.solve(INF) == INFEASIBLE:
                return
            n = self.collect(node, cut)
            if node.dual.solve(INF) == INFEASIBLE:
                return
            self.sort(n)
            n_conflict = self.conflict(node, n)
            if n_conflict < 0:
                self.widest_box(node)
                if self.budget is None or self.budget.met(node.primal, self.box):
                    # The piece of these multipliers holds u exactly, not to AT_BREAKPOINT.
                    if not self.try_multipliers(self.scratch.dual.z):
                        self.accept(node.primal)
                    return
                if self.branch_on_budget(node):
                    return
            elif n_conflict == 1:
                self.flip(node, node.item[0], node.side[0])
            else:
                node.n_children = n_conflict
                return

    def leave_open(self, node: Node) -> None:
        """Give up on a node; its bound stays part of the tree's bound."""
        self.unresolved += 1
        self.unresolved_bound = min(self.unresolved_bound, node.primal.objective)

    def keep(self, node: Node, item: int, side: int) -> None:
        """Keep an item; past the items, the pseudo-item of feature j means `w_j` is pulled."""
        if item >= self.n_items:
            node.pulled[item - self.n_items] = 1
        else:
            self.hold(node.primal, item, side)
            self.impose(node.dual, item, side)

    def flip(self, node: Node, item: int, side: int) -> None:
        """Flip an item; for the pseudo-item of feature j, ``c_j = 0``."""
        if item >= self.n_items:
            if side == ABOVE:
                node.dual.set_bounds(self.pull_row + item - self.n_items, 0.0, 0.0)
        else:
            self.hold(node.primal, item, 1 - side)

    def hold(self, primal: Dictionary, item: int, side: int) -> None:
        """Add a side to P."""
        k = self.row[item]
        at = self.breakpoint[item]
        if side == ABOVE:
            primal.set_bounds(k, max(at, primal.low[k]), primal.high[k])
        else:
            primal.set_bounds(k, primal.low[k], min(at, primal.high[k]))

    def impose(self, dual: Dictionary, item: int, side: int) -> None:
        """Add what a side implies to D."""
        k = self.dual_row[item, side]
        if k >= 0:
            value = self.value[item, side]
            if self.sense[item, side] > 0:
                dual.set_bounds(k, max(value, dual.low[k]), dual.high[k])
            else:
                dual.set_bounds(k, dual.low[k], min(value, dual.high[k]))

    def imposed(self, dual: Dictionary, item: int, side: int) -> bool:
        """Whether D already has what a side implies."""
        k = self.dual_row[item, side]
        if k < 0:
            return True
        if self.sense[item, side] > 0:
            return dual.low[k] >= self.value[item, side]
        return dual.high[k] <= self.value[item, side]

    def bound_flipped(self, node: Node, item: int, side: int, cut: float) -> float:
        """Bound of P after flipping an item; infinite from the cutoff on."""
        k = self.row[item]
        at = self.breakpoint[item]
        low = node.primal.low[k] if side == ABOVE else at
        high = at if side == ABOVE else node.primal.high[k]
        if low > high or node.primal.bound_after(k, low, high) >= cut:
            return INF
        trial = self.scratch.primal
        trial.copy_from(node.primal)
        trial.set_bounds(k, low, high)
        # The objective is a bound at every step; ties are not worth settling for one.
        status = trial.iterate(cut, FLIP_STEPS, False)
        if status == INFEASIBLE or status == CUT_OFF:
            return INF
        return trial.objective

    def collect(self, node: Node, cut: float) -> int:
        """List the items that may flip with their bounds, keep the others for good (2)."""
        n = 0
        for item in range(self.n_items):
            off = node.primal.z[self.row[item]] - self.breakpoint[item]
            if abs(off) <= AT_BREAKPOINT:
                continue
            side = ABOVE if off > 0.0 else BELOW
            if self.imposed(node.dual, item, side):
                continue
            bound = self.bound_flipped(node, item, side, cut)
            if bound == INF:
                self.keep(node, item, side)
            else:
                self.candidate[n] = item
                self.candidate_side[n] = side
                self.flip_bound[n] = bound
                n += 1
        return n

    def sort(self, n: int) -> None:
        """Order the candidates by flip bound, largest first."""
        for i in range(n):
            k = i
            while k > 0 and self.flip_bound[self.order[k - 1]] < self.flip_bound[i]:
                self.order[k] = self.order[k - 1]
                k -= 1
            self.order[k] = i

    def conflict(self, node: Node, n: int) -> int:
        """Impose the candidates on a copy of D; return the conflict's size or −1 (3)."""
        trial = self.scratch.dual
        trial.copy_from(node.dual)
        for k in range(trial.size):
            self.low_by[k] = -1
            self.high_by[k] = -1
        for o in range(n):
            c = self.order[o]
            item = self.candidate[c]
            side = self.candidate_side[c]
            k = self.dual_row[item, side]
            self.impose(trial, item, side)
            if self.sense[item, side] > 0:
                self.low_by[k] = o
            else:
                self.high_by[k] = o
            if trial.low[k] > trial.high[k]:
                node.item[0] = o
                node.n_children = 1
                other = self.high_by[k] if self.low_by[k] == o else self.low_by[k]
                if other >= 0:
                    node.item[0] = other
                    node.item[1] = o
                    node.n_children = 2
                return self.name_conflict(node, node.n_children)
            if trial.solve(INF) == INFEASIBLE:
                return self.name_conflict(node, self.farkas(node))
        return -1

    def farkas(self, node: Node) -> int:
        """Read the conflict off D's infeasible row: the candidates whose bounds it leans on."""
        trial = self.scratch.dual
        count = 0
        k = trial.basic[trial.row]
        by = self.high_by[k] if trial.direction > 0 else self.low_by[k]
        if by >= 0:
            node.item[count] = by
            count += 1
        for j in range(trial.q):
            a = -trial.direction * trial.D[trial.row, j]
            if abs(a) <= PIVOT:
                continue
            k = trial.nonbasic[j]
            by = self.high_by[k] if a > 0.0 else self.low_by[k]
            if by >= 0:
                # Places in `order`, sorted, so that the largest flip bound comes first.
                k = count
                while k > 0 and node.item[k - 1] > by:
                    node.item[k] = node.item[k - 1]
                    k -= 1
                node.item[k] = by
                count += 1
        return count

    def name_conflict(self, node: Node, count: int) -> int:
        """Replace places in `order` by items, sides and bounds."""
        for i in range(count):
            c = self.order[node.item[i]]
            node.item[i] = self.candidate[c]
            node.side[i] = self.candidate_side[c]
            node.bound[i] = self.flip_bound[c]
        node.n_children = 0
        return count

    def accept(self, primal: Dictionary) -> None:
        """Take P's point, with the box at hand, as the incumbent if it is better."""
        if primal.objective < self.best:
            self.best = primal.objective
            self.found = True
            for j in range(self.n_features + 1):
                self.best_u[j] = primal.z[j]
            for j in range(self.n_features):
                self.best_box[j] = self.box[j]

    def widest_box(self, node: Node) -> None:
        """Box of the multipliers just found: its limit where nothing pulls, else ``|w_j|``."""
        for j in range(self.n_features):
            pull = self.scratch.dual.z[self.pull_row + j]
            if abs(pull) <= NO_PULL:
                self.box[j] = self.upper[j]
            else:
                self.box[j] = max(abs(node.primal.z[j]), self.lower[j])

    def branch_on_budget(self, node: Node) -> bool:
        """Sharpen the budget rows (False: solve again) or branch where they are loosest (True)."""
        cut = self.budget.last
        if self.budget.separates(cut, node.primal, node.pulled):
            return False
        multipliers = self.scratch.dual
        self.try_multipliers(multipliers.z)
        if node.primal.objective >= self.best - CUTOFF:
            return True
        for j in range(self.n_features):
            if not node.pulled[j] and abs(multipliers.z[self.pull_row + j]) > NO_PULL:
                trial = self.trial_dual
                trial.copy_from(node.dual)
                trial.set_bounds(self.pull_row + j, 0.0, 0.0)
                if trial.solve(INF) == INFEASIBLE:
                    node.pulled[j] = 1
        if self.budget.separates(cut, node.primal, node.pulled):
            return False
        self.widest_box(node)
        if not self.budget.loosest(cut, node.primal, node.pulled, self.box):
            self.leave_open(node)
            return True
        if self.budget.kind == PULL:
            self.two_children(node, self.n_items + self.budget.index)
        else:
            self.two_children(node, self.undecided(node.primal, self.budget.index))
        return True

    def undecided(self, primal: Dictionary, k: int) -> int:
        """Item on row `k` of P that still has both sides."""
        for item in range(self.n_items):
            if self.row[item] == k and primal.low[k] < self.breakpoint[item] < primal.high[k]:
                return item
        return -1

    def two_children(self, node: Node, item: int) -> None:
        """Keep an item or flip it, written as a conflict of the item with its own opposite."""
        side = ABOVE
        if item < self.n_items and node.primal.z[self.row[item]] < self.breakpoint[item]:
            side = BELOW
        for c in range(2):
            node.item[c] = item
            node.side[c] = side if c == 0 else 1 - side
            node.bound[c] = node.primal.objective
        node.n_children = 2

    def try_multipliers(self, values: Vector) -> bool:
        """Take the best ``u`` for which these multipliers, a point of D, are a proof.

        An item must stand on a side whose implication they satisfy, on its breakpoint if they
        satisfy neither; the best ``u`` of that piece is a linear program.
        """
        trial = self.scratch.primal
        trial.copy_from(self.level(0).primal)
        for item in range(self.n_items):
            for side in range(2):
                if not self.satisfied(values, item, side):
                    self.hold(trial, item, 1 - side)
        for k in range(trial.size):
            if trial.low[k] > trial.high[k]:
                return False
        for j in range(self.n_features):
            self.piece_pulled[j] = abs(values[self.pull_row + j]) > NO_PULL
        for _ in range(PIECE_ROUNDS):
            if self.budget is not None:
                self.budget.write(trial, self.piece_pulled)
            if trial.solve(self.best - CUTOFF) != OPTIMAL:
                return False
            for j in range(self.n_features):
                if self.piece_pulled[j]:
                    self.box[j] = max(abs(trial.z[j]), self.lower[j])
                else:
                    self.box[j] = self.upper[j]
            if self.budget is None or self.budget.met(trial, self.box):
                self.accept(trial)
                return True
        return False

    def satisfied(self, values: Vector, item: int, side: int) -> bool:
        """Whether a point of D satisfies what a side implies."""
        k = self.dual_row[item, side]
        if k < 0:
            return True
        if self.sense[item, side] > 0:
            return values[k] >= self.value[item, side] - NO_PULL
        return values[k] <= self.value[item, side] + NO_PULL
