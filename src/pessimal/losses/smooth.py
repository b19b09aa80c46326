"""Losses with a curvature, and how far it lets them be from a parabola.

For a point ``t`` and a shift ``s`` let ``q(s) = 2[φ(t+s) − φ(t) − φ'(t)·s]/s²``: the curvature of
the parabola that touches φ at ``t`` and meets it at ``t + s``. It is a weighted mean of φ'' between
the two points. The least and the largest q over a range of shifts, the *secants*, are the
curvatures of two parabolas that enclose φ there.
"""

from __future__ import annotations

from abc import abstractmethod

import numpy as np

from pessimal.losses.base import Loss, Vector

SMALL = 1e-4
"""Shifts below which φ'' itself stands for the secant: the formula would lose its digits."""


class SmoothLoss(Loss):
    """A convex loss with a bounded second derivative.

    Attributes
    ----------
    self_concordant : bool
        Whether the third derivative is nowhere larger than the second (Bach 2010).
    """

    self_concordant = False

    @abstractmethod
    def second(self, margins: Vector) -> Vector:
        """Return the second derivative at each margin."""

    @abstractmethod
    def secants(self, margins: Vector, low: Vector, high: Vector) -> tuple[Vector, Vector]:
        """Return the least and the largest q over shifts from `low` ≤ 0 to `high` ≥ 0."""

    def secant(self, margins: Vector, shift: Vector) -> Vector:
        """Return q at a shift."""
        safe = np.where(np.abs(shift) < SMALL, 1.0, shift)
        rise = self.value(margins + safe) - self.value(margins) - self.slope(margins) * safe
        # Rounding of the rise must not turn a bound into a claim: to φ'' where it could.
        return np.where(np.abs(shift) < SMALL, self.second(margins), 2.0 * rise / (safe * safe))


class Squared(SmoothLoss):
    """``residual²``: ridge regression and least squares. The margin is the residual."""

    name = "squared"

    def value(self, margins: Vector) -> Vector:
        """Return the squares."""
        return np.square(margins)

    def slope(self, margins: Vector) -> Vector:
        """Return twice the residuals."""
        return 2.0 * margins

    def second(self, margins: Vector) -> Vector:
        """Return 2 everywhere."""
        return np.full(np.shape(margins), 2.0)

    def curvature(self, low: Vector, high: Vector) -> Vector:
        """Return 2 everywhere."""
        return np.full(np.broadcast(low, high).shape, 2.0)

    def secants(self, margins: Vector, low: Vector, high: Vector) -> tuple[Vector, Vector]:
        """Return 2 everywhere: it is a parabola."""
        del low, high
        two = self.second(margins)
        return two, two

    def of_scores(self, labels: Vector, scores: Vector) -> Vector:
        """Return the squared distances of scores from their labels."""
        return self.value(scores - labels)

    def over_scores(self, labels: Vector, low: Vector, high: Vector) -> tuple[Vector, Vector]:
        """Return the ends: the least is at the score nearest to the label."""
        _, largest = super().over_scores(labels, low, high)
        return self.of_scores(labels, np.clip(labels, low, high)), largest


class Logistic(SmoothLoss):
    """``log(1 + exp(−margin))``: logistic regression."""

    name = "log"
    self_concordant = True

    def value(self, margins: Vector) -> Vector:
        """Return the logarithmic loss."""
        return np.logaddexp(0.0, -margins)

    def slope(self, margins: Vector) -> Vector:
        """Return minus the probability of the wrong class."""
        return -_probability(-margins)

    def second(self, margins: Vector) -> Vector:
        """Return the variance of the predicted class."""
        return _probability(margins) * _probability(-margins)

    def curvature(self, low: Vector, high: Vector) -> Vector:
        """Return φ'' at the margin nearest to 0, where it is largest."""
        return self.second(np.clip(0.0, low, high))

    def secants(self, margins: Vector, low: Vector, high: Vector) -> tuple[Vector, Vector]:
        """Return the ends of q, which rises up to the shift to ``−t`` and falls beyond.

        That φ'' is largest at 0 and symmetric makes it so; at ``−t`` the parabola of Jaakkola and
        Jordan (2000) touches φ a second time.
        """
        at_zero = self.second(margins)
        ends = [self.secant(margins, low), self.secant(margins, high)]
        least = np.minimum(at_zero, np.minimum(*ends))
        largest = np.maximum(at_zero, self.secant(margins, np.clip(-2.0 * margins, low, high)))
        return least, np.maximum(largest, np.maximum(*ends))


class SquaredHinge(SmoothLoss):
    """``max(0, 1 − margin)²``: linear support vector machines as scikit-learn trains them."""

    name = "squared_hinge"
    breakpoints = (1.0,)

    def value(self, margins: Vector) -> Vector:
        """Return the squares of the hinges."""
        return np.square(np.maximum(0.0, 1.0 - margins))

    def slope(self, margins: Vector) -> Vector:
        """Return minus twice the hinges."""
        return -2.0 * np.maximum(0.0, 1.0 - margins)

    def second(self, margins: Vector) -> Vector:
        """Return 2 below the breakpoint, 0 beyond."""
        return np.where(margins < 1.0, 2.0, 0.0)

    def curvature(self, low: Vector, high: Vector) -> Vector:
        """Return 2 if any margin is below the breakpoint."""
        del high
        return self.second(low)

    def secants(self, margins: Vector, low: Vector, high: Vector) -> tuple[Vector, Vector]:
        """Return q at the two ends: φ'' falls with the margin, and so does its mean."""
        return (
            np.clip(self.secant(margins, high), 0.0, self.second(margins)),
            np.clip(self.secant(margins, low), self.second(margins), 2.0),
        )


def _probability(score: Vector) -> Vector:
    """``1/(1 + exp(−score))`` without overflow."""
    small = np.exp(-np.abs(score))
    return np.where(score >= 0.0, 1.0, small) / (1.0 + small)
