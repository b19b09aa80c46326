"""What the estimators share: inputs read by scikit-learn's rules, scaling, a linear score.

The box limits ``|w_j|`` the same for every feature, which is fair only when features have the same
spread; hence the scaling. A model ``(w, b)`` of scaled features has ``coef_j = w_j / scale_j`` and
``intercept = −b − Σ_j coef_j·mean_j`` in the user's units.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils import Tags
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import (
    _check_sample_weight,
    check_is_fitted,
    column_or_1d,
    validate_data,
)

from pessimal.errors import InvalidInputError
from pessimal.estimators.final import FINALS
from pessimal.estimators.split import Rows
from pessimal.flip import RULES
from pessimal.limits import AT_ONCE, LATE_SECONDS, LATE_SHARE, Deadline
from pessimal.near_optimal.pipeline import PipelineSet
from pessimal.near_optimal.polyhedral.box_set import BoxSet
from pessimal.near_optimal.polyhedral.linear_program import SECONDS_PER_CELL
from pessimal.near_optimal.prediction import DISAGREE, RangePredictor
from pessimal.problem import Budget, Mask, Matrix, TuningProblem, Vector
from pessimal.solution import Status

DENSE_LIMIT = 5_000_000
"""Most cells (rows × columns) of a sparse X that are written out as a dense table: 40 MB."""

ROW_LIMIT = 5_000
"""Most distinct rows; the linear programs are dense, with as many rows and columns."""

UNSCALED_LIMIT = 1e4
"""Largest entry of X without standardisation; the tolerances are for numbers around 1."""

CONSTANT = 10.0 * float(np.finfo(np.float64).eps)
"""A spread no larger than this share of a column's largest entry is rounding, not data."""

FINAL_SHARE, MOST_KEPT, LOADING_SECONDS = 0.25, 0.75, 0.5
"""Of the time limit, for certificate and final model; for large tables at most, and per load."""

FLIP: list[Any] = [StrOptions(set(RULES))]
"""Constraint on the parameter `flip`: a rule, since a mask could not follow the split."""

_REASONS = {
    Status.OPTIMAL: "its certificate fails",
    Status.TIME_LIMIT: "time limit",
    Status.NODE_LIMIT: "node limit",
    Status.INTERRUPTED: "interrupted",
    Status.NOT_PROVED: "the search ended without a proof",
}


@dataclass(frozen=True, eq=False)
class Scaling:
    """Shift and spread of each feature; a constant feature scales to 0."""

    mean: Vector
    scale: Vector
    varies: Mask

    @classmethod
    def of(cls, rows: Rows) -> Self:
        """Take weighted mean and standard deviation of each column."""
        share = rows.weight / rows.weight.sum()
        # Squares of entries around 1e200 overflow, so the columns are first brought below 1.
        largest = np.abs(rows.X).max(axis=0)
        unit = np.where(largest > 0.0, largest, 1.0)
        columns = rows.X / unit
        mean = share @ columns
        spread = np.sqrt(share @ (columns - mean) ** 2)
        varies = spread > CONSTANT
        return cls(mean * unit, np.where(varies, spread * unit, 1.0), varies)

    def scaled(self, X: Matrix) -> Matrix:
        """Features of mean 0 and variance 1."""
        return np.where(self.varies, (X - self.mean) / self.scale, 0.0)

    def in_user_units(self, w: Vector, b: float) -> tuple[Vector, float]:
        """Return ``coef`` and ``intercept`` of a model ``(w, b)`` of scaled features.

        A feature that was constant gets no weight: nothing is known about it.
        """
        coef = np.where(self.varies, w, 0.0) / self.scale
        return coef, float(-b - coef @ self.mean)


@dataclass(kw_only=True, eq=False, repr=False)
class BoxClassifier(RangePredictor, ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A linear classifier with ``|w_j| ≤ box_j``; subclasses tune the box in `fit`.

    The fields are the parameters: scikit-learn reads them off the constructor.
    """

    epsilon: float = 0.2
    delta: float = 0.0
    lower: ArrayLike = 0.0
    upper: ArrayLike = 1.0
    time_limit: float | None = 10.0
    node_limit: int | None = None
    class_weight: Mapping[Any, float] | str | None = None
    final: str = "mean"
    standardize: bool = True
    random_state: int | np.random.RandomState | None = None
    verbose: int = 0

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "epsilon": [Interval(Real, 0, None, closed="left")],
        "delta": [Interval(Real, 0, None, closed="left")],
        "lower": [Interval(Real, 0, None, closed="left"), "array-like"],
        "upper": [Interval(Real, 0, None, closed="neither"), "array-like"],
        "final": [StrOptions(set(FINALS))],
        "standardize": ["boolean"],
        "class_weight": [None, dict, StrOptions({"balanced"})],
        "time_limit": [None, Interval(Real, 0, None, closed="neither")],
        "node_limit": [None, Interval(Integral, 1, None, closed="left")],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
    }

    def decision_function(self, X: Any) -> Vector:
        """Score each row; a positive score means ``classes_[1]``.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_rows, p)

        Returns
        -------
        ndarray of shape (n_rows,)
        """
        check_is_fitted(self)
        return np.asarray(self._features(X) @ self.coef_[0] + self.intercept_[0])

    def predict(self, X: Any, abstain: bool = False, abstain_label: Any = DISAGREE) -> NDArray[Any]:
        """Predict the class of each row.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_rows, p)
        abstain : bool, default=False
            Whether to give no class to rows on which models that train as well may disagree.
        abstain_label : default="models disagree"
            What such rows are given instead.

        Returns
        -------
        ndarray of shape (n_rows,)
            Of objects, if it may abstain.
        """
        positive = self.decision_function(X) > 0.0
        labels = np.asarray(self.classes_[positive.astype(np.intp)])
        return self._abstaining(labels, X, abstain_label) if abstain else labels

    def near_optimal_set(self) -> PipelineSet:
        """Return all models of the tuned box that train about as well as the best, on all rows.

        The rows are those of `fit`, which are kept for it.
        """
        check_is_fitted(self)
        every = np.ones(len(self._fitted_rows.y), dtype=np.bool_)
        problem = self._problem(self._fitted_rows, every, every)
        members = BoxSet(problem, self.box_, self._budget(), trained=self._trained)
        members.classes = self.classes_[0], self.classes_[1]
        return PipelineSet(
            FunctionTransformer(lambda X: self._scaling.scaled(self._features(X))), members
        )

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        tags.input_tags.sparse = True
        return tags

    def _training(self, X: Any, y: Any) -> tuple[Matrix, NDArray[Any]]:
        """Validate the arguments of `fit`; return dense features and labels."""
        features, labels = self._validated(X, y)
        return _dense(features), read_labels("y", labels)

    def _features(self, X: Any) -> Matrix:
        """Validate further rows, with the columns of `fit`; return them dense."""
        return _dense(self._validated(X, reset=False))

    def _validated(self, *data: Any, reset: bool = True) -> Any:
        try:
            return validate_data(self, *data, reset=reset, accept_sparse="csr", dtype=np.float64)
        except ValueError as error:
            if "could not convert string" not in str(error):
                raise
            raise InvalidInputError(
                f"X holds text ({error}); encode such columns as numbers first, for example with "
                "OneHotEncoder in a ColumnTransformer"
            ) from None

    def _rows(self, X: Matrix, labels: NDArray[Any], weight: Vector) -> Rows:
        """Learn the two classes, and read labels of them as −1 and +1."""
        classes = np.unique(labels)
        if len(classes) > 2:
            raise InvalidInputError(
                "Only binary classification is supported. The type of the target is multiclass, "
                f"with {len(classes)} classes; wrap the estimator in "
                "sklearn.multiclass.OneVsRestClassifier"
            )
        weighty = np.unique(labels[weight > 0.0])
        if len(weighty) < 2:
            raise InvalidInputError(
                f"y holds {len(weighty)} class with positive weight, {weighty[:1].tolist()}; "
                "a classifier needs two classes"
            )
        self.classes_ = classes
        return Rows(X, np.where(labels == self.classes_[1], 1.0, -1.0), weight)

    def _scaled(self, rows: Rows) -> Rows:
        """Scale the features and weigh the classes."""
        if len(rows.y) > ROW_LIMIT:
            raise InvalidInputError(
                f"X has {len(rows.y)} distinct rows; exact tuning is made for tens to hundreds and "
                f"takes at most {ROW_LIMIT}, so pass a sample of the rows"
            )
        if self.standardize:
            self._scaling = Scaling.of(rows)
        elif (largest := np.abs(rows.X).max()) > UNSCALED_LIMIT:
            raise InvalidInputError(
                f"X holds {largest:g} in absolute value and standardize is False; without "
                f"standardisation entries may not exceed {UNSCALED_LIMIT:g}, so scale X or pass "
                "standardize=True"
            )
        else:
            every = np.ones(rows.X.shape[1])
            self._scaling = Scaling(np.zeros_like(every), every, every > 0.0)
        self.mean_, self.scale_ = self._scaling.mean, self._scaling.scale
        positive = (rows.y > 0.0).astype(np.intp)
        factors = compute_class_weight(
            self.class_weight,
            classes=self.classes_,
            y=self.classes_[positive],
            sample_weight=rows.weight,
        )
        if not (np.isfinite(factors).all() and (factors > 0.0).all()):
            raise InvalidInputError(
                f"class_weight is {self.class_weight!r}; pass a positive, finite number for each "
                "class"
            )
        weight = rows.weight * factors[positive]
        self._fitted_rows = Rows(self._scaling.scaled(rows.X), rows.y, weight)
        return self._fitted_rows

    def _problem(self, rows: Rows, train: Mask, val: Mask) -> TuningProblem:
        """Return the tuning problem with these rows as T and V."""
        return TuningProblem(
            rows.X[train],
            rows.y[train],
            rows.X[val],
            rows.y[val],
            lower=self.lower,
            upper=self.upper,
            train_weight=rows.weight[train],
            val_weight=rows.weight[val],
        )

    def _absent_class(self, y: Vector) -> Any:
        """Return the label of a class without a row, None if both have one."""
        named = zip((-1.0, 1.0), self.classes_.tolist(), strict=True)
        return next((label for sign, label in named if sign not in y), None)

    def _budget(self) -> Budget:
        return Budget(self.epsilon, self.delta)

    def _deadline(self) -> Deadline:
        """When a `fit` that begins now has to have its final model, if that can be."""
        seconds = self.time_limit
        return Deadline.after(None if seconds is None else (1.0 + LATE_SHARE) * seconds)

    def _tuning_seconds(self, deadline: Deadline, rows: Rows) -> float | None:
        """Seconds for tuning, until there is just time for certificate and final model.

        Each of the two loads the rows twice, and may pass a deadline while it does; so may the
        search, with the programs that it has yet to write.
        """
        if self.time_limit is None:
            return None
        loading = 3.0 * min(LOADING_SECONDS, 2.0 * SECONDS_PER_CELL * rows.X.size)
        kept = min(max(FINAL_SHARE * self.time_limit, loading), MOST_KEPT * self.time_limit)
        return max(AT_ONCE, deadline.left - LATE_SHARE * self.time_limit - kept)

    def _set_final(
        self, rows: Rows, random: np.random.RandomState, deadline: Deadline, status: Status
    ) -> None:
        """Train on all rows in the tuned box; soon, if Ctrl-C has ended the search or this."""
        if status is Status.INTERRUPTED:
            deadline = Deadline.after(LATE_SECONDS)
        every = np.ones(len(rows.y), dtype=np.bool_)
        problem = self._problem(rows, every, every)
        train = FINALS[self.final]
        deadline = deadline.not_within(LATE_SECONDS)
        try:
            model = train(problem, self.box_, self._budget(), random, deadline)
        except KeyboardInterrupt:  # the box was found, so what predicts in it is found soon
            deadline = Deadline.after(LATE_SECONDS)
            model = train(problem, self.box_, self._budget(), random, deadline)
        w, b, self._trained = model  # which `near_optimal_set` need not repeat
        self._set_model(w, b)

    def _set_model(self, w: Vector, b: float) -> None:
        coef, intercept = self._scaling.in_user_units(w, b)
        self.coef_ = coef[None, :]
        self.intercept_ = np.array([intercept])

    def _warn_unless_proved(self, result: Any, found: str, limits: str) -> None:
        if not result.proved:
            warnings.warn(
                f"The tuned box is the best found, not proved optimal ({_REASONS[result.status]}): "
                f"{found}, lower bound {result.lower_bound:.6g}. Raise {limits}, or tune on fewer "
                "rows or features.",
                ConvergenceWarning,
                stacklevel=4,
            )


def read_labels(name: str, y: Any) -> NDArray[Any]:
    """Return labels as one column of discrete classes."""
    labels = column_or_1d(y, warn=True)
    check_classification_targets(labels)
    if len(labels) == 0:
        raise InvalidInputError(f"{name} is empty; pass one label per row")
    return np.asarray(labels)


def read_weights(name: str, weight: Any, X: Matrix) -> Vector:
    """Return one non-negative weight per row, 1 by default."""
    values = np.asarray(_check_sample_weight(weight, X, dtype=np.float64))
    if (values < 0.0).any():
        raise InvalidInputError(f"{name} contains {values.min():g}; weights must not be negative")
    return values


def _dense(X: Any) -> Matrix:
    if not sparse.issparse(X):
        return np.asarray(X, dtype=np.float64)
    if X.shape[0] * X.shape[1] > DENSE_LIMIT:
        raise InvalidInputError(
            f"X is sparse with shape {X.shape}, and tuning needs it dense, at most {DENSE_LIMIT} "
            "cells; pass fewer rows, or reduce the columns, for example with TruncatedSVD"
        )
    return np.asarray(X.toarray())
