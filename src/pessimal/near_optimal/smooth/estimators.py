"""The training problem of a scikit-learn estimator, exactly its own.

Objectives are divided by the sum of the weights, which changes no model, so that the loss is a mean
and δ means the same for all of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge, RidgeClassifier
from sklearn.svm import LinearSVC
from sklearn.utils.class_weight import compute_class_weight, compute_sample_weight
from sklearn.utils.validation import check_X_y

from pessimal.errors import InvalidInputError
from pessimal.losses import Logistic, SmoothLoss, Squared, SquaredHinge
from pessimal.near_optimal.smooth.objective import MeanLoss, Objective, Rows, shares
from pessimal.problem import Matrix, Vector

SUPPORTED = (Ridge, RidgeClassifier, LinearRegression, LogisticRegression, LinearSVC)


@dataclass(frozen=True, eq=False)
class TrainingProblem:
    """What an estimator minimises, and how it reads rows and labels.

    Attributes
    ----------
    objective : Objective
    classes : tuple or None
        The two classes, negative one first; None for regression.
    intercept : bool
        Whether the last of the variables is an intercept.
    """

    objective: Objective
    classes: tuple[Any, Any] | None
    intercept: bool

    @property
    def loss(self) -> SmoothLoss:
        """The loss whose mean is minimised."""
        return self.objective.mean.loss

    def rows(self, X: Matrix, y: Vector, loss: SmoothLoss) -> Rows:
        """Return rows of other data, with labels −1 and +1 or targets, for a loss."""
        share = np.full(len(y), 1.0 / len(y))
        return _rows(X, y, share, loss, self.intercept, self.classes is not None)

    def points(self, X: ArrayLike, y: ArrayLike) -> tuple[Matrix, Vector]:
        """Read points to judge models by, their labels as −1 and +1."""
        values, targets = check_X_y(X, y, dtype=np.float64, y_numeric=self.classes is None)
        n_features = len(self.objective.penalty) - self.intercept
        if values.shape[1] != n_features:
            raise InvalidInputError(
                f"X has {values.shape[1]} columns; pass {n_features}, as in training"
            )
        if self.classes is None:
            return values, np.asarray(targets, np.float64)
        strange = ~np.isin(targets, self.classes)
        if strange.any():
            raise InvalidInputError(
                f"y has the label {targets[strange][0]!r}; pass labels {self.classes[0]!r} and "
                f"{self.classes[1]!r}, as in training"
            )
        return values, np.where(targets == self.classes[1], 1.0, -1.0)

    def scored(self, X: Matrix) -> Matrix:
        """Return the rows whose products with the variables are scores."""
        return np.column_stack([X, np.ones(len(X))]) if self.intercept else X


def training_problem(
    estimator: Any, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None
) -> TrainingProblem:
    """Read what an estimator would minimise on (X, y)."""
    classifier = isinstance(estimator, RidgeClassifier | LogisticRegression | LinearSVC)
    values, targets = check_X_y(
        X, y, dtype=np.float64, y_numeric=not classifier, multi_output=False
    )
    weight = np.ones(len(targets)) if sample_weight is None else np.array(sample_weight, np.float64)
    if weight.shape != (len(targets),):
        raise InvalidInputError(
            f"sample_weight has shape {weight.shape}; pass {len(targets)} weights, one per row"
        )
    classes = None
    if classifier:
        classes = _two_classes(targets)
        weight = weight * _class_weights(estimator, targets, weight)
        targets = np.where(targets == classes[1], 1.0, -1.0)
    _refuse_positive(estimator)
    loss, strength, on_intercept = _PENALTIES[_kind(estimator)](estimator)
    intercept = bool(estimator.fit_intercept)
    penalty = np.full(values.shape[1], strength)
    if intercept:
        penalty = np.append(penalty, on_intercept)
    share = shares(weight)
    rows = _rows(values, targets, share, loss, intercept, classes is not None)
    objective = Objective(MeanLoss(rows, loss), penalty / weight.sum())
    return TrainingProblem(objective, classes, intercept)


def _rows(
    X: Matrix, y: Vector, share: Vector, loss: SmoothLoss, intercept: bool, classifies: bool
) -> Rows:
    Z = np.column_stack([X, np.ones(len(X))]) if intercept else X
    if isinstance(loss, Squared):  # of the residual; the labels of a classifier are its targets
        return Rows(Z, y, share)
    assert classifies
    return Rows(Z * y[:, None], np.zeros(len(y)), share)


def _kind(estimator: Any) -> type:
    for kind in SUPPORTED:
        if type(estimator) is kind:
            return kind
    raise InvalidInputError(
        f"estimator is a {type(estimator).__name__}; the training problems known here are those "
        f"of {', '.join(kind.__name__ for kind in SUPPORTED)}"
    )


def _two_classes(y: Any) -> tuple[Any, Any]:
    classes = np.unique(y)
    if len(classes) != 2:
        raise InvalidInputError(
            f"y has {len(classes)} classes; a near-optimal set of a classifier needs two"
        )
    return classes[0], classes[1]


def _class_weights(estimator: Any, y: Any, weight: Vector) -> Vector:
    """Weights of the rows by their classes; all but the ridge balance the weights of rows."""
    if estimator.class_weight is None:
        return np.ones(len(y))
    if not isinstance(estimator, RidgeClassifier) and estimator.class_weight == "balanced":
        classes = np.unique(y)
        factors = compute_class_weight("balanced", classes=classes, y=y, sample_weight=weight)
        return np.asarray(factors[np.searchsorted(classes, y)])
    return np.asarray(compute_sample_weight(estimator.class_weight, y))


def _refuse_positive(estimator: Any) -> None:
    if getattr(estimator, "positive", False):
        raise InvalidInputError(
            "estimator has positive=True; the near-optimal models of that are not known here, so "
            "pass positive=False"
        )


def _ridge(estimator: Any) -> tuple[SmoothLoss, float, float]:
    if np.ndim(estimator.alpha) != 0:
        raise InvalidInputError("estimator has one alpha per target; pass a single number")
    return Squared(), 2.0 * float(estimator.alpha), 0.0


def _least_squares(_: Any) -> tuple[SmoothLoss, float, float]:
    return Squared(), 0.0, 0.0


def _logistic(estimator: Any) -> tuple[SmoothLoss, float, float]:
    if estimator.penalty not in ("deprecated", "l2", None) or estimator.l1_ratio not in (0, None):
        raise InvalidInputError(
            f"estimator has penalty={estimator.penalty!r} and l1_ratio={estimator.l1_ratio!r}; "
            "only the l2 penalty is known here, so pass l1_ratio=0"
        )
    strength = 0.0 if estimator.penalty is None else 1.0 / float(estimator.C)
    # liblinear appends a column of `intercept_scaling` and penalises its coefficient.
    scaled = strength / float(estimator.intercept_scaling) ** 2
    return Logistic(), strength, scaled if estimator.solver == "liblinear" else 0.0


def _svc(estimator: Any) -> tuple[SmoothLoss, float, float]:
    if estimator.loss != "squared_hinge" or estimator.penalty != "l2":
        raise InvalidInputError(
            f"estimator has loss={estimator.loss!r} and penalty={estimator.penalty!r}; pass "
            "loss='squared_hinge' and penalty='l2'"
        )
    strength = 1.0 / float(estimator.C)
    return SquaredHinge(), strength, strength / float(estimator.intercept_scaling) ** 2


_PENALTIES = {
    Ridge: _ridge,
    RidgeClassifier: _ridge,
    LinearRegression: _least_squares,
    LogisticRegression: _logistic,
    LinearSVC: _svc,
}
"""Loss, and the curvature of the penalty on coefficients and intercept, before division."""
