"""The conflict-driven branch and bound.

A complementarity off its breakpoint has two branches. To *fix* it is to keep P's row on its side
and D's at the bound which that side implies; to *cross* it is to keep P's row on the other side,
the breakpoint included, with D's left free. Together they cover everything. At a node:

1. Solve P, pruning the node at the cutoff, then D, pruning it if infeasible.
2. For every complementarity off its breakpoint, bound P after crossing it by strong branching, or
   estimate that bound by pseudo-costs. A bound at the cutoff: fix the complementarity for good.
   D is asked again on the way; once it is infeasible, the rest need no bounds.
3. Look for a conflict among the others, one of large bounds. None: the multipliers found prove
   ``u``, the best point of this node, a new incumbent. Members that were only estimated are bounded
   on the way.
4. A conflict of one: cross it and start again. Otherwise child ``r`` fixes the first ``r − 1``
   complementarities of the conflict and crosses the ``r``-th.

The child with the lowest bound comes next, down to a node without children; which node is next
then, `OpenNodes` decides.

With a `BudgetCondition` an incumbent must also use up its training budget. P then carries the cuts
of that condition, and a ``u`` that passes step 3 but fails the condition makes the node sharpen the
cuts, or branch where they are loosest: on the side of a training point, on the sign of a weight, or
on a pair of its own for each feature, behind the others. Fixed, the box of ``w_j`` is binding, so
that it ends at ``|w_j|``; crossed, its reduced cost is 0. Cuts are sharpened by new multipliers and
by bounds on weights and margins that all models better than the incumbent obey.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pessimal.lp.codes import CUT_OFF, INFEASIBLE, STALLED
from pessimal.lp.simplex import Simplex
from pessimal.lp.watch import Watch
from pessimal.solvers.search.budget import BudgetCondition
from pessimal.solvers.search.complementarities import ABOVE, BELOW, Conditions
from pessimal.solvers.search.conflicts import (
    NO_CONFLICT,
    NO_MULTIPLIERS,
    UNKNOWN,
    ConflictFinder,
)
from pessimal.solvers.search.heuristic import Incumbent
from pessimal.solvers.search.node import Node, OpenNode, OpenNodes
from pessimal.solvers.search.strong_branching import StrongBranching
from pessimal.tolerances import AT_BREAKPOINT, CUTOFF, REDUCED_COST

INF = np.inf
FIXED_BETWEEN_CHECKS = 4  # pairs fixed by strong branching before D is asked again
NARROWEST = 1e-4  # a new bound is this far from P's point, so that a chord is loose or exact


class Tree:
    """Search for the best inner-optimal ``u``; resumable after any node.

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
        self.pairs = conditions.pairs
        self.n_features = len(conditions.upper)
        self.nodes = 0
        self.begun = False
        self.finished = False
        self.unresolved = 0
        self.unresolved_bound = INF
        self.narrowed = False
        self.multiplier_column = len(conditions.point_row)
        self.multiplier_cap = INF
        self.watch = Watch() if watch is None else watch
        self.open = OpenNodes(conditions, self.watch)
        self.root = Simplex(conditions.primal, self.watch)
        self.root.solve(INF)
        self.incumbent = Incumbent(conditions, self.root, budget, self.watch)

    def advance(self, n_nodes: int) -> bool:
        """Examine up to `n_nodes` nodes; return whether any is left."""
        if not self.begun:
            root = self.open.take()
            if root is None:
                self.nodes = 1
                self.finished = self.begun = True
                self.leave_open(self.root.objective)
                return False
            # Not before: many a problem ends with the heuristic.
            self.begin()
            self.node = root
            self.node.primal.copy_from(self.root)
            self.begun = True
        for _ in range(n_nodes):
            if self.finished or self.watch.over:
                break
            self.nodes += 1
            self.examine(self.node)
            self.finished = not self.descend()
        return not self.finished

    def begin(self) -> None:
        """Make what examining nodes takes."""
        self.strong = StrongBranching(self.conditions, self.incumbent, self.watch)
        self.conflicts = ConflictFinder(self.conditions, self.strong, self.watch)
        self.trial_dual = Simplex(self.conditions.dual, self.watch)

    def begin_from(self, nodes: list[OpenNode], costs: NDArray[np.float64]) -> None:
        """Begin from open nodes of another tree, the last one first, and its pseudo-costs."""
        self.begin()
        self.strong.pseudo_costs.begin_from(costs)
        self.open.dive_end = 0
        first = self.open.take()
        for bound, decided in nodes:
            node = self.open.take()
            if node is None:
                self.leave_open(bound)
            else:
                node.wait(self.root, bound, decided)
                self.open.add(node)
        if first is not None:
            self.node = first
        self.finished = first is None or not self.descend()
        self.begun = True

    def open_nodes(self) -> list[OpenNode]:
        """Return all open nodes, as data."""
        nodes = self.open.children()
        if not self.finished:
            nodes.append(OpenNode(self.node.primal.objective, self.node.decided()))
        return nodes

    def pseudo_costs(self) -> NDArray[np.float64]:
        """Return what crossing pairs has cost, as data."""
        return self.strong.pseudo_costs.sums()

    def cap_multiplier(self, cap: float) -> None:
        """Have λ no larger than `cap` in every node from now on, if the losses are weighted."""
        self.multiplier_cap = min(self.multiplier_cap, cap)

    def open_bound(self) -> float:
        """Return the smallest bound of a node not yet examined, or left unresolved."""
        if not self.begun:
            return self.root.objective
        bound = min(self.unresolved_bound, self.open.bound())
        if not self.finished:
            # The node to be examined next carries its parent's bound for it.
            bound = min(bound, self.node.primal.objective)
        return bound

    def descend(self) -> bool:
        """Set up the next open child; False when the tree is done."""
        cutoff = self.incumbent.best - CUTOFF
        parent: Node | None = self.node
        if self.node.has_children(cutoff):
            self.open.add(self.node)
        else:
            self.open.release(self.node)
            parent = self.open.next(cutoff)
        while parent is not None:
            bound = parent.next_bound()
            child = self.open.take()
            parent.n_children -= 1
            if child is None:
                self.leave_open(bound)
            else:
                child.become_child(parent, parent.n_children)
            if parent.n_children == 0:
                self.open.release(parent)
            if child is not None:
                self.node = child
                return True
            parent = self.open.next(cutoff)
        return False

    def examine(self, node: Node) -> None:
        """Prune the node, find an incumbent in it, or give it children."""
        self.narrowed = False
        if self.multiplier_cap < INF:
            k = self.multiplier_column
            node.dual.set_bounds(k, 0.0, min(node.dual.high[k], self.multiplier_cap))
        while True:
            if self.budget is not None:
                self.budget.write_cuts(node.primal, node.binding)
            status = node.primal.solve(self.incumbent.best - CUTOFF)
            if status == INFEASIBLE or status == CUT_OFF:
                return
            if status == STALLED:
                self.leave_open(node.primal.objective)
                return
            if node.dual.solve(INF) == INFEASIBLE:
                return
            if not (self.fix_by_one_step(node) and self.strong_branch(node)):
                return
            size = self.find_conflict(node)
            if size == NO_MULTIPLIERS:
                return
            if size == UNKNOWN:
                self.leave_open(node.primal.objective)
                return
            if size == NO_CONFLICT:
                multipliers = self.conflicts.trial.z
                self.incumbent.widest_box(node.primal, multipliers)
                if self.budget is None or self.budget.satisfied(node.primal, self.incumbent.box):
                    # In the piece of the multipliers u holds exactly, not to AT_BREAKPOINT.
                    if not self.incumbent.try_multipliers(multipliers):
                        self.incumbent.accept(node.primal)
                    return
                if self.branch_on_budget(node):
                    return
            elif size == 1:
                node.cross(node.pair[0], node.side[0])
            else:
                node.n_children = size
                return

    def leave_open(self, bound: float) -> None:
        """Give up on a node; its bound stays part of the tree's bound."""
        self.unresolved += 1
        self.unresolved_bound = min(self.unresolved_bound, bound)

    def fix_by_one_step(self, node: Node) -> bool:
        """Fix the pairs that one step of P shows cannot be crossed; False: no multipliers are left.

        That takes little, and closes many a node before strong branching, which takes most.
        """
        fixed = False
        for pair in range(self.pairs.n_pairs):
            off = node.primal.z[self.pairs.row[pair]] - self.pairs.breakpoint[pair]
            if abs(off) <= AT_BREAKPOINT:
                continue
            side = ABOVE if off > 0.0 else BELOW
            if self.pairs.implied(node.dual, pair, side):
                continue
            if self.strong.first_bound(node, pair, side) == INF:
                node.fix(pair, side)
                fixed = True
        return not fixed or node.dual.solve(INF) != INFEASIBLE

    def strong_branch(self, node: Node) -> bool:
        """Make candidates of the pairs that may be crossed, fix the others for good.

        Of some pairs only, when the watch says stop. Return False if no multipliers are left.
        """
        primal = node.primal
        self.conflicts.n = 0
        n_fixed = 0
        for pair in range(self.pairs.n_pairs):
            if self.watch.stops(primal.m * primal.q):
                return True
            off = primal.z[self.pairs.row[pair]] - self.pairs.breakpoint[pair]
            if abs(off) <= AT_BREAKPOINT:
                continue
            side = ABOVE if off > 0.0 else BELOW
            if self.pairs.implied(node.dual, pair, side):
                continue
            # With a budget, pieces are told apart by the sides that are fixed: estimates fix none.
            estimated = self.budget is None and self.strong.pseudo_costs.reliable(pair, side)
            if estimated:
                bound = self.strong.first_bound(node, pair, side)
            else:
                bound = self.strong.crossing_bound(node, pair, side)
            if bound == INF:
                node.fix(pair, side)
                n_fixed += 1
                if n_fixed % FIXED_BETWEEN_CHECKS == 0 and node.dual.solve(INF) == INFEASIBLE:
                    return False
                continue
            if estimated:
                growth = self.strong.pseudo_costs.estimate(pair, side, abs(off))
                bound = max(bound, primal.objective + growth)
            self.conflicts.add(pair, side, bound, estimated)
        return True

    def find_conflict(self, node: Node) -> int:
        """Find a conflict whose members have bounds, not estimates.

        Return its size, or `NO_CONFLICT`, `UNKNOWN`, `NO_MULTIPLIERS` if D is infeasible as it is.
        """
        status = node.dual.solve(INF)
        if status == INFEASIBLE:
            return NO_MULTIPLIERS
        if status == STALLED or self.watch.over:
            return UNKNOWN
        return self.conflicts.find(node)

    def branch_on_budget(self, node: Node) -> bool:
        """Sharpen the cuts (False: solve again) or branch where they are loosest (True)."""
        cut = self.budget.last
        if not self.narrowed:
            # Once: bounds and cuts could sharpen each other for ever.
            self.narrowed = True
            self.narrow(node)
        if self.budget.separates(cut, node.primal, node.binding):
            return False
        self.incumbent.try_multipliers(self.conflicts.trial.z)
        if node.primal.objective >= self.incumbent.best - CUTOFF:
            return True
        self.mark_binding(node)
        if self.budget.separates(cut, node.primal, node.binding):
            return False
        self.branch_on_loosest(node, cut)
        return True

    def narrow(self, node: Node) -> None:
        """Bound weights and training margins by how far P gets below the cutoff.

        Chords over narrow bounds are close to their hinges, so that the cuts separate more.
        """
        primal = node.primal
        gap = self.incumbent.best - CUTOFF - primal.objective
        for k in range(self.n_features + 1 + self.budget.n_train):
            if k == self.n_features:
                continue  # b has no chord
            low = primal.z[k] - primal.reach(k, -1, gap) - NARROWEST
            high = primal.z[k] + primal.reach(k, 1, gap) + NARROWEST
            primal.set_bounds(k, max(low, primal.low[k]), min(high, primal.high[k]))

    def mark_binding(self, node: Node) -> None:
        """Find the weights whose reduced cost is 0 for no multipliers of this node."""
        trial = self.trial_dual
        for j in range(self.n_features):
            k = node.reduced_cost_row + j
            if self.watch.stops(trial.m * trial.q):
                return
            if not node.binding[j] and abs(self.conflicts.trial.z[k]) > REDUCED_COST:
                trial.copy_from(node.dual)
                trial.set_bounds(k, 0.0, 0.0)
                if trial.solve(INF) == INFEASIBLE:
                    node.binding[j] = 1

    def branch_on_loosest(self, node: Node, cut: int) -> None:
        """Branch on what makes a cut loosest."""
        self.incumbent.widest_box(node.primal, self.conflicts.trial.z)
        k = self.budget.loosest(cut, node.primal, node.binding, self.incumbent.box)
        if k < 0:
            self.leave_open(node.primal.objective)
        elif k < self.n_features and not node.binding[k]:
            node.branch(self.pairs.n_pairs + k, ABOVE)
        else:
            pair = self.pairs.undecided(node.primal, k)
            above = node.primal.z[k] >= self.pairs.breakpoint[pair]
            node.branch(pair, ABOVE if above else BELOW)
