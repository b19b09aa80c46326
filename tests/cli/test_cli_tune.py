"""``tune`` and ``predict``, from a messy file to predictions, as people and programs see them."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from command import Ended, messy_file, messy_table, run_command

from pessimal import Budget, OptimisticSVC, TuningProblem
from pessimal.limits import NEVER
from pessimal.near_optimal.polyhedral.linear_program import near_optimal
from pessimal.near_optimal.polyhedral.mixed_integer import largest_hinge
from pessimal.tabular import complete_rows, draw_rows, make_column_encoder, read_source, with_labels
from pessimal.workflows import Settings, read_model, tune_table, write_model

SETTINGS = ("--target", "diagnosis", "--test-size", "0.8", "--model", "svc-box")
EXACTLY = ("--test-size", "0.95", "--inner", "exact")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tune")
    messy_file(folder)
    return folder


@pytest.fixture(scope="module")
def tuned(folder: Path) -> Ended:
    return run_command(
        "tune", folder / "patient visits.csv", *SETTINGS, "--out", folder / "model.json"
    )


@pytest.fixture(scope="module")
def content(folder: Path) -> dict[str, object]:
    ended = run_command("tune", folder / "patient visits.csv", *SETTINGS, "--json")
    assert ended.code == 0
    loaded: dict[str, object] = json.loads(ended.out)
    return loaded


def test_a_messy_file_goes_through_and_every_decision_is_said(tuned: Ended) -> None:
    assert tuned.code == 0, tuned.err
    for sentence in (
        "Rows without a value in 'diagnosis', left out: 3.",
        "'visit date' holds dates and was left out;",
        "'clinic' has the same value in every row and was left out.",
        "Rows to tune on with missing cells, left out: 1 of 39, most for 'blood pressure'.",
        "Rows to compare on with missing cells, left out: 12 of 158, most for 'blood pressure'.",
        "classes ill (negative score) and well (positive score)",
    ):
        assert sentence in tuned.out


def test_it_ends_with_a_guarantee_and_a_comparison(
    tuned: Ended, content: dict[str, object]
) -> None:
    assert str(content["guarantee"]) in tuned.out
    for line in ("No other limits do better", "most rows wrong", "accuracy", "logistic regression"):
        assert line in tuned.out
    held_out = content["held_out"]
    assert isinstance(held_out, dict)
    assert held_out["n_rows"] == 146
    assert f"{held_out['n_right']} of 146" in tuned.out
    assert tuned.out.rstrip().endswith("model.json.")


def test_output_in_a_pipe_is_plain_ascii_text(tuned: Ended) -> None:
    assert tuned.out.isascii()
    assert "\x1b" not in tuned.out
    tables = [line for line in tuned.out.splitlines() if line.startswith(("|", "+"))]
    assert max(map(len, tables)) <= 80


def test_json_is_one_object_with_the_whole_answer(content: dict[str, object]) -> None:
    assert content["stopped"] is False
    assert content["proved"] is True
    assert content["classes"] == ["ill", "well"]
    features = content["features"]
    assert isinstance(features, list)
    assert [feature["name"] for feature in features] == ["blood pressure", "body mass index", "age"]
    notes = content["notes"]
    assert isinstance(notes, list)
    assert len(notes) == 5


def test_predictions_follow_from_the_numbers_in_the_model_file(folder: Path, tuned: Ended) -> None:
    assert tuned.code == 0
    model = json.loads((folder / "model.json").read_text("utf-8"))
    ended = run_command("predict", folder / "model.json", folder / "patient visits.csv")
    assert ended.code == 0
    (folder / "predicted.csv").write_text(ended.out, "utf-8")
    predicted = pd.read_csv(folder / "predicted.csv")
    frame = messy_table()
    names = [column["name"] for column in model["columns"]]
    scores = frame[names].to_numpy() @ model["coef"] + model["intercept"]
    pd.testing.assert_series_equal(predicted["score"], pd.Series(scores, name="score"))
    labels = predicted["score"].map(lambda score: model["classes"][int(score > 0.0)])
    complete = frame[names].notna().all(axis=1)
    assert predicted["prediction"].notna().tolist() == complete.tolist()
    assert (predicted["prediction"] == labels)[complete].all()
    assert "Rows without a prediction, for a cell is missing or unknown: 14." in ended.err
    differ = int((predicted["agreement"] == "no").sum())
    unknown = int((predicted["agreement"] == "not known").sum())
    told = f"Equally good models disagree on {differ} of the {complete.sum()} rows predicted"
    assert told + (f"; for {unknown} it is not known." if unknown else ".") in ended.err


def test_files_that_bound_nothing_are_not_said_to_agree(folder: Path, tuned: Ended) -> None:
    assert tuned.code == 0
    model = json.loads((folder / "model.json").read_text("utf-8"))
    del model["equally_good"]
    (folder / "old.json").write_text(json.dumps(model), "utf-8")
    ended = run_command("predict", folder / "old.json", folder / "patient visits.csv")
    assert ended.code == 0
    told = "Whether equally good models agree is not known for any of the 186 rows predicted."
    assert told in ended.err


def test_predictions_go_to_a_file_or_as_json_the_same(folder: Path, tuned: Ended) -> None:
    assert tuned.code == 0
    to_file = run_command(
        "predict", folder / "model.json", folder / "patient visits.csv", "--out", folder / "p.csv"
    )
    assert (to_file.code, to_file.out) == (0, "")
    as_json = run_command("predict", folder / "model.json", folder / "patient visits.csv", "--json")
    rows = json.loads(as_json.out)["rows"]
    frame = pd.read_csv(folder / "p.csv")
    assert [row["row"] for row in rows] == frame["row"].tolist() == list(range(1, 201))
    assert [row["score"] for row in rows[:5]] == pytest.approx(frame["score"][:5].tolist())
    assert sum(row["prediction"] is None for row in rows) == frame["prediction"].isna().sum() == 14


def test_text_columns_are_refused_or_encoded_on_request(tmp_path: Path) -> None:
    frame = messy_table(40).assign(pet=["cat", "dog"] * 20)
    frame.to_csv(tmp_path / "pets.csv", index=False)
    data = tmp_path / "pets.csv"
    refused = run_command("tune", data, "--target", "diagnosis")
    assert refused.code == 2
    assert "column 'pet' holds text such as 'cat'; encode it with --text one-hot" in refused.err
    dropped = run_command(
        "tune", data, "--target", "diagnosis", "--drop", "pet", "--view", "optimistic"
    )
    assert dropped.code == 0
    encoded = run_command(
        "tune", data, "--target", "diagnosis", "--text", "one-hot", "--view", "optimistic", "--json"
    )
    features = {feature["name"] for feature in json.loads(encoded.out)["features"]}
    assert {"pet = cat", "pet = dog"} < features


def test_names_that_look_like_markup_or_terminal_codes_are_printed_as_they_are(
    tmp_path: Path,
) -> None:
    renamed = {"age": "[red]age[/red]", "body mass index": "\x1b[31mindex", "diagnosis": "[bold]"}
    frame = messy_table(40).rename(columns=renamed)
    frame["[bold]"] = frame["[bold]"].map({"ill": "[link=x]ill", "well": "[/]"})
    frame.to_csv(tmp_path / "markup.csv", index=False)
    ended = run_command(
        "tune", tmp_path / "markup.csv", "--target", "[bold]", "--view", "optimistic"
    )
    assert ended.code == 0, ended.err
    assert "[red]age[/red]" in ended.out
    assert "\\x1b[31mindex" in ended.out
    assert "\x1b" not in ended.out
    assert "classes [/] (negative score) and [link=x]ill (positive score)" in ended.out
    unknown = run_command("tune", tmp_path / "markup.csv", "--target", "[red]?")
    assert "target is '[red]?'" in unknown.err


def test_out_of_time_the_exit_code_is_3_and_the_model_is_kept(tmp_path: Path) -> None:
    out = tmp_path / "model.json"
    ended = run_command(
        *("tune", "diabetes", "--model", "svc-box", "--test-size", "0.85"),
        *("--time-limit", "1e-6", "--out", out),
    )
    assert ended.code == 3
    assert "The search stopped at the time limit" in ended.out
    assert run_command("predict", out, "diabetes").code == 0


def test_a_place_that_cannot_be_written_is_refused_before_any_work(tmp_path: Path) -> None:
    for option in ("--out", "--report"):
        ended = run_command("tune", "nowhere.csv", option, tmp_path / "no" / "file")
        assert ended.code == 2
        assert "there is no folder" in ended.err


def test_options_of_the_pessimistic_view_are_refused_in_the_other() -> None:
    for option, value in (("--inner", "flip"), ("--groups", "one")):
        ended = run_command("tune", "cancer", "--view", "optimistic", option, value)
        assert ended.code == 2
        assert "belongs to the pessimistic view" in ended.err


def test_groups_without_the_exact_worst_case_are_refused() -> None:
    for options in ((), ("--inner", "flip")):
        ended = run_command("tune", "nowhere.csv", "--groups", "one", *options)
        assert ended.code == 2
        assert "--groups one needs --inner exact." in ended.err


@pytest.fixture(scope="module")
def one_limit() -> dict[str, Any]:
    ended = run_command("tune", "cancer", *EXACTLY, "--groups", "one", "--json")
    assert ended.code == 0, ended.err
    loaded: dict[str, Any] = json.loads(ended.out)
    return loaded


def test_one_limit_for_all_features_is_proved_against_the_exact_worst_case(
    one_limit: dict[str, Any],
) -> None:
    assert (one_limit["inner"], one_limit["groups"]) == ("exact", "one")
    assert len({feature["box"] for feature in one_limit["features"]}) == 1
    assert one_limit["proved"]
    # The audit takes the box alone, and knows nothing of how it was found.
    assert one_limit["validation_loss"] == pytest.approx(one_limit["worst_loss"], abs=1e-6)
    assert one_limit["worst_loss_bound"] == pytest.approx(one_limit["worst_loss"], abs=1e-6)


def test_no_single_limit_has_a_smaller_worst_case(one_limit: dict[str, Any]) -> None:
    table = with_labels(read_source("cancer"), None)
    kept, _ = draw_rows(table, 0.95, 0)
    rows = complete_rows(
        table, kept, make_column_encoder(table.columns.iloc[kept], "drop", "refuse"), ""
    )
    model = OptimisticSVC(random_state=0).fit(rows.X, rows.y)  # for its split and scale alone
    X, val = (rows.X - model.mean_) / model.scale_, model.validation_
    problem = TuningProblem(X[~val], rows.y[~val], X[val], rows.y[val])
    for limit in np.linspace(0.0, 1.0, 21):
        models = near_optimal(problem, problem.box(limit), Budget(epsilon=0.2))
        worst = largest_hinge(models, deadline=NEVER)
        assert worst >= one_limit["worst_loss"] - 1e-6


def test_a_limit_for_each_feature_is_no_worse_and_says_what_is_not_proved(
    one_limit: dict[str, Any], tmp_path: Path
) -> None:
    out = tmp_path / "model.json"
    ended = run_command("tune", "cancer", *EXACTLY, "--time-limit", "5", "--out", out)
    facts = json.loads(out.read_text("utf-8"))["facts"]
    assert facts["worst_loss"] <= one_limit["worst_loss"] + 1e-6
    assert facts["lower_bound"] <= facts["worst_loss"] + 1e-6
    assert ("No other limits do better" in ended.out) == facts["proved"]
    assert ended.code == (3 if facts["status"] == "time limit" else 0)


def test_out_of_time_against_the_exact_worst_case_the_exit_code_is_3() -> None:
    ended = run_command("tune", "cancer", *EXACTLY, "--time-limit", "1e-6", "--json")
    assert ended.code == 3
    content = json.loads(ended.out)
    assert content["stopped"] is True
    assert content["lower_bound"] <= content["worst_loss_bound"]


def test_a_model_tuned_in_groups_of_features_can_be_read_again(tmp_path: Path) -> None:
    table = with_labels(read_source("cancer"), None)
    groups = [[0, 1, 2], [3, 4, 5, 6, 7, 8]]
    settings = Settings(inner="exact", groups=groups, test_size=0.95, time_limit=1e-6)
    run = tune_table(table, settings)
    write_model(run.model, tmp_path / "model.json")
    read = read_model(tmp_path / "model.json")
    assert read.facts == run.model.facts
    assert read.box is not None
    assert [len({read.box[j] for j in group}) for group in groups] == [1, 1]
