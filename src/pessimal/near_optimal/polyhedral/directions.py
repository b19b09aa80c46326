"""Branch and bound on directions: the largest loss over near-optimal models of many points.

Splitting the set at the breakpoint of one point of hundreds changes next to nothing. A split along
a direction of models narrows the scores of all points at once, and few directions matter: those in
which the average of `moments` that reaches the bound is spread out. The node of largest bound is
split where its average lies, along the direction of largest variance, until the bound meets the
largest loss found or time is up.

Directions are those of coordinates in which models that were met are spread alike: ``u = centre +
axes·v``.
"""

from __future__ import annotations

import heapq
import time
from collections.abc import Callable
from dataclasses import dataclass
from itertools import count

import numpy as np

from pessimal.limits import Deadline
from pessimal.losses import OneBreakpoint
from pessimal.near_optimal.polyhedral.moments import MomentProgram, Moments
from pessimal.near_optimal.polyhedral.parabolas import Points
from pessimal.near_optimal.polyhedral.ranges import ScoreRanges
from pessimal.problem import Matrix, TuningProblem, Vector, margin_rows
from pessimal.tolerances import OPTIMAL_GAP

THINNEST = 1e-6
"""Least spread of models along a coordinate, relative to the largest."""

TRAINING_SHARE = 0.3
"""Of the time, for the ranges of training points: where they are coarse, so is the bound."""


@dataclass(frozen=True, eq=False)
class Coordinates:
    """Models ``u = centre + axes·v``, and how far v goes over a set."""

    centre: Vector
    axes: Matrix
    inverse: Matrix
    reach: Vector

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
        reach = np.zeros(len(centre))
        for j, form in enumerate(inverse):
            low, high = ranges.of_form(form, deadline)
            if deadline.over:
                return None
            at = float(form @ centre)
            reach[j] = max(high - at, at - low)
        return cls(centre, vectors * spread / ranges.factor[:, None], inverse, reach)

    def model(self, v: Vector) -> Vector:
        """Return ``(w, b)``."""
        return self.centre + self.axes @ v

    def points(
        self, rows: Matrix, threshold: float, low: Vector, high: Vector, weight: Vector
    ) -> Points:
        """Return ``threshold − rows·u`` as functions of v, given the ranges of ``rows·u``."""
        in_v, offset = rows @ self.axes, threshold - rows @ self.centre
        wide = np.abs(in_v) @ self.reach
        return Points(
            in_v,
            offset,
            np.maximum(threshold - high, offset - wide),
            np.minimum(threshold - low, offset + wide),
            weight,
        )


class DirectionSearch:
    """Bounds the largest loss on a validation set over the models of a box that train well.

    Parameters
    ----------
    problem : TuningProblem
    box : ndarray of shape (p,)
    limit : float
        Largest training loss.
    loss : OneBreakpoint
    ranges : ScoreRanges
        Of the same set.
    """

    def __init__(
        self,
        problem: TuningProblem,
        box: Vector,
        limit: float,
        loss: OneBreakpoint,
        ranges: ScoreRanges,
    ) -> None:
        self._problem, self._box, self._limit, self._loss = problem, box, limit, loss
        self._ranges = ranges

    def bound(
        self,
        best: Callable[[Vector | None], float],
        gain: float,
        members: Matrix,
        deadline: Deadline,
    ) -> float:
        """Bound the largest loss, as far as there is time.

        Parameters
        ----------
        best : callable
            Returns the largest loss found; given a model, after looking around it.
        gain : float
            A node whose bound is no more than this above the largest loss found is closed.
        members : ndarray of shape (m, p + 1)
            Models of the set.
        """
        coordinates = Coordinates.of(members, self._ranges, deadline)
        if coordinates is None:
            return np.inf
        program = self._program(coordinates, deadline)
        nothing = program.others[:0]
        order = count()
        begun = time.perf_counter()
        root = program.solve(nothing, deadline)
        solving = time.perf_counter() - begun
        if not np.isfinite(root.bound):
            return np.inf
        _look_around(root, coordinates, best)
        nodes = [(-root.bound, next(order), root, nothing)]
        closed = -np.inf
        while nodes and deadline.left > 2.0 * solving:  # a half that is not solved is of no use
            if -nodes[0][0] <= best(None) + gain:
                break
            negative, _, node, slabs = heapq.heappop(nodes)
            for side in self._halves(node, slabs, coordinates, deadline):
                child = program.solve(side, deadline)
                bound = min(child.bound, -negative)
                if bound == -np.inf:
                    continue
                if np.isfinite(child.bound):
                    _look_around(child, coordinates, best)
                else:  # not solved: what is known of its parent holds
                    child = node
                if bound <= best(None) + gain:
                    closed = max(closed, bound)
                    continue
                heapq.heappush(nodes, (-bound, next(order), child, side))
        return max(closed, -nodes[0][0] if nodes else -np.inf)

    def _program(self, coordinates: Coordinates, deadline: Deadline) -> MomentProgram:
        problem, loss = self._problem, self._loss
        self._ranges.find_loosely(problem.X_train, deadline.share(TRAINING_SHARE))
        judged, trained = (
            coordinates.points(margin_rows(X, y), at, *self._margins(X, y), weight)
            for X, y, at, weight in (
                (problem.X_val, problem.y_val, loss.threshold, problem.val_weight),
                (problem.X_train, problem.y_train, 1.0, problem.train_weight),
            )
        )
        p = len(self._box)
        rows = np.eye(p, p + 1) * self._ranges.factor
        box = self._box * self._ranges.factor[:-1]
        weights = coordinates.points(rows, 0.0, -box, box, np.zeros(p))
        return MomentProgram(judged, trained, weights, loss.counts, self._limit, coordinates.reach)

    def _margins(self, X: Matrix, y: Vector) -> tuple[Vector, Vector]:
        """Return what is known of the ranges of margins."""
        low, high, _ = self._ranges.known(X)
        ends = np.array([low, high]) * y
        return ends.min(axis=0), ends.max(axis=0)

    def _halves(
        self, node: Moments, slabs: Points, coordinates: Coordinates, deadline: Deadline
    ) -> list[Points]:
        """Split a node along the direction of largest variance."""
        direction = np.linalg.eigh(node.covariance)[1][:, -1]
        at = float(direction @ node.mean)
        form = direction @ coordinates.inverse
        middle = float(form @ coordinates.centre)
        low, high = (end - middle for end in self._ranges.of_form(form, deadline))
        # t = −direction·v
        ends = ((-at, -low), (-high, -at))
        return [
            slabs + Points(direction[None, :], *np.array([[0.0], [t_low], [t_high], [0.0]]))
            for t_low, t_high in ends
        ]


def _look_around(
    node: Moments, coordinates: Coordinates, best: Callable[[Vector | None], float]
) -> None:
    """Look for larger losses where the average of a node lies, and where it is spread out to."""
    values, vectors = np.linalg.eigh(node.covariance)
    far = np.sqrt(max(0.0, float(values[-1]))) * vectors[:, -1]
    for v in (node.mean, node.mean + far, node.mean - far):
        best(coordinates.model(v))
