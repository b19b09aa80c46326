"""Ways to choose hyperparameters by cross-validation: the usual ones, and pessimistically."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from sklearn.model_selection import GridSearchCV, StratifiedKFold

from pessimal.losses import Logistic
from pessimal.model_selection import PessimisticSearchCV
from pessimal.model_selection.choice import simplicity
from pessimal.near_optimal.retrained.judging import losses
from pessimal.reproduction.selection.models import Kind

N_FOLDS = 3
EPSILONS = (0.01, 0.05, 0.2)
REFITS = 12
"""For each worst case of a model of which nothing can be proved."""

ACCURACY, LOG_LOSS = "accuracy", "log loss"
ONE_SE = tuple(f"one s.e., {score}" for score in (ACCURACY, LOG_LOSS))


def pessimistic(epsilon: float) -> str:
    """Return what the pessimistic choice is called."""
    return f"ε = {100 * epsilon:g} %"


METHODS = (ACCURACY, LOG_LOSS, *ONE_SE, *(pessimistic(epsilon) for epsilon in EPSILONS))


def choices(kind: Kind, X: Any, y: Any, seed: int) -> Mapping[str, Mapping[str, Any]]:
    """Return the parameters that each method chooses, all of them on the same folds."""
    estimator = kind.make(seed)
    folds = StratifiedKFold(N_FOLDS, shuffle=True, random_state=seed)
    scoring = {ACCURACY: "accuracy", LOG_LOSS: neg_log_loss}
    usual = GridSearchCV(estimator, dict(kind.grid), scoring=scoring, refit=False, cv=folds)
    results = usual.fit(X, y).cv_results_
    chosen = {score: best(results, score) for score in scoring}
    chosen |= {
        rule: one_standard_error(results, score)
        for rule, score in zip(ONE_SE, scoring, strict=True)
    }
    for epsilon in EPSILONS:
        search = PessimisticSearchCV(
            estimator,
            dict(kind.grid),
            epsilon=epsilon,
            # What is found has no clock in it, and is what bounds prove where they are sharp.
            criterion="found",
            cv=folds,
            node_limit=REFITS,
            refit=False,
        )
        chosen[pessimistic(epsilon)] = search.fit(X, y).best_params_
    return chosen


def neg_log_loss(model: Any, X: Any, y: Any) -> float:
    """Score by the log loss; the scores of a model without probabilities are read as logits."""
    return -float(losses(model, X, y, Logistic()).mean())


def best(results: Mapping[str, Any], score: str) -> Mapping[str, Any]:
    """Return the candidate of largest mean score, the first of several, as `GridSearchCV` does."""
    parameters: Mapping[str, Any] = results["params"][results[f"rank_test_{score}"].argmin()]
    return parameters


def one_standard_error(results: Mapping[str, Any], score: str) -> Mapping[str, Any]:
    """Return the strongest penalty whose mean score is within one standard error of the best."""
    means, spreads = results[f"mean_test_{score}"], results[f"std_test_{score}"]
    top = int(means.argmax())
    # The deviation in cv_results_ divides by the number of folds, not by one less.
    error = spreads[top] / np.sqrt(N_FOLDS - 1)
    near = np.flatnonzero(means >= means[top] - error)
    parameters: Mapping[str, Any] = min((results["params"][k] for k in near), key=simplicity)
    return parameters
