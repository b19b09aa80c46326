"""What a fitted search says of new rows: the set of its refit on all rows."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from pessimal import PessimisticSearchCV, near_optimal_set
from pessimal.errors import InvalidInputError

X, Y = load_breast_cancer(return_X_y=True)
X, Y = X[:, :5], np.where(Y == 1, "benign", "malign")
TRAIN, TEST = slice(0, 150), slice(150, 250)
GRID = {"logisticregression__C": [0.1, 1.0]}


def fitted(**options: Any) -> PessimisticSearchCV:
    model = make_pipeline(StandardScaler(), LogisticRegression())
    search = PessimisticSearchCV(model, GRID, cv=3, **options)
    search.fit(X[TRAIN], Y[TRAIN])
    return search


def test_ranges_are_those_of_the_set_of_the_best_estimator_on_all_rows() -> None:
    search = fitted(epsilon=0.05)
    members = near_optimal_set(search.best_estimator_, X[TRAIN], Y[TRAIN], epsilon=0.05)
    ours, theirs = search.predict_range(X[TEST], "probability"), members.predict_range(X[TEST])
    assert ours.agreement.tolist() == theirs.agreement.tolist()
    shares = search.predict_proba(X[TEST])[:, 1]
    assert np.all((ours.low <= shares + 1e-6) & (shares <= ours.high + 1e-6))


def test_it_abstains_where_models_disagree_also_after_a_pickle() -> None:
    search = pickle.loads(pickle.dumps(fitted(epsilon=0.05)))
    answers = search.predict(X[TEST], abstain=True)
    agree = search.predict_range(X[TEST]).agree
    assert (answers != "models disagree").tolist() == agree.tolist()
    assert 0 < agree.sum() < len(agree)
    assert answers[agree].tolist() == search.predict(X[TEST])[agree].tolist()


def test_weights_of_rows_are_those_of_the_refit() -> None:
    model = PessimisticSearchCV(LogisticRegression(max_iter=5000), {"C": [1.0]}, cv=3)
    weight = np.where(Y[TRAIN] == "malign", 5.0, 1.0)
    search = model.fit(X[TRAIN], Y[TRAIN], sample_weight=weight)
    assert search.near_optimal_set().contains(search.best_estimator_)


def test_without_a_refit_or_classes_it_says_why_not() -> None:
    with pytest.raises(InvalidInputError, match="refit is False"):
        fitted(refit=False).predict_range(X[TEST])
    ridge = PessimisticSearchCV(Ridge(), {"alpha": [1.0]}, cv=3).fit(X[TRAIN], X[TRAIN, 0])
    with pytest.raises(InvalidInputError, match="regressor has no classes"):
        ridge.predict(X[TEST], abstain=True)
