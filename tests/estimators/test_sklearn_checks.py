"""Scikit-learn's own checks, none excused. Limits in nodes and boxes rather than in seconds."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.base import clone
from sklearn.datasets import load_iris, make_blobs
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import (
    check_class_weight_balanced_linear_classifier,
    check_param_validation,
    parametrize_with_checks,
)

from pessimal import solution
from pessimal.estimators import OptimisticSVC, PessimisticSVC, PessimisticSVCCV

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

ESTIMATORS = [
    OptimisticSVC(time_limit=None, node_limit=100),
    PessimisticSVC(time_limit=None, node_limit=100),
    # The seconds are for the check by HiGHS, which is long for hundreds of rows.
    PessimisticSVC(inner="exact", groups="one", time_limit=1.0, node_limit=100),
    # Without a tolerance the worst case is a small program, whatever the data of a check.
    PessimisticSVCCV(cv=2, epsilon=0.0, time_limit=None, node_limit=20, max_boxes=2),
]
every_estimator = pytest.mark.parametrize(
    "estimator", ESTIMATORS, ids=lambda e: type(e).__name__ + getattr(e, "inner", "")
)


@parametrize_with_checks(ESTIMATORS)  # type: ignore[untyped-decorator]
def test_scikit_learn(estimator: Any, check: Callable[[Any], None]) -> None:
    check(estimator)


@every_estimator
@pytest.mark.filterwarnings("ignore:The least populated class")
def test_scikit_learn_checks_of_its_own_estimators(estimator: Any) -> None:
    name = type(estimator).__name__
    check_param_validation(name, estimator)
    check_class_weight_balanced_linear_classifier(name, estimator)


def blobs(n: int = 24) -> tuple[Any, Any]:
    X, y = make_blobs(n, centers=2, cluster_std=4.0, random_state=0)
    return X, np.where(y > 0, "yes", "no")


@every_estimator
def test_a_pickled_estimator_predicts_the_same_and_keeps_its_proof(estimator: Any) -> None:
    X, y = blobs()
    fitted = clone(estimator).set_params(random_state=0).fit(X, y)
    loss = fitted.worst_case_loss_
    restored = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(restored.predict(X), fitted.predict(X))
    assert restored.worst_case_loss_ == loss
    assert restored.result_.gap == fitted.result_.gap


@every_estimator
def test_the_pages_of_a_notebook_show_an_estimator(estimator: Any) -> None:
    for shown in (clone(estimator), clone(estimator).fit(*blobs())):
        assert type(estimator).__name__ in shown._repr_html_()


def test_showing_an_estimator_does_not_start_a_mixed_integer_program(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refuse(*_: object, **_options: object) -> None:
        raise AssertionError("worst_case was called")

    fitted = PessimisticSVC(random_state=0).fit(*blobs())
    monkeypatch.setattr(solution, "worst_case", refuse)
    fitted._repr_html_()
    with pytest.raises(AssertionError, match="worst_case was called"):
        _ = fitted.worst_case_loss_


@every_estimator
def test_parameters_are_searched_by_grid(estimator: Any) -> None:
    X, y = blobs()
    search = GridSearchCV(clone(estimator), {"final": ["refit", "mean"], "upper": [0.1, 1.0]}, cv=2)
    assert set(search.fit(X, y).best_params_) == {"final", "upper"}


def test_what_stands_for_the_worst_case_is_searched_by_grid() -> None:
    X, y = blobs()
    grid = [{"inner": ["flip"]}, {"inner": ["exact"], "groups": ["one", [[0], [1]]]}]
    search = GridSearchCV(PessimisticSVC(node_limit=30, random_state=0), grid, cv=2).fit(X, y)
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()
    assert len(search.cv_results_["params"]) == 3


def test_cross_validation_runs_in_processes() -> None:
    X, y = blobs()
    estimator = PessimisticSVC(random_state=0)
    apart = cross_val_score(estimator, X, y, cv=2, n_jobs=2)
    np.testing.assert_array_equal(apart, cross_val_score(estimator, X, y, cv=2))


def test_a_pipeline_hands_on_column_names() -> None:
    X, y = blobs()
    frame = pd.DataFrame(X, columns=["height", "width"])
    pipeline = make_pipeline(StandardScaler(), OptimisticSVC(random_state=0))
    pipeline.set_output(transform="pandas").fit(frame, y)
    assert pipeline[-1].feature_names_in_.tolist() == ["height", "width"]
    assert set(pipeline.predict(frame)) <= {"yes", "no"}


def test_more_than_two_classes_go_one_against_the_rest() -> None:
    X, y = load_iris(return_X_y=True, as_frame=True)
    X, names = X[::5], np.array(["setosa", "versicolor", "virginica"])[y[::5]]
    model = OneVsRestClassifier(OptimisticSVC(random_state=0)).fit(X, names)
    assert model.score(X, names) > 0.8


def test_the_validation_mask_is_routed_through_a_pipeline() -> None:
    X, y = blobs()
    mask = np.arange(len(y)) % 3 == 0
    with sklearn.config_context(enable_metadata_routing=True):
        estimator = PessimisticSVC(random_state=0).set_fit_request(validation=True)
        pipeline = Pipeline([("scale", StandardScaler()), ("svc", estimator)])
        pipeline.fit(X, y, validation=mask)
        np.testing.assert_array_equal(pipeline["svc"].validation_, mask)
        scores = cross_val_score(pipeline, X, y, cv=2, params={"validation": mask})
    assert scores.shape == (2,)
