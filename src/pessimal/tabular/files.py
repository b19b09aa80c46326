"""Read a CSV or Parquet file, or a data set that comes with the package, as it stands.

Nothing is guessed that could go wrong in silence: a header with a name twice, or a row with more
cells than the header, is refused.
"""

from __future__ import annotations

import csv
import warnings
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from pessimal.datasets import load_cancer, load_diabetes
from pessimal.errors import InvalidInputError, import_extra

_EMBEDDED = {
    "cancer": (load_cancer, ("benign", "malignant")),
    "diabetes": (load_diabetes, ("negative", "positive")),
}
_EMBEDDED_TARGET = "class"
_PARQUET = (".parquet", ".pq")
_SEPARATORS = ",;\t"
_QUESTION_MARK = "?"


@dataclass(frozen=True, eq=False)
class Source:
    """A table as read, what to call it, and its target where that is known.

    Attributes
    ----------
    name : str
        The path or the name of the data set, as given.
    frame : pandas.DataFrame
        All columns, none interpreted.
    target : str or None
        The column of the classes in a data set of the package.
    notes : tuple of str
        A sentence for every column in which a question mark was taken for a missing cell.
    """

    name: str
    frame: pd.DataFrame
    target: str | None = None
    notes: tuple[str, ...] = ()


def read_source(name: str) -> Source:
    """Read a table.

    Parameters
    ----------
    name : str
        ``"cancer"``, ``"diabetes"``, or the path of a file: Parquet when it ends in ``.parquet`` or
        ``.pq``, else CSV in UTF-8 with a header, separated by commas, semicolons or tabs.

    Returns
    -------
    Source

    Examples
    --------
    >>> source = read_source("cancer")
    >>> source.frame.shape, source.target
    ((449, 10), 'class')
    """
    if name in _EMBEDDED:
        load, classes = _EMBEDDED[name]
        dataset = load()
        frame = pd.DataFrame(dataset.X, columns=list(dataset.feature_names))
        frame[_EMBEDDED_TARGET] = np.where(dataset.y > 0.0, classes[1], classes[0])
        return Source(name, frame, _EMBEDDED_TARGET)
    path = Path(name)
    try:
        frame = _parquet(path) if path.suffix.lower() in _PARQUET else _csv(path)
    except OSError as error:
        reason = error.strerror or str(error)
        raise InvalidInputError(
            f"{name} cannot be read ({reason}); pass the path of a CSV or Parquet file, "
            f"or one of {', '.join(_EMBEDDED)}"
        ) from None
    if frame.empty:
        raise InvalidInputError(f"{name} has no rows; pass a table with a header and rows below")
    frame, notes = _without_question_marks(frame)
    return Source(name, frame, notes=notes)


def _without_question_marks(frame: pd.DataFrame) -> tuple[pd.DataFrame, tuple[str, ...]]:
    """Read a lone "?" as a missing cell, which it is in many published tables, and say so."""
    columns, notes = {}, []
    for name in frame.columns[~frame.dtypes.map(pd.api.types.is_numeric_dtype)]:
        marked = frame[name].astype(str).str.strip() == _QUESTION_MARK
        if marked.any():
            cells = frame[name].mask(marked)
            numbers = pd.to_numeric(cells, errors="coerce")
            columns[name] = numbers if numbers.notna().equals(cells.notna()) else cells
            notes.append(f"Cells with a ? in {name!r}, taken as missing: {marked.sum()}.")
    return frame.assign(**columns), tuple(notes)


def _parquet(path: Path) -> pd.DataFrame:
    arrow = import_extra("pyarrow", "parquet")
    try:
        frame = pd.read_parquet(path)
    except (ValueError, arrow.ArrowException) as error:
        raise InvalidInputError(
            f"{path} is not a Parquet file that can be read ({error}); write it again, or pass CSV"
        ) from None
    names = [str(name) for name in frame.columns]
    _require_distinct(path, names)
    return frame.set_axis(names, axis=1).reset_index(drop=True)


def _csv(path: Path) -> pd.DataFrame:
    try:
        with path.open(encoding="utf-8-sig", newline="") as lines:
            first = lines.readline()
            separator = max(_SEPARATORS, key=first.count)
            lines.seek(0)
            rows = csv.reader(lines, delimiter=separator, skipinitialspace=True, strict=True)
            names = next(rows, [])
            _require_distinct(path, names)
            with warnings.catch_warnings():
                # Rows longer than the header lose their last cells with no more than a warning.
                warnings.simplefilter("error", pd.errors.ParserWarning)
                return pd.read_csv(
                    path,
                    sep=separator,
                    encoding="utf-8-sig",
                    skipinitialspace=True,
                    index_col=False,
                    low_memory=False,
                )
    except pd.errors.ParserWarning:
        raise InvalidInputError(
            f"{path} has rows with more cells than its header has names; name every column"
        ) from None
    except UnicodeDecodeError:
        raise InvalidInputError(
            f"{path} is not in UTF-8; save it as UTF-8, which spreadsheets call CSV UTF-8"
        ) from None
    except (ValueError, csv.Error, OverflowError) as error:
        raise InvalidInputError(
            f"{path} cannot be read as CSV ({error}); pass a table with one header line"
        ) from None


def _require_distinct(path: Path, names: list[str]) -> None:
    if not any(names):
        raise InvalidInputError(f"{path} has no header; name the columns in the first line")
    for name, count in Counter(names).items():
        if count > 1:
            raise InvalidInputError(
                f"{path} has more than one column called {name!r}; give every column its own name"
            )
