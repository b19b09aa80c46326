"""What the paper calls pessimistic and optimistic, held against rows of ours.

The pessimistic column of the paper's tables is the accuracy of the pessimistic model. The
optimistic one is that of the *evaluated* optimistic model, which depends on two things the paper
leaves open: which of the boxes that share the optimum is kept, and which labels are flipped. A
`Reading` settles both.

The paper's tables are kept to the digit. Table 1 has the sizes of the data sets; A1 the accuracies
with limited data; A2 and A3 those with perturbed test rows, on clean and on perturbed validation
rows. Accuracies come with the standard deviation over the paper's runs. The first five deviations
of the pessimistic column for Cancer in Table A3 are ten times their neighbours; they are kept as
printed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from typing import Literal

import pandas as pd

from pessimal.report import Table

PaperTable = Literal["1", "a1", "a2", "a3"]
LARGEST, SMALLEST = "largest_box", "smallest_box"
DATA_NAMES = {"cancer": "Cancer", "diabetes": "Diabetes"}
SYMBOLS = {
    "n_train": "|T|",
    "n_val": "|V|",
    "rho_val": "ρ validation",
    "rho_test": "ρ test",
    "epsilon": "ε",
}
"""What the paper calls the columns of rows."""


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


def evaluated(tie_break: str, flip: str, view: str = "optimistic") -> Reading:
    """Return the model of a view evaluated in the worst case; the paper's is the optimistic."""
    name = f"evaluated {view}, {tie_break.replace('_', ' ')}"
    return Reading(name, "optimistic", f"{view} evaluated", tie_break, flip)


def readings(flip: str) -> tuple[Reading, Reading, Reading, Reading]:
    """Return the pessimistic model, the optimistic one evaluated in both boxes, and as tuned."""
    boxes = evaluated(LARGEST, flip), evaluated(SMALLEST, flip)
    tuned = Reading("optimistic, not evaluated", "optimistic", "optimistic", SMALLEST, flip)
    return pessimistic(flip), *boxes, tuned


def of_readings(compared: pd.DataFrame, *readings: Reading) -> pd.DataFrame:
    """Return the lines of some readings."""
    return compared[compared["reading"].isin([reading.name for reading in readings])]


def compare(
    rows: pd.DataFrame, paper: pd.DataFrame, keys: Sequence[str], readings: Sequence[Reading]
) -> pd.DataFrame:
    """Put mean accuracies of a study beside a table of the paper, whose lines the keys name.

    The standard error is that of the mean over our draws. Lines that only one side has are left
    out.
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
    """Return one line per key; the columns of a reading are headed by its box, if it has one."""
    names = list(dict.fromkeys(compared["reading"]))
    wide = compared.pivot(index=[*keys, "paper"], columns="reading")
    columns = {
        f"{name.partition(', ')[2]} {value.replace('_', ' ')}".strip(): wide[value, name]
        for name in names
        for value in ("ours", "difference", "standard_error")
    }
    return pd.DataFrame(columns).reset_index().rename(columns=SYMBOLS)


def beside_paper(
    compared: pd.DataFrame,
    name: PaperTable,
    keys: Sequence[str],
    setting: str = "",
    extent: str = "",
) -> tuple[Table, ...]:
    """Return a table of the paper beside ours: pessimistic, optimistic, and all differences."""
    title, (own, *boxes, _) = f"Table {name.upper()}", readings("")
    return (
        Table(
            f"table-{name}-pessimistic",
            f"{title}, pessimistic{setting}: mean test accuracy. The standard error is that of our "
            "mean.",
            printed(of_readings(compared, own), keys),
        ),
        Table(
            f"table-{name}-optimistic",
            f"{title}, optimistic evaluated in the worst case{setting}, in both boxes.",
            printed(of_readings(compared, *boxes), keys),
        ),
        Table(
            f"table-{name}-differences",
            f"Differences from {title}{extent} by reading.",
            summary(compared),
        ),
    )


def mean_difference(compared: pd.DataFrame, reading: Reading) -> str:
    """Write the mean absolute difference of a reading from the paper on each data set."""
    own = of_readings(compared, reading)
    means = own["difference"].abs().groupby(own["data"], sort=False).mean()
    return by_data((data, f"{value:.3f}") for data, value in means.items())


def paper_table(name: PaperTable) -> pd.DataFrame:
    """Return a table of the paper: its keys, then each view's accuracy and standard deviation."""
    file = resources.files("pessimal.reproduction.report") / "paper" / f"table_{name}.csv"
    with file.open(encoding="utf-8") as text:
        return pd.read_csv(text)


def by_data(values: Mapping[str, str] | Iterable[tuple[str, str]]) -> str:
    """Join what is said of each data set: ``0.1 (Cancer) and 0.2 (Diabetes)``."""
    return " and ".join(f"{text} ({DATA_NAMES[data]})" for data, text in dict(values).items())


def share(flags: pd.Series) -> str:
    """Say how many of the flags are set: ``2 of 3``."""
    return f"{int(flags.sum())} of {len(flags)}"


def share_by_data(flags: pd.Series) -> str:
    """Say how many of the flags of each data set, a level of their index, are set."""
    return by_data((data, share(own)) for data, own in flags.groupby("data"))


def mean_by_data(values: pd.Series) -> str:
    """Write the mean of differences on each data set, with its sign and standard error.

    A seed has one test half, whatever the sizes, radii and tolerances. What shares it is averaged
    first, so that the standard error is one over independent draws.

    Examples
    --------
    >>> draws = {"data": "cancer", "seed": [0, 0, 1, 1], "gain": [0.0, 0.02, 0.02, 0.04]}
    >>> mean_by_data(pd.DataFrame(draws).set_index(["data", "seed"])["gain"])
    '+0.020 ± 0.010 (Cancer)'
    """
    draws = values.groupby(["data", "seed"]).mean().groupby("data")
    return by_data((data, f"{draw.mean():+.3f} ± {draw.sem():.3f}") for data, draw in draws)
