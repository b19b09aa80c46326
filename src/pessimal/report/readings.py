"""What the paper calls pessimistic and optimistic, held against rows of ours.

The pessimistic column of the paper's tables is the accuracy of the pessimistic model. The
optimistic one is that of the *evaluated* optimistic model, which hangs on two things the paper
leaves open: which of the boxes that share the optimum is kept, and which labels are flipped. A
`Reading` settles both.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import pandas as pd

from pessimal.report.wording import SYMBOLS

LARGEST, SMALLEST = "largest_box", "smallest_box"


@dataclass(frozen=True)
class Reading:
    """Rows of one kind, and the column of the paper they are held against."""

    name: str
    published: Literal["pessimistic", "optimistic"]
    model: str
    tie_break: str
    flip: str

    def rows(self, rows: pd.DataFrame) -> pd.DataFrame:
        """Return the rows of this kind."""
        return rows[
            (rows["model"] == self.model)
            & (rows["tie_break"] == self.tie_break)
            & (rows["flip"] == self.flip)
        ]


def pessimistic(flip: str) -> Reading:
    """Return the pessimistic model itself; its box plays no part."""
    return Reading("pessimistic", "pessimistic", "pessimistic", SMALLEST, flip)


def evaluated(tie_break: str, flip: str) -> Reading:
    """Return the optimistic model evaluated in the worst case."""
    name = f"evaluated optimistic, {tie_break.replace('_', ' ')}"
    return Reading(name, "optimistic", "optimistic evaluated", tie_break, flip)


def unevaluated(flip: str) -> Reading:
    """Return the optimistic model as it was tuned."""
    return Reading("optimistic, not evaluated", "optimistic", "optimistic", SMALLEST, flip)


def compare(
    rows: pd.DataFrame, paper: pd.DataFrame, keys: Sequence[str], readings: Sequence[Reading]
) -> pd.DataFrame:
    """Put mean accuracies beside the paper's.

    Parameters
    ----------
    rows : DataFrame
        Rows of a study.
    paper : DataFrame
        A table of the paper.
    keys : sequence of str
        Columns of both that name a line of the table.
    readings : sequence of Reading

    Returns
    -------
    DataFrame
        The keys, ``reading``, ``paper``, ``ours``, ``difference``, and ``standard_error`` of the
        mean over our draws. Lines that only one side has are left out.

    Examples
    --------
    >>> rows = pd.DataFrame(
    ...     {"n": [5, 5], "model": "pessimistic", "tie_break": SMALLEST, "flip": "all",
    ...      "test_accuracy": [0.5, 0.75]}
    ... )
    >>> paper = pd.DataFrame({"n": [5], "pessimistic": [0.5]})
    >>> compare(rows, paper, ["n"], [pessimistic("all")])["difference"].to_list()
    [0.125]
    """
    tables = []
    for reading in readings:
        groups = reading.rows(rows).groupby(list(keys))["test_accuracy"]
        ours = groups.agg(ours="mean", standard_error="sem").reset_index()
        published = paper[[*keys, reading.published]].rename(columns={reading.published: "paper"})
        table = published.merge(ours, on=list(keys)).assign(reading=reading.name)
        tables.append(table.assign(difference=table["ours"] - table["paper"]))
    columns = [*keys, "reading", "paper", "ours", "difference", "standard_error"]
    return pd.concat(tables, ignore_index=True)[columns]


def summary(compared: pd.DataFrame) -> pd.DataFrame:
    """Summarise the differences of each data set and reading."""
    groups = compared.groupby(["data", "reading"], sort=False)["difference"]
    return groups.agg(
        lines="size",
        mean_absolute_difference=lambda values: values.abs().mean(),
        mean_difference="mean",
        largest_absolute_difference=lambda values: values.abs().max(),
    ).reset_index()


def printed(compared: pd.DataFrame, keys: Sequence[str]) -> pd.DataFrame:
    """Return one line a key for print: paper, then ours, difference and error of each reading.

    The columns of a reading are headed by its box, if it has one.
    """
    names = list(dict.fromkeys(compared["reading"]))
    wide = compared.pivot(index=[*keys, "paper"], columns="reading")
    columns = {
        f"{name.partition(', ')[2]} {value.replace('_', ' ')}".strip(): wide[value, name]
        for name in names
        for value in ("ours", "difference", "standard_error")
    }
    return pd.DataFrame(columns).reset_index().rename(columns=SYMBOLS)
