"""The largest hinge loss over the near-optimal set Ψ, bounded by HiGHS: a second opinion.

Like the search it checks, this is branch and bound on the validation points, with chords in place
of hinges (see `tree`), but it is written apart: its linear programs have a variable for each hinge
of T and no cuts, HiGHS solves them, and every bound follows from multipliers alone.

It knows what was claimed, so only models with a larger loss are left to be excluded. In every node
that stays open the ranges of the margins are found again among these, by two linear programs a
point: few nodes are needed, a hundred where splitting alone takes hundreds of thousands.

Over a node most training hinges stay on one side of their breakpoints, so its program has the
others alone (`BoxModels.relaxed`). It may hold too many models, never too few.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from pessimal.limits import Deadline
from pessimal.losses import HINGE
from pessimal.near_optimal.polyhedral.linear_program import BoxModels, row_ranges
from pessimal.near_optimal.polyhedral.program import trains_within
from pessimal.problem import Mask, Matrix, Vector, margin_rows
from pessimal.tolerances import CERTIFICATE

ENOUGH_SHRUNK = 0.8
"""Ranges are found again while chords lose this share of their excess over hinges, or more."""

REACHED = 0.05
"""A range that models reach to within this share of its width has nothing to lose."""


POINTS_PER_CUT = 10
"""After so many ranges the models sought are those whose loss by the narrower chords is larger."""

ENOUGH_MODELS = 30
"""Known in a part of a node, to tell on which side of its breakpoint a training hinge stays."""


@dataclass(frozen=True, eq=False)
class _Node:
    """A part of Ψ, by ranges of the margins, ``rows·u ≤ at_most``, and a bound on the loss in it.

    The ranges need not hold for models that lose no more than was claimed. Some `members`, of this
    part or of a larger one, are known.
    """

    low: Vector
    high: Vector
    rows: Matrix
    at_most: Vector
    bound: float
    members: Matrix

    def split(self, k: int, row: Vector) -> Iterator[_Node]:
        """Yield the parts with the margin of point `k` below and above 1."""
        for sign in (1.0, -1.0):
            low, high = self.low.copy(), self.high.copy()
            (high if sign > 0.0 else low)[k] = 1.0
            rows, at_most = np.vstack([self.rows, sign * row]), np.append(self.at_most, sign)
            inside = self.members[sign * (self.members @ row) <= sign]
            members = inside if len(inside) >= ENOUGH_MODELS else self.members
            yield _Node(low, high, rows, at_most, self.bound, members)


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
    low, high, ends = row_ranges(models, rows, deadline)
    everything = _Node(low, high, rows[:0], np.zeros(0), float(weight @ HINGE.value(low)), ends)
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
    if deadline.over:
        return [], node.bound

    def in_few_rows(members: Matrix) -> BoxModels:
        return models.relaxed(members).restricted(node.rows, node.at_most)

    members = met = node.members
    part = in_few_rows(members)
    low, high, bound, last = node.low.copy(), node.high.copy(), node.bound, np.inf
    while True:
        chords = _Chords.over(low, high, weight)
        u, least = part.least(chords.slope @ rows, deadline=deadline)
        fewer = part.n_columns < models.n_columns
        if u is None:
            if part.empty():
                return [], known
            if not fewer:
                return [], bound
            # A set that is all but a point may vanish by rounding: let every hinge count.
            part = models.restricted(node.rows, node.at_most)
            continue
        bound = min(bound, chords.constant - least)
        if bound <= known + 0.5 * CERTIFICATE or deadline.over:
            return [], bound
        if fewer and not trains_within(models.problem, u, models.training_limit):
            # Not in Ψ: let those hinges count, too, that it has on another side than the members.
            members = np.vstack([members, u])
            n_before, part = part.n_columns, in_few_rows(members)
            if part.n_columns > n_before:
                continue
        if not chords.free.any():
            return [], bound
        if chords.excess.sum() > ENOUGH_SHRUNK * last:
            break
        last = chords.excess.sum()
        tightened = _tighten(part, rows, weight, known, low, high, u, deadline)
        if tightened is None:
            return [], known
        met = tightened
    margins = rows @ u
    above = chords.slope * (np.where(chords.free, high, 1.0) - margins)
    k = int(np.argmax(np.where(chords.free, above - weight * HINGE.value(margins), -np.inf)))
    narrowed = _Node(low, high, node.rows, node.at_most, bound, met)
    return list(narrowed.split(k, rows[k])), bound


def _tighten(
    part: BoxModels,
    rows: Matrix,
    weight: Vector,
    known: float,
    low: Vector,
    high: Vector,
    u: Vector,
    deadline: Deadline,
) -> Matrix | None:
    """Find the ranges of free points again, in place, among models that lose more than is known.

    Those that matter most come first. Returns the models that were met; None if there is none.
    """
    met = [u]
    least, most = rows @ u, rows @ u
    excess = _Chords.over(low, high, weight).excess
    order = np.argsort(-excess, kind="stable")[: np.count_nonzero(excess)]
    for at in range(0, len(order), POINTS_PER_CUT):
        chords = _Chords.over(low, high, weight)
        slope = (chords.slope @ rows)[None, :]
        models = part.restricted(slope, np.array([chords.constant - known]))
        for k in order[at : at + POINTS_PER_CUT]:
            for sign, end, reached in ((1.0, low, least), (-1.0, high, most)):
                if sign * (reached[k] - end[k]) <= REACHED * (high[k] - low[k]) or deadline.over:
                    continue
                at_end, bound = models.least(sign * rows[k], deadline=deadline)
                end[k] = sign * max(sign * end[k], bound)
                if at_end is not None:
                    met.append(at_end)
                    np.minimum(least, rows @ at_end, out=least)
                    np.maximum(most, rows @ at_end, out=most)
            if low[k] > high[k]:
                return None
    return np.array(met)
