"""The support function of a smooth near-optimal set: how far its members move the margins of rows.

The largest ``z·d`` of a member is a convex program. Near its solution ``u`` the gradient ``g`` of R
is almost ``μz``, and since no member has ``g·(v − u) > limit − R(u)``,

    ``z·(v − u) ≤ (limit − R(u))/μ + (z − g/μ)·(v − u)``,

where the last term is small and bounded by an ellipsoid. Many rows are treated at once, by steps
with the Hessian of the trained model for all of them. The bounds hold whatever rounding and haste
did to the models they are from.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, partial

import numpy as np
from scipy.linalg import cholesky, solve_triangular
from scipy.optimize import brentq

from pessimal.limits import Deadline
from pessimal.losses import SmoothLoss
from pessimal.near_optimal.smooth.ellipsoids import OUTWARDS, TINY, Ellipsoids
from pessimal.near_optimal.smooth.objective import LateError, MeanLoss, Objective, Tilted, newton
from pessimal.near_optimal.smooth.quadratic import Quadratic, lessened, reach
from pessimal.near_optimal.smooth.rows import Block, HeldRows
from pessimal.problem import Matrix, Vector

AT_ONCE = 256
"""Directions treated together."""

STEPS = 25
"""Towards the models that reach furthest; 3 to 10 are usual."""

CLOSE = 1e-7
"""A range whose bound is this share of its width beyond a member is exact."""

TOO_FAR = 3.0
"""Times the budget by which a step may pass it and still be a step towards the boundary."""

MOST = 60.0
"""Largest logarithm of a multiplier that is tried."""

GRADIENT = 1e-14
"""Error of a gradient, relative to the sizes of its terms: far more than rounding makes."""


@dataclass(frozen=True, eq=False)
class Furthest:
    """Bounds on ``z·d`` over the set, and the models, from the trained one, that come closest."""

    bound: Vector
    found: Vector
    models: Matrix


class Supports:
    """The support function of a near-optimal set whose training rows are held in memory."""

    def __init__(
        self,
        objective: Objective,
        optimum: Quadratic,
        trained: Vector,
        limits: tuple[float, float],
        around: Ellipsoids,
    ) -> None:
        mean = objective.mean
        assert isinstance(mean, MeanLoss)
        self.objective, self.trained = objective, trained
        self.loss, self.limits, self.value = mean.loss, limits, optimum.value
        self.far = limits[0] + TOO_FAR * (limits[0] - optimum.value)
        self.factor = cholesky(optimum.curvature, lower=True)
        # Coordinates in which the Hessian is the identity: z·d = (L⁻¹z)·(Lᵀd).
        self.rows = mean.rows.map(partial(_whitened, self.factor, trained))
        self.penalty = self._white(self._white(objective.penalty).T)
        self.penalty_slope = self._white(objective.penalty @ trained)
        self.base = 0.5 * float(trained @ objective.penalty @ trained)
        region = around.regions[-1]
        # Columns that nearly depend on each other magnify rounding here: less of it first.
        curvature = self._white(self._white(lessened(region.curvature)).T)
        self.region = Quadratic(region.value, self._white(region.slope), curvature)
        far = reach(np.eye(len(trained)), self.region)
        self.extent = float(np.linalg.norm(np.maximum(-far[0], far[1])))

    def _white(self, columns: Matrix) -> Matrix:
        return np.asarray(solve_triangular(self.factor, columns, lower=True))

    def furthest(self, Z: Matrix, deadline: Deadline, close: float = CLOSE) -> Furthest:
        """Find for each row of Z how far members reach in its direction."""
        bound, found, models = np.full(len(Z), np.inf), np.zeros(len(Z)), np.zeros_like(Z)
        for k in range(0, len(Z), AT_ONCE):
            if deadline.over:
                break
            part = slice(k, k + AT_ONCE)
            some = self._some(self._white(Z[part].T), deadline, close)
            bound[part], found[part] = some.bound, some.found
            models[part] = solve_triangular(self.factor, some.models, lower=True, trans="T").T
        return Furthest(bound, found, models)

    def _some(self, q: Matrix, deadline: Deadline, close: float) -> Furthest:
        """Treat some directions, the columns of q, at once; so are the models."""
        outer, inner = self.limits
        size2 = np.maximum(np.square(q).sum(axis=0), TINY)
        ends = reach(q.T, self.region)
        bound, most, found = ends[1], np.maximum(*map(np.abs, ends)), np.zeros(q.shape[1])
        models, before = np.zeros_like(q), np.zeros_like(q)
        step = q * np.sqrt(2.0 * max(0.0, outer - self.value) / size2)
        residual, active = np.full(q.shape[1], np.inf), np.arange(q.shape[1])
        for _ in range(STEPS):
            if deadline.over or not len(active):
                break
            p, s2, D = q[:, active], size2[active], before + step
            with np.errstate(over="ignore", invalid="ignore"):
                value, G, size = self._gradients(D)
            multiple = (G * p).sum(axis=0) / s2
            usable = (value <= self.far) & (multiple > 0.0)
            G, multiple = np.where(usable, G, p), np.where(usable, multiple, 1.0)
            rest, reached = p - G / multiple, (p * D).sum(axis=0)
            bounds = self._limit(p, most[active], D, value, G, size)
            bound[active] = np.minimum(bound[active], np.where(usable, bounds, np.inf))
            member = usable & (value <= inner) & (reached > found[active])
            found[active[member]] = reached[member]
            models[:, active[member]] = D[:, member]
            # Where the gradient turned away the step was too long: back, and half of it.
            turned = np.square(rest).sum(axis=0)
            better = usable & (turned <= residual[active])
            residual[active] = np.where(better, turned, residual[active])
            ahead = np.sqrt(np.maximum(2.0 * (inner - value) + np.square(G).sum(axis=0), 0.0) / s2)
            before = np.where(better, D, before)
            step = np.where(better, p * ahead - G, 0.5 * step)
            keep = bound[active] - found[active] > close * np.abs(bound[active])
            active, before, step = active[keep], before[:, keep], step[:, keep]
        return Furthest(bound, found, models)

    def slowly(self, Z: Matrix, known: Furthest, deadline: Deadline) -> Furthest:
        """Find what the common Hessian was too far off for, a row at a time by its own."""
        bound, found, models = known.bound.copy(), known.found.copy(), known.models.copy()
        for k in np.flatnonzero(bound - found > CLOSE * np.abs(bound)):
            if deadline.over:
                break
            at = self._white(Z[k][:, None])
            most = np.maximum(*map(np.abs, reach(at.T, self.region)))
            for d in self._path(Z[k], deadline):
                D = (self.factor.T @ d)[:, None]
                with np.errstate(over="ignore", invalid="ignore"):
                    value, G, size = self._gradients(D)
                limit = self._limit(at, most, D, value, G, size)
                bound[k] = min(bound[k], float(limit[0]))
                # Not by that value: too large a multiplier has no optimum, and far out the penalty
                # of the whitened intercept is rounding, of either sign.
                inside = self.objective.value(self.trained + d) <= self.limits[1]
                if inside and Z[k] @ d > found[k]:
                    found[k], models[k] = Z[k] @ d, d
        return Furthest(bound, found, models)

    def _path(self, z: Vector, deadline: Deadline) -> list[Vector]:
        """Return models along the multiplier of the budget, closer and closer to the boundary."""
        met: list[Vector] = [np.zeros(len(z))]

        @cache  # each value depends on where the one before ended, and a root needs one sign
        def excess(logarithm: float) -> float:
            if deadline.over:
                raise LateError
            tilted = Tilted(self.objective, float(np.exp(logarithm)) * z)
            met.append(newton(tilted, self.trained + met[-1], deadline)[0] - self.trained)
            return self.objective.value(self.trained + met[-1]) - self.limits[1]

        # What it would be if R were its parabola at the trained model.
        size = max(float(np.linalg.norm(self._white(z))), TINY)
        low = high = 0.5 * float(np.log(2.0 * max(self.limits[0] - self.value, TINY))) - np.log(
            size
        )
        try:
            while excess(high) < 0.0 and high < MOST:
                low, high = high, high + 1.0
            while excess(low) > 0.0 and low > -MOST:
                low, high = low - 1.0, low
            if excess(low) < 0.0 < excess(high):
                brentq(excess, low, high, xtol=1e-9, rtol=1e-12)
        except LateError:
            pass
        return met[1:]

    def _limit(
        self, q: Matrix, most: Vector, D: Matrix, value: Vector, G: Matrix, size: Vector
    ) -> Vector:
        """Bound q·d over the set from the values and gradients of R at models D.

        The ellipsoid says that it is at most so large. A bound whose terms are larger than that is
        of no use, and owes what it says to rounding.
        """
        with np.errstate(over="ignore", invalid="ignore"):
            along = (G * q).sum(axis=0) / np.maximum(np.square(q).sum(axis=0), TINY)
            multiple = np.where(along > 0.0, along, 1.0)
            rest = q - G / multiple
            usable = (along > 0.0) & (value <= self.far) & np.isfinite(rest).all(axis=0)
            rest = np.where(usable, rest, 0.0)
            noise = GRADIENT * size * (np.linalg.norm(D, axis=0) + self.extent)
            terms = np.array(
                [
                    (q * D).sum(axis=0),
                    (self.limits[0] - value) / multiple,
                    reach(rest.T, self.region)[1],
                    -(rest * D).sum(axis=0),
                    noise / multiple,
                ]
            )
            limit = terms.sum(axis=0) + OUTWARDS * np.abs(terms).sum(axis=0)
            usable &= (np.abs(terms) <= TOO_FAR * most).all(axis=0)
        return np.where(usable, limit, np.inf)

    def _gradients(self, D: Matrix) -> tuple[Vector, Matrix, Vector]:
        """Return R and its gradient at many models, and the sizes of the terms it is a sum of."""
        value, G, size = self.rows.total(partial(_sums, self.loss, D))
        change = self.penalty @ D
        value = value + self.base + self.penalty_slope @ D + 0.5 * (D * change).sum(axis=0)
        size = size + np.linalg.norm(self.penalty_slope) + np.linalg.norm(change, axis=0)
        return value, G + self.penalty_slope[:, None] + change, size


class _Sums(tuple[Vector, Matrix, Vector]):
    """Values, gradients and sizes that add up block by block."""

    __slots__ = ()

    def __add__(self, other: _Sums) -> _Sums:  # type: ignore[override]
        return _Sums(a + b for a, b in zip(self, other, strict=True))


def _sums(loss: SmoothLoss, D: Matrix, block: Block) -> _Sums:
    margins = block.Z @ D - block.offset[:, None]
    slopes = loss.slope(margins)
    weighted = block.Z * block.weight[:, None]
    size = np.linalg.norm(weighted, axis=1) @ np.abs(slopes)
    return _Sums((block.weight @ loss.value(margins), weighted.T @ slopes, size))


def _whitened(factor: Matrix, trained: Vector, block: Block) -> Block:
    """Return rows in the coordinates of the Hessian, with the trained model as origin."""
    Z = np.ascontiguousarray(solve_triangular(factor, block.Z.T, lower=True).T)
    return Block.of(Z, -block.margins(trained), block.weight)


def exact(rows: HeldRows, supports: Supports, deadline: Deadline, close: float) -> HeldRows:
    """Narrow the ranges of rows to those of the set itself, as far as time allows."""

    def ranged(block: Block) -> Block:
        high = supports.furthest(block.Z, deadline, close).bound
        low = -supports.furthest(-block.Z, deadline, close).bound
        return block.within(low, high)

    return rows.map(ranged)
