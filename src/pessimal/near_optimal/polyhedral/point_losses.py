"""Losses of the validation points, and their envelopes over the ranges of margins in a node.

A loss depends on the margin and has one breakpoint θ, above which it is 0. Below, the hinge is
``θ − margin`` (θ = 1), and a counted point costs 1 (θ = 0: a wrong label). With
``low ≤ margin ≤ high`` over a set of models it is at most its *concave envelope* over that range,
and the sum of envelopes is a linear program that bounds the loss of all of them.
"""

from __future__ import annotations

from pessimal.near_optimal.polyhedral.models import Models
from pessimal.problem import Vector
from pessimal.tolerances import CUTOFF, LP_FEASIBILITY


class PointLosses:
    """The losses; the ranges of a node are bounds of the rows of `models`."""

    def __init__(self, models: Models, weight: Vector, threshold: float, counts: bool) -> None:
        self.models = models
        self.weight = weight
        self.threshold = threshold
        self.counts = counts
        self.constant = 0.0  # the envelopes are this less the costs of the linear program

    def of_point(self, k: int, margin: float) -> float:
        """Loss of point `k` at a margin; one on the threshold, but for rounding, counts."""
        if self.counts:
            return self.weight[k] if margin <= self.threshold + LP_FEASIBILITY else 0.0
        return self.weight[k] * max(0.0, self.threshold - margin)

    def total(self, margins: Vector) -> float:
        """Return the loss at the margins of all points."""
        total = 0.0
        for k in range(self.models.n_val):
            total += self.of_point(k, margins[k])
        return total

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

    def cut_off(self, loss: float) -> None:
        """Ask of the models of the node that the sum of chords reach a loss."""
        models = self.models
        self.set_envelope_costs()
        models.add_objective_cut(self.chords(models) - loss)
        for k in range(models.n_val):
            models.set_cost(models.q + k, 0.0, 0.0, 0.0)

    def excess(self) -> float:
        """Return how far the envelopes of the node at hand may exceed their losses, in all."""
        total = 0.0
        for k in range(self.models.n_val):
            total += self.excess_of_point(k)
        return total

    def excess_of_point(self, k: int) -> float:
        """Return how far the envelope of point `k` may exceed its loss in the node at hand."""
        low = self.models.low[self.models.q + k]
        high = self.models.high[self.models.q + k]
        if low >= self.threshold or high <= self.threshold:
            return 0.0
        return self.weight[k] * (self.threshold - low) * (high - self.threshold) / (high - low)

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
            gap = envelope - self.of_point(k, margin)
            if gap > largest:
                largest = gap
                found = k
        return found
