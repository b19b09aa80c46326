"""An upper bound on the mean loss over a smooth near-optimal set, by moments of margins.

Over the range of a row, a parabola below φ and one above it may touch φ anywhere. With one of each
for every row, training keeps all members in an ellipsoid and judging stays below a quadratic, whose
largest value there the S-lemma gives (`quadratic.largest`): a valid bound for every choice of the
points of contact. The best choice is a convex program. It is what remains if a member is replaced
by a distribution of models of which each row sees only mean and variance of its margin: given
those, the row takes the parabola that is best for them; given the parabolas, `largest` finds the
model they leave too much to, and it joins the distribution. These are the steps of Frank and Wolfe
(1956), and each of them ends with a bound.

At a distribution of no variance, the worst member itself, this is the certificate that it is the
worst: both parabolas tangent there.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property, partial, reduce

import numpy as np
from scipy.linalg import eigh

from pessimal.limits import LATE_SECONDS, Deadline
from pessimal.losses import SmoothLoss
from pessimal.near_optimal.smooth.quadratic import Largest, Quadratic, certainly_positive, largest
from pessimal.near_optimal.smooth.rows import Block, HeldRows, Rows
from pessimal.problem import Matrix, Vector

ROUNDS = 100
"""Models that join the distribution at most."""

FAR = 1e100
"""A model further out than this is looked at here: squares would overflow."""

NEXT_TO_NONE = 1e-4
"""Share of the largest variance; a direction of less is left out, for any moments will do."""

SKETCH = 1000
"""Rows of a sketch."""

CERTIFIED = 1e-2
"""Share of a bound by which a single model may be behind in a sketch and still be the worst."""

LEAST_MODELS = 12
"""Models that join the distribution of a sketch, a moment beyond the time if need be."""

IDLE_ROUNDS = 15
"""Rounds without progress after which no more is expected."""

PROGRESS = 1e-3
"""Share of the gap that counts as progress."""

TINY = float(np.finfo(float).tiny)


@dataclass(frozen=True, eq=False)
class Moments:
    """Mean and covariance of a distribution of models, relative to the trained one."""

    mean: Vector
    covariance: Matrix

    @classmethod
    def at(cls, d: Vector) -> Moments:
        """Return those of a single model."""
        return cls(d, np.zeros((len(d), len(d))))

    @cached_property
    def root(self) -> Matrix:
        """F of the covariance ``FFᵀ``, but for directions in which there is next to none."""
        variance, directions = eigh(self.covariance)
        large = variance > NEXT_TO_NONE * variance[-1]
        return np.asarray(directions[:, large] * np.sqrt(variance[large]))

    def joined(self, d: Vector, share: float) -> Moments:
        """Return those with a share of another model."""
        step = d - self.mean
        apart = (1.0 - share) * (self.covariance + share * np.outer(step, step))
        return Moments(self.mean + share * step, apart)


@dataclass(frozen=True, eq=False)
class Envelope:
    """A quadratic below or above a function of rows, the best of its kind for given moments.

    Attributes
    ----------
    terms : tuple of (Rows, callable)
        Rows with their ranges, and what makes a quadratic of moments and a block of them.
    fixed : Quadratic, optional
        What is added, around the trained model.
    """

    terms: tuple[tuple[Rows, Callable[[Moments, Block], Quadratic]], ...]
    fixed: Quadratic | None = None

    def at(self, moments: Moments) -> Quadratic:
        """Return the quadratic, around the trained model."""
        parts = [rows.total(partial(part, moments)) for rows, part in self.terms]
        return reduce(operator.add, parts if self.fixed is None else [*parts, self.fixed])

    def map(self, change: Callable[[Block], Block]) -> Envelope:
        """Return the same with every block changed."""
        return replace(self, terms=tuple((rows.map(change), part) for rows, part in self.terms))

    def sketched(self, tangent: Quadratic | None) -> Envelope:
        """Return the same for some of many rows, around the trained model corrected by all."""
        terms = tuple(
            (rows.thinned(SKETCH) if isinstance(rows, HeldRows) else rows, part)
            for rows, part in self.terms
        )
        few = replace(self, terms=terms)
        if tangent is None:
            return few
        p = len(tangent.slope)
        off = few.at(Moments.at(np.zeros(p)))
        corrected = Quadratic(
            tangent.value - off.value, tangent.slope - off.slope, np.zeros((p, p))
        )
        return replace(few, fixed=corrected if self.fixed is None else self.fixed + corrected)

    @property
    def many(self) -> bool:
        """Whether some of its rows would do for a sketch."""
        return any(isinstance(rows, HeldRows) and rows.many for rows, _ in self.terms)

    @property
    def empty(self) -> bool:
        """Whether some row has no range left."""
        return any(any(rows.each(_empty)) for rows, _ in self.terms)


@dataclass(frozen=True, eq=False)
class Relaxation:
    """What is bounded: a mean loss where another one is within a limit.

    A function that is a quadratic itself needs no envelope. `around` is an ellipsoid that holds
    all models in question.
    """

    below: Envelope | Quadratic
    above: Envelope | Quadratic
    limit: float
    around: Quadratic

    def at(self, moments: Moments) -> Largest:
        """Bound the mean loss with the parabolas that are best for some moments."""
        below, above = self.quadratics(moments)
        return largest(above, below)

    def quadratics(self, moments: Moments) -> tuple[Quadratic, Quadratic]:
        """Return one that is at most 0 on the set, and one above the loss."""
        below, above = (
            f if isinstance(f, Quadratic) else f.at(moments) for f in (self.below, self.above)
        )
        if not certainly_positive(below.curvature):  # as over ranges where R is nearly linear
            return self.around, above
        return replace(below, value=below.value - self.limit), above

    def sketched(self, training: Quadratic, judging: Quadratic | None) -> Relaxation | None:
        """Return what bounds about as much with some of many rows, though for them alone.

        Given are the expansions of the two functions at the trained model, where it is exact. What
        it is good for are moments: those that serve some rows serve all.
        """
        below, above = (
            f.sketched(at) if isinstance(f, Envelope) else f
            for f, at in ((self.below, training), (self.above, judging))
        )
        many = any(isinstance(f, Envelope) and f.many for f in (self.below, self.above))
        return replace(self, below=below, above=above) if many else None

    @property
    def in_memory(self) -> bool:
        """Whether passes over all rows are cheap."""
        envelopes = [f for f in (self.below, self.above) if isinstance(f, Envelope)]
        return all(isinstance(rows, HeldRows) for f in envelopes for rows, _ in f.terms)

    def narrowed(self, change: Callable[[Block], Block]) -> Relaxation | None:
        """Return the same with narrower ranges; None if they leave nothing."""
        below, above = (
            f.map(change) if isinstance(f, Envelope) else f for f in (self.below, self.above)
        )
        if any(isinstance(f, Envelope) and f.empty for f in (below, above)):
            return None
        return replace(self, below=below, above=above)

    def within(self, d: Vector) -> Vector:
        """Return a model, or the one on the way to it that an ellipsoid around the set allows."""
        d = d / max(1.0, float(np.abs(d).max()) / FAR)
        value, slope = self.around.value, float(self.around.slope @ d)
        half = 0.5 * float(d @ self.around.curvature @ d)
        if value + slope + half <= 0.0:
            return d
        root = np.sqrt(max(0.0, slope * slope - 4.0 * half * value))
        return np.asarray(d * ((root - slope) / (2.0 * half)))


@dataclass
class Bounded:
    """The least bound so far, the distribution behind it, and the models that joined it.

    `first` is the bound of the single model with which it began.
    """

    bound: float
    moments: Moments
    first: float = np.inf
    rounds: int = 0
    models: list[Vector] = field(default_factory=list)


def sketch_tightened(
    relaxation: Relaxation,
    sketch: Relaxation | None,
    start: Vector,
    target: float,
    deadline: Deadline,
    rounds: int = ROUNDS,
) -> Bounded:
    """Improve the bound; with a sketch, by the moments that are best for it."""
    if sketch is None:
        return tightened(relaxation, start, target, deadline, rounds)
    found = tightened(sketch, start, target, deadline, rounds, LEAST_MODELS)
    bound = relaxation.at(found.moments).bound
    if found.first <= found.bound * (1.0 + CERTIFIED):
        bound = min(bound, relaxation.at(Moments.at(start)).bound)
    return replace(found, bound=bound)


def tightened(
    relaxation: Relaxation,
    start: Vector,
    target: float,
    deadline: Deadline,
    rounds: int = ROUNDS,
    least: int = 1,
) -> Bounded:
    """Improve the bound from a single model on, until it meets a target or hardly falls."""
    moments, late = Moments.at(start), deadline.not_within(LATE_SECONDS)
    best = Bounded(np.inf, moments)
    idle = 0
    for k in range(rounds):
        found = relaxation.at(moments)
        idle = 0 if found.bound < best.bound - PROGRESS * (best.bound - target) else idle + 1
        if found.bound < best.bound:
            best.bound, best.moments = found.bound, moments
        best.first = found.bound if k == 0 else best.first
        best.rounds, best.models = k + 1, [*best.models, found.point]
        end = deadline if k + 1 >= least else late
        if best.bound <= target or idle > IDLE_ROUNDS or end.over:
            break
        moments = moments.joined(relaxation.within(found.point), 2.0 / (k + 3.0))
    return best


def _empty(block: Block) -> bool:
    return bool((block.low > block.high).any())


def envelope(
    loss: SmoothLoss, side: float, trained: Vector, moments: Moments, block: Block
) -> Quadratic:
    """Sum the parabolas of rows, below their losses (side −1) or above, best for some moments.

    A parabola below φ that none dominates touches it at a point and at an end of the range, or at
    two points: it is tangent at some ``x``, with the least secant curvature from there. For given
    moments the best ``x`` is the mean itself, or the partner of an end of the range in the
    two-point distribution of these moments, or, above and if φ'' is symmetric, one of the two
    margins ±a with the right second moment. Whatever the choice, the bound holds.
    """
    margins = block.margins(trained)
    low, high = block.low, block.high
    mean, variance = block.moments(moments.mean, moments.root)
    contacts = [mean]
    spread = bool(variance.any())  # a single model has none, and touches at its own margins
    if spread:
        contacts += [
            mean + variance / np.maximum(mean - low, TINY),
            mean - variance / np.maximum(high - mean, TINY),
        ]
    if spread and side > 0.0 and loss.symmetric:
        a = np.sqrt(variance + np.square(margins + mean))
        contacts += [a - margins, -a - margins]
    if side < 0.0:
        contacts += [m - margins for m in loss.contacts(margins + low, margins + high)]
    secant = loss.largest_secant if side > 0.0 else loss.least_secant
    best = np.full(len(mean), np.inf)
    at, curvature = mean, mean
    for contact in contacts:
        x = np.clip(contact, low, high)
        c = secant(margins + x, np.minimum(0.0, low - x), np.maximum(0.0, high - x))
        value = loss.value(margins + x) + loss.slope(margins + x) * (mean - x)
        value = side * (value + 0.5 * c * (variance + np.square(mean - x)))
        better = value < best
        best, at, curvature = (
            np.where(better, new, old) for new, old in ((value, best), (x, at), (c, curvature))
        )
    slope = loss.slope(margins + at)
    weight = block.weight
    return Quadratic(
        float(weight @ (loss.value(margins + at) - slope * at + 0.5 * curvature * at * at)),
        block.Z.T @ (weight * (slope - curvature * at)),
        block.gram(curvature),
    )
