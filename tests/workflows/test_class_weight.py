"""Classes that weigh the same in training, from the table to what is told."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from command import run_command
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

from pessimal.tabular import read_source, with_labels
from pessimal.workflows import SearchSettings, audit_table, search_table


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


@pytest.mark.parametrize("command", ["tune", "audit"])
def test_a_box_has_no_class_weights(command: str, data: Path) -> None:
    words = ("--target", "state", "--model", "svc-box", "--class-weight", "balanced")
    refused = run_command(command, data, *words)
    assert refused.code == 2
    assert "--class-weight belongs to other models" in " ".join(refused.err.split())
