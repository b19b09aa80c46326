"""PessimisticSearchCV: scikit-learn's manners, and a choice that can be checked by hand."""

from __future__ import annotations

import pickle
import signal
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
import sklearn
from clocks import WorkClock
from scipy.stats import loguniform
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_iris, make_classification
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import FitFailedWarning
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import log_loss
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    KFold,
    PredefinedSplit,
    cross_val_score,
)
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from sklearn.utils.estimator_checks import check_param_validation, parametrize_with_checks

from pessimal import PessimisticSearchCV, near_optimal_set, worst_case_of
from pessimal.interrupts import ended_by_interrupts
from pessimal.limits import NEVER
from pessimal.model_selection import search as module
from pessimal.model_selection.evaluation import Evaluation
from pessimal.model_selection.folds import Folds
from pessimal.model_selection.worst import WorstCase
from pessimal.near_optimal.smooth.smooth_set import SmoothSet

GRID = {"C": [0.01, 0.1, 1.0, 10.0]}
FEW: dict[str, Any] = {"cv": 2, "error_score": "raise", "node_limit": 2}
CHECKED = [
    PessimisticSearchCV(LogisticRegression(), {"C": [0.1, 1.0]}, epsilon=0.01, **FEW),
    PessimisticSearchCV(Ridge(), {"alpha": [0.1, 1.0]}, **FEW),
]


@parametrize_with_checks(CHECKED)  # type: ignore[untyped-decorator]
def test_scikit_learn(estimator: Any, check: Callable[[Any], None]) -> None:
    check(estimator)


def test_parameters_are_validated() -> None:
    check_param_validation("PessimisticSearchCV", CHECKED[0])


def drawn(seed: int = 0, n: int = 90) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 4))
    y = np.where(X @ [1.0, -1.0, 0.5, 0.0] + rng.logistic(size=n) > 0.0, "yes", "no")
    return X, y


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize(
    ("estimator", "grid", "scoring"),
    [
        (LogisticRegression(tol=1e-8), GRID, "neg_log_loss"),
        (Ridge(), {"alpha": [0.1, 1.0, 10.0, 100.0]}, "neg_mean_squared_error"),
        (GaussianNB(), {"var_smoothing": [0.01, 0.1, 1.0]}, "neg_log_loss"),
    ],
    ids=["logistic", "ridge", "bayes"],
)
def test_without_a_budget_the_winner_is_that_of_a_grid_search(
    seed: int, estimator: Any, grid: Any, scoring: str
) -> None:
    X, y = drawn(seed)
    target = X[:, 0] + np.sin(3.0 * X[:, 1]) if isinstance(estimator, Ridge) else y
    ours = PessimisticSearchCV(estimator, grid, epsilon=0.0, scoring=scoring, cv=3).fit(X, target)
    usual = GridSearchCV(estimator, grid, scoring=scoring, cv=3).fit(X, target)
    assert ours.best_params_ == usual.best_params_
    np.testing.assert_allclose(
        ours.cv_results_["mean_worst_found"], usual.cv_results_["mean_test_score"], rtol=1e-4
    )
    for name in ("mean_test_score", "rank_test_score", "split1_test_score", "std_test_score"):
        np.testing.assert_array_equal(ours.cv_results_[name], usual.cv_results_[name])
    np.testing.assert_array_equal(ours.predict(X), usual.predict(X))


def test_the_choice_has_the_least_worst_case_of_all_candidates() -> None:
    X, y = drawn(1)
    cv = KFold(3, shuffle=True, random_state=0)
    search = PessimisticSearchCV(
        LogisticRegression(), GRID, epsilon=0.05, scoring="neg_log_loss", cv=cv, gap=0.0
    ).fit(X, y)
    worst = np.array(
        [
            [
                near_optimal_set(LogisticRegression(C=C), X[T], y[T], epsilon=0.05)
                .worst(X[V], y[V])
                .value
                for T, V in cv.split(X)
            ]
            for C in GRID["C"]
        ]
    )
    assert search.best_index_ == worst.mean(axis=1).argmin()
    results = search.cv_results_
    found = np.column_stack([results[f"split{k}_worst_found"] for k in range(3)])
    bound = np.column_stack([results[f"split{k}_worst_bound"] for k in range(3)])
    assert (-found <= worst * (1.0 + 1e-6)).all()
    assert (-bound >= worst * (1.0 - 1e-6)).all()
    assert results["rank_worst"][search.best_index_] == 1
    assert search.best_score_ == results["mean_worst_bound"][search.best_index_]
    np.testing.assert_allclose(results["mean_worst_found"], found.mean(axis=1))
    np.testing.assert_allclose(results["std_worst_bound"], bound.std(axis=1))


def test_bounds_that_cannot_change_the_choice_stay_coarse(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = drawn(2)
    asked = set()
    inner = Folds.worst

    def worst(folds: Folds, parameters: Any, k: int, *seconds: float) -> Any:
        asked.add(parameters["C"])
        return inner(folds, parameters, k, *seconds)

    monkeypatch.setattr(Folds, "worst", worst)
    grid = {"C": [1e-5, 0.1, 0.3, 1.0]}
    search = PessimisticSearchCV(
        LogisticRegression(), grid, epsilon=0.2, scoring="neg_log_loss", cv=3, gap=1e-4
    ).fit(X, y)
    results = search.cv_results_
    out = results["mean_worst_found"] < results["mean_worst_bound"][search.best_index_]
    assert out[0]
    assert asked.isdisjoint(np.array(grid["C"])[out])
    # What is left open is no better than the gap says.
    assert results["mean_worst_found"].max() <= search.best_score_ + 1e-4 * abs(search.best_score_)


def test_the_order_of_the_grid_does_not_matter() -> None:
    X, y = drawn(3)
    values = [0.003, 0.01, 0.1, 1.0, 3.0]
    chosen = set()
    # By accuracy on few rows many candidates are tied.
    for order in (values, values[::-1], [1.0, 0.003, 3.0, 0.1, 0.01]):
        for epsilon in (0.0, 0.001):
            search = PessimisticSearchCV(
                LogisticRegression(), {"C": order}, epsilon=epsilon, scoring="accuracy", cv=3
            ).fit(X, y)
            chosen.add((epsilon, search.best_params_["C"]))
    assert len(chosen) == 2


def test_ties_go_to_the_stronger_penalty() -> None:
    X, y = drawn(3)
    grid = {"max_depth": [None, 3, 2], "min_samples_leaf": [1, 60]}
    tree = DecisionTreeClassifier(random_state=0)
    search = PessimisticSearchCV(
        tree, {**grid, "min_samples_leaf": [59, 60]}, scoring="neg_log_loss", cv=3, node_limit=5
    ).fit(X, y)  # no split leaves so many rows: all are the same tree
    assert search.best_params_ == {"max_depth": 2, "min_samples_leaf": 60}


def test_processes_give_the_same_answer() -> None:
    X, y = drawn(4)
    for estimator, grid in (
        (LogisticRegression(), GRID),
        (GaussianNB(), {"var_smoothing": [0.1, 1]}),
    ):
        search = PessimisticSearchCV(estimator, grid, epsilon=0.05, cv=3, node_limit=15)
        alone, apart = (clone(search).set_params(n_jobs=n).fit(X, y) for n in (1, 2))
        for name, column in alone.cv_results_.items():
            if name.endswith(("found", "bound", "test_score")) or name.startswith("rank"):
                np.testing.assert_array_equal(column, apart.cv_results_[name])
        assert alone.best_params_ == apart.best_params_


def test_more_than_two_classes_are_found_and_not_proved() -> None:
    X, y = load_iris(return_X_y=True)
    search = PessimisticSearchCV(
        LogisticRegression(), {"C": [0.01, 1.0]}, scoring="neg_log_loss", cv=3, node_limit=20
    ).fit(X, y)
    results = search.cv_results_
    assert np.isneginf(results["mean_worst_bound"]).all()
    assert not results["worst_proved"].any()
    # The fits of the first are worse than the worst of the second: no refit was needed.
    assert results["worst_dropped"].tolist() == [True, False]
    assert results["mean_worst_found"][0] == pytest.approx(results["mean_test_score"][0])
    assert results["mean_worst_found"][1] < results["mean_test_score"][1]
    assert search.best_score_ == results["mean_worst_found"].max()
    assert search.best_params_ == {"C": 1.0}


def test_a_bound_of_no_meaning_does_not_decide() -> None:
    X, y = drawn(5)
    search = PessimisticSearchCV(
        DecisionTreeClassifier(random_state=0),
        {"max_depth": [1, 2]},
        scoring="accuracy",
        cv=3,
        node_limit=20,
    ).fit(X, y)
    assert (search.cv_results_["mean_worst_bound"] == 0.0).all()
    assert search.best_score_ == search.cv_results_["mean_worst_found"].max()


def test_regressors_are_searched() -> None:
    X, _ = drawn(6)
    y = np.sin(2.0 * X[:, 0])
    search = PessimisticSearchCV(
        DecisionTreeRegressor(random_state=0), {"max_depth": [1, 2]}, cv=3, node_limit=15
    ).fit(X, y)
    assert search.score(X, y) > 0.0
    assert (search.cv_results_["mean_worst_found"] < 0.0).all()


def test_a_table_with_text_and_missing_cells_goes_through_a_pipeline() -> None:
    rng = np.random.default_rng(0)
    X, y = drawn(7)
    words = np.where(X[:, 0] > 0.0, "warm and dry", "cold and wet")
    frame = pd.DataFrame({"words": words, "colour": rng.choice(["red", "blue"], len(y))})
    frame["size"] = np.where(rng.random(len(y)) < 0.2, np.nan, X[:, 1])
    columns = make_column_transformer(
        (CountVectorizer(), "words"),
        (OneHotEncoder(), ["colour"]),
        (make_pipeline(SimpleImputer(), StandardScaler()), ["size"]),
    )
    model = make_pipeline(columns, LogisticRegression())
    grid = {
        "logisticregression__C": [0.01, 1.0],
        "columntransformer__countvectorizer__binary": [True],
    }
    search = PessimisticSearchCV(model, grid, epsilon=0.02, scoring="neg_log_loss", cv=3)
    search.fit(frame, pd.Series(y))
    assert search.cv_results_["worst_proved"][search.best_index_]
    assert search.feature_names_in_.tolist() == ["words", "colour", "size"]
    assert search.score(frame, y) > -np.log(2.0)
    assert {"param_logisticregression__C", "mean_worst_bound"} <= set(
        pd.DataFrame(search.cv_results_)
    )


def test_groups_and_predefined_splits_are_those_of_scikit_learn() -> None:
    X, y = drawn(8)
    groups = np.arange(len(y)) % 5
    search = PessimisticSearchCV(LogisticRegression(), GRID, epsilon=0.01)
    usual = GridSearchCV(LogisticRegression(), GRID)
    for cv in (GroupKFold(3), PredefinedSplit(np.where(groups == 0, 0, -1))):
        results = [
            clone(each).set_params(cv=cv).fit(X, y, groups=groups).cv_results_["mean_test_score"]
            for each in (search, usual)
        ]
        np.testing.assert_array_equal(*results)


def test_weights_reach_the_training_of_the_set() -> None:
    X, y = drawn(9)
    weight = np.where(y == "yes", 3.0, 1.0)
    cv = PredefinedSplit(np.where(np.arange(len(y)) < 60, -1, 0))
    search = PessimisticSearchCV(LogisticRegression(), {"C": [1.0]}, epsilon=0.01, cv=cv)
    T, V = slice(0, 60), slice(60, None)
    expected = near_optimal_set(
        LogisticRegression(), X[T], y[T], epsilon=0.01, sample_weight=weight[T]
    ).worst(X[V], y[V])
    search.fit(X, y, sample_weight=weight)
    # The bound of an only candidate decides nothing, so it may stay coarse.
    assert search.cv_results_["mean_worst_found"][0] == pytest.approx(-expected.value, rel=1e-4)
    assert search.best_score_ == pytest.approx(-expected.upper_bound, rel=1e-2)
    with sklearn.config_context(enable_metadata_routing=True):
        estimator = LogisticRegression().set_fit_request(sample_weight=True)
        estimator.set_score_request(sample_weight=False)
        model = make_pipeline(FunctionTransformer(), estimator)
        grid = {"logisticregression__C": [1.0]}
        routed = PessimisticSearchCV(model, grid, epsilon=0.01, cv=cv)
        routed.fit(X, y, sample_weight=weight)
    assert routed.best_score_ == pytest.approx(search.best_score_, rel=1e-6)
    with pytest.raises(ValueError, match="weights of rows alone"):
        search.fit(X, y, other=1)


def test_several_metrics_are_followed_by_the_one_of_refit() -> None:
    X, y = drawn(10)
    search = PessimisticSearchCV(
        LogisticRegression(), GRID, scoring=["accuracy", "roc_auc"], refit="accuracy", cv=3
    ).fit(X, y)
    assert {"mean_test_accuracy", "mean_test_roc_auc"} <= set(search.cv_results_)
    assert 0.0 < search.best_score_ < 1.0
    assert search.multimetric_
    unfitted = clone(search).set_params(refit=False).fit(X, y)
    assert not hasattr(unfitted, "best_estimator_")


def test_the_mean_criterion_chooses_as_a_grid_search_and_tells_worst_cases() -> None:
    X, y = drawn(11)
    search = PessimisticSearchCV(
        LogisticRegression(), GRID, criterion="mean", scoring="neg_log_loss", cv=3
    ).fit(X, y)
    usual = GridSearchCV(LogisticRegression(), GRID, scoring="neg_log_loss", cv=3).fit(X, y)
    assert search.best_params_ == usual.best_params_
    assert search.best_score_ == usual.best_score_
    assert np.isfinite(search.cv_results_["mean_worst_bound"]).all()


def test_the_found_criterion_asks_for_no_proof(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = drawn(11)
    monkeypatch.setattr(Evaluation, "tighten", None)
    search = PessimisticSearchCV(LogisticRegression(), GRID, criterion="found", cv=3).fit(X, y)
    assert search.best_score_ == search.cv_results_["mean_worst_found"].max()


def test_candidates_are_drawn_from_distributions() -> None:
    X, y = drawn(12)
    search = PessimisticSearchCV(
        LogisticRegression(), {"C": loguniform(1e-2, 1e2)}, n_iter=4, random_state=0, cv=2
    ).fit(X, y)
    assert len(search.cv_results_["params"]) == 4


def test_a_fit_that_fails_counts_as_error_score() -> None:
    X, y = drawn(13)
    grid = {"C": [1.0, -1.0]}
    with pytest.warns(FitFailedWarning, match="2 fits failed"):
        search = PessimisticSearchCV(LogisticRegression(), grid, cv=2).fit(X, y)
    assert np.isnan(search.cv_results_["mean_worst_found"][1])
    assert search.best_params_ == {"C": 1.0}
    with pytest.raises(ValueError, match="'C' parameter"):
        PessimisticSearchCV(LogisticRegression(), grid, cv=2, error_score="raise").fit(X, y)


def test_a_pipeline_of_one_step_has_the_bounds_of_that_step() -> None:
    rng = np.random.default_rng(6)
    X = rng.standard_normal((30, 2))
    y = X[:, 0] + 0.3 * rng.standard_normal(30)
    rows = X[:20], y[:20], X[20:], y[20:]
    alone, piped = (worst_case_of(one, *rows) for one in (Ridge(), make_pipeline(Ridge())))
    assert piped.proved
    assert piped.upper_bound == alone.upper_bound
    assert near_optimal_set(make_pipeline(Ridge()), *rows[:2]).proves


def test_what_is_found_is_not_compared_with_what_is_proved_in_silence() -> None:
    rng = np.random.default_rng(5)
    X = rng.standard_normal((40, 2))
    y = X[:, 0] + 0.3 * rng.standard_normal(40)
    pipeline = Pipeline([("scale", StandardScaler()), ("model", Ridge())])
    tree = DecisionTreeRegressor(max_depth=2, random_state=0)
    for models, kinds in (([Ridge(), tree], 2), ([Ridge(), Ridge(alpha=3.0)], 1), ([tree], 1)):
        search = PessimisticSearchCV(pipeline, {"model": models}, cv=2, node_limit=2)
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            search.fit(X, y)
        assert any("flatters" in str(one.message) for one in told) == (kinds == 2)


def test_a_forest_that_learns_rows_by_heart_is_warned_of() -> None:
    X, y = drawn(14)
    forest = RandomForestClassifier(5, random_state=0)
    search = PessimisticSearchCV(forest, {"max_depth": [None]}, cv=2, node_limit=6)
    with pytest.warns(UserWarning, match="learns rows by heart"):
        search.fit(X, y)


def test_ctrl_c_returns_the_best_so_far(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = drawn(15)
    inner = Folds.evaluate

    def evaluate(folds: Folds, parameters: Any, *others: Any) -> Any:
        if parameters["C"] == GRID["C"][2]:
            signal.raise_signal(signal.SIGINT)
        return inner(folds, parameters, *others)

    monkeypatch.setattr(Folds, "evaluate", evaluate)
    search = PessimisticSearchCV(LogisticRegression(), GRID, cv=3)
    with pytest.warns(UserWarning, match="stopped by Ctrl-C"):
        search.fit(X, y)
    assert np.isnan(search.cv_results_["mean_worst_found"]).tolist() == [False, False, True, True]
    assert search.best_index_ in (0, 1)
    assert search.predict(X).shape == y.shape


@pytest.mark.parametrize("call", [5, 13])  # while candidates are fitted, and while bounds sharpen
def test_ctrl_c_that_a_near_optimal_set_has_taken_ends_the_search(
    call: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    X, y = drawn(15)
    real, calls = SmoothSet.worst, 0

    def interrupted(*arguments: Any, **options: Any) -> Any:
        nonlocal calls
        calls += 1
        with ended_by_interrupts(NEVER):
            if calls == call:
                signal.raise_signal(signal.SIGINT)
            return real(*arguments, **options)

    monkeypatch.setattr(SmoothSet, "worst", interrupted)
    search = PessimisticSearchCV(LogisticRegression(), GRID, cv=3, epsilon=0.3)
    with pytest.warns(UserWarning, match="stopped by Ctrl-C"):
        search.fit(X, y)
    assert calls <= call + 1  # a fold is asked about twice at most
    assert search.stopped_ == "Ctrl-C"
    assert search.predict(X).shape == y.shape


def test_a_time_limit_returns_the_best_so_far(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = drawn(16)
    inner, now = Folds.evaluate, [0.0]
    monkeypatch.setattr(time, "perf_counter", lambda: now[0])

    def evaluate(folds: Folds, parameters: Any, *others: Any) -> Any:
        now[0] += 1000.0 * (parameters["C"] == GRID["C"][1])
        return inner(folds, parameters, *others)

    monkeypatch.setattr(Folds, "evaluate", evaluate)
    search = PessimisticSearchCV(LogisticRegression(), GRID, cv=3, time_limit=500.0)
    with pytest.warns(UserWarning, match="stopped by time_limit"):
        search.fit(X, y)
    assert np.isfinite(search.cv_results_["mean_worst_found"][0])
    assert np.isnan(search.cv_results_["mean_worst_found"][3])


@pytest.mark.parametrize("cause", ["time_limit", "Ctrl-C"])
def test_what_is_too_short_for_all_folds_leaves_those_that_were_reached(
    cause: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    X, y = drawn(16)
    inner, now = Folds.evaluate, [0.0]
    monkeypatch.setattr(time, "perf_counter", lambda: now[0])

    def evaluate(folds: Folds, parameters: Any, k: int, candidate: Any, ended: bool) -> Any:
        assert (candidate[0], k) <= (0, 2)
        if k == 2:
            signal.raise_signal(signal.SIGINT)
        found = inner(folds, parameters, k, candidate, ended)
        now[0] += 300.0 * (cause == "time_limit")
        return found

    monkeypatch.setattr(Folds, "evaluate", evaluate)
    search = PessimisticSearchCV(LogisticRegression(), GRID, cv=4, time_limit=500.0)
    with pytest.warns(UserWarning, match=f"stopped by {cause}.*of 4 folds 2 were reached"):
        search.fit(X, y)
    assert search.n_splits_ == 2
    assert search.best_index_ == 0
    plain = GridSearchCV(LogisticRegression(), {"C": GRID["C"][:1]}, cv=4).fit(X, y).cv_results_
    for k in range(2):
        assert search.cv_results_[f"split{k}_test_score"][0] == plain[f"split{k}_test_score"][0]
    assert "split2_test_score" not in search.cv_results_
    assert np.isnan(search.cv_results_["mean_test_score"]).tolist() == [False, True, True, True]
    assert search.predict(X).shape == y.shape


def test_it_is_pickled_shown_and_drawn() -> None:
    X, y = drawn(17)
    search = PessimisticSearchCV(LogisticRegression(), GRID, cv=3).fit(X, y)
    assert "PessimisticSearchCV" in search._repr_html_()
    restored = pickle.loads(pickle.dumps(search))
    np.testing.assert_array_equal(restored.predict(X), search.predict(X))
    axes = search.plot()
    labels = axes.get_legend_handles_labels()[1]
    assert {"chosen", "usual winner"} <= set(labels)
    assert search.plot(axes) is axes


def test_it_is_cross_validated_itself() -> None:
    X, y = drawn(18)
    search = PessimisticSearchCV(LogisticRegression(), GRID, epsilon=0.01, cv=2)
    assert cross_val_score(search, X, y, cv=2).shape == (2,)


def test_a_plain_function_gives_the_worst_case_of_any_estimator() -> None:
    X, y = drawn(19)
    T, V = slice(0, 60), slice(60, None)
    worst = worst_case_of(LogisticRegression(), X[T], y[T], X[V], y[V], epsilon=0.05)
    fit = LogisticRegression().fit(X[T], y[T])
    assert log_loss(y[V], fit.predict_proba(X[V])) < worst.value <= worst.upper_bound < np.inf
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = worst_case_of(
            make_pipeline(StandardScaler(), GaussianNB()), X[T], y[T], X[V], y[V], node_limit=20
        )
    assert found.upper_bound == np.inf
    proba = found.model.predict_proba(X[V])
    assert found.value == pytest.approx(log_loss(y[V], proba), rel=1e-6)
    assert module.LOSS_OF["accuracy"] == "zero_one"


def test_each_fold_has_its_share_of_the_time(monkeypatch: pytest.MonkeyPatch) -> None:
    WorkClock(monkeypatch)  # it stands still
    given: list[float] = []
    real = WorstCase.of

    def noted(task: WorstCase, *arguments: Any, **options: Any) -> Any:
        given.append(arguments[-1].left)
        return real(task, *arguments, **options)

    monkeypatch.setattr(WorstCase, "of", noted)
    X, y = make_classification(40, random_state=0)
    tree = DecisionTreeClassifier(max_depth=1, random_state=0)
    search = PessimisticSearchCV(
        tree, {"min_samples_leaf": [2, 5]}, cv=3, time_limit=6.0, node_limit=1
    ).fit(X, y)
    # What is left of six seconds among the folds that are left.
    assert given == pytest.approx([1.0, 1.2, 1.5, 2.0, 3.0, 6.0])
    assert search.stopped_ == ""
