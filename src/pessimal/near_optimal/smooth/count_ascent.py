"""Members that get many rows wrong, or few: ascent on a count with its steps rounded off.

A count is flat almost everywhere and has no slope to follow. With each step rounded off to a
logistic curve it has one, that of the rows near the threshold. Members are sought along it, first
with wide curves, to which many rows add, then with narrow ones, which are nearer to the count.
Whatever the curves say, the member that is kept is the one with the largest count itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.linalg import cho_solve, cholesky
from scipy.special import expit

from pessimal.limits import Deadline
from pessimal.near_optimal.smooth.judged import Counted
from pessimal.near_optimal.smooth.members import Members
from pessimal.near_optimal.smooth.quadratic import lengths, whitened
from pessimal.near_optimal.smooth.rows import HeldRows
from pessimal.problem import Matrix, Vector

WIDTHS = (1.0, 0.3, 0.1, 0.03)
"""Of the curves, as shares of how far members move the margin of a usual row."""

STEPS = 12
"""With curves of one width."""

FLAT = 1e-12
"""A slope below this is that of rows far from the threshold, none of which will pass it."""

SHARES = (1.0, 0.7, 0.4, 0.2, 0.1, 0.03)
"""Of the way to the member that a slope points to."""


def extreme_count(
    judged: Counted, members: Members, starts: Sequence[Vector], deadline: Deadline
) -> Vector:
    """Return a member of large count (side −1), or of small count, on the way from some members."""
    best = max(starts, key=lambda u: -judged.side * judged.at(u))
    excess = members.limit - members.training.value
    if excess <= 0.0 or not isinstance(judged.rows, HeldRows) or deadline.over:
        return best
    steps = _Steps.of(judged, judged.rows)
    factor = cholesky(members.training.smooth.curvature, lower=True)
    usual = float(np.sqrt(2.0 * excess) * np.median(lengths(whitened(steps.Z, factor))))
    met = best
    for start in starts:
        u = start
        for width in WIDTHS:
            u, seen = _climbed(steps, members, factor, width * usual, u, deadline)
            met = max((met, seen), key=steps.count)
    met = members.confirmed(members.pulled_back(met))
    return max((best, met), key=steps.count)


def _climbed(
    steps: _Steps, members: Members, factor: Matrix, width: float, u: Vector, deadline: Deadline
) -> tuple[Vector, Vector]:
    """Climb with curves of one width; return the top, and the member met of largest count."""
    best, height = u, float(steps.rounded(u[None], width)[0])
    for _ in range(STEPS):
        slope = steps.slope(u, width)
        largest = float(np.abs(slope).max())
        if deadline.over or largest < FLAT:
            break
        ahead = members.boundary(cho_solve((factor, True), slope / largest))
        tried = u + np.array(SHARES)[:, None] * (ahead - u)  # between two members is another
        best = max((best, *tried), key=steps.count)
        heights = steps.rounded(tried, width)
        k = int(np.argmax(heights))
        if heights[k] <= height:
            break
        u, height = tried[k], float(heights[k])
    return u, best


@dataclass(frozen=True, eq=False)
class _Steps:
    """A step a row, up where the row adds to what is sought; t = ``z·u − offset`` is above 0."""

    Z: Matrix
    offset: Vector
    weight: Vector

    @classmethod
    def of(cls, judged: Counted, rows: HeldRows) -> _Steps:
        Z, offset, weight = (
            np.concatenate([getattr(block, name) for block in rows.blocks])
            for name in ("Z", "offset", "weight")
        )
        return cls(judged.side * Z, judged.side * (offset + judged.judge.threshold), weight)

    def count(self, u: Vector) -> float:
        return float(self.weight @ (self.Z @ u > self.offset))

    def rounded(self, models: Matrix, width: float) -> Vector:
        return np.asarray(expit((models @ self.Z.T - self.offset) / width) @ self.weight)

    def slope(self, u: Vector, width: float) -> Vector:
        """Return the slope of the rounded count, but for its length."""
        share = expit((self.Z @ u - self.offset) / width)
        return np.asarray((self.weight * share * (1.0 - share)) @ self.Z)
