"""Rows towards whose errors training is pushed: which labels they get, and which weights.

A row with the wrong label and a weight in proportion to ``v = φ'(m)/φ'(−m)`` is, to the first
order, a step up the loss φ of the row, with m its margin: ``(1 − p)/p`` for the log loss, with p
the probability of the true class. The target of a regression is mirrored at its prediction.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.base import is_classifier
from sklearn.utils import _safe_indexing

from pessimal.losses import Logistic, Loss, Squared, Step
from pessimal.near_optimal.retrained.judging import (
    losses,
    margins,
    own_loss,
    residuals,
    strongest_wrong,
)
from pessimal.near_optimal.retrained.refitting import Extra

LARGEST_RATIO = 1e2
"""Of the weights v: a row that is wrong for certain must not outweigh all others."""


@dataclass(frozen=True, eq=False)
class Push:
    """Rows towards whose errors, or away from them (side −1), training is pushed."""

    X: Any
    y: Any
    judge: Loss
    side: float

    def some(self, rows: Any) -> Push:
        """Return the same of some of the rows."""
        return replace(self, X=_safe_indexing(self.X, rows), y=self.y[rows])

    def reached(self, model: Any) -> float:
        """Return how far a model has got."""
        return self.side * float(losses(model, self.X, self.y, self._surrogate(model)).mean())

    def rows(self, model: Any, alike: bool = False) -> Extra:
        """Return rows to train on: labels the wrong way, weights as the module says, or alike."""
        if self.side < 0.0:
            return Extra(self.X, self.y, np.ones(len(self.y)))
        if not is_classifier(model):
            mirrored = self.y - 2.0 * residuals(model, self.X, self.y)
            return Extra(self.X, mirrored, np.ones(len(self.y)))
        loss = self._surrogate(model)
        m = margins(model, self.X, self.y, loss)
        weight = -loss.slope(m)
        if not isinstance(self.judge, Step):
            weight = weight / np.maximum(-loss.slope(-m), 1.0 / LARGEST_RATIO)
        weight = np.ones(len(m)) if alike else np.minimum(weight, LARGEST_RATIO)
        return Extra(self.X, strongest_wrong(model, self.X, self.y), weight)

    def _surrogate(self, model: Any) -> Loss:
        """Return a loss with a slope: errors are made by way of the model's own."""
        if not is_classifier(model):
            return self.judge
        loss = own_loss(model) if isinstance(self.judge, Step | Squared) else self.judge
        return Logistic() if isinstance(loss, Step) else loss
