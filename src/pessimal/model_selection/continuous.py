"""The best penalty of a whole range by its worst case, with a proved gap: not of a grid.

The objective of training is linear in the penalty: ``R_t(u) = mean loss + t·penalty(u)``. Its least
value ``R_t*`` is then concave in t, and ``R_t(u) − (1 + ε)·R_t* − δ`` convex. So a model that is
near-optimal at both ends of a cell of penalties is near-optimal in all of it, and no penalty of
the cell has a worst case below that model's loss. Branch on cells; what was proved at the best
penalty so far prunes those that cannot beat it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from heapq import heappop, heappush
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone

from pessimal.errors import InvalidInputError
from pessimal.limits import AT_ONCE, Deadline, TimeLimit, is_number, read_node_limit
from pessimal.losses import SmoothLoss, find_loss
from pessimal.near_optimal.base import Extreme, near_optimal_set
from pessimal.near_optimal.smooth.objective import Function, mean_loss
from pessimal.near_optimal.smooth.smooth_set import SmoothSet
from pessimal.near_optimal.smooth.training import ROUNDING
from pessimal.problem import Vector

PENALTIES = ("alpha", "C")
"""Parameters in which, or in whose inverse, the objective of training is linear."""

CELLS = 500
"""Looked at, unless another limit is given."""

NEAR = 1e-6
"""Share of the way to a bad model up to which the last one that both ends afford is looked for."""


@dataclass(frozen=True, eq=False)
class BestPenalty:
    """The best value of a penalty-like parameter by its worst case, as far as is proved.

    Attributes
    ----------
    parameter : str
    value : float
        Of the parameter, where the proved worst case is least.
    worst : Extreme
        The worst case there.
    lower_bound : float
        No value of the range has a worst case below.
    cells : int
        Into which the range was divided.
    """

    parameter: str
    value: float
    worst: Extreme = field(repr=False)
    lower_bound: float
    cells: int

    @property
    def gap(self) -> float:
        """How far the worst case may be above the best of the range, relative to it."""
        return 1.0 - self.lower_bound / self.worst.upper_bound if self.worst.upper_bound else 0.0


def best_penalty(
    estimator: Any,
    X_train: ArrayLike,
    y_train: ArrayLike,
    X_val: ArrayLike,
    y_val: ArrayLike,
    *,
    low: float,
    high: float,
    parameter: str | None = None,
    epsilon: float = 0.05,
    delta: float = 0.0,
    loss: str | SmoothLoss | None = None,
    gap: float = 0.01,
    time_limit: TimeLimit = None,
    node_limit: int | None = None,
) -> BestPenalty:
    """Find the value of C or alpha with the least worst case, of all values of a range.

    Parameters
    ----------
    estimator : Ridge, RidgeClassifier, Lasso, ElasticNet, LogisticRegression or LinearSVC
    X_train, y_train, X_val, y_val : array-like
    low, high : float
        The range of the parameter, both above 0.
    parameter : {"C", "alpha"}, optional
        By default the one that the estimator has.
    epsilon, delta : float, default=0.05, 0.0
        How much worse than the best a model may train: relative and absolute.
    loss : str or SmoothLoss, optional
        Of the validation rows; by default that of training.
    gap : float, default=0.01
        Where to stop: the worst case of the value found is at most this share above that of any.
    time_limit : float, optional
        Seconds after which what is known is returned.
    node_limit : int, optional
        Cells to look at, 500 by default.

    Returns
    -------
    BestPenalty

    Examples
    --------
    >>> from sklearn.linear_model import Ridge
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((60, 3))
    >>> y = X @ [1.0, 0.5, 0.0] + rng.standard_normal(60)
    >>> best = best_penalty(Ridge(), X[:30], y[:30], X[30:], y[30:], low=1e-3, high=1e3)
    >>> best.gap <= 0.01
    True
    """
    deadline = Deadline.read(time_limit)
    name = _parameter(estimator, parameter)
    if not (is_number(low, Real) and is_number(high, Real) and 0 < low < high < np.inf):
        raise InvalidInputError(f"low and high are {low!r} and {high!r}; pass 0 < low < high")
    points = _Points(estimator, name, X_train, y_train, X_val, y_val, (epsilon, delta), loss)
    cells = read_node_limit(node_limit) or CELLS
    return _Search(points, gap, deadline).run(float(low), float(high), cells)


@dataclass(frozen=True, eq=False)
class _Point:
    """A value of the parameter, its near-optimal set and the worst case known there."""

    value: float
    members: SmoothSet
    mean: Function
    worst: Extreme

    def affords(self, u: Vector) -> bool:
        """Whether a model is near-optimal here, for certain."""
        return self.members.objective.value(u) <= self.members.inner_limit


@dataclass(frozen=True, eq=False)
class _Points:
    """What makes a point of a value."""

    estimator: Any
    name: str
    X_train: Any
    y_train: Any
    X_val: Any
    y_val: Any
    tolerances: tuple[float, float]
    loss: str | SmoothLoss | None

    def at(self, value: float) -> _Point:
        """Train at a value, and bound the worst case coarsely."""
        estimator = clone(self.estimator).set_params(**{self.name: value})
        epsilon, delta = self.tolerances
        members = near_optimal_set(
            estimator, self.X_train, self.y_train, epsilon=epsilon, delta=delta
        )
        if not isinstance(members, SmoothSet):
            raise InvalidInputError(
                f"estimator is a {type(estimator).__name__}, of which nothing is proved; pass "
                "Ridge, RidgeClassifier, LogisticRegression or LinearSVC"
            )
        judge = find_loss(self.loss or members.loss)
        if not isinstance(judge, SmoothLoss):
            raise InvalidInputError(f"loss is {type(judge).__name__}; pass a smooth loss")
        rows = members.problem.encoded(members.problem.points(self.X_val, self.y_val), judge)
        mean = mean_loss(rows, judge, members.u)
        return _Point(value, members, mean, self.worst(members, AT_ONCE))

    def worst(self, members: SmoothSet, time_limit: TimeLimit) -> Extreme:
        """Bound the worst case of a set."""
        return members.worst(self.X_val, self.y_val, self.loss, time_limit=time_limit)


class _Search:
    """Branch and bound on cells of values."""

    def __init__(self, points: _Points, gap: float, deadline: Deadline) -> None:
        self.points, self.gap, self.deadline = points, gap, deadline
        self.best: _Point | None = None
        self.cells: list[tuple[float, int, _Point, _Point]] = []
        self.count = 0

    def run(self, low: float, high: float, limit: int) -> BestPenalty:
        """Divide the cell of least lower bound until none can beat the best value by the gap."""
        ends = self._look(low), self._look(high)
        self._add(*ends)
        floor = np.inf
        while self.cells:
            bound, _, left, right = self.cells[0]
            if bound >= self._target() or self.deadline.over or self.count >= limit:
                break
            heappop(self.cells)
            middle = self._look(float(np.sqrt(left.value * right.value)))
            if not left.value < middle.value < right.value:
                floor = min(floor, bound)  # nothing is left to divide
                continue
            self._add(left, middle)
            self._add(middle, right)
        best = self._incumbent()
        bound = min([floor, *(cell[0] for cell in self.cells)])
        known = min(bound, best.worst.upper_bound)
        return BestPenalty(self.points.name, best.value, best.worst, known, self.count)

    def _look(self, value: float) -> _Point:
        """Look at a value; if it may be the best by much, prove a better bound of it."""
        point = self.points.at(value)
        if self.best is None or point.worst.value < self._target():
            sharp = self.points.worst(point.members, self.deadline.share(0.5))
            point = _Point(value, point.members, point.mean, sharp)
        if self.best is None or point.worst.upper_bound < self.best.worst.upper_bound:
            self.best = point
        return point

    def _incumbent(self) -> _Point:
        assert self.best is not None
        return self.best

    def _target(self) -> float:
        """Return the worst case that a value must be below to matter."""
        return (1.0 - self.gap) * self._incumbent().worst.upper_bound

    def _add(self, left: _Point, right: _Point) -> None:
        """Bound a cell from below by a model that both ends afford."""
        self.count += 1
        bound = max(0.0, self._witness(left, right))
        heappush(self.cells, (bound, self.count, left, right))

    @staticmethod
    def _witness(left: _Point, right: _Point) -> float:
        """Return the largest loss found of models that are near-optimal in a whole cell."""

        def afford(u: Vector) -> bool:
            return left.affords(u) and right.affords(u)

        start = 0.5 * (left.members.u + right.members.u)
        if not afford(start):
            return 0.0
        coordinates = left.members.problem.coordinates
        ends = [coordinates.variables(point.worst.model) for point in (left, right)]
        reached = [left.mean.value(start)]
        for end in (*ends, 0.5 * (ends[0] + ends[1])):
            near, far = (1.0, 1.0) if afford(end) else (0.0, 1.0)
            while far - near > NEAR:
                middle = 0.5 * (near + far)
                inside = afford(start + middle * (end - start))
                near, far = (middle, far) if inside else (near, middle)
            reached.append(left.mean.value(start + near * (end - start)))
        return max(reached) * (1.0 - ROUNDING)


def _parameter(estimator: Any, given: str | None) -> str:
    names = [name for name in PENALTIES if name in estimator.get_params(deep=False)]
    if given is None and len(names) == 1:
        return names[0]
    if given not in names:
        raise InvalidInputError(
            f"parameter is {given!r}; pass one that {type(estimator).__name__} has of "
            f"{', '.join(map(repr, PENALTIES))}"
        )
    return str(given)
