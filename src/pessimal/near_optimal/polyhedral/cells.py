"""Cells: the near-optimal models of a box, cut up by the scores of points.

Bounds on losses are as coarse as the ranges of scores are wide. In a part of the set they are
narrower, of all points at once. So the set is cut into *cells* by the scores of a few points, and
ranges are found again in each. Coordinates in which models are spread alike, ``u = centre +
axes·v``, keep numbers of usual size.

A cell and the ranges in it have nothing to do with what is asked of them. They are kept with the
set, and every search for a worst case cuts further where the last one ended.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from pessimal.limits import Deadline
from pessimal.near_optimal.polyhedral.parabolas import Points
from pessimal.near_optimal.polyhedral.ranges import ScoreRanges
from pessimal.problem import Matrix, Vector, margin_rows
from pessimal.tolerances import OPTIMAL_GAP

MOST_CUTS = 40
"""Points whose scores are confined where others are found: those that cut last, for deep cells."""

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


class Cut(NamedTuple):
    """A point and the range of its scores in a cell: what makes that a part of another."""

    point: Vector
    low: float
    high: float


@dataclass(eq=False)
class Cell:
    """A part of its parent; the ranges of scores that were found there, and its halves."""

    parent: Cell | None = None
    cut: Cut | None = None
    halves: tuple[Cell, Cell] | None = None
    known: dict[bytes, tuple[float, float]] = field(default_factory=dict)

    def split(self, point: Vector, at: float) -> tuple[Cell, Cell]:
        """Return its halves: as they are, or with scores of a point below `at` and above."""
        if self.halves is None:
            below, above = Cut(point, -np.inf, at), Cut(point, at, np.inf)
            self.halves = Cell(self, below), Cell(self, above)
        return self.halves

    @property
    def line(self) -> Iterator[Cell]:
        """The cell and those around it, from the inside."""
        cell: Cell | None = self
        while cell is not None:
            yield cell
            cell = cell.parent


class Cells:
    """The cells of one set.

    Parameters
    ----------
    coordinates : Coordinates
    ranges : ScoreRanges
        Of the whole set.
    """

    def __init__(self, coordinates: Coordinates, ranges: ScoreRanges) -> None:
        self.coordinates, self.ranges = coordinates, ranges
        self.root = Cell()
        self._scores = ranges.confined(MOST_CUTS)

    def turn(self, vectors: Matrix, deadline: Deadline) -> bool:
        """Take coordinates along other directions; return whether there was time."""
        turned = self.coordinates.rotated(vectors, self.ranges, deadline)
        if turned is not None:
            self.coordinates = turned
        return turned is not None

    def find(self, cell: Cell, points: Matrix, deadline: Deadline) -> None:
        """Bound the scores of points in a cell, those of which nothing is known there."""
        self._scores.confine(*self.cuts(cell))
        unknown = {point.tobytes(): point for point in points}
        for key in cell.known.keys() & unknown.keys():
            del unknown[key]
        missing = np.array(list(unknown.values())).reshape(-1, points.shape[1])
        for key, ends in zip(unknown, self._scores.bounds(missing, deadline), strict=False):
            cell.known[key] = ends

    def cuts(self, cell: Cell) -> tuple[Matrix, Vector, Vector]:
        """Return the points by whose scores a cell was cut out, and their ranges there."""
        cuts = [around.cut.point for around in cell.line if around.cut is not None]
        distinct = {point.tobytes(): point for point in reversed(cuts)}
        points = np.array(list(distinct.values())).reshape(-1, len(self.coordinates.centre) - 1)
        return points, *self.known(cell, points)

    def known(self, cell: Cell, points: Matrix) -> tuple[Vector, Vector]:
        """Return what is known of the ranges of scores in a cell: what holds around it, too."""
        low, high, _ = self.ranges.known(points)
        keys = [point.tobytes() for point in points]

        def narrow(k: int, least: float, most: float) -> None:
            low[k], high[k] = max(low[k], least), min(high[k], most)

        for around in cell.line:
            if around.known:
                for k, key in enumerate(keys):
                    ends = around.known.get(key)
                    if ends is not None:
                        narrow(k, *ends)
            if around.cut is not None:
                cut = around.cut.point.tobytes()
                for k, key in enumerate(keys):
                    if key == cut:
                        narrow(k, around.cut.low, around.cut.high)
        return low, np.maximum(low, high)

    def points(
        self, rows: Matrix, threshold: float, low: Vector, high: Vector, weight: Vector
    ) -> Points:
        """Return ``threshold − rows·u`` as functions of v, given the ranges of ``rows·u``."""
        at = self.coordinates
        in_v = rows @ at.axes
        offset = threshold - rows @ at.centre
        ends = np.array([in_v * at.low, in_v * at.high])
        least, most = ends.min(axis=0).sum(axis=1), ends.max(axis=0).sum(axis=1)
        low, high = (
            np.maximum(threshold - high, offset - most),
            np.minimum(threshold - low, offset - least),
        )
        return Points(in_v, offset, low, np.maximum(low, high), weight)

    def sides(self, cell: Cell) -> Points:
        """Return the coordinates, and the scores by which a cell was cut out, with their ranges."""
        at, q = self.coordinates, len(self.coordinates.low)
        points, low, high = self.cuts(cell)
        rows = margin_rows(points, np.ones(len(points)))
        by_scores = self.points(rows, 0.0, low, high, np.zeros(len(rows)))
        return Points(-np.eye(q), np.zeros(q), at.low, at.high, np.zeros(q)) + by_scores
