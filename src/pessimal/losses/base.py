"""What every loss can say of itself.

A loss is a function of the margin ``y·score`` that never rises with it: the larger the margin, the
better. So over a range of margins it is largest at the lower end, whatever else it is.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from pessimal.errors import InvalidInputError

Vector = NDArray[np.float64]

_LOSSES: dict[str, type[Loss]] = {}


class Loss(ABC):
    """A loss of one margin. A subclass with a `name` can be asked for by it.

    Attributes
    ----------
    name : str
    breakpoints : tuple of float
        Margins at which the slope changes, or the loss jumps.
    """

    name: ClassVar[str]
    breakpoints: tuple[float, ...] = ()

    def __init_subclass__(cls) -> None:
        if "name" in cls.__dict__:
            _LOSSES[cls.name] = cls

    @abstractmethod
    def value(self, margins: Vector) -> Vector:
        """Return the loss of each margin."""

    @abstractmethod
    def slope(self, margins: Vector) -> Vector:
        """Return the derivative at each margin, the one to the left at a breakpoint."""

    @abstractmethod
    def curvature(self, low: Vector, high: Vector) -> Vector:
        """Return the largest second derivative between each two margins, breakpoints apart."""

    def mean(self, margins: Vector, weight: Vector) -> float:
        """Return the mean under weights that sum to 1."""
        return float(weight @ self.value(margins))

    def of_scores(self, labels: Vector, scores: Vector) -> Vector:
        """Return the loss of each score of points with labels −1 and +1."""
        return self.value(labels * scores)

    def over_scores(self, labels: Vector, low: Vector, high: Vector) -> tuple[Vector, Vector]:
        """Return the least and the largest loss of each point with scores between two."""
        ends = self.of_scores(labels, low), self.of_scores(labels, high)
        return np.minimum(*ends), np.maximum(*ends)


def find_loss(loss: str | Loss) -> Loss:
    """Return a loss by its name; one that is given is returned as it is.

    Examples
    --------
    >>> find_loss("zero_one").breakpoints
    (0.0,)
    """
    if isinstance(loss, Loss):
        return loss
    if not (isinstance(loss, str) and loss in _LOSSES):
        names = ", ".join(map(repr, _LOSSES))
        raise InvalidInputError(f"loss is {loss!r}; pass one of {names}, or a Loss")
    return _LOSSES[loss]()
