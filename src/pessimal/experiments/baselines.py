"""What a practitioner would use instead: plain classifiers on all rows to tune on, T ∪ V.

Logistic regression as it comes, and logistic regression and a linear SVM with C chosen by
cross-validation on T ∪ V.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.svm import LinearSVC

from pessimal.experiments.contenders import Contender
from pessimal.fitted import read_linear_model
from pessimal.problem import Matrix, TuningProblem, Vector

PLAIN = "LogisticRegression()"
SEARCHED = ("LogisticRegression, C searched", "LinearSVC, C searched")
_C_GRID = np.logspace(-3, 3, 7)
_MOST_FOLDS = 5


def baselines(problem: TuningProblem) -> list[Contender]:
    """Fit every baseline on T ∪ V.

    Returns
    -------
    list of Contender
        With the one column ``model``.

    Examples
    --------
    >>> problem = TuningProblem([[-1.0], [1.0]], [-1, 1], [[-2.0], [2.0]], [-1, 1])
    >>> [fitted.columns["model"] for fitted in baselines(problem)][0]
    'LogisticRegression()'
    """
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


def _fitted(name: str, estimator: Any, X: Matrix, y: Vector) -> Contender:
    with warnings.catch_warnings():
        # With C = 1000 on a dozen rows LinearSVC may stop short of its optimum; it is one
        # candidate of seven, and cross-validation judges it as it is.
        warnings.simplefilter("ignore", ConvergenceWarning)
        estimator.fit(X, y)
    model = read_linear_model(getattr(estimator, "best_estimator_", estimator))
    return Contender({"model": name}, model.coef, model.intercept)
