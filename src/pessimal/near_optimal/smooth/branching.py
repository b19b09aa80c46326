"""Branch and bound on the few directions in which the validation loss outgrows training.

Where the parabolas of the two losses leave a gap, it comes from the directions with the largest
generalised eigenvalues of their curvatures. A *slab* ``low ≤ v·d ≤ high`` per direction cuts the
set into nodes. In a node the margins of all rows range less, so both parabolas are closer, and the
slabs join the S-lemma as ``(v·d − low)(high − v·d) ≥ 0`` with multipliers of their own.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass, replace
from itertools import count

import numpy as np
from scipy.linalg import cho_factor, cho_solve, eigh
from scipy.optimize import minimize

from pessimal.limits import Deadline
from pessimal.near_optimal.smooth.objective import MeanLoss, Objective
from pessimal.near_optimal.smooth.quadratic import Quadratic, dual_value
from pessimal.problem import Matrix, Vector

DIRECTIONS = 4
"""Directions that are branched on; the eigenvalues of more are hardly above the multiplier."""


@dataclass(frozen=True, eq=False)
class Node:
    """Slabs in the leading directions, and a bound on the loss of the members between them."""

    low: Vector
    high: Vector
    bound: float
    multipliers: Vector


class Branching:
    """Bounds the mean loss over a set that lies in an ellipsoid around a trained model.

    Coordinates: ``d = u − centre`` of the ellipsoid, ``z`` in the basis in which it is a ball and
    the curvature of the loss is diagonal, the largest first.
    """

    def __init__(
        self,
        objective: Objective,
        limit: float,
        mean: MeanLoss,
        trained: Vector,
        ellipsoid: Quadratic,
        curvature: Matrix,
        worst: Vector,
    ) -> None:
        self.objective, self.limit, self.mean, self.worst = objective, limit, mean, worst
        offset = -cho_solve(cho_factor(ellipsoid.curvature, lower=True), ellipsoid.slope)
        self.centre = trained + offset
        self.radius2 = max(0.0, -2.0 * ellipsoid.value - float(ellipsoid.slope @ offset))
        self.radius2 *= 1.0 + 1e-9
        basis = eigh(curvature, ellipsoid.curvature)[1][:, ::-1]
        q = min(DIRECTIONS, len(offset))
        self.basis, self.slabs = basis, (basis.T @ ellipsoid.curvature)[:q]
        self.train, self.judged = objective.mean.rows.Z @ basis, mean.rows.Z @ basis
        wide = np.full(q, np.sqrt(self.radius2))
        self.root = self._bounded(Node(-wide, wide, np.inf, np.full(q + 1, np.nan)))

    def run(self, value: float, tolerance: float, nodes: int, deadline: Deadline) -> float:
        """Branch until no node may hold a loss above `value`; return the bound then."""
        order = count()
        heap = [(-self.root.bound, next(order), self.root)]
        while heap and -heap[0][0] > value + tolerance and nodes > 0 and not deadline.over:
            node = heapq.heappop(heap)[2]
            i = int(np.argmax(node.high - node.low))
            middle = 0.5 * (node.low[i] + node.high[i])
            ends = node.low.copy(), node.high.copy()
            ends[0][i] = ends[1][i] = middle
            for child in (replace(node, high=ends[1]), replace(node, low=ends[0])):
                nodes -= 1
                bounded = self._bounded(child)
                if bounded.bound > value + tolerance:
                    heapq.heappush(heap, (-bounded.bound, next(order), bounded))
        return max(value + tolerance, -heap[0][0]) if heap else value + tolerance

    def _bounded(self, node: Node) -> Node:
        """Bound a node no worse than its parent, with tangents at two of its models."""
        q = len(node.low)
        nearest = np.clip(0.0, node.low, node.high)
        rest = self.radius2 - float(nearest @ nearest)
        if rest < 0.0:
            return replace(node, bound=-np.inf)
        train = self._ranges(self.train, node, rest)
        judged = self._ranges(self.judged, node, rest)
        z = self.slabs @ (self.worst - self.centre)
        moved = np.clip(z, node.low, node.high) - z
        near_worst = self.worst + self.basis[:, :q] @ moved
        middle = self.centre + self.basis[:, :q] @ (0.5 * (node.low + node.high))
        best = node
        for u in (near_worst, middle):
            bound, multipliers = self._dual(u, node, train, judged)
            if bound < best.bound:
                best = replace(node, bound=bound, multipliers=multipliers)
        return best

    def _ranges(self, rows: Matrix, node: Node, rest: float) -> tuple[Vector, Vector]:
        """Bound how far the members of a node move the margins of rows from the centre."""
        q = len(node.low)
        ends = rows[:, :q] * node.low, rows[:, :q] * node.high
        spread = np.sqrt(rest) * np.linalg.norm(rows[:, q:], axis=1) * (1.0 + 1e-9)
        return np.minimum(*ends).sum(axis=1) - spread, np.maximum(*ends).sum(axis=1) + spread

    def _dual(
        self, u: Vector, node: Node, train: tuple[Vector, Vector], judged: tuple[Vector, Vector]
    ) -> tuple[float, Vector]:
        """Minimise the S-lemma's bound over the multipliers of budget and slabs."""
        least, _ = self._secants(self.objective.mean, u, train)
        _, most = self._secants(self.mean, u, judged)
        region, loss = self.objective.expansion(u, least), self.mean.expansion(u, most)
        c = region.value - self.limit
        at = self.slabs @ (u - self.centre)
        low, high = node.low - at, node.high - at
        slabs = self.slabs

        def terms(x: Vector) -> tuple[Matrix, Vector, float]:
            budget, walls = np.exp(x[0]), np.exp(x[1:])
            matrix = budget * region.curvature + 2.0 * (slabs.T * walls) @ slabs - loss.curvature
            h = loss.slope - budget * region.slope + slabs.T @ (walls * (low + high))
            return matrix, h, float(-budget * c - walls @ (low * high))

        def value(x: Vector) -> tuple[float, Vector]:
            matrix, h, constant = terms(x)
            try:
                factor = cho_factor(matrix, lower=True)
            except np.linalg.LinAlgError:
                return 1e6, np.zeros_like(x)
            d = cho_solve(factor, h)
            z = slabs @ d
            to_budget = -c - region.slope @ d - 0.5 * d @ region.curvature @ d
            to_walls = -low * high + (low + high) * z - z * z
            return constant + 0.5 * float(h @ d), np.exp(x) * np.append(to_budget, to_walls)

        start = node.multipliers
        if np.isnan(start).any():
            lead = float(eigh(loss.curvature, region.curvature, eigvals_only=True)[-1])
            start = np.append(np.log(1.05 * max(lead, 1e-9)), np.full(len(low), np.log(1e-3)))
        for _ in range(60):
            if value(start)[0] < 1e6:
                break
            start = start + np.append(0.3, np.zeros(len(low)))
        found = minimize(
            value,
            start,
            jac=True,
            method="L-BFGS-B",
            bounds=[(-25.0, 40.0)] * len(start),
            options={"maxiter": 100},
        )
        bounds = [loss.value + dual_value(*terms(x)) for x in (start, found.x)]
        return min(bounds), found.x if bounds[1] <= bounds[0] else start

    def _secants(
        self, mean: MeanLoss, u: Vector, ranges: tuple[Vector, Vector]
    ) -> tuple[Vector, Vector]:
        moved = mean.rows.Z @ (u - self.centre)
        low, high = np.minimum(0.0, ranges[0] - moved), np.maximum(0.0, ranges[1] - moved)
        return mean.loss.secants(mean.rows.margins(u), low, high)
