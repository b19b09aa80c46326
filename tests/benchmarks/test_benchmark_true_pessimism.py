"""The benchmark of true pessimism: lines are stored, a run resumes, the page says what they say."""

from __future__ import annotations

import statistics
import sys
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))

import pessimism_accuracy
import pessimism_scores
import true_pessimism
from pessimism_boxes import EACH, ONE, OPTIMISTIC, PAPER, Answer, Cell, cells
from pessimism_checks import Answers, excess, findings
from pessimism_worst import HIGHS, OURS, Line, Size, evaluate, jumps

CELL = Cell("diabetes", 20, 20, 0.2, 0.0, 700)


def answer(method: str, value: float) -> Answer:
    return Answer(method, 1.0, value, value, value, True, "optimal", 0.1, 0.1)


def answers(**values: float) -> Answers:
    names = {"optimistic": OPTIMISTIC, "paper": PAPER, "one": ONE, "each": EACH}
    return {CELL: {names[key]: answer(names[key], value) for key, value in values.items()}}


def test_the_cells_are_every_size_budget_and_seed_once() -> None:
    every = list(cells(quick=False))
    assert len(every) == len(set(every)) == 2 * 3 * 3 * 3 * 2 * 10


def test_a_quick_run_writes_every_section_and_resumes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = ["--quick", "--out", str(tmp_path), "--page", str(tmp_path)]
    true_pessimism.main(words)
    page = (tmp_path / "true_pessimism.md").read_text("utf-8")
    assert [line for line in page.splitlines() if line.startswith("## ")] == [
        "## How bad the worst model of a box is",
        "## Does it generalise better?",
        "## How many validation rows an exact worst case bears",
        "## Is the least worst case attained?",
    ]
    assert "nan" not in page.replace("± nan", "")  # of one draw there is no standard error
    assert (tmp_path / "images" / "true_pessimism.svg").exists()

    def refuse(task: object) -> list[object]:
        raise AssertionError(f"{task} was measured twice")

    parts = {name: replace(part, measure=refuse) for name, part in true_pessimism.PARTS.items()}
    monkeypatch.setattr(true_pessimism, "PARTS", parts)
    true_pessimism.main(words)
    assert (tmp_path / "true_pessimism.md").read_text("utf-8") == page


def test_rows_of_another_machine_are_not_mixed(tmp_path: Path) -> None:
    (tmp_path / "machine.json").write_text("{}", encoding="utf-8")
    with pytest.raises(SystemExit, match="another machine"):
        true_pessimism.main(["--quick", "--out", str(tmp_path)])


def test_a_box_of_ours_that_is_worse_is_counted() -> None:
    worse = answers(optimistic=0.5, paper=0.3, one=0.6, each=0.4)
    assert str(excess(worse, EACH, PAPER)) == "in 1 of 1 cells, by up to 0.1"
    assert str(excess(worse, EACH, OPTIMISTIC)) == "in none of 1 cells"
    assert "above the paper's in 1 of 1 cells" in findings(worse)[0]


def test_differences_within_the_tolerance_are_none() -> None:
    equal = answers(optimistic=0.5, paper=0.3, one=0.6, each=0.3 + 5e-7)
    assert str(excess(equal, EACH, PAPER)) == "in none of 1 cells"


def test_differences_of_accuracy_are_paired() -> None:
    reference, true = pessimism_accuracy.REFERENCE, pessimism_accuracy.TRUE
    own, its = [0.5, 0.7, 0.9], [0.6, 0.6, 0.6]
    found = {
        pessimism_accuracy.Draw("cancer", 20, seed): [
            *(pessimism_accuracy.Score(name, a, a) for name in true),
            pessimism_accuracy.Score(pessimism_accuracy.PAPER, b, b),
            pessimism_accuracy.Score(reference, b, b),
        ]
        for seed, (a, b) in enumerate(zip(own, its, strict=True))
    }
    error = statistics.stdev([-10.0, 10.0, 30.0]) / 3**0.5
    text = "\n".join(pessimism_scores.section(found))
    assert f"+10.0 ± {error:.1f}" in text
    assert "no clear difference" in text


@pytest.mark.parametrize("delta", [0.0, 0.1])
def test_both_methods_find_the_same_worst_case(delta: float) -> None:
    found = {row.method: row for row in evaluate(Size("diabetes", 10, 0.2, delta, 1))}
    assert found[OURS].value == pytest.approx(found[HIGHS].value, abs=1e-6)
    assert found[OURS].upper_bound == pytest.approx(found[HIGHS].upper_bound, abs=1e-6)


def test_a_worst_case_changes_in_proportion_to_the_step() -> None:
    # Walkup and Wets: a polyhedron moves no faster than its right-hand sides, times a constant.
    changes = [(row.step, row.change) for row in jumps(Line("diabetes", 10, 1))]
    for (longer, change), (shorter, smaller) in pairwise(changes):
        assert smaller <= 2.0 * change * shorter / longer
