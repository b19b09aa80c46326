"""Branch and bound on the hinges of V: the largest validation loss over a set of models.

The loss ``Σ weight_k·[1 − margin_k]₊`` is convex, so its maximum is sought over the two pieces of
every hinge. With ``low_k ≤ margin_k ≤ high_k`` over the set (two linear programs a point), a hinge
is at most its chord between these ends, and the sum of chords is a linear program that bounds the
loss. Where the chord is furthest above its hinge the set is split at ``margin_k = 1``; on either
side that hinge is linear and its chord exact.

Every vertex met is a model of the set, so its loss is attained. From a promising one, *ascent*
holds the active hinges fixed, solves the linear program and repeats: rarely is anything better left
for the tree to find, only to be excluded. What is left to exclude are models with a larger loss
than the largest met; that shrinks the ranges once more, before the first split.

With hundreds of points the ranges take longer than anyone may want to wait, so they are found one
point at a time, and coarse ones will do for the rest.
"""

from __future__ import annotations

import numpy as np

from pessimal.lp.codes import CUT_OFF, INFEASIBLE, OPTIMAL, STALLED
from pessimal.problem import Vector
from pessimal.tolerances import CUTOFF
from pessimal.worst.models import Models

INF = np.inf
MOST_SHRINKS = 6  # times the ranges are found again, given the largest loss met
ENOUGH_SHRUNK = 0.8  # ranges that kept this share of their width are left as they are
PROMISING = 0.9  # ascent starts from a point that has this share of the largest loss so far


class HingeTree:
    """Depth-first search for the worst of the models; resumable after any range and any node.

    `start`, then `narrow` until all ranges are found or `hold` what there is of them, then
    `advance` until no node is left. `best` is the largest loss met, `u` its model. The search is
    over once `best` reaches `enough`.
    """

    def __init__(self, models: Models, weight: Vector) -> None:
        n = models.n_val
        self.models = models
        self.weight = weight
        self.best = -INF
        self.enough = INF
        self.u = np.zeros(models.q)
        self.nodes = 0
        self.unresolved_bound = -INF
        self.widest = 0.0  # how far chords may exceed their hinges, in all
        # Where the ranges are being found: how often they have been shrunk, the next point, and
        # the largest loss from which ascent has started this time.
        self.shrinks = 0
        self.point = 0
        self.promising = -INF
        self.cost = np.zeros(n)
        self.low = np.zeros(n)
        self.high = np.zeros(n)
        # The open levels: which point is split, its range, the bound, and how many of its two
        # children have begun, the lower side first or last. One more node may wait below them.
        self.waiting = False
        self.depth = 0
        self.split = np.zeros(n + 1, np.intp)
        self.below_first = np.zeros(n + 1, np.intp)
        self.begun = np.zeros(n + 1, np.intp)
        self.bound = np.zeros(n + 1)

    def start(self, enough: float) -> None:
        """Begin anew at the root of the set that the models hold now."""
        models = self.models
        self.best = -INF
        self.enough = enough
        self.nodes = 0
        self.unresolved_bound = -INF
        self.depth = 0
        self.waiting = True
        self.widest = INF
        self.shrinks = 0
        self.point = 0
        self.promising = -INF
        for k in range(models.n_val):
            self.low[k] = models.low[models.q + k]
            self.high[k] = models.high[models.q + k]

    def narrow(self) -> bool:
        """Find the range of one more validation margin; return whether to call again."""
        models = self.models
        if self.point < models.n_val:
            self.waiting = self.find_range(self.point)
            self.point += 1
            if not self.waiting:  # no model is left in the set, or none that loses more
                models.lift_target()
            return self.waiting
        before = self.widest
        self.keep_ranges()
        if (
            self.shrinks == MOST_SHRINKS
            or self.best >= self.enough
            or self.widest == 0.0
            or (self.shrinks > 0 and self.widest > ENOUGH_SHRUNK * before)
        ):
            models.lift_target()
            return False
        self.aim()
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
        self.models.lift_target()

    def aim(self) -> None:
        """Ask of the models that the sum of chords reach the largest loss met."""
        models = self.models
        self.charge_chords()
        at = 0.0
        for j in range(models.q):
            models.normal[j] = 0.0
        for k in range(models.n_val):
            slope = models.slope_left[models.q + k]
            at += slope * models.kink[models.q + k]
            for j in range(models.q):
                models.normal[j] += slope * models.A[k, j]
        models.set_target(at - self.best)

    def advance(self, n_nodes: int) -> bool:
        """Examine up to `n_nodes` nodes; return whether any is left."""
        for _ in range(n_nodes):
            if not self.waiting or self.best >= self.enough:
                return False
            self.nodes += 1
            self.examine()
            self.waiting = self.next_child()
        return self.waiting and self.best < self.enough

    def upper_bound(self) -> float:
        """No model of the set has a larger loss than this."""
        bound = max(self.best, self.unresolved_bound)
        if self.waiting and self.depth == 0:
            return max(bound, self.loss_of_lows())
        for level in range(self.depth):
            if self.begun[level] < 2 or (self.waiting and level == self.depth - 1):
                bound = max(bound, self.bound[level])
        return bound

    def loss_of_lows(self) -> float:
        """Return the loss if every margin were at the lower end of its range: none is larger."""
        loss = 0.0
        for k in range(self.models.n_val):
            loss += self.weight[k] * max(0.0, 1.0 - self.low[k])
        return loss

    def find_range(self, k: int) -> bool:
        """Find the range of the margin of point `k`; return whether there is any model."""
        models = self.models
        for side in range(2):
            # A margin on one side of its kink has no chord to tighten.
            if self.low[k] >= 1.0 or self.high[k] <= 1.0:
                continue
            self.cost[k] = 1.0 if side == 0 else -1.0
            status = models.optimise_scenario(self.cost)
            self.cost[k] = 0.0
            if status == INFEASIBLE:
                return False
            if status != OPTIMAL:
                continue
            # The objective, ±(margin − 1), is a bound whatever rounding did to the point.
            if side == 0:
                self.low[k] = max(self.low[k], 1.0 + models.objective)
            else:
                self.high[k] = min(self.high[k], 1.0 - models.objective)
            loss = self.look()
            if loss > self.promising:
                self.promising = loss
                self.ascend()
        return True

    def keep_ranges(self) -> None:
        """Let the ranges be bounds of the models, and see how far chords may exceed hinges."""
        models = self.models
        self.widest = 0.0
        for k in range(models.n_val):
            self.high[k] = max(self.low[k], self.high[k])
            models.set_bounds(models.q + k, self.low[k], self.high[k])
            if self.low[k] < 1.0 and self.high[k] > 1.0:
                self.widest += (
                    self.weight[k]
                    * (1.0 - self.low[k])
                    * (self.high[k] - 1.0)
                    / (self.high[k] - self.low[k])
                )

    def look(self) -> float:
        """Return the loss of the model at hand, and keep the model if it is the worst so far."""
        models = self.models
        loss = 0.0
        for k in range(models.n_val):
            loss += self.weight[k] * max(0.0, 1.0 - models.z[models.q + k])
        if loss > self.best:
            self.best = loss
            for j in range(models.q):
                self.u[j] = models.z[j]
        return loss

    def ascend(self) -> None:
        """Hold the active hinges, solve the linear program, repeat while the loss grows."""
        models = self.models
        loss = -INF
        grown = self.look()
        while grown > loss + CUTOFF:
            loss = grown
            for k in range(models.n_val):
                active = models.z[models.q + k] < 1.0
                self.cost[k] = self.weight[k] if active else 0.0
            if models.optimise_scenario(self.cost) != OPTIMAL:
                break
            grown = self.look()
        for k in range(models.n_val):
            self.cost[k] = 0.0

    def examine(self) -> None:
        """Bound the loss in the current node; open a level if it may exceed the largest met."""
        models = self.models
        self.charge_chords()
        status = models.optimise(-self.best - CUTOFF)
        if status == INFEASIBLE or status == CUT_OFF:
            return
        if status == STALLED:
            parent = INF if self.depth == 0 else self.bound[self.depth - 1]
            self.unresolved_bound = max(self.unresolved_bound, parent)
            return
        bound = -models.objective
        k = self.loosest()
        if k >= 0:
            self.split[self.depth] = k
            self.below_first[self.depth] = models.z[models.q + k] < 1.0
            self.begun[self.depth] = 0
            self.bound[self.depth] = bound
        if self.look() > PROMISING * self.best:
            self.ascend()
        if k >= 0 and bound > self.best + CUTOFF:
            self.depth += 1

    def charge_chords(self) -> None:
        """Let the cost be the chords of the hinges over their ranges in this node."""
        models = self.models
        for k in range(models.n_val):
            row = models.q + k
            low = models.low[row]
            high = models.high[row]
            if high <= 1.0:
                models.charge(row, self.weight[k], 1.0)
            elif low >= 1.0:
                models.charge(row, 0.0, 1.0)
            else:
                models.charge(row, self.weight[k] * (1.0 - low) / (high - low), high)
        models.reprice(False)

    def loosest(self) -> int:
        """Return the validation point whose chord is furthest above its hinge (−1: none is)."""
        models = self.models
        largest = CUTOFF / models.n_val
        found = -1
        for k in range(models.n_val):
            row = models.q + k
            chord = models.slope_left[row] * (models.kink[row] - models.z[row])
            gap = chord - self.weight[k] * max(0.0, 1.0 - models.z[row])
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
            if self.begun[level] == 2 or self.bound[level] <= self.best + CUTOFF:
                models.set_bounds(models.q + k, self.low[k], self.high[k])
                self.depth -= 1
                continue
            if self.below_first[level] != self.begun[level]:
                models.set_bounds(models.q + k, self.low[k], 1.0)
            else:
                models.set_bounds(models.q + k, 1.0, self.high[k])
            self.begun[level] += 1
            return True
        return False

    def worst_model(self) -> Vector:
        """``(w, b)`` with the largest loss met."""
        return np.array(self.u)
