"""One hyperparameter: the smallest worst case over an interval of h, to proved optimality.

Let ``W(h)`` be the worst case of the box of h. Fix a set S of validation points and let only their
hinges count, as linear functions: the largest such loss over Ψ(h) is ``φ_S(h) ≤ W(h)``, with
equality when S is the set of active hinges at a worst model of h. As the optimal value of a linear
program, it is concave in the right-hand sides, which are the box and the training limit
``(1 + ε)·L_T*(h) + δ``, and grows with both. The least training loss ``L_T*`` is convex and
piecewise linear in h. With a tangent P of it in its place the limit is linear in h and no larger,
so that ``φ_SP`` is concave, and for any ends ``l < u`` of a part

    ``W(h) ≥ min(φ_SP(l), φ_SP(u))``      for all h in [l, u].

The sets found at both ends and the tangents there give four such functions. If none proves the part
no better than the best h known, the part is cut, the least bound first: where the tangents cross,
which is where ``L_T*`` bends if it bends once; if it does not bend, where the losses of the two
sets cross, and if these are all that matter, both halves are proved.

A bad model of h, found by ascent, costs a few linear programs, a worst case with a hundred points
of V takes seconds. So the ends have bad models to begin with, until the least bound is the loss of
one of them: no other h can be better than this one if no model of it is worse. Only there is a
worst case needed. It is the optimum, or there is a worse model with another set of hinges, and the
search goes on. So the whole interval has a bound from the first ascent on, and no h far from the
optimum is ever branched on.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import pairwise
from operator import attrgetter, itemgetter

import numpy as np
from scipy.optimize import brentq

from pessimal.problem import Mask, Vector
from pessimal.solvers.minimax.oracle import Point, WorstCaseOracle
from pessimal.solvers.minimax.proof import Leaf, Plane
from pessimal.tolerances import CUTOFF, LP_FEASIBILITY, OPTIMAL_GAP

EVALUATION_SHARE = 0.7
"""Of the time left, for the worst case of the most promising h: without it there is no proof."""

MOMENTS_SHARE = 0.9
"""Of the time left then, for a bound by moments on one that is not known."""

SMALLEST = 1e-9
"""Parts shorter than this are not cut any further."""


@dataclass(frozen=True, eq=False)
class End:
    """An h with a bad model of it, and the tangent of the least training loss there."""

    point: Point
    tangent: Plane

    @property
    def h(self) -> Vector:
        """Where it is."""
        return self.point.h


@dataclass(frozen=True, order=True)
class Part:
    """An interval where the hinges of `active` lose at least `bound` within the limit of `plane`.

    Of parts with the same bound the widest is the first.
    """

    bound: float
    narrowness: float
    low: End = field(compare=False)
    high: End = field(compare=False)
    active: Mask = field(compare=False)
    plane: Plane = field(compare=False)

    @property
    def promising(self) -> End:
        """The end whose model loses less."""
        return min(self.low, self.high, key=lambda end: end.point.value)

    @property
    def resolved(self) -> bool:
        """Whether nothing between the ends can be better than the promising one."""
        return self.bound >= self.promising.point.value - CUTOFF

    @property
    def too_short(self) -> bool:
        """Whether the part is not cut any further."""
        return bool(self.high.h[0] - self.low.h[0] < SMALLEST)


def bound_on_line(oracle: WorstCaseOracle) -> list[Part]:
    """Bound the least worst case from below in good time; return the parts, as a heap."""
    parts = _first_parts(oracle)
    while parts and not _closed(oracle, parts[0]):
        oracle.prove(parts[0].bound)
        if parts[0].resolved or parts[0].too_short:
            break
        _halve(oracle, parts)
    return parts


def minimise_on_line(oracle: WorstCaseOracle, parts: list[Part] | None = None) -> list[Leaf]:
    """Cut parts and evaluate h until the best one is proved; return the proof."""
    if parts is None:
        parts = bound_on_line(oracle)
    if not parts:  # nothing to choose
        oracle.settled(oracle.groups.lower)
    evaluated: dict[float, End] = {}
    too_short: list[Part] = []
    while parts and not _closed(oracle, parts[0]):
        oracle.prove(min(part.bound for part in (parts[0], *too_short)))
        part = parts[0]
        low, high = (evaluated.get(float(end.h[0]), end) for end in (part.low, part.high))
        if low is not part.low or high is not part.high:
            heapq.heapreplace(parts, _part(oracle, low, high))
        elif part.resolved and not part.promising.point.settles(oracle.best_value):
            end = part.promising
            evaluated[float(end.h[0])] = _evaluated(oracle, end)
        elif part.too_short:
            too_short.append(heapq.heappop(parts))
        else:
            _halve(oracle, parts)
    leaves = parts + too_short
    oracle.prove(min((part.bound for part in leaves), default=oracle.best_value))
    return [
        Leaf(part.low.h, part.high.h, (part.plane,), (part.active,), np.ones((1, 1)))
        for part in leaves
    ]


def _closed(oracle: WorstCaseOracle, part: Part) -> bool:
    """Whether no h of a part is better than the best one."""
    return part.bound >= oracle.best_value - CUTOFF


def _first_parts(oracle: WorstCaseOracle) -> list[Part]:
    """Return the parts on which the box is linear in h, as a heap."""
    groups = oracle.groups
    kinks = np.unique([groups.lower[0], groups.upper[0], *groups.feature_upper])
    ends = [_end(oracle, np.array([h])) for h in kinks]
    parts = [_part(oracle, low, high) for low, high in pairwise(ends)]
    heapq.heapify(parts)
    return parts


def _halve(oracle: WorstCaseOracle, parts: list[Part]) -> None:
    """Cut the part of least bound in two."""
    part = parts[0]
    middle = _end(oracle, np.array([_cut(oracle, part)]))
    heapq.heappop(parts)
    heapq.heappush(parts, _part(oracle, part.low, middle))
    heapq.heappush(parts, _part(oracle, middle, part.high))


def _end(oracle: WorstCaseOracle, h: Vector) -> End:
    return End(oracle.climbed(h), oracle.tangent(h))


def _evaluated(oracle: WorstCaseOracle, end: End) -> End:
    """Find a worse model of an end, or that there is none; if time is short, what is known by then.

    The ends of ranges, from which ascent starts again, come first: they cost no branching. A worse
    model has another set of hinges, which may move the most promising h elsewhere, so whether it is
    the worst can wait.
    """
    point = end.point
    found = oracle.quick(end.h, 0, EVALUATION_SHARE)
    if found.value <= point.value + CUTOFF:
        oracle.report()
        enough = min(oracle.best_value, point.value + OPTIMAL_GAP)
        found = oracle.settled(end.h, enough, EVALUATION_SHARE)
        if not found.settles(enough):
            found = oracle.bounded_by_moments(found, MOMENTS_SHARE)
    worse = max(point, found, key=attrgetter("value"))
    return End(replace(worse, bound=found.bound), end.tangent)


def _part(oracle: WorstCaseOracle, low: End, high: End) -> Part:
    """Bound the worst case between two points from below."""

    def loss(at: End, active: Mask, plane: Plane) -> float:
        limit = oracle.problem.training_limit(oracle.budget, plane(at.h))
        return oracle.active_set_loss(at.h, limit, active)

    bounds = [
        (min(loss(end, active, plane) for end in (low, high)), active, plane)
        for active in (low.point.active, high.point.active)
        for plane in (low.tangent, high.tangent)
    ]
    bound, active, plane = max(bounds, key=itemgetter(0))
    return Part(bound, float(low.h[0] - high.h[0]), low, high, active, plane)


def _cut(oracle: WorstCaseOracle, part: Part) -> float:
    """Where to cut a part: where the tangents cross, or else the losses of the two sets."""
    left, right = part.low.tangent, part.high.tangent
    bend = crossing(left, right)
    return _crossing(oracle, part) if bend is None else bend


def _crossing(oracle: WorstCaseOracle, part: Part) -> float:
    """Where the losses on the hinges of either end are equal."""
    low, high = part.low.point, part.high.point

    def difference(h: float) -> float:
        at = np.array([h])
        limit = oracle.limit(at)
        return oracle.active_set_loss(at, limit, low.active) - oracle.active_set_loss(
            at, limit, high.active
        )

    left, right = float(low.h[0]), float(high.h[0])
    middle = 0.5 * (left + right)
    at_ends = difference(left), difference(right)
    if not (np.isfinite(at_ends).all() and at_ends[0] > 0.0 > at_ends[1]):
        return middle
    try:
        root = float(brentq(difference, left, right, xtol=1e-12, rtol=1e-15))
    except ValueError:  # asked again, the ends can differ by rounding
        return middle
    return root if left + SMALLEST / 4 < root < right - SMALLEST / 4 else middle


def breakpoints(oracle: WorstCaseOracle) -> list[float]:
    """List the ends of the pieces on which box and least training loss are linear in h."""
    groups = oracle.groups
    low, high = groups.lower[0], groups.upper[0]
    ends = [float(h) for h in np.unique([low, high, *groups.feature_upper])]
    found = [ends[0]]
    for left, right in pairwise(ends):
        tangents = (oracle.tangent(np.array([h])) for h in (left, right))
        found += [*_bends(oracle, *tangents), right]
    return found


def _bends(oracle: WorstCaseOracle, left: Plane, right: Plane) -> Iterator[float]:
    """Yield the points between two tangents at which the least training loss bends, in order."""
    bend = crossing(left, right)
    if bend is None:
        return
    middle = oracle.tangent(np.array([bend]))
    if middle.value - left(middle.at) <= LP_FEASIBILITY:
        yield bend
        return
    yield from _bends(oracle, left, middle)
    yield bend
    yield from _bends(oracle, middle, right)


def crossing(left: Plane, right: Plane) -> float | None:
    """Where two tangents cross; None if the function is straight between them."""
    low, high = left.at, right.at
    straight = (
        right.value - left(high) <= LP_FEASIBILITY or left.value - right(low) <= LP_FEASIBILITY
    )
    if straight or high[0] - low[0] < SMALLEST:
        return None
    h = low + (right.value - left.value - right.slope * (high - low)) / (left.slope - right.slope)
    return float(np.clip(h, low, high)[0])
