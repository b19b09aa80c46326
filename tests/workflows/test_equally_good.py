"""A model file keeps what bounds equally good models, and refuses what does not."""

from __future__ import annotations

import copy
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer

from pessimal.errors import InvalidInputError
from pessimal.near_optimal.polyhedral.enclosure import BoxEnclosure
from pessimal.tabular import read_source, with_labels
from pessimal.workflows import (
    SearchSettings,
    Settings,
    TunedModel,
    read_model,
    search_table,
    tune_table,
    write_model,
)

FRAME = pd.DataFrame(
    load_breast_cancer().data[:, :4], columns=["radius", "texture", "perimeter", "area"]
).assign(kind=np.where(load_breast_cancer().target == 1, "benign", "malign"))


@pytest.fixture(scope="module", params=["logistic", "svc-box"])
def tuned(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> TunedModel:
    path = tmp_path_factory.mktemp("table") / "tumours.csv"
    FRAME.to_csv(path, index=False)
    table = with_labels(read_source(str(path)), "kind")
    if request.param == "svc-box":
        return tune_table(table, Settings(test_size=0.9, time_limit=3.0)).model
    model = search_table(table, SearchSettings(test_size=0.7, time_limit=60.0)).model
    assert model is not None
    return model


def content(model: TunedModel, folder: Path) -> dict[str, Any]:
    write_model(model, folder / "model.json")
    loaded: dict[str, Any] = json.loads((folder / "model.json").read_text("utf-8"))
    return loaded


def test_a_file_predicts_what_the_model_does(tuned: TunedModel, tmp_path: Path) -> None:
    write_model(tuned, tmp_path / "model.json")
    pd.testing.assert_frame_equal(
        read_model(tmp_path / "model.json").predict(FRAME), tuned.predict(FRAME)
    )


def test_the_model_itself_is_within_its_ranges_and_classes_agree(tuned: TunedModel) -> None:
    said = tuned.predict(FRAME)
    slack = 1e-6
    assert np.all((said["low"] <= said["score"] + slack) & (said["score"] <= said["high"] + slack))
    assert {"yes", "no"} <= set(said["agreement"]) <= {"yes", "no", "not known"}
    agree = said[said["agreement"] == "yes"]
    assert np.all((agree["low"] > 0.0) | (agree["high"] <= 0.0))


def test_no_training_row_is_in_the_file(tuned: TunedModel, tmp_path: Path) -> None:
    numbers = set(_numbers(content(tuned, tmp_path)["equally_good"]))
    for row in FRAME.drop(columns="kind").to_numpy():
        assert not numbers.issuperset(row.tolist())


def test_a_row_with_a_missing_cell_has_no_range(tuned: TunedModel) -> None:
    said = tuned.predict(FRAME.assign(area=[None, *FRAME["area"][1:]]))
    assert said.loc[0].isna().all()
    assert said.loc[1:, ["low", "high"]].notna().all(axis=None)


def test_a_file_of_an_earlier_version_still_predicts(tuned: TunedModel, tmp_path: Path) -> None:
    older = content(tuned, tmp_path)
    del older["equally_good"]
    (tmp_path / "older.json").write_text(json.dumps(older), "utf-8")
    said = read_model(tmp_path / "older.json").predict(FRAME)
    assert set(said["agreement"]) == {"not known"}
    assert said["score"].tolist() == tuned.predict(FRAME)["score"].tolist()


def test_whatever_is_missing_or_of_another_kind_is_refused(
    tuned: TunedModel, tmp_path: Path
) -> None:
    whole = content(tuned, tmp_path)
    for name in whole["equally_good"]:
        values: list[Any] = [None, "1", [], {}, 1.0, [1.0], [["a"]]]
        for wrong in values:
            changed = copy.deepcopy(whole)
            changed["equally_good"][name] = wrong
            assert "is not a model file" in _refusal(changed, tmp_path)
        changed = copy.deepcopy(whole)
        del changed["equally_good"][name]
        assert "is not a model file" in _refusal(changed, tmp_path)


def test_numbers_that_bound_nothing_are_refused(tuned: TunedModel, tmp_path: Path) -> None:
    whole = content(tuned, tmp_path)
    inside = whole["equally_good"]
    if isinstance(tuned.equally_good, BoxEnclosure):
        inside["low"][0] = inside["high"][0] + 1.0
        assert "ends before it begins" in _refusal(whole, tmp_path)
    else:
        inside["outer"]["curvature"][0] = -1.0
        assert "not that of an ellipsoid" in _refusal(whole, tmp_path)


def test_a_model_without_them_writes_none(tuned: TunedModel, tmp_path: Path) -> None:
    assert "equally_good" not in content(replace(tuned, equally_good=None), tmp_path)


def _refusal(changed: Any, folder: Path) -> str:
    (folder / "changed.json").write_text(json.dumps(changed), "utf-8")
    with pytest.raises(InvalidInputError) as caught:
        read_model(folder / "changed.json")
    return str(caught.value)


def _numbers(value: Any) -> list[float]:
    if isinstance(value, dict):
        return [x for item in value.values() for x in _numbers(item)]
    if isinstance(value, list):
        return [x for item in value for x in _numbers(item)]
    return [value] if isinstance(value, float) else []
