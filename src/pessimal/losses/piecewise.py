"""Losses that are linear or constant on either side of one breakpoint, and 0 above it."""

from __future__ import annotations

import numpy as np

from pessimal.losses.base import Loss, Vector
from pessimal.tolerances import STRICT


class OneBreakpoint(Loss):
    """What the branch and bound on points can maximise.

    Attributes
    ----------
    counts : bool
        Whether a margin below the breakpoint costs 1, or the distance to it.
    """

    counts: bool

    @property
    def threshold(self) -> float:
        """Largest margin that costs anything."""
        return self.breakpoints[0]

    def curvature(self, low: Vector, high: Vector) -> Vector:
        """Return 0: both pieces are linear."""
        return np.zeros(np.broadcast(low, high).shape)


class Hinge(OneBreakpoint):
    """``max(0, 1 − margin)``: what the box-constrained support vector machine minimises."""

    name = "hinge"
    breakpoints = (1.0,)
    counts = False

    def value(self, margins: Vector) -> Vector:
        """Return how far each margin is below the breakpoint."""
        return np.maximum(0.0, self.breakpoints[0] - margins)

    def slope(self, margins: Vector) -> Vector:
        """Return −1 up to the breakpoint, 0 beyond."""
        return np.where(margins <= self.breakpoints[0], -1.0, 0.0)


class Step(OneBreakpoint):
    """1 for a margin below the breakpoint: its mean counts points.

    A margin within `tolerances.STRICT` of the breakpoint is a tie, and a tie is not below.
    """

    counts = True

    def __init__(self, breakpoint_: float | None = None) -> None:
        if breakpoint_ is not None:
            self.breakpoints = (breakpoint_,)

    @property
    def threshold(self) -> float:
        """Largest margin that counts."""
        return self.breakpoints[0] - STRICT

    @property
    def opposite(self) -> Step:
        """Return what counts exactly the other points, once their labels are flipped."""
        return Step(2.0 * STRICT - self.breakpoints[0])

    def value(self, margins: Vector) -> Vector:
        """Return 1 for each margin below the breakpoint."""
        return np.where(margins < self.threshold, 1.0, 0.0)

    def slope(self, margins: Vector) -> Vector:
        """Return 0: both pieces are constant."""
        return np.zeros(np.shape(margins))


class ZeroOne(Step):
    """A point on the wrong side: an error."""

    name = "zero_one"
    breakpoints = (0.0,)


class InMargin(Step):
    """A point on the wrong side or within the margin."""

    name = "margin"
    breakpoints = (1.0,)


HINGE = Hinge()
"""The loss of the paper's training problem."""
