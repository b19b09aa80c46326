"""The pages of ``tune`` and ``audit`` say what was found, and let no name become markup."""

import base64
import json
import re
import xml.etree.ElementTree as ET
from dataclasses import replace
from html import escape, unescape
from pathlib import Path

import pytest
from command import messy_file, messy_table, run_command

from pessimal import audit
from pessimal.report.audit_page import audit_sections

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
        *("--model", "svc-box", "--report", folder / "page.html"),
    )
    assert ended.code == 0, ended.err
    return (folder / "page.html").read_text("utf-8"), json.loads(ended.out)


def test_the_page_leads_with_what_to_do_and_says_the_guarantee_below(
    tuned: tuple[str, dict[str, object]],
) -> None:
    page, content = tuned
    assert page.index('<p class="lead">') < page.index(escape(str(content["guarantee"])))


def test_the_page_holds_every_part_and_the_notes(tuned: tuple[str, dict[str, object]]) -> None:
    page, content = tuned
    assert re.findall(r"<h2>(.*?)</h2>", page) == [
        "Ordinary and pessimistic tuning",
        "What is guaranteed",
        *(["Rows on which equally good models disagree"] if content["ambiguous_rows"] else []),
        "Every row",
        "If training may be worse",
        "Which way each column points",
        "Beside logistic regression",
        "Certificate",
        "Notes",
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


@pytest.mark.parametrize(
    ("closed", "expected"),
    [
        (True, "The guarantee cannot be better"),
        (False, "the worst that was found is a mean hinge loss of 1.5000 and 1 of 2 rows wrong"),
    ],
)
def test_the_page_says_whether_the_worst_was_found_or_only_not_ruled_out(
    closed: bool, expected: str
) -> None:
    # With weights up to 1, only the score x has no training loss; it has the first row wrong.
    report = audit([[-1.0], [1.0]], ["no", "yes"], [[-2.0], [-3.0]], ["yes", "no"])
    worst = report.worst_loss
    if not closed:
        report = replace(report, worst_loss=replace(worst, upper_bound=worst.value + 0.1))
    words = " ".join(audit_sections(report, ())[0].paragraphs)
    assert expected in words


def test_names_in_any_script_stay_text_in_both_pages(tmp_path: Path) -> None:
    frame = messy_table(60).rename(columns={"age": f"age {EVIL}", "diagnosis": f"state {EVIL}"})
    frame[f"state {EVIL}"] = f"{EVIL} " + frame[f"state {EVIL}"]
    data = tmp_path / "<b>data.csv"
    frame.to_csv(data, index=False)
    for command in (("tune", "--view", "optimistic"), ("audit", "--time-limit", "5")):
        path = tmp_path / f"{command[0]}.html"
        ended = run_command(*command, data, "--target", f"state {EVIL}", "--report", path)
        assert ended.code in (0, 3), ended.err
        assert all(line.startswith("audit: ") for line in ended.err.splitlines())
        page = path.read_text("utf-8")
        assert EVIL not in page
        assert "<script" not in page
        assert "<b>" not in page
        assert escape(f"age {EVIL}") in page
        assert figures(page)


@pytest.mark.parametrize("options", [("--box", "1"), ()], ids=["box", "logistic regression"])
def test_an_audit_page_has_the_curve_and_the_ambiguous_rows(
    tmp_path: Path, options: tuple[str, ...]
) -> None:
    data = messy_file(tmp_path)
    path = tmp_path / "audit.html"
    arguments = ("audit", data, "--target", "diagnosis", "--time-limit", "5", "--report", path)
    ended = run_command(*arguments, *options, "--json")
    page = path.read_text("utf-8")
    content = json.loads(ended.out)
    assert escape(content["guarantee"]) in page
    assert re.findall(r"<h2>(.*?)</h2>", page) == [
        "What is guaranteed",
        *(["Rows on which equally good models disagree"] if content["ambiguity"] else []),
        "Every row",
        "If training may be worse",
        "Which way each column points",
        "Notes",
        "How it was computed",
    ]
    assert str(tmp_path) not in page
    for row in content["rows"]:
        shown = f"<td>{row['row']}</td><td>{row['label']}</td>" in page
        assert shown == bool(row["ambiguous"])  # None where it is not known
