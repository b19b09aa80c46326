"""The near-optimal set of a box as a polytope in ``(w, b)``, and what its members attain, exactly.

Numbers are fractions throughout, so a tie is a tie and no tolerance is needed, whatever the units
and the weights. Meant for at most three features and seven points in each set.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from oracles.polytope import Point, Polytope, dot

ZERO, ONE = Fraction(0), Fraction(1)

CLEARLY = 1e-9
"""Losses that differ by more than this differ, whatever rounding did."""


class Hinges:
    """Labelled points with weights that sum to one; ``rows[i]·(w, b)`` is a margin."""

    def __init__(self, X: ArrayLike, y: ArrayLike, weight: ArrayLike | None = None) -> None:
        table, labels = np.asarray(X, dtype=float), np.asarray(y, dtype=float)
        raw = np.ones(len(labels)) if weight is None else np.asarray(weight, dtype=float)
        given = [Fraction(float(value)) for value in raw]
        self.weights = [value / sum(given) for value in given]
        self.labels = [Fraction(float(value)) for value in labels]
        self.rows: list[Point] = [
            (*(label * Fraction(float(value)) for value in x), -label)
            for x, label in zip(table, self.labels, strict=True)
        ]

    def flipped(self, mask: Sequence[bool]) -> Hinges:
        """Return the points of a mask with the opposite labels, weighted among themselves."""
        chosen = Hinges.__new__(Hinges)
        kept = [k for k, flip in enumerate(mask) if flip]
        total = sum(self.weights[k] for k in kept)
        chosen.weights = [self.weights[k] / total for k in kept]
        chosen.labels = [-self.labels[k] for k in kept]
        chosen.rows = [tuple(-value for value in self.rows[k]) for k in kept]
        return chosen

    def margins(self, u: Point) -> list[Fraction]:
        return [dot(row, u) for row in self.rows]

    def loss(self, u: Point) -> Fraction:
        """Mean hinge loss."""
        return dot(self.weights, (max(ZERO, 1 - margin) for margin in self.margins(u)))

    def below(self, u: Point, threshold: float) -> float:
        """Weight of the margins below a threshold."""
        limit = Fraction(threshold)
        margins = zip(self.weights, self.margins(u), strict=True)
        return float(sum(weight for weight, margin in margins if margin < limit))

    def cut(self, u: Point) -> tuple[Point, Fraction]:
        """``(a, c)`` with ``a·u + c`` the loss here, and a lower bound on it everywhere."""
        margins = zip(self.weights, self.rows, self.margins(u), strict=True)
        active = [(weight, row) for weight, row, margin in margins if margin < 1]
        slope = tuple(-sum((c * row[j] for c, row in active), ZERO) for j in range(len(u)))
        return slope, sum((c for c, _ in active), ZERO)


def exact(values: ArrayLike) -> Point:
    return tuple(Fraction(float(value)) for value in np.ravel(np.asarray(values, dtype=float)))


def minimise(among: Polytope, hinges: Hinges) -> Fraction:
    """Least mean hinge loss over a polytope: cuts on its epigraph until one vertex meets it."""
    epigraph = among.prism(ZERO, max(hinges.loss(u) for u in among.vertices))
    while True:
        *u, least = min(epigraph.vertices, key=lambda x: x[-1])
        if hinges.loss(tuple(u)) == least:
            return least
        slope, constant = hinges.cut(tuple(u))
        epigraph = epigraph.clip((*slope, -ONE), -constant)


def sublevel(among: Polytope, hinges: Hinges, limit: Fraction) -> Polytope:
    """Points of a polytope with a mean hinge loss of at most `limit`."""
    while among.vertices:
        loss, u = max((hinges.loss(u), u) for u in among.vertices)
        if loss <= limit:
            break
        slope, constant = hinges.cut(u)
        among = among.clip(slope, limit - constant)
    return among


def in_box(train: Hinges, box: Point, limit: Fraction = ONE) -> Polytope:
    """Models of a box, with every intercept that a training loss of `limit` allows."""
    rows = zip(train.weights, train.labels, train.rows, strict=True)
    heaviest = dict.fromkeys((-1, 1), ZERO)
    reach = ZERO
    for weight, label, row in rows:
        heaviest[int(label)] = max(heaviest[int(label)], weight)
        reach = max(reach, sum((abs(a) * h for a, h in zip(row, box, strict=False)), ZERO))
    bound = reach + 1 + max(limit, ONE) / min(heaviest.values())
    return Polytope.box([*((-h, h) for h in box), (-bound, bound)])


def least_loss(train: Hinges, box: Point) -> Fraction:
    return minimise(in_box(train, box), train)


class NearOptimalSet:
    """Models of a box with training loss at most ``(1 + relative)·least + absolute``."""

    def __init__(
        self, train: Hinges, box: Point, relative: float | Fraction, absolute: float | Fraction
    ) -> None:
        self.train, self.box = train, box
        self.least = least_loss(train, box)
        self.limit = (1 + Fraction(relative)) * self.least + Fraction(absolute)

    @cached_property
    def models(self) -> Polytope:
        return sublevel(in_box(self.train, self.box, self.limit), self.train, self.limit)

    def worst_hinge(self, val: Hinges) -> Fraction:
        """Largest loss: a convex function is largest at a vertex."""
        return max(val.loss(u) for u in self.models.vertices)

    def best_hinge(self, val: Hinges) -> Fraction:
        return minimise(self.models, val)

    def score_range(self, x: ArrayLike) -> tuple[float, float]:
        scores = [dot((*exact(x), -ONE), u) for u in self.models.vertices]
        return float(min(scores)), float(max(scores))

    def most_below(self, val: Hinges, threshold: float) -> Fraction:
        """Largest weight of points whose margins one model holds at or below a threshold."""
        return _most(self.models, val, Fraction(threshold), ONE)

    def most_above(self, val: Hinges, threshold: float) -> Fraction:
        """The same at or above it."""
        return _most(self.models, val, Fraction(threshold), -ONE)


def _most(models: Polytope, val: Hinges, threshold: Fraction, side: Fraction) -> Fraction:
    """Depth first, heaviest point first: it is on the side of the threshold, or not counted."""
    order = sorted(range(len(val.rows)), key=lambda k: -val.weights[k])
    rest = [sum((val.weights[k] for k in order[i:]), ZERO) for i in range(len(order) + 1)]
    best = ZERO

    def visit(models: Polytope, i: int, weight: Fraction) -> None:
        nonlocal best
        best = max(best, weight)
        if i == len(order) or weight + rest[i] <= best:
            return
        k = order[i]
        inside = models.clip(tuple(side * a for a in val.rows[k]), side * threshold)
        if inside.vertices:
            visit(inside, i + 1, weight + val.weights[k])
        visit(models, i + 1, weight)

    visit(models, 0, ZERO)
    return best


def follower_loss(
    train: Hinges, val: Hinges, flipped: Hinges, box: Point, limit: Fraction
) -> Fraction:
    """The paper's pessimistic objective in one box and for one training limit.

    Least validation loss among the models that fit the flipped labels best.
    """
    models = sublevel(in_box(train, box, limit), train, limit)
    return minimise(sublevel(models, flipped, minimise(models, flipped)), val)


def optimistic_value(train: Hinges, val: Hinges, lower: Point, upper: Point) -> Fraction:
    """``P_o``: least validation loss of a model that trains best in some box."""

    def trains_best(u: Point, box: Point) -> bool:
        return train.loss(u) == least_loss(train, box)

    points = set(_candidates((*train.rows, *val.rows), lower, upper))
    return _least_feasible(points, val, lower, lambda u: (0.0, float(train.loss(u))), trains_best)


def pessimistic_value(
    train: Hinges, val: Hinges, flipped: Hinges, lower: Point, upper: Point
) -> Fraction:
    """Value of the paper's pessimistic problem without a tolerance, ``ε = δ = 0``.

    A copy of the model may then set any limit from the least training loss on: a model is feasible
    when nothing in its box trains as well and fits the flipped labels better.
    """

    def fits_best(u: Point, box: Point) -> bool:
        limit = train.loss(u)
        models = sublevel(in_box(train, box, limit), train, limit)
        return flipped.loss(u) == minimise(models, flipped)

    def losses(u: Point) -> tuple[float, float]:
        return float(train.loss(u)), float(flipped.loss(u))

    points = set(_candidates((*train.rows, *val.rows, *flipped.rows), lower, upper))
    return _least_feasible(points, val, lower, losses, fits_best)


def _least_feasible(
    points: set[Point],
    val: Hinges,
    lower: Point,
    losses: Callable[[Point], tuple[float, float]],
    feasible: Callable[[Point, Point], bool],
) -> Fraction:
    """Least validation loss of a feasible point.

    A model that is optimal in a box is optimal in every smaller one that holds it: only the
    smallest box is tried. Most points need no exact test, for another one in the box has the
    second of the `losses` clearly less, and the first no larger.
    """
    order = sorted(points, key=val.loss)
    sizes = np.array([[abs(float(value)) for value in u[:-1]] for u in order])
    first, second = np.array([losses(u) for u in order]).T
    for i, u in enumerate(order):
        box = tuple(max(abs(w), low) for w, low in zip(u, lower, strict=False))
        inside = (sizes <= np.array([float(limit) for limit in box])).all(axis=1)
        better = inside & (first <= first[i]) & (second < second[i] - CLEARLY)
        if not better.any() and feasible(u, box):
            return val.loss(u)
    raise RuntimeError("no candidate is feasible: the arrangement is wrong")


def _candidates(rows: Sequence[Point], lower: Point, upper: Point) -> Iterator[Point]:
    """Vertices of the arrangement in whose faces feasibility is constant and ``L_V`` is linear."""
    p = len(upper)
    planes = {(row, ONE) for row in rows}
    for j, limits in enumerate(zip(lower, upper, strict=True)):
        unit = tuple(ONE if i == j else ZERO for i in range(p + 1))
        planes |= {(unit, side * limit) for limit in (ZERO, *limits) for side in (-1, 1)}
    for chosen in itertools.combinations(sorted(planes), p + 1):
        u = _intersection(chosen)
        if u is not None and all(abs(w) <= limit for w, limit in zip(u, upper, strict=False)):
            yield u


def _intersection(planes: Sequence[tuple[Point, Fraction]]) -> Point | None:
    """Point on ``p + 1`` planes by elimination; None if they have none or more than one."""
    rows = [[*normal, offset] for normal, offset in planes]
    for j in range(len(rows)):
        pivot = next((i for i in range(j, len(rows)) if rows[i][j] != 0), None)
        if pivot is None:
            return None
        rows[j], rows[pivot] = rows[pivot], rows[j]
        rows[j] = [value / rows[j][j] for value in rows[j]]
        for i, row in enumerate(rows):
            if i != j and row[j] != 0:
                rows[i] = [a - row[j] * c for a, c in zip(row, rows[j], strict=True)]
    return tuple(row[-1] for row in rows)
