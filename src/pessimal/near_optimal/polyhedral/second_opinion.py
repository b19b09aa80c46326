"""The largest hinge loss over the near-optimal set Ψ, bounded by HiGHS: a second opinion.

Like the search it checks, this is branch and bound on the validation points, with chords in place
of hinges (see `tree`), but it is written apart: its linear programs have a variable for each hinge
of T and no cuts, HiGHS solves them, and every bound follows from multipliers alone.

It knows what was claimed, so only models with a larger loss are left to be excluded. In every node
that stays open the ranges of the margins are found again among these, by two linear programs a
point: few nodes are needed, a hundred where splitting alone takes hundreds of thousands.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from pessimal.limits import Deadline
from pessimal.losses import HINGE
from pessimal.near_optimal.polyhedral.linear_program import BoxModels, row_ranges
from pessimal.problem import Mask, Matrix, Vector, margin_rows
from pessimal.tolerances import CERTIFICATE

ENOUGH_SHRUNK = 0.8
"""Ranges are found again while chords lose this share of their excess over hinges, or more."""

REACHED = 0.05
"""A range that models reach to within this share of its width has nothing to lose."""


@dataclass(frozen=True, eq=False)
class _Node:
    """A part of Ψ, by ranges of the margins, ``rows·u ≤ at_most``, and a bound on the loss in it.

    The ranges need not hold for models that lose no more than was claimed.
    """

    low: Vector
    high: Vector
    rows: Matrix
    at_most: Vector
    bound: float

    def split(self, k: int, row: Vector) -> Iterator[_Node]:
        """Yield the parts with the margin of point `k` below and above 1."""
        for sign in (1.0, -1.0):
            low, high = self.low.copy(), self.high.copy()
            (high if sign > 0.0 else low)[k] = 1.0
            rows, at_most = np.vstack([self.rows, sign * row]), np.append(self.at_most, sign)
            yield _Node(low, high, rows, at_most, self.bound)


@dataclass(frozen=True, eq=False)
class _Chords:
    """The sum of chords ``constant − slope·margins``, and how far each may exceed its hinge."""

    slope: Vector
    constant: float
    excess: Vector

    @classmethod
    def over(cls, low: Vector, high: Vector, weight: Vector) -> _Chords:
        free = (low < 1.0) & (high > 1.0)
        width = np.where(free, high - low, 1.0)
        below = (high <= 1.0).astype(float)
        slope = weight * np.where(free, (1.0 - low) / width, below)
        excess = np.where(free, weight * (1.0 - low) * (high - 1.0) / width, 0.0)
        return cls(slope, float(slope @ np.where(free, high, 1.0)), excess)

    @property
    def free(self) -> Mask:
        """Points whose margin may lie on both sides of 1."""
        return self.excess > 0.0


def largest_hinge(models: BoxModels, known: float, deadline: Deadline) -> float:
    """Bound the mean hinge loss on V over Ψ, of which a model loses `known`.

    As far as there is time: what is left open has the bound it had.
    """
    problem = models.problem
    rows, weight = margin_rows(problem.X_val, problem.y_val), problem.val_weight
    low, high, _ = row_ranges(models, rows, deadline)
    everything = _Node(low, high, rows[:0], np.zeros(0), float(weight @ HINGE.value(low)))
    nodes, largest = [everything], known
    while nodes:
        node = nodes.pop()
        if node.bound > largest:
            children, bound = _examined(models, node, rows, weight, known, deadline)
            nodes += children
            largest = largest if children else max(largest, bound)
    return largest


def _examined(
    models: BoxModels,
    node: _Node,
    rows: Matrix,
    weight: Vector,
    known: float,
    deadline: Deadline,
) -> tuple[list[_Node], float]:
    """Bound the loss in a node; if that leaves models to be excluded, return its parts."""
    part = models.restricted(node.rows, node.at_most)
    low, high, bound, last = node.low.copy(), node.high.copy(), node.bound, np.inf
    while True:
        chords = _Chords.over(low, high, weight)
        slope = chords.slope @ rows
        u, least = part.least(slope, deadline=deadline)
        if u is None:
            return [], known if part.empty() else bound
        bound = min(bound, chords.constant - least)
        if bound <= known + 0.5 * CERTIFICATE or not chords.free.any() or deadline.over:
            return [], bound
        margins = rows @ u
        if chords.excess.sum() > ENOUGH_SHRUNK * last:
            break
        last = chords.excess.sum()
        worse = part.restricted(slope[None, :], np.array([chords.constant - known]))
        if not _tighten(worse, rows, chords.free, low, high, margins, deadline):
            return [], known
    above = chords.slope * (np.where(chords.free, high, 1.0) - margins)
    k = int(np.argmax(np.where(chords.free, above - weight * HINGE.value(margins), -np.inf)))
    tightened = _Node(low, high, node.rows, node.at_most, bound)
    return list(tightened.split(k, rows[k])), bound


def _tighten(
    models: BoxModels,
    rows: Matrix,
    free: Mask,
    low: Vector,
    high: Vector,
    margins: Vector,
    deadline: Deadline,
) -> bool:
    """Find the ranges of free points again, in place; return whether there is any model."""
    least, most = margins.copy(), margins.copy()
    for k in np.flatnonzero(free):
        for sign, end, reached in ((1.0, low, least), (-1.0, high, most)):
            if sign * (reached[k] - end[k]) <= REACHED * (high[k] - low[k]) or deadline.over:
                continue
            u, bound = models.least(sign * rows[k], deadline=deadline)
            end[k] = sign * max(sign * end[k], bound)
            if u is not None:
                np.minimum(least, rows @ u, out=least)
                np.maximum(most, rows @ u, out=most)
        if low[k] > high[k]:
            return False
    return True
