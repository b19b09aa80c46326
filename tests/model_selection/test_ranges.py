"""Ranges of a penalty: a bound that no value of the range goes beyond."""

from __future__ import annotations

import itertools
import time
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import ElasticNet, LogisticRegression, Ridge, RidgeClassifier
from sklearn.model_selection import KFold, PredefinedSplit
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from pessimal import PessimisticSearchCV, near_optimal_set
from pessimal.errors import InvalidInputError
from pessimal.limits import AT_ONCE
from pessimal.model_selection import Range
from pessimal.model_selection.plots import plot_curve

CV = KFold(2, shuffle=True, random_state=0)


def drawn(seed: int, numbers: bool) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((90, 4))
    y = X @ [1.0, -0.5, 0.0, 0.0] + rng.standard_normal(90)
    return X, y if numbers else (y > 0.0).astype(int)


def worst_found(estimator: Any, X: Any, y: Any, splits: Any) -> float:
    """Return the mean over folds of worst scores found, each by a call of its own."""
    return -float(
        np.mean(
            [
                near_optimal_set(estimator, X[T], y[T], epsilon=0.05)
                .worst(X[V], y[V], time_limit=AT_ONCE)
                .value
                for T, V in splits
            ]
        )
    )


@pytest.mark.parametrize(
    ("estimator", "name", "values"),
    [
        (Ridge(), "alpha", Range(1e-3, 1e3)),
        (RidgeClassifier(), "alpha", Range(1e-3, 1e3)),
        (LogisticRegression(), "C", Range(1e-3, 1e3)),
        (LinearSVC(), "C", Range(1e-3, 1e3)),
        (ElasticNet(alpha=0.3), "l1_ratio", Range(0.0, 1.0)),
        (ElasticNet(), "alpha", Range(1e-2, 1.0)),
    ],
    ids=lambda value: type(value).__name__ if hasattr(value, "fit") else str(value),
)
def test_no_value_of_a_fine_grid_beats_the_bound(estimator: Any, name: str, values: Range) -> None:
    X, y = drawn(0, isinstance(estimator, Ridge | ElasticNet))
    slow = isinstance(estimator, ElasticNet)  # and bounded less, so that the gap may be larger
    search = PessimisticSearchCV(
        estimator, {name: values}, epsilon=0.05, cv=CV, n_iter=12 if slow else None
    ).fit(X, y)
    assert values.low <= search.best_params_[name] <= values.high
    assert search.best_score_ <= search.score_bound_
    assert search.gap_ == pytest.approx(1.0 - search.score_bound_ / search.best_score_)
    assert slow or search.gap_ <= 0.01
    splits = list(CV.split(X))
    spaced = np.linspace if name == "l1_ratio" else np.geomspace
    for value in spaced(values.low, values.high, 10 if slow else 40):
        estimator.set_params(**{name: value})
        # What is found is no worse than the worst, up to what an ascent may miss.
        assert worst_found(estimator, X, y, splits) <= search.score_bound_ * (1.0 - 1e-3)


def test_fewer_values_prove_less_and_nothing_wrong() -> None:
    X, y = drawn(0, True)
    cv = PredefinedSplit(np.where(np.arange(len(y)) < 50, -1, 0))
    few, many = (
        PessimisticSearchCV(Ridge(), {"alpha": Range(1e-3, 1e3)}, cv=cv, gap=1e-3, n_iter=n).fit(
            X, y
        )
        for n in (7, None)
    )
    assert len(few.cv_results_["params"]) == 7
    assert few.best_score_ <= many.score_bound_ <= few.score_bound_
    assert many.gap_ <= 1e-3 < few.gap_


def test_a_range_stands_beside_lists_and_in_pipelines() -> None:
    X, y = drawn(1, False)
    model = make_pipeline(StandardScaler(), LogisticRegression())
    name, balance = "logisticregression__C", "logisticregression__class_weight"
    grid = [{name: Range(0.01, 10.0), balance: [None, "balanced"]}, {name: [100.0]}]
    search = PessimisticSearchCV(model, grid, epsilon=0.01, cv=CV).fit(X, y)
    kinds = {parameters.get(balance, "listed") for parameters in search.cv_results_["params"]}
    assert kinds == {None, "balanced", "listed"}
    assert search.gap_ <= 0.01
    alone = [
        PessimisticSearchCV(model, grid, epsilon=0.01, cv=CV).fit(X, y)
        for grid in ({name: Range(0.01, 10.0), balance: [b]} for b in (None, "balanced"))
    ]
    best = max(each.best_score_ for each in alone)
    assert search.best_score_ == pytest.approx(best, rel=0.01)
    assert search.score_bound_ >= best


def test_processes_look_at_the_same_values() -> None:
    X, y = drawn(2, False)
    search = PessimisticSearchCV(LogisticRegression(), {"C": Range(0.1, 10.0)}, cv=CV)
    one, two = (search.set_params(n_jobs=n).fit(X, y).cv_results_["params"] for n in (1, 2))
    assert one == two


def test_a_stopped_search_keeps_a_valid_bound() -> None:
    X, y = drawn(3, False)
    search = PessimisticSearchCV(
        LogisticRegression(), {"C": Range(1e-3, 1e3)}, cv=CV, time_limit=1e-9
    )
    with pytest.warns(UserWarning, match="stopped by time_limit"):
        search.fit(X, y)
    assert search.score_bound_ == 0.0
    assert np.isfinite(search.best_score_)


def test_what_has_no_such_penalty_is_refused_by_name() -> None:
    X, y = drawn(0, False)
    for estimator, grid, message in (
        (RandomForestClassifier(), {"max_depth": Range(1.0, 2.0)}, "Range for 'max_depth'"),
        (LogisticRegression(), {"tol": Range(0.1, 1.0)}, "Range for 'tol'"),
        (LogisticRegression(), {"C": Range(0.0, 1.0)}, "pass 0 < low < high"),
        (
            LogisticRegression(),
            {"C": Range(0.1, 1.0), "l1_ratio": Range(0.0, 1.0)},
            "pass one, and lists for others",
        ),
    ):
        with pytest.raises(InvalidInputError, match=message):
            PessimisticSearchCV(estimator, grid).fit(X, y)
    search = PessimisticSearchCV(LogisticRegression(), {"C": Range(0.1, 1.0)})
    with pytest.raises(InvalidInputError, match="with a Range pass a smooth one"):
        clone(search).set_params(scoring="accuracy").fit(X, y)
    with pytest.raises(InvalidInputError, match="criterion is 'found'"):
        clone(search).set_params(criterion="found").fit(X, y)
    three = np.arange(len(y)) % 3
    with pytest.raises(InvalidInputError, match="nothing is proved of"):
        search.fit(X, three)
    for low, high in ((2.0, 1.0), (-1.0, 1.0), (1.0, np.inf), ("1", 2.0)):
        with pytest.raises(InvalidInputError, match="low="):
            Range(low, high)  # type: ignore[arg-type]


def wide(seed: int) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((60, 100))
    return X, (X[:, 0] + rng.standard_normal(60) > 0.0).astype(int)


def test_values_that_lose_too_much_are_dropped_and_the_bound_holds() -> None:
    X, y = wide(0)
    search = PessimisticSearchCV(
        LogisticRegression(max_iter=1000), {"C": Range(1e-3, 1e3)}, epsilon=0.05, cv=CV, refit=False
    ).fit(X, y)
    results = search.cv_results_
    assert search.gap_ <= 0.01
    dropped = results["worst_dropped"]
    assert 0 < dropped.sum() < len(dropped)
    # Their own fits, which are equally good models, lose more than the best value at its worst.
    assert (results["mean_worst_found"][dropped] < search.best_score_).all()
    splits = list(CV.split(X))
    for C in np.geomspace(1e-3, 1e3, 13):
        found = worst_found(LogisticRegression(C=C, max_iter=1000), X, y, splits)
        assert found <= search.score_bound_ * (1.0 - 1e-3)


def test_a_curve_leaves_out_dropped_values() -> None:
    X, y = wide(0)
    search = PessimisticSearchCV(
        LogisticRegression(max_iter=1000), {"C": Range(1e-3, 1e3)}, cv=CV, n_iter=7
    ).fit(X, y)
    worst: Any = plot_curve(search, "C").containers[0]
    assert (
        np.isnan(worst.lines[0].get_ydata()).tolist()
        == search.cv_results_["worst_dropped"].tolist()
    )


@pytest.mark.parametrize("limit", [0.1, 0.2, 0.3, 0.5])
def test_time_that_ends_before_the_gap_is_closed_is_told(
    monkeypatch: pytest.MonkeyPatch, limit: float
) -> None:
    X, y = wide(1)
    search = PessimisticSearchCV(
        LogisticRegression(max_iter=1000), {"C": Range(1e-3, 1e3)}, epsilon=1e-3, cv=CV, refit=False
    )
    ticks = itertools.count()
    monkeypatch.setattr(time, "perf_counter", lambda: 1e-3 * next(ticks))
    with pytest.warns(UserWarning, match="stopped by time_limit"):
        search.set_params(time_limit=limit).fit(X, y)
    assert search.stopped_ == "time_limit"
    assert search.gap_ > 0.01
    assert np.isfinite(search.best_score_)


def test_cells_are_divided_again_after_sharp_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = drawn(0, False)
    search = PessimisticSearchCV(
        LogisticRegression(), {"C": Range(1e-3, 1e3)}, epsilon=0.2, gap=1e-3, cv=CV, refit=False
    )
    ticks = itertools.count()
    monkeypatch.setattr(time, "perf_counter", lambda: 1e-3 * next(ticks))
    search.set_params(time_limit=6.0).fit(X, y)
    assert search.stopped_ == ""
    assert search.gap_ <= 1e-3
