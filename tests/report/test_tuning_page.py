"""The pages of ``tune`` and ``audit`` say what was found, and let no name become markup."""

import base64
import json
import re
import xml.etree.ElementTree as ET
from html import escape, unescape
from pathlib import Path

import pytest
from command import messy_file, messy_table, run_command

EVIL = "<script>alert(1)</script> $x_1$ \x1b[31m 名"


def figures(page: str) -> list[ET.Element]:
    """Return the figures of a page, which must be well-formed."""
    found = re.findall(r"data:image/svg\+xml;base64,([^\"]+)", page)
    return [ET.fromstring(base64.b64decode(picture)) for picture in found]


@pytest.fixture(scope="module")
def tuned(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, dict[str, object]]:
    folder = tmp_path_factory.mktemp("page")
    data = messy_file(folder)
    ended = run_command(
        *("tune", data, "--target", "diagnosis", "--test-size", "0.8", "--json"),
        *("--report", folder / "page.html"),
    )
    assert ended.code == 0, ended.err
    return (folder / "page.html").read_text("utf-8"), json.loads(ended.out)


def test_the_page_leads_with_the_guarantee(tuned: tuple[str, dict[str, object]]) -> None:
    page, content = tuned
    assert f'<p class="lead">{escape(str(content["guarantee"]))}</p>' in page


def test_the_page_holds_every_part_and_the_notes(tuned: tuple[str, dict[str, object]]) -> None:
    page, content = tuned
    assert re.findall(r"<h2>(.*?)</h2>", page) == [
        "Rows and columns",
        "What is guaranteed",
        "If training may be worse",
        "Every validation row",
        "Coefficients",
        "Beside logistic regression",
        "Certificate",
        "How it was computed",
    ]
    assert len(figures(page)) == 3
    notes = content["notes"]
    assert isinstance(notes, list)
    for note in notes:
        assert note in unescape(page)


def test_the_page_shows_the_numbers_of_the_answer(tuned: tuple[str, dict[str, object]]) -> None:
    page, content = tuned
    features = content["features"]
    assert isinstance(features, list)
    for feature in features:
        assert f"<td>{feature['name']}</td>" in page
        assert f">{feature['box']:.3f}</td>" in page
    held_out = content["held_out"]
    assert isinstance(held_out, dict)
    assert f"{held_out['n_right_logistic']} of {held_out['n_rows']}" in page


def test_names_in_any_script_stay_text_in_both_pages(tmp_path: Path) -> None:
    frame = messy_table(60).rename(columns={"age": f"age {EVIL}", "diagnosis": f"state {EVIL}"})
    frame[f"state {EVIL}"] = f"{EVIL} " + frame[f"state {EVIL}"]
    data = tmp_path / "<b>data.csv"
    frame.to_csv(data, index=False)
    for command in (("tune", "--view", "optimistic"), ("audit", "--time-limit", "5")):
        path = tmp_path / f"{command[0]}.html"
        ended = run_command(*command, data, "--target", f"state {EVIL}", "--report", path)
        assert ended.code in (0, 3), ended.err
        assert ended.err == ""
        page = path.read_text("utf-8")
        assert EVIL not in page
        assert "<script" not in page
        assert "<b>" not in page
        assert escape(f"age {EVIL}") in page
        assert figures(page)


def test_an_audit_page_has_the_curve_and_the_ambiguous_rows(tmp_path: Path) -> None:
    data = messy_file(tmp_path)
    path = tmp_path / "audit.html"
    arguments = ("audit", data, "--target", "diagnosis", "--time-limit", "5", "--report", path)
    ended = run_command(*arguments, "--json")
    page = path.read_text("utf-8")
    content = json.loads(ended.out)
    assert escape(content["guarantee"]) in page
    assert re.findall(r"<h2>(.*?)</h2>", page) == [
        "What is guaranteed",
        "If training may be worse",
        "Every validation row",
        "Coefficients",
        "How it was computed",
    ]
    for row in content["rows"]:
        shown = f'<td class="number">{row["row"]}</td><td>{row["label"]}</td>' in page
        assert shown == row["ambiguous"]
