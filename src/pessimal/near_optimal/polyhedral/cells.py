"""Cells: the near-optimal models of a box, cut up along a few coordinates.

Bounds on losses are as coarse as the ranges of scores are wide. In a part of the set they are
narrower, of all points at once. So the set is cut into *cells*, boxes in coordinates in which
models are spread alike, ``u = centre + axes·v``, and ranges are found again in each.

A cell and the ranges in it have nothing to do with what is asked of them. They are kept with the
set, and every search for a worst case cuts further where the last one ended.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from pessimal.limits import Deadline
from pessimal.near_optimal.polyhedral.parabolas import Points
from pessimal.near_optimal.polyhedral.ranges import ConfinedScores, ScoreRanges
from pessimal.problem import Matrix, Vector
from pessimal.tolerances import OPTIMAL_GAP

THINNEST = 1e-6
"""Least spread of models along a coordinate, relative to the largest."""


@dataclass(frozen=True, eq=False)
class Coordinates:
    """Models ``u = centre + axes·v``, and the ranges of v over a set."""

    centre: Vector
    axes: Matrix
    inverse: Matrix
    low: Vector
    high: Vector

    @classmethod
    def of(cls, members: Matrix, ranges: ScoreRanges, deadline: Deadline) -> Coordinates | None:
        """Return those in which members are spread alike; None if they are not spread, or late."""
        if len(members) <= members.shape[1]:
            return None
        centre = members.mean(axis=0)
        # In similar units: in others the spread along one weight is lost beside that along another.
        values, vectors = np.linalg.eigh(np.cov((members * ranges.factor).T, bias=True))
        if not values[-1] > OPTIMAL_GAP**2:
            return None
        spread = np.sqrt(np.maximum(values, THINNEST**2 * values[-1]))
        inverse = vectors.T / spread[:, None] * ranges.factor
        return cls._ranged(
            centre, vectors * spread / ranges.factor[:, None], inverse, ranges, deadline
        )

    def rotated(
        self, vectors: Matrix, ranges: ScoreRanges, deadline: Deadline
    ) -> Coordinates | None:
        """Return coordinates along orthonormal vectors of these; None if late."""
        inverse = vectors.T @ self.inverse
        return self._ranged(self.centre, self.axes @ vectors, inverse, ranges, deadline)

    @classmethod
    def _ranged(
        cls,
        centre: Vector,
        axes: Matrix,
        inverse: Matrix,
        ranges: ScoreRanges,
        deadline: Deadline,
    ) -> Coordinates | None:
        ends = np.zeros((len(centre), 2))
        for j, form in enumerate(inverse):
            ends[j] = ranges.of_form(form, deadline)
            ends[j] -= form @ centre
            if deadline.over:
                return None
        return cls(centre, axes, inverse, ends[:, 0], ends[:, 1])

    def model(self, v: Vector) -> Vector:
        """Return ``(w, b)``."""
        return self.centre + self.axes @ v


@dataclass(eq=False)
class Cell:
    """Models whose coordinates have these ranges; those of scores found there, and its halves."""

    low: Vector
    high: Vector
    parent: Cell | None = None
    halves: tuple[Cell, Cell] | None = None
    known: dict[bytes, tuple[float, float]] = field(default_factory=dict)

    def split(self, j: int, at: float) -> tuple[Cell, Cell]:
        """Return its halves: as they are, or cut across the j-th coordinate."""
        if self.halves is None:
            middle = self.high.copy(), self.low.copy()
            middle[0][j] = middle[1][j] = at
            self.halves = Cell(self.low, middle[0], self), Cell(middle[1], self.high, self)
        return self.halves


class _Cut(NamedTuple):
    """How a set is cut up; as one thing, for a Ctrl-C may come between any two."""

    coordinates: Coordinates
    root: Cell
    scores: ConfinedScores


class Cells:
    """The cells of one set.

    Parameters
    ----------
    coordinates : Coordinates
    ranges : ScoreRanges
        Of the whole set.
    """

    def __init__(self, coordinates: Coordinates, ranges: ScoreRanges) -> None:
        self.ranges = ranges
        self._cut = self._along(coordinates)

    def _along(self, coordinates: Coordinates) -> _Cut:
        root = Cell(coordinates.low, coordinates.high)
        return _Cut(coordinates, root, self.ranges.along(coordinates.inverse))

    @property
    def coordinates(self) -> Coordinates:
        """Those in which cells are boxes."""
        return self._cut.coordinates

    @property
    def root(self) -> Cell:
        """The whole set."""
        return self._cut.root

    def turn(self, vectors: Matrix, deadline: Deadline) -> bool:
        """Cut the set, as yet whole, along other directions; return whether there was time."""
        turned = self.coordinates.rotated(vectors, self.ranges, deadline)
        if turned is not None:
            self._cut = self._along(turned)
        return turned is not None

    def find(self, cell: Cell, points: Matrix, deadline: Deadline) -> None:
        """Bound the scores of points in a cell, those of which nothing is known there."""
        offset = self.coordinates.inverse @ self.coordinates.centre
        scores = self._cut.scores
        scores.confine(cell.low + offset, cell.high + offset)
        for point in points:
            if deadline.over:
                break
            key = point.tobytes()
            if key not in cell.known:
                cell.known[key] = scores.bound(point, deadline)

    def known(self, cell: Cell, points: Matrix) -> tuple[Vector, Vector]:
        """Return what is known of the ranges of scores in a cell: what holds around it, too."""
        low, high, _ = self.ranges.known(points)
        keys = [point.tobytes() for point in points]
        around: Cell | None = cell
        while around is not None:
            if around.known:
                for k, key in enumerate(keys):
                    ends = around.known.get(key)
                    if ends is not None:
                        low[k], high[k] = max(low[k], ends[0]), min(high[k], ends[1])
            around = around.parent
        return low, np.maximum(low, high)

    def points(
        self, cell: Cell, rows: Matrix, threshold: float, low: Vector, high: Vector, weight: Vector
    ) -> Points:
        """Return ``threshold − rows·u`` as functions of v, given the ranges of ``rows·u``."""
        in_v = rows @ self.coordinates.axes
        offset = threshold - rows @ self.coordinates.centre
        ends = np.array([in_v * cell.low, in_v * cell.high])
        least, most = ends.min(axis=0).sum(axis=1), ends.max(axis=0).sum(axis=1)
        low, high = (
            np.maximum(threshold - high, offset - most),
            np.minimum(threshold - low, offset - least),
        )
        return Points(in_v, offset, low, np.maximum(low, high), weight)

    def sides(self, cell: Cell) -> Points:
        """Return the coordinates as functions of v with a range."""
        q = len(cell.low)
        return Points(-np.eye(q), np.zeros(q), cell.low, cell.high, np.zeros(q))
