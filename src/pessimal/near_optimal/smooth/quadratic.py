"""The largest value of a quadratic over an ellipsoid, with a bound that holds in floating point.

Over the ``d`` with ``c + r·d + ½dᵀAd ≤ 0`` (A positive definite, c ≤ 0) no value of
``a·d + ½dᵀKd`` exceeds, for any λ ≥ 0 with ``λA − K`` positive semidefinite,

    ``−λc + ½hᵀ(λA − K)⁻¹h``  with  ``h = a − λr``,

and the least of these is the maximum itself (the S-lemma). In the basis that diagonalises the pair
``(K, A)`` the bound is a convex function of λ alone. At its least λ the maximiser is
``(λA − K)⁻¹h``, and where that does not reach the boundary (the hard case: ``h`` has no part along
the leading direction) as much of that direction as does.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve, eigh, solve_triangular
from scipy.optimize import minimize_scalar

from pessimal.problem import Matrix, Vector

ABOVE = 1e-11
"""λ stays this share above the leading eigenvalue, where the bound has its pole."""

TINY = float(np.finfo(float).tiny)

INVERTIBLE = 1e5
"""Condition up to which a triangular matrix is inverted."""

ROUNDING = 1e-13
"""Added to a bound, relative to the terms it is made of, once per dimension."""


@dataclass(frozen=True, eq=False)
class Quadratic:
    """``value + slope·d + ½dᵀ curvature d``."""

    value: float
    slope: Vector
    curvature: Matrix

    def at(self, d: Vector) -> float:
        """Return the value at a point."""
        return float(self.value + self.slope @ d + 0.5 * d @ (self.curvature @ d))

    def around(self, d: Vector) -> Quadratic:
        """Return the same function with ``d`` as its origin."""
        return Quadratic(self.at(d), self.slope + self.curvature @ d, self.curvature)

    def times(self, factor: float) -> Quadratic:
        """Return a multiple."""
        return Quadratic(factor * self.value, factor * self.slope, factor * self.curvature)

    def __add__(self, other: Quadratic) -> Quadratic:
        return Quadratic(
            self.value + other.value, self.slope + other.slope, self.curvature + other.curvature
        )

    @cached_property
    def ellipsoid(self) -> Ellipsoid:
        """Where it is at most 0, outwards by what rounding does to a positive curvature."""
        factor = cho_factor(lessened(self.curvature), lower=True)
        centre = -cho_solve(factor, self.slope)
        radius2 = max(0.0, -2.0 * min(self.value, 0.0) - float(self.slope @ centre))
        return Ellipsoid(centre, float(np.sqrt(radius2)), Whitening(factor[0]))

    @property
    def bounded(self) -> bool:
        """Whether where it is at most 0 certainly has an end in every direction."""
        if not np.isfinite(self.curvature).all():
            return False
        try:
            return bool(self.ellipsoid.radius >= 0.0)
        except LinAlgError:
            return False


@dataclass(frozen=True, eq=False)
class Largest:
    """A point of the ellipsoid, a bound on the quadratic over all of it, and the multiplier."""

    point: Vector
    bound: float
    multiplier: float


@np.errstate(over="ignore", invalid="ignore")
def largest(objective: Quadratic, region: Quadratic) -> Largest:
    """Maximise a quadratic where another one, convex, is at most 0 (it is at d = 0)."""
    if not certainly_positive(region.curvature):  # it may have no end in some direction
        return Largest(np.zeros_like(region.slope), np.inf, np.inf)
    theta, basis = eigh(objective.curvature, region.curvature)
    a, r, c = basis.T @ objective.slope, basis.T @ region.slope, min(region.value, 0.0)
    sizes = np.array([a @ a, r @ r, c, theta[-1] * (r @ r)])
    if not np.isfinite(sizes).all():
        return Largest(np.zeros(len(a)), np.inf, np.inf)
    lead = max(float(theta[-1]), 0.0)
    pole = lead + ABOVE * max(lead, float(np.abs(theta).max()), TINY)

    def bound(multiplier: float) -> float:
        h = a - multiplier * r
        with np.errstate(over="ignore"):  # next to the pole
            return float(-multiplier * c + 0.5 * np.sum(h * h / (multiplier - theta)))

    multiplier = _least(bound, pole, a, r, c)
    point = basis @ _maximiser(multiplier, theta, a, r, c)
    if not np.isfinite(point).all():  # next to the pole; the bound does not depend on it
        point = np.zeros(len(a))
    return Largest(point, objective.value + _certified(multiplier, objective, region), multiplier)


def _least(bound: Callable[[float], float], pole: float, a: Vector, r: Vector, c: float) -> float:
    """Minimise the bound over λ above its pole, on a logarithmic scale of the distance."""
    radius = float(np.sqrt(max(float(r @ r) - 2.0 * c, TINY)))
    # Beyond this the first term alone exceeds the bound that it gives.
    far: float = pole + 10.0 * float(np.linalg.norm(a - pole * r)) / radius + 10.0 * pole
    width = max(far - pole, TINY)
    if not np.isfinite(width):
        return pole
    found = minimize_scalar(
        lambda x: bound(pole + np.exp(x)),
        bounds=(np.log(width) - 60.0, np.log(width)),
        method="bounded",
        options={"xatol": 1e-10, "maxiter": 500},
    )
    return min((pole, pole + float(np.exp(found.x)), far), key=bound)


def _maximiser(multiplier: float, theta: Vector, a: Vector, r: Vector, c: float) -> Vector:
    """Return the point, in the basis, that belongs to λ; to the boundary in the hard case."""
    d = (a - multiplier * r) / (multiplier - theta)
    inside = c + r @ d + 0.5 * d @ d
    if inside < 0.0 < theta[-1]:
        # Along the leading direction: ½t² + (r + d)·t + inside = 0, the end with the larger value.
        slope = r[-1] + d[-1]
        root = np.sqrt(max(0.0, slope * slope - 2.0 * inside))
        ends = [d.copy(), d.copy()]
        ends[0][-1] += root - slope
        ends[1][-1] -= root + slope
        return max(ends, key=lambda d: float(a @ d + 0.5 * d @ (theta * d)))
    return np.asarray(d)


def _certified(multiplier: float, objective: Quadratic, region: Quadratic) -> float:
    """Return the bound at λ, or at the next one for which ``λA − K`` is certainly positive."""
    lifted = multiplier
    for _ in range(60):
        bound = dual_value(
            lifted * region.curvature - objective.curvature,
            objective.slope - lifted * region.slope,
            -lifted * min(region.value, 0.0),
        )
        if bound < np.inf:
            return bound
        lifted = multiplier + max(2.0 * (lifted - multiplier), ABOVE * max(multiplier, ABOVE))
    return np.inf


@np.errstate(over="ignore", invalid="ignore")
def dual_value(matrix: Matrix, h: Vector, constant: float) -> float:
    """Return ``constant + ½hᵀM⁻¹h``, rounded up; ∞ unless M is certainly positive definite."""
    less = lessened(matrix)
    try:
        factor = cho_factor(less, lower=True)
    except LinAlgError:
        return np.inf
    x = cho_solve(factor, h)
    residual = h - less @ x
    half = 0.5 * float(h @ x) + abs(float(residual @ x))
    bound = constant + half + ROUNDING * len(h) * (abs(constant) + abs(half))
    return bound if np.isfinite(bound) else np.inf


def lessened(matrix: Matrix) -> Matrix:
    """Return a little less than M: where that is positive so is M, whatever rounding did to it."""
    less = 4.0 * len(matrix) * np.finfo(float).eps * np.abs(np.diag(matrix))
    return np.asarray(matrix - np.diag(less))


def certainly_positive(matrix: Matrix) -> bool:
    """Return whether a matrix is positive definite, whatever rounding did to it."""
    if not np.isfinite(matrix).all():
        return False
    try:
        cho_factor(lessened(matrix), lower=True)
    except LinAlgError:
        return False
    return True


@dataclass(frozen=True, eq=False)
class Whitening:
    """Makes ``L⁻¹z`` of every row z, to nine digits, with L lower triangular.

    Products with the inverse are several times as fast as substitution, and as good where the
    condition of L leaves them the digits.
    """

    factor: Matrix

    def __call__(self, rows: Matrix) -> Matrix:
        """Return ``L⁻¹z`` of every row."""
        if self._inverse is None:
            return np.asarray(solve_triangular(self.factor, rows.T, lower=True).T)
        return np.asarray(rows @ self._inverse.T)

    @cached_property
    def _inverse(self) -> Matrix | None:
        """The inverse of L, kept since it takes more than many a product; None if it is no good."""
        inverse = solve_triangular(self.factor, np.eye(len(self.factor)), lower=True)
        condition = np.linalg.norm(inverse) * np.linalg.norm(np.tril(self.factor))
        return np.asarray(inverse) if condition <= INVERTIBLE else None


@dataclass(frozen=True, eq=False)
class Ellipsoid:
    """The points ``d`` with ``‖Lᵀ(d − centre)‖ ≤ radius``; `whiten` makes ``L⁻¹z`` of rows."""

    centre: Vector
    radius: float
    whiten: Whitening


def whitened(rows: Matrix, factor: Matrix) -> Matrix:
    """Return ``L⁻¹z`` of every row z, with L lower triangular."""
    return Whitening(factor)(rows)


def lengths(rows: Matrix) -> Vector:
    """Return the norm of every row."""
    return np.asarray(np.sqrt(np.einsum("ij,ij->i", rows, rows)))


def reach(rows: Matrix, region: Quadratic) -> tuple[Vector, Vector]:
    """Least and largest ``rows·d`` over an ellipsoid, outwards by a margin for rounding."""
    within = region.ellipsoid
    spread = lengths(within.whiten(rows))  # ‖row‖ in the inverse of A
    width = within.radius * spread * (1.0 + 1e-9)
    middle = rows @ within.centre
    return middle - width, middle + width
