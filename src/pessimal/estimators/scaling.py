"""Features of mean 0 and variance 1 on the rows of T ∪ V, and models back in the user's units.

The box limits ``|w_j|`` the same for every feature, which is fair only when features have the same
spread. A model ``(w, b)`` of scaled features has ``coef_j = w_j / scale_j`` and
``intercept = −b − Σ_j coef_j·mean_j`` in the user's.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np

from pessimal.estimators.rows import Rows
from pessimal.problem import Mask, Matrix, Vector

CONSTANT = 10.0 * float(np.finfo(np.float64).eps)
"""A spread no larger than this share of a column's largest entry is rounding, not data."""


@dataclass(frozen=True, eq=False)
class Scaling:
    """Shift and spread of each feature; a constant feature scales to 0."""

    mean: Vector
    scale: Vector
    varies: Mask

    @classmethod
    def of(cls, rows: Rows) -> Self:
        """Take weighted mean and standard deviation of each column."""
        share = rows.weight / rows.weight.sum()
        # Squares of entries around 1e200 overflow, so the columns are first brought below 1.
        largest = np.abs(rows.X).max(axis=0)
        unit = np.where(largest > 0.0, largest, 1.0)
        columns = rows.X / unit
        mean = share @ columns
        spread = np.sqrt(share @ (columns - mean) ** 2)
        varies = spread > CONSTANT
        return cls(mean * unit, np.where(varies, spread * unit, 1.0), varies)

    @classmethod
    def none(cls, n_features: int) -> Self:
        """Leave every feature as it is."""
        every = np.ones(n_features)
        return cls(np.zeros(n_features), every, every.astype(np.bool_))

    def scaled(self, X: Matrix) -> Matrix:
        """Features of mean 0 and variance 1."""
        return np.where(self.varies, (X - self.mean) / self.scale, 0.0)

    def in_user_units(self, w: Vector, b: float) -> tuple[Vector, float]:
        """Return ``coef`` and ``intercept`` of a model ``(w, b)`` of scaled features.

        A feature that was constant gets no weight: nothing is known about it.
        """
        coef = np.where(self.varies, w, 0.0) / self.scale
        return coef, float(-b - coef @ self.mean)
