"""What training minimises, as sums over rows that may come in blocks.

``R(u) = Σ weight_i·φ(z_i·u − o_i) + ½uᵀPu`` with ``u = (coef, intercept)``. In classification a row
``z`` is ``(x, 1)`` times its label and the offset 0, so that ``z·u`` is the margin; in regression
``z`` is ``(x, 1)``, the offset the target, and ``z·u − o`` the residual. Weights sum to 1.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from pessimal.errors import InvalidInputError, SolverError
from pessimal.losses import SmoothLoss
from pessimal.near_optimal.smooth.quadratic import Quadratic
from pessimal.problem import Matrix, Vector

BLOCK = 16_384
"""Rows worked on at a time: what is made of them stays in the cache, and memory small."""

MOST_STEPS = 100
"""Of Newton's method; ten are usual."""


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows ``z``, offsets and weights of one data set."""

    Z: Matrix
    offset: Vector
    weight: Vector

    def margins(self, u: Vector) -> Vector:
        """Return ``z·u − o`` of every row."""
        return np.asarray(self.Z @ u - self.offset)

    def gram(self, weight: Vector) -> Matrix:
        """Return ``Σ weight_i z_i z_iᵀ``."""
        total = np.zeros((self.Z.shape[1], self.Z.shape[1]))
        for first in range(0, len(self.Z), BLOCK):
            Z, share = self.Z[first : first + BLOCK], weight[first : first + BLOCK]
            total += Z.T @ (Z * share[:, None])
        return total


@dataclass(frozen=True, eq=False)
class MeanLoss:
    """The mean of a smooth loss over rows, with its derivatives."""

    rows: Rows
    loss: SmoothLoss

    def value(self, u: Vector) -> float:
        """Return the mean loss."""
        return self.loss.mean(self.rows.margins(u), self.rows.weight)

    def expansion(self, u: Vector, curvatures: Vector | None = None) -> Quadratic:
        """Return the parabola at a model with φ'', or other curvatures, of each row."""
        margins = self.rows.margins(u)
        weight = self.rows.weight
        second = self.loss.second(margins) if curvatures is None else curvatures
        slope = self.rows.Z.T @ (weight * self.loss.slope(margins))
        value = self.loss.mean(margins, weight)
        return Quadratic(value, np.asarray(slope), self.rows.gram(weight * second))


@dataclass(frozen=True, eq=False)
class Objective:
    """Mean loss and a quadratic penalty, of which `penalty` is the diagonal."""

    mean: MeanLoss
    penalty: Vector

    def value(self, u: Vector) -> float:
        """Return what training minimises."""
        return self.mean.value(u) + 0.5 * float(self.penalty @ (u * u))

    def expansion(self, u: Vector, curvatures: Vector | None = None) -> Quadratic:
        """Return its parabola at a model."""
        loss = self.mean.expansion(u, curvatures)
        return Quadratic(
            loss.value + 0.5 * float(self.penalty @ (u * u)),
            loss.slope + self.penalty * u,
            loss.curvature + np.diag(self.penalty),
        )

    def minimise(self) -> Vector:
        """Train, to where rounding ends it."""
        return newton(self.value, self.expansion, np.zeros(len(self.penalty)))

    def along(self, u: Vector, direction: Vector) -> Callable[[float], float]:
        """Return the objective on a line, as a function that passes over no matrix again."""
        rows, loss = self.mean.rows, self.mean.loss
        start, change = rows.margins(u), rows.Z @ direction
        square, twice, flat = (
            0.5 * float(self.penalty @ (first * second))
            for first, second in ((direction, direction), (2.0 * u, direction), (u, u))
        )

        def value(t: float) -> float:
            return loss.mean(start + t * change, rows.weight) + (square * t + twice) * t + flat

        return value


def newton(
    value: Callable[[Vector], float], expansion: Callable[[Vector], Quadratic], start: Vector
) -> Vector:
    """Minimise a convex function by damped Newton steps, to where rounding ends it."""
    u = start
    at = expansion(u)
    for _ in range(MOST_STEPS):
        step = -solve(at.curvature, at.slope)
        decrement = -float(at.slope @ step)
        if decrement <= 1e-16 * max(1e-9, abs(at.value)):
            return u
        share = 1.0
        while value(u + share * step) > at.value - 0.25 * share * decrement:
            share *= 0.5
            if share < 1e-10:  # rounding: no step is better
                return u
        u = u + share * step
        at = expansion(u)
    return u


def solve(matrix: Matrix, right: Vector) -> Vector:
    """Solve with a positive definite matrix, or say why it is none."""
    try:
        return np.asarray(cho_solve(cho_factor(matrix, lower=True), right))
    except LinAlgError:
        raise SolverError(
            "the training objective is flat in some direction: columns depend on each other and "
            "nothing is penalised; add a penalty, or leave a column out"
        ) from None


def shares(weight: Vector) -> Vector:
    """Normalise weights; refuse those that cannot be."""
    total = float(weight.sum())
    if not (np.isfinite(weight).all() and (weight >= 0.0).all() and total > 0.0):
        raise InvalidInputError(
            f"sample_weight has minimum {weight.min():g} and sum {total:g}; pass finite weights "
            "that are not negative, and not all 0"
        )
    return np.asarray(weight / total)
