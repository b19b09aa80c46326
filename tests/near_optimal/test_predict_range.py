"""Ranges of predictions: bounds hold for every member, and agreement is what members say."""

from __future__ import annotations

from typing import Any

import cvxpy
import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.special import expit
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LinearRegression, LogisticRegression, RidgeClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from pessimal import PessimisticSVC, TuningProblem
from pessimal.errors import InvalidInputError
from pessimal.near_optimal import BoxSet, NearOptimalSet, near_optimal_set
from pessimal.near_optimal.retrained.retrained_set import RetrainedSet
from pessimal.problem import Budget

cp: Any = cvxpy

Data = tuple[NDArray[np.float64], NDArray[np.str_]]


def tumours(n_features: int = 4) -> Data:
    X, y = load_breast_cancer(return_X_y=True)
    return StandardScaler().fit_transform(X)[:, :n_features], np.where(y == 1, "benign", "malign")


def box_set(X: NDArray[np.float64], y: NDArray[np.str_]) -> NearOptimalSet:
    labels = np.where(y == "malign", 1.0, -1.0)
    return BoxSet(TuningProblem(X, labels, X, labels), np.full(X.shape[1], 0.7), Budget(0.1))


def sets() -> dict[str, NearOptimalSet]:
    X, y = tumours()
    X, y = X[:60], y[:60]
    return {
        "logistic": near_optimal_set(LogisticRegression(), X, y, epsilon=0.1),
        "lasso": near_optimal_set(
            LogisticRegression(l1_ratio=1.0, solver="saga"), X, y, epsilon=0.1
        ),
        "ridge": near_optimal_set(RidgeClassifier(), X, y, epsilon=0.1),
        "pipeline": near_optimal_set(
            make_pipeline(StandardScaler(), LogisticRegression()), X, y, epsilon=0.1
        ),
        "box": box_set(X, y),
    }


@pytest.fixture(scope="module", params=["logistic", "lasso", "ridge", "pipeline", "box"])
def members(request: pytest.FixtureRequest) -> NearOptimalSet:
    return sets()[request.param]


class TestLinearSets:
    def test_no_sampled_member_passes_the_bounds(self, members: NearOptimalSet) -> None:
        rows = tumours()[0][60:90]
        said = members.predict_range(rows)
        for model in members.sample(200, random_state=1):
            scores = model.decision_function(rows)
            assert np.all(said.low <= scores + 1e-9)
            assert np.all(scores <= said.high + 1e-9)

    def test_agreement_is_what_sampled_members_say(self, members: NearOptimalSet) -> None:
        rows = tumours()[0][60:120]
        said = members.predict_range(rows)
        positive = np.array(
            [m.decision_function(rows) > 0.0 for m in members.sample(300, random_state=1)]
        )
        mixed = positive.any(axis=0) & ~positive.all(axis=0)
        assert mixed.any()
        assert said.agree.any()
        assert not np.any(mixed & said.agree)
        assert not np.any(said.agree & said.disagree)
        assert set(said.agreement) <= {"yes", "no", "not known"}

    def test_agreement_alone_is_told_the_same(self, members: NearOptimalSet) -> None:
        rows = tumours()[0][60:120]
        wide, narrow = members.agreement(rows), members.predict_range(rows)
        assert wide.agree.tolist() == narrow.agree.tolist()
        assert np.all(wide.low <= narrow.low + 1e-6)
        assert np.all(wide.high >= narrow.high - 1e-6)


def test_found_ends_of_a_box_are_those_of_linear_programs() -> None:
    from scipy.optimize import linprog  # noqa: PLC0415

    X, y = tumours()
    X, y, row = X[:40], y[:40], X[70]
    members = box_set(X, y)
    signs = np.where(y == "malign", 1.0, -1.0)
    # Variables w, intercept, hinges; the budget is on the mean of the hinges.
    n, p = X.shape
    rows = np.hstack([-signs[:, None] * X, -signs[:, None], -np.eye(n)])
    budget = np.append(np.zeros(p + 1), np.full(n, 1.0 / n))
    ranges = [(-0.7, 0.7)] * p + [(None, None)] + [(0.0, None)] * n
    least = linprog(budget, rows, -np.ones(n), bounds=ranges).fun
    ends = [
        side
        * linprog(
            side * np.concatenate([row, [1.0], np.zeros(n)]),
            np.vstack([rows, budget]),
            np.append(-np.ones(n), 1.1 * least),
            bounds=ranges,
        ).fun
        for side in (1.0, -1.0)
    ]
    said = members.predict_range(row[None])
    assert said.low[0] == pytest.approx(ends[0], abs=1e-6)
    assert said.high[0] == pytest.approx(ends[1], abs=1e-6)
    assert said.found_low[0] == pytest.approx(ends[0], abs=1e-6)
    assert said.found_high[0] == pytest.approx(ends[1], abs=1e-6)


def test_a_box_says_the_same_of_rows_it_was_asked_before() -> None:
    X, y = tumours()
    members, rows = box_set(X[:60], y[:60]), X[60:70]
    first = members.predict_range(rows)
    members.predict_range(rows[:3])
    for again in (members.predict_range(rows), members.agreement(rows)):
        assert again.agreement.tolist() == first.agreement.tolist()
        np.testing.assert_allclose(again.found_low, first.found_low)
        np.testing.assert_allclose(again.found_high, first.found_high)


def test_probabilities_are_scores_through_the_logistic_link() -> None:
    members, rows = sets()["logistic"], tumours()[0][60:90]
    score, share = members.predict_range(rows), members.predict_range(rows, kind="probability")
    np.testing.assert_allclose(share.low, expit(score.low), rtol=1e-12)
    np.testing.assert_allclose(share.found_high, expit(score.found_high), rtol=1e-12)
    assert np.all((share.low >= 0.0) & (share.high <= 1.0))
    assert share.agreement.tolist() == score.agreement.tolist()


def test_more_rows_than_are_asked_for_at_once_come_back_in_order() -> None:
    members, rows = sets()["ridge"], np.tile(tumours()[0][60:90], (10, 1))
    said = members.predict_range(rows)
    assert said.low.shape == (300,)
    np.testing.assert_allclose(said.low[:30], said.low[270:], rtol=1e-9)


def test_without_time_bounds_are_wider_and_still_hold() -> None:
    members, rows = sets()["logistic"], tumours()[0][60:90]
    hasty, said = members.predict_range(rows, time_limit=1e-9), members.predict_range(rows)
    assert np.all(hasty.low <= said.found_low)
    assert np.all(hasty.high >= said.found_high)


@pytest.mark.parametrize("seed", [33, 54])
def test_ranges_of_a_wide_set_end_where_a_convex_program_does(seed: int) -> None:
    # Far from the optimum the logistic curve is flat, and where a Newton step ends depends on
    # where it began.
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(20, 3))
    positive = X[:, 0] + rng.normal(size=20) > 0.0
    rows, C, epsilon = np.vstack([X[:3], 50.0 * X[:3]]), 10.0, 10.0
    said = near_optimal_set(LogisticRegression(C=C), X, positive, epsilon=epsilon).predict_range(
        rows
    )
    coef, intercept = cp.Variable(3), cp.Variable()
    margins = cp.multiply(np.where(positive, 1.0, -1.0), X @ coef + intercept)
    trained = C * cp.sum(cp.logistic(-margins)) + 0.5 * cp.sum_squares(coef)
    least = cp.Problem(cp.Minimize(trained)).solve(solver=cp.CLARABEL)
    within = [trained <= (1.0 + epsilon) * least]
    for k, row in enumerate(rows):
        score = row @ coef + intercept
        low = cp.Problem(cp.Minimize(score), within).solve(solver=cp.CLARABEL)
        high = cp.Problem(cp.Maximize(score), within).solve(solver=cp.CLARABEL)
        slack = 1e-6 * (high - low)
        assert said.low[k] - slack <= low <= said.found_low[k] + slack
        assert said.found_high[k] - slack <= high <= said.high[k] + slack


def test_a_regression_has_ranges_and_no_agreement() -> None:
    X, _ = tumours()
    y = X[:, 0] + X[:, 1] ** 2
    said = near_optimal_set(LinearRegression(), X[:50], y[:50], epsilon=0.1).predict_range(X[50:60])
    assert np.all(said.low < said.high)
    assert not said.agree.any()
    assert not said.disagree.any()


class TestRefits:
    def test_found_ends_are_those_of_the_members_met(self) -> None:
        X, y = tumours()
        forest = RandomForestClassifier(10, min_samples_leaf=3, random_state=0)
        members = RetrainedSet.of(forest, X[:80], y[:80], Budget(0.5))
        said = members.predict_range(X[80:120], kind="probability")
        shares = np.array([m.predict_proba(X[80:120])[:, 1] for m in members.members])
        labels = np.array([m.predict(X[80:120]) for m in members.members])
        np.testing.assert_array_equal(said.found_low, shares.min(axis=0))
        np.testing.assert_array_equal(said.found_high, shares.max(axis=0))
        np.testing.assert_array_equal(said.disagree, np.any(labels != labels[0], axis=0))
        assert said.disagree.any()

    def test_nothing_is_proved(self) -> None:
        X, y = tumours()
        forest = RandomForestClassifier(10, min_samples_leaf=3, random_state=0)
        said = near_optimal_set(forest, X[:80], y[:80], epsilon=0.5).predict_range(X[80:120])
        assert not said.proves
        assert not said.agree.any()
        assert np.all(np.isinf(said.low))
        assert said.answered.tolist() == (~said.disagree).tolist()

    def test_more_classes_have_a_column_each(self) -> None:
        X, y = load_iris(return_X_y=True)
        forest = RandomForestClassifier(10, min_samples_leaf=3, random_state=0)
        said = near_optimal_set(forest, X[::2], y[::2], epsilon=0.5).predict_range(
            X[1::2], kind="probability"
        )
        assert said.found_low.shape == (75, 3)
        assert said.disagree.shape == (75,)


@pytest.mark.parametrize(
    ("kind", "message"),
    [("log odds", "kind is 'log odds'; pass 'score'"), ("probability", "have none; pass 'score'")],
)
def test_a_kind_that_there_is_not_is_refused(kind: str, message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        sets()["ridge"].predict_range(tumours()[0], kind=kind)  # type: ignore[arg-type]


class TestEstimators:
    X, y = tumours(3)
    model = PessimisticSVC(random_state=0, node_limit=50).fit(X[:40], y[:40])

    def test_the_final_model_is_within_its_range(self) -> None:
        said = self.model.predict_range(self.X[40:80])
        scores = self.model.decision_function(self.X[40:80])
        assert np.all((said.low <= scores + 1e-7) & (scores <= said.high + 1e-7))

    def test_it_abstains_exactly_where_members_may_disagree(self) -> None:
        rows = self.X[40:120]
        answers = self.model.predict(rows, abstain=True, abstain_label=None)
        agree = self.model.predict_range(rows).agree
        assert [label is not None for label in answers] == agree.tolist()
        assert 0 < agree.sum() < len(rows)
        assert answers[agree].tolist() == self.model.predict(rows)[agree].tolist()
        told = self.model.predict(rows, abstain=True)
        assert (told == "models disagree").tolist() == (~agree).tolist()
