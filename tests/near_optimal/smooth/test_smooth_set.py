"""Near-optimal sets of ridge and logistic regression, against scikit-learn, CVXPY and grids."""

from __future__ import annotations

from typing import Any

import cvxpy
import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import Lasso, LinearRegression, LogisticRegression, Ridge, RidgeClassifier
from sklearn.svm import LinearSVC

from pessimal import near_optimal_set
from pessimal.errors import InvalidInputError, SolverError
from pessimal.limits import Deadline
from pessimal.near_optimal import Linear
from pessimal.near_optimal.smooth.members import Members
from pessimal.near_optimal.smooth.smooth_set import SmoothSet

cp: Any = cvxpy
EXACT = {"tol": 1e-12, "max_iter": 100_000}
CLASSIFIERS = (
    LogisticRegression(C=0.3, **EXACT),
    LogisticRegression(C=np.inf, **EXACT),
    LogisticRegression(C=2.0, class_weight="balanced", **EXACT),
    LogisticRegression(C=2.0, class_weight={"a": 3.0, "b": 1.0}, **EXACT),
    LogisticRegression(C=0.5, solver="liblinear", intercept_scaling=2.0, **EXACT),
    LogisticRegression(C=0.5, fit_intercept=False, **EXACT),
    LinearSVC(C=0.7, **EXACT),
    LinearSVC(C=0.7, class_weight="balanced", intercept_scaling=3.0, **EXACT),
    LinearSVC(C=0.7, fit_intercept=False, **EXACT),
    RidgeClassifier(3.0),
    RidgeClassifier(3.0, class_weight="balanced"),
)
REGRESSORS = (Ridge(2.0), Ridge(0.1, fit_intercept=False), LinearRegression())


def draw(seed: int, n: int = 60, m: int = 30, p: int = 3) -> tuple[Any, ...]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n + m, p)) * np.linspace(1.0, 2.0, p) + 0.5
    score = X @ rng.normal(size=p) + rng.normal(size=n + m)
    labels = np.where(score > np.median(score), "b", "a")
    return X[:n], labels[:n], score[:n], X[n:], labels[n:], score[n:]


@pytest.mark.parametrize("estimator", [*CLASSIFIERS, *REGRESSORS], ids=str)
@pytest.mark.parametrize("weighted", [False, True])
def test_the_training_problem_is_the_one_of_scikit_learn(estimator: Any, weighted: bool) -> None:
    X, labels, targets, *_ = draw(0)
    y = targets if estimator in REGRESSORS else labels
    weight = np.random.default_rng(1).random(len(y)) * 3.0 if weighted else None
    estimator.fit(X, y, sample_weight=weight)
    trained = near_optimal_set(estimator, X, y, sample_weight=weight).trained
    assert trained.coef == pytest.approx(np.ravel(estimator.coef_), abs=1e-6)
    assert trained.intercept == pytest.approx(np.ravel(estimator.intercept_)[0], abs=1e-6)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("epsilon", [0.001, 0.05, 1.0])
@pytest.mark.parametrize(
    "estimator", [Ridge(2.0), RidgeClassifier(2.0), LinearRegression()], ids=str
)
def test_worst_cases_of_squared_losses_are_exact(estimator: Any, epsilon: float, seed: int) -> None:
    X, labels, targets, X_val, labels_val, targets_val = draw(seed)
    classifies = isinstance(estimator, RidgeClassifier)
    members = near_optimal_set(estimator, X, labels if classifies else targets, epsilon=epsilon)
    worst = members.worst(X_val, labels_val if classifies else targets_val)
    assert worst.proved
    assert worst.upper_bound - worst.value <= 1e-8 * worst.value
    y = np.where(labels_val == "b", 1.0, -1.0) if classifies else targets_val
    assert worst.value == pytest.approx(np.mean((X_val @ worst.coef + worst.intercept - y) ** 2))
    assert members.contains(worst.model)


def test_a_ridge_of_one_column_has_its_worst_case_at_an_end() -> None:
    # R(w) = mean((w − 1)², (w + 1)²)/… : x = (1, −1), y = (1, −1), no intercept: (w − 1)² + w²/2·α.
    members = near_optimal_set(
        Ridge(2.0, fit_intercept=False), [[1.0], [-1.0]], [1.0, -1.0], delta=0.5
    )
    # (w − 1)² + w² ≤ ½ + ½ at w = 0 and w = 1; the validation loss (w − 3)² is 9 and 4.
    assert members.trained.value == pytest.approx(0.5)
    assert members.worst([[1.0]], [3.0]).value == pytest.approx(9.0)
    assert members.best([[1.0]], [3.0]).value == pytest.approx(4.0, abs=1e-5)


@pytest.mark.parametrize("estimator", [LogisticRegression(C=0.5), LinearSVC(C=0.1)], ids=str)
@pytest.mark.parametrize("epsilon", [0.01, 0.1])
@pytest.mark.parametrize("seed", range(3))
def test_no_model_of_a_grid_contradicts_what_is_said(
    estimator: Any, epsilon: float, seed: int
) -> None:
    X, labels, _, X_val, labels_val, _ = draw(seed, n=40, m=15, p=1)
    members = near_optimal_set(estimator, X, labels, epsilon=epsilon)
    assert isinstance(members, SmoothSet)
    worst, best = members.worst(X_val, labels_val), members.best(X_val, labels_val)
    most = members.worst(X_val, labels_val, "zero_one")
    ranges = members.score_range(X_val)
    y = np.where(labels_val == "b", 1.0, -1.0)
    spread = np.linspace(-1.5, 1.5, 201)
    coef, intercept = members.trained.coef[0], members.trained.intercept
    inside = [
        model
        for dw in spread
        for db in spread
        if members.contains(model := Linear(np.array([coef + dw]), intercept + db))
    ]
    assert len(inside) > 20
    scores = np.array([model.decision_function(X_val) for model in inside])
    losses = members.loss.value(y * scores).mean(axis=1)
    assert losses.max() <= worst.upper_bound
    assert losses.min() >= best.lower_bound
    assert losses.max() <= worst.value + 1e-3
    assert losses.min() >= best.value - 1e-6
    assert (y * scores < 0.0).mean(axis=1).max() <= most.upper_bound + 1e-12
    assert (ranges.low <= scores.min(axis=0)).all()
    assert (ranges.high >= scores.max(axis=0)).all()
    for model in (worst.model, best.model, most.model, *members.sample(5, 0), *ranges.models):
        assert members.contains(model)


def test_score_ranges_hold_those_of_a_convex_program() -> None:
    X, labels, _, X_val, *_ = draw(5, n=40, m=6, p=2)
    members = near_optimal_set(LogisticRegression(C=1.0), X, labels, epsilon=0.05)
    ranges = members.score_range(X_val)
    y = np.where(labels == "b", 1.0, -1.0)
    w, b = cp.Variable(2), cp.Variable()
    margins = cp.multiply(y, X @ w + b)
    trained = cp.sum(cp.logistic(-margins)) / 40 + cp.sum_squares(w) / 80
    for k, x in enumerate(X_val):
        for side, end, found in (
            (1.0, ranges.high[k], max),
            (-1.0, ranges.low[k], min),
        ):
            program = cp.Problem(cp.Maximize(side * (x @ w + b)), [trained <= members.limit])
            program.solve(solver="CLARABEL")
            truth = side * program.value
            assert side * end >= side * truth - 1e-6
            attained = found(model.decision_function(x[None])[0] for model in ranges.models)
            assert side * attained <= side * truth + 1e-6
            assert side * attained >= 0.9 * side * truth if side * truth > 0.5 else True


def test_other_losses_may_judge() -> None:
    X, labels, _, X_val, labels_val, _ = draw(2)
    members = near_optimal_set(LogisticRegression(C=0.1), X, labels, epsilon=0.01)
    worst = members.worst(X_val, labels_val, "squared_hinge")
    assert worst.value <= worst.upper_bound
    with pytest.raises(InvalidInputError, match="loss is Hinge; pass a smooth loss"):
        members.worst(X_val, labels_val, "hinge")
    with pytest.raises(InvalidInputError, match="a regression makes none"):
        near_optimal_set(Ridge(), X, np.arange(60.0)).worst(X_val, np.arange(30.0), "zero_one")


@pytest.mark.parametrize(
    ("estimator", "words"),
    [
        (Ridge(positive=True), "positive=True"),
        (LogisticRegression(l1_ratio=1.5, solver="saga"), "l1_ratio=1.5"),
        (LogisticRegression(class_weight={"a": 1.0, "c": 2.0}), "class_weight for 'c'"),
        (LinearSVC(loss="hinge"), "loss='hinge'"),
        (LinearSVC(penalty="l1"), "penalty='l1'"),
        (LogisticRegression(C=0.0), "C=0.0; pass a positive number"),
        (LinearSVC(C=float("nan")), "C=nan; pass a positive number"),
        (LinearSVC(intercept_scaling=-1.0), "intercept_scaling=-1.0; pass a positive number"),
        (Ridge(-1.0), "alpha=-1.0; pass a finite number that is not negative"),
    ],
)
def test_what_is_not_known_is_refused_by_name(estimator: Any, words: str) -> None:
    X, labels, targets, *_ = draw(0)
    with pytest.raises(InvalidInputError, match=words):
        near_optimal_set(estimator, X, targets if isinstance(estimator, Ridge) else labels)


def test_three_classes_and_weights_that_cannot_be_are_refused() -> None:
    X, labels, *_ = draw(0)
    three = np.where(np.arange(60) % 3 == 0, "c", labels)
    with pytest.raises(InvalidInputError, match="y has 3 classes"):
        near_optimal_set(LogisticRegression(), X, three)
    for weight, words in (([1.0], "shape"), (np.zeros(60), "sum 0"), (-np.ones(60), "minimum -1")):
        with pytest.raises(InvalidInputError, match=words):
            near_optimal_set(LogisticRegression(), X, labels, sample_weight=weight)


def test_columns_that_depend_on_each_other_need_a_penalty() -> None:
    X, _, targets, X_val, _, targets_val = draw(0)
    twice, twice_val = np.column_stack([X, X[:, 0]]), np.column_stack([X_val, X_val[:, 0]])
    with pytest.raises(SolverError, match="flat in some direction"):
        near_optimal_set(LinearRegression(), twice, targets)
    assert (
        near_optimal_set(Ridge(1.0), twice, targets, epsilon=0.1)
        .worst(twice_val, targets_val)
        .proved
    )


@pytest.mark.parametrize("apart", [1e-4, 1e-6])
@pytest.mark.parametrize("seed", range(4))
def test_columns_that_nearly_depend_on_each_other_leave_bounds_valid(
    apart: float, seed: int
) -> None:
    X, _, y, X_val, _, y_val = draw(seed, n=20, m=4)
    # The same models, of columns of which one is nearly another.
    mixed = np.array([[1.0, 0.0, 1.0], [0.0, 1.0, 0.0], [0.0, 0.0, apart]])
    members = near_optimal_set(LinearRegression(), X @ mixed, y, epsilon=0.1)
    ones, ones_val = np.column_stack([X, np.ones(20)]), np.column_stack([X_val, np.ones(4)])
    trained, squares, *_ = np.linalg.lstsq(ones, y)
    spread = np.linalg.norm(np.linalg.solve(np.linalg.cholesky(ones.T @ ones), ones_val.T), axis=0)
    middle, half = ones_val @ trained, np.sqrt(0.1 * squares[0]) * spread
    scores = members.score_range(X_val @ mixed)
    assert np.all(scores.low <= middle - half + 1e-8)
    assert np.all(scores.high >= middle + half - 1e-8)
    width = 2.0 * half[scores.exact]
    assert (scores.high - scores.low)[scores.exact] == pytest.approx(width, abs=1e-5)
    best, worst = (ask(X_val @ mixed, y_val) for ask in (members.best, members.worst))
    for extreme in (best, worst):
        residuals = X @ (mixed @ extreme.coef) + extreme.intercept - y
        assert residuals @ residuals <= 1.1 * squares[0] * (1.0 + 1e-9)
    u = cp.Variable(4)
    budget = [cp.norm(ones @ u - y) <= np.sqrt(1.1 * squares[0])]
    least = cp.Problem(cp.Minimize(cp.sum_squares(ones_val @ u - y_val) / 4.0), budget).solve(
        solver=cp.CLARABEL
    )
    assert best.lower_bound <= least + 1e-7
    assert best.value >= least - 1e-7


def test_a_loss_of_nothing_is_not_negative() -> None:
    rng = np.random.default_rng(0)
    X, y, X_val = rng.normal(size=(6, 3)), 1e6 * rng.normal(size=6), rng.normal(size=(2, 3))
    y_val = X_val.sum(axis=1) * 1e6
    best = near_optimal_set(Ridge(1.0), X, y, epsilon=10.0).best(X_val, y_val)
    residuals = X_val @ best.coef + best.intercept - y_val
    assert best.value == pytest.approx(residuals @ residuals / 2.0, rel=1e-9, abs=1e-15)
    assert best.value >= 0.0


def test_a_row_of_zeros_scores_the_same_for_all_members() -> None:
    X, _, targets, *_ = draw(0)
    members = near_optimal_set(Ridge(1.0, fit_intercept=False), X, targets, epsilon=0.1)
    scores = members.score_range(np.zeros((1, 3)))
    assert (scores.low[0], scores.high[0], scores.exact[0]) == (0.0, 0.0, True)


def test_a_budget_far_above_the_least_loss_has_bounds() -> None:
    X, labels, _, X_val, labels_val, _ = draw(0, p=1, m=5)
    members = near_optimal_set(LogisticRegression(), X, labels, epsilon=1e5)
    worst = members.worst(X_val, labels_val, node_limit=5)
    assert members.train_loss(worst.model) <= members.limit
    # A member of a grid along the intercept, which has no penalty.
    signs = np.where(labels == "b", 1.0, -1.0)
    shift = members.limit / 2.0
    member = Linear(np.zeros(1), shift)
    assert np.logaddexp(0.0, -signs * shift).mean() <= members.limit
    assert members.contains(member)
    signs_val = np.where(labels_val == "b", 1.0, -1.0)
    assert np.logaddexp(0.0, -signs_val * shift).mean() <= worst.upper_bound < np.inf


def test_a_set_within_rounding_of_one_model_is_not_divided(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def divided(*_: Any) -> Any:
        raise AssertionError("the set was divided")

    monkeypatch.setattr("pessimal.near_optimal.smooth.worst_case.branch", divided)
    X, labels, _, X_val, labels_val, _ = draw(0)
    worst = near_optimal_set(LogisticRegression(), X, labels).worst(X_val, labels_val)
    assert worst.upper_bound == pytest.approx(worst.value, abs=1e-4)


def test_blocks_without_rows_change_nothing() -> None:
    X, labels, _, X_val, labels_val, _ = draw(0)
    blocks: Any = [(X[:0], labels[:0]), (X[:25], labels[:25]), (X[25:25], labels[25:25])]
    blocks.append((X[25:], labels[25:]))
    no_labels: Any = None
    worst = near_optimal_set(LogisticRegression(), blocks, no_labels, epsilon=0.01).worst(
        X_val, labels_val
    )
    whole = near_optimal_set(LogisticRegression(), X, labels, epsilon=0.01).worst(X_val, labels_val)
    assert worst.value == pytest.approx(whole.value, rel=1e-9)
    assert worst.upper_bound == pytest.approx(whole.upper_bound, rel=1e-6)


def test_no_share_of_points_is_above_1() -> None:
    rng = np.random.default_rng(0)
    X, X_val = rng.normal(size=(40, 3)), rng.normal(size=(49, 3))
    y = np.where(rng.random(40) > 0.5, 1, -1)
    members = near_optimal_set(LogisticRegression(C=100.0), X, y, epsilon=3.0)
    worst = members.worst(X_val, np.where(X_val[:, 0] > 0.0, 1, -1), loss="zero_one")
    assert worst.upper_bound <= 1.0


def test_classes_that_can_be_told_apart_need_a_penalty() -> None:
    X, *_ = draw(0)
    with pytest.raises(SolverError, match="penalise squares"):
        near_optimal_set(LogisticRegression(C=np.inf), X, X[:, 0] > 0.5, epsilon=0.1)


def test_a_class_without_weight_is_refused() -> None:
    X, labels, *_ = draw(0)
    with pytest.raises(InvalidInputError, match="0 for all rows of class 'b'"):
        near_optimal_set(
            LogisticRegression(), X, labels, sample_weight=np.where(labels == "a", 1.0, 0.0)
        )


def test_a_frame_with_other_columns_is_refused() -> None:
    X, labels, _, X_val, labels_val, _ = draw(0)
    members = near_optimal_set(LogisticRegression(), pd.DataFrame(X, columns=list("pqr")), labels)
    swapped = pd.DataFrame(X_val, columns=list("qpr"))
    for ask in (
        lambda: members.worst(swapped, labels_val),
        lambda: members.best(swapped, labels_val),
        lambda: members.score_range(swapped),
    ):
        with pytest.raises(InvalidInputError, match="in their order: p, q, r"):
            ask()
    assert (
        members.worst(X_val, labels_val).value
        == members.worst(pd.DataFrame(X_val, columns=list("pqr")), labels_val).value
    )


def test_what_is_no_budget_size_limit_or_model_is_refused() -> None:
    X, labels, *_ = draw(0)
    members = near_optimal_set(LogisticRegression(), X, labels, epsilon=0.1)
    with pytest.raises(InvalidInputError, match=r"budget is 0\.1; pass a Budget"):
        members.with_budget(0.1)  # type: ignore[arg-type]
    for n in (1.5, 0, True):
        with pytest.raises(InvalidInputError, match=f"n is {n}; pass a positive whole number"):
            members.sample(n)  # type: ignore[arg-type]
    with pytest.raises(InvalidInputError, match="node_limit is -1"):
        members.worst(X, labels, node_limit=-1)
    with pytest.raises(InvalidInputError, match="model is a dict"):
        members.contains({})
    assert members.contains(LogisticRegression(**EXACT).fit(X, labels))
    assert not members.contains(LogisticRegression(C=1e-6, **EXACT).fit(X, labels))


def test_rows_without_weight_have_no_say_in_units() -> None:
    X, labels, *_ = draw(0)
    usual = near_optimal_set(LogisticRegression(), X, labels, epsilon=0.05)
    far = np.vstack([X, np.full((1, 3), 1e12)])
    labels_far, weight = np.append(labels, "a"), np.append(np.ones(60), 0.0)
    same = near_optimal_set(
        LogisticRegression(), far, labels_far, epsilon=0.05, sample_weight=weight
    )
    assert same.trained.value == pytest.approx(usual.trained.value, rel=1e-9)
    assert same.worst(X, labels).value == pytest.approx(usual.worst(X, labels).value, rel=1e-6)


@pytest.mark.parametrize("l1_ratio", [0.0, 1.0])
@pytest.mark.parametrize("rare", ["class", "column"])
def test_what_few_rows_have_may_be_missing_where_training_begins(
    rare: str, l1_ratio: float
) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20_001, 2))
    y = np.zeros(len(X), int)
    # Training begins with every fourth row.
    if rare == "class":
        y[[1, 6, 11]] = 1
    else:
        X[:, 1], y[X[:, 0] + rng.logistic(size=len(X)) > 0.0] = 0.0, 1
        X[[1, 6, 11], 1], y[[1, 6, 11]] = 1.0, [0, 1, 1]
    estimator = LogisticRegression(l1_ratio=l1_ratio, solver="saga")
    trained = near_optimal_set(estimator, X, y, epsilon=0.01).trained
    assert trained.upper_bound - trained.lower_bound <= 1e-9 * trained.value


def test_models_of_score_ranges_are_members_with_a_large_budget() -> None:
    for seed in (0, 3, 8):
        rng = np.random.default_rng(seed)
        X = rng.integers(-3, 4, size=(40, 5)).astype(float)
        y = (rng.random(40) < 0.6).astype(int)
        rows = rng.integers(-3, 4, size=(12, 5)).astype(float)
        members = near_optimal_set(LogisticRegression(C=0.1), X, y, epsilon=10.0)
        ranges = members.score_range(rows)
        assert all(members.contains(model) for model in ranges.models)
        scores = np.array([model.decision_function(rows) for model in ranges.models])
        attained = (scores.max(axis=0) >= ranges.high - 1e-5 * np.abs(ranges.high)) & (
            scores.min(axis=0) <= ranges.low + 1e-5 * np.abs(ranges.low)
        )
        assert not (ranges.exact & ~attained).any()


def test_ranges_of_small_scores_are_exact_only_where_they_are_attained() -> None:
    X, _, targets, X_val, *_ = draw(0)
    for scale in (1e-8, 1.0, 1e8):
        ranges = near_optimal_set(Lasso(0.1 * scale), X, scale * targets, epsilon=0.05).score_range(
            X_val
        )
        scores = np.array([model.decision_function(X_val) for model in ranges.models])
        missed = np.maximum(scores.min(axis=0) - ranges.low, ranges.high - scores.max(axis=0))
        assert not (ranges.exact & (missed > 1e-5 * (ranges.high - ranges.low))).any()


def test_out_of_time_scores_of_a_ridge_are_bounded_and_no_member_is_sought(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rng = np.random.default_rng(7)
    X, y = rng.standard_normal((30, 3)), rng.standard_normal(30)
    members = near_optimal_set(Ridge(), X, y, epsilon=0.1)
    exact = members.score_range(X)
    assert exact.exact.all()
    monkeypatch.setattr(Members, "boundary", lambda *_: pytest.fail("time is up"))
    coarse = members.score_range(X, time_limit=Deadline.after(-1.0))
    assert not coarse.exact.any()
    assert (coarse.low <= exact.low + 1e-9).all()
    assert (coarse.high >= exact.high - 1e-9).all()


def test_the_gap_of_a_small_budget_is_that_of_rounding() -> None:
    rng = np.random.default_rng(0)
    X, X_val = rng.normal(size=(40, 6)), rng.normal(size=(20, 6))
    y, y_val = rng.normal(size=40), rng.normal(size=20)
    worst = near_optimal_set(Ridge(), X, y, epsilon=1e-4).worst(X_val, y_val)
    assert 0.0 <= worst.upper_bound - worst.value <= 1e-9 * worst.value


def test_where_residuals_are_rounding_nothing_is_said_to_be_exact() -> None:
    rng = np.random.default_rng(0)
    X, X_val = rng.normal(size=(30, 3)), rng.normal(size=(20, 3))
    y, y_val = 1e3 * X.sum(axis=1), 1e3 * X_val.sum(axis=1)
    y = y + 1e-12 * rng.normal(size=30)  # less than the digits of y can say
    members = near_optimal_set(LinearRegression(), X, y, epsilon=0.1)
    worst = members.worst(X_val, y_val)
    # Of two models that differ by rounding both may be members: each is within the bound.
    for change in 1e-16 * 1e3 * rng.normal(size=(50, 3)):
        score = X_val @ (worst.coef + change) + worst.intercept
        assert np.square(score - y_val).mean() <= worst.upper_bound


@pytest.mark.parametrize("seed", [9, 11, 23, 27, 37])
def test_the_worst_loss_of_a_single_point_is_that_of_its_least_margin(seed: int) -> None:
    # At some of these points the trained model has no loss and no slope to follow.
    rng = np.random.default_rng(seed)
    n, p = int(rng.integers(15, 50)), int(rng.integers(1, 4))
    X = rng.normal(size=(n, p))
    y = (X[:, 0] + 0.2 * rng.logistic(size=n) > 0.0).astype(int)
    y[:2] = [0, 1]
    C, epsilon = float(10 ** rng.uniform(-1, 4)), float(rng.choice([0.05, 0.5, 2, 5]))
    x = rng.normal(size=(1, p)) * 10 ** rng.uniform(0, 2)
    label = int(rng.integers(0, 2))
    members = near_optimal_set(LinearSVC(C=C), X, y, epsilon=epsilon)
    scores = members.score_range(x)
    assert scores.exact.all()
    margin = scores.low[0] if label else -scores.high[0]
    worst = members.worst(x, [label], node_limit=1)
    assert worst.value == pytest.approx(max(0.0, 1.0 - margin) ** 2, rel=1e-4)
