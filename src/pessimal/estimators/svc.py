"""`OptimisticSVC` and `PessimisticSVC`: one validation set, one tuned box, one linear model."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from numpy.typing import NDArray
from sklearn.utils._param_validation import StrOptions

from pessimal.errors import InvalidInputError
from pessimal.estimators.base import FLIP
from pessimal.estimators.final import FINALS
from pessimal.estimators.split_classifier import SplitClassifier
from pessimal.problem import TuningProblem
from pessimal.solution import TuningSolution
from pessimal.solve import Inner, solve_optimistic, solve_pessimistic
from pessimal.solvers.minimax.groups import GroupsSpec


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
    n_jobs : int or None, default=None
        Processes in which a search of more than a second or two goes on; -1 is one per core.
        A proved box does not depend on their number.
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
    n_jobs : int or None, default=None
        Processes in which a search of more than a second or two goes on; -1 is one per core.
        A proved box does not depend on their number.
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
