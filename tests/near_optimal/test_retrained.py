"""The near-optimal set of any estimator: members by definition, never beyond what is proved."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import load_iris, make_classification
from sklearn.ensemble import (
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    RandomForestClassifier,
)
from sklearn.linear_model import HuberRegressor, LogisticRegression, Ridge
from sklearn.metrics import hinge_loss, log_loss, mean_squared_error, zero_one_loss
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from pessimal import Budget, near_optimal_set
from pessimal.errors import InvalidInputError
from pessimal.limits import AT_ONCE, Deadline
from pessimal.near_optimal import Linear
from pessimal.near_optimal.pipeline import PipelineSet
from pessimal.near_optimal.retrained.refitting import Refitting
from pessimal.near_optimal.retrained.retrained_set import RetrainedSet
from pessimal.near_optimal.smooth.smooth_set import SmoothSet

SHARE = 0.9
"""Of the proved worst excess over the fit, found in the median."""


def drawn(seed: int, n: int = 80, m: int = 40, p: int = 3) -> tuple[Any, Any, Any, Any]:
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n + m, p))
    y = (X @ rng.standard_normal(p) + rng.logistic(size=n + m) > 0.0).astype(int)
    y[:2] = 0, 1
    return X[:n], y[:n], X[n:], y[n:]


def numbers(seed: int) -> tuple[Any, Any, Any, Any]:
    X, _, X_val, _ = drawn(seed)
    rng = np.random.default_rng(seed)
    y, y_val = (np.sin(2.0 * Z[:, 0]) + 0.3 * rng.standard_normal(len(Z)) for Z in (X, X_val))
    return X, y, X_val, y_val


def test_nothing_is_found_beyond_what_is_proved_and_most_of_it_is_found() -> None:
    shares = []
    for seed in range(9):
        X, y, X_val, y_val = drawn(seed, 60, 30)
        epsilon, C = (0.01, 0.05, 0.2)[seed % 3], (0.03, 0.3, 3.0)[seed // 3 % 3]
        estimator = LogisticRegression(C=C, tol=1e-8, max_iter=1000)
        proved = near_optimal_set(estimator, X, y, epsilon=epsilon)
        worst = proved.worst(X_val, y_val, time_limit=AT_ONCE)

        def objective(model: Any, members: Any = proved) -> float:
            loss: float = members.train_loss(Linear(model.coef_[0], float(model.intercept_[0])))
            return loss

        members = RetrainedSet(estimator, X, y, Budget(epsilon, 0.0), training_loss=objective)
        found = members.worst(X_val, y_val)
        assert found.value <= worst.upper_bound * (1.0 + 1e-6)
        fit = log_loss(y_val, estimator.fit(X, y).predict_proba(X_val))
        shares.append((found.value - fit) / (worst.value - fit))
    assert np.median(shares) > SHARE


@pytest.mark.parametrize(
    "estimator",
    [
        DecisionTreeClassifier(max_depth=2, random_state=0),
        GradientBoostingClassifier(n_estimators=5, max_depth=1, random_state=0),
        GaussianNB(),
        KNeighborsClassifier(15),
        SVC(C=0.1),
    ],
    ids=lambda estimator: type(estimator).__name__,
)
def test_a_worst_model_is_a_fit_within_the_budget(estimator: Any) -> None:
    X, y, X_val, y_val = drawn(0)
    members = near_optimal_set(estimator, X, y, epsilon=0.1)
    assert isinstance(members, RetrainedSet)
    worst = members.worst(X_val, y_val, node_limit=25)

    def loss(model: Any, X: Any, y: Any) -> float:
        if hasattr(model, "predict_proba"):
            return float(log_loss(y, model.predict_proba(X)))
        return float(hinge_loss(y, model.decision_function(X)))

    trained = estimator.fit(X, y)
    assert worst.value == pytest.approx(loss(worst.model, X_val, y_val), rel=1e-6)
    assert loss(worst.model, X, y) <= 1.1 * loss(trained, X, y) * (1.0 + 1e-6)
    assert worst.value > loss(trained, X_val, y_val)
    assert members.contains(worst.model)
    assert worst.upper_bound == np.inf
    assert not worst.proved


def test_errors_have_one_certain_bound() -> None:
    X, y, X_val, y_val = drawn(1)
    members = near_optimal_set(GaussianNB(), X, y, epsilon=0.1)
    worst = members.worst(X_val, y_val, "zero_one", node_limit=25)
    assert worst.value == zero_one_loss(y_val, worst.model.predict(X_val))
    assert (worst.upper_bound, worst.proved) == (1.0, False)
    best = members.best(X_val, y_val, "zero_one")
    assert best.value <= zero_one_loss(y_val, GaussianNB().fit(X, y).predict(X_val)) <= worst.value


def test_more_than_two_classes_are_flipped_to_the_strongest_wrong_one() -> None:
    X, y = load_iris(return_X_y=True)
    names = np.array(["setosa", "versicolor", "virginica"])[y]
    T, V = np.arange(0, 150, 2), np.arange(1, 150, 2)
    estimator = LogisticRegression(C=0.1)
    with pytest.raises(InvalidInputError, match="3 classes"):
        near_optimal_set(estimator, X[T], names[T])
    members = RetrainedSet(estimator, X[T], names[T], Budget(0.05, 0.0))
    worst = members.worst(X[V], names[V], node_limit=40)
    fit = estimator.fit(X[T], names[T])
    assert worst.value == pytest.approx(log_loss(names[V], worst.model.predict_proba(X[V])))
    assert worst.value > 1.02 * log_loss(names[V], fit.predict_proba(X[V]))
    trained = log_loss(names[T], worst.model.predict_proba(X[T]))
    assert trained <= 1.05 * log_loss(names[T], fit.predict_proba(X[T])) * (1.0 + 1e-6)


@pytest.mark.parametrize(
    "estimator",
    [HuberRegressor(), GradientBoostingRegressor(n_estimators=8, max_depth=2, random_state=0)],
    ids=lambda estimator: type(estimator).__name__,
)
def test_residuals_of_a_regressor_are_mirrored(estimator: Any) -> None:
    X, y, X_val, y_val = numbers(0)
    members = near_optimal_set(estimator, X, y, epsilon=0.1)
    worst = members.worst(X_val, y_val, node_limit=30)
    fit = estimator.fit(X, y)
    assert worst.value == pytest.approx(mean_squared_error(y_val, worst.model.predict(X_val)))
    assert worst.value > mean_squared_error(y_val, fit.predict(X_val))
    trained = mean_squared_error(y, worst.model.predict(X))
    assert trained <= 1.1 * mean_squared_error(y, fit.predict(X)) * (1.0 + 1e-6)
    with pytest.raises(InvalidInputError, match="pass 'squared'"):
        members.worst(X_val, y_val, "log")


def test_refits_of_a_ridge_stay_below_its_exact_worst_case() -> None:
    X, y, X_val, y_val = numbers(1)
    proved = near_optimal_set(Ridge(5.0), X, y, epsilon=0.1)
    exact = proved.worst(X_val, y_val)

    def objective(model: Any) -> float:
        return proved.train_loss(Linear(model.coef_, float(model.intercept_)))

    members = RetrainedSet(Ridge(5.0), X, y, Budget(0.1, 0.0), training_loss=objective)
    found = members.worst(X_val, y_val)
    fit = mean_squared_error(y_val, Ridge(5.0).fit(X, y).predict(X_val))
    assert found.value <= exact.value * (1.0 + 1e-9)
    assert found.value - fit > SHARE * (exact.value - fit)


def test_without_a_budget_the_fit_is_the_only_member() -> None:
    X, y, X_val, y_val = drawn(2)
    members = near_optimal_set(GaussianNB(), X, y)
    worst = members.worst(X_val, y_val)
    fit = GaussianNB().fit(X, y)
    assert worst.value == pytest.approx(log_loss(y_val, fit.predict_proba(X_val)), rel=1e-9)


def test_a_forest_that_learns_rows_by_heart_is_judged_by_rows_it_has_not_seen() -> None:
    X, y, X_val, y_val = drawn(3)
    forest = RandomForestClassifier(10, random_state=0)
    members = near_optimal_set(forest, X, y, epsilon=0.05)
    assert isinstance(members, RetrainedSet)
    assert members.memorises
    with pytest.warns(UserWarning, match="learns rows by heart"):
        worst = members.worst(X_val, y_val, "zero_one", node_limit=30)
    # Flipped rows it has seen it gets wrong almost all.
    assert worst.value < 0.6
    shallow = near_optimal_set(DecisionTreeClassifier(max_depth=1), X, y, epsilon=0.05)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        shallow.worst(X_val, y_val, node_limit=10)


class CountsWeights(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Takes weights, and takes them for something else."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> CountsWeights:
        self.inner_ = LogisticRegression().fit(X, y)
        self.classes_ = self.inner_.classes_
        return self

    def predict(self, X: Any) -> Any:
        return self.inner_.predict(X)

    def predict_proba(self, X: Any) -> Any:
        return self.inner_.predict_proba(X)


@pytest.mark.parametrize(
    ("estimator", "weighted"),
    [
        (LogisticRegression(), True),
        (GaussianNB(), True),
        (CountsWeights(), False),
        (KNeighborsClassifier(5), False),
    ],
    ids=lambda value: type(value).__name__,
)
def test_weights_are_used_if_they_mean_numbers_of_rows(estimator: Any, weighted: bool) -> None:
    X, y, X_val, y_val = drawn(4)
    assert Refitting.of(estimator, X, y).weighted == weighted
    members = RetrainedSet(estimator, X, y, Budget(0.1, 0.0))
    assert members.worst(X_val, y_val, node_limit=20).value > members.worst(
        X_val, y_val, time_limit=AT_ONCE
    ).value * (1.0 - 1e-12)


def test_weights_that_an_estimator_cannot_take_are_refused() -> None:
    X, y, *_ = drawn(5)
    with pytest.raises(InvalidInputError, match="KNeighborsClassifier takes none"):
        near_optimal_set(KNeighborsClassifier(), X, y, sample_weight=np.ones(len(y)))


@pytest.mark.parametrize("make", [pd.DataFrame, csr_array, np.ndarray.tolist])
def test_rows_come_in_any_container(make: Any) -> None:
    X, y, X_val, y_val = drawn(6)
    tree = DecisionTreeClassifier(max_depth=2, random_state=0)
    usual = near_optimal_set(tree, X, y, epsilon=0.1).worst(X_val, y_val, node_limit=20)
    other = near_optimal_set(tree, make(X), y, epsilon=0.1)
    assert other.worst(make(X_val), y_val, node_limit=20).value == pytest.approx(usual.value)


def test_the_steps_of_a_pipeline_stay_as_fitted_on_the_training_rows() -> None:
    X, y, X_val, y_val = drawn(7)
    X, X_val = 5.0 + 2.0 * X, 5.0 + 2.0 * X_val
    scaler = StandardScaler().fit(X)
    for last in (LogisticRegression(), DecisionTreeClassifier(max_depth=2, random_state=0)):
        members = near_optimal_set(make_pipeline(StandardScaler(), last), X, y, epsilon=0.05)
        assert isinstance(members, PipelineSet)
        assert members.proves == isinstance(members.inner, SmoothSet)
        apart = near_optimal_set(last, scaler.transform(X), y, epsilon=0.05)
        worst = members.worst(X_val, y_val, node_limit=20)
        expected = apart.worst(scaler.transform(X_val), y_val, node_limit=20)
        assert worst.value == pytest.approx(expected.value)
        assert members.contains(worst.model)
        assert len(members.sample(2)) == 2
    assert worst.model.predict(X_val).shape == y_val.shape


def test_the_kinds_with_bounds_are_asked_first() -> None:
    X, y, *_ = drawn(8)
    assert isinstance(near_optimal_set(LogisticRegression(), X, y), SmoothSet)
    assert isinstance(near_optimal_set(GaussianNB(), X, y), RetrainedSet)


def test_unknown_labels_are_refused_by_name() -> None:
    X, y, X_val, _ = drawn(9)
    with pytest.raises(InvalidInputError, match="y has the label"):
        near_optimal_set(GaussianNB(), X, y).worst(X_val, np.full(len(X_val), 7))


def test_samples_are_members() -> None:
    X, y, *_ = drawn(10)
    members = near_optimal_set(GaussianNB(), X, y, epsilon=0.1)
    sample = members.sample(4, random_state=0)
    assert len(sample) == 4
    assert all(members.contains(model) for model in sample)
    assert np.isinf(members.score_range(X).high).all()
    wider = members.with_budget(Budget(1.0, 0.0))
    assert wider.limit > members.limit


def test_out_of_time_no_other_seed_is_trained(monkeypatch: pytest.MonkeyPatch) -> None:
    fits: list[int] = []
    real = Refitting.fit

    def noted(refitting: Refitting, *rest: Any, **options: Any) -> Any:
        fits.append(options.get("seed", 0))
        return real(refitting, *rest, **options)

    monkeypatch.setattr(Refitting, "fit", noted)
    X, y = make_classification(60, random_state=0)
    forest = RandomForestClassifier(3, min_samples_leaf=5, random_state=0)
    RetrainedSet(forest, X, y, Budget(0.1), deadline=Deadline.after(-1.0))
    assert fits == [0]
    RetrainedSet(forest, X, y, Budget(0.1))
    assert fits == [0, 0, 1, 2]


def test_parameters_are_looked_at_once_and_refused_then(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = np.arange(24.0).reshape(-1, 1), np.arange(24) % 2
    checks: list[Any] = []
    check = DecisionTreeRegressor._validate_params
    monkeypatch.setattr(
        DecisionTreeRegressor, "_validate_params", lambda tree: checks.append(check(tree))
    )
    boosting = GradientBoostingClassifier(n_estimators=5, max_depth=1, random_state=0)
    members = near_optimal_set(boosting, X, y, epsilon=0.1)
    made = len(checks)
    assert made > 0  # scikit-learn does so for every tree of every fit
    members.worst(X, y, node_limit=6)
    assert len(checks) == made
    with pytest.raises(ValueError, match="'learning_rate' parameter"):
        near_optimal_set(GradientBoostingClassifier(learning_rate=-1.0), X, y, epsilon=0.1)
