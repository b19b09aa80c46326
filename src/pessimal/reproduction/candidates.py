"""The models that a study compares: each view's own, and the worst that its box lets through.

Whoever trains in a tuned box need not get the model that the tuning had in mind. The paper
therefore *evaluates* the optimistic view, eq. (evaluation-ML): it keeps the box, and takes the
near-optimal model that fits the validation set with flipped labels best. Here both views are
evaluated that way, so that equals are compared, in the smallest and in the largest of the boxes
that share a view's optimum, because the answer depends on that tie. Beside the flipped worst case
stands the exact one where it is asked for.

Baselines are what a practitioner would use instead, on all rows to tune on, T ∪ V: logistic
regression as it comes, and logistic regression and a linear SVM with C chosen by cross-validation.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.svm import LinearSVC

from pessimal.fitted import fitted_best, read_linear_model
from pessimal.flip import flip_mask
from pessimal.near_optimal import Extreme, worst_case
from pessimal.problem import Budget, Mask, Matrix, TuningProblem, Vector
from pessimal.reproduction.study import Row, Value
from pessimal.solution import TuningSolution
from pessimal.solve import solve_optimistic, solve_pessimistic
from pessimal.solvers.base import Task
from pessimal.ties import largest_box

PLAIN = "LogisticRegression()"
SEARCHED = ("LogisticRegression, C searched", "LinearSVC, C searched")
_C_GRID = np.logspace(-3, 3, 7)
_MOST_FOLDS = 5

WORST_CASE_NODES = 20_000
"""Nodes for one exact worst case: enough for twenty validation rows, a bound beyond."""


@dataclass(frozen=True, eq=False)
class Candidate:
    """A linear classifier and what a row says about it; the score is ``X @ coef + intercept``."""

    columns: Row
    coef: Vector
    intercept: float

    def correct(self, X: Matrix, y: Vector) -> Mask:
        """Return which rows have the label, −1 or +1, that the classifier predicts."""
        return np.asarray(np.where(X @ self.coef + self.intercept > 0.0, 1.0, -1.0) == y)

    def accuracy(self, X: Matrix, y: Vector) -> float:
        """Return the share of rows whose label the classifier predicts."""
        return float(self.correct(X, y).mean())


def candidates(
    problem: TuningProblem, budget: Budget, *, flips: Sequence[str], node_limit: int, exact: bool
) -> list[Candidate]:
    """Tune by both views and evaluate both in the worst case; `exact` adds the exact one.

    The first rule of `flips` is that of the pessimistic view; the evaluation is made by each. The
    budget is that of the pessimistic view and of the evaluation.
    """
    optimistic = solve_optimistic(problem, node_limit=node_limit)
    masks = {
        rule: flip_mask(problem, rule, lambda: (optimistic.coef, -optimistic.intercept))
        for rule in flips
    }
    pessimistic = solve_pessimistic(problem, budget, flip=masks[flips[0]], node_limit=node_limit)
    return [
        candidate
        for view, solution in (("optimistic", optimistic), ("pessimistic", pessimistic))
        for tie_break, box in _boxes(solution).items()
        for candidate in _of_box(view, solution, budget, tie_break, box, masks, exact)
    ]


def _boxes(solution: TuningSolution) -> dict[str, Vector]:
    task = Task(solution.problem, solution.budget, solution.flipped)
    largest = largest_box(task, solution.coef, -solution.intercept, solution.box)
    return {"smallest_box": solution.box, "largest_box": largest}


def _of_box(
    view: str,
    solution: TuningSolution,
    budget: Budget,
    tie_break: str,
    box: Vector,
    masks: Mapping[str, Mask],
    exact: bool,
) -> list[Candidate]:
    """Return the model of a view and those that its evaluation finds in a box, one for each rule.

    A row says what the model, the view and the box have come to.
    """
    evaluated = {
        rule: worst_case(solution.problem, box, budget, inner="flip", flip=mask)
        for rule, mask in masks.items()
    }
    own_rule = next(iter(masks))
    known: dict[str, Value] = {
        "tie_break": tie_break,
        "objective": solution.objective,
        "lower_bound": solution.lower_bound,
        "proved": solution.proved,
        "nodes": solution.nodes,
        "worst_flip": evaluated[own_rule].value,
    }
    if exact:
        worst = worst_case(solution.problem, box, budget, node_limit=WORST_CASE_NODES)
        known |= {"worst_exact": worst.value, "worst_exact_bound": worst.upper_bound}
    models: list[tuple[str, str, float, TuningSolution | Extreme]] = [
        (view, own_rule, solution.objective, solution),
        *((f"{view} evaluated", rule, worst.value, worst) for rule, worst in evaluated.items()),
    ]
    return [
        Candidate(
            {"model": name, "flip": rule, "validation_loss": loss, **known},
            model.coef,
            model.intercept,
        )
        for name, rule, loss, model in models
    ]


def baselines(problem: TuningProblem) -> list[Candidate]:
    """Fit every baseline on T ∪ V; its name is the column ``model``."""
    X = np.vstack([problem.X_train, problem.X_val])
    y = np.append(problem.y_train, problem.y_val)
    estimators = (
        (PLAIN, LogisticRegression()),
        (SEARCHED[0], _searched(LogisticRegression(max_iter=10_000), y)),
        (SEARCHED[1], _searched(LinearSVC(max_iter=10_000, random_state=0), y)),
    )
    return [_fitted(name, estimator, X, y) for name, estimator in estimators]


def _searched(classifier: Any, y: Vector) -> GridSearchCV:
    # Every fold needs a row of the rarer class.
    n_folds = min(_MOST_FOLDS, int((y > 0.0).sum()), int((y < 0.0).sum()))
    folds = StratifiedKFold(n_folds, shuffle=True, random_state=0)
    return GridSearchCV(classifier, {"C": _C_GRID}, cv=folds)


def _fitted(name: str, estimator: Any, X: Matrix, y: Vector) -> Candidate:
    with warnings.catch_warnings():
        # With C = 1000 on a dozen rows LinearSVC may stop short of its optimum; it is one
        # candidate of seven, and cross-validation judges it as it is.
        warnings.simplefilter("ignore", ConvergenceWarning)
        estimator.fit(X, y)
    model = read_linear_model(fitted_best(estimator))
    return Candidate({"model": name}, model.coef, model.intercept)
