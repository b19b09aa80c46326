"""Ranges of scores over the near-optimal models of a box, each found once and kept.

Every question about validation points begins with how far their scores can move: which points
models disagree on, which can be wrong, which hinges are active. The answers are two linear programs
per point, in the few rows of box and cuts, each starting from the last.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from pessimal.limits import Deadline
from pessimal.lp.codes import OPTIMAL
from pessimal.lp.watch import Watch
from pessimal.near_optimal.polyhedral.linear_program import BoxModels, row_ranges
from pessimal.near_optimal.polyhedral.models import Models
from pessimal.near_optimal.polyhedral.program import (
    MORE_CUTS,
    all_pulled_back,
    coarse_ranges,
    near_optimal_programs,
)
from pessimal.near_optimal.polyhedral.stopping import stopping
from pessimal.problem import Budget, Mask, Matrix, TuningProblem, Vector, margin_rows
from pessimal.tolerances import LP_FEASIBILITY
from pessimal.units import equilibrate

ATTAINED = 1e-7
"""Relative distance from a bound at which a member attains it."""

AT_ONCE = 64
"""Rows whose models are verified together."""

ROWS_PER_CUT = 20
"""A spare cut per so many training rows: to keep it costs less than to find it again."""

LOOSE_ROUNDS = 25
"""Rounds of cuts for a range that need not be exact: a tenth too wide at a third of the cost."""


class ScoreRanges:
    """Ranges of scores ``x·w − b`` over ``{|w| ≤ box, L_T ≤ limit}``.

    Parameters
    ----------
    problem : TuningProblem
    budget : Budget
    models : BoxModels
        The set in HiGHS, which is asked where the simplex of this package fails.
    inner : ndarray of shape (p + 1,)
        A member ``(w, b)``, best far inside.

    Attributes
    ----------
    factor : ndarray of shape (p + 1,)
        What ``(w, b)`` is multiplied by to be in similar units.
    """

    def __init__(
        self, problem: TuningProblem, budget: Budget, models: BoxModels, inner: Vector
    ) -> None:
        self._problem, self._models, self._inner = problem, models, inner
        self._box, self._limit = models.box, models.training_limit
        balanced = equilibrate(problem)
        self.factor = np.append(balanced.factor, 1.0)
        self._watch = Watch()
        self._balanced, self._budget = balanced.problem, budget
        self._known: dict[bytes, tuple[float, float, list[Vector]]] = {}
        self.met: list[Vector] = []  # models near the ends of ranges that are not exact

    @cached_property
    def _program(self) -> Models:
        return self._programs(np.zeros((1, len(self.factor))))[1]

    def _programs(self, rows: Matrix) -> tuple[Models, Models]:
        """Return the set with rows of their own, and with none, each with room for many cuts."""
        spare = max(MORE_CUTS, self._problem.n_train // ROWS_PER_CUT)
        programs = near_optimal_programs(self._balanced, self._budget, rows, self._watch, spare)
        box, unit = self.factor[:-1] * self._box, self._problem.loss_unit(self._limit)
        for program in programs:
            program.move_to(box, self._limit, unit, self.factor * self._inner)
        return programs

    def confined(self, most: int) -> ConfinedScores:
        """Return what bounds scores where those of a few points, `most` or fewer, are known."""
        rows = np.zeros((most, self._problem.n_features + 1))
        return ConfinedScores(self._programs(rows)[0], self._watch, self.factor)

    @property
    def members(self) -> list[Vector]:
        """Models at the ends of the ranges found so far."""
        return [u for _, _, ends in self._known.values() for u in ends] + self.met

    def find(self, points: Matrix, deadline: Deadline) -> tuple[Vector, Vector, Mask]:
        """Return ranges of the scores of points, and which of them are exact.

        Past the deadline, those not found by then are coarse.
        """
        rows = margin_rows(points, np.ones(len(points)))
        low, high, exact = self.known(points)
        with stopping(self._watch, deadline) as stops:
            for batch in _batches(np.flatnonzero(~exact)):
                for k, found in zip(
                    batch, self._ranges(rows[batch], stops, deadline), strict=False
                ):
                    least, most, ends = found
                    low[k], high[k] = max(low[k], least), min(high[k], most)
                    exact[k] = len(ends) > 0
                    self._known[points[k].tobytes()] = float(low[k]), float(high[k]), ends
        return low, high, exact

    def find_loosely(self, points: Matrix, deadline: Deadline) -> None:
        """Bound the scores of points of which nothing is known, in a few rounds of cuts each."""
        places = {point.tobytes(): k for k, point in enumerate(points)}
        new = [k for point, k in places.items() if point not in self._known]
        rows = margin_rows(points, np.ones(len(points)))
        rounds, self._program.rounds = self._program.rounds, LOOSE_ROUNDS
        try:
            with stopping(self._watch, deadline) as stops:
                for batch in _batches(np.array(new, dtype=np.intp)):
                    bounds, members, _ = self._solved(rows[batch], stops)
                    self.met += list(members.reshape(-1, rows.shape[1]))
                    for k, (low, high) in zip(batch, bounds.tolist(), strict=False):
                        self._known[points[k].tobytes()] = low, high, []
        finally:
            self._program.rounds = rounds

    def of_form(self, form: Vector, deadline: Deadline) -> tuple[float, float]:
        """Return the range of a linear form of ``(w, b)``; coarse past the deadline."""
        low, high = coarse_ranges(self._problem, self._box, self._limit, form[None, :])
        if deadline.over:
            return float(low[0]), float(high[0])
        least, most = float(low[0]), float(high[0])
        with stopping(self._watch, deadline) as stops:
            for found in self._ranges(form[None, :], stops, deadline):
                least, most = max(least, found[0]), min(most, found[1])
        return least, most

    def ends(self, points: Matrix) -> list[Vector]:
        """Return the models at the ends of the ranges of points that are exact."""
        distinct = dict.fromkeys(point.tobytes() for point in points)
        return [u for point in distinct if point in self._known for u in self._known[point][2]]

    def known(self, points: Matrix) -> tuple[Vector, Vector, Mask]:
        """Return what is known of the ranges by now, coarse where nothing was found."""
        rows = margin_rows(points, np.ones(len(points)))
        low, high = coarse_ranges(self._problem, self._box, self._limit, rows)
        exact = np.zeros(len(points), dtype=np.bool_)
        for k, point in enumerate(points):
            known = self._known.get(point.tobytes())
            if known is not None:
                low[k], high[k] = max(low[k], known[0]), min(high[k], known[1])
                exact[k] = len(known[2]) > 0
        return low, high, exact

    def _ranges(
        self, rows: Matrix, stops: Callable[[], bool], deadline: Deadline
    ) -> Iterator[tuple[float, float, list[Vector]]]:
        """Yield ranges of linear forms and the models at both ends, if found; stopped, of fewer."""
        bounds, members, optimal = self._solved(rows, stops)
        reached = np.einsum("ij,ikj->ik", rows[: len(members)], members)
        attained = np.abs(reached - bounds) <= ATTAINED * (1.0 + np.abs(reached))
        at_ends = (optimal & attained).all(axis=1)
        for k, (low, high) in enumerate(bounds.tolist()):
            if at_ends[k] or stops():
                yield low, high, list(members[k]) if at_ends[k] else []
                continue
            least, most, by_highs = row_ranges(self._models, rows[k : k + 1], deadline)
            yield max(low, float(least[0])), min(high, float(most[0])), list(by_highs)

    def _solved(
        self, rows: Matrix, stops: Callable[[], bool]
    ) -> tuple[Matrix, NDArray[np.float64], NDArray[np.bool_]]:
        """Bound linear forms on both sides; return models near the ends, and which are optimal."""
        program = self._program
        bounds, ends, optimal = [], [], []
        for row in rows:
            if stops():
                break
            scaled, size = _scaled(row, self.factor)
            for sign in (1.0, -1.0):
                optimal.append(program.minimise(scaled, 0, sign) == OPTIMAL)
                bounds.append(sign * size * program.safe_bound())
                ends.append(program.share * (program.model() / self.factor - self._inner))
        members = self._inner + np.reshape(ends, (-1, rows.shape[1]))
        members[:, :-1] = np.clip(members[:, :-1], -self._box, self._box)
        members = all_pulled_back(self._problem, members, self._inner, self._limit)
        members = members.reshape(-1, 2, rows.shape[1])
        return np.reshape(bounds, (-1, 2)), members, np.reshape(optimal, (-1, 2)).astype(np.bool_)


class ConfinedScores:
    """Bounds on scores over the models that give some points scores in given ranges.

    Parameters
    ----------
    program : Models
        The set, with room for the points as rows.
    watch : Watch
    factor : ndarray of shape (p + 1,)
        What ``(w, b)`` is multiplied by in the program.
    """

    def __init__(self, program: Models, watch: Watch, factor: Vector) -> None:
        self._program, self._watch, self._factor = program, watch, factor
        program.rounds = LOOSE_ROUNDS

    def confine(self, points: Matrix, low: Vector, high: Vector) -> None:
        """Give the scores of points ranges, of the last if there are more than room is for."""
        last = slice(max(0, len(points) - self._program.n_val), None)
        rows = margin_rows(points[last], np.ones(len(points[last]))) / self._factor
        size = np.abs(rows).max(axis=1)
        self._program.replace_rows(np.ascontiguousarray(rows / size[:, None]))
        for k, ends in enumerate(np.transpose([low[last], high[last]]) / size[:, None]):
            slack = LP_FEASIBILITY * (1.0 + float(np.abs(ends).max()))  # models between two cells
            self._program.set_bounds(len(self._factor) + k, ends[0] - slack, ends[1] + slack)

    def bounds(self, points: Matrix, deadline: Deadline) -> Iterator[tuple[float, float]]:
        """Bound the scores of points, one after the other, in a few rounds of cuts each."""
        program = self._program
        with stopping(self._watch, deadline) as stops:
            for row in margin_rows(points, np.ones(len(points))):
                if stops():
                    return
                scaled, size = _scaled(row, self._factor)
                program.minimise(scaled, 0, 1.0)
                low = size * program.safe_bound()
                program.minimise(scaled, 0, -1.0)
                yield low, -size * program.safe_bound()


def _batches(places: NDArray[np.intp]) -> list[NDArray[np.intp]]:
    return [places[k : k + AT_ONCE] for k in range(0, len(places), AT_ONCE)]


def _scaled(form: Vector, factor: Vector) -> tuple[Matrix, float]:
    """Return a linear form in the units of a program, as a row of size 1, and its size."""
    scaled = form / factor
    size = float(np.abs(scaled).max())
    return np.ascontiguousarray(scaled[None, :] / size), size
