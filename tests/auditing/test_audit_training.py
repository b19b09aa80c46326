"""A classifier is audited by what it minimises itself: against scikit-learn, CVXPY and members."""

from __future__ import annotations

import signal
from pathlib import Path
from typing import Any

import cvxpy
import numpy as np
import pandas as pd
import pytest
from scipy.optimize import brentq
from sklearn.linear_model import (
    LogisticRegression,
    Perceptron,
    RidgeClassifier,
    SGDClassifier,
)
from sklearn.metrics import log_loss, mean_squared_error
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC
from sklearn.utils.class_weight import compute_sample_weight

from pessimal import AuditReport, audit_estimator
from pessimal.errors import InvalidInputError
from pessimal.interrupts import ended_by_interrupts
from pessimal.limits import NEVER
from pessimal.near_optimal.smooth.smooth_set import SmoothSet
from pessimal.report.audit_page import audit_sections, write_audit_page

cp: Any = cvxpy
SLACK = 1e-7
CLASSIFIERS = (
    LogisticRegression(),
    LogisticRegression(C=0.1, class_weight="balanced"),
    LogisticRegression(C=2.0, class_weight={"yes": 4.0}),
    LogisticRegression(solver="liblinear"),
    LogisticRegression(C=np.inf),
    LogisticRegression(fit_intercept=False),
    LinearSVC(C=0.1),
    LinearSVC(C=0.5, class_weight={"no": 1.0, "yes": 3.0}),
    RidgeClassifier(),
    RidgeClassifier(alpha=5.0, class_weight="balanced"),
)


def data(seed: int, n_train: int = 60, n_val: int = 25, share: float = 0.5) -> tuple[Any, ...]:
    """Rows of two classes, of which "yes" has a share."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_train + n_val, 3))
    score = X[:, 0] - 0.5 * X[:, 1] + rng.normal(size=len(X))
    y = np.where(score > np.quantile(score, 1.0 - share), "yes", "no")
    return X[:n_train], y[:n_train], X[n_train:], y[n_train:]


def sign(y: Any) -> Any:
    return np.where(np.asarray(y) == "yes", 1.0, -1.0)


def loss(estimator: Any, y: Any, scores: Any, weight: Any = None) -> float:
    """The mean loss of an estimator, each as its formula says."""
    margins = sign(y) * scores
    if isinstance(estimator, LogisticRegression):
        each = np.logaddexp(0.0, -margins)
    elif isinstance(estimator, RidgeClassifier):
        each = (scores - sign(y)) ** 2
    else:
        each = np.maximum(0.0, 1.0 - margins) ** 2
    return float(np.average(each, weights=weight))


def objective(estimator: Any, X: Any, y: Any, coef: Any, intercept: float) -> float:
    """What an estimator minimises, per unit of weight, as scikit-learn's guide has it."""
    weight = compute_sample_weight(estimator.class_weight, y)
    square = float(coef @ coef)
    if isinstance(estimator, RidgeClassifier):
        penalty = estimator.alpha * square
    else:
        if isinstance(estimator, LinearSVC) or estimator.solver == "liblinear":
            square += intercept**2
        penalty = 0.5 * square / estimator.C
    return float(loss(estimator, y, X @ coef + intercept, weight) + penalty / weight.sum())


def random_members(
    report: AuditReport, estimator: Any, X: Any, y: Any, n: int
) -> list[tuple[Any, float]]:
    """Models on the boundary of the training budget, in random directions from the fitted one."""
    rng = np.random.default_rng(0)
    coef, intercept = np.ravel(estimator.coef_), report.reference.intercept
    members = []
    for _ in range(n):
        v, c = rng.normal(size=len(coef)), rng.normal() * estimator.fit_intercept

        def excess(t: float, v: Any = v, c: float = c) -> float:
            return objective(estimator, X, y, coef + t * v, intercept + t * c) - report.train_limit

        t = brentq(excess, 0.0, 100.0) * (1.0 - 1e-9)
        members.append((coef + t * v, intercept + t * c))
    return members


def by_scikit_learn(estimator: Any, y: Any, scores: Any) -> float:
    """The mean loss by a function of scikit-learn, where it has one."""
    if isinstance(estimator, LogisticRegression):
        return float(log_loss(y, 1.0 / (1.0 + np.exp(-scores)), labels=["no", "yes"]))
    if isinstance(estimator, RidgeClassifier):
        return float(mean_squared_error(sign(y), scores))
    return loss(estimator, y, scores)


def errors(y: Any, scores: Any) -> float:
    return float(np.mean(sign(y) * scores < -1e-6))


@pytest.mark.parametrize("estimator", CLASSIFIERS, ids=str)
@pytest.mark.parametrize("share", [0.5, 0.15])
def test_no_member_contradicts_the_report_and_found_models_are_members(
    estimator: Any, share: float
) -> None:
    X, y, X_val, y_val = data(0, share=share)
    estimator.fit(X, y)
    report = audit_estimator(
        estimator, X, y, X_val, y_val, epsilon=0.1, epsilons=(), time_limit=5.0
    )
    own = objective(estimator, X, y, np.ravel(estimator.coef_), report.reference.intercept)
    assert report.reference.train_loss == pytest.approx(own)
    assert report.least_train_loss <= own + SLACK
    assert report.train_limit == pytest.approx(1.1 * own, rel=1e-4)

    for end, measure in (
        (report.best_loss, "loss"),
        (report.worst_loss, "loss"),
        (report.best_error, "error"),
        (report.worst_error, "error"),
        (report.discrepancy, "changed"),
    ):
        assert objective(estimator, X, y, end.coef, end.intercept) <= report.train_limit + SLACK
        scores = X_val @ end.coef + end.intercept
        attained = {
            "loss": by_scikit_learn(estimator, y_val, scores),
            "error": errors(y_val, scores),
            "changed": errors(estimator.predict(X_val), scores),
        }
        assert end.value == pytest.approx(attained[measure])

    disagree = np.zeros(len(y_val), dtype=bool)
    predicted = estimator.predict(X_val)
    for coef, intercept in random_members(report, estimator, X, y, 50):
        scores = X_val @ coef + intercept
        assert report.best_loss.bound - SLACK <= loss(estimator, y_val, scores)
        assert loss(estimator, y_val, scores) <= report.worst_loss.bound + SLACK
        assert report.best_error.bound <= errors(y_val, scores) <= report.worst_error.bound
        assert errors(predicted, scores) <= report.discrepancy.bound
        assert (report.score_low - SLACK <= scores).all()
        assert (scores <= report.score_high + SLACK).all()
        disagree |= sign(predicted) * scores < -1e-6
    assert (report.score_low <= report.found_low + SLACK).all()
    assert (report.found_high <= report.score_high + SLACK).all()
    assert not (disagree & ~report.ambiguous & ~report.undecided).any()
    assert report.ambiguity <= report.ambiguity_bound


@pytest.mark.parametrize(
    ("seed", "effect", "crosses"), [(0, 0.3, True), (1, 0.3, True), (2, 3.0, False)]
)
def test_with_one_coefficient_everything_is_known(seed: int, effect: float, crosses: bool) -> None:
    # The models that count are an interval of w, and the loss is convex: it is largest at an end.
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(40, 1))
    y = np.where(effect * X[:, 0] + rng.normal(size=40) > 0.0, "yes", "no")
    X, y, X_val, y_val = X[:25], y[:25], X[25:], y[25:]
    model = LogisticRegression(C=0.5, fit_intercept=False).fit(X, y)
    report = audit_estimator(model, X, y, X_val, y_val, epsilon=0.1, epsilons=())

    def excess(w: float) -> float:
        return objective(model, X, y, np.array([w]), 0.0) - report.train_limit

    w = model.coef_[0, 0]
    low, high = brentq(excess, -50.0, w), brentq(excess, w, 50.0)
    losses = [loss(model, y_val, X_val[:, 0] * v) for v in np.linspace(low, high, 2001)]
    assert report.worst_loss.value == pytest.approx(max(losses), rel=1e-5)
    assert report.worst_loss.bound >= max(losses)
    assert report.best_loss.value == pytest.approx(min(losses), rel=1e-5)
    wrong = [errors(y_val, X_val[:, 0] * v) for v in (low, high)]
    assert report.worst_error.value == max(wrong)
    assert report.worst_error.bound >= max(wrong)
    ends = X_val[:, 0] * np.array([[low], [high]])
    assert report.found_low == pytest.approx(ends.min(axis=0), abs=1e-5)
    assert report.found_high == pytest.approx(ends.max(axis=0), abs=1e-5)
    assert (low < 0.0 < high) == crosses
    assert report.ambiguity == (1.0 if crosses else 0.0)


def test_score_bounds_hold_the_ranges_of_a_convex_program() -> None:
    X, y, X_val, y_val = data(1)
    model = LogisticRegression(C=0.7).fit(X, y)
    report = audit_estimator(model, X, y, X_val, y_val, epsilons=())
    w, b = cp.Variable(3), cp.Variable()
    margins = cp.multiply(sign(y), X @ w + b)
    trained = cp.sum(cp.logistic(-margins)) / 60 + cp.sum_squares(w) / (2 * 0.7 * 60)
    for k in range(5):
        for goal, bound, found in (
            (cp.Minimize, report.score_low[k], report.found_low[k]),
            (cp.Maximize, report.score_high[k], report.found_high[k]),
        ):
            program = cp.Problem(goal(X_val[k] @ w + b), [trained <= report.train_limit])
            program.solve(solver="CLARABEL")
            side = 1.0 if goal is cp.Maximize else -1.0
            assert side * found - 1e-5 <= side * program.value <= side * bound + 1e-5


def test_labels_of_any_kind_and_a_pipeline_give_the_same_audit() -> None:
    X, y, X_val, y_val = data(2, share=0.3)
    named = LogisticRegression(class_weight={"no": 1.0, "yes": 2.0})
    coded = LogisticRegression(class_weight={0: 1.0, 1: 2.0})
    y_01, y_val_01 = (y == "yes").astype(int), (y_val == "yes").astype(int)
    columns = ["a", "b", "c"]
    tables = [pd.DataFrame(10.0 * part + 3.0, columns=columns) for part in (X, X_val)]
    steps = make_pipeline(StandardScaler(), named).fit(tables[0], y)
    scaler = steps[0]
    codes = coded.fit(scaler.transform(tables[0]), y_01)
    piped = audit_estimator(steps, tables[0], y, tables[1], y_val, epsilons=())
    direct = audit_estimator(
        codes,
        *(scaler.transform(tables[0]), y_01, scaler.transform(tables[1]), y_val_01),
        epsilons=(),
    )
    search = GridSearchCV(steps, {"logisticregression__C": [1.0]}, cv=2).fit(tables[0], y)
    found = audit_estimator(search, tables[0], y, tables[1], y_val, epsilons=())
    assert (piped.classes, direct.classes) == (("no", "yes"), (0, 1))
    assert piped.feature_names == ("a", "b", "c")
    assert "weighted by class" in piped.notes[0]
    for report in (direct, found):
        assert report.worst_loss.value == pytest.approx(piped.worst_loss.value)
        assert report.discrepancy.value == piped.discrepancy.value
        assert report.score_low == pytest.approx(piped.score_low)


def test_by_default_a_model_counts_within_five_percent_and_curves_surround_it() -> None:
    X, y, X_val, y_val = data(3)
    report = audit_estimator(LogisticRegression().fit(X, y), X, y, X_val, y_val, time_limit=2.0)
    assert report.budget.epsilon == 0.05
    assert report.train_limit == pytest.approx(1.05 * report.least_train_loss, rel=1e-5)
    assert report.curve.epsilons.tolist() == [0.0, 0.01, 0.02, 0.05, 0.1]
    assert (np.diff(report.curve.worst_loss) >= 0.0).all()
    assert report.curve.worst_loss[0] < report.curve.worst_loss[-1]
    assert (report.loss, report.box) == ("log", None)


@pytest.mark.parametrize(
    ("model", "reason"),
    [
        (SVC(kernel="linear"), "SVC; the training problems known"),
        (LinearSVC(loss="hinge"), "loss='hinge'"),
        (Perceptron(random_state=0), "Perceptron"),
        (SGDClassifier(loss="log_loss", random_state=0), "SGDClassifier"),
    ],
    ids=lambda value: type(value).__name__ if hasattr(value, "fit") else "",
)
def test_a_training_problem_that_is_not_known_falls_back_to_the_hinge_box_and_says_why(
    model: Any, reason: str
) -> None:
    X, y, X_val, y_val = data(4, n_train=20, n_val=6)
    model.fit(X, y)
    report = audit_estimator(model, X, y, X_val, y_val, epsilons=())
    by_name = audit_estimator(model, X, y, X_val, y_val, epsilons=(), training="hinge box")
    assert "hinge loss in a box" in report.notes[0]
    assert reason in report.notes[0]
    assert report.notes[1:] == by_name.notes
    assert report.loss == "hinge"
    assert report.box is not None
    assert report.box.tolist() == np.abs(np.ravel(model.coef_)).tolist()
    assert report.budget == by_name.budget
    assert report.worst_loss.value == by_name.worst_loss.value


def test_what_a_model_misses_of_the_least_objective_is_delta() -> None:
    X, y, X_val, y_val = data(5)
    model = RidgeClassifier().fit(X, y)
    exact = audit_estimator(model, X, y, X_val, y_val, epsilon=0.0, epsilons=())
    assert exact.budget.delta <= 1e-6
    assert len(exact.notes) == 1
    intercept = float(np.ravel(model.intercept_)[0])
    best = objective(model, X, y, np.ravel(model.coef_), intercept)
    model.coef_ = 0.5 * model.coef_  # as if it had stopped early
    missed = objective(model, X, y, np.ravel(model.coef_), intercept) - best
    report = audit_estimator(model, X, y, X_val, y_val, epsilon=0.0, epsilons=())
    assert report.budget.delta == pytest.approx(missed, rel=1e-4)
    assert report.best_loss.value <= report.reference.loss <= report.worst_loss.value
    assert "misses the least training objective by" in report.notes[1]
    assert f"0 % and delta {report.budget.delta:.4g} above the least" in " ".join(
        str(report).split()
    )


def test_a_model_without_effect_can_be_audited_by_its_own_objective() -> None:
    X, y, X_val, y_val = data(6)
    model = LogisticRegression(C=1e-9).fit(X, y)
    model.coef_[:] = 0.0
    report = audit_estimator(model, X, y, X_val, y_val, epsilons=())
    assert report.reference.scores.tolist() == [model.intercept_[0]] * len(y_val)
    assert report.best_loss.value <= report.reference.loss <= report.worst_loss.value


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"training": "box"}, "training is 'box'; pass 'own' or 'hinge box'"),
        ({"epsilon": -1.0}, "epsilon is -1.0; pass a finite number that is not negative"),
        ({"X_train": np.ones((60, 2)), "X_val": np.ones((25, 2))}, "with 3 coefficient"),
    ],
)
def test_unusable_arguments_are_named(change: dict[str, Any], message: str) -> None:
    usable = dict(zip(("X_train", "y_train", "X_val", "y_val"), data(0), strict=True))
    model = LogisticRegression().fit(usable["X_train"], usable["y_train"])
    with pytest.raises(InvalidInputError, match=message):
        audit_estimator(model, **(usable | change))


def test_many_rows_are_asked_for_in_few_calls_and_each_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    X, y, X_val, y_val = data(7, n_val=950)
    real, asked = SmoothSet.score_range, []

    def counted(members: SmoothSet, rows: Any, *, time_limit: Any) -> Any:
        if not time_limit.over:  # coarse ranges of all rows come first
            asked.append(np.array(rows))
        return real(members, rows, time_limit=time_limit)

    monkeypatch.setattr(SmoothSet, "score_range", counted)
    model = RidgeClassifier().fit(X, y)
    report = audit_estimator(model, X, y, X_val, y_val, epsilons=(), time_limit=None)
    assert len(asked) <= 100
    *ranges, of_coefficients = asked
    assert len(of_coefficients) == 1 + X.shape[1]  # zeros, and a row for each
    rows = np.concatenate(ranges)
    assert sorted(map(tuple, rows)) == sorted(map(tuple, X_val))
    assert not report.stopped


@pytest.mark.parametrize(
    ("estimator", "named"),
    [
        (LogisticRegression(), "log"),
        (LinearSVC(), "squared hinge"),
        (RidgeClassifier(), "squared"),
    ],
    ids=str,
)
def test_text_figure_and_page_name_the_loss_and_no_box(
    estimator: Any, named: str, tmp_path: Path
) -> None:
    X, y, X_val, y_val = data(8, n_train=30, n_val=12)
    report = audit_estimator(estimator.fit(X, y), X, y, X_val, y_val, time_limit=2.0)
    path = tmp_path / "audit.html"
    write_audit_page(report, path, "patients")
    page = path.read_text("utf-8")
    for shown in (str(report), report._repr_html_(), page):
        words = " ".join(shown.split())
        assert report.guarantee in words
        assert f"mean {named} loss" in words
        assert "the box" not in words
        assert "their box" not in words
        assert "mean hinge loss" not in words
        assert "inf" not in words.lower().replace("informative", "").split()
    assert max(map(len, str(report).splitlines())) <= 80
    assert f"The {named} loss of a row is" in page
    assert "linear programs" not in page
    losses, _ = report.plot().axes
    assert losses.get_ylabel() == f"validation loss (mean {named})"
    assert losses.get_xlabel() == "ε (share of the least training objective)"


def test_bars_span_every_score_only_where_models_reach_the_bounds() -> None:
    X, y, X_val, y_val = data(9)
    model = LogisticRegression().fit(X, y)
    report = audit_estimator(model, X, y, X_val, y_val, epsilon=0.2, epsilons=(), time_limit=2.0)
    (text,) = [s.paragraphs[0] for s in audit_sections(report, ()) if s.title == "Every row"]
    every = "spans every score of an equally good model" in text
    assert every == bool(report.reached.all())
    assert ("spans the scores of the models that were found" in text) == (not every)
    assert ("bounds that no model passes" in " ".join(report.notes)) == (not every)


def test_ctrl_c_that_the_first_bounds_have_taken_ends_the_audit(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    X, y, X_val, y_val = data(0)
    model = LogisticRegression().fit(X, y)
    exact = audit_estimator(model, X, y, X_val, y_val, epsilons=())
    real, calls = SmoothSet.score_range, 0

    def interrupted(*arguments: Any, **options: Any) -> Any:
        nonlocal calls
        calls += 1
        with ended_by_interrupts(NEVER):
            signal.raise_signal(signal.SIGINT)
            return real(*arguments, **options)

    monkeypatch.setattr(SmoothSet, "score_range", interrupted)
    report = audit_estimator(model, X, y, X_val, y_val, epsilons=())
    assert calls == 1
    assert report.stopped
    assert any(note.startswith("Ctrl-C came before") for note in report.notes)
    assert report.worst_loss.value <= exact.worst_loss.bound + SLACK
    assert exact.worst_loss.value <= report.worst_loss.bound + SLACK
