"""The benchmark of abstention: it runs, and the page says what the rows say."""

from __future__ import annotations

import sys
from pathlib import Path

import pandas as pd

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))

import abstention


def row(data: str, epsilon: float, accuracy: float, by_score: float) -> dict[str, object]:
    sizes = {"n_train": 100, "n_test": 50, "n_features": 3, "majority": 0.6, "seed": 1}
    found = {"all": 0.8, "answered": 0.5, "accuracy": accuracy, "by_score": by_score}
    return {"data": data, "epsilon": epsilon, **sizes, **found}


def test_the_page_has_the_medians_of_the_rows() -> None:
    accuracies = {"a": (0.7, 0.9), "b": (0.85, 0.8), "c": (0.9, 0.9)}
    rows = pd.DataFrame(
        [row(data, epsilon, *pair) for data, pair in accuracies.items() for epsilon in (0.01, 0.05)]
    )
    page = abstention.text(rows)
    line = "| 0.05 | 50% | 80.0% | 85.0% | 90.0% | +5.0 points | 2 of 3 |"
    assert line in page.splitlines()
    assert "more accurate than the model's own score on 1 of 3 tables and less on 1" in page
    assert page.index("| c | 100 |") < page.index("| b | 100 |") < page.index("| a | 100 |")
    labels = [text.get_text() for text in abstention.draw(rows).axes[0].get_yticklabels()]
    assert labels == [f"{name} (50% answered)" for name in "abc"]


def test_a_quick_run_measures_two_tables(tmp_path: Path) -> None:
    abstention.main(["--quick", "--out", str(tmp_path), "--page", str(tmp_path)])
    page = (tmp_path / "abstention.md").read_text("utf-8")
    assert "2 real tables" in page
    assert "nan" not in page
