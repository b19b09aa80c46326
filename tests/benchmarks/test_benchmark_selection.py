"""The benchmark of the search: a quick run writes its page, and the page says what was stored."""

from __future__ import annotations

import sys
from pathlib import Path

import pandas as pd

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "benchmarks"))

import selection


def test_a_quick_run_writes_the_page(tmp_path: Path) -> None:
    selection.main(["--quick", "--out", str(tmp_path)])
    page = (tmp_path / "search.md").read_text()
    assert "## Ranges of C" in page
    assert "## Wide tables" in page
    assert "Of 2 searches 0 ended more than 20 % after their limit" in page
    assert "above the proved bound in 0 of 2 problems" in page
    assert "## Seconds" in page
    selection.main(["--quick", "--report", "--out", str(tmp_path)])
    assert (tmp_path / "search.md").read_text() == page


def test_what_passes_a_bound_is_counted() -> None:
    losses = {"fit": [0.5, 0.5], "plain": [0.5, 0.6], "found": [0.8, 0.6]}
    rows = pd.DataFrame({"seed": [1, 2], "epsilon": [0.1, 0.1], **losses})
    rows = rows.assign(value=0.7, bound=0.7)
    measured = {"machine": "Machine", "versions": ["1"]}
    page = selection.text({"search_refits": rows}, measured)
    assert "above the proved bound in 1 of 2 problems" in page
    assert "The median share is 100.0 %" in page
    assert "of plain flipping 25.0 %" in page
