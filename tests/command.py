"""Run the command line in this process, and a table as messy as real ones."""

import contextlib
import io
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from pessimal.cli import main


@dataclass(frozen=True)
class Ended:
    """How a command ended: exit code, standard output, standard error."""

    code: int
    out: str
    err: str


def run_command(*arguments: object) -> Ended:
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = main([str(argument) for argument in arguments])
    return Ended(code, out.getvalue(), err.getvalue())


def messy_table(n_rows: int = 200) -> pd.DataFrame:
    """Spaces in names, a text target, missing cells, a constant column, a date column."""
    rng = np.random.default_rng(0)
    ill = rng.random(n_rows) < 0.4
    frame = pd.DataFrame(
        {
            "visit date": pd.date_range("2023-01-01", periods=n_rows).strftime("%Y-%m-%d"),
            "blood pressure": (120 + 15 * ill + rng.normal(0, 8, n_rows)).round(),
            "body mass index": (24 + 4 * ill + rng.normal(0, 2, n_rows)).round(1),
            "age": rng.integers(20, 80, n_rows),
            "clinic": "north",
            "diagnosis": np.where(ill, "ill", "well"),
        }
    )
    frame.loc[rng.choice(n_rows, 14, replace=False), "blood pressure"] = None
    frame.loc[rng.choice(n_rows, 3, replace=False), "diagnosis"] = None
    return frame


def messy_file(folder: Path) -> Path:
    path = folder / "patient visits.csv"
    messy_table().to_csv(path, index=False)
    return path


def bilevel_files(folder: Path) -> tuple[Path, Path]:
    """Write Bialas & Karwan's program of 1984, in which the levels are opposed; 11 is optimal."""
    mps, aux = folder / "problem.mps", folder / "problem.aux"
    rows = {
        "a": (-1, -2, -10),
        "b": (1, 2, 38),
        "c": (-1, 2, 18),
        "d": (1, -2, 6),
        "e": (2, -1, 21),
    }
    lines = ["NAME bialas", "OBJSENSE", " MAX", "ROWS", " N gain", *(f" L {row}" for row in rows)]
    lines += ["COLUMNS", *(f" x {row} {of[0]}" for row, of in rows.items()), " y gain 1"]
    lines += [*(f" y {row} {of[1]}" for row, of in rows.items())]
    lines += ["RHS", *(f" r {row} {of[2]}" for row, of in rows.items()), "ENDATA", ""]
    mps.write_text("\n".join(lines))
    aux.write_text("N 1\nM 5\nLC 1\n" + "".join(f"LR {k}\n" for k in range(5)) + "LO 1\nOS 1\n")
    return mps, aux
