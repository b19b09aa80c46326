"""Tuning on a table agrees with the estimators, the exact worst case and plain arithmetic."""

import signal
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from command import messy_table, run_command
from sklearn.linear_model import LogisticRegression

from pessimal import audit, worst_case
from pessimal.auditing.extremes import Extremes
from pessimal.errors import InvalidInputError
from pessimal.estimators.final import FINALS, mean
from pessimal.estimators.split_classifier import SplitClassifier
from pessimal.limits import Deadline
from pessimal.near_optimal.polyhedral.box_set import BoxSet
from pessimal.near_optimal.polyhedral.linear_program import BoxModels
from pessimal.solution import Status
from pessimal.tabular import Labelled, Source, read_source, with_labels
from pessimal.workflows import Settings, TuningRun, audit_table, tune, tune_table, words
from pessimal.workflows.table_tuning import CTRL_C_NOTE, SECONDS_AFTER_INTERRUPTION
from pessimal.workflows.tune import View


def table(name: str = "cancer") -> Labelled:
    return with_labels(read_source(name), None)


@pytest.fixture(scope="module", params=["pessimistic", "optimistic"])
def run(request: pytest.FixtureRequest) -> TuningRun:
    view: View = request.param
    return tune_table(table(), Settings(view=view, test_size=0.92))


def test_the_audit_is_of_the_tuned_box_on_the_tuning_rows(run: TuningRun) -> None:
    exact = worst_case(run.solution.problem, run.solution.box, run.solution.budget)
    assert run.audit.worst_loss.value == pytest.approx(exact.value, abs=1e-6)
    assert run.audit.best_loss.value <= run.audit.worst_loss.value
    assert run.audit.n_train == run.solution.problem.n_train
    assert run.model.guarantee == run.audit.guarantee
    assert not run.stopped


def test_the_same_worst_case_is_not_a_better_one(run: TuningRun) -> None:
    if run.ordinary is None:
        pytest.skip("ordinary tuning is not compared with itself")
    ours = run.audit.worst_loss.bound
    equal = replace(run.ordinary.worst, value=ours, lower_bound=ours, upper_bound=ours)
    told = words.what_changed(replace(run, ordinary=replace(run.ordinary, worst=equal)))
    assert "ordinary tuning is no worse, proved" in told[-1]


def test_the_comparison_counts_held_out_rows(run: TuningRun) -> None:
    comparison = run.comparison
    assert comparison is not None
    assert comparison.n_rows == 414
    used = 449 - comparison.n_rows
    assert used == run.audit.n_train + run.audit.n_val
    only = comparison.n_only - comparison.n_only_logistic
    assert comparison.n_right - comparison.n_right_logistic == only


def test_the_model_predicts_by_its_own_numbers(run: TuningRun) -> None:
    frame = read_source("cancer").frame
    predicted = run.model.predict(frame)
    scores = frame[list(run.model.encoder.feature_names)].to_numpy() @ run.model.coef
    np.testing.assert_allclose(predicted["score"], scores + run.model.intercept)
    labels = np.where(predicted["score"] > 0.0, "malignant", "benign")
    assert predicted["prediction"].tolist() == labels.tolist()
    assert (labels == frame["class"]).mean() > 0.8


def test_without_held_out_rows_there_is_no_comparison() -> None:
    frame = read_source("cancer").frame.iloc[:30]
    run = tune_table(
        with_labels(Source("some", frame), "class"), Settings(test_size=0.0, view="optimistic")
    )
    assert run.comparison is None
    assert run.audit.n_train + run.audit.n_val == 30


def test_a_tuned_box_of_zero_is_audited_too() -> None:
    # Features that say nothing: the best limits are 0, and the models left are constants.
    frame = pd.DataFrame({"x": [1.0, 2.0] * 6, "kind": ["a", "a", "b", "b"] * 3})
    run = tune_table(with_labels(Source("noise", frame), "kind"), Settings(test_size=0.0))
    assert run.model.box == (0.0,)
    assert run.audit.worst_loss.bound >= run.audit.worst_loss.value


def test_a_tuned_constant_is_called_one_by_the_name_of_its_class() -> None:
    frame = pd.DataFrame({"x": [1.0, 2.0] * 16, "ill": [0, 0, 0, 0, 0, 0, 1, 1] * 4})
    run = tune_table(with_labels(Source("noise", frame), "ill"), Settings(test_size=0.5))
    constant = replace(run, model=replace(run.model, intercept=-1.0), weights=np.zeros(1))
    told = "The tuned model says no of every row: it is a constant."
    assert words.majority(constant)[1:] == [told]


def test_out_of_time_the_run_is_usable_and_says_so() -> None:
    settings = Settings(test_size=0.85, time_limit=1e-6, epsilon=0.4)
    run = tune_table(table("diabetes"), settings)
    assert run.stopped
    assert run.solution.status is Status.TIME_LIMIT
    assert "stopped at the time limit" in words.search_ended(run)
    assert run.notes[-1].startswith("The time limit was too short for what is always done")
    assert run.audit.worst_loss.bound >= run.audit.worst_loss.value


def test_interrupting_the_audit_keeps_the_tuned_model(monkeypatch: pytest.MonkeyPatch) -> None:
    limits: list[float] = []
    real = audit

    def interrupted_once(*arguments: object, **options: object) -> object:
        limits.append(options["time_limit"])  # type: ignore[arg-type]
        if len(limits) == 1:
            raise KeyboardInterrupt
        return real(*arguments, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(tune, "audit", interrupted_once)
    run = tune_table(table(), Settings(test_size=0.95, time_limit=50.0))
    assert 0.0 < limits[0] <= 50.0  # what tuning left
    assert limits[1:] == [SECONDS_AFTER_INTERRUPTION]
    assert run.model.guarantee
    assert run.stopped  # the first was; the second had time for everything


@pytest.mark.parametrize(
    ("owner", "step"),
    [
        (BoxModels, "least"),  # first of all for the mean of models that predicts
        (SplitClassifier, "near_optimal_set"),  # for the bounds on rows to come
        (BoxSet, "enclosure"),
        (tune, "compare"),
        (LogisticRegression, "fit"),
        (Extremes, "finish"),  # the audit has ended, and its report is not made yet
    ],
)
def test_ctrl_c_at_any_step_after_the_search_keeps_the_model_and_is_told(
    owner: Any, step: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    real, pressed = getattr(owner, step), False

    def interrupted(*arguments: Any, **options: Any) -> Any:
        nonlocal pressed
        if not pressed:
            pressed = True
            signal.raise_signal(signal.SIGINT)
        return real(*arguments, **options)

    monkeypatch.setattr(owner, step, interrupted)
    out = tmp_path / "model.json"
    ended = run_command("tune", "cancer", "--view", "optimistic", "--test-size", 0.92, "--out", out)
    assert pressed
    assert ended.code == 3
    assert CTRL_C_NOTE in " ".join(ended.out.split())
    assert f"written to {out}" in ended.out.replace("\n", "")
    assert out.exists()


def test_a_final_model_that_time_cut_short_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def short(problem: Any, box: Any, budget: Any, random: Any, _deadline: Deadline) -> Any:
        return mean(problem, box, budget, random, Deadline.after(-1.0))

    monkeypatch.setitem(FINALS, "mean", short)
    run = tune_table(table(), Settings(view="optimistic", test_size=0.92))
    assert run.solution.proved
    assert run.stopped
    told = "The final model is the mean of 1 near-optimal models instead of 60: there was no time"
    assert any(note.startswith(told) for note in run.notes)


def test_medians_come_from_the_tuning_rows_alone() -> None:
    frame = messy_table()
    labelled = with_labels(Source("messy", frame), "diagnosis", ["visit date"])
    run = tune_table(labelled, Settings(test_size=0.8, missing="fill", view="optimistic"))
    [pressure] = [c for c in run.model.encoder.columns if c.name == "blood pressure"]
    used = run.audit.n_train + run.audit.n_val
    assert used == 39  # a fifth of the 197 labelled rows, none dropped
    assert pressure.fill != frame["blood pressure"].median()


def test_a_table_is_audited_around_logistic_regression_or_a_box() -> None:
    frame = messy_table(60)
    labelled = with_labels(Source("messy", frame), "diagnosis")
    around = audit_table(labelled)
    assert around.reference.name == "the audited LogisticRegression"
    assert around.best_loss.value <= around.reference.loss <= around.worst_loss.value
    boxed = audit_table(labelled, box=0.5, delta=0.05)
    assert (around.loss, around.budget.epsilon) == ("log", 0.05)
    assert boxed.box is not None
    assert boxed.box.tolist() == [0.5, 0.5, 0.5]
    assert boxed.budget.delta == 0.05
    assert "'clinic' has the same value in every row and was left out." in boxed.notes


def test_rows_too_few_to_audit_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "few.csv"
    path.write_text("x,kind\n1,a\n2,b\n", "utf-8")
    with pytest.raises(InvalidInputError, match="class 'a' has 1 complete row"):
        audit_table(with_labels(read_source(str(path)), "kind"))


@pytest.mark.parametrize(
    ("labels", "classes"),
    [
        ([0, 1], (0, 1)),
        ([0.0, 1.0], (0, 1)),
        ([0.5, 2.0], (0.5, 2)),
        ([False, True], (False, True)),
        (["no", "yes"], ("no", "yes")),
        (["0", "yes"], ("0", "yes")),
        ([0, 1.0, None], (0, 1)),
        ([False, True, None], (False, True)),
    ],
    ids=str,
)
@pytest.mark.parametrize("box", [None, 1.0])
def test_a_target_of_any_two_classes_is_audited(
    labels: list[object], classes: tuple[object, object], box: float | None
) -> None:
    n = 8 * len(labels)
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"size": rng.normal(size=n), "y": pd.Series(labels * 8, dtype=object)})
    frame["y"] = frame["y"].infer_objects()
    report = audit_table(with_labels(Source("toy", frame), "y"), box=box)
    assert report.classes == classes
    assert [type(label) for label in report.classes] == [type(label) for label in classes]
    assert set(report.labels) == set(classes)
    assert report.n_train + report.n_val == 16


def test_of_many_features_those_without_weight_share_a_line() -> None:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(24, 40)), columns=[f"f{k}" for k in range(40)])
    frame["y"] = frame["f7"] > 0.0
    run = tune_table(with_labels(Source("wide", frame), "y"), Settings(time_limit=5.0))
    lines = words.feature_table(run)
    limits = np.array(run.model.box)
    assert len(lines) == 3 + np.sum(limits > 0.0)
    assert lines[-2] == (f"{np.sum(limits == 0.0)} other features", "0.0000", "0")
