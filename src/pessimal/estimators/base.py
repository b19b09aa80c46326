"""What the estimators share: a linear score, two classes of any name, weights, a scaled table."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import Tags
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from pessimal.estimators.final import FINALS
from pessimal.estimators.inputs import (
    read_class_weight,
    read_features,
    require_few,
    require_moderate,
)
from pessimal.estimators.rows import Rows
from pessimal.estimators.scaling import Scaling
from pessimal.flip import RULES
from pessimal.limits import NEVER, Deadline
from pessimal.problem import Budget, Mask, Matrix, TuningProblem, Vector
from pessimal.solution import Status

FLIP: list[Any] = [StrOptions(set(RULES))]
"""Constraint on the parameter `flip`: a rule, since a mask could not follow the split."""


LATE_SECONDS, LATE_SHARE = 0.5, 0.05
"""By which the final model may exceed the time limit: half a second, or 5 % of it."""

_REASONS = {
    Status.OPTIMAL: "its certificate fails",
    Status.TIME_LIMIT: "time limit",
    Status.NODE_LIMIT: "node limit",
    Status.INTERRUPTED: "interrupted",
    Status.NOT_PROVED: "the search ended without a proof",
}


@dataclass(frozen=True, eq=False)
class Table:
    """Scaled features, labels −1 and +1, and the weights of the losses, of all rows T ∪ V."""

    X: Matrix
    y: Vector
    weight: Vector
    lower: Any
    upper: Any

    def problem(self, train: Mask, val: Mask) -> TuningProblem:
        """Return the tuning problem with these rows as T and V."""
        return TuningProblem(
            self.X[train],
            self.y[train],
            self.X[val],
            self.y[val],
            lower=self.lower,
            upper=self.upper,
            train_weight=self.weight[train],
            val_weight=self.weight[val],
        )


class BoxClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A linear classifier with ``|w_j| ≤ box_j``; subclasses tune the box in `fit`."""

    epsilon: float
    delta: float
    lower: Any
    upper: Any
    class_weight: Any
    standardize: bool
    final: str
    time_limit: float | None
    classes_: NDArray[Any]

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
        return np.asarray(read_features(self, X) @ self.coef_[0] + self.intercept_[0])

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict the class of each row.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_rows, p)

        Returns
        -------
        ndarray of shape (n_rows,)
        """
        positive = self.decision_function(X) > 0.0
        return np.asarray(self.classes_[positive.astype(np.intp)])

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        tags.input_tags.sparse = True
        return tags

    def _budget(self) -> Budget:
        return Budget(self.epsilon, self.delta)

    def _table(self, rows: Rows) -> Table:
        """Scale the features and weigh the classes."""
        require_few(rows.X)
        if self.standardize:
            self._scaling = Scaling.of(rows)
        else:
            require_moderate(rows.X)
            self._scaling = Scaling.none(rows.X.shape[1])
        self.mean_, self.scale_ = self._scaling.mean, self._scaling.scale
        labels = self.classes_[(rows.y > 0.0).astype(np.intp)]
        factors = read_class_weight(self.class_weight, self.classes_, labels, rows.weight)
        weight = rows.weight * np.where(rows.y > 0.0, factors[1], factors[0])
        return Table(self._scaling.scaled(rows.X), rows.y, weight, self.lower, self.upper)

    def _set_final(
        self, table: Table, box: Vector, random: np.random.RandomState, deadline: Deadline
    ) -> None:
        """Train on all rows in the tuned box."""
        every = np.ones(len(table.y), dtype=np.bool_)
        problem = table.problem(every, every)
        self._set_model(*FINALS[self.final](problem, box, self._budget(), random, deadline))

    def _deadline(self, started: float, status: Status) -> Deadline:
        """When the final model should be there: soon after the limit, or after Ctrl-C."""
        if status is Status.INTERRUPTED:
            return Deadline.after(LATE_SECONDS)
        if self.time_limit is None:
            return NEVER
        late = Deadline(started + (1.0 + LATE_SHARE) * self.time_limit)
        return late.not_within(LATE_SECONDS)

    def _warn_unproved(self, status: Status, found: str, remedy: str) -> None:
        warnings.warn(
            f"The tuned box is the best found, not proved optimal ({_REASONS[status]}): {found}. "
            f"{remedy}",
            ConvergenceWarning,
            stacklevel=5,
        )

    def _set_model(self, w: Vector, b: float) -> None:
        coef, intercept = self._scaling.in_user_units(w, b)
        self.coef_ = coef[None, :]
        self.intercept_ = np.array([intercept])
