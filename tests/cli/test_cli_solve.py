"""`pessimal solve`: bilevel programs from files, in the terms of the files."""

import json
from pathlib import Path

import pytest
from command import bilevel_files, run_command


def test_a_program_is_solved_in_words_and_in_json(tmp_path: Path) -> None:
    files = bilevel_files(tmp_path)
    words = run_command("solve", *files)
    assert words.code == 0
    assert "Status: optimal." in words.out
    assert "Outer objective: 11, checked again by other code." in words.out
    content = json.loads(run_command("solve", *files, "--json").out)
    assert content["sense"] == "maximise"
    assert content["value"] == pytest.approx(11.0)  # Bialas & Karwan (1984)
    assert content["bound"] == pytest.approx(11.0)
    assert content["certified"]
    assert content["outer"] == pytest.approx({"x": 16.0})
    assert content["inner"] == pytest.approx({"y": 11.0})


def test_a_tolerance_changes_nothing_where_the_levels_are_opposed(tmp_path: Path) -> None:
    # The response that the follower likes best is the leader's worst already.
    files = bilevel_files(tmp_path)
    content = json.loads(
        run_command("solve", *files, "--view", "pessimistic", "--delta", "0.5", "--json").out
    )
    assert content["value"] == pytest.approx(11.0)


def test_a_program_without_a_decision_is_an_answer(tmp_path: Path) -> None:
    mps, aux = bilevel_files(tmp_path)
    mps.write_text(mps.read_text().replace(" r b 38", " r b -38"))
    ended = run_command("solve", mps, aux, "--json")
    assert ended.code == 0
    content = json.loads(ended.out)
    assert content["status"] == "inner infeasible"
    assert content["value"] is content["bound"] is content["outer"] is None


def test_a_malformed_file_is_refused_in_one_line(tmp_path: Path) -> None:
    mps, aux = bilevel_files(tmp_path)
    aux.write_text("N 1\nM 5\nLC 7\n")
    ended = run_command("solve", mps, aux)
    assert (ended.code, ended.out) == (2, "")
    assert "problem.aux, line 3: column 7" in ended.err.replace("\n", " ")


def test_a_tolerance_needs_the_pessimistic_view(tmp_path: Path) -> None:
    ended = run_command("solve", *bilevel_files(tmp_path), "--epsilon", "0.1")
    assert ended.code == 2
    assert "--epsilon belongs to the pessimistic view" in ended.err
