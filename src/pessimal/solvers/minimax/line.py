"""One hyperparameter: the smallest worst case over an interval of h, to proved optimality.

Let ``W(h)`` be the worst case of the box of h. Fix a set S of validation points and let only their
hinges count, as linear functions: the largest such loss over Ψ(h) is ``φ_S(h) ≤ W(h)``, with
equality when S is the set of active hinges at a worst model of h. As the optimal value of a linear
program, it is concave in the right-hand sides, which are the box and the training limit
``(1 + ε)·L_T*(h) + δ``. The least training loss ``L_T*`` is convex and piecewise linear in h. Cut
the interval at its breakpoints, found exactly by intersecting tangents; on a piece both right-hand
sides are linear in h, so ``φ_S`` is concave there, and for any ends ``l < u`` of a part of it

    ``W(h) ≥ min(φ_S(l), φ_S(u))``      for all h in [l, u].

The sets found at both ends give two such functions. If neither proves the part no better than the
best h known, one falls below it at u, the other at l; where they cross is the next h to evaluate,
and if these two sets are all that matter, both halves are proved. So the search takes about one
evaluation for every change of the set of active hinges, and needs no small intervals. Of an h that
is no better than the best it is enough to find a model that shows it.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from operator import itemgetter

import numpy as np
from scipy.optimize import brentq

from pessimal.problem import Mask
from pessimal.solvers.minimax.oracle import Point, WorstCaseOracle
from pessimal.solvers.minimax.proof import Leaf, Plane
from pessimal.tolerances import CUTOFF, LP_FEASIBILITY

SMALLEST = 1e-9
"""Parts shorter than this are not cut any further."""


@dataclass(frozen=True, order=True)
class Part:
    """An interval, its ends evaluated, on which the hinges of `active` lose at least `bound`."""

    bound: float
    low: Point = field(compare=False)
    high: Point = field(compare=False)
    active: Mask = field(compare=False)


def minimise_on_line(oracle: WorstCaseOracle) -> list[Leaf]:
    """Evaluate h until the best one is proved; return the proof."""
    ends = _evaluated(oracle, breakpoints(oracle))
    parts = [_part(oracle, low, high) for low, high in pairwise(ends)]
    heapq.heapify(parts)
    too_short: list[Part] = []
    while parts and parts[0].bound < oracle.best_value - CUTOFF:
        oracle.prove(min(part.bound for part in (parts[0], *too_short)))
        if oracle.best is not None and parts[0].bound >= oracle.best.value - CUTOFF:
            oracle.finish()  # nothing is better than the best if its worst case is its value
        part = heapq.heappop(parts)
        if part.high.h[0] - part.low.h[0] < SMALLEST:
            too_short.append(part)
            continue
        middle = oracle.settled(np.array([_crossing(oracle, part)]), oracle.best_value)
        heapq.heappush(parts, _part(oracle, part.low, middle))
        heapq.heappush(parts, _part(oracle, middle, part.high))
    leaves = parts + too_short
    oracle.prove(min((part.bound for part in leaves), default=oracle.best_value))
    return [_leaf(oracle, part) for part in leaves]


def _evaluated(oracle: WorstCaseOracle, hs: list[float]) -> list[Point]:
    """Evaluate the most promising first: of the others it is enough to know that they are worse."""
    points = [np.array([h]) for h in hs]
    # From coarse to fine, by the bits of the number reversed: time may run out on the way.
    n_bits = len(points).bit_length()
    spread = sorted(range(len(points)), key=lambda k: f"{k:0{n_bits}b}"[::-1])
    lower_bounds = {k: oracle.local_lower_bound(points[k]) for k in spread}
    order = sorted(range(len(points)), key=lower_bounds.__getitem__)
    found = {k: oracle.settled(points[k], oracle.best_value) for k in order}
    return [found[k] for k in range(len(points))]


def _part(oracle: WorstCaseOracle, low: Point, high: Point) -> Part:
    """Bound the worst case between two points from below."""
    by_low = min(low.value, oracle.active_set_loss(high.h, high.limit, low.active))
    by_high = min(high.value, oracle.active_set_loss(low.h, low.limit, high.active))
    bound, active = max((by_low, low.active), (by_high, high.active), key=itemgetter(0))
    return Part(bound, low, high, active)


def _leaf(oracle: WorstCaseOracle, part: Part) -> Leaf:
    """Say what proves the bound of a part: its hinges, and the line of the training losses."""
    low, high = part.low.h, part.high.h
    losses = [oracle.tangent(h).value for h in (low, high)]
    slope = (losses[1] - losses[0]) / (high - low)
    return Leaf(low, high, (Plane(low, losses[0], slope),), (part.active,), np.ones((1, 1)))


def _crossing(oracle: WorstCaseOracle, part: Part) -> float:
    """Where the losses on the hinges of either end are equal."""
    low, high = part.low, part.high

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
    low, high = left.at, right.at
    straight = (
        right.value - left(high) <= LP_FEASIBILITY or left.value - right(low) <= LP_FEASIBILITY
    )
    if straight or high[0] - low[0] < SMALLEST:
        return
    h = low + (right.value - left.value - right.slope * (high - low)) / (left.slope - right.slope)
    middle = oracle.tangent(np.clip(h, low, high))
    bend = float(middle.at[0])
    if middle.value - left(middle.at) <= LP_FEASIBILITY:
        yield bend
        return
    yield from _bends(oracle, left, middle)
    yield bend
    yield from _bends(oracle, middle, right)
