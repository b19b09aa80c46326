"""The largest loss that was met, and the way up to it from any model of the set.

Every optimum of a linear program, or a point on the way to it, is a model of the set, so its loss
is attained. From a promising one, *ascent* holds the active hinges fixed, solves the linear program
and repeats: rarely is anything better left for the tree to find, only to be excluded.
"""

from __future__ import annotations

import numpy as np

from pessimal.lp.codes import OPTIMAL
from pessimal.near_optimal.polyhedral.models import Models
from pessimal.near_optimal.polyhedral.point_losses import PointLosses
from pessimal.problem import Vector
from pessimal.tolerances import CUTOFF

INF = np.inf
TIMES_NEARER = 2  # that a count climbs along fewer points,
NEARER = 0.4  # those within this part of the reach


class Ascent:
    """Judges models: `best` is the largest loss met, `u` its model."""

    def __init__(self, models: Models, losses: PointLosses) -> None:
        self.models = models
        self.losses = losses
        self.best = -INF
        self.u = np.zeros(models.q)
        self.cost = np.zeros(models.n_val)
        self.inner_margin = np.zeros(models.n_val)
        self.margin = np.zeros(models.n_val)  # of the model judged last

    def start(self) -> None:
        """Begin anew, with the inner model of the set that the models hold now."""
        models = self.models
        self.best = -INF
        for k in range(models.n_val):
            self.inner_margin[k] = 0.0
            for j in range(models.q):
                self.inner_margin[k] += models.A[k, j] * models.inner[j]
        self.evaluate(0.0)

    def ascend_from(self, u: Vector) -> None:
        """Evaluate a model of the set, and ascend from it."""
        self.take_margins(u)
        loss = self.judge()
        if loss == self.best:
            self.keep(u, 1.0)
        self.ascend(loss)

    def climb(self) -> None:
        """Ascend from the model that is worst if all hinges count, as linear functions."""
        for k in range(self.models.n_val):
            self.margin[k] = -INF
        self.ascend(0.0)

    def ascend(self, grown: float) -> None:
        """Hold the active hinges, solve the linear program, repeat while the loss has grown.

        Counts climb along the hinges that begin one unit above their threshold.
        """
        losses = self.losses
        below = losses.threshold + 1.0 if losses.counts else losses.threshold
        self.climb_along(grown, below, -INF)

    def sharpen(self) -> None:
        """Climb on from the worst model, along the points near the threshold, ever nearer.

        Those far below it are lost anyway.
        """
        reach = 1.0
        for _ in range(TIMES_NEARER):
            reach *= NEARER
            self.take_margins(self.u)
            self.climb_along(
                self.best, self.losses.threshold + reach, self.losses.threshold - reach
            )

    def climb_along(self, grown: float, below: float, above: float) -> None:
        """Ascend along the hinges of points with margins between, from the margins judged last."""
        models = self.models
        loss = -INF
        while grown > loss + CUTOFF:
            loss = grown
            for k in range(models.n_val):
                counts_now = above <= self.margin[k] < below
                self.cost[k] = self.losses.weight[k] if counts_now else 0.0
            if models.optimise_active_set(self.cost) != OPTIMAL:
                break
            grown = self.evaluate(models.share)

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

    def evaluate_end(self, forms: Models) -> float:
        """Return the loss of the model at the end of a range, found without rows for V."""
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

    def take_margins(self, u: Vector) -> None:
        """Let the margins be those of a model."""
        models = self.models
        for k in range(models.n_val):
            self.margin[k] = 0.0
            for j in range(models.q):
                self.margin[k] += models.A[k, j] * u[j]

    def judge(self) -> float:
        """Return the loss at the margins; `best` is the largest."""
        total = self.losses.total(self.margin)
        self.best = max(self.best, total)
        return total

    def keep(self, z: Vector, share: float) -> None:
        """Let the worst model so far be this far from the inner one to the variables of `z`."""
        models = self.models
        for j in range(models.q):
            self.u[j] = models.inner[j] + share * (z[j] - models.inner[j])

    def worst_model(self) -> Vector:
        """``(w, b)`` with the largest loss met."""
        return np.array(self.u)
