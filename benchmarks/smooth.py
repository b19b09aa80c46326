"""Worst cases of ridge and logistic regression: how exact they are, and what they cost.

Five measurements, stored as they come, so that a run that was stopped goes on where it was; the
page is written from the stored rows.

Examples
--------
::

    python benchmarks/smooth.py --quick
    python benchmarks/smooth.py
    python benchmarks/smooth.py --report
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import smooth_logistic
import smooth_ridge
from measuring import command_line, measure_parts, opened, render, write
from smooth_ridge import too_large

from pessimal.reproduction import Row
from pessimal.reproduction.study import full_factorial
from pessimal.reproduction.tables import TABLES

PAGE = "smooth"
COMMAND = "python benchmarks/smooth.py --jobs 2"
GOALS = {0.001: 0.0, 0.01: 0.0, 0.05: 0.03, 0.2: 0.3}
"""The median gap that is aimed at, by ε."""

SAME = 1e-6
"""Values closer than this, relatively, are the same."""

MEASURE: dict[str, Callable[[Mapping[str, Any]], Sequence[Row]]] = {
    "ridge_problems": smooth_ridge.problems,
    "ridge_rows": smooth_ridge.rows,
    "ridge_lazy": smooth_ridge.lazy,
    "logistic_rows": smooth_logistic.rows,
    "logistic_tables": smooth_logistic.tables,
}


def factors(part: str, quick: bool) -> tuple[Mapping[str, Any], ...]:
    """Return the configurations of a part that this machine bears; say which it does not."""
    grids: dict[str, dict[str, Any]] = {
        "ridge_problems": {"seed": range(9000, 9125)},
        "ridge_rows": {"n_rows": [10**6], "n_columns": [100], "n_val": [10**5], "seed": [9200]},
        "ridge_lazy": {"n_rows": [10**7], "n_columns": [20], "n_val": [10**6]}
        | {"chunk": [250_000], "seed": [9300]},
        "logistic_rows": {"n_rows": [10**5], "n_columns": [50], "n_val": [20_000]}
        | {"C": [0.01, 1.0], "epsilon": [0.01, 0.05], "seed": [9400]},
        "logistic_tables": {"epsilon": list(GOALS), "data": list(TABLES)}
        | {"C": [0.01, 1.0, 100.0], "seed": [9500]},
    }
    grid = grids[part]
    if quick:
        few = {"n_rows": [2000], "n_columns": [3], "n_val": [200], "chunk": [500]}
        grid = {name: few.get(name, list(of)[:1]) for name, of in grid.items()}
    return tuple(at for at in full_factorial(grid) if not _skipped(part, at))


def _skipped(part: str, at: Mapping[str, Any]) -> bool:
    reason = None
    if part == "ridge_rows":
        reason = too_large(at)
    if part == "logistic_tables":
        reason = TABLES[at["data"]].missing()
    if reason is not None:
        print(f"skipped: {part} {dict(at)}: {reason}", flush=True)
    return reason is not None


def text(found: Mapping[str, pd.DataFrame], measured: Mapping[str, Any]) -> str:
    """Return the page in Markdown; a part without rows is left out."""
    parts = {
        name: section(found[name]) if len(found.get(name, ())) else None
        for name, section in SECTIONS.items()
    }
    return render(
        "smooth", ridge=smooth_ridge, logistic=smooth_logistic, command=COMMAND, **measured, **parts
    )


def ridge_problems(rows: pd.DataFrame) -> dict[str, Any]:
    """Say how far worst cases were from the oracle's, by kind of problem."""
    rows = rows.assign(sdp=rows["sdp"].astype(float).abs())
    columns = ["gap", "attained_above_bound", "value_above_proved", "train_above_limit", "sdp"]
    return {
        "count": len(rows),
        "seeds": rows["seed"],
        "programs": rows["sdp"].notna().sum(),
        "lines": rows.groupby("kind", sort=False)[columns].max(),
        "most": rows[[*columns, "oracle_gap"]].max(),
        "violations": (rows[columns[1:4]] > 0.0).sum(),
    }


def ridge_rows(rows: pd.DataFrame) -> dict[str, Any]:
    """Compare the seconds of a worst case with those of a fit on the same rows."""
    return {"at": rows.iloc[0], "rows": rows, **_medians(rows)}


def _medians(rows: pd.DataFrame) -> dict[str, Any]:
    fit, ours = rows["fit_seconds"].median(), rows["seconds"].median()
    return {"fit": fit, "ours": ours, "ratio": ours / fit}


def ridge_lazy(rows: pd.DataFrame) -> dict[str, Any]:
    """Say what a worst case of lazily made rows takes."""
    return {"at": rows.iloc[0]}


def logistic_rows(rows: pd.DataFrame) -> dict[str, Any]:
    """Compare the seconds of bound and member with those of a fit on the same rows."""
    rows = rows.assign(gap=_gap(rows))
    lines = [
        {**dict(zip(("C", "epsilon", "limited"), at, strict=True)), "of": part.iloc[-1]}
        | {"repeats": len(part), **_medians(part)}
        for at, part in rows.groupby(["C", "epsilon", "limited"])
    ]
    ratios = [line["ratio"] for line in lines if line["limited"]]
    return {"at": rows.iloc[0], "lines": lines, "ratios": ratios}


def _gap(rows: pd.DataFrame) -> pd.Series:
    return (rows["upper_bound"] / rows["value"] - 1.0).where(rows["value"].notna(), np.inf)


def logistic_tables(rows: pd.DataFrame) -> dict[str, Any]:
    """Say how far apart bound and member are on real tables, and how far off the ellipsoid is."""
    in_order = pd.Categorical(rows["data"], list(TABLES))
    rows = rows.assign(data=in_order, gap=_gap(rows), proved=rows["proved"].eq(True))
    rows = rows.sort_values(["data", "C", "epsilon"])
    answered = rows[rows["refused"].isna()]
    found = answered.assign(
        above=answered["ellipsoid"] > answered["upper_bound"] * (1.0 + SAME),
        below=answered["ellipsoid"] < answered["value"] * (1.0 - SAME),
        outside=answered["ellipsoid_spent"] > 1.0 + SAME,
        missed=1.0 - answered["ellipsoid"] / answered["value"],
    )
    return {
        "tables": {name: TABLES[name] for name in rows["data"].unique()},
        "seed": rows["seed"].iloc[0],
        "rows": rows,
        "refused": rows[rows["refused"].notna()],
        "by_epsilon": [
            (epsilon, GOALS[epsilon], part, found[found["epsilon"] == epsilon])
            for epsilon, part in rows.groupby("epsilon")
        ],
        "found": found,
    }


SECTIONS: dict[str, Callable[[pd.DataFrame], dict[str, Any]]] = {
    "ridge_problems": ridge_problems,
    "ridge_rows": ridge_rows,
    "ridge_lazy": ridge_lazy,
    "logistic_rows": logistic_rows,
    "logistic_tables": logistic_tables,
}


def main(arguments: Sequence[str] | None = None) -> None:
    parser = command_line(__doc__, f"results/{PAGE}", SECTIONS)
    parser.add_argument("--jobs", type=int, default=1, help="processes for the many small cases")
    options = parser.parse_args(arguments)
    with opened(options) as (store, docs):
        # Every part has a process of its own, so that peaks of memory are not another's.
        small = ("ridge_problems", "logistic_tables")
        write(docs, PAGE, text(*measure_parts(options, store, factors, MEASURE, COMMAND, small)))


if __name__ == "__main__":
    main()
