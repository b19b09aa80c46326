"""Classes that weigh the same in training, from the table to what is told."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from command import run_command
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import balanced_accuracy_score
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from pessimal import audit_estimator
from pessimal.report.answer import answer
from pessimal.report.search_page import first_screen
from pessimal.tabular import draw_rows, read_source, with_labels
from pessimal.workflows import SearchSettings, audit_table, search_table
from pessimal.workflows.table_tuning import Comparison, InClass
from pessimal.workflows.words import comparison_table


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 2))
    ill = X[:, 0] + rng.normal(size=200) > 1.8
    path = tmp_path_factory.mktemp("rare") / "rare.csv"
    pd.DataFrame(X, columns=["a", "b"]).assign(state=np.where(ill, "ill", "well")).to_csv(
        path, index=False
    )
    return path


def test_the_audited_model_is_that_of_scikit_learn_with_balanced_classes(data: Path) -> None:
    table = with_labels(read_source(str(data)), "state")
    report = audit_table(table, class_weight="balanced", time_limit=1.0)
    frame = pd.read_csv(data)
    signs = np.where(frame["state"] == "well", 1.0, -1.0)
    X, _, y, _ = train_test_split(
        frame[["a", "b"]], signs, test_size=0.5, stratify=signs, random_state=0
    )
    model = LogisticRegression(class_weight="balanced").fit(StandardScaler().fit_transform(X), y)
    np.testing.assert_allclose(report.reference.coef, model.coef_[0], atol=1e-3)
    told = [note for note in report.notes if note.startswith("Class ill has")]
    assert told == [
        f"Class ill has {np.mean(frame['state'] == 'ill'):.1%} of the rows; both classes weigh the "
        "same in training (--class-weight balanced)."
    ]


def test_no_option_is_named_that_a_box_does_not_take(data: Path) -> None:
    table = with_labels(read_source(str(data)), "state")
    notes = audit_table(table, box=1.0, time_limit=1.0).notes
    told = [note for note in notes if note.startswith("Class ill has")]
    assert len(told) == 1
    assert told[0].endswith("of the rows; every row weighs the same in training.")


def test_the_default_is_told_and_the_search_weighs_classes(data: Path) -> None:
    table = with_labels(read_source(str(data)), "state")
    plain = search_table(table, SearchSettings(model="ridge", time_limit=3.0))
    assert any("every row weighs the same in training" in note for note in plain.notes)
    weighed = search_table(
        table, SearchSettings(model="ridge", class_weight="balanced", time_limit=3.0)
    )
    assert weighed.search.best_estimator_[-1].class_weight == "balanced"
    assert weighed.model is not None
    assert weighed.model.facts["class_weight"] == "balanced"
    assert weighed.model.equally_good is not None


def test_balanced_classes_are_judged_by_the_share_right_of_each(data: Path) -> None:
    table = with_labels(read_source(str(data)), "state")
    settings = SearchSettings(class_weight="balanced", test_size=0.5, time_limit=5.0)
    run = search_table(table, settings)
    kept, held = draw_rows(table, 0.5, 0)
    X, y = table.columns.to_numpy(), table.y
    best = run.search.best_estimator_.predict(table.columns.iloc[held])
    plain = make_pipeline(StandardScaler(), LogisticRegression(class_weight="balanced"))
    theirs = plain.fit(X[kept], y[kept]).predict(X[held])
    ill, well = (y[held] < 0.0), (y[held] > 0.0)
    right = best == y[held]
    # By rows right, to say the same of every row would be better.
    assert right.sum() < well.sum()
    shown = first_screen(run)
    assert "Do not use" not in shown.do
    assert (
        f"Of {well.sum()} “well” and {ill.sum()} “ill” held-out rows the model is right on "
        f"{right[well].sum()} and {right[ill].sum()}: "
        f"{balanced_accuracy_score(y[held], best):.0%} of a class on average."
    ) in shown.do
    bars = {bar.name: bar for bar in shown.groups[0].bars}
    logistic = bars["plain logistic regression, balanced as well"]
    assert logistic.value == pytest.approx(balanced_accuracy_score(y[held], theirs))
    assert bars["always “well”"].words == "50%"
    fewest = bars["the fewest “ill” right of an equally good model found"]
    assert fewest.value <= right[ill].mean()
    assert fewest.bound is not None
    assert fewest.bound <= fewest.value
    assert run.comparison is not None
    *_, last = comparison_table(run.comparison)
    assert last[1:] == tuple(
        f"{balanced_accuracy_score(y[held], said):.1%}" for said in (best, theirs)
    )


def test_a_balanced_model_that_is_no_better_than_one_answer_is_not_to_be_used() -> None:
    rng = np.random.default_rng(1)
    X, rare = rng.normal(size=(120, 2)), np.arange(120) % 6 == 0
    model = LogisticRegression(class_weight="balanced").fit(X[:60], rare[:60])
    far = np.where(rare[60:, None], -1.0, 1.0) * model.coef_ * 9.0  # each on the wrong side
    report = audit_estimator(model, X[:60], rare[:60], -far, rare[60:], epsilons=())
    assert "Do not use" not in answer(report, "the model").do
    report = audit_estimator(model, X[:60], rare[:60], far, rare[60:], epsilons=())
    assert answer(report, "the model").do.startswith(
        "Do not use this model: of 10 “yes” and 50 “no” validation rows it is right on 0 and 0,"
    )


@pytest.mark.parametrize(("gained", "better"), [(20, True), (3, False)])
def test_logistic_regression_is_preferred_by_what_it_gains_in_the_rare_class(
    gained: int, better: bool
) -> None:
    rng = np.random.default_rng(1)
    X, rare = rng.normal(size=(220, 2)), np.arange(220) % 11 == 0
    X[rare] += 1.0
    model = LogisticRegression(class_weight="balanced").fit(X, rare)
    report = audit_estimator(model, X, rare, X, rare, epsilons=(), time_limit=1.0)
    # It has 15 rows of 200 fewer right, and some of 20 more: 3 of 20 are a matter of luck.
    often, few = InClass(200, 150, 135, 15, 0), InClass(20, 0, gained, 0, gained)
    beside = Comparison(220, 150, 135 + gained, 15, gained, 200, (often, few), balanced=True)
    do = answer(report, "the model", beside=beside).do
    assert do.startswith("Take plain logistic regression instead, balanced as well") == better


@pytest.mark.parametrize("command", ["tune", "audit"])
def test_a_box_has_no_class_weights(command: str, data: Path) -> None:
    words = ("--target", "state", "--model", "svc-box", "--class-weight", "balanced")
    refused = run_command(command, data, *words)
    assert refused.code == 2
    assert "--class-weight belongs to other models" in " ".join(refused.err.split())
