"""A bilevel program as arrays: what the leader decides, and how followers respond.

The leader picks x, some entries of it integer. Each follower then picks its own part of
``y = (y_1, …, y_K)``; followers do not see each other.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from scipy.sparse import csr_array

from pessimal.errors import InvalidInputError
from pessimal.problem import Mask, Vector
from pessimal.tolerances import INTEGRALITY


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

    @property
    def n_outer(self) -> int:
        """Number of outer variables."""
        return len(self.outer_cost)

    @property
    def n_inner(self) -> int:
        """Number of inner variables of all followers."""
        return len(self.inner_cost)

    def objective(self, x: Vector, y: Vector) -> float:
        """Outer objective of a decision and its responses."""
        outer = self.outer_cost + 0.5 * (self.outer_curvature @ x)
        inner = self.inner_cost + self.price @ x + 0.5 * (self.inner_curvature @ y)
        return float(outer @ x + inner @ y + self.constant)
