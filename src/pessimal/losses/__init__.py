"""Losses of a margin ``y·score``, one class each."""

from pessimal.losses.base import Loss, find_loss
from pessimal.losses.piecewise import HINGE, Hinge, InMargin, OneBreakpoint, Step, ZeroOne
from pessimal.losses.smooth import Absolute, Logistic, SmoothLoss, Squared, SquaredHinge

__all__ = [
    "HINGE",
    "Absolute",
    "Hinge",
    "InMargin",
    "Logistic",
    "Loss",
    "OneBreakpoint",
    "SmoothLoss",
    "Squared",
    "SquaredHinge",
    "Step",
    "ZeroOne",
    "find_loss",
]
