"""The extremes of a near-optimal set on the validation data, as far as they are known.

Known are members that were found, and bounds that no member passes. The first of both cost nothing:
the reference model, and what the set can say of every score at once. Every method improves one or
the other and leaves all numbers valid, so an audit may end between any two steps.

A model that one question finds is judged by all measures. An error is ``y·score < 0``; a score of
0, but for rounding, is none.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pessimal.auditing.coefficients import CoefficientRange, coefficient_range
from pessimal.limits import Deadline
from pessimal.losses import Loss, ZeroOne
from pessimal.near_optimal.base import Extreme, Linear, Model, NearOptimalSet, ScoreRange
from pessimal.problem import Mask, Vector
from pessimal.tolerances import STRICT

ERROR = ZeroOne()

REACHED = 1e-5
"""A score this close to its bound has reached it: a budget of 0 leaves the root of rounding."""

CALLS = 100
"""For the ranges of all points: Ctrl-C and the clock are looked at between two of them."""


@dataclass
class End:
    """One end of a range: the furthest model found, and how far any could be."""

    side: float  # 1 where the largest is sought, −1 where the least is
    value: float
    bound: float
    model: Model

    def meet(self, value: float, model: Model) -> None:
        """Keep a model if it is the furthest."""
        if self.side * value > self.side * self.value:
            self.value, self.model = value, model

    def limit(self, bound: float) -> None:
        """Take note that no model is further than `bound`."""
        self.bound = self.side * min(self.side * self.bound, self.side * bound)

    def known(self) -> Extreme:
        """Return what is known; rounding may put a bound short of a model that was found."""
        bound = self.side * max(self.side * self.bound, self.side * self.value)
        return Extreme(self.value, min(self.value, bound), max(self.value, bound), self.model)


@dataclass(frozen=True, eq=False)
class Judged:
    """What a model attains: its scores, loss, error, and share of labels unlike the reference's.

    Errors are also counted in each of two classes; NaN in a class without points, or of others.
    """

    scores: Vector
    loss: float
    error: float
    changed: float
    error_in_class: tuple[float, float]


class Extremes:
    """What is known of a near-optimal set, and of the ends of its losses at other ε.

    Parameters
    ----------
    members : NearOptimalSet
    X, y : ndarray of shape (n, p), ndarray of shape (n,)
        The validation data, with labels −1 and +1.
    grid : list of float
        The ε of the curves, increasing; that of `members` is one of them.
    reference : Model
        A member, whatever the ε.
    deadline : Deadline
        Of first bounds; there are some whatever the time.

    Attributes
    ----------
    low, high : ndarray of shape (n,)
        No member gives a validation point a score beyond.
    found_low, found_high : ndarray of shape (n,)
        Least and largest score among the members found.
    said : ndarray of bool of shape (n, n_classes) or None
        Classes that members found give to points; None where the signs of scores say it.
    coefficients : CoefficientRange or None
        Of linear models, once asked for.
    warned : tuple of str
        What the set warned of.
    asked : ndarray of bool of shape (n,)
        Points whose range the set has been asked for, and answered in time.
    solved : ndarray of bool of shape (n,)
        Points whose range is known exactly, which not every kind of set can say.
    """

    said: Any = None
    coefficients: CoefficientRange | None = None
    warned: tuple[str, ...] = ()

    def __init__(
        self,
        members: NearOptimalSet,
        X: Any,
        y: Any,
        grid: list[float],
        reference: Model,
        deadline: Deadline,
    ) -> None:
        self.X, self.y = X, y
        self.weight = np.full(len(y), 1.0 / len(y))
        budget = members.budget
        self.sets = [members.with_budget(replace(budget, epsilon=epsilon)) for epsilon in grid]
        self.here = grid.index(budget.epsilon)
        self.reference = reference
        self.asked = np.zeros(len(y), dtype=np.bool_)
        self.solved = np.zeros(len(y), dtype=np.bool_)
        self.low, self.high = np.full(len(y), -np.inf), np.full(len(y), np.inf)
        self._begin()
        self._meet(0, members.trained.model)
        self._bound_at_once(deadline)

    def _begin(self) -> None:
        """Know of the reference alone."""

        def end(side: float) -> End:
            return End(side, -side * math.inf, side * math.inf, self.reference)

        self.best_loss = [end(-1.0) for _ in self.sets]
        self.worst_loss = [end(1.0) for _ in self.sets]
        self.worst_error = [end(1.0) for _ in self.sets]
        self.best_error, self.discrepancy = end(-1.0), end(1.0)
        self.worst_in_class = [end(1.0), end(1.0)]
        scores = self.scores(self.reference)
        self.found_low, self.found_high = scores.copy(), scores.copy()
        self.predicted = self._predicted(self.reference)
        self._meet(0, self.reference)

    def _bound_at_once(self, deadline: Deadline) -> None:
        """Bound everything: by the set asked for, and by the largest, which holds the others."""
        for k in self._first:
            coarse = self._bound_coarsely(k, deadline)
            if k == self.here:
                self.low, self.high = coarse.low, coarse.high

    @property
    def _first(self) -> list[int]:
        return sorted({self.here, len(self.sets) - 1}, key=lambda k: k != self.here)

    def _bound_coarsely(self, k: int, deadline: Deadline) -> ScoreRange:
        """Bound the losses at an ε of the grid without solving for anything."""
        coarse = self.sets[k].coarse_score_range(self.X, time_limit=deadline)
        self._bound_losses(k, coarse.low, coarse.high)
        return coarse

    def scores(self, model: Model) -> Vector:
        """Return the score of each validation point."""
        return model.decision_function(self.X)

    def _predicted(self, model: Model) -> Vector:
        """Return what a model says, as labels."""
        return np.where(self.scores(model) > 0.0, 1.0, -1.0)

    def judge(self, model: Model) -> Judged:
        """Return what a model attains."""
        scores = self.scores(model)
        return Judged(
            scores,
            float(self.weight @ self.members.loss.of_scores(self.y, scores)),
            ERROR.mean(self.y * scores, self.weight),
            ERROR.mean(self.predicted * scores, self.weight),
            self._in_class(ERROR.value(self.y * scores)),
        )

    def _in_class(self, errors: Any) -> tuple[float, float]:
        """Return the share of errors in each of two classes."""
        if len(self.labels) != 2:
            return np.nan, np.nan
        negative, positive = (self.y == label for label in self.labels)
        return tuple(  # type: ignore[return-value]
            float(errors[rows].mean()) if rows.any() else np.nan for rows in (negative, positive)
        )

    @property
    def labels(self) -> tuple[Any, ...]:
        """The classes in `y`, the positive one last; none for a regression."""
        return (-1.0, 1.0) if self.members.classes else ()

    @property
    def members(self) -> NearOptimalSet:
        """The set at the ε that was asked for."""
        return self.sets[self.here]

    def find_best_loss(self, k: int, deadline: Deadline) -> None:
        """Solve for the least validation loss at an ε of the grid, its losses being bounded."""
        if k not in self._first:
            self._bound_coarsely(k, deadline)
        best = self.sets[k].best(self.X, self.y, time_limit=deadline)
        self._meet(k, best.model)
        for end in self.best_loss[: k + 1]:
            end.limit(best.lower_bound)

    def find_rough_ranges(self, deadline: Deadline) -> None:
        """Bound all scores quickly, which decides of most points whether they are ambiguous."""
        found = self.members.rough_score_range(self.X, time_limit=deadline)
        self.low, self.high = np.maximum(self.low, found.low), np.minimum(self.high, found.high)
        for model in found.models:  # two per point, and each is judged on all points
            if deadline.over:
                return
            self._meet(self.here, model)

    def prepare_searches(self, deadline: Deadline) -> None:
        """Do what the searches for worst and best members share."""
        self.members.prepare(self.X, self.y, time_limit=deadline)

    def find_ranges(
        self, running: Callable[[str], bool], deadline: Deadline, *, all_points: bool
    ) -> None:
        """Find score ranges while there is time: first those that decide who is ambiguous.

        Parameters
        ----------
        running : callable
            Is told how far this is before each hundredth of the points, and says whether to go on.
        deadline : Deadline
            When to give up; points not asked for by then may be asked for again.
        all_points : bool
            Whether to go on once it is decided who is ambiguous.
        """
        n = len(self.y)
        batch = math.ceil(n / CALLS)
        while not self.asked.all() and running(f"score ranges, {self.asked.sum()} of {n} rows"):
            first = self.undecided & ~self.asked
            if not (all_points or first.any()):
                return
            distinct = np.unique(self._like[first if first.any() else ~self.asked])[:batch]
            found = self.members.score_range(self.X[distinct], time_limit=deadline)
            rows = np.flatnonzero(np.isin(self._like, distinct))
            place = np.searchsorted(distinct, self._like[rows])
            self.low[rows] = np.maximum(self.low[rows], found.low[place])
            self.high[rows] = np.minimum(self.high[rows], found.high[place])
            for model in found.models:
                self._meet(self.here, model)
            self.solved[rows] = np.asarray(found.exact)[place]
            self.asked[rows] = self.solved[rows]
            if self.out_of_time(deadline):
                return
            self.asked[rows] = True

    @cached_property
    def _like(self) -> NDArray[np.intp]:
        """Of each point the first with the same features: both have the same range."""
        first: dict[bytes, int] = {}
        return np.array([first.setdefault(row.tobytes(), k) for k, row in enumerate(self.X)])

    @property
    def reached(self) -> Mask:
        """Points whose bounds are scores of members that were found, up to rounding."""
        return self.solved | reached(self.low, self.found_low) & reached(self.high, self.found_high)

    @property
    def undecided(self) -> Mask:
        """Points whose class may or may not be the same for all members."""
        possible = (self.low < -STRICT) & (self.high > STRICT)
        return possible & ~((self.found_low < -STRICT) & (self.found_high > STRICT))

    def find_worst_loss(self, k: int, deadline: Deadline) -> None:
        """Search for the largest validation loss at an ε of the grid."""
        bound = self._worst(k, self.y, self.members.loss, deadline)
        for end in self.worst_loss[: k + 1]:
            end.limit(bound)
        # An error costs at least what a score of 0 does.
        (at_zero,) = self.members.loss.of_scores(np.ones(1), np.zeros(1))
        for end in self.worst_error[: k + 1]:
            end.limit(self._whole_points(bound / at_zero))

    def find_worst_error(self, k: int, deadline: Deadline) -> None:
        """Search for the largest error at an ε of the grid."""
        bound = self._worst(k, self.y, ERROR, deadline)
        for end in self.worst_error[: k + 1]:
            end.limit(self._whole_points(bound))

    def find_best_error(self, deadline: Deadline) -> None:
        """Search for the least error."""
        best = self.members.best(self.X, self.y, ERROR, time_limit=deadline)
        self._meet(self.here, best.model)
        n = len(self.y)
        self.best_error.limit(math.ceil(best.lower_bound * n - STRICT) / n)

    def find_discrepancy(self, deadline: Deadline) -> None:
        """Search for the largest error when the reference's predictions are the labels."""
        bound = self._worst(self.here, self.predicted, ERROR, deadline)
        self.discrepancy.limit(self._whole_points(bound))

    def find_coefficients(self, deadline: Deadline) -> None:
        """Bound the coefficients, of linear models."""
        if isinstance(self.reference, Linear):
            known = [self.reference, self.members.trained.model]
            self.coefficients = coefficient_range(self.members, self.X, known, deadline)

    def find_worst_in_class(self, place: int, deadline: Deadline) -> None:
        """Search for the largest share of errors among the points of one of two classes."""
        rows = self.y == self.labels[place] if self.labels else np.zeros(0, np.bool_)
        n = int(rows.sum())
        if not n:
            return
        worst = self.members.worst(self.X[rows], self.y[rows], ERROR, time_limit=deadline)
        if worst.lower_bound == worst.value:
            self._meet(self.here, worst.model)
        self.worst_in_class[place].limit(math.floor(worst.upper_bound * n + STRICT) / n)

    def _worst(self, k: int, labels: Vector, loss: Loss, deadline: Deadline) -> float:
        """Bound the largest loss; judge its model, if it is certainly a member."""
        worst = self.sets[k].worst(self.X, labels, loss, time_limit=deadline)
        if worst.lower_bound == worst.value:
            self._meet(k, worst.model)
        return worst.upper_bound

    def _whole_points(self, bound: float) -> float:
        n = len(self.y)
        return math.floor(bound * n + STRICT) / n

    def _meet(self, k: int, model: Model) -> None:
        """Judge a member of the k-th set, which is a member of the larger ones."""
        judged = self.judge(model)
        for later in (*self.best_loss[k:], *self.worst_loss[k:]):
            later.meet(judged.loss, model)
        for later in self.worst_error[k:]:
            later.meet(judged.error, model)
        if k <= self.here:
            self.best_error.meet(judged.error, model)
            self.discrepancy.meet(judged.changed, model)
            for end, error in zip(self.worst_in_class, judged.error_in_class, strict=True):
                end.meet(error, model)
            self.found_low = np.minimum(self.found_low, judged.scores)
            self.found_high = np.maximum(self.found_high, judged.scores)

    def out_of_time(self, deadline: Deadline) -> bool:
        """Whether what has a deadline was cut short by it."""
        return not deadline.affords(self.members.step_seconds)

    def finish(self) -> None:
        """Bound everything as if every point could have its worst, or its best, score at once."""
        self._bound_losses(self.here, self.low, self.high)
        least_error, _ = self._means(ERROR, self.y, self.low, self.high)
        self.best_error.limit(least_error)
        _, most_changed = self._means(ERROR, self.predicted, self.low, self.high)
        self.discrepancy.limit(most_changed)
        _, most = ERROR.over_scores(self.y, self.low, self.high)
        for end, errors in zip(self.worst_in_class, self._in_class(most), strict=True):
            end.limit(errors)

    def _bound_losses(self, k: int, low: Vector, high: Vector) -> None:
        least, largest = self._means(self.members.loss, self.y, low, high)
        _, most_errors = self._means(ERROR, self.y, low, high)
        for j in range(k + 1):
            self.best_loss[j].limit(least)
            self.worst_loss[j].limit(largest)
            self.worst_error[j].limit(most_errors)

    def _means(self, loss: Loss, labels: Vector, low: Vector, high: Vector) -> tuple[float, float]:
        """Return the mean losses of the best and of the worst score of each point."""
        least, largest = loss.over_scores(labels, low, high)
        return float(self.weight @ least), float(self.weight @ largest)


def reached(bounds: Vector, found: Vector) -> Mask:
    """Return which bounds on scores have been found, up to rounding."""
    return np.isclose(bounds, found, rtol=REACHED, atol=REACHED)
