"""Grid search that chooses by the worst of the models a candidate allows, not by the one it gets.

Fits, splits, scores and failures are scikit-learn's own. Beside each fit stands the near-optimal
set of its training fold, asked for its worst member on the test fold.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

import numpy as np
from joblib import effective_n_jobs  # type: ignore[import-untyped]
from numpy.typing import ArrayLike
from sklearn.base import _fit_context, clone, is_classifier
from sklearn.metrics._scorer import _MultimetricScorer
from sklearn.model_selection import check_cv
from sklearn.model_selection._search import BaseSearchCV, _search_estimator_has
from sklearn.model_selection._validation import (
    _insert_error_scores,
    _warn_or_raise_about_fit_failures,
)
from sklearn.pipeline import Pipeline
from sklearn.utils import indexable
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.metaestimators import available_if
from sklearn.utils.parallel import Parallel
from sklearn.utils.validation import _check_method_params, check_is_fitted, column_or_1d

from pessimal.errors import InvalidInputError
from pessimal.limits import Deadline
from pessimal.losses import Loss
from pessimal.model_selection.cells import MOST_VALUES, RangeSearch
from pessimal.model_selection.choice import choose
from pessimal.model_selection.evaluation import Evaluation
from pessimal.model_selection.folds import Folds, Worst
from pessimal.model_selection.grid import Branch, read_grid
from pessimal.model_selection.ranges import FIRST_VALUES
from pessimal.model_selection.worst import WorstCase
from pessimal.near_optimal.base import NearOptimalSet
from pessimal.near_optimal.prediction import DISAGREE, RangePredictor
from pessimal.problem import Budget

if TYPE_CHECKING:
    from matplotlib.axes import Axes

LOSS_OF = {
    "accuracy": "zero_one",
    "neg_log_loss": "log",
    "neg_mean_squared_error": "squared",
}
"""The loss whose negative, or for errors its complement, is a score of scikit-learn."""


class PessimisticSearchCV(RangePredictor, BaseSearchCV):  # type: ignore[misc]
    """Search hyperparameters by the worst model that trains as well, fold by fold.

    For each candidate and each fold, the models that train about as well as the best are taken
    together: those with a training loss of at most ``(1 + epsilon)·least + delta``. The candidate
    whose worst such model does best on the test folds is chosen. All else is as in `GridSearchCV`.

    For ridge, lasso, least squares, logistic regression (two classes) and linear SVM (squared
    hinge) the worst case has a proved bound. Any other classifier or regressor is trained again
    and again on reweighted rows: its worst case is *found*, and there may be a worse one. In a
    pipeline the steps before the last stay as fitted on the training fold.

    Parameters
    ----------
    estimator : classifier or regressor
    param_grid : dict or list of dicts
        Values to try for each parameter; with `n_iter`, distributions as well. A `Range` of
        ``C``, ``alpha`` or ``l1_ratio`` stands for all its values: they are searched until none can
        be better by more than `gap`.
    epsilon, delta : float, default=0.05, 0.0
        How much worse than the best a model may train: relative and absolute. A training loss of 0
        needs a `delta`.
    criterion : {"worst", "found", "mean"}, default="worst"
        What is made large: the worst score, mean over folds, by its proved bound where there is
        one and as found otherwise; the worst score found, whatever is proved, which is quick, and
        better where bounds are far from what was found, as for many rows and a large `epsilon`; or,
        as in `GridSearchCV`, the mean test score, so that worst cases are only reported.
    loss : str or Loss, optional
        By which worst cases are judged. By default that of `scoring` if it is "accuracy",
        "neg_log_loss" or "neg_mean_squared_error", and otherwise that of training: the log loss of
        logistic regression and of estimators with probabilities, the squared (hinge) loss of ridge
        and of `LinearSVC`, the squared error of regressors, else the hinge loss of scores.
    gap : float, default=0.01
        How much better, relative to the score chosen, another candidate may turn out to be for all
        that is proved: bounds are made sharp until that is ruled out. 0 is exact, and takes long
        for many rows.
    n_iter : int, optional
        Number of candidates to draw from `param_grid`; by default all of them. With a `Range`, the
        most values of it to look at, by default 200.
    scoring, n_jobs, refit, cv, verbose, pre_dispatch, error_score, return_train_score
        As in `GridSearchCV`. With several metrics `refit` names the one whose loss is followed.
    time_limit : float, optional
        Seconds for the search; the final refit comes on top. Candidates not reached by then have
        NaN in `cv_results_`. If that leaves no candidate with all folds, the folds not reached are
        left out; the first candidate on the first fold is always looked at. Ctrl-C does the same.
    node_limit : int, optional
        For each worst case, nodes of a branch and bound, or refits.
    random_state : int, optional
        Seed of `n_iter`.

    Attributes
    ----------
    cv_results_ : dict of ndarrays
        That of `GridSearchCV`, and ``split{k}_worst_found``, ``split{k}_worst_bound``, means and
        standard deviations of both, ``rank_worst`` and ``worst_proved``. Greater is better: the
        worst model found has the first, and no equally good model scores below the second. A bound
        that could not have changed the choice is left coarse. ``worst_dropped`` says of an
        estimator without bounds, or of a value of a `Range`, that it could not win any more before
        all folds were looked at; on the others its own fit is what was found.
    best_index_, best_params_, best_estimator_, scorer_, refit_time_, multimetric_
        As in `GridSearchCV`.
    n_splits_ : int
        The number of folds; if time was too short for one candidate, of those reached.
    best_score_ : float
        The mean worst score of the chosen candidate, or its mean test score, by `criterion`.
    score_bound_ : float
        No candidate, and no value of a `Range`, has a mean worst score above it.
    gap_ : float
        How much better than the chosen candidate another may be, for all that is proved: from its
        proved worst score to `score_bound_`, relative to the first. Infinite if nothing is proved.
    stopped_ : str
        What ended the search early, "time_limit" or "Ctrl-C"; empty if nothing did.

    Notes
    -----
    The choice does not depend on the order of the grid. Ties go to the larger mean test score, then
    to the smaller spread of the worst score over folds, then to the stronger penalty: the smaller
    number, but the larger for ``alpha``, ``min_samples_leaf`` and the like, parameter by parameter.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = make_pipeline(StandardScaler(), LogisticRegression())
    >>> grid = {"logisticregression__C": [0.1, 1.0, 10.0]}
    >>> search = PessimisticSearchCV(model, grid, epsilon=0.05, scoring="neg_log_loss", cv=3)
    >>> search.fit(X[::4], y[::4]).best_params_
    {'logisticregression__C': 1.0}
    >>> results = search.cv_results_
    >>> print(results["mean_test_score"].round(2), results["mean_worst_found"].round(2))
    [-0.14 -0.08 -0.08] [-0.23 -0.19 -0.22]
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **BaseSearchCV._parameter_constraints,
        "param_grid": [dict, list],
        "epsilon": [Interval(Real, 0.0, None, closed="left")],
        "delta": [Interval(Real, 0.0, None, closed="left")],
        "criterion": [StrOptions({"worst", "found", "mean"})],
        "loss": [str, Loss, None],
        "gap": [Interval(Real, 0.0, None, closed="left")],
        "n_iter": [Interval(Integral, 1, None, closed="left"), None],
        "time_limit": [Interval(Real, 0.0, None, closed="neither"), None],
        "node_limit": [Interval(Integral, 1, None, closed="left"), None],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        estimator: Any,
        param_grid: Any,
        *,
        epsilon: float = 0.05,
        delta: float = 0.0,
        criterion: Literal["worst", "found", "mean"] = "worst",
        loss: str | Loss | None = None,
        gap: float = 0.01,
        n_iter: int | None = None,
        scoring: Any = None,
        n_jobs: int | None = None,
        refit: bool | str | Callable[..., int] = True,
        cv: Any = None,
        verbose: int = 0,
        pre_dispatch: int | str = "2*n_jobs",
        error_score: float | Literal["raise"] = np.nan,
        return_train_score: bool = False,
        time_limit: float | None = None,
        node_limit: int | None = None,
        random_state: Any = None,
    ) -> None:
        super().__init__(
            estimator,
            scoring=scoring,
            n_jobs=n_jobs,
            refit=refit,
            cv=cv,
            verbose=verbose,
            pre_dispatch=pre_dispatch,
            error_score=error_score,
            return_train_score=return_train_score,
        )
        self.param_grid = param_grid
        self.epsilon = epsilon
        self.delta = delta
        self.criterion = criterion
        self.loss = loss
        self.gap = gap
        self.n_iter = n_iter
        self.time_limit = time_limit
        self.node_limit = node_limit
        self.random_state = random_state

    def _run_search(self, evaluate_candidates: Any, **_: Any) -> None:
        evaluate_candidates(self._listed())

    @_fit_context(prefer_skip_nested_validation=False)  # type: ignore[untyped-decorator]
    def fit(self, X: ArrayLike, y: ArrayLike | None = None, **params: Any) -> Self:
        """Evaluate all candidates, choose one, and fit it to all rows.

        Parameters
        ----------
        X, y : array-like
        **params : dict
            As in `GridSearchCV`: groups for the splitter, weights for the estimator.

        Returns
        -------
        self
        """
        deadline = Deadline.after(self.time_limit)
        if y is None:
            raise InvalidInputError(
                f"{type(self).__name__} requires y to be passed, but the target y is None"
            )
        y = column_or_1d(y, warn=True) if getattr(y, "ndim", 1) > 1 else y
        scorers, refit_metric = self._get_scorers()
        X, y = indexable(X, y)
        params = _check_method_params(X, params=params)
        routed = self._get_routed_params_for_fit(params)
        cv = check_cv(self.cv, y, classifier=is_classifier(self.estimator))
        splits = list(cv.split(X, y, **routed.splitter.split))
        listed, branches = self._candidates()
        if not (listed or branches) or not splits:
            raise InvalidInputError("param_grid or cv is empty, so no fits were performed")
        folds = self._folds(X, y, splits, routed, scorers)
        search, above = self._searched(folds, listed, branches, deadline)
        out, worst, stopped = search.outcomes, search.worst, search.stopped
        self.n_splits_ = search.n_splits
        _warn_or_raise_about_fit_failures(out, self.error_score)
        out += search.unfinished()
        if callable(self.scoring):
            _insert_error_scores(out, self.error_score)
        self.multimetric_ = isinstance(out[0]["test_scores"], dict)
        if callable(self.scoring) and self.multimetric_:
            self._check_refit_for_multimetric(out[0]["test_scores"])
            refit_metric = self.refit
        self.stopped_ = stopped
        if stopped:
            warnings.warn(
                f"{type(self).__name__} was stopped by {stopped}; the best so far is returned, "
                "and what is not known is NaN in cv_results_ or a coarse bound"
                f"{self._folds_left_out(len(splits))}",
                stacklevel=2,
            )
        if search.hopeless:
            warnings.warn(
                "bounds stay so far from what was found that they hardly compare candidates; pass "
                "criterion='found', or a smaller epsilon",
                stacklevel=2,
            )
        if self.criterion == "worst" and worst.of_two_kinds:
            warnings.warn(
                "the worst scores of some candidates are proved, those of others only found, which "
                "flatters them; pass criterion='found' to compare all by what was found, or search "
                "the others apart",
                stacklevel=2,
            )
        results = self._format_results(search.candidates, self.n_splits_, out) | worst.columns()
        self.score_bound_ = above
        if self.refit or not self.multimetric_:
            self._choose(results, worst, refit_metric)
        if self.refit:
            self.best_estimator_ = clone(self.estimator).set_params(
                **clone(self.best_params_, safe=False)
            )
            started = time.time()
            self.best_estimator_.fit(X, y, **routed.estimator.fit)
            self.refit_time_ = time.time() - started
            self._refit_rows = X, y, folds.weight
            if hasattr(self.best_estimator_, "feature_names_in_"):
                self.feature_names_in_ = self.best_estimator_.feature_names_in_
        self.scorer_ = scorers._scorers if isinstance(scorers, _MultimetricScorer) else scorers
        self.cv_results_ = results
        return self

    @available_if(_search_estimator_has("predict"))  # type: ignore[untyped-decorator]
    def predict(self, X: Any, abstain: bool = False, abstain_label: Any = DISAGREE) -> Any:
        """Predict with the best estimator, on request not where models that train as well disagree.

        Parameters
        ----------
        X : array-like
        abstain : bool, default=False
            Whether a classifier may give no class to a row.
        abstain_label : default="models disagree"
            What such rows are given instead.

        Returns
        -------
        ndarray of shape (n,)
            Of objects, if it may abstain. Of an estimator that is known by refits, a row is
            answered when none was found that disagrees.
        """
        labels = super().predict(X)
        return self._abstaining(np.asarray(labels), X, abstain_label) if abstain else labels

    def near_optimal_set(self) -> NearOptimalSet:
        """Return all models that train about as well as the best estimator, on all rows.

        The rows are those of `fit`, which are kept for it. The set is made anew by each call.
        """
        check_is_fitted(self)
        if not self.refit:
            raise InvalidInputError("refit is False, so no model was fitted to all rows; pass True")
        return self._worst_case().members(self.best_estimator_, *self._refit_rows)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the mean test score of each candidate against its worst score.

        Parameters
        ----------
        ax : Axes, optional
            Where to draw; by default on a figure of its own.

        Returns
        -------
        Axes
        """
        from pessimal.model_selection.plots import draw  # noqa: PLC0415  # matplotlib is slow

        check_is_fitted(self)
        metric = self.refit if self.multimetric_ else "score"
        return draw(self.cv_results_, metric, self.best_index_, ax)

    def _folds(self, X: Any, y: Any, splits: list[Any], routed: Any, scorers: Any) -> Folds:
        """Return what evaluates a candidate on the folds, by scikit-learn's own fit and score."""
        return Folds(
            clone(self.estimator),
            X,
            y,
            splits,
            self._worst_case(),
            _weights(self.estimator, routed.estimator.fit),
            self.error_score,
            # As a worst score it counts if that is on the scale of `scoring`.
            np.nan
            if isinstance(self.error_score, str) or not self._scored_by()
            else self.error_score,
            {
                "scorer": scorers,
                "fit_params": routed.estimator.fit,
                "score_params": routed.scorer.score,
                "return_train_score": self.return_train_score,
                "return_n_test_samples": True,
                "return_times": True,
                "error_score": self.error_score,
                "verbose": self.verbose,
            },
        )

    def _folds_left_out(self, n_splits: int) -> str:
        if self.n_splits_ == n_splits:
            return ""
        return f"; of {n_splits} folds {self.n_splits_} were reached, by the first candidate alone"

    def _candidates(self) -> tuple[list[dict[str, Any]], list[Branch]]:
        listed, branches = read_grid(self.param_grid, self.n_iter, self.random_state)
        if branches and self.criterion != "worst":
            raise InvalidInputError(
                f"param_grid has a Range, and criterion is {self.criterion!r}; a range is searched "
                "by what is proved, so pass criterion='worst' or a list of values"
            )
        return listed, branches

    def _worst_case(self) -> WorstCase:
        return WorstCase(Budget(self.epsilon, self.delta), self._loss(), self.node_limit)

    def _searched(
        self,
        folds: Folds,
        listed: list[dict[str, Any]],
        branches: list[Branch],
        deadline: Deadline,
    ) -> tuple[Evaluation, float]:
        """Evaluate candidates and ranges; return also what no mean worst score is above."""
        for branch in branches:
            branch.values.require_linear(branch.name, folds.with_parameters(branch.others))
        n, n_splits = len(listed) + FIRST_VALUES * len(branches), len(folds.splits)
        if self.verbose > 0:
            print(
                f"Fitting {n_splits} folds for each of {n} candidates, totalling "
                f"{n * n_splits} fits"
            )
        search = Evaluation(
            folds,
            Parallel(n_jobs=self.n_jobs, pre_dispatch=self.pre_dispatch, return_as="generator"),
            effective_n_jobs(self.n_jobs),
            self.criterion,
            deadline,
            bool(self.refit),
        )
        above = -np.inf
        if listed:
            search.add(listed)
        if branches:
            above = RangeSearch(search, branches, self.gap).run(self.n_iter or MOST_VALUES)
        elif self.criterion == "worst" and not search.stopped:
            search.tighten(self.gap)
        means = search.worst.found[: len(listed)].mean(axis=1)
        if search.stopped and np.isnan(means).any():
            return search, np.inf
        return search, float(np.nanmax(means, initial=above))

    def _loss(self) -> str | Loss | None:
        return self._scored_by() if self.loss is None else self.loss

    def _scored_by(self) -> str | None:
        """Return the loss of `scoring`, if it is known and no other is asked for."""
        scoring = self.scoring
        if isinstance(self.refit, str):
            scoring = scoring[self.refit] if isinstance(scoring, dict) else self.refit
        return LOSS_OF.get(scoring) if isinstance(scoring, str) and self.loss is None else None

    def _choose(self, results: dict[str, Any], worst: Worst, refit_metric: Any) -> None:
        if callable(self.refit):
            self.best_index_ = self._select_best_index(self.refit, refit_metric, results)
        else:
            usual = results[f"mean_test_{refit_metric}"]
            found = worst.found.mean(axis=1)
            scores = {"worst": worst.scores(), "found": found, "mean": usual}[self.criterion]
            second = found if self.criterion == "mean" else usual
            self.best_index_ = choose(scores, [second, -worst.spreads()], results["params"])
            self.best_score_ = scores[self.best_index_]
            proved = results["mean_worst_bound"][self.best_index_]
            missing = max(0.0, self.score_bound_ - proved)
            self.gap_ = float(missing / abs(proved)) if np.isfinite(proved) and proved else np.inf
        self.best_params_ = results["params"][self.best_index_]


def _weights(estimator: Any, fit_params: dict[str, Any]) -> Any:
    """Return the weights among the parameters of a fit; others no refit could be given."""
    names = {"sample_weight"}
    if isinstance(estimator, Pipeline):
        names.add(f"{estimator.steps[-1][0]}__sample_weight")
    for name in fit_params:
        if name not in names:
            raise InvalidInputError(
                f"fit was given {name!r}; of parameters for the estimator it takes weights of rows "
                f"alone: {', '.join(sorted(names))}"
            )
    return next(iter(fit_params.values()), None)
