"""Sensitivity, specificity and the constant model of an audit, recomputed from the rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from sklearn.datasets import load_breast_cancer
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression, Ridge, RidgeClassifier
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from pessimal import Budget, audit, audit_estimator, near_optimal_set
from pessimal.auditing.constant import constant_model
from pessimal.losses import find_loss
from pessimal.workflows.words import guarantee_table

X, Y = load_breast_cancer(return_X_y=True)
X = StandardScaler().fit_transform(X)[:, :4]
Y = np.where(Y == 1, "benign", "malign")
TRAIN, VAL = slice(0, 80), slice(300, 380)
DATA = X[TRAIN], Y[TRAIN], X[VAL], Y[VAL]


def test_no_sampled_member_is_worse_within_a_class_than_the_bound() -> None:
    report = audit_estimator(LogisticRegression().fit(X[TRAIN], Y[TRAIN]), *DATA, epsilons=())
    members = near_optimal_set(LogisticRegression(), X[TRAIN], Y[TRAIN]).with_budget(
        Budget(report.budget.epsilon, report.budget.delta)
    )
    for end, label, side in (
        (report.worst_sensitivity, "malign", 1.0),
        (report.worst_specificity, "benign", -1.0),
    ):
        assert end is not None
        rows = X[VAL][Y[VAL] == label]
        shares = [
            np.mean(side * model.decision_function(rows) > 0.0)
            for model in [*members.sample(200, 0), end.model]
        ]
        assert end.lower_bound <= min(shares)
        assert end.value <= shares[-1] + 1e-12
        assert end.value == end.upper_bound


def test_the_chosen_model_is_counted_class_by_class() -> None:
    model = LogisticRegression().fit(X[TRAIN], Y[TRAIN])
    report = audit_estimator(model, *DATA, epsilons=(), time_limit=1.0)
    right = model.predict(X[VAL]) == Y[VAL]
    assert report.reference.sensitivity == pytest.approx(right[Y[VAL] == "malign"].mean())
    assert report.reference.specificity == pytest.approx(right[Y[VAL] == "benign"].mean())


def test_a_class_without_points_has_no_share() -> None:
    benign = Y[VAL] == "benign"
    model = LogisticRegression().fit(X[TRAIN], Y[TRAIN])
    report = audit_estimator(
        model, X[TRAIN], Y[TRAIN], X[VAL][benign], Y[VAL][benign], epsilons=(), time_limit=1.0
    )
    assert report.worst_sensitivity is not None
    assert np.isnan(report.worst_sensitivity.value)
    assert "Sensitivity" not in report.summary()
    assert "Specificity: of the" in report.summary()


def test_refits_tell_what_was_found() -> None:
    forest = RandomForestClassifier(5, min_samples_leaf=3, random_state=0).fit(X[TRAIN], Y[TRAIN])
    report = audit_estimator(forest, *DATA, epsilons=(), time_limit=2.0)
    assert report.worst_sensitivity is not None
    assert report.worst_sensitivity.value <= report.reference.sensitivity
    assert "none has fewer" not in report.summary()


@pytest.mark.parametrize("name", ["log", "hinge", "squared", "squared_hinge"])
def test_no_constant_trains_better_than_the_constant(name: str) -> None:
    loss, y = find_loss(name), np.repeat([-1.0, 1.0], [9, 3])

    def mean(score: float) -> float:
        return float(loss.of_scores(y, np.full(len(y), score)).mean())

    constant = constant_model(loss, y, y, (-1.0, 1.0), ("no", "yes"))
    least = minimize_scalar(mean, bounds=(-5.0, 5.0), method="bounded").fun
    assert constant.loss == pytest.approx(least, abs=1e-6)
    assert (constant.label, constant.error) == ("no", 0.25)


@pytest.mark.parametrize("kind", [LogisticRegression, RidgeClassifier, LinearSVC])
def test_it_is_the_majority_of_training_on_the_validation_points(kind: Any) -> None:
    fitted = kind().fit(X[TRAIN], Y[TRAIN])
    report = audit_estimator(fitted, *DATA, epsilons=(), time_limit=0.5)
    dummy = DummyClassifier().fit(X[TRAIN], Y[TRAIN])
    assert report.constant is not None
    assert report.constant.label == dummy.predict(X[:1])[0]
    assert report.constant.error == pytest.approx(1.0 - dummy.score(X[VAL], Y[VAL]))


def test_of_numbers_it_is_their_mean() -> None:
    y = X[:, 0] + X[:, 1]
    model = Ridge().fit(X[TRAIN], y[TRAIN])
    report = audit_estimator(model, X[TRAIN], y[TRAIN], X[VAL], y[VAL], epsilons=())
    assert report.constant is not None
    assert report.constant.loss == pytest.approx(np.mean((y[VAL] - y[TRAIN].mean()) ** 2))


def test_a_constant_winner_is_called_one() -> None:
    rows = np.arange(80)
    noise = np.random.default_rng(0).normal(size=(80, 2))
    for frequent, rare in (("no", "yes"), (0, 1)):
        labels = np.where(rows % 20 == 0, rare, frequent)
        report = audit(noise, labels, noise, labels, box=0.01, epsilons=(), time_limit=2.0)
        assert report.only_class == frequent
        words = " ".join(report.summary().split())
        assert "The chosen model says no of every point: it is a constant." in words
        assert "to say no of every point, the most frequent class in training, is wrong" in words
        assert "is wrong on 5.0% of these points" in words


def test_bounds_that_rule_nothing_out_are_not_told_as_guarantees() -> None:
    model = LogisticRegression().fit(X[TRAIN], Y[TRAIN])
    report = audit_estimator(model, *DATA, epsilon=5.0, epsilons=(), time_limit=1e-6)
    assert report.worst_sensitivity is not None
    assert report.worst_sensitivity.lower_bound == 0.0
    words = " ".join(str(report).split())
    assert "none has fewer than 0" not in words
    assert "-0" not in words
    n = report.n_val
    assert report.worst_error.bound * n == n > round(report.worst_error.value * n)
    assert f"{n} of {n} points wrong" not in words
    assert "Nothing is proved of the number of points wrong" in words
    assert (report.ambiguous | report.undecided).all()
    assert not report.ambiguous.all()
    assert [row[-1] for row in guarantee_table(report)[3:]] == ["nothing", "nothing"]


def test_classes_of_0_and_1_have_one_name_in_all_sentences() -> None:
    labels = (Y == "malign").astype(int)
    model = LogisticRegression().fit(X[TRAIN], labels[TRAIN])
    rows = (X[TRAIN], labels[TRAIN], X[VAL], labels[VAL])
    words = " ".join(str(audit_estimator(model, *rows, epsilons=())).split())
    assert "validation points of class yes, the chosen" in words
    assert "validation points of class no, the chosen" in words
    assert "to say no of every point" in words or "to say yes of every point" in words


def test_points_that_no_model_can_score_are_said_to_be_left_uncounted() -> None:
    # Without an intercept a row of zeros has a score of 0 by every model, and is predicted benign.
    model = LogisticRegression(fit_intercept=False).fit(X[TRAIN], Y[TRAIN])
    rows, labels = np.vstack([X[VAL], np.zeros((2, 4))]), np.append(Y[VAL], ["malign"] * 2)
    report = audit_estimator(model, X[TRAIN], Y[TRAIN], rows, labels, epsilons=(), time_limit=1.0)
    assert model.predict(rows[-2:]).tolist() == ["benign"] * 2
    assert any("gives 2 of 82 validation points a score of 0" in note for note in report.notes)
    assert any("not in the worst case" in note for note in report.notes)
    assert "wrong (not counting 2 that every one of them scores 0) on your" in report.guarantee
