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

from pessimal.limits import Deadline
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
        region = self.regions[-1].ellipsoid
        return max(TINY, region.radius) * float(
            np.exp(-np.log(np.diag(region.whiten.factor)).mean())
        )

    def __call__(self, block: Block) -> Block:
        """Narrow the ranges of the rows of a block."""
        return block.within(*self.reach(block.Z))


@dataclass(frozen=True, eq=False)
class Sublevel:
    """The models that a sum of mean losses and a quadratic keeps within a limit.

    Attributes
    ----------
    terms : sequence of MeanLoss
    fixed : ndarray
        The curvature of the quadratic.
    trained : ndarray
    optimum : Quadratic
        The expansion of the sum at the trained model.
    limit : float
    """

    terms: Sequence[MeanLoss]
    fixed: Matrix
    trained: Vector
    optimum: Quadratic
    limit: float

    def region(self, rows: Sequence[Rows]) -> Quadratic | None:
        """Return what holds the models of ranges that are within the limit, if that has an end.

        It is a parabola below the sum over the ranges, tangent at the trained model.
        """
        parts = [
            of.total(partial(_least_curvature, term.loss, self.trained))
            for term, of in zip(self.terms, rows, strict=True)
        ]
        below = reduce(operator.add, parts, self.fixed)
        region = Quadratic(self.optimum.value - self.limit, self.optimum.slope, below)
        return region if region.bounded else None  # over wide ranges R is nearly linear


@dataclass(frozen=True, eq=False)
class Narrowed:
    """Ellipsoids around a set, as far as they have been narrowed.

    Attributes
    ----------
    around : Ellipsoids
    rows : tuple of Rows or None
        Those of each term with the ranges that the ellipsoids leave; None before the first step.
    rounds : int
    settled : bool
        Whether another round would hardly narrow them.
    """

    around: Ellipsoids
    rows: tuple[Rows, ...] | None = None
    rounds: int = 0
    settled: bool = False

    def further(self, sublevel: Sublevel, deadline: Deadline, seconds: float) -> Narrowed:
        """Narrow them as long as there is time for a step, which takes so many seconds."""
        known = self
        while not known.settled and deadline.affords(seconds):
            known = known.ranged(sublevel) if known.rows is None else known.narrower(sublevel)
        return known

    def ranged(self, sublevel: Sublevel) -> Narrowed:
        """Return this with the ranges that follow."""
        return replace(self, rows=tuple(term.rows.map(self.around) for term in sublevel.terms))

    def narrower(self, sublevel: Sublevel) -> Narrowed:
        """Take a step: what lies below the sum over the ranges is a narrower ellipsoid."""
        assert self.rows is not None
        region = sublevel.region(self.rows)
        if region is None:
            return replace(self, settled=True)
        narrower, rounds = Ellipsoids((region,)), self.rounds + 1
        settled = rounds == ROUNDS or narrower.size >= (1.0 - NARROWED) * self.around.size
        return Narrowed(narrower, tuple(of.map(narrower) for of in self.rows), rounds, settled)


def guessed(first: Ellipsoids, sublevel: Sublevel, seconds: float, deadline: Deadline) -> Narrowed:
    """Find ellipsoids with some of many rows that hold the set by all of them.

    Let E be any ellipsoid around the trained model, and below R, over the ranges that E leaves, a
    parabola which is positive all over the boundary of E. No member is on that boundary, and
    since the set is convex and the trained model is in it, none is beyond. Where none is found, or
    time is up, nothing is known but the first.
    """
    unknown, optimum = Narrowed(first), sublevel.optimum
    few = replace(sublevel, terms=[_thinned(term) for term in sublevel.terms])
    parts = [term.expansion(sublevel.trained).curvature for term in few.terms]
    hessian = reduce(operator.add, parts, sublevel.fixed)
    if not certainly_positive(hessian):
        return unknown
    curvature = unknown.further(few, deadline, seconds).around.regions[-1].curvature
    # What it is to the Hessian of the few, to the Hessian of all rows.
    few_factor, factor = (cholesky(H, lower=True) for H in (hessian, optimum.curvature))
    change = solve_triangular(few_factor, factor.T, lower=True, trans="T")
    curvature = change.T @ curvature @ change
    for slack in SLACKS:
        if not deadline.affords(seconds):
            break
        E = Quadratic(
            optimum.value - sublevel.limit, np.zeros_like(optimum.slope), slack * curvature
        )
        known = Narrowed(Ellipsoids((E,))).ranged(sublevel).narrower(sublevel)
        region = known.around.regions[-1]
        if region is not E and inside(region, E):
            return known
    return unknown


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
