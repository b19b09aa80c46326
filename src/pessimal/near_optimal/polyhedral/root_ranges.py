"""Ranges of the validation margins over all models of the set, found before the first split.

A range takes two linear programs, and each ends at a model, from which it may pay to ascend. What
is left to exclude are models with a larger loss than the largest met; that shrinks the ranges once
more. With hundreds of points the ranges take longer than anyone may want to wait, so they are found
one point at a time, and coarse ones will do for the rest.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pessimal.lp.codes import INFEASIBLE, OPTIMAL
from pessimal.near_optimal.polyhedral.ascent import Ascent
from pessimal.near_optimal.polyhedral.models import Models
from pessimal.near_optimal.polyhedral.point_losses import PointLosses
from pessimal.problem import Vector

INF = np.inf
MOST_SHRINKS = 6  # times the ranges are found again, given the largest loss met
ENOUGH_SHRUNK = 0.8  # ranges that kept this share of their width are left as they are


class RootRanges:
    """Ranges over the whole set: `narrow` until all are found, or `hold` what there is of them.

    They are `empty` if no model is left that loses more than the largest loss met.
    """

    def __init__(
        self, forms: Models, losses: PointLosses, ascent: Ascent, least_gain: float
    ) -> None:
        n = losses.models.n_val
        self.forms = forms  # the same set without rows for V, which finds ranges sooner
        self.losses = losses
        self.ascent = ascent
        self.least_gain = least_gain
        self.low = np.zeros(n)
        self.high = np.zeros(n)
        self.found = np.zeros(n, np.intp)  # whether its range over the whole set was given
        self.empty = False
        self.excess = INF  # how far envelopes may exceed their losses, in all
        self.bound = INF  # what they add up to at most, before the first node
        # How often the ranges have been shrunk, the next point, and the largest loss from which
        # ascent has started this time.
        self.shrinks = 0
        self.point = 0
        self.promising = -INF

    def start(self) -> None:
        """Begin anew with the set that the models hold now."""
        models = self.losses.models
        self.empty = False
        self.excess = INF
        self.bound = INF
        self.shrinks = 0
        self.point = 0
        self.promising = -INF
        for k in range(models.n_val):
            self.low[k] = models.low[models.q + k]
            self.high[k] = models.high[models.q + k]
            self.found[k] = 0

    def know(self, low: Vector, high: Vector, found: NDArray[np.intp]) -> None:
        """Take ranges over the whole set; those that were `found` need not be found again."""
        self.take(low, high)
        for k in range(self.losses.models.n_val):
            self.found[k] = found[k]

    def take(self, low: Vector, high: Vector) -> None:
        """Let no range reach beyond these."""
        for k in range(self.losses.models.n_val):
            self.low[k] = max(self.low[k], low[k])
            self.high[k] = min(self.high[k], high[k])

    def narrow(self, enough: float) -> bool:
        """Find the range of one more point; return whether to call again."""
        more = self.narrow_next(enough)
        if not more:
            self.forms.drop_objective_cut()
        return more

    def narrow_next(self, enough: float) -> bool:
        """Find one more range, or begin to find all of them among models that lose more."""
        if self.ascent.best >= enough:
            return False
        if self.point < self.losses.models.n_val:
            self.empty = not self.find(self.point)
            self.point += 1
            return not self.empty
        before = self.excess
        self.keep()
        if (
            self.losses.counts
            or self.shrinks == MOST_SHRINKS
            or self.excess == 0.0
            or (self.shrinks > 0 and self.excess > ENOUGH_SHRUNK * before)
        ):
            return False
        self.exclude_smaller_losses()
        if self.bound <= self.ascent.best + self.least_gain:
            return False
        self.shrinks += 1
        self.point = 0
        self.promising = -INF
        return True

    def hold(self, low: Vector, high: Vector) -> None:
        """Find no more ranges: where none was found these hold, and are coarse."""
        self.take(low, high)
        self.keep()
        self.forms.drop_objective_cut()

    def find(self, k: int) -> bool:
        """Find the range of the margin of point `k`; return whether there is any model."""
        forms = self.forms
        if self.found[k] and self.shrinks == 0:
            return True
        for side in range(2):
            # A margin on one side of its breakpoint has an envelope that is exact.
            if self.low[k] >= self.losses.threshold or self.high[k] <= self.losses.threshold:
                continue
            status = forms.minimise(self.losses.models.A, k, 1.0 if side == 0 else -1.0)
            if status == INFEASIBLE:
                if self.shrinks > 0:
                    return False
                continue  # rounding: `inner` is in the set
            # The objective, ±margin, is a bound whatever became of the point.
            if side == 0:
                self.low[k] = max(self.low[k], forms.objective)
            else:
                self.high[k] = min(self.high[k], -forms.objective)
            loss = self.ascent.evaluate_end(forms)
            if loss > self.promising and status == OPTIMAL:
                self.promising = loss
                self.ascent.ascend(loss)
        return True

    def keep(self) -> None:
        """Let the ranges be bounds of the models, and see how far chords may exceed hinges."""
        for k in range(self.losses.models.n_val):
            self.high[k] = max(self.low[k], self.high[k])
        self.restore()
        self.excess = self.losses.excess()

    def restore(self) -> None:
        """Let the ranges be bounds of the models again."""
        models = self.losses.models
        for k in range(models.n_val):
            models.set_bounds(models.q + k, self.low[k], self.high[k])

    def exclude_smaller_losses(self) -> None:
        """Ask of the models that the sum of chords reach the largest loss met.

        The largest sum is a bound on the loss already, long before the first node if time is short.
        """
        models = self.losses.models
        self.losses.set_envelope_costs()
        at_most = self.losses.chords(self.forms) - self.ascent.best
        if models.optimise(INF) != INFEASIBLE:
            self.bound = min(self.bound, self.losses.constant - models.objective)
        self.forms.add_objective_cut(at_most)

    def upper_bound(self) -> float:
        """No model of the set has a larger loss, or one with all margins at their lower ends."""
        return min(self.bound, self.losses.total(self.low))
