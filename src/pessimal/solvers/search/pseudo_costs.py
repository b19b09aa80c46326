"""Pseudo-costs: what crossing a complementarity has cost so far.

Strong branching on every complementarity would take most of the time of a large search. The bound
of P grows about in proportion to how far a row has to move to its breakpoint. So, once a few bounds
of a pair are known, their growth per unit of distance estimates the next one.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

RELIABLE = 6  # known bounds of a side of a pair before an estimate takes their place


class PseudoCosts:
    """Growth of P's bound, and the distance crossed, summed for each side of each pair."""

    def __init__(self, n_pairs: int) -> None:
        self.count = np.zeros((n_pairs, 2), np.intp)
        self.growth = np.zeros((n_pairs, 2))
        self.distance = np.zeros((n_pairs, 2))

    def record(self, pair: int, side: int, distance: float, growth: float) -> None:
        """Learn by how much the bound has grown over a distance."""
        self.count[pair, side] += 1
        self.growth[pair, side] += growth
        self.distance[pair, side] += distance

    def reliable(self, pair: int, side: int) -> bool:
        """Whether enough is known of a side to estimate the growth from there."""
        return self.count[pair, side] >= RELIABLE

    def estimate(self, pair: int, side: int, distance: float) -> float:
        """Growth to expect over a distance."""
        return distance * self.growth[pair, side] / self.distance[pair, side]

    def sums(self) -> NDArray[np.float64]:
        """Return all that is known, as data."""
        return np.array([self.count, self.growth, self.distance])

    def begin_from(self, sums: NDArray[np.float64]) -> None:
        """Begin with what is known of another tree."""
        for pair in range(len(self.count)):
            for side in range(2):
                self.count[pair, side] = int(sums[0, pair, side])
                self.growth[pair, side] = sums[1, pair, side]
                self.distance[pair, side] = sums[2, pair, side]
