"""Sentences made from numbers: means with their errors, shares, lists."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import pandas as pd

DATA_NAMES = {"cancer": "Cancer", "diabetes": "Diabetes"}


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


def mean_and_error(values: pd.Series) -> str:
    """Write a mean difference with its sign and standard error.

    Examples
    --------
    >>> mean_and_error(pd.Series([0.01, 0.03]))
    '+0.020 ± 0.010'
    """
    return f"{values.mean():+.3f} ± {values.sem():.3f}"
