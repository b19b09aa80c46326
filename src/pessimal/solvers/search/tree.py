"""The conflict-driven tree.

At a node:

1. Solve P, closing the node at the cutoff, then D, closing it if infeasible.
2. For every item off its breakpoint, bound P after flipping it. At the cutoff: keep it for good.
3. Look for a conflict among the others. None: the multipliers found prove ``u``, the best point of
   this node, a new incumbent.
4. A conflict of one item: flip it and start again. Otherwise the items of the conflict make the
   children, searched depth first, lowest bound first.

With a `BudgetCondition` an incumbent must also use up its training budget. P then carries that
condition's rows, and a ``u`` that passes step 3 but fails the condition makes the node sharpen the
rows, or branch where they are loosest: on the side of a training point, on the sign of a weight, or
on whether a weight is pulled at all.
"""

from __future__ import annotations

import numpy as np

from pessimal.lp.codes import CUT_OFF, INFEASIBLE, STALLED
from pessimal.lp.simplex import Simplex
from pessimal.lp.watch import Watch
from pessimal.solvers.search.budget import BudgetCondition
from pessimal.solvers.search.codes import ABOVE, BELOW, NO_CONFLICT, PULL, UNKNOWN
from pessimal.solvers.search.conflict import ConflictFinder
from pessimal.solvers.search.incumbent import Incumbent
from pessimal.solvers.search.items import Conditions
from pessimal.solvers.search.node import Node
from pessimal.tolerances import AT_BREAKPOINT, CUTOFF, NO_PULL

INF = np.inf
FLIP_STEPS = 20  # steps spent on the bound of one flip
STACK_BYTES = 2**30  # memory for the dictionaries on the way from the root to a node


class Tree:
    """Depth-first search for the best inner-optimal ``u``; resumable after any node.

    When the watch says stop, a node that is being examined stays open with the bound it has.
    """

    def __init__(
        self,
        conditions: Conditions,
        budget: BudgetCondition | None = None,
        watch: Watch | None = None,
    ) -> None:
        self.conditions = conditions
        self.budget = budget
        self.sides = conditions.items
        self.n_features = len(conditions.upper)
        self.pull_row = conditions.pull_row
        self.nodes = 0
        self.depth = 0
        self.unresolved = 0
        self.unresolved_bound = INF
        self.watch = Watch() if watch is None else watch
        self.max_depth = STACK_BYTES // (conditions.primal.A.nbytes + conditions.dual.A.nbytes)
        self.root = Simplex(conditions.primal, self.watch)
        self.root.solve(INF)
        self.incumbent = Incumbent(conditions, self.root, budget, self.watch)
        self.levels: list[Node] = []

    def advance(self, n_nodes: int) -> bool:
        """Examine up to `n_nodes` nodes; return whether any is left."""
        if self.nodes == 0:
            if self.max_depth == 0:
                self.nodes = 1
                self.depth = -1
                self.leave_open(self.root.objective)
                return False
            # Not before: many a problem ends with the heuristic.
            self.conflicts = ConflictFinder(self.conditions, self.watch)
            self.trial_primal = Simplex(self.conditions.primal, self.watch)
            self.trial_dual = Simplex(self.conditions.dual, self.watch)
            self.level(0).primal.copy_from(self.root)
        for _ in range(n_nodes):
            if self.depth < 0 or self.watch.over:
                break
            self.nodes += 1
            self.examine(self.level(self.depth))
            if not self.descend():
                break
        return self.depth >= 0

    def open_bound(self) -> float:
        """Return the smallest bound of a node not yet examined, or left unresolved."""
        if self.nodes == 0:
            return self.root.objective
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
            self.levels.append(Node(self.conditions, self.watch))
        return self.levels[depth]

    def descend(self) -> bool:
        """Set up the next open child; False when the tree is done."""
        while self.depth >= 0:
            node = self.level(self.depth)
            while node.n_children > 0:
                last = node.n_children - 1
                node.n_children = last
                if node.bound[last] >= self.incumbent.best - CUTOFF:
                    continue
                if self.depth + 1 >= self.max_depth:
                    self.leave_open(node.bound[last])
                else:
                    child = self.level(self.depth + 1)
                    child.copy_from(node)
                    for c in range(last):
                        child.keep(node.item[c], node.side[c])
                    child.flip(node.item[last], node.side[last])
                    child.primal.objective = node.bound[last]
                    self.depth += 1
                    return True
            self.depth -= 1
        return False

    def examine(self, node: Node) -> None:
        """Close the node, find an incumbent in it, or give it children."""
        while True:
            if self.budget is not None:
                self.budget.write(node.primal, node.pulled)
            status = node.primal.solve(self.incumbent.best - CUTOFF)
            if status == INFEASIBLE or status == CUT_OFF:
                return
            if status == STALLED:
                self.leave_open(node.primal.objective)
                return
            if node.dual.solve(INF) == INFEASIBLE:
                return
            self.collect(node)
            status = node.dual.solve(INF)
            if status == INFEASIBLE:
                return
            size = UNKNOWN
            if status != STALLED and not self.watch.over:
                size = self.conflicts.find(node)
            if size == UNKNOWN:
                self.leave_open(node.primal.objective)
                return
            if size == NO_CONFLICT:
                multipliers = self.conflicts.trial.z
                self.incumbent.widest_box(node.primal, multipliers)
                if self.budget is None or self.budget.met(node.primal, self.incumbent.box):
                    # In the piece of the multipliers u holds exactly, not to AT_BREAKPOINT.
                    if not self.incumbent.try_multipliers(multipliers):
                        self.incumbent.accept(node.primal)
                    return
                if self.branch_on_budget(node):
                    return
            elif size == 1:
                node.flip(node.item[0], node.side[0])
            else:
                node.n_children = size
                return

    def leave_open(self, bound: float) -> None:
        """Give up on a node; its bound stays part of the tree's bound."""
        self.unresolved += 1
        self.unresolved_bound = min(self.unresolved_bound, bound)

    def collect(self, node: Node) -> None:
        """Make candidates of the items that may flip, keep the others for good.

        Of some items only, when the watch says stop.
        """
        self.conflicts.clear()
        for item in range(self.sides.n_items):
            if self.watch.stops(self.trial_primal.m * self.trial_primal.q):
                return
            off = node.primal.z[self.sides.row[item]] - self.sides.breakpoint[item]
            if abs(off) <= AT_BREAKPOINT:
                continue
            side = ABOVE if off > 0.0 else BELOW
            if self.sides.imposed(node.dual, item, side):
                continue
            bound = self.bound_flipped(node, item, side)
            if bound == INF:
                node.keep(item, side)
            else:
                self.conflicts.add(item, side, bound)

    def bound_flipped(self, node: Node, item: int, side: int) -> float:
        """Bound of P after flipping an item; infinite from the cutoff on."""
        cut = self.incumbent.best - CUTOFF
        k = self.sides.row[item]
        at = self.sides.breakpoint[item]
        low = node.primal.low[k] if side == ABOVE else at
        high = at if side == ABOVE else node.primal.high[k]
        if low > high or node.primal.bound_after(k, low, high) >= cut:
            return INF
        trial = self.trial_primal
        trial.copy_from(node.primal)
        trial.set_bounds(k, low, high)
        # The objective is a bound at every step; ties are not worth settling for one.
        status = trial.iterate(cut, FLIP_STEPS, False)
        if status == INFEASIBLE or status == CUT_OFF:
            return INF
        return trial.objective

    def branch_on_budget(self, node: Node) -> bool:
        """Sharpen the budget rows (False: solve again) or branch where they are loosest (True)."""
        cut = self.budget.last
        if self.budget.separates(cut, node.primal, node.pulled):
            return False
        self.incumbent.try_multipliers(self.conflicts.trial.z)
        if node.primal.objective >= self.incumbent.best - CUTOFF:
            return True
        self.mark_pulled(node)
        if self.budget.separates(cut, node.primal, node.pulled):
            return False
        self.split_loosest(node, cut)
        return True

    def mark_pulled(self, node: Node) -> None:
        """Find the weights that every multiplier of this node pulls."""
        trial = self.trial_dual
        for j in range(self.n_features):
            k = self.pull_row + j
            if self.watch.stops(trial.m * trial.q):
                return
            if not node.pulled[j] and abs(self.conflicts.trial.z[k]) > NO_PULL:
                trial.copy_from(node.dual)
                trial.set_bounds(k, 0.0, 0.0)
                if trial.solve(INF) == INFEASIBLE:
                    node.pulled[j] = 1

    def split_loosest(self, node: Node, cut: int) -> None:
        """Branch on what makes a budget row loosest."""
        self.incumbent.widest_box(node.primal, self.conflicts.trial.z)
        if not self.budget.loosest(cut, node.primal, node.pulled, self.incumbent.box):
            self.leave_open(node.primal.objective)
        elif self.budget.kind == PULL:
            node.split(self.sides.n_items + self.budget.index, ABOVE)
        else:
            item = self.sides.undecided(node.primal, self.budget.index)
            above = node.primal.z[self.budget.index] >= self.sides.breakpoint[item]
            node.split(item, ABOVE if above else BELOW)
