"""A smooth near-optimal set between two ellipsoids: all of it that is needed for new rows.

No member is outside the outer one; every model inside the inner one is a member. Both are a few
numbers per pair of features, whatever the number of training rows, and hold none of these.

The outer one comes from parabolas below the losses (`ellipsoids`). For the inner one take parabolas
above them: where ``R(0) + r·d + ½dᵀKd`` is within the limit so is R. For if ``d`` were no member,
the last member ``td`` on the way to it would have margins within the ranges, hence an R of at most
``R(0) + t r·d + ½t²dᵀKd``, which is below the limit, since the parabola is convex and below it at
0; but the last member is at the limit.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy.linalg import cho_factor, cho_solve, solve_triangular

from pessimal.near_optimal.smooth.quadratic import Quadratic, reach
from pessimal.problem import Matrix, Vector

ROUNDING = 64.0 * float(np.finfo(np.float64).eps)
"""Relative error of a score, more than shifting, scaling and summing make."""

INWARDS = 1e-9
"""Share of its radius by which the inner ellipsoid is less."""


@dataclass(frozen=True, eq=False)
class EllipsoidPair:
    """Two ellipsoids of linear models with score ``((x − shift)/scale, 1)·u``.

    Attributes
    ----------
    shift, scale : ndarray of shape (p,)
    trained : ndarray of shape (p + 1,)
        The best model, around which the ellipsoids are given.
    outer, inner : Quadratic
        At most 0 for all members; and at most 0 for members alone.
    """

    shift: Vector
    scale: Vector
    trained: Vector
    outer: Quadratic
    inner: Quadratic

    def after(self, mean: Vector, scale: Vector) -> EllipsoidPair:
        """Return the same for features before they are standardised."""
        return replace(self, shift=mean + self.shift * scale, scale=self.scale * scale)

    def score_range(self, X: Matrix) -> tuple[Vector, Vector, Vector, Vector]:
        """Return scores that no member passes, low and high, and scores that members have."""
        with np.errstate(over="ignore"):
            Z = np.column_stack([(X - self.shift) / self.scale, np.ones(len(X))])
            sizes = np.column_stack(
                [(np.abs(X) + np.abs(self.shift)) / self.scale, np.ones(len(X))]
            )
        largest = sizes.max(axis=1)
        known = np.isfinite(largest)
        # Ranges grow with the row; of the square of a far one only infinity would be left, which
        # no member reaches.
        Z, sizes = (part[known] / largest[known, None] for part in (Z, sizes))
        at = Z @ self.trained
        low, high = reach(Z, self.outer)
        error = ROUNDING * len(self.trained) * (sizes @ (np.abs(self.trained) + self._extent))
        least, most = self._attained(Z)
        said = np.tile([[-np.inf], [np.inf], [0.0], [0.0]], len(X))
        with np.errstate(over="ignore"):
            said[:, known] = largest[known] * np.array(
                [at + low - error, at + high + error, at + least, at + most]
            )
        return said[0], said[1], said[2], said[3]

    @cached_property
    def _extent(self) -> Vector:
        """How far members are from the trained model, variable by variable."""
        low, high = reach(np.eye(len(self.trained)), self.outer)
        return np.maximum(-low, high)

    def _attained(self, Z: Matrix) -> tuple[Vector, Vector]:
        """Return the ends of ``z·d`` over the inner ellipsoid, or 0 if there is none."""
        inner = self.inner
        if inner.value >= 0.0:
            return np.zeros(len(Z)), np.zeros(len(Z))
        factor = cho_factor(inner.curvature, lower=True)
        centre = -cho_solve(factor, inner.slope)
        radius2 = -2.0 * inner.value - float(inner.slope @ centre)
        width = np.linalg.norm(solve_triangular(factor[0], Z.T, lower=True), axis=0)
        width = (1.0 - INWARDS) * np.sqrt(max(0.0, radius2)) * width
        return Z @ centre - width, Z @ centre + width
