"""What models are judged by: the mean of a loss over rows, or a count of them.

The relaxation bounds counts as it bounds losses, by parabolas above the indicator of a margin on
the wrong side of a threshold. Given mean and variance of a margin, Cantelli's inequality is the
best that a square can say, ``((t − v)/v)²`` with its vertex v at the mean plus variance over mean;
a linear function that ends with the range is Markov's.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np

from pessimal.losses import SmoothLoss, Step
from pessimal.near_optimal.smooth.objective import Function, MeanLoss, Parabola
from pessimal.near_optimal.smooth.quadratic import Quadratic
from pessimal.near_optimal.smooth.relaxation import Envelope, Moments, envelope
from pessimal.near_optimal.smooth.rows import Block, Rows
from pessimal.problem import Vector

NEAR = 1e-9
"""Margins this close to the threshold count: of those nothing less can be said."""


@dataclass(frozen=True, eq=False)
class Judged:
    """The mean of a smooth loss over rows, to be bounded from above."""

    mean: Function
    rows: Rows
    loss: SmoothLoss
    trained: Vector

    def above(self, rows: Rows) -> Envelope | Quadratic:
        """Return what lies above it on rows with ranges."""
        if isinstance(self.mean, Parabola):
            return self.mean.expansion(self.trained)
        return Envelope(((rows, partial(envelope, self.loss, 1.0, self.trained)),))

    @property
    def tangent(self) -> Quadratic | None:
        """Value and slope at the trained model, if rows are passed over for them."""
        return self.mean.tangent(self.trained) if isinstance(self.mean, MeanLoss) else None

    def by_ranges(self, rows: Rows) -> float:
        """Bound it as if every row could have its worst margin at once."""
        if isinstance(self.mean, Parabola):
            return np.inf
        return rows.total(partial(_worst_of_range, self.loss, self.trained))


@dataclass(frozen=True, eq=False)
class Counted:
    """The share of rows below a threshold (side −1) or not below it, to be bounded from above."""

    rows: Rows
    judge: Step
    side: float
    trained: Vector

    def above(self, rows: Rows) -> Envelope:
        """Return what lies above it on rows with ranges."""
        count = partial(count_above, self.judge.threshold, self.side, self.trained)
        return Envelope(((rows, count),))

    @property
    def tangent(self) -> None:
        """A count has none."""
        return None

    def by_ranges(self, rows: Rows) -> float:
        """Bound it as if every row could be counted."""
        del rows
        return 1.0

    def at(self, u: Vector) -> float:
        """Return the share of rows below the threshold with a model."""
        return self.rows.total(partial(_counted, self.judge, u))

    def at_ends(self, rows: Rows) -> float:
        """Return it as if all rows were at the ends of their ranges, low ones for side −1."""
        return rows.total(partial(_end_count, self.judge, self.trained, self.side))


def count_above(
    threshold: float, side: float, trained: Vector, moments: Moments, block: Block
) -> Quadratic:
    """Return a quadratic above the weight of the rows with margins up to a threshold (side −1).

    With side 1 it is above the weight of those with margins from the threshold on.
    """
    # In t a row counts up to 0, and z·d is added to it with the sign −side.
    at, sign = -side * (block.margins(trained) - threshold), -side
    low, high = (block.low, block.high) if sign > 0.0 else (-block.high, -block.low)
    low, high = at + low, at + high
    mean, variance = block.moments(moments.mean, moments.root)
    mean = at + sign * mean
    # Safe denominators; where they are not those meant, the inequality says nothing.
    m, e = np.maximum(mean, NEAR), np.maximum(high, NEAR)
    v = m + variance / m
    cantelli = np.where(mean >= NEAR, (variance + np.square(mean - v)) / np.square(v), np.inf)
    markov = np.where(high >= NEAR, (e - mean) / e, np.inf)
    # Where neither says less than 1 that is the bound, and 0 where the range stays above.
    never = low > 0.0
    square = ~never & (cantelli < np.minimum(1.0, markov))
    line = ~never & ~square & (markov < 1.0)
    curvature = np.where(square, 2.0 / np.square(v), 0.0)
    slope = np.where(square, 2.0 * (at - v) / np.square(v), np.where(line, -1.0 / e, 0.0))
    value = np.where(square, np.square((at - v) / v), np.where(line, (e - at) / e, 1.0 - never))
    weight = block.weight
    return Quadratic(
        float(weight @ value), block.Z.T @ (weight * sign * slope), block.gram(curvature)
    )


def _worst_of_range(loss: SmoothLoss, trained: Vector, block: Block) -> float:
    margins = block.margins(trained)
    ends = loss.value(margins + block.low), loss.value(margins + block.high)
    return float(block.weight @ np.maximum(*ends))


def _counted(judge: Step, u: Vector, block: Block) -> float:
    return judge.mean(block.margins(u), block.weight)


def _end_count(judge: Step, trained: Vector, side: float, block: Block) -> float:
    ends = block.low if side < 0.0 else block.high
    return judge.mean(block.margins(trained) + ends, block.weight)
