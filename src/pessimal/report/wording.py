"""Sentences made from numbers: means with their errors, shares, lists."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import pandas as pd

DATA_NAMES = {"cancer": "Cancer", "diabetes": "Diabetes"}
SYMBOLS = {
    "n_train": "|T|",
    "n_val": "|V|",
    "rho_val": "ρ validation",
    "rho_test": "ρ test",
    "epsilon": "ε",
}
"""What the paper calls the columns of rows."""


def by_data(values: Mapping[str, str] | Iterable[tuple[str, str]]) -> str:
    """Join what is said of each data set.

    Examples
    --------
    >>> by_data({"cancer": "0.1", "diabetes": "0.2"})
    '0.1 (Cancer) and 0.2 (Diabetes)'
    """
    return " and ".join(f"{text} ({DATA_NAMES[data]})" for data, text in dict(values).items())


def share(flags: pd.Series) -> str:
    """Say how many of the flags are set.

    Examples
    --------
    >>> share(pd.Series([True, False, True]))
    '2 of 3'
    """
    return f"{int(flags.sum())} of {len(flags)}"


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
