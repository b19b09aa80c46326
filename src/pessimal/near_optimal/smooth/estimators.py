"""The training problem of a scikit-learn estimator, exactly its own.

Objectives are divided by the sum of the weights, which changes no model, so that the loss is a mean
and δ means the same for all of them. Inside, features are shifted and scaled to order one, so that
units do not matter to the arithmetic; the penalty is that of the features as they came.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import issparse
from sklearn.linear_model import (
    ElasticNet,
    Lasso,
    LinearRegression,
    LogisticRegression,
    Ridge,
    RidgeClassifier,
)
from sklearn.svm import LinearSVC

from pessimal.errors import InvalidInputError
from pessimal.losses import Logistic, SmoothLoss, Squared, SquaredHinge
from pessimal.near_optimal.base import Linear
from pessimal.near_optimal.smooth.rows import Block, HeldRows, Rows
from pessimal.near_optimal.smooth.source import (
    Piece,
    Source,
    Summary,
    column_names,
    dense,
    read_source,
)
from pessimal.problem import Matrix, Vector

SUPPORTED = (
    Ridge,
    RidgeClassifier,
    LinearRegression,
    Lasso,
    ElasticNet,
    LogisticRegression,
    LinearSVC,
)


@dataclass(frozen=True)
class Penalty:
    """``½l2·‖coef‖² + l1·‖coef‖₁``, and such a one on the intercept."""

    l2: float = 0.0
    l1: float = 0.0
    intercept_l2: float = 0.0
    intercept_l1: float = 0.0


@dataclass(frozen=True, eq=False)
class Coordinates:
    """Features as they are worked with: ``z = ((x − shift)/scale, 1)``, the 1 for the intercept."""

    shift: Vector
    scale: Vector
    intercept: bool

    @classmethod
    def of(cls, X: Matrix, intercept: bool, shifted: bool) -> Coordinates:
        """Take mean and spread of some rows; without an intercept nothing can be shifted."""
        shift = X.mean(axis=0) if shifted else np.zeros(X.shape[1])
        size = np.sqrt(np.square(X - shift).mean(axis=0))
        # A power of two rounds nothing. What does not vary in these rows keeps its unit.
        scale = np.exp2(np.round(np.log2(np.where(size > 0.0, size, 1.0))))
        return cls(shift, scale, intercept)

    def rows(self, X: Matrix) -> Matrix:
        """Return the rows ``z``."""
        Z = np.empty((len(X), X.shape[1] + self.intercept))
        np.subtract(X, self.shift, out=Z[:, : X.shape[1]])
        Z[:, : X.shape[1]] /= self.scale
        Z[:, X.shape[1] :] = 1.0
        return Z

    def model(self, u: Vector) -> Linear:
        """Return the model of the features as they came."""
        coef = u[: len(self.scale)] / self.scale
        return Linear(coef, float(u[-1] - coef @ self.shift) if self.intercept else 0.0)

    def variables(self, model: Linear) -> Vector:
        """Return the variables of a model."""
        coef = np.asarray(model.coef, np.float64)
        if not self.intercept:
            return coef * self.scale
        return np.append(coef * self.scale, model.intercept + coef @ self.shift)

    def curvature(self, penalty: Penalty) -> Matrix:
        """Return P of the quadratic part of a penalty."""
        n = len(self.scale)
        P = np.zeros((n + self.intercept, n + self.intercept))
        P[:n, :n] = np.diag(penalty.l2 / np.square(self.scale))
        if self.intercept and penalty.intercept_l2:
            back = np.append(-self.shift / self.scale, 1.0)
            P += penalty.intercept_l2 * np.outer(back, back)
        return P

    def l1(self, penalty: Penalty) -> Vector:
        """Return the factors of the absolute values of the variables."""
        factors = penalty.l1 / self.scale
        return np.append(factors, penalty.intercept_l1) if self.intercept else factors


@dataclass(frozen=True, eq=False)
class Encoder:
    """Makes blocks of rows as a loss wants them."""

    coordinates: Coordinates
    classes: tuple[Any, Any] | None
    signed: bool
    factors: tuple[float, float] = (1.0, 1.0)

    def __call__(self, piece: Piece) -> Block:
        """Encode a piece of data; its weights are divided by their sum later."""
        X, y, weight = _counted(piece)
        Z = self.coordinates.rows(dense(X))
        if self.classes is None:
            return Block.of(Z, np.asarray(y, np.float64), weight)
        positive = np.asarray(y == self.classes[1])
        labels = np.where(positive, 1.0, -1.0)
        weight = weight * np.where(positive, self.factors[1], self.factors[0])
        if self.signed:
            return Block.of(Z * labels[:, None], np.zeros(len(Z)), weight)
        return Block.of(Z, labels, weight)


@dataclass(frozen=True, eq=False)
class TrainingProblem:
    """What an estimator minimises, and how it reads rows and labels.

    Attributes
    ----------
    rows : Rows
    loss : SmoothLoss
    penalty : ndarray
        P of the quadratic penalty.
    l1 : ndarray
        Factors of absolute values in the other one.
    coordinates : Coordinates
    classes : tuple or None
        The two classes, negative one first; None for regression.
    columns : tuple or None
        Names of the features, if they came with some.
    n_rows : int
    """

    rows: Rows
    loss: SmoothLoss
    penalty: Matrix
    l1: Vector
    coordinates: Coordinates
    classes: tuple[Any, Any] | None
    columns: tuple[str, ...] | None
    n_rows: int

    def require_columns(self, X: Any) -> None:
        """Refuse a data frame whose columns are not those of training."""
        names = column_names(X)
        if None not in (names, self.columns) and names != self.columns:
            raise InvalidInputError(
                f"X has the columns {', '.join(names or ())}; pass those of training in their "
                f"order: {', '.join(self.columns or ())}"
            )

    def points(self, X: Any, y: Any) -> Source:
        """Read points to judge models by; check that they are like those of training."""
        self.require_columns(X)
        source = read_source(X, y, None, classifies=self.classes is not None)
        n_features = len(self.coordinates.scale)
        if source.summary.n_features != n_features:
            raise InvalidInputError(
                f"X has {source.summary.n_features} columns; pass {n_features}, as in training"
            )
        if self.classes is not None:
            for label in source.summary.classes:
                if label not in self.classes:
                    raise InvalidInputError(
                        f"y has the label {label!r}; pass labels {self.classes[0]!r} and "
                        f"{self.classes[1]!r}, as in training"
                    )
        return source

    def encoded(self, points: Source, loss: SmoothLoss) -> Rows:
        """Return rows of points as a loss wants them."""
        signed = not isinstance(loss, Squared)
        if signed and self.classes is None:
            raise InvalidInputError(
                f"loss is {type(loss).__name__}, which is for classes; pass 'squared', the loss "
                "of a regression"
            )
        encoder = Encoder(self.coordinates, self.classes, signed)
        return _weighted(points, encoder, points.summary.weight)


def training_problem(
    estimator: Any, X: Any, y: Any, sample_weight: ArrayLike | None = None
) -> TrainingProblem:
    """Read what an estimator would minimise on (X, y)."""
    kind = _kind(estimator)
    classifies = kind in (RidgeClassifier, LogisticRegression, LinearSVC)
    source = read_source(X, y, sample_weight, classifies=classifies)
    summary, classes, factors = source.summary, None, (1.0, 1.0)
    if classifies:
        classes = _two_classes(summary)
        factors = _class_weights(estimator, summary)
    _refuse_positive(estimator)
    total = summary.weight
    if classifies:
        total = sum(f * w for f, w in zip(factors, summary.class_weights, strict=True))
    loss, penalty = _PENALTIES[kind](estimator, total)
    intercept = bool(estimator.fit_intercept)
    # The absolute value of an intercept is that of a variable only if nothing is shifted.
    shifted = intercept and not penalty.intercept_l1
    first = _counted(source.first)[0]
    # If no row of the first piece counts, any unit will do.
    first = first if first.shape[0] else source.first[0]
    coordinates = Coordinates.of(dense(first), intercept, shifted)
    encoder = Encoder(coordinates, classes, not isinstance(loss, Squared), factors)
    return TrainingProblem(
        _weighted(source, encoder, total),
        loss,
        coordinates.curvature(penalty),
        coordinates.l1(penalty),
        coordinates,
        classes,
        column_names(X),
        summary.n_rows,
    )


def _weighted(source: Source, encoder: Encoder, total: float) -> Rows:
    """Return encoded rows with weights that sum to 1, held in memory where the data are.

    What is sparse would grow, and a parabola passes over its rows once or twice.
    """
    rows = source.rows(Shares(encoder, total))
    held = source.in_memory and not issparse(source.first[0]) and encoder.signed
    return HeldRows(rows.each(_itself)) if held else rows


def _counted(piece: Piece) -> Piece:
    """Leave out the rows of weight 0."""
    X, y, weight = piece
    keep = weight > 0.0
    return piece if keep.all() else (X[keep], y[keep], weight[keep])


def _itself(block: Block) -> Block:
    return block


@dataclass(frozen=True, eq=False)
class Shares:
    """Encodes, and divides the weights by their sum."""

    encoder: Encoder
    total: float

    def __call__(self, piece: Piece) -> Block:
        """Encode a piece of data."""
        block = self.encoder(piece)
        return Block.of(block.Z, block.offset, block.weight / self.total)


def _kind(estimator: Any) -> type:
    for kind in SUPPORTED:
        if type(estimator) is kind:
            return kind
    raise InvalidInputError(
        f"estimator is a {type(estimator).__name__}; the training problems known here are those "
        f"of {', '.join(kind.__name__ for kind in SUPPORTED)}"
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
        ridge = type(estimator) is RidgeClassifier
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
    if type(estimator) is ElasticNet:
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


_PENALTIES: dict[type, Callable[[Any, float], tuple[SmoothLoss, Penalty]]] = {
    Ridge: _ridge,
    RidgeClassifier: _ridge,
    LinearRegression: _least_squares,
    Lasso: _lasso,
    ElasticNet: _lasso,
    LogisticRegression: _logistic,
    LinearSVC: _svc,
}
"""Loss and penalty, with the sum of the weights by which the objective is divided."""
