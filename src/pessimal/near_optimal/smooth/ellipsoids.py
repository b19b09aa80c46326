"""Ellipsoids that hold a smooth near-optimal set, around its trained model.

Over margins within known ranges R lies above a parabola, so the set lies in an ellipsoid; it gives
every row a range, narrower ones give a better parabola, and so on. The bounds hold whatever
rounding did.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial, reduce

import numpy as np
from scipy.linalg import cholesky, eigh, solve_triangular

from pessimal.losses import SmoothLoss
from pessimal.near_optimal.smooth.objective import MeanLoss
from pessimal.near_optimal.smooth.quadratic import Quadratic, certainly_positive, reach
from pessimal.near_optimal.smooth.rows import Block, HeldRows, Rows
from pessimal.problem import Matrix, Vector

NARROWED = 0.1
"""An ellipsoid that kept its size up to this share is left as it is."""

SLACKS = (0.97, 0.8)
"""Shares of its curvature with which an ellipsoid is tried."""

ROUNDS = 30
"""Times an ellipsoid is narrowed at most; 3 to 10 are usual."""

TINY = float(np.finfo(float).tiny)

OUTWARDS = 1e-9
"""Share of its terms that is added to a bound for rounding."""


@dataclass(frozen=True, eq=False)
class Ellipsoids:
    """Ellipsoids around a trained model that all hold the set."""

    regions: tuple[Quadratic, ...]

    def reach(self, Z: Matrix) -> tuple[Vector, Vector]:
        """Least and largest ``z·d`` that all of them allow."""
        ends = [reach(Z, region) for region in self.regions]
        low, high = np.max([end[0] for end in ends], axis=0), np.min([e[1] for e in ends], axis=0)
        return np.minimum(0.0, low), np.maximum(0.0, high)

    @property
    def size(self) -> float:
        """Return the geometric mean of the lengths of the axes of the last one."""
        region = self.regions[-1]
        factor = cholesky(region.curvature, lower=True)
        centre = solve_triangular(factor, region.slope, lower=True)
        radius2 = max(TINY, float(centre @ centre) - 2.0 * region.value)
        return float(np.sqrt(radius2) * np.exp(-np.log(np.diag(factor)).mean()))

    def __call__(self, block: Block) -> Block:
        """Narrow the ranges of the rows of a block."""
        return block.within(*self.reach(block.Z))


def narrowed(
    around: Ellipsoids,
    terms: Sequence[MeanLoss],
    fixed: Matrix,
    trained: Vector,
    optimum: Quadratic,
    limit: float,
) -> tuple[Ellipsoids, tuple[Rows, ...]]:
    """Narrow ellipsoids around the set where a sum of terms and a quadratic is within a limit.

    `fixed` is the curvature of the quadratic, `optimum` the expansion of the sum at the trained
    model. Return the ellipsoids and the rows of each term with the ranges they leave.
    """
    rows = tuple(term.rows.map(around) for term in terms)
    for _ in range(ROUNDS):
        region = _region(terms, rows, fixed, trained, optimum, limit)
        if region is None:
            break
        narrower = Ellipsoids((region,))
        by = narrower.size / around.size
        around, rows = narrower, tuple(of.map(narrower) for of in rows)
        if by >= 1.0 - NARROWED:
            break
    return around, rows


def _region(
    terms: Sequence[MeanLoss],
    rows: Sequence[Rows],
    fixed: Matrix,
    trained: Vector,
    optimum: Quadratic,
    limit: float,
) -> Quadratic | None:
    """Return what holds the models of ranges that are within a limit, if that has an end.

    It is a parabola below the sum over the ranges, tangent at the trained model.
    """
    parts = [
        of.total(partial(_least_curvature, term.loss, trained))
        for term, of in zip(terms, rows, strict=True)
    ]
    below = reduce(operator.add, parts, fixed)
    if not certainly_positive(below):  # over ranges this wide R is nearly linear
        return None
    return Quadratic(optimum.value - limit, optimum.slope, below)


def guessed(
    first: Ellipsoids,
    terms: Sequence[MeanLoss],
    fixed: Matrix,
    trained: Vector,
    optimum: Quadratic,
    limit: float,
) -> tuple[Ellipsoids, tuple[Rows, ...]] | None:
    """Find ellipsoids with some of many rows that hold the set by all of them.

    Let E be any ellipsoid around the trained model, and below R, over the ranges that E leaves, a
    parabola which is positive all over the boundary of E. No member is on that boundary, and
    since the set is convex and the trained model is in it, none is beyond.
    """
    few = [_thinned(term) for term in terms]
    hessian = reduce(operator.add, (term.expansion(trained).curvature for term in few), fixed)
    if not certainly_positive(hessian):
        return None
    curvature = narrowed(first, few, fixed, trained, optimum, limit)[0].regions[-1].curvature
    # What it is to the Hessian of the few, to the Hessian of all rows.
    few_factor, factor = (cholesky(H, lower=True) for H in (hessian, optimum.curvature))
    change = solve_triangular(few_factor, factor.T, lower=True, trans="T")
    curvature = change.T @ curvature @ change
    excess = limit - optimum.value
    for slack in SLACKS:
        E = Quadratic(-excess, np.zeros(len(trained)), slack * curvature)
        around = Ellipsoids((E,))
        rows = tuple(term.rows.map(around) for term in terms)
        region = _region(terms, rows, fixed, trained, optimum, limit)
        if region is not None and inside(region, E):
            narrower = Ellipsoids((region,))
            rows = tuple(of.map(narrower) for of in rows)
            if narrower.size >= (1.0 - NARROWED) * around.size:
                return narrower, rows
            return narrowed(narrower, terms, fixed, trained, optimum, limit)
    return None


def _thinned(term: MeanLoss) -> MeanLoss:
    return replace(term, rows=term.rows.thinned()) if isinstance(term.rows, HeldRows) else term


def inside(region: Quadratic, other: Quadratic) -> bool:
    """Return whether an ellipsoid is certainly inside of another one, around 0 without a slope."""
    least = float(eigh(region.curvature, other.curvature, eigvals_only=True)[0])
    factor = cholesky(region.curvature, lower=True)
    centre = float(np.linalg.norm(solve_triangular(factor, region.slope, lower=True)))
    # In the norm of its own curvature no point of the region is further from 0.
    furthest = centre + np.sqrt(centre * centre - 2.0 * region.value)
    return bool(furthest**2 * (1.0 + OUTWARDS) < -2.0 * other.value * least)


def _least_curvature(loss: SmoothLoss, trained: Vector, block: Block) -> Matrix:
    """Return the curvature of a parabola below the mean loss, tangent at the trained model."""
    return block.gram(loss.least_secant(block.margins(trained), block.low, block.high))


def largest_curvature(loss: SmoothLoss, trained: Vector, block: Block) -> Matrix:
    """Return the curvature of a parabola above the mean loss, tangent at the trained model."""
    return block.gram(loss.largest_secant(block.margins(trained), block.low, block.high))
