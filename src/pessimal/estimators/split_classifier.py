"""What `OptimisticSVC` and `PessimisticSVC` share: one split, one tuned box, one final model."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, replace
from numbers import Integral, Real
from typing import Any, ClassVar, Self, get_args

import numpy as np
from numpy.typing import ArrayLike
from rich.console import Console
from sklearn.base import _fit_context
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from pessimal.certificate import Certificate
from pessimal.errors import InvalidInputError
from pessimal.estimators.base import BoxClassifier, read_labels, read_weights
from pessimal.estimators.split import (
    Distinct,
    Rows,
    distinct,
    divide,
    draw_validation,
    given_validation,
)
from pessimal.limits import Callback, Progress
from pessimal.problem import Mask, TuningProblem
from pessimal.solution import TuningSolution
from pessimal.solve import Method, Solver, TieBreak

SECONDS_BETWEEN_LINES = 1.0


@dataclass(kw_only=True, eq=False, repr=False)
class SplitClassifier(BoxClassifier):
    """Tune on one split; subclasses say by which view and which of its models may predict."""

    method: str = "search"
    solver: str = "highs"
    tie_break: str = "smallest_box"
    validation_size: float = 0.5
    n_jobs: int | None = None

    _tuned_model: ClassVar[str]
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **BoxClassifier._parameter_constraints,
        "method": [StrOptions(set(get_args(Method)))],
        "solver": [StrOptions(set(get_args(Solver)))],
        "tie_break": [StrOptions(set(get_args(TieBreak)))],
        "validation_size": [Interval(Real, 0, 1, closed="neither")],
        "n_jobs": [None, Integral],
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
        deadline = self._deadline()
        random = check_random_state(self.random_state)
        features, labels = self._training(X, y)
        weight = read_weights("sample_weight", sample_weight, features)
        n_rows = len(labels)
        in_val = given_validation(n_rows, validation, X_val, y_val, sample_weight_val)
        if X_val is not None:
            more = self._features(X_val)
            more_labels = read_labels("y_val", y_val)
            if len(more_labels) != len(more):
                raise InvalidInputError(
                    f"y_val has {len(more_labels)} labels but X_val has {len(more)} rows; "
                    "pass one label per row"
                )
            weight = np.append(weight, read_weights("sample_weight_val", sample_weight_val, more))
            features, labels = np.vstack([features, more]), np.append(labels, more_labels)
            in_val = np.arange(len(labels)) >= n_rows

        merged = self._split(self._rows(features, labels, weight), in_val, random)
        val = merged.sets[:, 0]
        self.validation_ = np.append(val, False)[merged.position][:n_rows]
        rows = self._scaled(merged.rows)
        absent = self._absent_class(rows.y[~val])
        if absent is not None:
            raise InvalidInputError(
                f"the training rows hold no row of class {absent!r}, all are validation rows; "
                "training needs both classes, so leave one of each out of the validation set"
            )
        # A mixed-integer program tells of no progress.
        told = self.verbose and self.method == "search"
        solution = self._solve(
            self._problem(rows, ~val, val),
            seed=int(random.randint(2**31 - 1)),
            callback=progress_lines(type(self).__name__) if told else None,
            method=self.method,
            solver=self.solver,
            time_limit=self._tuning_seconds(deadline, rows),
            node_limit=self.node_limit,
            tie_break=self.tie_break,
            n_jobs=self.n_jobs,
        )
        self.result_ = replace(solution, time_limit=self.time_limit)
        self.box_ = solution.box
        if self.final == self._tuned_model:
            self._set_model(solution.coef, -solution.intercept)
            self._trained = None
        else:
            self._set_final(rows, random, deadline, solution.status)
        found = f"validation loss {solution.objective:.6g}"
        if solution.worst_case_bound < np.inf:
            found = f"worst case at most {solution.worst_case_bound:.6g}"
        self._warn_unless_proved(solution, found, "time_limit or node_limit")
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
    def _solve(self, problem: TuningProblem, **options: Any) -> TuningSolution:
        """Tune by the view of the subclass."""

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


def progress_lines(name: str) -> Callback:
    """Return a callback that writes at most one line a second to standard error."""
    console = Console(stderr=True, highlight=False)
    last = 0.0

    def tell(progress: Progress) -> None:
        nonlocal last
        if progress.seconds - last < SECONDS_BETWEEN_LINES:
            return
        last = progress.seconds
        found = np.isfinite(progress.incumbent)
        loss = f"validation loss {progress.incumbent:.6f}" if found else "no limits judged yet"
        console.print(
            f"{name}: {loss}, bound {progress.bound:.6f}, "
            f"{progress.nodes} nodes, {progress.seconds:.0f} s"
        )

    return tell
