"""Branch and bound on the validation points: the largest loss over a set of models.

The loss of a point depends on its margin and has one breakpoint θ, above which it is 0. Below, the
hinge is ``θ − margin`` (θ = 1), and a counted point costs 1 (θ = 0: a wrong label). The sum over V
is not concave, so its maximum is sought over the two pieces of every point. With
``low_k ≤ margin_k ≤ high_k`` over the set (two linear programs per point), a loss is at most its
*concave envelope* over that range, and the sum of envelopes is a linear program that bounds the
loss. Where the envelope is furthest above its loss the set is split at ``margin_k = θ``; on either
side that envelope is exact.

Every optimum of a linear program, or a point on the way to it, is a model of the set, so its loss
is attained. From a promising one, *ascent* holds the active hinges fixed, solves the linear program
and repeats: rarely is anything better left for the tree to find, only to be excluded. What is left
to exclude are models with a larger loss than the largest met; that shrinks the ranges once more,
before the first split.

A tree that has grown all the same starts again, and finds the ranges again in every node that
stays open, again among models with a larger loss than the largest met. A split then narrows the
ranges of all points, and a hundred such nodes do the work of hundreds of thousands.

With hundreds of points the ranges take longer than anyone may want to wait, so they are found one
point at a time, and coarse ones will do for the rest.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pessimal.lp.codes import CUT_OFF, INFEASIBLE, OPTIMAL, STALLED
from pessimal.near_optimal.polyhedral.models import Models
from pessimal.problem import Vector
from pessimal.tolerances import CUTOFF, LP_FEASIBILITY

INF = np.inf
MOST_SHRINKS = 6  # times the ranges are found again, given the largest loss met
ENOUGH_SHRUNK = 0.8  # ranges that kept this share of their width are left as they are
TIMES_NEARER = 2  # that a count climbs along fewer points,
NEARER = 0.4  # those within this part of the reach
PLAIN_NODES = 1000  # before ranges are found again in every node, which costs as much as a hundred
MOST_FRAMES = 100  # levels at which they are
FEW_ROUNDS = 6  # of cutting, for such a range: a bound will do
ENDS_PER_CUT = 20  # ends of ranges that are found again before narrower chords make another cut
REACHED = 0.05  # ranges that models reach to within this share of their width are left as they are
PROMISING = 0.9  # ascent starts from a point that has this share of the largest loss so far


class LossTree:
    """Depth-first search for the worst of the models; resumable after any range and any node.

    `start`, then `narrow` until all ranges are found or `hold` what there is of them, then
    `advance` until no node is left. `best` is the largest loss met, `u` its model. The search is
    over once `best` reaches `enough`. Losses that differ by less than `step` are the same.
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
        self.forms = forms  # the same set without rows for V, which finds ranges sooner
        self.weight = weight
        self.threshold = threshold
        self.counts = counts
        self.step = step
        self.least_gain = max(CUTOFF, step - CUTOFF)
        self.best = -INF
        self.enough = INF
        self.u = np.zeros(models.q)
        self.nodes = 0
        self.closed_bound = -INF  # largest bound of a node that was closed or given up
        self.widest = 0.0  # how far envelopes may exceed their losses, in all
        self.root_bound = INF  # what they add up to at most, before the first node
        # Where the ranges are being found: how often they have been shrunk, the next point, and
        # the largest loss from which ascent has started this time.
        self.shrinks = 0
        self.point = 0
        self.promising = -INF
        self.constant = 0.0  # the envelopes are this less the costs of the linear program
        self.cost = np.zeros(n)
        self.low = np.zeros(n)
        self.high = np.zeros(n)
        self.found = np.zeros(n, np.intp)  # whether its range over the whole set was given
        self.inner_margin = np.zeros(n)
        self.margin = np.zeros(n)  # of the model judged last
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
        """Begin anew at the root of the set that the models hold now, with its inner model."""
        models = self.models
        self.best = -INF
        self.enough = enough
        self.nodes = 0
        self.closed_bound = -INF
        self.depth = 0
        self.waiting = True
        self.tightens = False
        self.widest = INF
        self.root_bound = INF
        self.shrinks = 0
        self.point = 0
        self.promising = -INF
        for k in range(models.n_val):
            self.low[k] = models.low[models.q + k]
            self.high[k] = models.high[models.q + k]
            self.found[k] = 0
            self.inner_margin[k] = 0.0
            for j in range(models.q):
                self.inner_margin[k] += models.A[k, j] * models.inner[j]
        self.evaluate(0.0)

    def know(self, low: Vector, high: Vector, found: NDArray[np.intp]) -> None:
        """Take ranges over the whole set; those that were `found` need not be found again."""
        for k in range(self.models.n_val):
            self.low[k] = max(self.low[k], low[k])
            self.high[k] = min(self.high[k], high[k])
            self.found[k] = found[k]

    def ascend_from(self, u: Vector) -> None:
        """Evaluate a model of the set, and ascend from it."""
        self.take_margins(u)
        loss = self.judge()
        if loss == self.best:
            self.keep(u, 1.0)
        self.ascend(loss)

    def take_margins(self, u: Vector) -> None:
        """Let the margins be those of a model."""
        models = self.models
        for k in range(models.n_val):
            self.margin[k] = 0.0
            for j in range(models.q):
                self.margin[k] += models.A[k, j] * u[j]

    def climb(self) -> None:
        """Ascend from the model that is worst if all hinges count, as linear functions."""
        for k in range(self.models.n_val):
            self.margin[k] = -INF
        self.ascend(0.0)

    def narrow(self) -> bool:
        """Find the range of one more validation margin; return whether to call again."""
        models = self.models
        if self.best >= self.enough:
            self.forms.drop_objective_cut()
            return False
        if self.point < models.n_val:
            self.waiting = self.find_range(self.point)
            self.point += 1
            if not self.waiting:  # no model is left that loses more
                self.closed_bound = max(self.closed_bound, self.best + LP_FEASIBILITY)
                self.forms.drop_objective_cut()
            return self.waiting
        before = self.widest
        self.keep_ranges()
        if (
            self.counts
            or self.shrinks == MOST_SHRINKS
            or self.widest == 0.0
            or (self.shrinks > 0 and self.widest > ENOUGH_SHRUNK * before)
        ):
            self.forms.drop_objective_cut()
            return False
        self.exclude_smaller_losses()
        if self.root_bound <= self.best + self.least_gain:
            self.forms.drop_objective_cut()
            return False
        self.shrinks += 1
        self.point = 0
        self.promising = -INF
        return True

    def hold(self, low: Vector, high: Vector) -> None:
        """Find no more ranges: where none was found these hold, and are coarse."""
        for k in range(self.models.n_val):
            self.low[k] = max(self.low[k], low[k])
            self.high[k] = min(self.high[k], high[k])
        self.keep_ranges()
        self.forms.drop_objective_cut()

    def exclude_smaller_losses(self) -> None:
        """Ask of the models that the sum of chords reach the largest loss met.

        The largest sum is a bound on the loss already, long before the first node if time is short.
        """
        models = self.models
        self.set_envelope_costs()
        at_most = self.chords(self.forms) - self.best
        if models.optimise(INF) != INFEASIBLE:
            self.root_bound = min(self.root_bound, self.constant - models.objective)
        self.forms.add_objective_cut(at_most)

    def chords(self, models: Models) -> float:
        """Let the normal of `models` be the slope of the sum of chords; return the sum at 0."""
        costed = self.models
        at = 0.0
        for j in range(models.q):
            models.normal[j] = 0.0
        for k in range(costed.n_val):
            slope = costed.slope_left[costed.q + k]
            at += slope * costed.kink[costed.q + k]
            for j in range(models.q):
                models.normal[j] += slope * costed.A[k, j]
        return at

    def advance(self, n_nodes: int) -> bool:
        """Examine up to `n_nodes` nodes; return whether any is left."""
        for _ in range(n_nodes):
            if not self.waiting or self.best >= self.enough:
                return False
            if self.nodes >= self.plain_nodes and not (self.tightens or self.counts):
                self.start_again()
            self.nodes += 1
            if not self.examine():
                return True
            if not self.again:
                self.waiting = self.next_child()
        return self.waiting and self.best < self.enough

    def start_again(self) -> None:
        """Go back to the root, with what is proved by now, and tighten ranges from there on."""
        models = self.models
        self.root_bound = min(self.root_bound, self.upper_bound())
        for k in range(models.n_val):
            models.set_bounds(models.q + k, self.low[k], self.high[k])
        self.depth = 0
        self.waiting = True
        self.tightens = True
        self.excess = INF

    def tighten(self) -> bool:
        """Find the ranges of the node again; return whether a model may have a larger loss.

        Those come first that let envelopes exceed losses most. Narrower, they make another
        objective cut, and what is found after that is narrower still.
        """
        models = self.models
        for k in range(models.n_val):
            self.least[k] = INF
            self.most[k] = -INF
            self.excess_left[k] = self.excess_of_envelope(k)
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
                self.cut_off_smaller_losses()
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
                self.evaluate(models.share)
            models.set_cost(row, 0.0, 0.0, 0.0)
        models.drop_objective_cut()
        models.rounds = rounds
        return left

    def cut_off_smaller_losses(self) -> None:
        """Ask of the models of the node that the sum of chords reach the largest loss met."""
        models = self.models
        self.set_envelope_costs()
        models.add_objective_cut(self.chords(models) - self.best)
        for k in range(models.n_val):
            models.set_cost(models.q + k, 0.0, 0.0, 0.0)

    def excess_of_envelopes(self) -> float:
        """Return how far the envelopes of the node at hand may exceed their losses, in all."""
        total = 0.0
        for k in range(self.models.n_val):
            total += self.excess_of_envelope(k)
        return total

    def excess_of_envelope(self, k: int) -> float:
        """Return how far the envelope of point `k` may exceed its loss in the node at hand."""
        low = self.models.low[self.models.q + k]
        high = self.models.high[self.models.q + k]
        if low >= self.threshold or high <= self.threshold:
            return 0.0
        return self.weight[k] * (self.threshold - low) * (high - self.threshold) / (high - low)

    def upper_bound(self) -> float:
        """No model of the set has a larger loss than this."""
        bound = max(self.best, self.closed_bound)
        if self.waiting and self.depth == 0:
            return max(bound, min(self.root_bound, self.loss_of_lows()))
        for level in range(self.depth):
            if self.begun[level] < 2 or (self.waiting and level == self.depth - 1):
                bound = max(bound, self.bound[level])
        return bound

    def loss_of_lows(self) -> float:
        """Return the loss if every margin were at the lower end of its range: none is larger."""
        total = 0.0
        for k in range(self.models.n_val):
            total += self.loss(k, self.low[k])
        return total

    def loss(self, k: int, margin: float) -> float:
        """Loss of point `k` at a margin; one on the threshold, but for rounding, counts."""
        if self.counts:
            return self.weight[k] if margin <= self.threshold + LP_FEASIBILITY else 0.0
        return self.weight[k] * max(0.0, self.threshold - margin)

    def find_range(self, k: int) -> bool:
        """Find the range of the margin of point `k`; return whether there is any model."""
        forms = self.forms
        if self.found[k] and self.shrinks == 0:
            return True
        for side in range(2):
            # A margin on one side of its breakpoint has an envelope that is exact.
            if self.low[k] >= self.threshold or self.high[k] <= self.threshold:
                continue
            status = forms.minimise(self.models.A, k, 1.0 if side == 0 else -1.0)
            if status == INFEASIBLE:
                if self.shrinks > 0:
                    return False
                continue  # rounding: `inner` is in the set
            # The objective, ±margin, is a bound whatever became of the point.
            if side == 0:
                self.low[k] = max(self.low[k], forms.objective)
            else:
                self.high[k] = min(self.high[k], -forms.objective)
            loss = self.evaluate_end()
            if loss > self.promising and status == OPTIMAL:
                self.promising = loss
                self.ascend(loss)
        return True

    def keep_ranges(self) -> None:
        """Let the ranges be bounds of the models, and see how far chords may exceed hinges."""
        models = self.models
        for k in range(models.n_val):
            self.high[k] = max(self.low[k], self.high[k])
            models.set_bounds(models.q + k, self.low[k], self.high[k])
        self.widest = self.excess_of_envelopes()

    def evaluate(self, share: float) -> float:
        """Return the loss of the model this far from the inner one to the optimum at hand."""
        models = self.models
        for k in range(models.n_val):
            self.margin[k] = self.inner_margin[k]
            self.margin[k] += share * (models.z[models.q + k] - self.inner_margin[k])
        loss = self.judge()
        if loss == self.best:
            self.keep(models.z, share)
        return loss

    def evaluate_end(self) -> float:
        """Return the loss of the model at the end of a range."""
        forms = self.forms
        for k in range(self.models.n_val):
            total = 0.0
            for j in range(forms.q):
                total += self.models.A[k, j] * forms.z[j]
            self.margin[k] = self.inner_margin[k]
            self.margin[k] += forms.share * (total - self.inner_margin[k])
        loss = self.judge()
        if loss == self.best:
            self.keep(forms.z, forms.share)
        return loss

    def judge(self) -> float:
        """Return the loss at the margins; `best` is the largest."""
        total = 0.0
        for k in range(self.models.n_val):
            total += self.loss(k, self.margin[k])
        self.best = max(self.best, total)
        return total

    def keep(self, z: Vector, share: float) -> None:
        """Let the worst model so far be this far from the inner one to the variables of `z`."""
        models = self.models
        for j in range(models.q):
            self.u[j] = models.inner[j] + share * (z[j] - models.inner[j])

    def ascend(self, grown: float) -> None:
        """Hold the active hinges, solve the linear program, repeat while the loss has grown.

        Counts climb along the hinges that begin one unit above their threshold.
        """
        below = self.threshold + 1.0 if self.counts else self.threshold
        self.climb_along(grown, below, -INF)

    def sharpen(self) -> None:
        """Climb on from the worst model, along the points near the threshold, ever nearer.

        Those far below it are lost anyway.
        """
        reach = 1.0
        for _ in range(TIMES_NEARER):
            reach *= NEARER
            self.take_margins(self.u)
            self.climb_along(self.best, self.threshold + reach, self.threshold - reach)

    def climb_along(self, grown: float, below: float, above: float) -> None:
        """Ascend along the hinges of points with margins between, from the margins judged last."""
        models = self.models
        loss = -INF
        while grown > loss + CUTOFF:
            loss = grown
            for k in range(models.n_val):
                counts_now = above <= self.margin[k] < below
                self.cost[k] = self.weight[k] if counts_now else 0.0
            if models.optimise_active_set(self.cost) != OPTIMAL:
                break
            grown = self.evaluate(models.share)

    def examine(self) -> bool:
        """Bound the loss in the current node; open a level if it may exceed the largest met.

        Returns whether there was time for it; if not, the node goes on waiting.
        """
        models = self.models
        self.again = False
        self.set_envelope_costs()
        status = models.optimise(self.constant - self.best - self.least_gain)
        if status == INFEASIBLE:
            return True
        parent = self.bound[self.depth - 1] if self.depth > 0 else self.root_bound
        if self.depth == 0:
            parent = min(parent, self.loss_of_lows())
        bound = min(parent, self.constant - models.objective)
        if status == STALLED and models.watch.over:
            self.evaluate(models.share)
            if self.depth == 0:
                self.root_bound = bound
            return False
        k = -1 if status == CUT_OFF else self.loosest()
        if k >= 0:
            self.split[self.depth] = k
            self.below_first[self.depth] = models.z[models.q + k] < self.threshold
            self.begun[self.depth] = 0
            self.bound[self.depth] = bound
        if status != CUT_OFF:
            loss = self.evaluate(models.share)
            if loss > PROMISING * self.best:
                self.ascend(loss)
        if not (k >= 0 and status == OPTIMAL and bound > self.best + self.least_gain):
            self.closed_bound = max(self.closed_bound, bound)
            return True
        if self.tightens and self.depth < self.level_low.shape[0]:
            excess = self.excess_of_envelopes()
            if excess <= ENOUGH_SHRUNK * self.excess:
                self.excess = excess
                self.again = self.tighten()
                if not self.again:  # no model is left that loses more
                    self.closed_bound = max(self.closed_bound, self.best + LP_FEASIBILITY)
                return True
            for i in range(models.n_val):
                self.level_low[self.depth, i] = models.low[models.q + i]
                self.level_high[self.depth, i] = models.high[models.q + i]
        self.split_low[self.depth] = models.low[models.q + k]
        self.split_high[self.depth] = models.high[models.q + k]
        self.depth += 1
        return True

    def set_envelope_costs(self) -> None:
        """Let the cost be the envelopes of the losses over their ranges in this node."""
        models = self.models
        at = self.threshold
        self.constant = 0.0
        for k in range(models.n_val):
            row = models.q + k
            low = models.low[row]
            high = models.high[row]
            weight = self.weight[k]
            if low >= at and high > at:
                models.set_cost(row, 0.0, 0.0, at)
            elif self.counts:
                # 1 up to the threshold, then down to 0 at the end of the range.
                self.constant += weight
                fall = weight / (high - at) if high - at > LP_FEASIBILITY else 0.0
                models.set_cost(row, 0.0, fall, at)
            elif high <= at:
                models.set_cost(row, weight, weight, at)
            else:
                slope = weight * (at - low) / (high - low)
                models.set_cost(row, slope, slope, high)
        models.reprice(False)

    def loosest(self) -> int:
        """Return the point whose envelope is furthest above its loss (−1: none is)."""
        models = self.models
        largest = CUTOFF / models.n_val
        found = -1
        for k in range(models.n_val):
            row = models.q + k
            if models.low[row] >= self.threshold or models.high[row] <= self.threshold:
                continue
            margin = models.z[row]
            beyond = margin - models.kink[row]
            envelope = -beyond * (
                models.slope_left[row] if beyond < 0.0 else models.slope_right[row]
            )
            if self.counts:
                envelope += self.weight[k]
            gap = envelope - self.loss(k, margin)
            if gap > largest:
                largest = gap
                found = k
        return found

    def next_child(self) -> bool:
        """Put the next child in place; return whether there is one."""
        models = self.models
        while self.depth > 0:
            level = self.depth - 1
            k = self.split[level]
            pruned = self.bound[level] <= self.best + self.least_gain
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
                models.set_bounds(models.q + k, self.split_low[level], self.threshold)
            else:
                models.set_bounds(models.q + k, self.threshold, self.split_high[level])
            self.begun[level] += 1
            self.excess = INF
            return True
        return False

    def worst_model(self) -> Vector:
        """``(w, b)`` with the largest loss met."""
        return np.array(self.u)
