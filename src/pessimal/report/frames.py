"""A data frame as the text of a table, the same on a page and in Markdown."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Sequence
from numbers import Integral, Real

import pandas as pd
from pandas.api.types import is_bool_dtype, is_numeric_dtype

NOTHING = "–"
"""Where there is no value."""

_WRITTEN = str.maketrans({"\\": "\\\\", "|": "\\|", "<": "&lt;", "`": "\\`"})


def flat(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the frame with a named index as columns, and any other index left out."""
    named = any(name is not None for name in frame.index.names)
    return frame.reset_index() if named else frame.reset_index(drop=True)


def table_text(frame: pd.DataFrame) -> list[tuple[str, ...]]:
    """Return header and rows, every value in words or rounded."""
    frame = flat(frame)
    header = tuple(_heading(column) for column in frame.columns)
    # Column by column: across a row pandas would turn whole numbers into floats.
    columns = [[_value(item) for item in frame.iloc[:, k]] for k in range(frame.shape[1])]
    return [header, *zip(*columns, strict=True)]


def numeric_columns(frame: pd.DataFrame) -> frozenset[int]:
    """Return the places of the columns that hold numbers."""
    dtypes = flat(frame).dtypes
    return frozenset(
        place
        for place, dtype in enumerate(dtypes)
        if is_numeric_dtype(dtype) and not is_bool_dtype(dtype)
    )


def markdown_table(frame: pd.DataFrame) -> str:
    r"""Write a frame as a table in Markdown; no value can break out of its cell."""
    header, *body = table_text(frame)
    return markdown(header, body, numeric_columns(frame))


def markdown(
    header: Sequence[str], body: Iterable[Sequence[str]], numeric: Collection[int] = ()
) -> str:
    """Write words as a table in Markdown, with the columns of numbers aligned to the right."""
    rule = ["---:" if place in numeric else "---" for place in range(len(header))]
    lines = [[_safe(word) for word in header], rule, *([_safe(w) for w in row] for row in body)]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def _heading(column: object) -> str:
    return " ".join(map(str, column)) if isinstance(column, tuple) else str(column)


def _value(value: object) -> str:
    if value is None or value is pd.NA or value is pd.NaT:
        return NOTHING
    if isinstance(value, bool) or type(value).__name__ == "bool":  # Python's and NumPy's
        return "yes" if value else "no"
    if isinstance(value, Real) and not isinstance(value, Integral):
        return _number(float(value))
    return str(value)


def _number(value: float) -> str:
    if math.isnan(value):
        return NOTHING
    tiny = 0.0 < abs(value) < 0.0005
    return f"{value:.1e}" if tiny else f"{value + 0.0:.3f}"  # no minus before a zero


def _safe(word: str) -> str:
    return " ".join(word.split()).translate(_WRITTEN)
