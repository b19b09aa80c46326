"""What models are judged by: the mean of a loss over rows, or a count of them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np

from pessimal.losses import SmoothLoss, Step
from pessimal.near_optimal.smooth.counting import count_above
from pessimal.near_optimal.smooth.objective import Function, MeanLoss, Parabola
from pessimal.near_optimal.smooth.quadratic import Quadratic
from pessimal.near_optimal.smooth.relaxation import Envelope, envelope
from pessimal.near_optimal.smooth.rows import Block, Rows
from pessimal.problem import Vector


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


def _worst_of_range(loss: SmoothLoss, trained: Vector, block: Block) -> float:
    margins = block.margins(trained)
    ends = loss.value(margins + block.low), loss.value(margins + block.high)
    return float(block.weight @ np.maximum(*ends))


def _counted(judge: Step, u: Vector, block: Block) -> float:
    return judge.mean(block.margins(u), block.weight)


def _end_count(judge: Step, trained: Vector, side: float, block: Block) -> float:
    ends = block.low if side < 0.0 else block.high
    return judge.mean(block.margins(trained) + ends, block.weight)
