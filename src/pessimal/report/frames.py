"""A data frame as the text of a table, the same on a page and in Markdown."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Any

import pandas as pd
from pandas.api.types import is_any_real_numeric_dtype, is_bool, is_float, is_scalar

_NOTHING = "–"
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
    dtypes = enumerate(flat(frame).dtypes)
    return frozenset(place for place, dtype in dtypes if is_any_real_numeric_dtype(dtype))


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


def _value(value: Any) -> str:
    if is_scalar(value) and pd.isna(value):
        return _NOTHING
    if is_bool(value):
        return "yes" if value else "no"
    if is_float(value):
        tiny = 0.0 < abs(value) < 0.0005
        return f"{value:.1e}" if tiny else f"{value + 0.0:.3f}"  # no minus before a zero
    return str(value)


def _safe(word: str) -> str:
    return " ".join(word.split()).translate(_WRITTEN)
