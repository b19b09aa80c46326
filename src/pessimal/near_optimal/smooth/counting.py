"""Parabolas above the indicator of a margin on the wrong side of a threshold.

With them the relaxation bounds counts as it bounds losses. Given mean and variance of a margin,
Cantelli's inequality is the best that a square can say, ``((t − v)/v)²`` with its vertex v at the
mean plus variance over mean; a linear function that ends with the range is Markov's.
"""

from __future__ import annotations

import numpy as np

from pessimal.near_optimal.smooth.quadratic import Quadratic
from pessimal.near_optimal.smooth.relaxation import Moments
from pessimal.near_optimal.smooth.rows import Block
from pessimal.problem import Vector

NEAR = 1e-9
"""Margins this close to the threshold count: of those nothing less can be said."""


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
