"""Every example of the gallery runs and draws its figure."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

EXAMPLES = sorted((Path(__file__).parents[1] / "examples").glob("plot_*.py"))
NEEDS = {
    "plot_optuna_worst_case": ("optuna",),
    "plot_pessimistic_network": ("skorch", "torch"),
}
"""Packages that an example needs and pessimal does not."""

PNG = b"\x89PNG\r\n\x1a\n"


def test_there_are_examples() -> None:
    assert EXAMPLES


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_writes_the_figure_it_is_asked_for(example: Path, tmp_path: Path) -> None:
    for package in NEEDS.get(example.stem, ()):
        if find_spec(package) is None:
            pytest.skip(f"{package} is not installed (pip install {package})")
    subprocess.run(
        [sys.executable, "-W", "error::DeprecationWarning:pessimal", example, "figure.png"],
        cwd=tmp_path,
        env=os.environ | {"MPLBACKEND": "Agg"},
        check=True,
        capture_output=True,
        text=True,
    )
    assert [path.name for path in tmp_path.iterdir()] == ["figure.png"]
    assert (tmp_path / "figure.png").read_bytes().startswith(PNG)
