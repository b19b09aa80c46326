"""What the estimators of scikit-learn minimise, exactly their own."""

from __future__ import annotations

from collections.abc import Callable
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from pessimal.errors import InvalidInputError
from pessimal.losses import Logistic, SmoothLoss, Squared, SquaredHinge
from pessimal.near_optimal.smooth.problem import (
    Coordinates,
    Encoder,
    Penalty,
    TrainingProblem,
    counted,
    weighted,
)
from pessimal.near_optimal.smooth.source import Summary, column_names, dense, read_source

CLASSIFIERS = ("RidgeClassifier", "LogisticRegression", "LinearSVC")


def known_name(estimator: Any) -> str | None:
    """Return the name of an estimator of scikit-learn whose training problem is known.

    By its name, for the modules of all of them together are slow to import.
    """
    kind = type(estimator)
    ours = kind.__module__.startswith("sklearn.") and kind.__name__ in _PENALTIES
    return kind.__name__ if ours else None


def training_problem(
    estimator: Any, X: Any, y: Any, sample_weight: ArrayLike | None = None
) -> TrainingProblem:
    """Read what an estimator would minimise on (X, y)."""
    name = known_name(estimator)
    if name is None:
        raise InvalidInputError(
            f"estimator is a {type(estimator).__name__}; the training problems known here are "
            f"those of {', '.join(_PENALTIES)}"
        )
    classifies = name in CLASSIFIERS
    source = read_source(X, y, sample_weight, classifies=classifies)
    summary, classes, factors = source.summary, None, (1.0, 1.0)
    if classifies:
        classes = _two_classes(summary)
        factors = _class_weights(estimator, summary)
    _refuse_positive(estimator)
    total = summary.weight
    if classifies:
        total = sum(f * w for f, w in zip(factors, summary.class_weights, strict=True))
    loss, penalty = _PENALTIES[name](estimator, total)
    intercept = bool(estimator.fit_intercept)
    # The absolute value of an intercept is that of a variable only if nothing is shifted.
    shifted = intercept and not penalty.intercept_l1
    first = counted(source.first)[0]
    # If no row of the first piece counts, any unit will do.
    first = first if first.shape[0] else source.first[0]
    coordinates = Coordinates.of(dense(first), intercept, shifted)
    encoder = Encoder(coordinates, classes, not isinstance(loss, Squared), factors)
    return TrainingProblem(
        weighted(source, encoder, total),
        loss,
        coordinates.curvature(penalty),
        coordinates.l1(penalty),
        coordinates,
        classes,
        column_names(X),
        summary.n_rows,
    )


def _two_classes(summary: Summary) -> tuple[Any, Any]:
    if len(summary.classes) != 2:
        raise InvalidInputError(
            f"y has {len(summary.classes)} classes; a near-optimal set of a classifier needs two"
        )
    for label, weight in zip(summary.classes, summary.class_weights, strict=True):
        if not weight:
            raise InvalidInputError(
                f"sample_weight is 0 for all rows of class {label!r}; give some of them weight"
            )
    return summary.classes[0], summary.classes[1]


def _class_weights(estimator: Any, summary: Summary) -> tuple[float, float]:
    """Return factors of both classes; all but the ridge balance the weights of rows."""
    given = estimator.class_weight
    if given is None:
        return 1.0, 1.0
    if isinstance(given, str) and given == "balanced":
        ridge = known_name(estimator) == "RidgeClassifier"
        sizes = summary.class_counts if ridge else summary.class_weights
        low, high = (sum(sizes) / (2.0 * size) for size in sizes)
        return low, high
    if not isinstance(given, dict):
        raise InvalidInputError(
            f"estimator has class_weight={given!r}; pass 'balanced', a dict or None"
        )
    unknown = [label for label in given if label not in summary.classes]
    if unknown:
        raise InvalidInputError(
            f"estimator has a class_weight for {unknown[0]!r}, which is no label of y; pass "
            f"weights for {summary.classes[0]!r} and {summary.classes[1]!r}"
        )
    low, high = (float(given.get(label, 1.0)) for label in summary.classes)
    return low, high


def _refuse_positive(estimator: Any) -> None:
    if getattr(estimator, "positive", False):
        raise InvalidInputError(
            "estimator has positive=True; the near-optimal models of that are not known here, so "
            "pass positive=False"
        )


def _positive(estimator: Any, name: str) -> float:
    """Return a parameter that scikit-learn wants above 0."""
    value = getattr(estimator, name)
    if not (isinstance(value, Real) and float(value) > 0.0):
        raise InvalidInputError(f"estimator has {name}={value!r}; pass a positive number")
    return float(value)


def _not_negative(estimator: Any, name: str) -> float:
    """Return a parameter that is a finite number of at least 0."""
    value = getattr(estimator, name)
    if np.ndim(value) != 0:
        raise InvalidInputError(f"estimator has one {name} per target; pass a single number")
    if not (isinstance(value, Real) and 0.0 <= float(value) < np.inf):
        raise InvalidInputError(
            f"estimator has {name}={value!r}; pass a finite number that is not negative"
        )
    return float(value)


def _ridge(estimator: Any, total: float) -> tuple[SmoothLoss, Penalty]:
    return Squared(), Penalty(l2=2.0 * _not_negative(estimator, "alpha") / total)


def _least_squares(_: Any, __: float) -> tuple[SmoothLoss, Penalty]:
    return Squared(), Penalty()


def _lasso(estimator: Any, _: float) -> tuple[SmoothLoss, Penalty]:
    """Return twice scikit-learn's objective, which has half of the mean square."""
    alpha, l1 = _not_negative(estimator, "alpha"), 1.0
    if known_name(estimator) == "ElasticNet":
        l1 = _not_negative(estimator, "l1_ratio")
        if l1 > 1.0:
            raise InvalidInputError(f"estimator has l1_ratio={l1!r}; pass a number from 0 to 1")
    return Squared(), Penalty(l2=2.0 * alpha * (1.0 - l1), l1=2.0 * alpha * l1)


def _logistic(estimator: Any, total: float) -> tuple[SmoothLoss, Penalty]:
    l1 = _l1_ratio(estimator)
    strength = 0.0 if estimator.penalty is None else 1.0 / _positive(estimator, "C") / total
    # liblinear appends a column of `intercept_scaling` and penalises its coefficient.
    scaling = np.inf
    if estimator.solver == "liblinear":
        scaling = _positive(estimator, "intercept_scaling")
    squares, absolute = strength * (1.0 - l1), strength * l1
    return Logistic(), Penalty(squares, absolute, squares / scaling**2, absolute / scaling)


def _l1_ratio(estimator: Any) -> float:
    """Return the share of absolute values in the penalty of a logistic regression."""
    penalty, ratio = estimator.penalty, estimator.l1_ratio
    if penalty in ("deprecated", "elasticnet"):
        ratio = 0.0 if ratio is None else ratio
        if isinstance(ratio, Real) and 0.0 <= float(ratio) <= 1.0:
            return float(ratio)
    elif penalty in ("l1", "l2", None) and ratio in (0, None):
        return 1.0 if penalty == "l1" else 0.0
    raise InvalidInputError(
        f"estimator has penalty={penalty!r} and l1_ratio={ratio!r}; pass an l1_ratio from 0 to 1 "
        "and leave penalty at its default"
    )


def _svc(estimator: Any, total: float) -> tuple[SmoothLoss, Penalty]:
    if estimator.loss != "squared_hinge" or estimator.penalty != "l2":
        raise InvalidInputError(
            f"estimator has loss={estimator.loss!r} and penalty={estimator.penalty!r}; pass "
            "loss='squared_hinge' and penalty='l2'"
        )
    strength = 1.0 / _positive(estimator, "C") / total
    scaling = _positive(estimator, "intercept_scaling")
    return SquaredHinge(), Penalty(l2=strength, intercept_l2=strength / scaling**2)


_PENALTIES: dict[str, Callable[[Any, float], tuple[SmoothLoss, Penalty]]] = {
    "Ridge": _ridge,
    "RidgeClassifier": _ridge,
    "LinearRegression": _least_squares,
    "Lasso": _lasso,
    "ElasticNet": _lasso,
    "LogisticRegression": _logistic,
    "LinearSVC": _svc,
}
"""Loss and penalty, with the sum of the weights by which the objective is divided."""
