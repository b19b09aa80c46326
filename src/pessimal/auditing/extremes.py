"""The extremes of the near-optimal set Ψ on the validation data.

The best loss and every score range are linear programs. The worst loss is a branch and bound, the
best and the worst error and the discrepancy are mixed-integer programs, all with proved bounds
(`pessimal.worst_case`).

An error is ``y·score < 0``, so a score of 0 is none. Models that gain by such a score alone are
not looked for, but the bounds allow for them.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from pessimal.auditing.report import ExtremeModel
from pessimal.errors import InvalidInputError
from pessimal.fitted import LinearModel
from pessimal.problem import Budget, Mask, TuningProblem, Vector, hinge, margin_rows
from pessimal.tolerances import STRICT
from pessimal.training import best_case, worst_case
from pessimal.training.near_optimal import near_optimal, row_ranges


@dataclass(frozen=True, eq=False)
class Ends:
    """Both ends of the losses at one budget."""

    best_loss: ExtremeModel
    worst_loss: ExtremeModel
    worst_error: ExtremeModel


class Clock:
    """Shares what is left of a time limit among the programs still to be solved."""

    def __init__(self, seconds: float | None, programs: int) -> None:
        if seconds is not None and not seconds > 0.0:
            raise InvalidInputError(
                f"time_limit is {seconds!r}; pass a positive number of seconds or None"
            )
        self._deadline = None if seconds is None else time.perf_counter() + seconds
        self._programs = programs

    def share(self, programs: int = 1) -> float | None:
        """Seconds for the next program, or for the next few together."""
        if self._deadline is None:
            return None
        left = max(self._deadline - time.perf_counter(), 1e-9)
        share = left * programs / self._programs
        self._programs -= programs
        return share


@dataclass(frozen=True, eq=False)
class Scores:
    """Least and largest score of each validation point; where not `found`, bounds on them."""

    low: Vector
    high: Vector
    found: Mask


def score_ranges(
    problem: TuningProblem, box: Vector, budget: Budget, seconds: float | None
) -> Scores:
    """Ranges of the scores over Ψ, of as many points as there is time for."""
    deadline = math.inf if seconds is None else time.perf_counter() + seconds
    rows = margin_rows(problem.X_val, np.ones(problem.n_val))
    low, high, ends = row_ranges(near_optimal(problem, box, budget), rows, deadline)
    return Scores(low, high, np.arange(problem.n_val) < len(ends) // 2)


def growing_ends(
    problem: TuningProblem,
    box: Vector,
    budget: Budget,
    grid: list[float],
    scores: Scores,
    clock: Clock,
) -> list[Ends]:
    """Both ends at each ε of the grid, smallest first.

    A model of a smaller budget is one of a larger, so the better of the two stands, and so does the
    bound of the larger: that keeps the curves monotone even when time is short. For the same reason
    the scores, which are those of `budget`, hold for every smaller one.
    """
    ends: list[Ends] = []
    for epsilon in grid:
        at = replace(budget, relative=epsilon)
        best = best_case(problem, box, at)
        known = scores if epsilon <= budget.relative else None
        now = Ends(
            ExtremeModel(best.value, best.value, best.coef, best.intercept),
            _worst(problem, box, at, "hinge", known, clock),
            _worst(problem, box, at, "zero_one", known, clock),
        )
        if ends:
            now = Ends(
                min(now.best_loss, ends[-1].best_loss, key=lambda end: end.value),
                _larger(now.worst_loss, ends[-1].worst_loss),
                _larger(now.worst_error, ends[-1].worst_error),
            )
        ends.append(now)
    for k in reversed(range(len(ends) - 1)):
        ends[k] = Ends(
            ends[k].best_loss,
            _no_more_than(ends[k].worst_loss, ends[k + 1].worst_loss.bound),
            _no_more_than(ends[k].worst_error, ends[k + 1].worst_error.bound),
        )
    return ends


def _no_more_than(end: ExtremeModel, bound: float) -> ExtremeModel:
    return replace(end, bound=min(end.bound, bound))


def _larger(now: ExtremeModel, before: ExtremeModel) -> ExtremeModel:
    if now.value >= before.value:
        return now
    return replace(before, bound=max(now.bound, before.value))


def _worst(
    problem: TuningProblem,
    box: Vector,
    budget: Budget,
    loss: Literal["hinge", "zero_one"],
    scores: Scores | None,
    clock: Clock,
) -> ExtremeModel:
    worst = worst_case(problem, box, budget, loss=loss, time_limit=clock.share())
    bound = worst.upper_bound
    if scores is not None:
        bound = max(worst.value, min(bound, _most(problem, loss, scores)))
    if loss == "zero_one":
        # All points weigh the same, so errors come in whole points.
        n = problem.n_val
        bound = max(worst.value, math.floor(bound * n + STRICT) / n)
    return ExtremeModel(worst.value, bound, worst.coef, worst.intercept)


def _most(problem: TuningProblem, loss: Literal["hinge", "zero_one"], scores: Scores) -> float:
    """Return the loss if every margin were the least of its point: no model has a larger one."""
    margins = np.where(problem.y_val > 0.0, scores.low, -scores.high)
    if loss == "hinge":
        return float(problem.val_weight @ hinge(margins))
    return float(problem.val_weight[margins < -STRICT].sum())


def best_error(
    problem: TuningProblem,
    box: Vector,
    budget: Budget,
    here: Ends,
    scores: Scores,
    clock: Clock,
) -> ExtremeModel:
    """Least error over Ψ: as many points right as can be, i.e. wrong with labels flipped.

    The bound of the flipped problem leaves out points whose margin can reach 0 but not exceed it;
    they are no errors either, so they are added, and with them those of which it is not known.
    """
    right = _worst(_relabelled(problem, -problem.y_val), box, budget, "zero_one", scores, clock)
    largest_margin = np.where(problem.y_val > 0.0, scores.high, -scores.low)
    on_zero = (np.abs(largest_margin) <= STRICT) | ~scores.found
    bound = max(0.0, 1.0 - right.bound - float(on_zero.mean()))
    models = (right, here.best_loss, here.worst_loss, here.worst_error)
    best = min(models, key=lambda model: error(problem, model.coef, model.intercept))
    value = error(problem, best.coef, best.intercept)
    return ExtremeModel(value, min(value, bound), best.coef, best.intercept)


def discrepancy(
    problem: TuningProblem,
    box: Vector,
    budget: Budget,
    model: LinearModel,
    scores: Scores,
    clock: Clock,
) -> ExtremeModel:
    """Largest error over Ψ when the model's own predictions are taken for the labels."""
    predicted = np.where(problem.X_val @ model.coef + model.intercept > 0.0, 1.0, -1.0)
    return _worst(_relabelled(problem, predicted), box, budget, "zero_one", scores, clock)


def _relabelled(problem: TuningProblem, y_val: Vector) -> TuningProblem:
    return TuningProblem(
        problem.X_train, problem.y_train, problem.X_val, y_val, upper=problem.upper
    )


def error(problem: TuningProblem, coef: Vector, intercept: float) -> float:
    """Share of the validation points that a model misclassifies."""
    margins = problem.y_val * (problem.X_val @ coef + intercept)
    return float(problem.val_weight[margins < -STRICT].sum())
