"""Methods of the study of selection compared on the same draws: differences and their errors.

A study that was stopped has few draws of some models and sizes, which are left out or named.
"""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from pessimal.reproduction.selection.models import KINDS

SITUATIONS = ("clean", "noise", "shift", "evasion")
EVERYWHERE = "accuracy_everywhere"
"""The mean accuracy over the situations, in all of which every model can be measured."""

PLACES = {
    "accuracy": (*SITUATIONS, "attack"),
    "log loss": (*SITUATIONS, "attack"),
    "changed": ("again", "order", "bootstrap"),
}
"""What is measured, and where."""

COLUMNS = {
    (kind, place): f"{kind.replace(' ', '_')}_{place}"
    for kind, places in PLACES.items()
    for place in places
}
GAINS = {"accuracy": 1.0, "log loss": -1.0, "changed": -1.0}
"""Whether more of it is better."""

CLEAR = 2.0
"""Standard errors by which a difference is told from chance."""


def finished(rows: pd.DataFrame) -> tuple[pd.DataFrame, str]:
    """Leave out numbers of rows whose draws a stopped run has hardly begun; say which.

    All draws of a model begin together but for those that take longest, which come last. So of a
    run that was stopped some have at most one draw more than others, or few draws at all.
    """
    counts = rows.groupby(["model", "data", "n"])["seed"].nunique()
    least = counts.groupby(["model", "n"]).min()
    few = least[least < least.groupby("model").transform("max") - 1]
    kept = rows[~pd.MultiIndex.from_frame(rows[["model", "n"]]).isin(few.index)]
    return kept, ", ".join(f"{model} n = {n} ({draws})" for (model, n), draws in few.items())


def all_drawn(rows: pd.DataFrame) -> list[str]:
    """Return the models that no other has more draws than.

    Of a study that was stopped, few draws of a model would hide what it costs, not show it.
    """
    counts = _least_draws(rows)
    return [model for model in KINDS if counts.get(model) == counts.max()]


def _least_draws(rows: pd.DataFrame) -> pd.Series:
    counts = rows.groupby(["model", "data", "n"])["seed"].nunique()
    return counts.groupby("model").min()


def draws_of(rows: pd.DataFrame) -> str:
    """Say how many draws there are of each table."""
    counts = _least_draws(rows)
    each = [f"{model} {counts[model]}" for model in KINDS if model in counts]
    return f"Draws of each table, at least: {', '.join(each)}"


def with_mean(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the rows with the mean accuracy over the situations."""
    accuracies = [COLUMNS["accuracy", situation] for situation in SITUATIONS]
    return rows.assign(**{EVERYWHERE: rows[accuracies].mean(axis=1)})


def differences(rows: pd.DataFrame, reference: str, sizes: Sequence[str] = ()) -> pd.DataFrame:
    """Return by table: means, paired differences to a method, their standard errors over draws.

    Sizes of one table share its rows, so they are averaged first, unless asked for apart. One draw
    alone has no standard error: NaN.
    """
    keys = ["model", "data", *sizes]
    measured = [name for name in (*COLUMNS.values(), EVERYWHERE) if name in rows]
    long = rows.melt([*keys, "seed", "method"], measured, "measure").dropna(subset="value")
    values = long.groupby([*keys, "measure", "seed", "method"])["value"].mean().unstack("method")
    draws = pd.DataFrame(
        {"mean": values.stack(), "difference": values.sub(values[reference], axis=0).stack()}
    ).groupby([*keys, "measure", "method"])
    return draws.mean().assign(error=draws["difference"].sem())


def over_tables(by_table: pd.DataFrame, *keys: str) -> pd.DataFrame:
    """Return means over tables, by keys; tables are fixed, so errors are those of draws alone."""
    grouped = by_table.groupby([*keys, "measure", "method"])
    # Where one error is unknown, so is that of the mean.
    errors = grouped["error"].agg(lambda each: (each**2).sum(skipna=False) ** 0.5 / len(each))
    return grouped[["mean", "difference"]].mean().assign(error=errors)


def verdict(entry: pd.Series, kind: str) -> str:
    """Say whether a difference is a gain, a loss, or not to be told from chance."""
    gain = GAINS[kind] * entry["difference"]
    if abs(gain) > CLEAR * entry["error"]:  # never, if the error is unknown
        return "ahead" if gain > 0.0 else "behind"
    return "level"


def written(entry: pd.Series, kind: str) -> str:
    """Write a difference and its standard error: in points, or in units of the log loss."""
    scale, digits = _units(kind)
    known = pd.notna(entry["error"])
    error = f"{scale * entry['error']:.{digits}f}" if known else "?"
    return f"{scale * entry['difference']:+.{digits}f} ± {error}"


def written_mean(entry: pd.Series, kind: str) -> str:
    """Write a mean: in per cent, or in units of the log loss."""
    scale, digits = _units(kind)
    return f"{scale * entry['mean']:.{digits}f}"


def _units(kind: str) -> tuple[float, int]:
    return {"accuracy": (100.0, 1), "log loss": (1.0, 3), "changed": (100.0, 2)}[kind]
