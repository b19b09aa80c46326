"""The loss of any fitted estimator, from its probabilities, its scores or its predictions.

The margin of a row says how far the true class is ahead: the logit of its probability, or its score
less that of the strongest other class. For two classes both are the usual margin ``y·score``.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import is_classifier
from sklearn.utils.validation import _num_samples

from pessimal.errors import InvalidInputError
from pessimal.losses import HINGE, InMargin, Logistic, Loss, Squared, Step, ZeroOne
from pessimal.problem import Matrix, Vector

LEAST_PROBABILITY = float(np.finfo(np.float64).eps)
"""A probability counts as at least this, as in scikit-learn's log loss, which stays finite so."""

TWO = 2


def own_loss(model: Any) -> Loss:
    """Return the loss a fitted estimator is judged by unless another one is asked for."""
    if not is_classifier(model):
        return Squared()
    if hasattr(model, "predict_proba"):
        return Logistic()
    return HINGE if _scores(model) else ZeroOne()


def require_known(y: Any, classes: Any) -> None:
    """Refuse labels that training did not have."""
    for label in np.unique(y):
        if label not in classes:
            raise InvalidInputError(
                f"y has the label {label!r}, which training has not; pass labels of training"
            )


def losses(model: Any, X: Any, y: Any, loss: Loss) -> Vector:
    """Return the loss of each row."""
    if not is_classifier(model):
        if not isinstance(loss, Squared):
            raise InvalidInputError(
                f"loss is {type(loss).__name__}, which is for classes; pass 'squared', the loss "
                "of a regression"
            )
        return loss.value(residuals(model, X, y))
    if isinstance(loss, Step) and not isinstance(loss, InMargin):
        return np.asarray(model.predict(X) != y, np.float64)
    if isinstance(loss, Squared):
        if len(model.classes_) > TWO:
            raise InvalidInputError("loss is Squared, which knows two classes; pass 'log'")
        return loss.value(1.0 - margins(model, X, y, loss))
    return loss.value(margins(model, X, y, loss))


def residuals(model: Any, X: Any, y: Any) -> Vector:
    """Return what is left of each target."""
    return np.asarray(y, np.float64) - np.ravel(model.predict(X))


def margins(model: Any, X: Any, y: Any, loss: Loss) -> Vector:
    """Return how far the true class of each row is ahead, as a loss wants it."""
    rows, true = np.arange(len(y)), np.searchsorted(model.classes_, y)
    if hasattr(model, "predict_proba") and (isinstance(loss, Logistic) or not _scores(model)):
        right = np.asarray(model.predict_proba(X), np.float64)[rows, true]
        right = np.clip(right, LEAST_PROBABILITY, 1.0 - LEAST_PROBABILITY)
        return np.asarray(np.log(right) - np.log1p(-right))
    if not _scores(model):
        return np.where(model.predict(X) == y, 1.0, -1.0)
    scores = _by_class(model, X)
    right = scores[rows, true]
    scores[rows, true] = -np.inf
    return np.asarray(right - scores.max(axis=1))


def predictions(model: Any, X: Any, kind: str, loss: Loss) -> Any:
    """Return what a model says of rows: a number, a score, a probability, or one per class."""
    if not is_classifier(model):
        return np.ravel(np.asarray(model.predict(X), np.float64))
    many = len(model.classes_) > TWO
    if kind == "probability":
        shares = np.asarray(model.predict_proba(X), np.float64)
        return shares if many else shares[:, 1]
    if not many:
        return margins(model, X, np.full(_num_samples(X), model.classes_[1]), loss)
    if _scores(model):
        return _by_class(model, X)
    return np.asarray(model.predict(X)[:, None] == model.classes_, np.float64)


def strongest_wrong(model: Any, X: Any, y: Any) -> Any:
    """Return for each row the class that a model takes for the likeliest but the true one."""
    rows, true = np.arange(len(y)), np.searchsorted(model.classes_, y)
    if len(model.classes_) == TWO:
        return model.classes_[1 - true]
    if hasattr(model, "predict_proba"):
        scores = np.array(model.predict_proba(X), np.float64)
    elif _scores(model):
        scores = _by_class(model, X)
    else:
        scores = np.asarray(model.predict(X)[:, None] == model.classes_, np.float64)
    scores[rows, true] = -np.inf
    return model.classes_[scores.argmax(axis=1)]


def _scores(model: Any) -> bool:
    """Whether there is one score per class; a vote between pairs of classes is none."""
    pairs = getattr(model, "decision_function_shape", "ovr") == "ovo" and len(model.classes_) > TWO
    return hasattr(model, "decision_function") and not pairs


def _by_class(model: Any, X: Any) -> Matrix:
    """Return one score per class; for two, half the score each, so that they differ by it."""
    scores = np.array(model.decision_function(X), np.float64)
    return np.column_stack([-0.5 * scores, 0.5 * scores]) if scores.ndim == 1 else scores


def constant_loss(loss: Loss, y: Any, weight: Vector) -> float:
    """Return the mean loss of the best constant, or of half a chance for scores."""
    if isinstance(loss, Squared):
        mean = np.average(y, weights=weight)
        return float(np.average(np.square(y - mean), weights=weight))
    _, which = np.unique(y, return_inverse=True)
    shares = np.bincount(which, weights=weight) / weight.sum()
    if isinstance(loss, Logistic):
        return float(-(shares[shares > 0.0] * np.log(shares[shares > 0.0])).sum())
    return float(1.0 - shares.max()) if isinstance(loss, ZeroOne) else 1.0
