"""How the columns of a table become features, written down so that later rows go the same way.

Numbers and booleans are features as they are. Text becomes one 0-1 feature per category, or
is refused. Dates, constant and empty columns are left out. Cells without a value make their row
incomplete, or are filled with the column's median (text: its most frequent category).

Why not scikit-learn's ColumnTransformer: with the fills and categories of a model file it is one
step per column, not shorter, and took 60 times as long on 150 columns, 200 times on 2,000. Nor can
its steps be used as they are: to OneHotEncoder a category that it never saw is zeros or an error,
not a missing cell, and a table without rows, such as ``--test-size 0`` holds out, is refused.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
import pandas as pd

from pessimal.errors import InvalidInputError, shortened
from pessimal.labels import listed
from pessimal.problem import Matrix

Missing: TypeAlias = Literal["drop", "fill"]
Text: TypeAlias = Literal["refuse", "one-hot"]

MOST_CATEGORIES = 20
"""Text with more values than this is a name or a remark, not a category."""

MANY_ROWS = 10
"""Fewer rows than this may be in order by chance."""

_WITH_COMMAS = r"[-+]?[\d.]*(,\d+)+(\.\d+)?"
_DATE = re.compile(r"\d{1,4}([-/.])\d{1,2}\1\d{1,4}([ T].*)?")


@dataclass(frozen=True)
class Column:
    """A column that is used: text has categories; without a fill, missing cells stay missing."""

    name: str
    categories: tuple[str, ...] | None = None
    fill: float | str | None = None

    @property
    def feature_names(self) -> tuple[str, ...]:
        """Names of the features this column gives."""
        if self.categories is None:
            return (self.name,)
        return tuple(f"{self.name} = {category}" for category in self.categories)


@dataclass(frozen=True)
class ColumnEncoder:
    """The columns that are used, in order, and a sentence on each left out or encoded."""

    columns: tuple[Column, ...]
    notes: tuple[str, ...] = ()

    @property
    def feature_names(self) -> tuple[str, ...]:
        """Names of all features, in order."""
        return tuple(name for column in self.columns for name in column.feature_names)

    def features(self, frame: pd.DataFrame) -> pd.DataFrame:
        """Turn a table into features; NaN where a cell is missing and nothing fills it.

        The table has at least the columns of the encoder; others are ignored.
        """
        absent = [column.name for column in self.columns if column.name not in frame.columns]
        if absent:
            raise InvalidInputError(
                f"the table has no column {shortened(absent[0])}; pass one with the columns "
                f"{', '.join(shortened(column.name) for column in self.columns)}"
            )
        numeric = [column for column in self.columns if column.categories is None]
        numbers = iter(_numeric_features(numeric, frame).T)
        table = np.column_stack(
            [
                next(numbers) if column.categories is None else _indicators(column, frame)
                for column in self.columns
            ]
        )
        return pd.DataFrame(table, index=frame.index, columns=self.feature_names)


def make_column_encoder(frame: pd.DataFrame, missing: Missing, text: Text) -> ColumnEncoder:
    """Decide what to do with every column of the rows to tune on, without the target."""
    columns, notes = [], []
    refused: dict[str, InvalidInputError] = {}
    for name in frame.columns:
        try:
            column, note = _decide(name, frame[name], missing, text)
        except InvalidInputError as error:
            refused[name] = error
            continue
        columns += [column] if column else []
        notes += [note] if note else []
    if refused:
        first, *others = refused
        more = f". Other columns that cannot be used as they are: {listed(others, 20)}"
        raise InvalidInputError(f"{refused[first]}{more if others else ''}")
    texts = [f"{c.name!r} ({len(c.categories)})" for c in columns if c.categories]
    if texts:
        notes.append(f"Text became features of 0 and 1, one per category: {', '.join(texts)}.")
    if not columns:
        raise InvalidInputError(
            f"no column is left to learn from: {' '.join(notes) or 'the target is the only one.'} "
            "Pass a table with at least one column of numbers that vary"
        )
    return ColumnEncoder(tuple(columns), tuple(notes))


def _decide(
    name: str, cells: pd.Series, missing: Missing, text: Text
) -> tuple[Column | None, str | None]:
    known = cells.dropna()
    numeric = pd.api.types.is_numeric_dtype(known)
    if known.empty:
        return None, f"{name!r} is empty and was left out."
    values = (known if numeric else _texts(known)).to_numpy()
    if (values == values[0]).all():
        return None, f"{name!r} has the same value in every row and was left out."
    if not numeric and _is_date(known):
        remedy = "to use it, turn it into a number, such as days"
        return None, f"{name!r} holds dates and was left out; {remedy}."
    numbers = _numbers(known)
    if not numbers.isna().any():
        column = Column(name, fill=float(numbers.median()) if missing == "fill" else None)
        return column, _row_number_note(name, numbers)
    if text == "refuse":
        raise InvalidInputError(_why_refused(name, _texts(known), numbers))
    return _categories(name, _texts(known), missing), None


def _why_refused(name: str, known: pd.Series, numbers: pd.Series) -> str:
    """Say what stands in the way of reading a column as numbers."""
    strange = known[numbers.isna()]
    if strange.str.fullmatch(_WITH_COMMAS).all():
        return (
            f"column {name!r} holds numbers with commas, such as {strange.iloc[0]!r}; "
            "write them with a decimal point and without separators of thousands"
        )
    if len(strange) > len(known) / 2:
        return (
            f"column {name!r} holds text such as {strange.iloc[0]!r}; encode it with --text "
            f"one-hot, or leave it out with --drop {name!r}"
        )
    return (
        f"column {name!r} holds numbers, but {strange.iloc[0]!r} in row {strange.index[0]} "
        f"(cells that are no numbers: {len(strange)} of {len(known)}); leave such cells empty to "
        "have them count as missing (--missing drop or fill), encode the column as text with "
        f"--text one-hot, or leave it out with --drop {name!r}"
    )


def _categories(name: str, known: pd.Series, missing: Missing) -> Column:
    counts = known.value_counts()
    if len(counts) > MOST_CATEGORIES:
        raise InvalidInputError(
            f"column {name!r} holds {len(counts)} different texts, more than the "
            f"{MOST_CATEGORIES} that can be encoded; group them, or leave it out with "
            f"--drop {name!r}"
        )
    categories = tuple(sorted(counts.index))
    return Column(name, categories, str(counts.index[0]) if missing == "fill" else None)


def _row_number_note(name: str, numbers: pd.Series) -> str | None:
    """Warn of whole numbers that grow from row to row, as the number of a row or a patient does."""
    values = numbers.to_numpy()
    if len(values) < MANY_ROWS or not (np.diff(values) > 0.0).all():
        return None
    if not np.isfinite(values).all() or (values % 1.0).any():
        return None
    return (
        f"{name!r} grows with every row, as a number of the row does; unless it means something, "
        f"leave it out with --drop {name!r}."
    )


def _is_date(known: pd.Series) -> bool:
    if pd.api.types.is_datetime64_any_dtype(known) or pd.api.types.is_timedelta64_dtype(known):
        return True
    return all(_DATE.fullmatch(cell) for cell in _texts(known))


def _texts(cells: pd.Series) -> pd.Series:
    return cells.astype(str).str.strip()


def _numbers(cells: pd.Series) -> pd.Series:
    """Read cells as floats, booleans as 0 and 1; NaN where that cannot be done."""
    if not pd.api.types.is_numeric_dtype(cells):
        cells = pd.to_numeric(_texts(cells).replace({"True": "1", "False": "0"}), errors="coerce")
    return pd.Series(cells.to_numpy(dtype=np.float64, na_value=np.nan), index=cells.index)


def _numeric_features(columns: list[Column], frame: pd.DataFrame) -> Matrix:
    """Features of columns of numbers, one each; those of a numeric type are read together."""
    cells = frame[[column.name for column in columns]]
    # One by one, thousands of columns would take minutes. What cannot be read counts as infinite.
    read = {
        name: _numbers(cells[name]).fillna(np.inf).where(cells[name].notna())
        for name, kind in cells.dtypes.items()
        if not pd.api.types.is_numeric_dtype(kind)
    }
    numbers = cells.assign(**read).to_numpy(dtype=np.float64, na_value=np.nan)
    for k in np.flatnonzero(np.isinf(numbers).any(axis=0)):
        row = int(np.argmax(np.isinf(numbers[:, k])))
        raise InvalidInputError(
            f"column {columns[k].name!r} holds {str(cells.iat[row, k])!r} in row "
            f"{cells.index[row]}; pass a finite number or an empty cell"
        )
    fill = [np.nan if column.fill is None else float(column.fill) for column in columns]
    return np.where(np.isnan(numbers), fill, numbers)


def _indicators(column: Column, frame: pd.DataFrame) -> Matrix:
    """Features of a column of text: a 1 for its category, 0 for the others."""
    categories = column.categories or ()
    cells = frame[column.name]
    texts = _texts(cells).where(cells.notna(), column.fill)
    rows = np.vstack([np.eye(len(categories)), np.full(len(categories), np.nan)])
    # A category that was not there before, −1, says as little as an empty cell: the last row.
    return np.asarray(rows[pd.Index(categories).get_indexer(texts)])
