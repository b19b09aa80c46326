"""A smooth near-optimal set from without: an ellipsoid that holds it, and the ranges of rows.

Around a trained model ``R`` grows at least as its self-concordance, or its penalty, demands. That
is a first ellipsoid; the parabolas below R over the ranges that it leaves make it narrower
(`ellipsoids`). How narrow it has become by the end of one call is where the next one goes on.
"""

from __future__ import annotations

import operator
from functools import cached_property, partial, reduce

import numpy as np
from scipy.linalg import cholesky, solve_triangular

from pessimal.limits import LATE_SECONDS, NEVER, Deadline
from pessimal.losses import Squared
from pessimal.near_optimal.smooth.ellipsoids import (
    Ellipsoids,
    Narrowed,
    Sublevel,
    guessed,
    largest_curvature,
)
from pessimal.near_optimal.smooth.members import useless
from pessimal.near_optimal.smooth.quadratic import Quadratic, certainly_positive
from pessimal.near_optimal.smooth.relaxation import Envelope, envelope
from pessimal.near_optimal.smooth.rows import HeldRows, Rows
from pessimal.near_optimal.smooth.supports import Supports, exact
from pessimal.near_optimal.smooth.training import Training, unpenalised

EXACT_WORK = 5e9
"""Products of rows, rows and columns up to which the ranges of all rows are found exactly."""

NEAR = 1e-3
"""Share of a range to which that is done for a bound."""


class Enclosure:
    """What holds all members: those whose computed objective is within the outer limit.

    Models with one within the inner limit are members for certain.
    """

    def __init__(self, training: Training, outer: float, inner: float) -> None:
        self.training, self.outer, self.inner = training, outer, inner
        self._narrowed = Narrowed(Ellipsoids((self._first_region(),)))
        self._supports: Supports | None = None

    def narrowed(self, deadline: Deadline) -> Narrowed:
        """Return ellipsoids that hold the set, as narrow as time allows."""
        known, training, rows = self._narrowed, self.training, self.training.problem.rows
        late, seconds = deadline.not_within(LATE_SECONDS), training.step_seconds
        if known.rows is None and isinstance(rows, HeldRows) and rows.many:
            smooth = training.terms and training.objective.absolute is None
            if smooth and late.affords(seconds):
                known = guessed(known.around, self._sublevel, seconds, late)
        self._narrowed = known.further(self._sublevel, late, seconds)
        return self._narrowed

    @cached_property
    def _sublevel(self) -> Sublevel:
        training = self.training
        R = training.terms, training.fixed.curvature, training.u, training.optimum
        return Sublevel(*R, self.outer)

    def supports(self, deadline: Deadline) -> Supports | None:
        """Return the support function of the set.

        There is one if the set is smooth, passes over its rows are cheap, and there is time.
        """
        training, known = self.training, self.narrowed(deadline)
        if isinstance(training.problem.loss, Squared) or training.objective.absolute is not None:
            return None
        if not isinstance(training.problem.rows, HeldRows):
            return None
        late = deadline.not_within(LATE_SECONDS)
        if self._supports is None and known.settled and late.affords(training.step_seconds):
            R, limits = training.objective, (self.outer, self.inner)
            self._supports = Supports(R, training.optimum, training.u, limits, known.around)
        return self._supports

    def exact_rows(self, rows: Rows, deadline: Deadline) -> Rows:
        """Return rows with ranges of the ellipsoids, or exact ones where that is affordable."""
        ranged, train = rows.map(self.narrowed(deadline).around), self.training.problem.rows
        if not (isinstance(ranged, HeldRows) and isinstance(train, HeldRows)):
            return ranged
        if ranged.n_rows * train.n_rows * len(self.training.u) > EXACT_WORK:
            return ranged
        supports = self.supports(deadline)
        return ranged if supports is None else exact(ranged, supports, deadline, NEAR)

    def below(self, terms: tuple[Rows, ...]) -> Envelope | Quadratic:
        """Return what lies below the training objective, given ranges of the rows of its terms."""
        training = self.training
        if not terms:
            return training.fixed
        parts = tuple(
            (rows, partial(envelope, term.loss, -1.0, training.u))
            for rows, term in zip(terms, training.terms, strict=True)
        )
        return Envelope(parts, training.fixed)

    def inner_region(self) -> Quadratic:
        """Return an ellipsoid of members alone, for an objective without absolute values."""
        training, rows = self.training, self.narrowed(NEVER).rows
        assert rows is not None
        parts = [
            of.total(partial(largest_curvature, term.loss, training.u))
            for term, of in zip(training.terms, rows, strict=True)
        ]
        above = reduce(operator.add, parts, training.fixed.curvature)
        return Quadratic(training.optimum.value - self.inner, training.optimum.slope, above)

    def _first_region(self) -> Quadratic:
        """Return an ellipsoid that certainly holds the set."""
        training, loss = self.training, self.training.problem.loss
        # With the slope of absolute values, R lies above what is left without their curvature.
        hessian, slope = training.smooth.curvature, training.optimum.slope
        if isinstance(loss, Squared):
            return Quadratic(training.value - self.outer, slope, hessian)
        if not loss.self_concordant:
            penalty = training.objective.penalty_at(training.u)
            if not certainly_positive(penalty.curvature):
                raise unpenalised()
            return Quadratic(penalty.value - self.outer, penalty.slope, penalty.curvature)
        # Along any direction R grows at least as fast as ψ(Mρ)/M² less the gradient, with ρ the
        # distance in the norm of the Hessian and M the largest margin of unit distance.
        most = max(training.leverage, 1e-6)  # any larger one is valid
        factor = cholesky(hessian, lower=True)
        gradient = float(np.linalg.norm(solve_triangular(factor, slope, lower=True)))
        excess = self.outer - training.value

        def growth(rho: float) -> float:
            return float((np.expm1(-most * rho) + most * rho) / most**2 - gradient * rho - excess)

        far = 1.0
        while growth(far) <= 0.0:
            far *= 2.0
            if far > 1e12:
                raise useless()
        near = 0.0
        for _ in range(200):  # the largest root: beyond `far` growth only grows
            middle = 0.5 * (near + far)
            near, far = (middle, far) if growth(middle) <= 0.0 else (near, middle)
        return Quadratic(-0.5 * far * far, np.zeros(len(slope)), hessian)
