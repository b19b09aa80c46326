"""Penalties on absolute values, against objectives written out here and models drawn at random."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.linear_model import ElasticNet, Lasso, LogisticRegression
from sklearn.svm import LinearSVC

from pessimal import InvalidInputError, near_optimal_set
from pessimal.errors import SolverError
from pessimal.losses import Absolute

Vector = NDArray[np.float64]

EXACT: dict[str, Any] = {"tol": 1e-12, "max_iter": 1_000_000}
REGRESSORS = (
    Lasso(0.1, **EXACT),
    Lasso(0.5, fit_intercept=False, **EXACT),
    Lasso(100.0, **EXACT),
    ElasticNet(0.4, l1_ratio=0.3, **EXACT),
)
CLASSIFIERS = (
    LogisticRegression(C=0.2, l1_ratio=1.0, solver="saga", **EXACT),
    LogisticRegression(C=0.5, l1_ratio=0.4, solver="saga", **EXACT),
    LogisticRegression(
        C=0.3, l1_ratio=1.0, solver="liblinear", intercept_scaling=2.0, random_state=0, **EXACT
    ),
)


def draw(seed: int, n: int = 60, m: int = 40, p: int = 4) -> tuple[Any, ...]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n + m, p)) * np.linspace(0.5, 2.0, p) + 0.3
    score = X @ np.append(rng.normal(size=p - 2), [0.0, 0.0]) + rng.normal(size=n + m)
    return X[:n], score[:n], X[n:], score[n:]


def objective(estimator: Any, X: Vector, y: Vector) -> Callable[[Vector, float], float]:
    """Return what an estimator minimises, times what makes the loss a mean."""
    if isinstance(estimator, LogisticRegression):
        ratio, strength = estimator.l1_ratio, 1.0 / (estimator.C * len(y))
        on_intercept = strength / 2.0 if estimator.solver == "liblinear" else 0.0

        def logistic(w: Vector, b: float) -> float:
            loss = np.logaddexp(0.0, -y * (X @ w + b)).mean()
            penalty = ratio * np.abs(w).sum() + 0.5 * (1.0 - ratio) * w @ w
            return float(loss + strength * penalty + on_intercept * abs(b))

        return logistic
    ratio = estimator.l1_ratio if isinstance(estimator, ElasticNet) else 1.0

    def squared(w: Vector, b: float) -> float:
        penalty = ratio * np.abs(w).sum() + 0.5 * (1.0 - ratio) * w @ w
        return float(np.mean((X @ w + b - y) ** 2) + 2.0 * estimator.alpha * penalty)

    return squared


def data(estimator: Any, seed: int) -> tuple[Any, ...]:
    X, score, X_val, score_val = draw(seed)
    if isinstance(estimator, LogisticRegression):
        return X, np.sign(score), X_val, np.sign(score_val)
    return X, score, X_val, score_val


@pytest.mark.parametrize("estimator", [*REGRESSORS, *CLASSIFIERS], ids=str)
@pytest.mark.parametrize("weighted", [False, True])
def test_the_training_problem_is_the_one_of_scikit_learn(estimator: Any, weighted: bool) -> None:
    X, y, *_ = data(estimator, 0)
    weight = np.random.default_rng(1).random(len(y)) * 3.0 if weighted else None
    estimator.fit(X, y, sample_weight=weight)
    trained = near_optimal_set(estimator, X, y, sample_weight=weight).trained
    assert trained.coef == pytest.approx(np.ravel(estimator.coef_), abs=1e-6)
    assert trained.intercept == pytest.approx(np.ravel(estimator.intercept_)[0], abs=1e-6)


@pytest.mark.parametrize("estimator", [*REGRESSORS, *CLASSIFIERS], ids=str)
@pytest.mark.parametrize("epsilon", [0.002, 0.05, 0.5])
def test_no_member_is_beyond_a_bound(estimator: Any, epsilon: float) -> None:
    X, y, X_val, y_val = data(estimator, 2)
    R = objective(estimator, X, y)
    members = near_optimal_set(estimator, X, y, epsilon=epsilon)
    worst = members.worst(X_val, y_val, node_limit=2)
    best, ranges = members.best(X_val, y_val), members.score_range(X_val)
    w0, b0 = members.trained.coef, members.trained.intercept
    least = R(w0, b0)
    assert members.trained.value == pytest.approx(least, rel=1e-8)
    limit = (1.0 + epsilon) * members.trained.lower_bound
    moves = estimator.fit_intercept

    def judged(w: Vector, b: float) -> float:
        score = X_val @ w + b
        if isinstance(estimator, LogisticRegression):
            return float(np.logaddexp(0.0, -y_val * score).mean())
        return float(np.mean((score - y_val) ** 2))

    for found in (worst, best):
        assert R(found.coef, found.intercept) <= limit * (1.0 + 1e-9)
        assert found.value == pytest.approx(judged(found.coef, found.intercept), rel=1e-9)
    rng = np.random.default_rng(3)
    for k in range(150):
        dw = rng.normal(size=len(w0)) * (rng.random(len(w0)) < 0.6)
        db = rng.normal() if moves else 0.0
        if k % 3 == 0:  # towards the models found, from where more is likely
            dw, db = worst.coef - w0 + 0.1 * dw, worst.intercept - b0 + 0.1 * db
        near, far = 0.0, 64.0
        for _ in range(50):
            middle = 0.5 * (near + far)
            inside = R(w0 + middle * dw, b0 + middle * db) <= limit
            near, far = (middle, far) if inside else (near, middle)
        w, b = w0 + near * dw, b0 + near * db
        assert best.lower_bound - 1e-9 <= judged(w, b) <= worst.upper_bound + 1e-9
        assert judged(w, b) <= 1.01 * worst.value  # what is found is no less than what chance finds
        assert (ranges.low - 1e-9 <= X_val @ w + b).all()
        assert (ranges.high + 1e-9 >= X_val @ w + b).all()


def test_bounds_are_close_for_small_budgets() -> None:
    X, y, X_val, y_val = data(REGRESSORS[0], 5)
    worst = near_optimal_set(Lasso(0.1), X, y, epsilon=0.001).worst(X_val, y_val)
    assert worst.upper_bound <= 1.005 * worst.value
    best = near_optimal_set(Lasso(0.1), X, y, epsilon=0.001).best(X_val, y_val)
    assert best.lower_bound >= 0.999 * best.value


def test_parabolas_enclose_the_rounded_absolute_value() -> None:
    loss, rng = Absolute(1e-3), np.random.default_rng(0)
    t = np.concatenate([rng.normal(size=200), 1e-3 * rng.normal(size=200)])
    low, high = -rng.exponential(size=400), rng.exponential(size=400)
    least, most = loss.least_secant(t, low, high), loss.largest_secant(t, low, high)
    for share in np.linspace(0.0, 1.0, 41):
        s = low + share * (high - low)
        line = loss.value(t) + loss.slope(t) * s
        assert (loss.value(t + s) >= line + 0.5 * least * s * s - 1e-14).all()
        assert (loss.value(t + s) <= line + 0.5 * most * s * s + 1e-14).all()


def test_what_has_no_known_problem_is_refused_by_name() -> None:
    X, score, *_ = draw(0)
    with pytest.raises(InvalidInputError, match="penalty='l1'"):
        near_optimal_set(LinearSVC(penalty="l1"), X, np.sign(score))
    with pytest.raises(InvalidInputError, match=r"l1_ratio=1\.5"):
        near_optimal_set(ElasticNet(1.0, l1_ratio=1.5), X, score)
    with pytest.raises(InvalidInputError, match="alpha=-1"):
        near_optimal_set(Lasso(-1.0), X, score)


@pytest.mark.parametrize("above", [1e-8, 1e-7, 1e-6, 1e-4])
def test_the_least_loss_is_right_where_a_penalty_just_suffices_to_keep_zeros(above: float) -> None:
    x, y = np.array([-1.0, 0.0, 1.0, 2.0, -2.0]), np.array([1.0, 3.0, 2.0, 5.0, 0.0])
    least = float(np.var(y))
    alpha = float(x @ y) / len(y) * (1.0 + above)
    members = near_optimal_set(Lasso(alpha), x[:, None], y, epsilon=1e-6)
    assert members.trained.lower_bound <= least * (1.0 + 1e-13)
    assert members.trained.value <= least * (1.0 + 2e-10)


def test_coefficients_that_rounding_leaves_next_to_zero_are_zero() -> None:
    for seed in range(20):
        rng = np.random.default_rng(seed)
        X, y = rng.normal(size=(6, 2)) * [1.0, 1000.0], 300.0 + 100.0 * rng.normal(size=6)
        # Exactly the penalty above which all coefficients are 0.
        alpha = float(np.abs((X - X.mean(axis=0)).T @ (y - y.mean())).max() / len(y))
        trained = near_optimal_set(Lasso(alpha), X, y, epsilon=0.1).trained
        assert trained.value - trained.lower_bound <= 2e-10 * trained.value


def test_an_outlying_row_that_makes_columns_nearly_the_same_does_not_stop_training() -> None:
    rng = np.random.default_rng(7)
    X = rng.normal(size=(60, 4))
    y = X @ [1.0, -0.5, 0.0, 0.2] + rng.normal(size=60)
    X[17] = 1e5
    members = near_optimal_set(Lasso(0.1), X, y, epsilon=0.01)
    trained = members.trained
    assert trained.value - trained.lower_bound <= 1e-9 * trained.value
    assert members.contains(members.worst(X[:20], y[:20], time_limit=1.0).model)


def test_small_coefficients_stay_where_the_penalty_is_tiny() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 2))
    y = X @ [1.0, 0.04] + rng.normal(size=40)
    trained = near_optimal_set(Lasso(1e-7), X, y, epsilon=1e-6).trained
    assert trained.value - trained.lower_bound <= 2e-10 * trained.value


@pytest.mark.parametrize("solver", ["liblinear", "saga"])
@pytest.mark.parametrize("seed", [0, 1, 5])
def test_columns_next_to_each_other_are_named_where_training_fails(solver: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(40, 3))
    X = np.column_stack([X, X[:, 0] + 1e-7 * rng.normal(size=40)])
    y = (X[:, 0] + rng.logistic(size=40) > 0.0).astype(int)
    estimator = LogisticRegression(C=float(10 ** rng.uniform(-1, 1)), solver=solver, l1_ratio=1.0)
    with pytest.raises(SolverError, match="depend on each other"):
        near_optimal_set(estimator, X, y, epsilon=0.05)
