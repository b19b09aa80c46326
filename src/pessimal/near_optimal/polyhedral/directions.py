"""Branch and bound on directions: the largest loss over near-optimal models of many points.

Splitting the set at the breakpoint of one point of hundreds makes one loss linear and changes
little else. A bound is coarse because of points of which it knows no more than moments, and few
directions matter: those in which the average that reaches the bound is spread out. The cell of
largest bound is split by the scores of the point that are most correlated with the scores of all
these, so that their ranges get narrower together; in its halves those are found again that add most
to the bound. So it goes on until the bound meets the largest loss found or time is up.
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

MOST_CANDIDATES = 300
"""Points that are looked at for a split, those that add most to the bound."""

NEAR = 0.15
"""Part of a range within which a breakpoint is split at instead of the mean."""

LEAST_SPREAD = 1e-3
"""Variance of scores, by the square of their range, below which a split would divide nothing."""

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
        self._points = np.vstack([problem.X_val, problem.X_train])
        self._breakpoints = np.append(loss.threshold * problem.y_val, problem.y_train)

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
            cells.points(rows, at, *self._margins(cell, X, y), weight)
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
        weights = cells.points(np.eye(p, p + 1) * factor, 0.0, -box, box, np.zeros(p))
        reach = np.maximum(np.abs(cells.coordinates.low), np.abs(cells.coordinates.high))
        others = weights + cells.sides(cell)
        program = MomentProgram(judged, trained, others, self._loss.counts, self._limit, reach)
        return program.solve(deadline)

    def _margins(self, cell: Cell, X: Matrix, y: Vector) -> tuple[Vector, Vector]:
        """Return what is known of the ranges of margins."""
        ends = np.array(self._cells.known(cell, X)) * y
        return ends.min(axis=0), ends.max(axis=0)

    def _halves(self, cell: Cell, node: Moments, deadline: Deadline) -> tuple[Cell, Cell]:
        """Split a cell, or take its halves, and find the ranges there that matter most."""
        gaps = np.append(node.judged, node.trained)
        if cell.halves is None:
            cell.split(*self._split(cell, node, gaps))
        assert cell.halves is not None
        assert cell.halves[0].cut is not None
        at = cell.halves[0].cut.point
        form = margin_rows(at[None, :], np.ones(1)) @ self._cells.coordinates.axes
        rows = np.vstack(self._rows) @ self._cells.coordinates.axes
        worth = gaps * _correlation(form, rows, node.covariance)[0]
        order = np.argsort(-worth, kind="stable")
        most = WORTH_NARROWING * worth.sum()
        chosen = self._points[order[: 1 + np.searchsorted(np.cumsum(worth[order]), most)]]
        self._cells.find(cell.halves[0], chosen, deadline.share(0.5))
        self._cells.find(cell.halves[1], chosen, deadline)
        return cell.halves

    def _split(self, cell: Cell, node: Moments, gaps: Vector) -> tuple[Vector, float]:
        """Return the point by whose scores to split a cell, and where.

        What points add to a bound falls as far as their scores are correlated with those that are
        split. A range in which scores hardly vary is not worth it.
        """
        coordinates = self._cells.coordinates
        matter = np.argsort(-gaps, kind="stable")[:MOST_CANDIDATES]
        points = self._points[matter]
        forms = margin_rows(points, np.ones(len(points)))
        low, high = self._cells.known(cell, points)
        in_v, width = forms @ coordinates.axes, high - low
        variance = np.einsum("ij,jk,ik->i", in_v, node.covariance, in_v)
        correlation = _correlation(in_v, in_v, node.covariance)
        worth = np.where(variance > LEAST_SPREAD * width**2, correlation @ gaps[matter], 0.0)
        k = int(np.argmax(worth + NO_SPREAD * width))
        mean = float(forms[k] @ coordinates.model(node.mean))
        breakpoint_ = self._breakpoints[matter[k]]
        if abs(mean - breakpoint_) < NEAR * width[k]:
            mean = breakpoint_  # a loss is linear in either half
        margin = EDGE * width[k]
        return points[k], float(np.clip(mean, low[k] + margin, high[k] - margin))

    def _look_around(self, node: Moments, best: Callable[[Vector | None], float]) -> None:
        """Look for larger losses where the average of a cell lies, and how far it is spread."""
        values, vectors = np.linalg.eigh(node.covariance)
        far = np.sqrt(max(0.0, float(values[-1]))) * vectors[:, -1]
        for v in (node.mean, node.mean + far, node.mean - far):
            best(self._cells.coordinates.model(v))


def _correlation(forms: Matrix, others: Matrix, covariance: Matrix) -> Matrix:
    """Return the squared correlations of linear forms of models with others."""
    spread, other = (
        np.maximum(np.einsum("ij,jk,ik->i", rows, covariance, rows), NO_SPREAD)
        for rows in (forms, others)
    )
    crossed = (forms @ covariance @ others.T) ** 2
    return np.minimum(1.0, crossed / (spread[:, None] * other[None, :]))
