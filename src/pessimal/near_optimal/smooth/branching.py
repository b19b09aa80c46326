"""Branch and bound where the relaxation of a worst case leaves a gap.

The distribution of models that the relaxation ends with shows where it cheats: along the direction
in which the models differ most. A node is the part of the set between *slabs* ``low ≤ v·d ≤ high``;
its two children cut such a direction at the mean. In a child the margins of all rows range less,
and the slabs join the S-lemma as ``(v·d − low)(high − v·d) ≥ 0`` with multipliers of their own.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass, field, replace
from itertools import count

import numpy as np
from scipy.linalg import cho_factor, cho_solve, cholesky, eigh, solve_triangular
from scipy.optimize import minimize

from pessimal.limits import Deadline
from pessimal.near_optimal.smooth.quadratic import (
    Largest,
    Quadratic,
    certainly_positive,
    dual_value,
    lengths,
    whitened,
)
from pessimal.near_optimal.smooth.relaxation import Moments, Relaxation, sketch_tightened
from pessimal.near_optimal.smooth.rows import Block
from pessimal.problem import Matrix, Vector

ROUNDS = 20
"""Of the relaxation in a node."""

SAME = 0.9
"""Cosine from which on a direction is that of a slab there is."""

MIDDLE = 0.2
"""A cut keeps at least this share of a slab on both sides."""

NO_BOUND = 1e9
"""Stands for infinity where multipliers leave the S-lemma without a bound."""


@dataclass(frozen=True, eq=False)
class Ball:
    """An ellipsoid around the set in the coordinates in which it is a ball around its centre."""

    factor: Matrix
    centre: Vector
    radius: float

    @classmethod
    def of(cls, region: Quadratic) -> Ball:
        """Return the ball of ``region ≤ 0``."""
        factor = cholesky(region.curvature, lower=True)
        centre = -cho_solve((factor, True), region.slope)
        radius2 = -2.0 * region.value - float(region.slope @ centre)
        return cls(factor, centre, float(np.sqrt(max(0.0, radius2))) * (1.0 + 1e-9))


@dataclass(frozen=True, eq=False)
class Slab:
    """The models with ``low ≤ v·d ≤ high``, v a unit vector in the coordinates of a ball."""

    ball: Ball
    v: Vector
    low: float
    high: float

    @property
    def direction(self) -> Vector:
        """Return v in the coordinates of models."""
        return np.asarray(self.ball.factor @ self.v)

    def __call__(self, block: Block) -> Block:
        """Narrow the ranges of rows to what ball and slab allow."""
        q = whitened(block.Z, self.ball.factor)
        along, size = q @ self.v, lengths(q)
        across = np.sqrt(np.maximum(0.0, size * size - along * along))
        shift, r = block.Z @ self.ball.centre, self.ball.radius
        middle = float(self.direction @ self.ball.centre)
        low, high = max(self.low - middle, -r), min(self.high - middle, r)
        ends = []
        for side in (-1.0, 1.0):
            t = np.clip(side * r * along / np.maximum(size, np.finfo(float).tiny), low, high)
            ends.append(along * t + side * across * np.sqrt(np.maximum(0.0, r * r - t * t)))
        wide = 1e-9 * size * r
        return replace(
            block,
            low=np.maximum(block.low, shift + ends[0] - wide),
            high=np.minimum(block.high, shift + ends[1] + wide),
        )


@dataclass(frozen=True, eq=False)
class Node:
    """A part of the set, with the bound on the loss in it and the moments behind that."""

    slabs: tuple[Slab, ...]
    relaxation: Relaxation
    sketch: Relaxation | None
    bound: float
    moments: Moments


@dataclass(frozen=True, eq=False)
class Part(Relaxation):
    """The relaxation of a worst case over the part of the set between slabs."""

    slabs: tuple[Slab, ...] = ()
    multipliers: list[Vector] = field(default_factory=list)

    def at(self, moments: Moments) -> Largest:
        """Bound the mean loss with the parabolas that are best for some moments."""
        below, above = self.quadratics(moments)
        found, multipliers = _largest_between(above, below, self.slabs, self.multipliers[-1:])
        self.multipliers.append(multipliers)
        return found


def branch(
    relaxation: Relaxation,
    sketch: Relaxation | None,
    moments: Moments,
    bound: float,
    target: float,
    nodes: int,
    deadline: Deadline,
) -> tuple[float, int]:
    """Improve a bound until it meets a target; return it and the nodes that took.

    With a sketch of the relaxation the moments of every node are sought in that.
    """
    ball = Ball.of(relaxation.around)
    order, made = count(), 0
    heap = [(-bound, next(order), Node((), relaxation, sketch, bound, moments))]
    cost = 0.0  # of a node, so that none is begun that would not end in time
    while heap and -heap[0][0] > target and made < nodes and deadline.left > cost:
        node, left = heapq.heappop(heap)[2], deadline.left
        for slabs, changed in _halves(node, ball):
            made += 1
            child = _child(node, slabs, changed, target, deadline)
            if child is not None and child.bound > target:
                heapq.heappush(heap, (-child.bound, next(order), child))
        cost = max(0.0, left - deadline.left) if np.isfinite(left) else 0.0
    return (max(target, -heap[0][0]) if heap else target), made


def _halves(node: Node, ball: Ball) -> list[tuple[tuple[Slab, ...], Slab]]:
    """Cut a node where its models differ most."""
    mean = node.moments.mean
    v = eigh(ball.factor.T @ node.moments.covariance @ ball.factor)[1][:, -1]
    same = [k for k, slab in enumerate(node.slabs) if abs(slab.v @ v) > SAME]
    if same:
        old = node.slabs[same[0]]
    else:
        middle = float((ball.factor @ v) @ ball.centre)
        old = Slab(ball, v, middle - ball.radius, middle + ball.radius)
    others = tuple(slab for k, slab in enumerate(node.slabs) if k not in same[:1])
    width = old.high - old.low
    cut = float(np.clip(old.direction @ mean, old.low + MIDDLE * width, old.high - MIDDLE * width))
    halves = replace(old, high=cut), replace(old, low=cut)
    return [((*others, half), half) for half in halves]


def _child(
    node: Node, slabs: tuple[Slab, ...], changed: Slab, target: float, deadline: Deadline
) -> Node | None:
    """Bound one half of a node no worse than the whole; None if it is empty."""
    part, sketch = _part(node.relaxation, slabs, changed), None
    if part is None:
        return None
    if node.sketch is not None:
        sketch = _part(node.sketch, slabs, changed)
    mean = node.moments.mean
    # From the model of the slab that is nearest to the mean of the whole.
    at = float(changed.direction @ mean)
    missing = float(np.clip(at, changed.low, changed.high)) - at
    start = mean + missing * solve_triangular(changed.ball.factor, changed.v, lower=True, trans="T")
    found = sketch_tightened(part, sketch, start, target, deadline, ROUNDS)
    return Node(slabs, part, sketch, min(node.bound, found.bound), found.moments)


def _part(relaxation: Relaxation, slabs: tuple[Slab, ...], changed: Slab) -> Part | None:
    """Return the relaxation of a part of what is between slabs; None if it is empty."""
    narrow = relaxation.narrowed(changed)
    if narrow is None:
        return None
    return Part(narrow.below, narrow.above, narrow.limit, narrow.around, slabs)


def _largest_between(
    above: Quadratic, below: Quadratic, slabs: tuple[Slab, ...], before: list[Vector]
) -> tuple[Largest, Vector]:
    """Maximise a quadratic where another is at most 0, between slabs, by the S-lemma.

    Return also the logarithms of the multipliers; `before` may hold those to begin with.
    """
    V = np.array([slab.direction for slab in slabs])
    low, high = (np.array([getattr(slab, end) for slab in slabs]) for end in ("low", "high"))

    def terms(x: Vector) -> tuple[Matrix, Vector, float]:
        budget, walls = np.exp(x[0]), np.exp(x[1:])
        matrix = budget * below.curvature + 2.0 * (V.T * walls) @ V - above.curvature
        h = above.slope - budget * below.slope + V.T @ (walls * (low + high))
        return matrix, h, float(-budget * below.value - walls @ (low * high))

    def value(x: Vector) -> tuple[float, Vector]:
        matrix, h, constant = terms(x)
        try:
            factor = cho_factor(matrix, lower=True)
        except np.linalg.LinAlgError:
            return NO_BOUND, np.zeros_like(x)
        d = cho_solve(factor, h)
        z = V @ d
        to_budget = -below.value - below.slope @ d - 0.5 * d @ below.curvature @ d
        to_walls = -low * high + (low + high) * z - z * z
        return constant + 0.5 * float(h @ d), np.exp(x) * np.append(to_budget, to_walls)

    if not certainly_positive(below.curvature):
        start = np.zeros(1 + len(slabs))
        return Largest(np.zeros(len(above.slope)), np.inf, np.inf), start
    lead = float(eigh(above.curvature, below.curvature, eigvals_only=True)[-1])
    start = np.append(np.log(1.05 * max(lead, 1e-9)), np.log(1e-3 / np.square(high - low)))
    starts = [start, *(x for x in before if value(x)[0] < NO_BOUND)]
    start = min(starts, key=lambda x: value(x)[0])
    found = minimize(
        value,
        start,
        jac=True,
        method="L-BFGS-B",
        bounds=[(-25.0, 40.0)] * len(start),
        options={"maxiter": 40},
    )
    bounds = [above.value + dual_value(*terms(x)) for x in (start, found.x)]
    x = found.x if bounds[1] <= bounds[0] else start
    matrix, h, _ = terms(x)
    try:
        point = cho_solve(cho_factor(matrix, lower=True), h)
    except np.linalg.LinAlgError:
        point = np.zeros_like(h)
    return Largest(np.asarray(point), min(bounds), float(np.exp(x[0]))), x
