"""Reading a fitted linear classifier of two classes.

Whatever carries one row of ``coef_``, an ``intercept_`` and two ``classes_`` is one:
LogisticRegression, LinearSVC, SGDClassifier and RidgeClassifier of scikit-learn are, and so are
the estimators of this package. Such a model predicts the second class where
``X @ coef + intercept > 0``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from pessimal.errors import InvalidInputError
from pessimal.labels import Classes
from pessimal.near_optimal.base import Linear


@dataclass(frozen=True, eq=False)
class LinearModel(Linear):
    """A linear classifier with its classes of negative and positive score, and its own name."""

    classes: Classes
    name: str


def fitted_best(model: Any) -> Any:
    """Return the classifier that a search such as GridSearchCV found; others as they are."""
    if not hasattr(model, "best_index_"):
        return model
    if not hasattr(model, "best_estimator_"):
        raise InvalidInputError(
            f"model is a {type(model).__name__} without best_estimator_; search with refit=True, "
            "or pass a fitted linear classifier"
        )
    return model.best_estimator_


def require_fitted(model: Any) -> str:
    """Refuse what is not a fitted estimator; return its name."""
    name = type(model).__name__
    try:
        check_is_fitted(model)
    except NotFittedError:
        raise InvalidInputError(f"model is a {name} that is not fitted; fit it first") from None
    except TypeError:
        raise InvalidInputError(
            f"model is a {name}; pass a fitted linear classifier such as LogisticRegression"
        ) from None
    return name


def read_linear_model(model: Any) -> LinearModel:
    """Take the coefficients, intercept and classes out of a fitted linear classifier."""
    name = require_fitted(model)
    parts = [getattr(model, part, None) for part in ("coef_", "intercept_", "classes_")]
    if any(part is None for part in parts):
        raise InvalidInputError(
            f"model is a {name} without coef_, intercept_ and classes_; pass a linear classifier "
            "such as LogisticRegression, LinearSVC or SGDClassifier"
        )
    coef, intercept, classes = (np.asarray(part) for part in parts)
    # Some classifiers of two classes keep one row of coefficients, some keep it without its axis.
    coef = np.atleast_2d(coef)
    if classes.shape != (2,) or coef.ndim != 2 or len(coef) != 1:
        raise InvalidInputError(
            f"model is a {name} with classes_ of shape {classes.shape} and coef_ of shape "
            f"{coef.shape}; pass a classifier of two classes"
        )
    # A model without intercept keeps the number 0.0 where others keep an array of one.
    return linear_model(coef[0], intercept.ravel()[0], tuple(classes.tolist()), name)


def linear_model(coef: Any, intercept: Any, classes: Classes, name: str) -> LinearModel:
    """Check the numbers of a linear model."""
    try:
        numbers, offset = np.array(coef, dtype=np.float64), float(intercept)
    except (TypeError, ValueError):
        raise InvalidInputError(
            f"model ({name}) has a coef or an intercept that cannot be read as numbers; pass one "
            "coefficient per feature and one intercept"
        ) from None
    if numbers.ndim != 1 or not (np.isfinite(numbers).all() and np.isfinite(offset)):
        raise InvalidInputError(
            f"model ({name}) has coefficients of shape {numbers.shape} or numbers that are not "
            "finite; pass one finite coefficient per feature and a finite intercept"
        )
    return LinearModel(numbers, offset, classes, name)
