"""The benchmark of smooth models: every part runs, the page says what the rows say."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))

import smooth
import smooth_ridge
from smooth_ridge import HARD, KINDS, Whitened

from pessimal.errors import InvalidInputError
from pessimal.reproduction.tables import TABLES, Table

MEASURED = {"machine": "on a machine", "versions": []}


def test_a_quick_run_writes_every_section_and_resumes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = ["--quick", "--out", str(tmp_path), "--page", str(tmp_path)]
    smooth.main(words)
    page = (tmp_path / "smooth.md").read_text("utf-8")
    assert [line for line in page.splitlines() if line.startswith("## ")] == [
        "## Ridge: is the worst case exact?",
        "## Ridge: many rows",
        "## Ridge: rows that do not fit into memory",
        "## Logistic regression: many rows",
        "## Logistic regression: real tables",
    ]
    assert "nan" not in page

    def refuse(at: object) -> list[dict[str, object]]:
        raise AssertionError(f"{at} was measured twice")

    monkeypatch.setattr(smooth, "MEASURE", dict.fromkeys(smooth.MEASURE, refuse))
    smooth.main(words)
    assert (tmp_path / "smooth.md").read_text("utf-8") == page


@pytest.mark.parametrize("kind", KINDS)
def test_the_oracle_beats_every_sampled_member(kind: str) -> None:
    white = Whitened.of(smooth_ridge.draw(kind, seed=3))
    attained, proved = white.worst(radius2=0.5)
    assert attained == pytest.approx(proved, rel=1e-12)
    t = np.random.default_rng(0).standard_normal((2000, white.C.shape[1]))
    t *= np.sqrt(0.5) / np.linalg.norm(t, axis=1, keepdims=True)
    assert np.sum((t @ white.C.T + white.r) ** 2, axis=1).max() <= attained * (1.0 + 1e-12)


def test_a_hard_case_has_no_residual_along_the_leading_direction() -> None:
    white = Whitened.of(smooth_ridge.draw(HARD, seed=3))
    lead = np.linalg.svd(white.C)[0][:, 0]
    assert lead @ white.r == pytest.approx(0.0, abs=1e-12)


def test_a_package_that_is_not_installed_is_skipped(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    absent = Table("no-such-package", "no_such_package", "", lambda _: pytest.fail("was read"))
    monkeypatch.setitem(TABLES, "absent", absent)
    assert "absent" not in {at["data"] for at in smooth.factors("logistic_tables", quick=False)}
    assert "no-such-package is not installed" in capsys.readouterr().out


def test_a_passed_bound_and_a_wrong_ellipsoid_are_counted() -> None:
    case = {"data": "heart", "C": 1.0, "seed": 0, "n_train": 9, "n_val": 9, "n_columns": 2}
    case |= {"epsilon": 0.05, "trained": 0.4, "value": 0.5, "upper_bound": 0.51, "seconds": 1.0}
    case |= {"proved": False, "refused": None, "ellipsoid_loss": 0.5, "ellipsoid_spent": 1.2}
    rows = pd.DataFrame([{**case, "ellipsoid": value} for value in (0.49, 0.505, 0.52)])
    page = smooth.text({"logistic_tables": rows}, MEASURED)
    assert "promised less than the truth in 1 of 3 cases and more in 1" in page
    assert "| 0.05 | 3 | 0 | 2 % | 3 % | reached |" in page


def test_a_case_without_a_bound_is_an_infinite_gap() -> None:
    case = {"data": "heart", "C": 1.0, "seed": 0, "n_train": 9, "n_val": 9, "n_columns": 2}
    columns = ["trained", "value", "upper_bound", "proved", "ellipsoid", "ellipsoid_spent"]
    refused = {**case, "epsilon": 0.05, "seconds": 1.0, **dict.fromkeys(columns)}
    rows = pd.DataFrame([{**refused, "refused": str(InvalidInputError("no useful bound"))}])
    page = smooth.text({"logistic_tables": rows.astype(dict.fromkeys(columns, float))}, MEASURED)
    assert "no useful bound" in page
    assert "| 0.05 | 1 | 0 | none | 3 % | missed |" in page
