"""The benchmark of true pessimism: lines are stored, a run resumes, the page says what they say."""

from __future__ import annotations

import statistics
import sys
from itertools import pairwise
from pathlib import Path

import pandas as pd
import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))

import pessimism
import true_pessimism
from measuring import STORE_NAME
from pessimism import EACH, HIGHS, ONE, OPTIMISTIC, OURS, PAPER, factors
from true_pessimism import excess, text

from pessimal.reproduction import Store, Study

MEASURED = {"machine": "on a machine", "versions": []}
CONFIGURATION = {"data": "diabetes", "n_train": 20, "n_val": 20, "epsilon": 0.2, "delta": 0.0}


def answers(**values: float) -> pd.DataFrame:
    names = {"optimistic": OPTIMISTIC, "paper": PAPER, "one": ONE, "each": EACH}
    same = {"seed": 700, "width": 1.0, "proved": True, "status": "optimal", "seconds": 0.1}
    return pd.DataFrame(
        {**CONFIGURATION, **same, "check_seconds": 0.1, "method": names[key], "value": value}
        | {"upper_bound": value, "lower_bound": value}
        for key, value in values.items()
    )


def test_the_configurations_are_every_size_budget_and_seed_once() -> None:
    every = [tuple(each.items()) for each in factors("boxes", quick=False)]
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

    def refuse(at: object) -> list[dict[str, object]]:
        raise AssertionError(f"{at} was measured twice")

    for part in true_pessimism.SECTIONS:
        monkeypatch.setattr(pessimism, part, refuse)
    true_pessimism.main(words)
    assert (tmp_path / "true_pessimism.md").read_text("utf-8") == page


def test_rows_of_another_machine_are_not_mixed(tmp_path: Path) -> None:
    study = Study("boxes", factors("boxes", quick=True), pessimism.boxes)
    with Store(tmp_path / STORE_NAME) as store:
        store.begin(study, "another", command="", environment={})
    with pytest.raises(SystemExit, match="another machine"):
        true_pessimism.main(["--quick", "--out", str(tmp_path)])


def test_a_box_of_ours_that_is_worse_is_counted() -> None:
    worse = answers(optimistic=0.5, paper=0.3, one=0.6, each=0.4)
    assert excess(worse, EACH, PAPER) == "in 1 of 1 configurations, by up to 0.1"
    assert excess(worse, EACH, OPTIMISTIC) == "in none of 1 configurations"
    assert "above the paper's in 1 of 1 configurations" in text({"boxes": worse}, MEASURED)


def test_differences_within_the_tolerance_are_none() -> None:
    equal = answers(optimistic=0.5, paper=0.3, one=0.6, each=0.3 + 5e-7)
    assert excess(equal, EACH, PAPER) == "in none of 1 configurations"


def test_differences_of_accuracy_are_paired() -> None:
    own, its = [0.5, 0.7, 0.9], [0.6, 0.6, 0.6]
    methods = {**dict.fromkeys(pessimism.TRUE, own), pessimism.PAPER_SVC: its}
    methods[pessimism.REFERENCE] = its
    found = pd.DataFrame(
        {"data": "cancer", "n_rows": 20, "seed": seed, "method": method}
        | {"accuracy": scores[seed], "attacked": scores[seed], "seconds": None, "proved": None}
        for seed in range(3)
        for method, scores in methods.items()
    )
    error = statistics.stdev([-10.0, 10.0, 30.0]) / 3**0.5
    page = text({"accuracy": found}, MEASURED)
    assert f"+10.0 ± {error:.1f}" in page
    assert "no clear difference" in page


@pytest.mark.parametrize("delta", [0.0, 0.1])
def test_both_methods_find_the_same_worst_case(delta: float) -> None:
    at = {"data": "diabetes", "n_val": 10, "epsilon": 0.2, "delta": delta, "seed": 1}
    found = {row["method"]: row for row in pessimism.reach(at)}
    for name in ("value", "upper_bound"):
        assert found[OURS][name] == pytest.approx(found[HIGHS][name], abs=1e-6)


def test_a_worst_case_changes_in_proportion_to_the_step() -> None:
    # Walkup and Wets: a polyhedron moves no faster than its right-hand sides, times a constant.
    found = pessimism.jumps({"data": "diabetes", "n_rows": 10, "seed": 1})
    changes = [(row["step"], row["change"]) for row in found]
    for (longer, change), (shorter, smaller) in pairwise(changes):
        assert smaller <= 2.0 * change * shorter / longer
