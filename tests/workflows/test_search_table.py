"""Tuning a common classifier on a table agrees with scikit-learn and with plain arithmetic."""

from __future__ import annotations

import json
import math
import signal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from command import messy_file, messy_table, run_command
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score, log_loss
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from pessimal.near_optimal.retrained import retrained_set
from pessimal.tabular import Labelled, Source, draw_rows, read_source, with_labels
from pessimal.workflows import (
    SearchRun,
    SearchSettings,
    audit_table,
    models,
    read_model,
    search,
    search_table,
    search_words,
    write_model,
)
from pessimal.workflows import audit as audit_workflow
from pessimal.workflows.models import MODELS
from pessimal.workflows.table_tuning import CTRL_C_NOTE

HOUR = 3600.0


def cancer(n_rows: int = 449) -> Labelled:
    source = read_source("cancer")
    return with_labels(Source("cancer", source.frame.iloc[:n_rows], source.target), None)


@pytest.fixture(scope="module")
def run() -> SearchRun:
    return search_table(cancer(100), SearchSettings(test_size=0.2, time_limit=HOUR))


@pytest.fixture(scope="module")
def rows() -> tuple[Any, Any, Any, Any]:
    """The same rows by hand: to tune on, and held out."""
    table = cancer(100)
    kept, held = draw_rows(table, 0.2, 0)
    X = table.columns.to_numpy(dtype=float)
    return X[kept], table.y[kept], X[held], table.y[held]


def test_trained_losses_are_those_of_a_grid_search(
    run: SearchRun, rows: tuple[Any, Any, Any, Any]
) -> None:
    grid = GridSearchCV(
        make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000)),
        {"logisticregression__C": [candidate.value for candidate in run.candidates]},
        scoring="neg_log_loss",
        cv=StratifiedKFold(5, shuffle=True, random_state=0),
    ).fit(*rows[:2])
    found = [candidate.loss for candidate in run.candidates]
    np.testing.assert_allclose(found, -grid.cv_results_["mean_test_score"], rtol=1e-6)
    assert run.usual.value == grid.best_params_["logisticregression__C"]


def test_the_choice_has_the_least_proved_worst_case_and_bounds_hold(run: SearchRun) -> None:
    bounds = [candidate.worst_bound for candidate in run.candidates]
    assert all(bound is not None for bound in bounds)
    assert run.chosen.worst_bound == min(bounds)  # type: ignore[type-var]
    for candidate in run.candidates:
        assert candidate.worst_bound is not None
        assert candidate.loss <= candidate.worst_found <= candidate.worst_bound + 1e-9
    assert not run.stopped_by
    sentence = run.over_folds
    low, high = (
        float(x) for x in sentence[sentence.index("[") + 1 : sentence.index("]")].split(",")
    )
    assert low == round(run.chosen.worst_found, 4)
    assert high >= run.chosen.worst_bound - 1e-8  # type: ignore[operator]


def test_the_model_predicts_in_the_units_of_the_table_as_scikit_learn_does(
    run: SearchRun, rows: tuple[Any, Any, Any, Any], tmp_path: Path
) -> None:
    X, y, X_held, y_held = rows
    steps = make_pipeline(StandardScaler(), LogisticRegression(C=run.chosen.value, max_iter=1000))
    steps.fit(X, y)
    assert run.model is not None
    write_model(run.model, tmp_path / "model.json")
    again = read_model(tmp_path / "model.json")
    assert again == run.model
    assert (again.kind, again.box) == ("logistic", None)
    frame = pd.DataFrame(X_held, columns=list(again.encoder.feature_names))
    predicted = again.predict(frame)
    np.testing.assert_allclose(predicted["score"], steps.decision_function(X_held), rtol=1e-6)
    named = np.where(steps.predict(X_held) > 0, "malignant", "benign")
    assert predicted["prediction"].tolist() == named.tolist()
    assert run.comparison is not None
    assert run.comparison.n_right == round(accuracy_score(y_held, steps.predict(X_held)) * 20)
    assert run.comparison.n_majority == np.sum(y_held == (1.0 if np.mean(y) > 0 else -1.0))


def test_the_audit_is_of_the_final_model_on_the_held_out_rows(
    run: SearchRun, rows: tuple[Any, Any, Any, Any]
) -> None:
    X, y, X_held, y_held = rows
    steps = make_pipeline(StandardScaler(), LogisticRegression(C=run.chosen.value, max_iter=1000))
    probabilities = steps.fit(X, y).predict_proba(X_held)
    report = run.audit
    assert report is not None
    assert report.reference.loss == pytest.approx(log_loss(y_held, probabilities), rel=1e-6)
    assert (report.n_train, report.n_val) == (80, 20)
    assert report.classes == ("benign", "malignant")
    assert set(report.labels) == {"benign", "malignant"}
    assert run.guarantee == report.guarantee
    z = steps[0].transform(X_held)
    scores = z @ report.worst_loss.coef + report.worst_loss.intercept
    assert report.worst_loss.value == pytest.approx(np.logaddexp(0.0, -y_held * scores).mean())


@pytest.fixture
def few_trees(monkeypatch: pytest.MonkeyPatch) -> None:
    forest = MODELS["forest"]
    small = models.ModelKind(
        forest.title,
        lambda seed: forest.make(seed).set_params(n_estimators=3),
        forest.parameter,
        (5, 20),
        forest.loss,
        linear=False,
        n_folds=2,
    )
    monkeypatch.setitem(MODELS, "forest", small)
    monkeypatch.setattr(search, "REFITS", 4)
    monkeypatch.setattr(retrained_set, "REFITS", 4)


@pytest.mark.usefixtures("few_trees")
def test_of_a_forest_nothing_is_proved_and_nothing_is_saved(tmp_path: Path) -> None:
    data, page = tmp_path / "visits.csv", tmp_path / "page.html"
    messy_table(60).to_csv(data, index=False)
    arguments = ("tune", data, "--target", "diagnosis", "--model", "forest", "--time-limit", HOUR)
    ended = run_command(*arguments, "--report", page)
    assert ended.code == 0, ended.err
    words = " ".join(ended.out.split())
    assert "Nothing is proved." in words
    assert "A random forest is not written to a file" in words
    assert "at most" not in words.replace("training points of at most", "")
    assert 'class="proved"' not in page.read_text("utf-8")
    content = json.loads(run_command(*arguments, "--json").out)
    assert content["proves"] is False
    assert content["worst_loss_bound"] is content["held_out_worst_loss_bound"] is None
    least = min(candidate["worst_found"] for candidate in content["candidates"])
    assert content["worst_loss"] == least
    refused = run_command(*arguments, "--out", tmp_path / "model.json")
    assert refused.code == 2
    assert "--out writes linear models" in refused.err


@pytest.mark.usefixtures("few_trees")
def test_of_a_large_table_rows_are_drawn_for_a_forest(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(audit_workflow, "MOST_ROWS", 60)
    run = search_table(cancer(), SearchSettings(model="forest", test_size=0.5, time_limit=HOUR))
    assert run.n_tuned == 30
    note = "Rows drawn, since a random forest is trained hundreds of times: 60 of 449."
    assert note in run.notes
    report = audit_table(cancer(), model="forest", time_limit=HOUR)
    assert report.n_train + report.n_val == 60
    assert note in report.notes
    assert not report.proves
    ridge = SearchSettings(model="ridge", test_size=0.5, time_limit=0.1)
    assert search_table(cancer(), ridge).n_tuned == 224


@pytest.mark.parametrize("model", ["linear-svc", "ridge"])
def test_other_linear_models_are_tuned_saved_and_audited(model: str, tmp_path: Path) -> None:
    data, out = messy_file(tmp_path), tmp_path / "model.json"
    chosen = ("--target", "diagnosis", "--model", model, "--time-limit", 1)
    ended = run_command("tune", data, *chosen, "--out", out)
    assert ended.code in (0, 3), ended.err
    assert json.loads(out.read_text("utf-8"))["kind"] == model
    predicted = run_command("predict", out, data)
    assert predicted.code == 0
    lines = predicted.out.splitlines()
    assert (lines[0], len(lines)) == ("row,prediction,score,low,high,agreement", 201)
    audited = json.loads(run_command("audit", data, *chosen, "--json").out)
    assert audited["proves"] is True
    assert audited["worst_loss"]["value"] <= audited["worst_loss"]["bound"]


def test_without_held_out_rows_the_folds_give_the_guarantee() -> None:
    run = search_table(cancer(40), SearchSettings(test_size=0.0, time_limit=HOUR))
    assert run.audit is None
    assert run.comparison is None
    assert run.guarantee == run.over_folds
    assert search_words.majority(run) == []


def test_out_of_time_the_first_candidate_is_kept_and_said(tmp_path: Path) -> None:
    out = tmp_path / "model.json"
    ended = run_command("tune", "cancer", "--time-limit", "1e-6", "--out", out)
    assert ended.code == 3
    words = " ".join(ended.out.split())
    assert "The search was stopped at the time limit, and the best so far is kept" in words
    assert "candidates not reached: 6 of 7" in words
    assert "336 rows to tune on, in 5 folds" in words
    assert "Logistic regression with C = 1 is kept, the only candidate that was looked" in words
    assert "Means are over the folds it reached, 1 of 5." in words
    assert "mean over 1 fold on the rows left out" in words
    assert "The time limit was too short for what is always done" in words
    content = json.loads(out.read_text("utf-8"))
    assert "equally_good" not in content  # which takes another training
    facts = content["facts"]
    assert (facts["C"], facts["stopped_by"]) == (1.0, "time_limit")


def test_ctrl_c_keeps_the_best_candidate_so_far(monkeypatch: pytest.MonkeyPatch) -> None:
    real = search._Score.__call__

    def interrupted(score: search._Score, *arguments: Any) -> float:
        if score.done == 12:
            signal.raise_signal(signal.SIGINT)
        return real(score, *arguments)

    monkeypatch.setattr(search._Score, "__call__", interrupted)
    run = search_table(cancer(60), SearchSettings(test_size=0.2, time_limit=HOUR))
    assert run.stopped_by == "Ctrl-C"
    assert run.stopped
    reached = [not math.isnan(candidate.loss) for candidate in run.candidates]
    assert reached == [True, True, False, False, False, False, False]
    assert "is chosen of 2 looked at: " in search_words.choice(run)[0]
    assert "stopped by Ctrl-C" in search_words.search_ended(run)[0]
    assert run.audit is not None


def test_options_of_the_box_mean_the_box_and_are_refused_for_others() -> None:
    for option, value in (("--inner", "flip"), ("--view", "optimistic"), ("--delta", "0.1")):
        ended = run_command("tune", "nowhere.csv", "--model", "ridge", option, value)
        assert ended.code == 2
        assert f"{option} belongs to --model svc-box." in ended.err
    content = json.loads(
        run_command("tune", "cancer", "--test-size", "0.95", "--view", "optimistic", "--json").out
    )
    assert content["view"] == "optimistic"
    ended = run_command("audit", "nowhere.csv", "--model", "forest", "--box", "1")
    assert "--box belongs to --model svc-box." in ended.err


def test_a_model_that_says_the_same_of_every_row_is_called_so() -> None:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"x": rng.normal(size=60), "y": [0] * 50 + [1] * 10})
    settings = SearchSettings(model="ridge", test_size=0.5, time_limit=HOUR)
    run = search_table(with_labels(Source("noise", frame), "y"), settings)
    assert search_words.majority(run) == [
        "To say the more frequent class of every row is right on 25 of 30.",
        "The tuned model says no of each of these rows: it is a constant.",
    ]
    assert run.comparison is not None
    assert run.comparison.n_right == 25


def test_a_class_of_two_rows_has_two_folds() -> None:
    frame = messy_table(40)
    frame["diagnosis"] = ["ill"] * 2 + ["well"] * 38
    frame["blood pressure"] = 100.0 + np.arange(40)
    settings = SearchSettings(test_size=0.0, time_limit=HOUR)
    run = search_table(with_labels(Source("few", frame), "diagnosis"), settings)
    assert run.search.n_splits_ == 2


def test_a_file_that_names_another_kind_has_no_box(run: SearchRun, tmp_path: Path) -> None:
    assert run.model is not None
    write_model(run.model, tmp_path / "model.json")
    content = json.loads((tmp_path / "model.json").read_text("utf-8"))
    assert "box" not in content
    content["box"] = [1.0] * len(content["coef"])
    (tmp_path / "model.json").write_text(json.dumps(content), "utf-8")
    ended = run_command("predict", tmp_path / "model.json", "cancer")
    assert ended.code == 2
    assert "kind is 'logistic', which has no box" in ended.err


@pytest.mark.parametrize("step", ["compare", "enclosure_of", "audit_fitted"])
def test_ctrl_c_at_any_step_after_the_search_keeps_the_model_and_is_told(
    step: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, pressed = getattr(search, step), False

    def interrupted(*arguments: Any) -> Any:
        nonlocal pressed
        if not pressed:
            pressed = True
            signal.raise_signal(signal.SIGINT)
        return real(*arguments)

    monkeypatch.setattr(search, step, interrupted)
    settings = SearchSettings(model="ridge", test_size=0.8, time_limit=HOUR)
    run = search_table(cancer(100), settings)
    assert pressed
    assert run.stopped
    assert run.stopped_by == ""
    assert run.notes[-1] == CTRL_C_NOTE
    assert run.model is not None


@pytest.mark.parametrize("json_or_not", [("--json",), ()])
def test_ctrl_c_before_any_refit_leaves_the_worst_loss_unknown(
    json_or_not: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    real = search._Score.__call__

    def interrupted(score: search._Score, *arguments: Any) -> float:
        if score.done == 1:
            signal.raise_signal(signal.SIGINT)
        return real(score, *arguments)

    monkeypatch.setattr(search._Score, "__call__", interrupted)
    options = ("--model", "forest", "--test-size", 0.9, "--time-limit", 4, *json_or_not)
    ended = run_command("tune", "cancer", *options)
    assert ended.code == 3
    assert " nan" not in ended.out
    if json_or_not:
        assert json.loads(ended.out)["worst_loss"] is None
    else:
        assert "not known, for the search was stopped" in " ".join(ended.out.split())
