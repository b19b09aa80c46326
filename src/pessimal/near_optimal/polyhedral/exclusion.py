"""The largest hinge loss over the near-optimal set Ψ, by excluding all that lose more than a model.

Branch and bound on the validation points, with chords in place of hinges (see `tree`). Only models
with a larger loss than one that is known are left to be excluded. In every node that stays open the
ranges of the margins are found again among these, by two linear programs a point: few nodes are
needed, a hundred where splitting alone takes hundreds of thousands.

It is what a search on points leaves the rest to, and what a claim is checked by. The simplex method
only proposes multipliers: every bound follows from them and the data (see `part`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from heapq import heappop, heappush
from itertools import count

import numpy as np
from numpy.typing import NDArray

from pessimal.limits import Deadline
from pessimal.losses import HINGE
from pessimal.lp.watch import Watch
from pessimal.near_optimal.polyhedral.part import NearOptimal, Part, WarmPrograms
from pessimal.near_optimal.polyhedral.program import coarse_ranges
from pessimal.near_optimal.polyhedral.stopping import stopping
from pessimal.problem import Matrix, TuningProblem, Vector, margin_rows
from pessimal.tolerances import CERTIFICATE, CUTOFF
from pessimal.units import equilibrate

ENOUGH_SHRUNK = 0.8
"""Ranges are found again while chords lose this share of their excess over hinges, or more."""

REACHED = 0.05
"""A range that models reach to within this share of its width has nothing to lose."""

POINTS_PER_CUT = 10
"""After so many ranges the models sought are those whose loss by the narrower chords is larger."""

FEW_ROUNDS = 4
"""Of cuts for a range, which need not be exact."""

MANY_ROUNDS = 200
"""The same for a bound on the loss."""


@dataclass(frozen=True, eq=False)
class _Node:
    """A part of Ψ, ranges of the margins in it, and a bound on the loss.

    The ranges need not hold for models that lose no more than was claimed.
    """

    part: Part
    low: Vector
    high: Vector
    bound: float

    def split(self, k: int, row: Vector) -> list[_Node]:
        """Return the nodes with the margin of point `k` below and above 1."""
        below, above = self.high.copy(), self.low.copy()
        below[k] = above[k] = 1.0
        return [
            replace(self, part=self.part.cut(row, 1.0), high=below),
            replace(self, part=self.part.cut(-row, -1.0), low=above),
        ]


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


def largest_hinge(
    problem: TuningProblem,
    box: Vector,
    limit: float,
    inner: Vector,
    best: Callable[[Vector | None], float],
    deadline: Deadline,
) -> float:
    """Bound the mean hinge loss on V over Ψ, of which `best` returns the largest that is known.

    As far as there is time: what is left open has the bound it had. Ψ has the models of a box that
    train within a limit, one of which is `inner`. Given a model that may be a worse one, `best`
    may look around it.
    """
    balanced, factor = equilibrate(problem)
    unit, watch = np.append(factor, 1.0), Watch()
    whole = NearOptimal(balanced, factor * box, limit)
    programs = WarmPrograms(balanced, whole, unit * inner, watch)

    def known(u: Vector | None) -> float:
        return best(None if u is None else u / unit)

    with stopping(watch, deadline) as stops:
        return _Exclusion(balanced, whole, programs, known, stops).largest()


class _Exclusion:
    """Branch and bound on the validation points."""

    def __init__(
        self,
        problem: TuningProblem,
        whole: NearOptimal,
        programs: WarmPrograms,
        best: Callable[[Vector | None], float],
        stops: Callable[[], bool],
    ) -> None:
        self.rows = margin_rows(problem.X_val, problem.y_val)
        self.weight = problem.val_weight
        self.low, self.high = coarse_ranges(problem, whole.box, whole.limit, self.rows)
        self.whole = Part(whole, self.rows[:0], np.zeros(0))
        self.programs, self.best, self.stops = programs, best, stops
        self.known = best(None)

    def largest(self) -> float:
        """Bound the loss of all models."""
        self._tighten(self.whole, np.arange(len(self.rows)), self.low, self.high, _Met(self.rows))
        bound, order = float(self.weight @ HINGE.value(self.low)), count()
        root = _Node(self.whole, self.low, self.high, bound)
        nodes, closed = [(-bound, next(order), root)], -np.inf
        while nodes and -nodes[0][0] > max(self.known, closed) and not self.stops():
            children, bound = self._examined(heappop(nodes)[2])
            for child in children:
                heappush(nodes, (-bound, next(order), child))
            closed = closed if children else max(closed, bound)
        return max(self.known, closed, -nodes[0][0] if nodes else -np.inf)

    def _examined(self, node: _Node) -> tuple[list[_Node], float]:
        """Bound the loss in a node; if that leaves models to be excluded, return its parts."""
        low, high, bound = node.low.copy(), node.high.copy(), node.bound
        met, loose, last = _Met(self.rows), np.zeros(0, np.intp), np.inf
        while not self.stops():
            chords = _Chords.over(low, high, self.weight)
            slope, excess = chords.slope @ self.rows, float(chords.excess.sum())
            u, least = self.programs.least(node.part, slope, -1, MANY_ROUNDS)
            self._look_at(u)
            bound = min(bound, chords.constant - least)
            if bound <= self.known + 0.5 * CERTIFICATE or excess == 0.0:
                break
            if len(loose) == 0:
                if excess > ENOUGH_SHRUNK * last:
                    narrowed, k = _Node(node.part, low, high, bound), int(chords.excess.argmax())
                    return narrowed.split(k, self.rows[k]), bound
                loose = np.argsort(-chords.excess, kind="stable")[: np.count_nonzero(chords.excess)]
                met, last = _Met(self.rows), excess
            met.add(u)
            worse = node.part.cut(slope, chords.constant - self.known)
            if not self._tighten(worse, loose[:POINTS_PER_CUT], low, high, met):
                return [], self.known
            loose = loose[POINTS_PER_CUT:]
        return [], bound

    def _look_at(self, u: Vector | None) -> None:
        """Take note of a model if it is worse than the one known."""
        if u is not None and self.weight @ HINGE.value(self.rows @ u) > self.known + CUTOFF:
            self.known = max(self.known, self.best(u))

    def _tighten(
        self, part: Part, points: NDArray[np.intp], low: Vector, high: Vector, met: _Met
    ) -> bool:
        """Find ranges of margins over a part, in place; return whether a model may be in it."""
        for k in points:
            for side, end, reached in ((0, low, met.least), (1, high, met.most)):
                sign = 1.0 - 2.0 * side
                if sign * (reached[k] - end[k]) <= REACHED * (high[k] - low[k]) or self.stops():
                    continue
                u, least = self.programs.least(part, sign * self.rows[k], 2 * k + side, FEW_ROUNDS)
                end[k] = sign * max(sign * end[k], least)
                met.add(u)
            if low[k] > high[k]:
                return False
        return True


class _Met:
    """The least and the largest margins of the models that were met."""

    def __init__(self, rows: Matrix) -> None:
        self._rows = rows
        self.least, self.most = np.full(len(rows), np.inf), np.full(len(rows), -np.inf)

    def add(self, u: Vector | None) -> None:
        """Take note of a model, if there is one."""
        if u is not None:
            margins = self._rows @ u
            np.minimum(self.least, margins, out=self.least)
            np.maximum(self.most, margins, out=self.most)
