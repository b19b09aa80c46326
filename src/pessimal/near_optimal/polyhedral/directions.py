"""Branch and bound on directions: the largest loss over near-optimal models of many points.

Splitting the set at the breakpoint of one point of hundreds changes next to nothing. A split along
a direction of models narrows the ranges of all points at once, and few directions matter: those in
which the average of `moments` that reaches the bound is spread out. The cell of largest bound is
split where its average lies, along the coordinate of largest variance; in its halves those ranges
are found again that add most to the bound. So it goes on until the bound meets the largest loss
found or time is up.
"""

from __future__ import annotations

import heapq
import time
from collections.abc import Callable
from itertools import count

import numpy as np

from pessimal.limits import Deadline
from pessimal.losses import OneBreakpoint
from pessimal.near_optimal.polyhedral.cells import Cell, Cells
from pessimal.near_optimal.polyhedral.moments import MomentProgram, Moments
from pessimal.problem import Matrix, TuningProblem, Vector, margin_rows

EDGE = 0.2
"""Least part of a cell on either side of a split."""

WORTH_NARROWING = 0.95
"""Of what points may narrow a bound by, the part for which ranges are found again."""

LEAST_SOLVES = 2.5
"""A cell is split while there is time to solve so many programs: of half a split nothing is left.
What there is beyond goes to the ranges."""

NO_SPREAD = 1e-12
"""A variance, where models have one of about 1, that is none."""


class DirectionSearch:
    """Bounds the largest loss on a validation set over the models of a box that train well.

    Parameters
    ----------
    problem : TuningProblem
    box : ndarray of shape (p,)
    limit : float
        Largest training loss.
    loss : OneBreakpoint
    cells : Cells
        Of the same set.
    """

    def __init__(
        self, problem: TuningProblem, box: Vector, limit: float, loss: OneBreakpoint, cells: Cells
    ) -> None:
        self._problem, self._box, self._limit, self._loss = problem, box, limit, loss
        self._cells = cells
        self._rows = (
            margin_rows(problem.X_val, problem.y_val),
            margin_rows(problem.X_train, problem.y_train),
        )

    def bound(
        self, best: Callable[[Vector | None], float], gain: float, deadline: Deadline
    ) -> float:
        """Bound the largest loss, as far as there is time.

        Parameters
        ----------
        best : callable
            Returns the largest loss found; given a model, after looking around it.
        gain : float
            A cell whose bound is no more than this above the largest loss found is closed.
        """
        order = count()
        begun = time.perf_counter()
        root = self.bound_in(self._cells.root, deadline)
        solving = time.perf_counter() - begun
        if not np.isfinite(root.bound):
            return np.inf
        self._look_around(root, best)
        if deadline.left > LEAST_SOLVES * solving and self._cells.root.halves is None:
            root = self._turned(root, deadline)
        nodes = [(-root.bound, next(order), self._cells.root, root)]
        closed = -np.inf
        while nodes and (left := deadline.left) > LEAST_SOLVES * solving:
            if -nodes[0][0] <= best(None) + gain:
                break
            negative, _, cell, node = heapq.heappop(nodes)
            ranging = deadline.share(1.0 - LEAST_SOLVES * solving / left)
            for half in self._halves(cell, node, ranging):
                child = self.bound_in(half, deadline)
                bound = min(child.bound, -negative)
                if bound == -np.inf:
                    continue
                if np.isfinite(child.bound):
                    self._look_around(child, best)
                else:  # not solved: what is known of its parent holds
                    child = node
                if bound <= best(None) + gain:
                    closed = max(closed, bound)
                    continue
                heapq.heappush(nodes, (-bound, next(order), half, child))
        return max(closed, -nodes[0][0] if nodes else -np.inf)

    def _turned(self, root: Moments, deadline: Deadline) -> Moments:
        """Let the coordinates be those in which the average of the whole set is spread out."""
        vectors = np.linalg.eigh(root.covariance)[1]
        if not self._cells.turn(vectors, deadline):
            return root
        return root._replace(
            mean=vectors.T @ root.mean, covariance=vectors.T @ root.covariance @ vectors
        )

    def bound_in(self, cell: Cell, deadline: Deadline) -> Moments:
        """Bound the loss over the models of a cell, with the ranges that are known."""
        problem, cells = self._problem, self._cells
        judged, trained = (
            cells.points(cell, rows, at, *self._margins(cell, X, y), weight)
            for rows, X, y, at, weight in (
                (
                    self._rows[0],
                    problem.X_val,
                    problem.y_val,
                    self._loss.threshold,
                    problem.val_weight,
                ),
                (self._rows[1], problem.X_train, problem.y_train, 1.0, problem.train_weight),
            )
        )
        p, factor = len(self._box), cells.ranges.factor
        box = self._box * factor[:-1]
        weights = cells.points(cell, np.eye(p, p + 1) * factor, 0.0, -box, box, np.zeros(p))
        reach = np.maximum(np.abs(cell.low), np.abs(cell.high))
        others = weights + cells.sides(cell)
        program = MomentProgram(judged, trained, others, self._loss.counts, self._limit, reach)
        return program.solve(deadline)

    def _margins(self, cell: Cell, X: Matrix, y: Vector) -> tuple[Vector, Vector]:
        """Return what is known of the ranges of margins."""
        ends = np.array(self._cells.known(cell, X)) * y
        return ends.min(axis=0), ends.max(axis=0)

    def _halves(self, cell: Cell, node: Moments, deadline: Deadline) -> tuple[Cell, Cell]:
        """Split a cell, or take its halves, and find the ranges there that matter most."""
        rows = np.vstack(self._rows) @ self._cells.coordinates.axes
        points = np.vstack([self._problem.X_val, self._problem.X_train])
        # What each point adds, as far as its score is correlated with each coordinate.
        spread = np.einsum("ij,jk,ik->i", rows, node.covariance, rows)[:, None]
        product = np.maximum(spread, NO_SPREAD) * np.maximum(np.diag(node.covariance), NO_SPREAD)
        correlation = np.minimum(1.0, (rows @ node.covariance) ** 2 / product)
        gaps = np.append(node.judged, node.trained)
        width = cell.high - cell.low
        j = int(np.argmax(gaps @ correlation + NO_SPREAD * width))
        at = np.clip(node.mean[j], cell.low[j] + EDGE * width[j], cell.high[j] - EDGE * width[j])
        halves = cell.split(j, float(at))
        j = int(np.argmax(cell.high - halves[0].high))  # another search may have cut it before
        worth = gaps * correlation[:, j]
        order = np.argsort(-worth, kind="stable")
        most = WORTH_NARROWING * worth.sum()
        chosen = points[order[: 1 + np.searchsorted(np.cumsum(worth[order]), most)]]
        self._cells.find(halves[0], chosen, deadline.share(0.5))
        self._cells.find(halves[1], chosen, deadline)
        return halves

    def _look_around(self, node: Moments, best: Callable[[Vector | None], float]) -> None:
        """Look for larger losses where the average of a cell lies, and how far it is spread."""
        values, vectors = np.linalg.eigh(node.covariance)
        far = np.sqrt(max(0.0, float(values[-1]))) * vectors[:, -1]
        for v in (node.mean, node.mean + far, node.mean - far):
            best(self._cells.coordinates.model(v))
