"""Baselines are scikit-learn's, on T and V together."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from pessimal.reproduction.candidates import PLAIN, SEARCHED, baselines
from pessimal.reproduction.instances import draw, tuning_problem


@pytest.mark.parametrize("n_rows", [5, 20])
def test_plain_logistic_regression_has_the_accuracy_of_scikit_learn(n_rows: int) -> None:
    split = draw("diabetes", n_train=n_rows, n_val=n_rows, seed=3)
    X, y = np.vstack([split.X_train, split.X_val]), np.append(split.y_train, split.y_val)
    expected = LogisticRegression().fit(X, y).score(split.X_test, split.y_test)
    plain = baselines(tuning_problem(split))[0]
    assert plain.accuracy(split.X_test, split.y_test) == expected


def test_each_baseline_is_there_once_and_does_better_than_chance() -> None:
    split = draw("cancer", n_train=10, n_val=10, seed=0)
    fitted = baselines(tuning_problem(split))
    assert [model.columns for model in fitted] == [{"model": name} for name in (PLAIN, *SEARCHED)]
    assert all(model.accuracy(split.X_test, split.y_test) > 0.8 for model in fitted)
