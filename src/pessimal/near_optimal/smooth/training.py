"""The model that training ends with, and the objective, with its digits best around it."""

from __future__ import annotations

import numpy as np

from pessimal.errors import SolverError
from pessimal.losses import Absolute
from pessimal.near_optimal.smooth.estimators import TrainingProblem
from pessimal.near_optimal.smooth.lasso import proximal_newton
from pessimal.near_optimal.smooth.objective import (
    MeanLoss,
    Objective,
    Parabola,
    mean_loss,
    moved,
    newton,
    solve,
)
from pessimal.near_optimal.smooth.quadratic import certainly_positive
from pessimal.near_optimal.smooth.rows import Block, HeldRows
from pessimal.problem import Vector

FIRST, FEW = 5000, 4
"""Rows with which training begins where there are so many times as many."""

CORNER = 1e-10
"""Share of the training objective by which absolute values are rounded off."""

LEAST_CORNER = 1e-100
"""Rounding of absolute values where the training objective is 0."""

STEEPEST = 1.0 - 1e-7
"""Slope of a rounded corner, in shares of the slope beyond."""

NEXT_TO_0 = 1e-2
"""Share of the rounding up to which a coefficient is taken for 0: far less than others have."""


def trained(problem: TrainingProblem) -> tuple[Objective, Vector]:
    """Minimise what training minimises; return that and the model."""
    rows, loss, l1 = problem.rows, problem.loss, problem.l1
    u = np.zeros(len(problem.penalty))
    mean = mean_loss(rows, loss, u)

    def minimised(mean: MeanLoss | Parabola, u: Vector) -> Vector:
        smooth = Objective(mean, problem.penalty)
        return proximal_newton(smooth, l1, u) if l1.any() else newton(smooth, u)

    if isinstance(mean, MeanLoss) and isinstance(rows, HeldRows) and rows.n_rows > FEW * FIRST:
        # A step costs a pass over all rows: the way to where they end is found with some.
        try:
            start = minimised(MeanLoss(rows.thinned(rows.n_rows // FIRST), loss), u)
        except SolverError:  # only the rows left out tell some columns apart
            start = u
        if _near_optimum(Objective(mean, problem.penalty), l1, start):
            u = start
    u = minimised(mean, u)
    if isinstance(mean, Parabola):  # its digits are best around the point where it is used
        mean = moved(mean, rows, u)
        u = minimised(mean, u)
        mean = moved(mean, rows, u)
    smooth = Objective(mean, problem.penalty)
    if not l1.any():
        return smooth, u
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
    return Objective(mean, problem.penalty, MeanLoss(HeldRows([block]), Absolute(rounding))), u


def _near_optimum(smooth: Objective, l1: Vector, u: Vector) -> bool:
    """Return whether a Newton step from a model promises no more than there is to gain.

    Where few rows had no point of a rare class, what minimised them lies far out, and the loss of
    all rows is flat there.
    """
    at = smooth.expansion(u)
    if not certainly_positive(at.curvature):
        return False
    free = np.sign(at.slope) * np.maximum(np.abs(at.slope) - l1, 0.0)
    slope = np.where(u == 0.0, free, at.slope + l1 * np.sign(u))
    return float(slope @ solve(at.curvature, slope)) <= at.value + float(l1 @ np.abs(u))
