"""Tuning on one split into T and V: what `OptimisticSVC` and `PessimisticSVC` have in common."""

from __future__ import annotations

import time
from abc import abstractmethod
from numbers import Real
from typing import Any, ClassVar, Self, get_args

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import _fit_context
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from pessimal.certificate import Certificate
from pessimal.errors import InvalidInputError
from pessimal.estimators.base import BoxClassifier
from pessimal.estimators.inputs import (
    read_features,
    read_labels,
    read_training,
    read_validation,
    read_weights,
    two_classes,
)
from pessimal.estimators.progress import progress_lines
from pessimal.estimators.rows import Distinct, Rows, distinct, divide, draw_validation
from pessimal.limits import Callback
from pessimal.problem import Mask, TuningProblem, Vector
from pessimal.solution import TuningSolution
from pessimal.solve import Method, Solver, TieBreak


class SplitClassifier(BoxClassifier):
    """Tune on one split; subclasses say by which view and which of its models may predict."""

    method: str
    solver: str
    tie_break: str
    node_limit: int | None
    validation_size: float
    random_state: Any
    verbose: int
    worst_case_loss_: float

    _tuned_model: ClassVar[str]
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **BoxClassifier._parameter_constraints,
        "method": [StrOptions(set(get_args(Method)))],
        "solver": [StrOptions(set(get_args(Solver)))],
        "tie_break": [StrOptions(set(get_args(TieBreak)))],
        "validation_size": [Interval(Real, 0, 1, closed="neither")],
    }

    @_fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]
    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: ArrayLike | None = None,
        *,
        validation: ArrayLike | None = None,
        X_val: Any = None,
        y_val: Any = None,
        sample_weight_val: ArrayLike | None = None,
    ) -> Self:
        """Tune the box on training and validation rows, then train the model that predicts.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_rows, p)
            Features. A sparse X is made dense, up to a stated size.
        y : array-like of shape (n_rows,)
            Labels of two classes, of any type.
        sample_weight : array-like of shape (n_rows,), optional
            Weights of the rows in both losses; weight k is the same as k equal rows.
        validation : array-like, optional
            The validation rows: a mask of booleans of shape (n_rows,), or indices. By default a
            stratified draw of `validation_size`. Rows with equal features are on the same side,
            unless they are so many that they are divided.
        X_val, y_val : array-like of shapes (n_val, p), (n_val,), optional
            Validation rows of their own; X and y are then all training rows.
        sample_weight_val : array-like of shape (n_val,), optional
            Their weights.

        Returns
        -------
        self
        """
        started = time.perf_counter()
        random = check_random_state(self.random_state)
        features, labels = read_training(self, X, y)
        weight = read_weights("sample_weight", sample_weight, features)
        n_rows = len(labels)
        in_val = self._given_validation(n_rows, validation, X_val, y_val, sample_weight_val)
        if X_val is not None:
            more = read_features(self, X_val)
            more_labels = read_labels("y_val", y_val)
            if len(more_labels) != len(more):
                raise InvalidInputError(
                    f"y_val has {len(more_labels)} labels but X_val has {len(more)} rows; "
                    "pass one label per row"
                )
            weight = np.append(weight, read_weights("sample_weight_val", sample_weight_val, more))
            features, labels = np.vstack([features, more]), np.append(labels, more_labels)
            in_val = np.arange(len(labels)) >= n_rows
        self.classes_ = two_classes(labels, weight)
        signs = np.where(labels == self.classes_[1], 1.0, -1.0)

        merged = self._split(Rows(features, signs, weight), in_val, random)
        val = merged.sets[:, 0]
        self.validation_ = np.append(val, False)[merged.position][:n_rows]
        table = self._table(merged.rows)
        self._require_both_classes(table.y[~val])
        solution = self._solve(
            table.problem(~val, val),
            seed=int(random.randint(2**31 - 1)),
            callback=self._progress(),
        )
        self.result_ = solution
        self.box_ = solution.box
        if self.final == self._tuned_model:
            self._set_model(solution.coef, -solution.intercept)
        else:
            deadline = self._deadline(started, solution.status)
            self._set_final(table, solution.box, random, deadline)
        self._warn_unless_proved(solution)
        return self

    @property
    def certificate_(self) -> Certificate:
        """The check of `result_` made by HiGHS."""
        check_is_fitted(self)
        return self.result_.certificate

    def __getattr__(self, name: str) -> Any:
        # Not a property: scikit-learn evaluates every property in dir(), hence in tab completion
        # and in the page of a notebook, and this one is a search.
        if name != "worst_case_loss_":
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        check_is_fitted(self)
        return self.result_.exact_worst_case.upper_bound

    @abstractmethod
    def _solve(
        self, problem: TuningProblem, seed: int, callback: Callback | None
    ) -> TuningSolution:
        """Tune by the view of the subclass."""

    def _progress(self) -> Callback | None:
        """Tell of the search's progress; a mixed-integer program tells of none."""
        wanted = self.verbose and self.method == "search"
        return progress_lines(type(self).__name__) if wanted else None

    def _options(self) -> dict[str, Any]:
        return {
            "method": self.method,
            "solver": self.solver,
            "time_limit": self.time_limit,
            "node_limit": self.node_limit,
            "tie_break": self.tie_break,
        }

    def _given_validation(
        self, n_rows: int, validation: Any, X_val: Any, y_val: Any, sample_weight_val: Any
    ) -> Mask | None:
        if (X_val is None) != (y_val is None):
            given, missing = ("X_val", "y_val") if y_val is None else ("y_val", "X_val")
            raise InvalidInputError(f"{given} is given without {missing}; pass both or neither")
        if sample_weight_val is not None and X_val is None:
            raise InvalidInputError("sample_weight_val is given without X_val; pass both")
        if validation is None:
            return None
        if X_val is not None:
            raise InvalidInputError("validation and X_val are both given; pass one of them")
        return read_validation(validation, n_rows)

    def _split(self, rows: Rows, in_val: Mask | None, random: np.random.RandomState) -> Distinct:
        """Merge equal rows; their one set is V, as given or drawn."""
        if in_val is not None:
            merged = distinct(rows, in_val[:, None])
            if not merged.sets.any():
                raise InvalidInputError(
                    "every validation row has weight 0; give at least one a positive weight"
                )
            return merged
        merged = distinct(rows, np.empty((len(rows.y), 0), dtype=np.bool_))
        n_distinct = len(merged.rows.y)
        if n_distinct < 3:
            raise InvalidInputError(
                f"X and y have {n_distinct} distinct rows with positive weight, which leaves none "
                "to validate on; pass at least 3, or validation rows in X_val and y_val"
            )
        return divide(merged, rows, draw_validation(merged.rows, self.validation_size, random))

    def _require_both_classes(self, train: Vector) -> None:
        for sign, label in zip((-1.0, 1.0), self.classes_.tolist(), strict=True):
            if sign not in train:
                raise InvalidInputError(
                    f"the training rows hold no row of class {label!r}, all are validation rows; "
                    "training needs both classes, so leave one of each out of the validation set"
                )

    def _warn_unless_proved(self, solution: TuningSolution) -> None:
        if solution.proved:
            return
        found = f"validation loss {solution.objective:.6g}"
        if solution.worst_case_bound < np.inf:
            found = f"worst case at most {solution.worst_case_bound:.6g}"
        self._warn_unproved(
            solution.status,
            f"{found}, lower bound {solution.lower_bound:.6g}",
            "Raise time_limit or node_limit, or tune on fewer rows or features.",
        )
