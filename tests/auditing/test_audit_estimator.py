"""A fitted model is one of those it is audited with, in the hinge box around it."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import pytest
from oracles import brute_force_worst_case, in_near_optimal_set, least_training_loss
from sklearn.linear_model import (
    Lasso,
    LinearRegression,
    LogisticRegression,
    RidgeClassifier,
    SGDClassifier,
)
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.svm import SVC, LinearSVC

from pessimal.auditing import audit
from pessimal.auditing import audit_estimator as audit_estimator_by
from pessimal.errors import InvalidInputError
from pessimal.problem import Budget, TuningProblem

TOLERANCE = 1e-6
audit_estimator = partial(audit_estimator_by, training="hinge box")


def data(seed: int, n_train: int = 15, n_val: int = 6) -> tuple[Any, Any, Any, Any]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_train + n_val, 3))
    y = np.where(X[:, 0] + rng.normal(size=len(X)) > 0.0, "yes", "no")
    y[:2] = "yes", "no"
    return X[:n_train], y[:n_train], X[n_train:], y[n_train:]


def as_problem(*parts: Any) -> TuningProblem:
    X_train, y_train, X_val, y_val = parts
    to_sign = [np.where(y == "yes", 1.0, -1.0) for y in (y_train, y_val)]
    return TuningProblem(X_train, to_sign[0], X_val, to_sign[1], upper=1e3)


def test_numbers_whose_squares_overflow_are_refused_by_column() -> None:
    X, y, X_val, y_val = data(0)
    X, far = (pd.DataFrame(rows, columns=["a", "b", "c"]) for rows in (X, X_val))
    far.loc[2, "b"] = -1e300
    model = make_pipeline(StandardScaler(), LogisticRegression()).fit(X, y)
    for training in ("own", "hinge box"):
        with pytest.raises(InvalidInputError, match=r"X_val holds .*column 'b'.*1e\+100.*unit"):
            audit_estimator_by(model, X, y, far, y_val, training=training)
    with pytest.raises(InvalidInputError, match=r"X_train holds 1e\+300 .*column 'b'"):
        audit(far, y_val, X, y, np.ones(3))


@pytest.mark.parametrize(
    "model",
    [
        LogisticRegression(),
        LinearSVC(random_state=0),
        LinearSVC(fit_intercept=False, random_state=0),
        SGDClassifier(random_state=0),
        RidgeClassifier(),
        SVC(kernel="linear"),
    ],
    ids=lambda model: f"{type(model).__name__}",
)
@pytest.mark.parametrize("seed", range(2))
def test_the_audited_model_lies_between_the_best_and_the_worst(model: Any, seed: int) -> None:
    parts = data(seed)
    model.fit(parts[0], parts[1])
    report = audit_estimator(model, *parts, epsilons=())
    problem = as_problem(*parts)
    w, b = np.ravel(model.coef_), -float(np.ravel(model.intercept_)[0])
    box = np.abs(w)

    assert in_near_optimal_set(problem, w, b, box, report.budget)
    own = problem.val_loss(w, b)
    assert report.reference.loss == pytest.approx(own)
    assert report.best_loss.value <= own + TOLERANCE
    assert own <= report.worst_loss.value + TOLERANCE
    wrong = float(np.mean(model.predict(parts[2]) != parts[3]))
    assert report.reference.error == pytest.approx(wrong)
    assert report.best_error.value <= wrong + TOLERANCE
    assert wrong <= report.worst_error.value + TOLERANCE
    assert type(model).__name__ in report.notes[0]


def test_box_and_budget_are_the_models_own() -> None:
    parts = data(1)
    model = LogisticRegression(C=0.1).fit(parts[0], parts[1])
    report = audit_estimator(model, *parts, epsilons=())
    problem, box = as_problem(*parts), np.abs(model.coef_[0])
    missed = problem.train_loss(model.coef_[0], -model.intercept_[0])
    missed -= least_training_loss(problem, box)
    assert report.box is not None
    assert report.box.tolist() == box.tolist()
    assert report.budget.delta == pytest.approx(missed, abs=TOLERANCE)
    largest = brute_force_worst_case(problem, box, Budget(delta=report.budget.delta))
    assert report.worst_loss.bound == pytest.approx(largest, abs=TOLERANCE)


def test_a_pipeline_is_audited_in_the_units_of_its_last_step() -> None:
    X_train, y_train, X_val, y_val = data(2)
    columns = ["a", "b", "c"]
    raw_train = pd.DataFrame(1000.0 * X_train + 5.0, columns=columns)
    raw_val = pd.DataFrame(1000.0 * X_val + 5.0, columns=columns, index=range(10, 16))
    scaler = StandardScaler().fit(raw_train)
    model = LogisticRegression().fit(scaler.transform(raw_train), y_train)
    direct = audit_estimator(
        model, scaler.transform(raw_train), y_train, scaler.transform(raw_val), y_val, epsilons=()
    )
    pipeline = make_pipeline(StandardScaler(), LogisticRegression()).fit(raw_train, y_train)
    piped = audit_estimator(pipeline, raw_train, y_train, raw_val, y_val, epsilons=())
    assert piped.worst_loss.value == pytest.approx(direct.worst_loss.value)
    assert piped.feature_names == ("a", "b", "c")
    assert list(piped.index) == list(range(10, 16))


def test_a_pipeline_of_one_step_or_of_steps_without_names_is_audited_too() -> None:
    parts = data(3)
    alone = make_pipeline(LogisticRegression()).fit(parts[0], parts[1])
    nameless = make_pipeline(FunctionTransformer(), LogisticRegression()).fit(parts[0], parts[1])
    reports = [audit_estimator(model, *parts, epsilons=()) for model in (alone, nameless)]
    assert reports[0].worst_loss.value == pytest.approx(reports[1].worst_loss.value)
    assert reports[1].feature_names == ("x0", "x1", "x2")


def test_validation_data_of_one_class_are_audited() -> None:
    X_train, y_train, X_val, _ = data(4)
    model = LogisticRegression().fit(X_train, y_train)
    report = audit_estimator(model, X_train, y_train, X_val, ["no"] * len(X_val), epsilons=())
    assert report.classes == ("no", "yes")
    assert report.best_loss.value <= report.reference.loss <= report.worst_loss.value


def three_classes() -> LogisticRegression:
    return LogisticRegression().fit([[0.0] * 3, [1.0] * 3, [2.0] * 3], [0, 1, 2])


def all_zero() -> LogisticRegression:
    model = LogisticRegression().fit(*data(0)[:2])
    model.coef_[:] = 0.0
    return model


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (LogisticRegression(), "model is a LogisticRegression that is not fitted; fit it first"),
        (make_pipeline(StandardScaler(), LinearSVC()), "LinearSVC that is not fitted"),
        (three_classes(), "pass a classifier of two classes"),
        (SVC().fit(*data(0)[:2]), "model is a SVC without coef_"),
        (LinearRegression().fit(data(0)[0], np.ones(15)), "LinearRegression without coef_"),
        ("logistic", "model is a str; pass a fitted linear classifier"),
        (all_zero(), "coefficients are all 0"),
        (
            LogisticRegression().fit([[0.0], [1.0]], ["no", "yes"]),
            "box has shape .1,.; pass a number or 3 numbers",
        ),
    ],
)
def test_models_that_cannot_be_audited_get_one_clear_error(model: Any, message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        audit_estimator(model, *data(0))


def test_labels_the_model_does_not_know_are_named() -> None:
    X_train, y_train, X_val, y_val = data(0)
    model = LogisticRegression().fit(X_train, y_train)
    with pytest.raises(InvalidInputError, match="y_train contains the label 'maybe'"):
        audit_estimator(model, X_train, np.where(y_train == "no", "maybe", "yes"), X_val, y_val)
    with pytest.raises(InvalidInputError, match="training needs both classes"):
        audit_estimator(model, X_train, ["yes"] * len(X_train), X_val, y_val)


def test_of_a_search_the_best_estimator_is_audited() -> None:
    X, y = [[-2.0], [-1.0], [0.5], [1.0], [2.0], [-0.5]], [0, 0, 1, 1, 1, 0]
    steps = make_pipeline(StandardScaler(), LogisticRegression())
    grid = {"logisticregression__C": [0.1, 1.0]}
    search = GridSearchCV(steps, grid, cv=2).fit(X, y)
    report = audit_estimator(search, X, y, X, y)
    direct = audit_estimator(search.best_estimator_, X, y, X, y)
    assert report.box is not None
    assert direct.box is not None
    assert report.box.tolist() == direct.box.tolist()
    assert report.worst_loss.value == direct.worst_loss.value
    without = GridSearchCV(steps, grid, cv=2, refit=False).fit(X, y)
    with pytest.raises(InvalidInputError, match="without best_estimator_; search with refit=True"):
        audit_estimator(without, X, y, X, y)
    with pytest.raises(InvalidInputError, match="GridSearchCV that is not fitted"):
        audit_estimator(GridSearchCV(steps, grid), X, y, X, y)


def test_an_audit_says_why_nothing_is_proved() -> None:
    rng = np.random.default_rng(7)
    X = rng.standard_normal((40, 2))
    X, y = np.column_stack([X, X[:, 0]]), X[:, 0] + 0.3 * rng.standard_normal(40)
    model = Lasso(alpha=0.1).fit(X[:20], y[:20])
    rows = X[:20], y[:20], X[20:], y[20:]
    report = audit_estimator_by(model, *rows, epsilons=(), time_limit=1.0)
    assert not report.proves
    assert "columns of X depend on each other" in report.notes[0]
