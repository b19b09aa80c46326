"""Any estimator is audited: by refits that train as well, found and never called proved."""

from __future__ import annotations

import re
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.cluster import KMeans
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.metrics import hinge_loss, log_loss, mean_squared_error
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

from pessimal import AuditReport, audit_estimator
from pessimal.auditing.refits import RefitExtremes
from pessimal.errors import InvalidInputError
from pessimal.limits import NEVER
from pessimal.near_optimal.retrained import retrained_set
from pessimal.near_optimal.retrained.ascent import Fit
from pessimal.near_optimal.retrained.retrained_set import RetrainedSet
from pessimal.problem import Budget
from pessimal.report.audit_page import write_audit_page

SLACK = 1e-9


@pytest.fixture(autouse=True, scope="module")
def few_refits() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(retrained_set, "REFITS", 8)
        yield


def rows(n_classes: int = 2, n: int = 60) -> tuple[Any, Any, Any, Any]:
    """Rows of classes "a", "b", …, or of numbers for 0 classes; half train."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 3))
    score = X[:, 0] - 0.5 * X[:, 1] + rng.normal(size=n)
    if n_classes == 0:
        return X[: n // 2], score[: n // 2], X[n // 2 :], score[n // 2 :]
    ends = np.quantile(score, np.linspace(0.0, 1.0, n_classes + 1)[1:-1])
    y = np.array(list("abc"))[np.searchsorted(ends, score)]
    return X[: n // 2], y[: n // 2], X[n // 2 :], y[n // 2 :]


def forest() -> RandomForestClassifier:
    return RandomForestClassifier(3, min_samples_leaf=6, random_state=0)


def loss(model: Any, X: Any, y: Any) -> float:
    """The mean loss of a fitted estimator, by scikit-learn's functions."""
    if isinstance(model, KNeighborsRegressor):
        return float(mean_squared_error(y, model.predict(X)))
    if isinstance(model, SVC):
        return float(hinge_loss(y, model.decision_function(X)))
    return float(log_loss(y, model.predict_proba(X), labels=model.classes_))


@pytest.mark.parametrize(
    ("estimator", "n_classes"),
    [
        (forest(), 2),
        (forest(), 3),
        (SVC(), 2),
        (GaussianNB(), 3),
        (LogisticRegression(), 3),
        (KNeighborsClassifier(7), 2),
        (KNeighborsRegressor(7), 0),
    ],
    ids=lambda value: type(value).__name__ if hasattr(value, "fit") else str(value),
)
def test_models_found_train_as_well_and_attain_what_is_said(estimator: Any, n_classes: int) -> None:
    X, y, X_val, y_val = rows(n_classes)
    estimator.fit(X, y)
    report = audit_estimator(
        estimator, X, y, X_val, y_val, epsilon=0.1, epsilons=(), time_limit=None
    )
    assert not report.proves
    assert report.reference.loss == pytest.approx(loss(estimator, X_val, y_val))
    assert report.best_loss.value <= report.reference.loss <= report.worst_loss.value
    assert report.train_limit >= loss(estimator, X, y) - SLACK
    for end in (report.best_loss, report.worst_loss):
        assert loss(end.model, X, y) <= report.train_limit * (1.0 + SLACK)
        assert end.value == pytest.approx(loss(end.model, X_val, y_val))
    if n_classes:
        chosen, said = estimator.predict(X_val), report.discrepancy.model.predict(X_val)
        assert report.reference.error == pytest.approx(np.mean(chosen != y_val))
        assert report.discrepancy.value == pytest.approx(np.mean(chosen != said))
        assert report.ambiguous[chosen != said].all()
        assert report.worst_error.value == pytest.approx(
            np.mean(report.worst_error.model.predict(X_val) != y_val)
        )


def test_a_score_has_the_sign_of_what_is_predicted_where_votes_are_even() -> None:
    X, y, X_val, y_val = rows()
    model = KNeighborsClassifier(2).fit(X, y)
    report = audit_estimator(model, X, y, X_val, y_val, epsilons=(), time_limit=None)
    assert (model.predict_proba(X_val) == 0.5).any()
    assert ((report.reference.scores > 0.0) == (model.predict(X_val) == "b")).all()


def test_points_learnt_by_heart_are_not_what_a_model_is_judged_by() -> None:
    X, y, X_val, y_val = rows()
    model = KNeighborsClassifier(1).fit(X, y)
    report = audit_estimator(model, X, y, X_val, y_val, epsilons=(), time_limit=None)
    assert any("learns rows by heart" in note for note in report.notes)
    # With its label flipped, each validation point would be its own nearest neighbour.
    assert report.worst_error.value < 1.0
    assert report.ambiguity >= report.discrepancy.value


def test_a_better_fit_that_comes_late_leaves_out_those_that_train_too_badly() -> None:
    X, y, X_val, y_val = rows()
    model = DecisionTreeClassifier(max_depth=1, random_state=0).fit(X, y)
    members = RetrainedSet.of(model, X, y, Budget(0.4))
    known = RefitExtremes(members, X_val, y_val, [0.4], model, NEVER)
    other = DecisionTreeClassifier(max_depth=1, max_features=1, random_state=3).fit(X, y)
    assert known.sets[0].contains(other)
    known._meet(0, other)
    assert known.best_loss[0].known().value == pytest.approx(loss(other, X_val, y_val))
    better = DecisionTreeClassifier(max_depth=4, random_state=0).fit(X, y)
    known.members.met.append(Fit(better, loss(better, X, y)))
    known.finish()
    assert known.best_loss[0].known().value == pytest.approx(loss(model, X_val, y_val))


def test_text_columns_and_missing_cells_go_through_a_pipeline() -> None:
    X, y, X_val, y_val = rows()
    frames = [pd.DataFrame({"x": np.where(part[:, 0] > 0.0, "u", "v")}) for part in (X, X_val)]
    frames[1].index = [f"row {k}" for k in range(len(X_val))]
    model = make_pipeline(OneHotEncoder(), forest()).fit(frames[0], y)
    report = audit_estimator(model, frames[0], y, frames[1], y_val, epsilons=(), time_limit=None)
    assert report.feature_names == ("x_u", "x_v")
    assert report.index[0] == "row 0"
    assert report.reference.error == pytest.approx(np.mean(model.predict(frames[1]) != y_val))


def test_a_ridge_regression_has_proved_bounds() -> None:
    X, y, X_val, y_val = rows(0)
    model = make_pipeline(StandardScaler(), Ridge()).fit(X, y)
    report = audit_estimator(model, X, y, X_val, y_val, epsilon=0.1)
    assert report.proves
    own = mean_squared_error(y_val, model.predict(X_val))
    assert report.reference.loss == pytest.approx(own)
    scaled = model[0].transform(X_val)
    for end in (report.best_loss, report.worst_loss):
        predicted = scaled @ end.coef + end.intercept
        assert end.value == pytest.approx(mean_squared_error(y_val, predicted))
        assert end.bound == pytest.approx(end.value, rel=1e-6)
    penalty = model[-1].coef_ @ model[-1].coef_ / len(y)
    assert report.reference.train_loss == pytest.approx(
        mean_squared_error(y, model.predict(X)) + penalty
    )


AUDITED = [
    (forest(), 2),
    (LogisticRegression(), 3),
    (RandomForestRegressor(3, min_samples_leaf=6, random_state=0), 0),
    (Ridge(), 0),
    (LogisticRegression(), 2),
]


@pytest.fixture(scope="module", params=AUDITED, ids=lambda pair: f"{type(pair[0]).__name__}")
def report(request: pytest.FixtureRequest) -> AuditReport:
    estimator, n_classes = request.param
    X, y, X_val, y_val = rows(n_classes)
    return audit_estimator(
        estimator.fit(X, y), X, y, X_val, y_val, epsilons=(0.01,), time_limit=None
    )


def test_what_was_found_is_never_called_proved(report: AuditReport, tmp_path: Path) -> None:
    write_audit_page(report, tmp_path / "audit.html", "rows")
    page = (tmp_path / "audit.html").read_text("utf-8")
    for shown in (str(report), report._repr_html_(), page):
        words = " ".join(re.sub(r"<style>.*?</style>|base64,[^\"]*", "", shown, flags=re.S).split())
        assert report.guarantee in words
        assert not re.search(r"\b(inf|nan)\b", words, re.I)
        if not report.proves:
            assert "Nothing is proved" in words
            assert "at most" not in re.sub(r"points? of at most", "", words)
            assert "All bounds are proved" not in words
            assert "What is guaranteed" not in words
    assert ('<tr class="proved">' in page) == report.proves
    assert ('class="proved"' in re.sub(r"<style>.*?</style>", "", page)) == report.proves
    assert max(map(len, str(report).splitlines())) <= 80


def test_the_figure_draws_a_proved_line_only_where_there_is_one(report: AuditReport) -> None:
    losses, scores = report.plot().axes
    drawn = {line.get_label(): line for line in losses.lines}
    assert ("proved: none is above" in drawn) == report.proves
    if report.proves:
        bound = drawn["proved: none is above"]
        assert np.array_equal(bound.get_ydata(), report.curve.worst_loss_bound)
        assert bound.get_color() not in [
            line.get_color() for line in drawn.values() if line is not bound
        ]
    if not report.proves and len(report.classes) == 2:
        assert scores.get_ylabel() == "probability of b"
        low, high = scores.get_ylim()
        assert -0.1 <= low < high <= 1.1


@pytest.mark.parametrize(
    ("model", "change", "message"),
    [
        (KMeans(2).fit(rows()[0]), {}, "model is a KMeans; pass a fitted classifier or regressor"),
        (forest(), {}, "RandomForestClassifier that is not fitted"),
        (forest(), {"y_val": ["z"] * 30}, "y_val contains the label 'z'"),
        (forest(), {"X_val": np.ones(30)}, "X_val has shape"),
        (forest(), {"y_train": [["a"]] * 30}, "y_train has shape"),
        (Ridge(), {"y_val": ["b"] * 30}, "y_val is to be predicted by a regressor"),
    ],
    ids=str,
)
def test_what_cannot_be_audited_gets_one_clear_error(
    model: Any, change: dict[str, Any], message: str
) -> None:
    given = dict(zip(("X_train", "y_train", "X_val", "y_val"), rows(), strict=True))
    if isinstance(model, Ridge):
        given = dict(zip(given, rows(0), strict=True))
    if change:
        model.fit(given["X_train"], given["y_train"])
    with pytest.raises(InvalidInputError, match=message):
        audit_estimator(model, **(given | change))


def test_ctrl_c_ends_a_search_for_refits_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y, X_val, y_val = rows()
    model = forest().fit(X, y)
    fits: list[Any] = []
    real = RetrainedSet._fit

    def counted(members: RetrainedSet, fitted: Any) -> Fit:
        fits.append(fitted)
        if len(fits) == 8:
            signal.raise_signal(signal.SIGINT)
        return real(members, fitted)

    monkeypatch.setattr(RetrainedSet, "_fit", counted)
    report = audit_estimator(model, X, y, X_val, y_val, time_limit=None)
    assert len(fits) == 8
    assert report.stopped
    assert any(note.startswith("Ctrl-C came") for note in report.notes)


def test_a_column_that_the_solver_took_for_rounding_is_told_of() -> None:
    rng = np.random.default_rng(5)
    X, X_val = rng.standard_normal((20, 2)), rng.standard_normal((8, 2))
    y = X[:, 0] + 0.1 * rng.standard_normal(20)
    units = np.array([1e-10, 1.0])
    model = LinearRegression().fit(X * units, y)
    report = audit_estimator(model, X * units, y, X_val * units, X_val[:, 0], epsilons=())
    assert model.rank_ == 1  # of two columns
    least = np.mean((LinearRegression().fit(X, y).predict(X) - y) ** 2)
    assert report.least_train_loss == pytest.approx(least, rel=1e-9)
    assert any("in far smaller units" in note for note in report.notes)
