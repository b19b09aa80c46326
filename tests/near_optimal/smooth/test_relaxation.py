"""The bounds on worst cases and counts of logistic regression and squared hinges."""

from __future__ import annotations

import signal
from functools import partial
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from pessimal import near_optimal_set
from pessimal.losses import Logistic, SquaredHinge
from pessimal.near_optimal.smooth.ellipsoids import inside
from pessimal.near_optimal.smooth.judged import count_above
from pessimal.near_optimal.smooth.objective import MeanLoss
from pessimal.near_optimal.smooth.quadratic import Quadratic
from pessimal.near_optimal.smooth.relaxation import Moments, envelope
from pessimal.near_optimal.smooth.rows import Block
from pessimal.near_optimal.smooth.smooth_set import SmoothSet


def one_row(margin: float, low: float, high: float) -> Block:
    """A row whose margin is ``margin + d`` with d in a range, at a model of one variable."""
    one = np.ones(1)
    return Block(np.ones((1, 1)), -margin * one, one, low * one, high * one)


@pytest.mark.parametrize("loss", [Logistic(), SquaredHinge()], ids=lambda loss: loss.name)
@pytest.mark.parametrize("side", [-1.0, 1.0])
def test_an_envelope_is_on_its_side_over_the_whole_range(loss: Any, side: float) -> None:
    rng = np.random.default_rng(0)
    for _ in range(300):
        margin, scale = rng.normal() * 3.0, 10.0 ** rng.uniform(-3.0, 1.0)
        low, high = -rng.random() * scale, rng.random() * scale
        mean = rng.uniform(low, high)
        moments = Moments(np.array([mean]), np.array([[rng.random() * scale**2]]))
        parabola = envelope(loss, side, np.zeros(1), moments, one_row(margin, low, high))
        for d in np.linspace(low, high, 21):
            gap = side * (parabola.at(np.array([d])) - loss.value(np.array([margin + d]))[0])
            assert gap >= -1e-12 * (1.0 + abs(margin))


@pytest.mark.parametrize("side", [-1.0, 1.0])
def test_a_parabola_counts_every_row_that_may_count(side: float) -> None:
    rng = np.random.default_rng(1)
    for _ in range(300):
        margin, threshold = rng.normal(size=2)
        low, high = -rng.random() * 3.0, rng.random() * 3.0
        mean = rng.uniform(low, high)
        moments = Moments(np.array([mean]), np.array([[rng.random()]]))
        above = partial(count_above, threshold, side, np.zeros(1), moments)
        parabola = above(one_row(margin, low, high))
        for d in np.linspace(low, high, 41):
            counts = side * (margin + d - threshold) >= 0.0
            assert parabola.at(np.array([d])) >= counts - 1e-9


def cancer(n: int, m: int) -> tuple[Any, ...]:
    X, y = load_breast_cancer(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(y))
    X = StandardScaler().fit_transform(X)[order]
    return X[:n], y[order][:n], X[n : n + m], y[order][n : n + m]


def test_breast_cancer_is_proved_at_five_per_cent_and_close_at_twenty() -> None:
    X, y, X_val, y_val = cancer(100, 100)
    # A penalty of .01/2·‖w‖² on the mean loss.
    members = near_optimal_set(LogisticRegression(C=1.0), X, y, epsilon=0.05)
    assert members.worst(X_val, y_val).proved
    wider = near_optimal_set(LogisticRegression(C=1.0), X, y, epsilon=0.2)
    worst = wider.worst(X_val, y_val, node_limit=4)
    assert worst.value == pytest.approx(0.1911, abs=1e-4)
    assert worst.upper_bound < 0.215


@pytest.mark.parametrize("estimator", [LogisticRegression(C=0.3), LinearSVC(C=0.05)], ids=str)
def test_branching_lowers_a_bound_that_no_grid_passes(estimator: Any) -> None:
    rng = np.random.default_rng(4)
    X = rng.normal(size=(60, 1))
    y = np.where(X[:, 0] + rng.normal(size=60) > 0.0, 1, -1)
    X_val, y_val = rng.normal(size=(30, 1)) * 3.0, rng.choice([-1, 1], 30)
    members = near_optimal_set(estimator, X, y, epsilon=0.3)
    assert isinstance(members, SmoothSet)
    rough = members.worst(X_val, y_val, time_limit=1e-9)
    fine = members.worst(X_val, y_val, node_limit=30)
    assert fine.upper_bound <= rough.upper_bound
    grid = np.linspace(-2.5, 2.5, 301)
    trained = np.append(members.trained.coef, members.trained.intercept)
    u = trained + np.array([[w, b] for w in grid for b in grid])
    loss = members.loss
    training = loss.value((u[:, :1] * X[:, 0] + u[:, 1:]) * y).mean(axis=1)
    svc = isinstance(estimator, LinearSVC)
    penalised = u if svc else u[:, :1]
    training += 0.5 * np.square(penalised).sum(axis=1) / (estimator.C * 60)
    inside = u[training <= members.limit]
    assert len(inside) > 500
    margins = (inside[:, :1] * X_val[:, 0] + inside[:, 1:]) * y_val
    largest = loss.value(margins).mean(axis=1).max()
    assert largest <= fine.upper_bound * (1.0 + 1e-9)
    assert largest >= fine.value - 2e-2 * fine.value
    errors = (margins < 0.0).sum(axis=1)
    most, least = members.worst(X_val, y_val, "zero_one"), members.best(X_val, y_val, "zero_one")
    assert (
        least.lower_bound * 30 - 1e-9
        <= errors.min()
        <= errors.max()
        <= most.upper_bound * 30 + 1e-9
    )


def test_ranges_of_rows_are_those_of_the_set_itself() -> None:
    X, y, X_val, _ = cancer(80, 12)
    members = near_optimal_set(LogisticRegression(C=1.0), X, y, epsilon=0.1)
    ranges = members.score_range(X_val)
    assert ranges.exact.all()
    met = np.array([model.decision_function(X_val) for model in ranges.models])
    assert met.max(axis=0) == pytest.approx(ranges.high, abs=1e-4)
    assert met.min(axis=0) == pytest.approx(ranges.low, abs=1e-4)
    assert all(members.contains(model) for model in ranges.models)


@pytest.mark.parametrize("asked", ["worst", "best", "score_range"])
def test_ctrl_c_ends_a_question_with_what_is_known(
    monkeypatch: pytest.MonkeyPatch, asked: str
) -> None:
    X, y, X_val, y_val = cancer(60, 20)
    members = near_optimal_set(LogisticRegression(C=10.0), X, y, epsilon=0.2)
    usual = members.worst(X_val, y_val, node_limit=1)
    calls = 0
    real = MeanLoss.expansion

    def interrupted(mean: MeanLoss, u: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls == 2:
            signal.raise_signal(signal.SIGINT)
        return real(mean, u)

    monkeypatch.setattr(MeanLoss, "expansion", interrupted)
    if asked == "score_range":
        signal_at = members.score_range(X_val)
        assert (signal_at.low <= members.trained.model.decision_function(X_val)).all()
        return
    found = getattr(members, asked)(X_val, y_val)
    assert calls >= 2
    assert found.lower_bound <= usual.value
    if asked == "worst":
        assert found.upper_bound >= usual.value


@pytest.mark.parametrize("epsilon", [3.0, 10.0, 1e3, 1e6])
@pytest.mark.parametrize("estimator", [LogisticRegression(), LinearSVC()], ids=str)
def test_huge_budgets_have_bounds_that_members_keep(estimator: Any, epsilon: float) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(12, 2))
    y = np.where(X[:, 0] + rng.normal(size=12) > 0.0, 1, -1)
    members = near_optimal_set(estimator, X, y, epsilon=epsilon)
    worst, most = members.worst(X, y, node_limit=2), members.worst(X, y, "zero_one")
    ranges = members.score_range(X)
    for model in members.sample(200, 0):
        scores = model.decision_function(X)
        assert members.loss.value(y * scores).mean() <= worst.upper_bound
        assert (y * scores < 0.0).mean() <= most.upper_bound + 1e-9
        assert (scores >= ranges.low - 1e-9).all()
        assert (scores <= ranges.high + 1e-9).all()


def many_rows(n: int, p: int) -> tuple[Any, ...]:
    rng = np.random.default_rng(7)
    X, X_val = rng.normal(size=(n, p)), rng.normal(size=(500, p))
    w = rng.normal(size=p)
    y, y_val = (np.where(A @ w + rng.logistic(size=len(A)) > 0.0, 1, -1) for A in (X, X_val))
    return X, y, X_val, y_val


def test_an_ellipsoid_found_with_some_rows_holds_what_all_rows_allow() -> None:
    X, y, X_val, y_val = many_rows(24_000, 4)
    members = near_optimal_set(LogisticRegression(), X, y, epsilon=0.1)
    worst, ranges = members.worst(X_val, y_val, node_limit=1), members.score_range(X_val[:5])
    limit = members.limit
    for model in members.sample(100, 0):
        scores = X @ model.coef + model.intercept
        trained = np.logaddexp(0.0, -y * scores).mean() + 0.5 * model.coef @ model.coef / 24_000
        assert trained <= limit * (1.0 + 1e-9)
        scores = X_val @ model.coef + model.intercept
        assert np.logaddexp(0.0, -y_val * scores).mean() <= worst.upper_bound
        assert (scores[:5] >= ranges.low - 1e-9).all()
        assert (scores[:5] <= ranges.high + 1e-9).all()


def test_an_ellipsoid_is_only_believed_if_its_boundary_is_free_of_members() -> None:
    round_one = Quadratic(-0.5, np.zeros(2), np.eye(2))
    assert inside(Quadratic(-0.5, np.zeros(2), 1.1 * np.eye(2)), round_one)
    assert not inside(Quadratic(-0.5, np.zeros(2), 0.9 * np.eye(2)), round_one)
    # Narrower in one direction only, and one that a slope has moved over the boundary.
    assert not inside(Quadratic(-0.5, np.zeros(2), np.diag([4.0, 0.9])), round_one)
    assert not inside(Quadratic(-0.5, np.array([0.2, 0.0]), 1.1 * np.eye(2)), round_one)


def test_moments_of_some_rows_bound_all_of_them_better_than_the_certificate() -> None:
    X, y, X_val, y_val = many_rows(24_000, 12)
    members = near_optimal_set(LogisticRegression(), X, y, epsilon=0.05)
    hasty = members.worst(X_val, y_val, time_limit=1e-9)
    assert hasty.value <= hasty.upper_bound <= 1.2 * hasty.value
