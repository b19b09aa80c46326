"""`OptimisticSVC` and `PessimisticSVC`: one validation set, one tuned box, one linear model."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from numbers import Real
from typing import Any, ClassVar, Self, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray
from rich.console import Console
from sklearn.base import _fit_context
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from pessimal.certificate import Certificate
from pessimal.errors import InvalidInputError
from pessimal.estimators.base import FLIP, BoxClassifier, read_labels, read_weights
from pessimal.estimators.final import FINALS
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
from pessimal.solve import Inner, Method, Solver, TieBreak, solve_optimistic, solve_pessimistic
from pessimal.solvers.minimax.groups import GroupsSpec

SECONDS_BETWEEN_LINES = 1.0


@dataclass(kw_only=True, eq=False, repr=False)
class SplitClassifier(BoxClassifier):
    """Tune on one split; subclasses say by which view and which of its models may predict."""

    method: str = "search"
    solver: str = "highs"
    tie_break: str = "smallest_box"
    validation_size: float = 0.5

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


@dataclass(kw_only=True, eq=False, repr=False)
class PessimisticSVC(SplitClassifier):
    """Linear classifier whose box is tuned against a model that trains well but validates badly.

    The box limits ``|w_j|``. It is tuned by the paper's pessimistic problem to proved optimality,
    or so that the exact worst case is small; then a model of the box is trained on all rows.

    Parameters
    ----------
    epsilon : float, default=0.2
        A model is near-optimal when its training loss is at most ``(1 + epsilon)`` times the
        least, plus `delta`.
    delta : float, default=0.0
        The absolute part; on separable data, where the least loss is 0, the only one that counts.
    inner : {"flip", "exact"}, default="flip"
        What is made small: the loss of a model found by flipping labels, as in the paper, or the
        exact worst case; under a limit, the worst case that can be proved in it.
    groups : {"each", "one"} or list of lists of columns, default="each"
        For ``inner="exact"``: one limit for each feature, one for all, or one for each group of
        column indices or, when X is a DataFrame, column names.
    flip : {"all", "margin", "paper"}, default="all"
        For ``inner="flip"``: validation points whose labels are flipped to find the worst model.
    lower, upper : float or array-like of shape (p,), default=0.0, 1.0
        Limits on the box.
    method : {"search", "milp"}, default="search"
        The package's own exact search, or the paper's mixed-integer program.
    solver : {"highs", "scip", "gurobi", "cplex"}, default="highs"
        Solver of the mixed-integer program; the search takes none but the default.
    time_limit : float or None, default=10.0
        Seconds for `fit`, the last quarter of them for certificate and `final` model, of a large
        table more. When they run out the best box found is kept, with a valid bound in `result_`
        and a warning.
    node_limit : int or None, default=None
        The same in nodes of the search: unlike seconds, the same on every machine.
    tie_break : {"smallest_box", "largest_box"}, default="smallest_box"
        Which of the boxes of the optimal model to take.
    class_weight : dict, "balanced" or None, default=None
        Factors of the row weights by class; "balanced" gives both classes the same total.
    final : {"mean", "centre", "refit", "worst_case"}, default="mean"
        The model that predicts: of the near-optimal models on all rows the mean or the centre;
        the one of least loss on all rows; or the paper's own, the worst-case model in `result_`.
    standardize : bool, default=True
        Scale features to mean 0 and variance 1 on all rows. `box_` and `result_` then refer to
        scaled features; `coef_` is in the units of X.
    validation_size : float, default=0.5
        Share of the distinct rows that validate, when `fit` is not told which.
    random_state : int, RandomState instance or None, default=None
        Draws the validation rows, seeds the search, and the directions of the mean.
    verbose : int, default=0
        Whether to write incumbent and bound to standard error, once a second; the mixed-integer
        program writes none.

    Attributes
    ----------
    coef_ : ndarray of shape (1, p)
        Weights, in the units of X.
    intercept_ : ndarray of shape (1,)
        The score is ``X @ coef_[0] + intercept_[0]``.
    classes_ : ndarray of shape (2,)
        The two labels.
    box_ : ndarray of shape (p,)
        The tuned limits on the weights of the (scaled) features.
    result_ : TuningSolution
        The whole answer: objective, bound, status, certificate.
    certificate_ : Certificate
        The inner problem solved again by HiGHS.
    worst_case_loss_ : float
        Largest validation loss of any near-optimal model of the box, found on first use: exact, or
        an upper bound if that took longer than `time_limit`.
    validation_ : ndarray of bool of shape (n_rows,)
        The rows of X that validated.
    mean_, scale_ : ndarray of shape (p,)
        Shift and scale of the features.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (p,)
        Names of the features, when X has column names.

    See Also
    --------
    OptimisticSVC : Trusts training to return the model that validates best.
    PessimisticSVCCV : Tunes one box on several folds.

    Examples
    --------
    >>> from sklearn.datasets import make_blobs
    >>> X, y = make_blobs(30, centers=2, cluster_std=4.0, random_state=0)
    >>> model = PessimisticSVC(random_state=0).fit(X, y)
    >>> model.result_.proved, model.predict(X[:3]).shape
    (True, (3,))
    >>> bool(model.worst_case_loss_ >= model.result_.objective - 1e-9)
    True
    """

    inner: Inner = "flip"
    groups: GroupsSpec | Sequence[Sequence[str]] = "each"
    flip: str = "all"

    _tuned_model: ClassVar[str] = "worst_case"
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **SplitClassifier._parameter_constraints,
        "inner": [StrOptions({"flip", "exact"})],
        "groups": [StrOptions({"each", "one"}), list, tuple],
        "flip": FLIP,
        "final": [StrOptions({*FINALS, _tuned_model})],
    }

    def _solve(self, problem: TuningProblem, **options: Any) -> TuningSolution:
        groups = _read_groups(self.groups, getattr(self, "feature_names_in_", None))
        options |= {"inner": self.inner, "groups": groups, "flip": self.flip}
        return solve_pessimistic(problem, self._budget(), **options)


class OptimisticSVC(SplitClassifier):
    """Linear classifier whose box is tuned in the trust that training returns its best model.

    This is ordinary tuning, solved to proved optimality: the box for which the best-validating of
    the models that train best has the least validation loss.

    Parameters
    ----------
    epsilon : float, default=0.2
        Tuning itself has no tolerance; `worst_case_loss_` and the final models "mean" and
        "centre" are over models with a training loss of at most ``(1 + epsilon)`` times the
        least, plus `delta`.
    delta : float, default=0.0
        The absolute part; on separable data, where the least loss is 0, the only one that counts.
    lower, upper : float or array-like of shape (p,), default=0.0, 1.0
        Limits on the box.
    method : {"search", "milp"}, default="search"
        The package's own exact search, or the paper's mixed-integer program.
    solver : {"highs", "scip", "gurobi", "cplex"}, default="highs"
        Solver of the mixed-integer program; the search takes none but the default.
    time_limit : float or None, default=10.0
        Seconds for `fit`, the last quarter of them for certificate and `final` model, of a large
        table more. When they run out the best box found is kept, with a valid bound in `result_`
        and a warning.
    node_limit : int or None, default=None
        The same in nodes of the search: unlike seconds, the same on every machine.
    tie_break : {"smallest_box", "largest_box"}, default="smallest_box"
        Which of the boxes of the optimal model to take.
    class_weight : dict, "balanced" or None, default=None
        Factors of the row weights by class; "balanced" gives both classes the same total.
    final : {"mean", "centre", "refit", "best_case"}, default="mean"
        The model that predicts: of the near-optimal models on all rows the mean or the centre;
        the one of least loss on all rows; or the optimistic model in `result_`.
    standardize : bool, default=True
        Scale features to mean 0 and variance 1 on all rows. `box_` and `result_` then refer to
        scaled features; `coef_` is in the units of X.
    validation_size : float, default=0.5
        Share of the distinct rows that validate, when `fit` is not told which.
    random_state : int, RandomState instance or None, default=None
        Draws the validation rows, seeds the search, and the directions of the mean.
    verbose : int, default=0
        Whether to write incumbent and bound to standard error, once a second; the mixed-integer
        program writes none.

    Attributes
    ----------
    coef_ : ndarray of shape (1, p)
        Weights, in the units of X.
    intercept_ : ndarray of shape (1,)
        The score is ``X @ coef_[0] + intercept_[0]``.
    classes_ : ndarray of shape (2,)
        The two labels.
    box_ : ndarray of shape (p,)
        The tuned limits on the weights of the (scaled) features.
    result_ : TuningSolution
        The whole answer: objective, bound, status, certificate. Its budget is that of
        `worst_case_loss_`.
    certificate_ : Certificate
        The inner problem solved again by HiGHS.
    worst_case_loss_ : float
        Largest validation loss of any near-optimal model of the box, found on first use: exact, or
        an upper bound if that took longer than `time_limit`.
    validation_ : ndarray of bool of shape (n_rows,)
        The rows of X that validated.
    mean_, scale_ : ndarray of shape (p,)
        Shift and scale of the features.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (p,)
        Names of the features, when X has column names.

    See Also
    --------
    PessimisticSVC : Guards against the model that validates worst.

    Examples
    --------
    >>> from sklearn.datasets import make_blobs
    >>> X, y = make_blobs(30, centers=2, cluster_std=4.0, random_state=0)
    >>> model = OptimisticSVC(random_state=0).fit(X, y)
    >>> model.certificate_.ok, model.coef_.shape
    (True, (1, 2))
    """

    _tuned_model: ClassVar[str] = "best_case"
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **SplitClassifier._parameter_constraints,
        "final": [StrOptions({*FINALS, _tuned_model})],
    }

    def _solve(self, problem: TuningProblem, **options: Any) -> TuningSolution:
        # The optimistic view has no budget; its worst case has.
        return replace(solve_optimistic(problem, **options), budget=self._budget())


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


def _read_groups(groups: Any, names: NDArray[Any] | None) -> Any:
    """Return groups of features with column names turned into indices."""
    if isinstance(groups, str):
        return groups
    index = {} if names is None else {name: j for j, name in enumerate(names.tolist())}

    def column(member: Any) -> Any:
        if not isinstance(member, str):
            return member
        if member not in index:
            known = "X has no column names" if names is None else f"X has {', '.join(index)}"
            raise InvalidInputError(
                f"groups names the column {member!r}, but {known}; pass names of columns of a "
                "DataFrame, or indices"
            )
        return index[member]

    return [
        [column(member) for member in members]
        if isinstance(members, Iterable) and not isinstance(members, str)
        else members
        for members in groups
    ]
