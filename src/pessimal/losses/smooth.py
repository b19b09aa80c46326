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

SMALL = 1e-3
"""Shifts below which a secant is bounded by φ'' there: its formula would lose its digits."""

ROUNDING = 8.0 * float(np.finfo(float).eps)
"""Error of a sum of three terms, relative to their sizes, with room to spare."""


class SmoothLoss(Loss):
    """A convex loss with a bounded second derivative.

    Attributes
    ----------
    self_concordant : bool
        Whether the third derivative is nowhere larger than the second (Bach 2010).
    symmetric : bool
        Whether φ'' is the same at t and −t and falls from 0 on, so that one parabola may touch φ
        at both.
    """

    self_concordant = False
    symmetric = False

    @abstractmethod
    def second(self, margins: Vector) -> Vector:
        """Return the second derivative at each margin."""

    @abstractmethod
    def least_secant(self, margins: Vector, low: Vector, high: Vector) -> Vector:
        """Bound q from below over shifts from `low` ≤ 0 to `high` ≥ 0."""

    @abstractmethod
    def largest_secant(self, margins: Vector, low: Vector, high: Vector) -> Vector:
        """Bound q from above over shifts from `low` ≤ 0 to `high` ≥ 0."""

    def contacts(self, low: Vector, high: Vector) -> list[Vector]:
        """Return margins, from `low` to `high`, where a good parabola below may touch the loss."""
        del low, high
        return []


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

    def least_secant(self, margins: Vector, low: Vector, high: Vector) -> Vector:
        """Return 2 everywhere: it is a parabola."""
        del low, high
        return self.second(margins)

    def largest_secant(self, margins: Vector, low: Vector, high: Vector) -> Vector:
        """Return 2 everywhere."""
        del low, high
        return self.second(margins)

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
    symmetric = True

    def value(self, margins: Vector) -> Vector:
        """Return the logarithmic loss."""
        return np.log1p(np.exp(-np.abs(margins))) + np.maximum(0.0, -margins)

    def slope(self, margins: Vector) -> Vector:
        """Return minus the probability of the wrong class."""
        return -_probability(-margins)

    def second(self, margins: Vector) -> Vector:
        """Return the variance of the predicted class."""
        small = np.exp(-np.abs(margins))
        return small / np.square(1.0 + small)

    def curvature(self, low: Vector, high: Vector) -> Vector:
        """Return φ'' at the margin nearest to 0, where it is largest."""
        return self.second(np.clip(0.0, low, high))

    def least_secant(self, margins: Vector, low: Vector, high: Vector) -> Vector:
        """Bound q at the ends: it rises up to the shift to ``−t`` and falls beyond.

        That φ'' is largest at 0 and symmetric makes it so.
        """
        ends = (self._secant(margins, shift, -1.0) for shift in (low, high))
        return np.maximum(0.0, np.minimum(*ends))

    def largest_secant(self, margins: Vector, low: Vector, high: Vector) -> Vector:
        """Bound q next to ``−t``, where the parabola of Jaakkola and Jordan (2000) touches φ."""
        peak = self._secant(margins, np.clip(-2.0 * margins, low, high), 1.0)
        return np.minimum(0.25, np.maximum(self.second(margins), peak))

    def _secant(self, margins: Vector, shift: Vector, side: float) -> Vector:
        """Return q at a shift, rounded up (side 1) or down."""
        tiny = np.abs(shift) < SMALL
        safe = np.where(tiny, 1.0, shift)
        here, there = self.value(margins), self.value(margins + safe)
        linear = self.slope(margins) * safe
        error = side * ROUNDING * (there + here + np.abs(linear))
        far = 2.0 * (there - here - linear + error) / (safe * safe)
        if not tiny.any():
            return np.asarray(far)
        # φ'' changes at most by the factor exp(|s|) over a shift s.
        near = self.second(margins) * np.exp(side * np.abs(np.where(tiny, shift, 0.0)))
        return np.where(tiny, near, far)


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

    def least_secant(self, margins: Vector, low: Vector, high: Vector) -> Vector:
        """Return q at the upper end: φ'' falls with the margin, and so does its mean."""
        del low
        hinge = 1.0 - margins
        # To the right of a margin below 1 the loss is a parabola up to 1 and 0 beyond. Where no
        # formula applies nothing is divided.
        right = np.maximum(high, np.abs(hinge))
        right = np.where(right == 0.0, 1.0, right)
        falling = 2.0 * hinge * (2.0 * right - hinge) / np.square(right)
        least = np.where(hinge > 0.0, np.where(high > hinge, falling, 2.0), 0.0)
        return np.asarray(least * (1.0 - ROUNDING))

    def largest_secant(self, margins: Vector, low: Vector, high: Vector) -> Vector:
        """Return q at the lower end."""
        del high
        hinge = 1.0 - margins
        # To the left of a margin above 1 the loss is 0 down to 1.
        left = np.minimum(low, -np.abs(hinge))
        left = np.where(left == 0.0, -1.0, left)
        rising = 2.0 * np.square((hinge - left) / left)
        largest = np.where(hinge > 0.0, 2.0, np.where(low < hinge, rising, 0.0))
        return np.minimum(2.0, largest * (1.0 + ROUNDING))


class Absolute(SmoothLoss):
    """``√(margin² + τ²)``: the absolute value, rounded off around 0 and at most τ above it."""

    symmetric = True

    def __init__(self, rounding: float) -> None:
        self.rounding = rounding

    def value(self, margins: Vector) -> Vector:
        """Return the absolute values, rounded off."""
        return np.hypot(margins, self.rounding)

    def slope(self, margins: Vector) -> Vector:
        """Return the signs, rounded off."""
        return margins / self.value(margins)

    def second(self, margins: Vector) -> Vector:
        """Return the curvature, nearly all of it around 0."""
        size = self.value(margins)
        return np.square(self.rounding / size) / size

    def curvature(self, low: Vector, high: Vector) -> Vector:
        """Return φ'' at the margin nearest to 0, where it is largest."""
        return self.second(np.clip(0.0, low, high))

    def least_secant(self, margins: Vector, low: Vector, high: Vector) -> Vector:
        """Return q at the ends: it rises up to the shift to ``−t`` and falls beyond."""
        ends = (self._secant(margins, shift) for shift in (low, high))
        return np.asarray(np.minimum(*ends) * (1.0 - ROUNDING))

    def largest_secant(self, margins: Vector, low: Vector, high: Vector) -> Vector:
        """Return q next to ``−t``."""
        return self._secant(margins, np.clip(-2.0 * margins, low, high)) * (1.0 + ROUNDING)

    def _secant(self, margins: Vector, shift: Vector) -> Vector:
        """Return q at a shift.

        With the sizes ``a`` and ``b`` of both points and their inner product ``c``, as vectors
        ``(t, τ)``, q is ``2(ab − c)/(a·s²)`` and ``(ab − c)(ab + c) = τ²s²``.
        """
        a = self.value(margins)
        ab = a * self.value(margins + shift)
        c = margins * (margins + shift) + self.rounding**2
        apart = np.where(c < 0.0, shift, 1.0)  # on both sides of 0
        far = 2.0 * (ab - c) / (a * np.square(apart))
        return np.where(c < 0.0, far, 2.0 * self.rounding**2 / (a * (ab + np.abs(c))))

    def contacts(self, low: Vector, high: Vector) -> list[Vector]:
        """Return where the parabola touches that meets the absolute value at 0 and both ends."""
        slope = np.clip(-(low + high) / np.maximum(high - low, self.rounding), -1.0, 1.0)
        steep = np.sqrt(np.maximum(1.0 - np.square(slope), ROUNDING))
        return [np.where((low < 0.0) & (high > 0.0), self.rounding * slope / steep, low)]


def _probability(score: Vector) -> Vector:
    """``1/(1 + exp(−score))`` without overflow."""
    small = np.exp(-np.abs(score))
    return np.where(score >= 0.0, 1.0, small) / (1.0 + small)
