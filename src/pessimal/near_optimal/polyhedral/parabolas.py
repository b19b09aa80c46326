"""Points as linear functions of a model, and the largest value of a sum of parabolas of them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pessimal.problem import Mask, Matrix, Vector
from pessimal.tolerances import ROUNDING

SMALLEST = 1e-9
"""A range no wider than this, beside its breakpoint, is taken to lie on one side of it."""


@dataclass(frozen=True, eq=False)
class Points:
    """Linear functions ``t = offset − rows·v`` of a model, and ranges that no model leaves.

    Attributes
    ----------
    rows : ndarray of shape (n, q)
    offset, low, high : ndarray of shape (n,)
    weight : ndarray of shape (n,)
        Of the losses of t; 0 for functions of which only the range counts.
    """

    rows: Matrix
    offset: Vector
    low: Vector
    high: Vector
    weight: Vector

    def __getitem__(self, which: Mask | slice) -> Points:
        parts = (self.rows, self.offset, self.low, self.high, self.weight)
        return Points(*(part[which] for part in parts))

    def __add__(self, other: Points) -> Points:
        return Points(
            np.vstack([self.rows, other.rows]),
            np.append(self.offset, other.offset),
            np.append(self.low, other.low),
            np.append(self.high, other.high),
            np.append(self.weight, other.weight),
        )

    def __len__(self) -> int:
        return len(self.offset)

    @property
    def straddling(self) -> Mask:
        """Which may be on both sides of 0."""
        return (self.low < -SMALLEST) & (self.high > SMALLEST)


@dataclass(frozen=True, eq=False)
class Parabolas:
    """Functions ``constant + slope·t + curvature·t²`` of points, of which a sum is sought."""

    points: Points
    constant: Vector
    slope: Vector
    curvature: Vector

    @np.errstate(over="ignore", invalid="ignore")
    def is_negative(self, reach: Vector) -> bool:
        """Whether the sum is certainly below 0 for all v with ``|v| ≤ reach``."""
        rows, offset = self.points.rows, self.points.offset
        hessian = 2.0 * (rows.T * self.curvature) @ rows
        if not np.isfinite(hessian).all():
            return False
        values, vectors = np.linalg.eigh(hessian)
        gradient = -vectors.T @ (rows.T @ (self.slope + 2.0 * self.curvature * offset))
        flat = float(np.abs(values).max()) + float(np.abs(gradient).max()) + ROUNDING
        for damping in (1e-8, 1e-6, 1e-4, 1e-2, 1.0):  # where its slope vanishes, or nearly so
            v = vectors @ (gradient / np.maximum(-values, damping * flat))
            if self.most(reach, v) < 0.0:
                return True
        return False

    @np.errstate(over="ignore", invalid="ignore")
    def most(self, reach: Vector, v: Vector) -> float:
        """Bound the sum over all v with ``|v| ≤ reach``, given where it may be largest.

        What is positive of its Hessian is taken off, and added as it is at most. A concave
        function is nowhere above its tangent at any v. Terms too large for arithmetic, which a
        solver that was cut short may leave, bound nothing: ∞.
        """
        rows, offset = self.points.rows, self.points.offset
        curvature = self.curvature
        hessian = 2.0 * (rows.T * curvature) @ rows
        if not np.isfinite(hessian).all():
            return np.inf
        gradient = -rows.T @ (self.slope + 2.0 * curvature * offset)
        constant = float((self.constant + (self.slope + curvature * offset) * offset).sum())
        size = float(np.abs(rows).sum(axis=1).max(initial=0.0)) * float(reach.max()) + 1.0
        size += float(np.abs(offset).max(initial=0.0))
        terms = np.abs(self.constant) + np.abs(self.slope) * size + np.abs(curvature) * size**2
        rounding = 10.0 * ROUNDING * float(terms.sum())
        values = np.linalg.eigvalsh(hessian)
        excess = max(0.0, float(values[-1])) + len(reach) * ROUNDING * float(np.abs(values).sum())
        slope = gradient + hessian @ v - excess * v
        value = constant + float(gradient @ v) + 0.5 * float(v @ hessian @ v)
        value -= 0.5 * excess * float(v @ v)
        rise = np.maximum(slope * (reach - v), slope * (-reach - v)).sum()
        bound = value + float(rise) + 0.5 * excess * float(reach @ reach) + rounding
        return np.inf if np.isnan(bound) else bound
