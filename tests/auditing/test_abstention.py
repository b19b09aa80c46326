"""Accuracy on rows that are answered, recomputed row by row from the members themselves."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.preprocessing import StandardScaler

from pessimal import abstention_curve, near_optimal_set
from pessimal.errors import InvalidInputError
from pessimal.problem import Budget

X, Y = load_breast_cancer(return_X_y=True)
X = StandardScaler().fit_transform(X)[:, :5]
TRAIN, TEST = slice(0, 100), slice(100, 300)


def test_the_curve_is_what_rows_give_one_by_one() -> None:
    members = near_optimal_set(LogisticRegression(), X[TRAIN], Y[TRAIN])
    curve = abstention_curve(members, X[TEST], Y[TEST], [0.05, 0.0])
    larger = members.with_budget(Budget(0.05))
    scores = members.trained.model.decision_function(X[TEST])
    right = (scores > 0.0) == (Y[TEST] == 1)
    said = larger.predict_range(X[TEST])
    agree = (said.low > 0.0) | (said.high <= 0.0)
    assert curve.epsilons.tolist() == [0.0, 0.05]
    assert curve.answered[1] == agree.mean() < 1.0
    assert curve.accuracy[1] == right[agree].mean()
    assert curve.accuracy_of_all == right.mean()
    surest = np.sort(np.abs(scores))[-agree.sum()]
    assert curve.accuracy_by_score[1] == right[np.abs(scores) >= surest].mean()
    assert curve.majority == (Y[TEST] == 1).mean()


def test_fewer_rows_are_answered_as_more_models_have_a_say() -> None:
    members = near_optimal_set(LogisticRegression(), X[TRAIN], Y[TRAIN])
    curve = abstention_curve(members, X[TEST], Y[TEST])
    assert np.all(np.diff(curve.answered) <= 0.0)
    assert curve.answered[-1] < curve.answered[0]


def test_refits_answer_where_none_was_found_to_disagree() -> None:
    forest = RandomForestClassifier(10, min_samples_leaf=3, random_state=0)
    members = near_optimal_set(forest, X[TRAIN], Y[TRAIN])
    curve = abstention_curve(members, X[TEST], Y[TEST], [0.0, 0.5])
    assert curve.answered[1] < 1.0


def test_the_picture_shows_every_epsilon() -> None:
    members = near_optimal_set(LogisticRegression(), X[TRAIN], Y[TRAIN])
    axes = abstention_curve(members, X[TEST], Y[TEST], [0.0, 0.05]).plot()
    assert {"ε = 0", "ε = 0.05"} <= {text.get_text() for text in axes.texts}


def test_a_regression_is_refused() -> None:
    members = near_optimal_set(LinearRegression(), X[TRAIN], X[TRAIN, 0] + Y[TRAIN])
    with pytest.raises(InvalidInputError, match="regressions"):
        abstention_curve(members, X[TEST], Y[TEST])
