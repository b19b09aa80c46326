"""Losses of a margin ``y·score``, one class each."""

from pessimal.losses.base import Loss, find_loss
from pessimal.losses.piecewise import HINGE, Hinge, InMargin, OneBreakpoint, Step, ZeroOne

__all__ = ["HINGE", "Hinge", "InMargin", "Loss", "OneBreakpoint", "Step", "ZeroOne", "find_loss"]
