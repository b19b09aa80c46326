"""How many draws there are of what: a study of selection that was stopped has few of some."""

from __future__ import annotations

import pandas as pd

from pessimal.reproduction.selection.models import KINDS


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
