"""The model that training ends with, the objective around it, and what is left to gain."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property, partial

import numpy as np
from scipy.linalg import cholesky

from pessimal.errors import InvalidInputError, SolverError
from pessimal.losses import Absolute, Squared
from pessimal.near_optimal.smooth.lasso import proximal_newton
from pessimal.near_optimal.smooth.objective import (
    MeanLoss,
    Objective,
    Parabola,
    flat,
    mean_loss,
    moved,
    newton,
    solve,
)
from pessimal.near_optimal.smooth.problem import TrainingProblem
from pessimal.near_optimal.smooth.quadratic import (
    Quadratic,
    certainly_positive,
    lengths,
    whitened,
)
from pessimal.near_optimal.smooth.rows import Block, HeldRows
from pessimal.problem import Matrix, Vector

ROUNDING = 1e-12
"""How far, relatively, a computed objective may be from the true one, where no more is known."""

SECONDS_PER_PRODUCT = 2e-11
"""Of a Gram matrix, at least."""

DECOMPOSED = 7.0
"""A decomposition into eigenvectors takes what a Gram matrix of so many times p rows does."""

UNIT, DEVIATIONS = 0.5 * float(np.finfo(float).eps), 10.0
"""Largest relative error of one operation; errors of n of them add up to √n, so many times."""

STALLED = 1e-6
"""Share of the training objective that training may have left: with more there are no members."""

OUTWARDS = 1e-9
"""Share by which a largest length is rounded up."""

LEFT = 1e-16
"""Share of the objective that a step must promise to be worth a pass."""

MOST_CHORDS = 10
"""Steps with the Hessian of another model."""

CLOSER = 0.1
"""A step with the Hessian of another model that comes no closer than this is the last one."""

CORNER = 1e-10
"""Share of the training objective by which absolute values are rounded off."""

LEAST_CORNER = 1e-100
"""Rounding of absolute values where the training objective is 0."""

STEEPEST = 1.0 - 1e-7
"""Slope of a rounded corner, in shares of the slope beyond."""

NEXT_TO_0 = 1e-2
"""Share of the rounding up to which a coefficient is taken for 0: far less than others have."""


class Training:
    """The trained model, its objective, and bounds on the least objective of all models.

    Attributes
    ----------
    problem : TrainingProblem
    objective : Objective
        What training minimises, with its digits best around the trained model.
    u : ndarray
        The trained model.
    optimum, smooth : Quadratic
        The expansions, at the trained model, of the objective, and of all of it but the absolute
        values, the curvature of which is around 0 alone.
    value, least : float
        The objective of the trained model, and what no model falls below.
    """

    def __init__(self, problem: TrainingProblem) -> None:
        self.problem = problem
        self.objective, self.u, optimum = _minimised(problem)
        self.optimum = self.objective.expansion(self.u) if optimum is None else optimum
        sharp = self.objective.absolute is not None
        self.smooth = self.objective.smooth_at(self.u) if sharp else self.optimum
        if not certainly_positive(self.smooth.curvature):
            raise flat()
        self.value = self.optimum.value
        gain, rounding = self._still_to_gain() + self.rounded_off, self.rounding(self.value)
        self.least = max(0.0, self.value * (1.0 - rounding) - gain)
        if gain > max(STALLED, rounding) * self.value:
            raise SolverError(
                f"training stalled: the least objective is between {self.least:.6g} and "
                f"{self.value:.6g}; leave out columns that nearly depend on each other, or raise "
                "the penalty"
            )

    @property
    def step_seconds(self) -> float:
        """Estimate a step that no deadline ends sooner: a Gram matrix, or a decomposition."""
        p = len(self.u)
        return SECONDS_PER_PRODUCT * p * p * (self.problem.n_rows + DECOMPOSED * p)

    @cached_property
    def leverage(self) -> float:
        """Return the largest change of a margin per unit of distance in the Hessian's norm."""
        factor = cholesky(self.smooth.curvature, lower=True)
        return float(max(self.problem.rows.each(partial(_lever, factor))))

    @property
    def rounded_off(self) -> float:
        """By how much, at most, the rounding of absolute values adds to R."""
        absolute = self.objective.absolute
        if absolute is None:
            return 0.0
        assert isinstance(absolute.loss, Absolute)
        return absolute.total_weight * absolute.loss.rounding

    def rounding(self, limit: float) -> float:
        """Bound the relative error of computed objectives of models up to a limit.

        A mean of squares is known by its Gram matrix, from which follow the sizes of what a
        residual is a difference of, and so its error η: that of the mean is at most
        ``2η·√mean + η²``, and that of the sum of n terms √n units, but for a chance of e⁻⁵⁰
        (Higham and Mary 2019).
        """
        mean, p = self.objective.mean, len(self.u)
        if not isinstance(mean, Parabola) or self.value <= 0.0:
            return ROUNDING
        spread = np.sqrt(2.0 * max(0.0, limit - self.value) * np.maximum(0.0, self._variances))
        sizes = np.sqrt(0.5 * np.diag(mean.quadratic.curvature))
        of_targets = np.sqrt(max(0.0, mean.value(np.zeros(p))))
        error = UNIT * (p + 4) * (float((np.abs(self.u) + spread) @ sizes) + of_targets)
        error /= np.sqrt(self.value)
        of_sum = UNIT * DEVIATIONS * np.sqrt(self.problem.n_rows + p + 4)
        return float(of_sum + 2.0 * error + error * error)

    @cached_property
    def _variances(self) -> Vector:
        """The diagonal of the inverse of the curvature."""
        return np.diag(solve(self.smooth.curvature, np.eye(len(self.u))))

    @property
    def terms(self) -> list[MeanLoss]:
        """What R is a sum of, beside a quadratic."""
        parts = (self.objective.mean, self.objective.absolute)
        return [part for part in parts if isinstance(part, MeanLoss)]

    @property
    def fixed(self) -> Quadratic:
        """The quadratic that is part of R: the penalty, and a mean of squares."""
        if isinstance(self.objective.mean, Parabola):
            return self.smooth
        return self.objective.penalty_at(self.u)

    def _still_to_gain(self) -> float:
        """Bound what training has left to gain, from the gradient where it ended."""
        slope, penalty = self.optimum.slope, self.objective.penalty
        newton_gain = float(slope @ solve(self.smooth.curvature, slope))
        if isinstance(self.problem.loss, Squared):
            return 0.5 * newton_gain
        if self.problem.loss.self_concordant:
            # While M·‖gradient‖ is far below 1 the curvature on the way is at least half of H.
            if self.leverage * np.sqrt(newton_gain) > 0.1:
                raise SolverError(
                    "training did not come near an optimum: if the classes can be separated and "
                    "nothing is penalised there is none, and among columns that nearly depend on "
                    "each other it is lost in rounding; penalise squares, as C=1 does, or leave "
                    "such a column out"
                )
            return newton_gain
        if certainly_positive(penalty):
            return 0.5 * float(slope @ solve(penalty, slope))
        raise unpenalised()


def _lever(factor: Matrix, block: Block) -> float:
    return float(lengths(whitened(block.Z, factor)).max(initial=0.0)) * (1.0 + OUTWARDS)


def unpenalised() -> InvalidInputError:
    """Return what is said of an intercept that nothing keeps from growing."""
    return InvalidInputError(
        "estimator leaves its intercept without a penalty, where this loss needs one; pass one "
        "that penalises it, or fit_intercept=False on centred data"
    )


def _minimised(problem: TrainingProblem) -> tuple[Objective, Vector, Quadratic | None]:
    """Minimise what training minimises; return that, the model, and its expansion if known."""
    rows, loss, l1 = problem.rows, problem.loss, problem.l1
    u = np.zeros(len(problem.penalty))
    mean = mean_loss(rows, loss, u)
    if isinstance(mean, MeanLoss) and isinstance(rows, HeldRows) and rows.many:
        # A step costs a pass over all rows: the way to where they end is found with some.
        u = _begun(Objective(mean, problem.penalty), rows, l1)

    def minimised(mean: MeanLoss | Parabola, u: Vector) -> Vector:
        smooth = Objective(mean, problem.penalty)
        return proximal_newton(smooth, l1, u) if l1.any() else newton(smooth, u)[0]

    if isinstance(mean, MeanLoss) and not l1.any():
        smooth = Objective(mean, problem.penalty)
        return smooth, *newton(smooth, u)
    u = minimised(mean, u)
    if isinstance(mean, Parabola):  # its digits are best around the point where it is used
        mean = moved(mean, rows, u)
        u = minimised(mean, u)
        mean = moved(mean, rows, u)
    smooth = Objective(mean, problem.penalty)
    if not l1.any():
        return smooth, u, None
    at = smooth.expansion(u)
    rounding = max(CORNER * (at.value + float(l1 @ np.abs(u))) / float(l1.sum()), LEAST_CORNER)
    penalised = np.flatnonzero(l1)
    rows_of_1 = np.eye(len(u))[penalised]
    block = Block.of(rows_of_1, np.zeros(len(penalised)), l1[penalised])
    # Where a coefficient is 0, or next to it, the slope of the rounded corner balances the rest.
    slope = np.clip(-at.slope[penalised] / l1[penalised], -STEEPEST, STEEPEST)
    zero = np.abs(u[penalised]) <= NEXT_TO_0 * rounding
    u = u.copy()  # the parabola's origin stays where its digits are
    u[penalised[zero]] = (rounding * slope / np.sqrt(1.0 - np.square(slope)))[zero]
    absolute = MeanLoss(HeldRows([block]), Absolute(rounding))
    return Objective(mean, problem.penalty, absolute), u, None


def _begun(smooth: Objective, rows: HeldRows, l1: Vector) -> Vector:
    """Return a model near the optimum of many rows, found with few passes over all of them."""
    assert isinstance(smooth.mean, MeanLoss)
    u = np.zeros(len(smooth.penalty))
    few = replace(smooth, mean=MeanLoss(rows.thinned(), smooth.mean.loss))
    try:
        start = proximal_newton(few, l1, u) if l1.any() else newton(few, u)[0]
    except SolverError:  # only the rows left out tell some columns apart
        return u
    curvature = few.expansion(start).curvature
    if not _near_optimum(smooth.tangent(start), curvature, l1, start):
        return u
    if l1.any():
        return start
    # With the Hessian of some rows, then with that of all where it leads, as long as they serve.
    u = _chords(smooth, start, curvature, 1)
    return _chords(smooth, u, smooth.expansion(u).curvature, MOST_CHORDS)


def _chords(smooth: Objective, u: Vector, curvature: Matrix, steps: int) -> Vector:
    """Take Newton's steps with the same Hessian for all, so that each costs a gradient."""
    if not certainly_positive(curvature):
        return u
    at, before = smooth.tangent(u), np.inf
    for _ in range(steps):
        step = -solve(curvature, at.slope)
        decrement = -float(at.slope @ step)
        if decrement <= LEFT * at.value or decrement > CLOSER * before:
            break
        there = smooth.tangent(u + step)
        if not there.value < at.value:
            break
        u, at, before = u + step, there, decrement
    return u


def _near_optimum(at: Quadratic, curvature: Matrix, l1: Vector, u: Vector) -> bool:
    """Return whether a Newton step from a model promises no more than there is to gain.

    Where few rows had no point of a rare class, what minimised them lies far out, and the loss of
    all rows is flat there.
    """
    if not certainly_positive(curvature):
        return False
    free = np.sign(at.slope) * np.maximum(np.abs(at.slope) - l1, 0.0)
    slope = np.where(u == 0.0, free, at.slope + l1 * np.sign(u))
    return float(slope @ solve(curvature, slope)) <= at.value + float(l1 @ np.abs(u))
