"""A bilevel program as arrays: what the leader decides, and how followers respond.

The leader picks x, some entries of it integer. Each follower then picks its own part of
``y = (y_1, …, y_K)``; followers do not see each other.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from fractions import Fraction

import numpy as np
from scipy.sparse import csr_array

from pessimal.errors import InvalidInputError
from pessimal.problem import Mask, Vector
from pessimal.tolerances import INTEGRALITY

_DENOMINATOR = 10_000
"""Coefficients with larger denominators are not looked at for a common unit."""


class RefusedError(InvalidInputError):
    """A program cannot be solved exactly because of a part of it.

    `part` is "objective" or "constraints", of the leader if `follower` is None.
    """

    def __init__(self, message: str, part: str, follower: int | None = None) -> None:
        super().__init__(message)
        self.part, self.follower = part, follower


@dataclass(frozen=True, eq=False)
class Rows:
    """``lower ≤ outer·x + inner·y ≤ upper``."""

    outer: csr_array
    inner: csr_array
    lower: Vector
    upper: Vector

    def __len__(self) -> int:
        return len(self.lower)

    def __call__(self, x: Vector, y: Vector) -> Vector:
        """Evaluate at a point."""
        return np.asarray(self.outer @ x + self.inner @ y)

    def violation(self, x: Vector, y: Vector) -> float:
        """Largest distance of a row from its limits at a point."""
        value = self(x, y)
        return float(np.max([0.0, *(self.lower - value), *(value - self.upper)]))


@dataclass(frozen=True, eq=False)
class FollowerProgram:
    """Minimise ``(cost + price·x)·y + ½ y·curvature·y`` subject to rows and ``lower ≤ y ≤ upper``.

    Here y is the follower's part alone, the entries `columns` of the whole. `price` has a row per
    inner and a column per outer variable; `curvature` is positive semidefinite, and may be zero.
    ``outer_cost·x + constant`` is added to the objective: no response depends on it, but "within
    20 % of the optimum" does.
    """

    cost: Vector
    price: csr_array
    curvature: csr_array
    rows: Rows
    lower: Vector
    upper: Vector
    columns: slice
    outer_cost: Vector = field(default_factory=lambda: np.zeros(0))
    constant: float = 0.0

    def __post_init__(self) -> None:
        if len(self.outer_cost) == 0:
            object.__setattr__(self, "outer_cost", np.zeros(self.price.shape[1]))

    def __len__(self) -> int:
        return len(self.cost)

    def objective(self, x: Vector, y: Vector) -> float:
        """Inner objective of a response."""
        slope = self.cost + self.price @ x + 0.5 * (self.curvature @ y)
        return float(slope @ y + self.outer_cost @ x + self.constant)

    @property
    def priced(self) -> bool:
        """Whether the inner objective holds products of outer and inner variables."""
        return bool(abs(self.price).sum() > 0.0)

    @property
    def curved(self) -> bool:
        """Whether the inner objective is quadratic."""
        return bool(abs(self.curvature).sum() > 0.0)


@dataclass(frozen=True, eq=False)
class BilevelProgram:
    """Minimise the outer objective over x and the responses y of all followers.

    The objective is ``outer_cost·x + (inner_cost + price·x)·y + ½ x·outer_curvature·x
    + ½ y·inner_curvature·y + constant``, subject to `rows`, which may hold y, and
    ``lower ≤ x ≤ upper``. `auxiliary` marks entries of x that only describe convex functions, such
    as ``t ≥ |y|``: they are set after the response, and by default there are none.
    """

    outer_cost: Vector
    inner_cost: Vector
    outer_curvature: csr_array
    inner_curvature: csr_array
    price: csr_array
    constant: float
    rows: Rows
    lower: Vector
    upper: Vector
    integer: Mask
    followers: tuple[FollowerProgram, ...]
    auxiliary: Mask = field(default_factory=lambda: np.zeros(0, dtype=np.bool_))

    def __post_init__(self) -> None:
        if len(self.auxiliary) == 0:
            object.__setattr__(self, "auxiliary", np.zeros(len(self.outer_cost), dtype=np.bool_))
        # Limits of integers are whole, so that no point is cut at a limit between two of them.
        lower, upper = np.ceil(self.lower - INTEGRALITY), np.floor(self.upper + INTEGRALITY)
        object.__setattr__(self, "lower", np.where(self.integer, lower, self.lower))
        object.__setattr__(self, "upper", np.where(self.integer, upper, self.upper))
        object.__setattr__(self, "rows", _whole_rows(self.rows, self.integer))

    @property
    def n_outer(self) -> int:
        """Number of outer variables."""
        return len(self.outer_cost)

    @property
    def n_inner(self) -> int:
        """Number of inner variables of all followers."""
        return len(self.inner_cost)

    @property
    def priced(self) -> bool:
        """Whether the outer objective holds products of outer and inner variables."""
        return bool(abs(self.price).sum() > 0.0)

    def inner_slope(self, x: Vector) -> Vector:
        """Slope of the outer objective in the responses, without its quadratic part."""
        return np.asarray(self.inner_cost + self.price @ x)

    def objective(self, x: Vector, y: Vector) -> float:
        """Outer objective of a decision and its responses."""
        outer = self.outer_cost + 0.5 * (self.outer_curvature @ x)
        inner = self.inner_slope(x) + 0.5 * (self.inner_curvature @ y)
        return float(outer @ x + inner @ y + self.constant)


def _whole_rows(rows: Rows, integer: Mask) -> Rows:
    """Round the limits of rows that only have whole multiples of one number as values.

    Without it, ``2·x₁ + 2·x₂ = 3`` would take a branch for every whole x₁, of which there may be
    infinitely many.
    """
    lower, upper = rows.lower.copy(), rows.upper.copy()
    inner = abs(rows.inner).sum(axis=1)
    for k, coefficients in enumerate(rows.outer.toarray()):
        used = np.flatnonzero(coefficients)
        if inner[k] > 0.0 or len(used) == 0 or not integer[used].all():
            continue
        ratios = [Fraction(float(a)).limit_denominator(_DENOMINATOR) for a in coefficients[used]]
        exact = np.array([float(ratio) for ratio in ratios])
        if not np.array_equal(exact, coefficients[used]):
            continue  # no small fractions
        common = math.lcm(*(ratio.denominator for ratio in ratios))
        unit = math.gcd(*(int(ratio * common) for ratio in ratios)) / common
        room = INTEGRALITY * max(1.0, 1.0 / unit)
        lower[k] = unit * np.ceil(lower[k] / unit - room)
        upper[k] = unit * np.floor(upper[k] / unit + room)
    return replace(rows, lower=lower, upper=upper)
