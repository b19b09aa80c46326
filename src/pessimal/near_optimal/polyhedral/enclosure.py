"""The near-optimal models of a box between two polytopes: all that is needed for new rows.

Around the set: its exact ranges along the axes and in directions drawn like the rows, as many as
are asked for. Inside it: the vertices at the ends of these ranges. Neither holds a training row.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pessimal.lp.highs import LinearProgram, WarmProgram
from pessimal.lp.sparse_rows import SparseRows
from pessimal.problem import Matrix, Vector

OUTWARDS = 1e-9
"""Share of its terms that is added to a bound for rounding."""


@dataclass(frozen=True, eq=False)
class BoxEnclosure:
    """Ranges of models with score ``((x − shift)/scale, −1)·(w, b)``, and some of these models.

    Attributes
    ----------
    shift, scale : ndarray of shape (p,)
        Of the features; a scale of 0 is that of one that counts for nothing.
    directions : ndarray of shape (k, p + 1)
        The axes first.
    low, high : ndarray of shape (k,)
        No member leaves these ranges along the directions.
    members : ndarray of shape (m, p + 1)
    """

    shift: Vector
    scale: Vector
    directions: Matrix
    low: Vector
    high: Vector
    members: Matrix

    def score_range(self, X: Matrix) -> tuple[Vector, Vector, Vector, Vector]:
        """Return scores that no member passes, low and high, and scores that members have."""
        counts = self.scale > 0.0
        scaled = np.where(counts, (X - self.shift) / np.where(counts, self.scale, 1.0), 0.0)
        Z = np.column_stack([scaled, -np.ones(len(X))])
        found = Z @ self.members.T
        program = self._program()
        high = np.array([self._most(program, z) for z in Z])
        low = np.array([-self._most(program, -z) for z in Z])
        return low, high, found.min(axis=1), found.max(axis=1)

    def _program(self) -> WarmProgram:
        """Return the program of what lies within all ranges, which is changed for every row."""
        q = self.directions.shape[1]
        return WarmProgram(
            LinearProgram(
                cost=np.zeros(q),
                matrix=SparseRows.of(self.directions[q:]),
                row_lower=self.low[q:],
                row_upper=self.high[q:],
                lower=self.low[:q],
                upper=self.high[:q],
            )
        )

    def _most(self, program: WarmProgram, z: Vector) -> float:
        """Bound ``z·u``: by multipliers of the ranges, whoever found them, and by the axes."""
        low, high = self.low[: len(z)], self.high[: len(z)]
        reach = float(np.abs(z) @ np.maximum(np.abs(low), np.abs(high)))
        bound = float(np.maximum(z * low, z * high).sum())
        if len(self.low) > len(z):
            program.set_cost(-z)
            if program.solve():
                bound = min(bound, -program.lower_bound(low, high))
        return bound + OUTWARDS * reach
