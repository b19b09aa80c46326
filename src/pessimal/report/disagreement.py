"""The rows on which equally good models disagree, with what is in them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from pessimal.auditing import AuditReport
from pessimal.labels import spoken
from pessimal.problem import Vector
from pessimal.report.page import Section, Table

TWO = 2

MOST_ROWS = 100
"""Of the table; `AuditReport.to_frame` has them all."""


def disagreement(report: AuditReport, cells: pd.DataFrame | None) -> list[Section]:
    """Show the rows on which models were found to disagree.

    Parameters
    ----------
    report : AuditReport
        Of a classifier.
    cells : pandas.DataFrame, optional
        What is in the rows, by the names that the report has for them.
    """
    rows = np.flatnonzero(report.ambiguous)
    if not report.classes or not len(rows):
        return []
    frame = _merged(_listed(report, rows, cells))
    told = (
        "Of each of these rows some of the equally good models say one thing and some another, so "
        "your data do not decide it. Rows are counted from 1, as in the data."
    )
    if cells is None:
        told = told.rpartition(" Rows")[0]
    unknown = int(report.undecided.sum())
    more = (f"Of {unknown} further rows it is not known whether models disagree.",)
    left_out = len(frame) - MOST_ROWS
    caption = "Rows with the same entries share a line." if cells is not None else "By row."
    if left_out > 0:
        caption += f" The first {MOST_ROWS} lines; {left_out} more are left out."
    # Of thousands of rows with hundreds of entries writing all would take longer than the figures.
    table = Table("disagreement", caption, frame[:MOST_ROWS].map(_cell))
    title = "Rows on which equally good models disagree"
    return [Section(title, (told, *(more if unknown else ())), (table,))]


def _listed(report: AuditReport, rows: Any, cells: pd.DataFrame | None) -> pd.DataFrame:
    names = dict(zip(report.classes, spoken(report.classes), strict=True))
    index = report.index[rows]
    frame = pd.DataFrame({"row": [str(name) for name in index]})
    frame["true class"] = [names[label] for label in report.labels[rows].tolist()]
    if len(report.classes) == TWO:
        said = np.array(list(names.values()), dtype=object)
        frame["the model says"] = said[(report.reference.scores[rows] > 0.0).astype(int)]
        low, high = report.found_low[rows], report.found_high[rows]
        frame[f"{_measured(report)}, from"] = _shown(report, low)
        frame["to"] = _shown(report, high)
    elif report.said is not None:
        said_by = [np.flatnonzero(line) for line in report.said[rows]]
        names_of = list(names.values())
        frame["models say"] = [" or ".join(names_of[k] for k in line) for line in said_by]
    if cells is not None:
        entries = cells.loc[index].astype(object).reset_index(drop=True)
        # A column of the table may have the name of one of ours.
        given = map(str, entries.columns)
        entries.columns = [f"{n} (entry)" if n in frame.columns else n for n in given]
        frame = pd.concat([frame, entries], axis=1)
    return frame


def _merged(frame: pd.DataFrame) -> pd.DataFrame:
    """Let lines that differ in nothing but the number of the row share one."""
    others = [name for name in frame.columns if name != "row"]
    line = frame.groupby(others, sort=False, dropna=False).ngroup()
    lines = frame[~line.duplicated()].rename(columns={"row": "rows"}).reset_index(drop=True)
    lines["rows"] = frame["row"].groupby(line, sort=False).agg(", ".join).to_numpy()
    return lines


def _measured(report: AuditReport) -> str:
    if report.loss == "log":
        return f"probability of {spoken(report.classes)[1]}"
    return f"score for {spoken(report.classes)[1]}"


def _shown(report: AuditReport, scores: Vector) -> list[str]:
    if report.loss != "log":
        return [f"{score:+.2f}" for score in scores]
    return [f"{1.0 / (1.0 + np.exp(-score)):.0%}" for score in scores]


def _cell(value: Any) -> str:
    if isinstance(value, float):
        return "–" if np.isnan(value) else f"{value:.6g}"
    return "–" if value is None or value is pd.NA else str(value)
