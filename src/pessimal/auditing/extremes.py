"""The extremes of the near-optimal set Ψ on the validation data, as far as they are known.

Known are models of Ψ that were found, and bounds that no model of Ψ passes. The first of both cost
nothing: the reference model, and what box and training limit allow by themselves. Every method
improves one or the other and leaves all numbers valid, so an audit may end between any two steps.

The best loss and every score range are linear programs; the worst loss, the best and the worst
error and the discrepancy are found by branch and bound. A model that one of them finds is judged by
all measures. An error is ``y·score < 0``; a score of 0, but for rounding, is none.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from pessimal.auditing.report import ExtremeModel
from pessimal.fitted import LinearModel
from pessimal.limits import Deadline
from pessimal.near_optimal import Trained, WorstCase, best_case, worst_case
from pessimal.near_optimal.polyhedral.linear_program import BoxModels, near_optimal, row_ranges
from pessimal.near_optimal.polyhedral.program import coarse_ranges
from pessimal.problem import Budget, Mask, Matrix, TuningProblem, Vector, hinge, margin_rows
from pessimal.tolerances import STRICT


@dataclass
class End:
    """One end of a range: the furthest model found, and how far any could be."""

    side: float  # 1 where the largest is sought, −1 where the least is
    value: float
    bound: float
    coef: Vector
    intercept: float

    def meet(self, values: Vector, models: Matrix) -> None:
        """Keep the furthest of some models ``(coef, intercept)``."""
        k = int(np.argmax(self.side * values))
        if self.side * values[k] > self.side * self.value:
            self.value = float(values[k])
            self.coef, self.intercept = models[k, :-1].copy(), float(models[k, -1])

    def limit(self, bound: float) -> None:
        """Take note that no model is further than `bound`."""
        self.bound = self.side * min(self.side * self.bound, self.side * bound)

    def known(self) -> ExtremeModel:
        """Return what is known; rounding may put a bound short of a model that was found."""
        bound = self.side * max(self.side * self.bound, self.side * self.value)
        return ExtremeModel(self.value, bound, self.coef, self.intercept)


class Extremes:
    """What is known of Ψ at one budget, and of the ends of its losses at other ε.

    Parameters
    ----------
    problem : TuningProblem
    box : ndarray of shape (p,)
    budget : Budget
    grid : list of float
        The ε of the curves, increasing; that of `budget` is one of them.
    trained : Trained
        A model of least training loss in the box, the first of Ψ beside the reference.
    reference : LinearModel
        A model of Ψ, whatever the ε.

    Attributes
    ----------
    low, high : ndarray of shape (n_val,)
        No model of Ψ gives a validation point a score beyond.
    found_low, found_high : ndarray of shape (n_val,)
        Least and largest score among the models found.
    solved : ndarray of bool of shape (n_val,)
        Points whose range is known exactly.
    """

    def __init__(
        self,
        problem: TuningProblem,
        box: Vector,
        budget: Budget,
        grid: list[float],
        trained: Trained,
        reference: LinearModel,
    ) -> None:
        self.problem, self.box = problem, box
        self.budgets = [replace(budget, epsilon=epsilon) for epsilon in grid]
        self.here = grid.index(budget.epsilon)
        self.rows = margin_rows(problem.X_val, np.ones(problem.n_val))
        scores = problem.X_val @ reference.coef + reference.intercept
        self.predicted = np.where(scores > 0.0, 1.0, -1.0)
        self.found_low, self.found_high = scores.copy(), scores.copy()
        self.solved = np.zeros(problem.n_val, dtype=np.bool_)
        self._models: BoxModels | None = None

        def end(side: float) -> End:
            start = -side * math.inf
            return End(side, start, -start, reference.coef, reference.intercept)

        self.best_loss = [end(-1.0) for _ in grid]
        self.worst_loss = [end(1.0) for _ in grid]
        self.worst_error = [end(1.0) for _ in grid]
        self.best_error, self.discrepancy = end(-1.0), end(1.0)
        self._meet(0, np.append(reference.coef, reference.intercept)[None])
        self._meet(0, np.append(trained.w, -trained.b)[None])
        for k in reversed(range(len(grid))):
            limit = problem.training_limit(self.budgets[k], trained.value)
            low, high = coarse_ranges(problem, box, limit, self.rows)
            self._bound_losses(k, low, high)
            if k == self.here:
                self.low, self.high = low, high

    def find_best_loss(self, k: int, seconds: float | None) -> None:
        """Solve for the least validation loss at an ε of the grid."""
        best = best_case(self.problem, self.box, self.budgets[k], time_limit=seconds)
        self._meet(k, np.append(best.coef, best.intercept)[None])
        for end in self.best_loss[: k + 1]:
            end.limit(best.lower_bound)

    def find_ranges(self, running: Callable[[str], bool], deadline: Deadline) -> None:
        """Find score ranges while there is time: first those that decide who is ambiguous.

        Parameters
        ----------
        running : callable
            Is told how far this is before each point, and says whether to go on.
        deadline : float
            When to give up on a point.
        """
        n = self.problem.n_val
        while not self.solved.all() and running(f"score ranges, {self.solved.sum()} of {n} rows"):
            if self._models is None:
                budget = self.budgets[self.here]
                self._models = near_optimal(self.problem, self.box, budget, deadline=deadline)
                continue
            waiting = self.undecided & ~self.solved
            row = int(np.argmax(waiting if waiting.any() else ~self.solved))
            low, high, ends = row_ranges(self._models, self.rows[row : row + 1], deadline)
            self.low[row], self.high[row] = low[0], high[0]
            if len(ends):
                self._meet(self.here, ends * np.append(np.ones(len(self.box)), -1.0))
                self.solved[row] = True

    @property
    def undecided(self) -> Mask:
        """Points whose class may or may not be the same for all models of Ψ."""
        possible = (self.low < -STRICT) & (self.high > STRICT)
        return possible & ~((self.found_low < -STRICT) & (self.found_high > STRICT))

    def find_worst_loss(self, k: int, seconds: float | None) -> None:
        """Search for the largest validation loss at an ε of the grid."""
        worst = worst_case(self.problem, self.box, self.budgets[k], time_limit=seconds)
        self._meet_worst(k, worst)
        for end in self.worst_loss[: k + 1]:
            end.limit(worst.upper_bound)

    def find_worst_error(self, k: int, seconds: float | None) -> None:
        """Search for the largest error at an ε of the grid."""
        bound = self._count(self.problem, k, seconds)
        for end in self.worst_error[: k + 1]:
            end.limit(bound)

    def find_best_error(self, seconds: float | None) -> None:
        """Search for the least error."""
        best = best_case(
            self.problem, self.box, self.budgets[self.here], "zero_one", time_limit=seconds
        )
        self._meet(self.here, np.append(best.coef, best.intercept)[None])
        n = self.problem.n_val
        self.best_error.limit(math.ceil(best.lower_bound * n - STRICT) / n)

    def find_discrepancy(self, seconds: float | None) -> None:
        """Search for the largest error when the reference's predictions are the labels."""
        relabelled = _relabelled(self.problem, self.predicted)
        self.discrepancy.limit(self._count(relabelled, self.here, seconds))

    def _count(self, problem: TuningProblem, k: int, seconds: float | None) -> float:
        """Bound the largest error of a problem with these points, in whole points."""
        worst = worst_case(problem, self.box, self.budgets[k], loss="zero_one", time_limit=seconds)
        self._meet_worst(k, worst)
        return math.floor(worst.upper_bound * problem.n_val + STRICT) / problem.n_val

    def _meet_worst(self, k: int, worst: WorstCase) -> None:
        """Judge the model of a worst case, if it is certainly one of Ψ."""
        if worst.lower_bound == worst.value:
            self._meet(k, np.append(worst.coef, worst.intercept)[None])

    def _meet(self, k: int, models: Matrix) -> None:
        """Judge models ``(coef, intercept)`` of the k-th budget, which are models of the larger."""
        problem = self.problem
        scores = models[:, :-1] @ problem.X_val.T + models[:, -1:]
        margins = problem.y_val * scores
        loss = np.array([problem.val_loss(model[:-1], -float(model[-1])) for model in models])
        error = (margins < -STRICT) @ problem.val_weight
        for end, values in ((self.best_loss, loss), (self.worst_loss, loss)):
            for later in end[k:]:
                later.meet(values, models)
        for later in self.worst_error[k:]:
            later.meet(error, models)
        if k <= self.here:
            self.best_error.meet(error, models)
            changed = (self.predicted * scores < -STRICT) @ problem.val_weight
            self.discrepancy.meet(changed, models)
            self.found_low = np.minimum(self.found_low, scores.min(axis=0))
            self.found_high = np.maximum(self.found_high, scores.max(axis=0))

    def bound_by_ranges(self) -> None:
        """Bound everything as if every point could have its worst, or its best, score at once."""
        self._bound_losses(self.here, self.low, self.high)
        positive, agreeing = self.problem.y_val > 0.0, self.predicted > 0.0
        largest_margin = np.where(positive, self.high, -self.low)
        self.best_error.limit(float((largest_margin < -STRICT).mean()))
        least_agreement = np.where(agreeing, self.low, -self.high)
        self.discrepancy.limit(float((least_agreement < -STRICT).mean()))

    def _bound_losses(self, k: int, low: Vector, high: Vector) -> None:
        problem = self.problem
        positive = problem.y_val > 0.0
        least, largest = np.where(positive, low, -high), np.where(positive, high, -low)
        for j in range(k + 1):
            self.best_loss[j].limit(float(problem.val_weight @ hinge(largest)))
            self.worst_loss[j].limit(float(problem.val_weight @ hinge(least)))
            self.worst_error[j].limit(float((least < -STRICT).mean()))


def _relabelled(problem: TuningProblem, y_val: Vector) -> TuningProblem:
    return TuningProblem(
        problem.X_train, problem.y_train, problem.X_val, y_val, upper=problem.upper
    )
