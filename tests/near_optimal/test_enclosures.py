"""What a model file keeps of a near-optimal set: around all members, and of members alone."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from pessimal import Budget, TuningProblem
from pessimal.near_optimal import BoxSet
from pessimal.near_optimal.smooth.smooth_set import SmoothSet
from pessimal.problem import Vector

X, Y = load_breast_cancer(return_X_y=True)
X = StandardScaler().fit_transform(X)[:, :5]
TRAIN, NEW = slice(0, 80), slice(80, 140)


@pytest.fixture(
    scope="module",
    params=[
        (LogisticRegression(), 0.01),
        (LogisticRegression(), 0.2),
        (RidgeClassifier(), 0.1),
        (LinearSVC(C=0.1), 0.05),
    ],
    ids=str,
)
def members(request: pytest.FixtureRequest) -> SmoothSet:
    estimator, epsilon = request.param
    return SmoothSet.of(estimator, X[TRAIN], Y[TRAIN], Budget(epsilon))


def furthest(members: SmoothSet, row: Vector) -> Vector:
    """Return the model of the inner ellipsoid with the largest score on a row, in its variables."""
    enclosure = members.enclosure()
    assert enclosure is not None
    z = np.append((row - enclosure.shift) / enclosure.scale, 1.0)
    inner = enclosure.inner
    centre = -np.linalg.solve(inner.curvature, inner.slope)
    ahead = np.linalg.solve(inner.curvature, z)
    radius = np.sqrt(-2.0 * inner.value - inner.slope @ centre)
    return np.asarray(enclosure.trained + centre + radius * ahead / np.sqrt(z @ ahead))


class TestEllipsoids:
    def test_no_sampled_member_is_outside(self, members: SmoothSet) -> None:
        enclosure = members.enclosure()
        assert enclosure is not None
        low, high, _, _ = enclosure.score_range(X[NEW])
        for model in members.sample(300, random_state=1):
            scores = model.decision_function(X[NEW])
            assert np.all((low <= scores) & (scores <= high))

    def test_what_is_attained_is_attained_by_a_member(self, members: SmoothSet) -> None:
        enclosure = members.enclosure()
        assert enclosure is not None
        _, _, _, most = enclosure.score_range(X[NEW])
        for row, score in zip(X[NEW], most, strict=True):
            u = furthest(members, row)
            # The training objective itself says that it is a member.
            assert members.objective.value(u) <= members.outer_limit * (1.0 + 1e-9)
            model = members.problem.coordinates.model(u)
            assert model.decision_function(row[None])[0] == pytest.approx(score, rel=1e-6)

    def test_exact_ranges_lie_between_both(self, members: SmoothSet) -> None:
        enclosure = members.enclosure()
        assert enclosure is not None
        low, high, least, most = enclosure.score_range(X[NEW])
        exact = members.score_range(X[NEW])
        assert exact.exact.all()
        slack = 1e-6 * (1.0 + np.abs(exact.high))
        assert np.all((low <= exact.low + slack) & (exact.low <= least + slack))
        assert np.all((most <= exact.high + slack) & (exact.high <= high + slack))

    def test_features_may_be_given_before_they_were_standardised(self, members: SmoothSet) -> None:
        enclosure = members.enclosure()
        assert enclosure is not None
        mean, scale = np.array([3.0, -7.0, 0.0, 100.0, 1.0]), np.array([2.0, 5.0, 1.0, 30.0, 0.1])
        raw = enclosure.after(mean, scale).score_range(X[NEW] * scale + mean)
        for ours, theirs in zip(raw, enclosure.score_range(X[NEW]), strict=True):
            np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-9)

    def test_ranges_grow_with_the_row_up_to_where_numbers_end(self, members: SmoothSet) -> None:
        enclosure = members.enclosure()
        assert enclosure is not None
        enclosure = replace(enclosure, shift=np.zeros(5), scale=np.full(5, 0.1))
        far, farther = (np.array(enclosure.score_range(X[NEW] * size)) for size in (1e100, 1e200))
        np.testing.assert_allclose(farther, far * 1e100, rtol=1e-9)
        low, high, least, most = enclosure.score_range(np.full((1, 5), 1e308))
        assert low == -np.inf
        assert high == np.inf
        assert not (least < 0.0 < most)


def test_with_a_budget_of_nothing_the_trained_model_is_all_that_is_known() -> None:
    members = SmoothSet.of(LogisticRegression(), X[TRAIN], Y[TRAIN], Budget(0.0))
    enclosure = members.enclosure()
    assert enclosure is not None
    low, high, least, most = enclosure.score_range(X[NEW])
    assert least.tolist() == most.tolist()
    assert np.all((low <= least) & (most <= high))


class TestBox:
    labels = np.where(Y[TRAIN] == 1, 1.0, -1.0)
    members = BoxSet(
        TuningProblem(X[TRAIN], labels, X[TRAIN], labels), np.full(5, 0.6), Budget(0.1)
    )
    enclosure = members.enclosure(np.zeros(5), np.ones(5))

    def test_exact_ranges_lie_between_bounds_and_members(self) -> None:
        low, high, least, most = self.enclosure.score_range(X[NEW])
        exact = self.members.score_range(X[NEW])
        assert exact.exact.all()
        assert np.all((low <= exact.low + 1e-7) & (exact.low <= least + 1e-7))
        assert np.all((most <= exact.high + 1e-7) & (exact.high <= high + 1e-7))
        assert np.median((most - least) / (high - low)) > 0.7

    def test_the_models_it_keeps_are_members(self) -> None:
        for u in self.enclosure.members:
            loss = np.maximum(0.0, 1.0 - self.labels * (X[TRAIN] @ u[:-1] - u[-1])).mean()
            assert loss <= 1.1 * self.members.trained.value + 1e-7
            assert np.all(np.abs(u[:-1]) <= 0.6 + 1e-9)

    def test_it_holds_none_of_the_training_rows(self) -> None:
        kept = self.enclosure.directions[:, :-1]
        distances = np.linalg.norm(kept[:, None] - X[TRAIN][None], axis=2)
        assert distances.min() > 1e-3

    def test_without_time_the_ranges_still_hold(self) -> None:
        hasty = self.members.enclosure(np.zeros(5), np.ones(5), time_limit=1e-9)
        low, high, least, most = hasty.score_range(X[NEW])
        exact = self.members.score_range(X[NEW])
        assert np.all((low <= exact.low + 1e-7) & (exact.high <= high + 1e-7))
        assert np.all((exact.low - 1e-7 <= least) & (most <= exact.high + 1e-7))

    def test_a_feature_that_was_constant_counts_for_nothing(self) -> None:
        enclosure = self.members.enclosure(np.zeros(5), np.array([1.0, 1.0, 1.0, 1.0, 0.0]))
        changed = X[NEW].copy()
        changed[:, 4] = 1e9
        for ours, theirs in zip(
            enclosure.score_range(changed), enclosure.score_range(X[NEW]), strict=True
        ):
            np.testing.assert_array_equal(ours, theirs)
