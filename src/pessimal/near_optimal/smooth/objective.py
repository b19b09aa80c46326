"""What training minimises: the mean of a loss over rows, and penalties.

``R(u) = Σ weight_i·φ(z_i·u − o_i) + ½uᵀPu + Σ λ_j|u_j|``. In classification a row ``z`` carries its
label and the offset is 0, so that ``z·u`` is the margin; in regression the offset is the target,
and ``z·u − o`` the residual. Weights sum to 1. The mean of squares is a parabola, and after one
pass over the rows nothing is asked of them again. The absolute values are rounded off upwards, by
so little that it hardly counts: what is within a budget with them is so without.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Protocol

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from pessimal.errors import SolverError
from pessimal.limits import NEVER, Deadline
from pessimal.losses import Absolute, SmoothLoss, Squared
from pessimal.near_optimal.smooth.quadratic import Quadratic, certainly_positive
from pessimal.near_optimal.smooth.rows import Block, Rows
from pessimal.problem import Matrix, Vector

MOST_STEPS = 100
"""Of Newton's method; ten are usual."""


class Function(Protocol):
    """A convex function with a parabola at every point."""

    def value(self, u: Vector) -> float:
        """Return its value."""

    def slope_along(self, u: Vector, direction: Vector) -> tuple[float, float]:
        """Return its value and its slope in a direction."""

    def expansion(self, u: Vector) -> Quadratic:
        """Return its value, gradient and Hessian."""


@dataclass(frozen=True, eq=False)
class MeanLoss:
    """The mean of a smooth loss over rows, with its derivatives."""

    rows: Rows
    loss: SmoothLoss

    def value(self, u: Vector) -> float:
        """Return the mean loss."""
        return self.rows.total(partial(_value, self.loss, u))

    def slope_along(self, u: Vector, direction: Vector) -> tuple[float, float]:
        """Return the mean loss and its slope in a direction."""
        value, slope = self.rows.total(partial(_slope_along, self.loss, u, direction))
        return float(value), float(slope)

    def expansion(self, u: Vector) -> Quadratic:
        """Return the parabola that touches the mean loss at a model."""
        return self.rows.total(partial(_expansion, self.loss, u))

    def tangent(self, u: Vector) -> Quadratic:
        """Return value and slope at a model, which is much cheaper than a curvature."""
        return self.rows.total(partial(_tangent, self.loss, u))

    @property
    def total_weight(self) -> float:
        """Return the sum of the weights of its rows."""
        return self.rows.total(_weight)


def _weight(block: Block) -> float:
    return float(block.weight.sum())


def _value(loss: SmoothLoss, u: Vector, block: Block) -> float:
    return loss.mean(block.margins(u), block.weight)


def _slope_along(loss: SmoothLoss, u: Vector, direction: Vector, block: Block) -> Vector:
    margins = block.margins(u)
    slope = (block.weight * loss.slope(margins)) @ (block.Z @ direction)
    return np.array([loss.mean(margins, block.weight), slope])


def _expansion(loss: SmoothLoss, u: Vector, block: Block) -> Quadratic:
    margins = block.margins(u)
    slope = block.Z.T @ (block.weight * loss.slope(margins))
    return Quadratic(loss.mean(margins, block.weight), slope, block.gram(loss.second(margins)))


def _tangent(loss: SmoothLoss, u: Vector, block: Block) -> Quadratic:
    margins, p = block.margins(u), block.Z.shape[1]
    slope = block.Z.T @ (block.weight * loss.slope(margins))
    return Quadratic(loss.mean(margins, block.weight), slope, np.zeros((p, p)))


@dataclass(frozen=True, eq=False)
class Parabola:
    """A function that is a quadratic around a point."""

    origin: Vector
    quadratic: Quadratic

    def value(self, u: Vector) -> float:
        """Return its value."""
        return self.quadratic.at(u - self.origin)

    def slope_along(self, u: Vector, direction: Vector) -> tuple[float, float]:
        """Return its value and its slope in a direction."""
        here = self.expansion(u)
        return here.value, float(here.slope @ direction)

    def expansion(self, u: Vector) -> Quadratic:
        """Return the same quadratic around another point."""
        return self.quadratic.around(u - self.origin)


def mean_loss(rows: Rows, loss: SmoothLoss, near: Vector) -> MeanLoss | Parabola:
    """Return the mean of a loss over rows; of squares the parabola, exact around a model."""
    mean = MeanLoss(rows, loss)
    return Parabola(near, mean.expansion(near)) if isinstance(loss, Squared) else mean


def moved(parabola: Parabola, rows: Rows, u: Vector) -> Parabola:
    """Return the parabola of the squares of rows with its digits around another model."""
    there = MeanLoss(rows, Squared()).tangent(u)
    return Parabola(u, replace(there, curvature=parabola.quadratic.curvature))


@dataclass(frozen=True, eq=False)
class Objective:
    """A mean loss, the penalty ``½uᵀPu``, and that of absolute values if there is one."""

    mean: MeanLoss | Parabola
    penalty: Matrix
    absolute: MeanLoss | None = None

    def value(self, u: Vector) -> float:
        """Return what training minimises."""
        value = self.mean.value(u) + 0.5 * float(u @ self.penalty @ u)
        return value if self.absolute is None else value + self.absolute.value(u)

    def slope_along(self, u: Vector, direction: Vector) -> tuple[float, float]:
        """Return it and its slope in a direction."""
        value, slope = self.mean.slope_along(u, direction)
        gradient = self.penalty @ u
        value, slope = value + 0.5 * float(u @ gradient), slope + float(gradient @ direction)
        if self.absolute is None:
            return value, slope
        more = self.absolute.slope_along(u, direction)
        return value + more[0], slope + more[1]

    def expansion(self, u: Vector) -> Quadratic:
        """Return its parabola at a model."""
        smooth = self.smooth_at(u)
        return smooth if self.absolute is None else smooth + self.absolute.expansion(u)

    def tangent(self, u: Vector) -> Quadratic:
        """Return value and slope at a model, of a mean loss and penalties."""
        assert isinstance(self.mean, MeanLoss)
        here, penalty = self.mean.tangent(u), self.penalty_at(u)
        smooth = replace(here + penalty, curvature=here.curvature)
        return smooth if self.absolute is None else smooth + self.absolute.tangent(u)

    def smooth_at(self, u: Vector) -> Quadratic:
        """Return the parabola, at a model, of all but the absolute values."""
        return self.mean.expansion(u) + self.penalty_at(u)

    def rounded(self, rounding: float) -> Objective:
        """Return this with absolute values rounded off so much."""
        assert self.absolute is not None
        return replace(self, absolute=MeanLoss(self.absolute.rows, Absolute(rounding)))

    def penalty_at(self, u: Vector) -> Quadratic:
        """Return the penalty, as a quadratic around a model."""
        gradient = self.penalty @ u
        return Quadratic(0.5 * float(u @ gradient), gradient, self.penalty)


class LateError(Exception):
    """Time is up in the middle of a search for a root, of which Newton's method is a step."""


def newton(
    function: Function, start: Vector, deadline: Deadline = NEVER
) -> tuple[Vector, Quadratic]:
    """Minimise a convex function by damped Newton steps, to where rounding or a deadline ends it.

    Return the point and the expansion there.
    """
    u = start
    at = function.expansion(u)
    for _ in range(MOST_STEPS):
        if not certainly_positive(at.curvature):  # so far out that rounding leaves no curvature
            return u, at
        step = -solve(at.curvature, at.slope)
        decrement = -float(at.slope @ step)
        if decrement <= 1e-16 * max(1e-9, abs(at.value)) or deadline.over:
            return u, at
        share = 1.0
        while not function.value(u + share * step) <= at.value - 0.25 * share * decrement:
            share *= 0.5
            if share < 1e-10:  # rounding: no step is better
                return u, at
        u = u + share * step
        at = function.expansion(u)
    return u, at


@dataclass(frozen=True, eq=False)
class Weighted:
    """One function plus a multiple of another."""

    first: Function
    multiple: float
    second: Function

    def value(self, u: Vector) -> float:
        """Return the sum."""
        return self.first.value(u) + self.multiple * self.second.value(u)

    def slope_along(self, u: Vector, direction: Vector) -> tuple[float, float]:
        """Return the sum and its slope in a direction."""
        (a, b), (c, d) = (f.slope_along(u, direction) for f in (self.first, self.second))
        return a + self.multiple * c, b + self.multiple * d

    def expansion(self, u: Vector) -> Quadratic:
        """Return the sum of both parabolas."""
        return self.first.expansion(u) + self.second.expansion(u).times(self.multiple)


@dataclass(frozen=True, eq=False)
class Tilted:
    """A function less a linear one."""

    function: Function
    slope: Vector

    def value(self, u: Vector) -> float:
        """Return the difference."""
        return self.function.value(u) - float(self.slope @ u)

    def slope_along(self, u: Vector, direction: Vector) -> tuple[float, float]:
        """Return the difference and its slope in a direction."""
        value, slope = self.function.slope_along(u, direction)
        return value - float(self.slope @ u), slope - float(self.slope @ direction)

    def expansion(self, u: Vector) -> Quadratic:
        """Return its parabola."""
        at = self.function.expansion(u)
        return Quadratic(at.value - float(self.slope @ u), at.slope - self.slope, at.curvature)


def solve(matrix: Matrix, right: Vector) -> Vector:
    """Solve with a positive definite matrix, or say why it is none."""
    try:
        return np.asarray(cho_solve(cho_factor(matrix, lower=True), right))
    except LinAlgError:
        raise flat() from None


def flat() -> SolverError:
    """Return what is said of an objective whose optimum is no single model."""
    return SolverError(
        "the training objective is flat in some direction: columns of X depend on each other, or "
        "tell the classes apart, and estimator penalises no squares; pass one that does, such as "
        "Ridge or ElasticNet with an l1_ratio below 1, or leave a column out"
    )
