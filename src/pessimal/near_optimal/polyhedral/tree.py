"""Branch and bound on the validation points: the largest loss over a set of models.

The sum of the losses over V is not concave, so its maximum is sought over the two pieces of every
point (`point_losses`). Where an envelope is furthest above its loss the set is split at
``margin_k = θ``, the breakpoint; on either side that envelope is exact. Ascents (`ascent`) and
ranges found before the first split (`root_ranges`) leave little to exclude.

A tree that has grown all the same starts again, and finds the ranges again in every node that
stays open, again among models with a larger loss than the largest met. A split then narrows the
ranges of all points, and a hundred such nodes do the work of hundreds of thousands.
"""

from __future__ import annotations

import numpy as np

from pessimal.lp.codes import CUT_OFF, INFEASIBLE, OPTIMAL, STALLED
from pessimal.near_optimal.polyhedral.ascent import Ascent
from pessimal.near_optimal.polyhedral.models import Models
from pessimal.near_optimal.polyhedral.point_losses import PointLosses
from pessimal.near_optimal.polyhedral.root_ranges import RootRanges
from pessimal.problem import Vector
from pessimal.tolerances import CUTOFF, LP_FEASIBILITY

INF = np.inf
PLAIN_NODES = 1000  # before ranges are found again in every node, which costs as much as a hundred
MOST_FRAMES = 100  # levels at which they are
ENOUGH_SHRUNK = 0.8  # nodes whose envelopes kept this share of their excess are left as they are
FEW_ROUNDS = 6  # of cutting, for such a range: a bound will do
ENDS_PER_CUT = 20  # ends of ranges that are found again before narrower chords make another cut
REACHED = 0.05  # ranges that models reach to within this share of their width are left as they are
PROMISING = 0.9  # ascent starts from a point that has this share of the largest loss so far


class LossTree:
    """Depth-first search for the worst of the models; resumable after any range and any node.

    `start`, then `narrow` until all ranges are found, then `advance` until no node is left. The
    search is over once a loss of `enough` is met. Losses that differ by less than `step` are the
    same.
    """

    def __init__(
        self,
        models: Models,
        forms: Models,
        weight: Vector,
        threshold: float,
        counts: bool,
        step: float,
    ) -> None:
        n = models.n_val
        self.models = models
        self.step = step
        self.least_gain = max(CUTOFF, step - CUTOFF)
        self.losses = PointLosses(models, weight, threshold, counts)
        self.ascent = Ascent(models, self.losses)
        self.ranges = RootRanges(forms, self.losses, self.ascent, self.least_gain)
        self.enough = INF
        self.nodes = 0
        self.closed_bound = -INF  # largest bound of a node that was closed or given up
        # The open levels: which point is split, its range, the bound, and how many of its two
        # children have begun, the lower side first or last. One more node may wait below them.
        self.waiting = False
        self.depth = 0
        self.split = np.zeros(n + 1, np.intp)
        self.split_low = np.zeros(n + 1)
        self.split_high = np.zeros(n + 1)
        self.below_first = np.zeros(n + 1, np.intp)
        self.begun = np.zeros(n + 1, np.intp)
        self.bound = np.zeros(n + 1)
        # Where ranges are found again: those of each level, and how far envelopes may exceed losses
        # in the node at hand, before and after.
        self.plain_nodes = PLAIN_NODES
        self.tightens = False
        self.again = False
        self.excess = INF
        self.least = np.zeros(n)  # margins of the models that were met on the way
        self.most = np.zeros(n)
        self.excess_left = np.zeros(n)  # by envelopes whose ranges have not been found again yet
        frames = min(n, MOST_FRAMES)
        self.level_low = np.zeros((frames, n))
        self.level_high = np.zeros((frames, n))

    def start(self, enough: float) -> None:
        """Begin anew at the root of the set that the models hold now."""
        self.enough = enough
        self.nodes = 0
        self.closed_bound = -INF
        self.depth = 0
        self.waiting = True
        self.tightens = False
        self.ranges.start()
        self.ascent.start()

    def narrow(self) -> bool:
        """Find the range of one more validation margin; return whether to call again."""
        more = self.ranges.narrow(self.enough)
        if self.ranges.empty:
            self.give_up_larger_losses()
            self.waiting = False
        return more

    def give_up_larger_losses(self) -> None:
        """Take note that no model that is left loses more than the largest loss met."""
        self.closed_bound = max(self.closed_bound, self.ascent.best + LP_FEASIBILITY)

    def advance(self, n_nodes: int) -> bool:
        """Examine up to `n_nodes` nodes; return whether any is left."""
        for _ in range(n_nodes):
            if not self.waiting or self.ascent.best >= self.enough:
                return False
            if self.nodes >= self.plain_nodes and not (self.tightens or self.losses.counts):
                self.start_again()
            self.nodes += 1
            if not self.examine():
                return True
            if not self.again:
                self.waiting = self.next_child()
        return self.waiting and self.ascent.best < self.enough

    def start_again(self) -> None:
        """Go back to the root, with what is proved by now, and tighten ranges from there on."""
        self.ranges.bound = min(self.ranges.bound, self.upper_bound())
        self.ranges.restore()
        self.depth = 0
        self.waiting = True
        self.tightens = True
        self.excess = INF

    def examine(self) -> bool:
        """Bound the loss in the current node; open a level if it may exceed the largest met.

        Returns whether there was time for it; if not, the node goes on waiting.
        """
        models = self.models
        self.again = False
        self.losses.set_envelope_costs()
        status = models.optimise(self.losses.constant - self.ascent.best - self.least_gain)
        if status == INFEASIBLE:
            return True
        parent = self.bound[self.depth - 1] if self.depth > 0 else self.ranges.upper_bound()
        bound = min(parent, self.losses.constant - models.objective)
        if status == STALLED and models.watch.over:
            self.ascent.evaluate(models.share)
            if self.depth == 0:
                self.ranges.bound = bound
            return False
        k = -1 if status == CUT_OFF else self.losses.loosest()
        if k >= 0:
            self.split[self.depth] = k
            self.below_first[self.depth] = models.z[models.q + k] < self.losses.threshold
            self.begun[self.depth] = 0
            self.bound[self.depth] = bound
        if status != CUT_OFF:
            loss = self.ascent.evaluate(models.share)
            if loss > PROMISING * self.ascent.best:
                self.ascent.ascend(loss)
        if not (k >= 0 and status == OPTIMAL and bound > self.ascent.best + self.least_gain):
            self.closed_bound = max(self.closed_bound, bound)
            return True
        if self.tightens and self.depth < self.level_low.shape[0]:
            excess = self.losses.excess()
            if excess <= ENOUGH_SHRUNK * self.excess:
                self.excess = excess
                self.again = self.tighten()
                if not self.again:  # no model is left that loses more
                    self.give_up_larger_losses()
                return True
            for i in range(models.n_val):
                self.level_low[self.depth, i] = models.low[models.q + i]
                self.level_high[self.depth, i] = models.high[models.q + i]
        self.split_low[self.depth] = models.low[models.q + k]
        self.split_high[self.depth] = models.high[models.q + k]
        self.depth += 1
        return True

    def tighten(self) -> bool:
        """Find the ranges of the node again; return whether a model may have a larger loss.

        Those come first that let envelopes exceed losses most. Narrower, they make another
        objective cut, and what is found after that is narrower still.
        """
        models = self.models
        for k in range(models.n_val):
            self.least[k] = INF
            self.most[k] = -INF
            self.excess_left[k] = self.losses.excess_of_point(k)
        left = True
        rounds = models.rounds
        models.rounds = FEW_ROUNDS
        since_cut = ENDS_PER_CUT
        while left and not models.watch.over:
            k = 0
            for i in range(models.n_val):
                if self.excess_left[i] > self.excess_left[k]:
                    k = i
            if self.excess_left[k] <= 0.0:
                break
            self.excess_left[k] = 0.0
            if since_cut >= ENDS_PER_CUT:
                since_cut = 0
                self.losses.cut_off(self.ascent.best)
            row = models.q + k
            for side in range(2):
                low = models.low[row]
                high = models.high[row]
                slack = self.least[k] - low if side == 0 else high - self.most[k]
                if slack <= REACHED * (high - low):
                    continue
                sign = 1.0 if side == 0 else -1.0
                models.set_cost(row, sign, sign, 0.0)
                models.reprice(False)
                status = models.optimise(INF)
                since_cut += 1
                if status == INFEASIBLE:
                    left = False
                    break
                if status == OPTIMAL:
                    for i in range(models.n_val):
                        self.least[i] = min(self.least[i], models.z[models.q + i])
                        self.most[i] = max(self.most[i], models.z[models.q + i])
                end = min(max(low, sign * models.objective), high)
                models.set_bounds(row, end if side == 0 else low, high if side == 0 else end)
                self.ascent.evaluate(models.share)
            models.set_cost(row, 0.0, 0.0, 0.0)
        models.drop_objective_cut()
        models.rounds = rounds
        return left

    def next_child(self) -> bool:
        """Put the next child in place; return whether there is one."""
        models = self.models
        while self.depth > 0:
            level = self.depth - 1
            k = self.split[level]
            pruned = self.bound[level] <= self.ascent.best + self.least_gain
            if self.begun[level] == 2 or pruned:
                if self.begun[level] < 2:
                    self.closed_bound = max(self.closed_bound, self.bound[level])
                models.set_bounds(models.q + k, self.split_low[level], self.split_high[level])
                self.depth -= 1
                continue
            if self.tightens and level < self.level_low.shape[0]:
                for i in range(models.n_val):
                    low = self.level_low[level, i]
                    models.set_bounds(models.q + i, low, self.level_high[level, i])
            if self.below_first[level] != self.begun[level]:
                models.set_bounds(models.q + k, self.split_low[level], self.losses.threshold)
            else:
                models.set_bounds(models.q + k, self.losses.threshold, self.split_high[level])
            self.begun[level] += 1
            self.excess = INF
            return True
        return False

    def upper_bound(self) -> float:
        """No model of the set has a larger loss than this."""
        bound = max(self.ascent.best, self.closed_bound)
        if self.waiting and self.depth == 0:
            return max(bound, self.ranges.upper_bound())
        for level in range(self.depth):
            if self.begun[level] < 2 or (self.waiting and level == self.depth - 1):
                bound = max(bound, self.bound[level])
        return bound
