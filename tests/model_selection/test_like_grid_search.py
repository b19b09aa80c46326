"""A pessimistic search beside scikit-learn's: same columns and attributes, at ε = 0 same winner."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest
import sklearn
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import Lasso, LogisticRegression, Ridge, RidgeClassifier
from sklearn.model_selection import GridSearchCV, GroupKFold, KFold, PredefinedSplit
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC
from sklearn.tree import DecisionTreeRegressor

from pessimal import PessimisticSearchCV
from pessimal.errors import LearntByHeartWarning

RNG = np.random.default_rng(0)
X = RNG.standard_normal((60, 3))
SCORE = X @ [1.0, -0.5, 0.2] + RNG.logistic(size=60)
LABELS = np.where(SCORE > 0.0, "yes", "no")
NUMBERS = SCORE + 0.3 * RNG.standard_normal(60)
THREE = np.digitize(SCORE, [-0.7, 0.7])
WEIGHT = RNG.uniform(0.2, 3.0, 60)
GROUPS = np.arange(60) % 6
FRAME = pd.DataFrame(X, columns=list("abc"))
CV = KFold(3, shuffle=True, random_state=1)
C = {"C": [0.1, 1.0, 10.0]}


def assert_same_columns(ours: PessimisticSearchCV, usual: GridSearchCV) -> None:
    for name, column in usual.cv_results_.items():
        if not name.endswith("_time"):
            np.testing.assert_array_equal(ours.cv_results_[name], column, err_msg=name)
    assert {name for name in vars(usual) if name.endswith("_")} <= set(vars(ours))
    for name in ("n_splits_", "multimetric_"):
        assert getattr(ours, name) == getattr(usual, name)


@pytest.mark.parametrize(
    ("estimator", "grid", "data", "options", "fit"),
    [
        (LogisticRegression(), C, (FRAME, pd.Series(LABELS)), {}, {}),
        (LogisticRegression(), C, (csr_array(X), LABELS), {}, {}),
        (LogisticRegression(), C, (X.tolist(), LABELS.tolist()), {}, {"sample_weight": WEIGHT}),
        (LogisticRegression(), C, (X, LABELS), {"cv": GroupKFold(3)}, {"groups": GROUPS}),
        (LogisticRegression(), C, (X, LABELS), {"cv": PredefinedSplit(GROUPS % 3 - 1)}, {}),
        (LogisticRegression(), C, (X, LABELS), {"return_train_score": True}, {}),
        (
            LogisticRegression(),
            C,
            (X, SCORE > 0.0),
            {"scoring": ["accuracy", "neg_log_loss"], "refit": "neg_log_loss"},
            {},
        ),
        (
            LogisticRegression(),
            C,
            (X, SCORE > 0.0),
            {"scoring": {"a": "accuracy", "b": "roc_auc"}, "refit": False},
            {},
        ),
        (LogisticRegression(), C, (X, LABELS), {"refit": lambda _: 1}, {}),
        (LogisticRegression(), [C, {"class_weight": ["balanced"]}], (X, LABELS), {}, {}),
        (GaussianNB(), {"var_smoothing": [0.1, 1.0]}, (X, THREE), {}, {"sample_weight": WEIGHT}),
        (
            DecisionTreeRegressor(max_depth=2, random_state=0),
            {"min_samples_leaf": [3, 9]},
            (FRAME, NUMBERS),
            {},
            {},
        ),
    ],
    ids=[
        *("frame", "sparse", "lists and weights", "groups", "predefined", "train scores"),
        *("metrics", "metrics without refit", "refit by function", "grids", "classes", "numbers"),
    ],
)
def test_ordinary_columns_and_attributes_are_those_of_a_grid_search(
    estimator: Any, grid: Any, data: Any, options: dict[str, Any], fit: dict[str, Any]
) -> None:
    options = {"cv": CV} | options
    ours = PessimisticSearchCV(estimator, grid, node_limit=5, **options).fit(*data, **fit)
    assert_same_columns(ours, GridSearchCV(estimator, grid, **options).fit(*data, **fit))
    found = ours.cv_results_["mean_worst_found"]
    assert np.isfinite(found).all()
    assert (found >= ours.cv_results_["mean_worst_bound"]).all()


def test_metadata_is_routed_as_in_a_grid_search() -> None:
    with sklearn.config_context(enable_metadata_routing=True):
        model = LogisticRegression().set_fit_request(sample_weight=True)
        model.set_score_request(sample_weight=True)
        for weight in (WEIGHT, pd.Series(WEIGHT)):
            fitted = [
                search.fit(X, LABELS, sample_weight=weight, groups=GROUPS)
                for search in (
                    PessimisticSearchCV(model, C, cv=GroupKFold(3)),
                    GridSearchCV(model, C, cv=GroupKFold(3)),
                )
            ]
            assert_same_columns(*fitted)


@pytest.mark.parametrize(
    ("estimator", "grid", "scoring"),
    [
        (LogisticRegression(tol=1e-8), C, "neg_log_loss"),
        (LogisticRegression(tol=1e-8), C, "accuracy"),
        (make_pipeline(StandardScaler(), Ridge()), {"ridge__alpha": [0.1, 10.0, 500.0]}, None),
        (Lasso(tol=1e-10), {"alpha": [0.001, 0.1, 0.5]}, "neg_mean_squared_error"),
        (RidgeClassifier(), {"alpha": [0.1, 10.0, 500.0]}, "accuracy"),
        (LinearSVC(tol=1e-8, max_iter=10_000), C, "accuracy"),
        (GaussianNB(), {"var_smoothing": [0.01, 0.3, 3.0]}, "neg_log_loss"),
        (LinearDiscriminantAnalysis(solver="lsqr"), {"shrinkage": [0.0, 0.5, 1.0]}, "neg_log_loss"),
        (KNeighborsClassifier(), {"n_neighbors": [3, 9, 25]}, "accuracy"),
    ],
    ids=lambda value: type(value).__name__ if hasattr(value, "fit") else None,
)
def test_without_a_budget_the_winner_is_that_of_a_grid_search(
    estimator: Any, grid: Any, scoring: str | None
) -> None:
    regression = scoring == "neg_mean_squared_error" or scoring is None
    y = NUMBERS if regression else LABELS
    options: dict[str, Any] = {"cv": CV, "scoring": scoring or "neg_mean_squared_error"}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LearntByHeartWarning)
        ours = PessimisticSearchCV(estimator, grid, epsilon=0.0, **options).fit(X, y)
    usual = GridSearchCV(estimator, grid, **options).fit(X, y)
    best = usual.cv_results_["mean_test_score"]
    # Of several that are tied, a grid search takes the first; here a stated rule decides.
    assert best[ours.best_index_] == pytest.approx(usual.best_score_, rel=1e-9)


def test_a_candidate_is_dropped_only_if_it_cannot_win() -> None:
    """Racing over folds gives the winner of a search that looks at all candidates."""
    n_dropped = 0
    for seed in range(2):
        rng = np.random.default_rng(seed)
        rows = rng.standard_normal((80, 3))
        y = (rows @ rng.standard_normal(3) + rng.logistic(size=80) > 0.0).astype(int)
        for model, grid in (
            (GaussianNB(), {"var_smoothing": [0.01, 1.0, 10.0, 100.0]}),
            (SVC(kernel="linear"), {"C": [1e-3, 1e-2, 0.1, 1.0]}),
        ):
            search = PessimisticSearchCV(model, grid, epsilon=0.02, cv=3, node_limit=12)
            raced = clone(search).fit(rows, y)
            # By the mean test score nobody is dropped, and all worst cases are reported.
            full = clone(search).set_params(criterion="mean").fit(rows, y)
            assert not full.cv_results_["worst_dropped"].any()
            best = full.cv_results_["mean_worst_found"]
            assert best[raced.best_index_] == pytest.approx(best.max(), rel=1e-9)
            assert raced.best_score_ == pytest.approx(best.max(), rel=1e-9)
            dropped = raced.cv_results_["worst_dropped"]
            assert (best[dropped] < best.max()).all()
            assert not dropped[raced.best_index_]
            n_dropped += dropped.sum()
    assert n_dropped > 0


def test_a_failed_fit_never_wins_by_a_score_of_another_scale() -> None:
    search = PessimisticSearchCV(LogisticRegression(), {"C": [1.0, -1.0]}, cv=CV, error_score=0.0)
    with pytest.warns(sklearn.exceptions.FitFailedWarning):
        search.fit(X, LABELS)
    assert search.best_params_ == {"C": 1.0}
    assert search.cv_results_["mean_test_score"][1] == 0.0
    with pytest.warns(sklearn.exceptions.FitFailedWarning):
        clone(search).set_params(scoring="neg_log_loss", error_score=-9.0).fit(X, LABELS)


def test_kernels_between_rows_are_refused() -> None:
    search = PessimisticSearchCV(SVC(kernel="precomputed"), {"C": [1.0]}, cv=CV)
    with pytest.raises(ValueError, match="distances or kernels"):
        search.set_params(error_score="raise").fit(X @ X.T, LABELS)
