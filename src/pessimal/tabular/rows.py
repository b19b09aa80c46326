"""The rows of a table: their labels of two classes, a stratified draw, and which are complete."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.model_selection import train_test_split

from pessimal.errors import InvalidInputError
from pessimal.labels import Classes, listed, signs, two_classes
from pessimal.problem import Vector
from pessimal.tabular.columns import ColumnEncoder
from pessimal.tabular.files import Source
from pessimal.tolerances import LARGEST_ENTRY

Positions: TypeAlias = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class Labelled:
    """The rows of a table that have a label.

    Attributes
    ----------
    columns : pandas.DataFrame
        Everything but the target and the columns left out on request; the index counts the rows
        of the file from 1.
    target : str
        The column of the labels.
    y : ndarray of shape (n_rows,)
        −1 for the first class, +1 for the second.
    classes : tuple
        The two labels: text, numbers or booleans.
    notes : tuple of str
        What was left out, a sentence each.
    """

    columns: pd.DataFrame
    target: str
    y: Vector
    classes: Classes
    notes: tuple[str, ...]

    def labels(self, y: Vector) -> NDArray[Any]:
        """Return the labels that signs stand for."""
        return np.array(self.classes, dtype=object)[(y > 0.0).astype(np.intp)]


def with_labels(source: Source, target: str | None, drop: Iterable[str] = ()) -> Labelled:
    """Take the target out of a table, and the rows that have none.

    Parameters
    ----------
    source : Source
    target : str or None
        The column of the labels; None where the source knows it.
    drop : iterable of str, optional
        Columns to leave out.

    Returns
    -------
    Labelled

    Examples
    --------
    >>> frame = pd.DataFrame({"size": [1, 2, 3], "kind": ["a", None, "b"]})
    >>> rows = with_labels(Source("toy", frame), "kind")
    >>> rows.y, rows.classes, rows.notes
    (array([-1.,  1.]), ('a', 'b'), ("Rows without a value in 'kind', left out: 1.",))
    """
    frame = source.frame.set_axis(range(1, len(source.frame) + 1), axis=0)
    known = listed(frame.columns, 20)
    target = source.target if target is None else target
    if target is None:
        raise InvalidInputError(
            f"target is not given; name the column that holds the two classes, one of {known}"
        )
    dropped = list(dict.fromkeys(drop))
    for argument, name in [("target", target), *(("drop", name) for name in dropped)]:
        if name not in frame.columns:
            raise InvalidInputError(f"{argument} is {name!r}; the columns are {known}")
    if target in dropped:
        raise InvalidInputError(f"drop names {target!r}, which is the target; leave out others")
    notes = list(source.notes)
    if dropped:
        notes.append(f"Left out on request: {', '.join(map(repr, dropped))}.")
    unlabelled = frame[target].isna()
    if unlabelled.any():
        notes.append(f"Rows without a value in {target!r}, left out: {unlabelled.sum()}.")
        frame = frame[~unlabelled]
    labels = np.array([_plain(label) for label in frame[target].tolist()], dtype=object)
    classes = two_classes(f"column {target!r}", labels)
    return Labelled(
        columns=frame.drop(columns=[target, *dropped]),
        target=target,
        y=signs(f"column {target!r}", labels, classes),
        classes=classes,
        notes=tuple(notes),
    )


@dataclass(frozen=True, eq=False)
class CompleteRows:
    """Features and signs of rows without missing cells; notes on what was filled and left out."""

    X: pd.DataFrame
    y: Vector
    notes: tuple[str, ...]


def draw_rows(table: Labelled, share: float, seed: int) -> tuple[Positions, Positions]:
    """Set a share of the rows aside, stratified by class; return both positions, in order."""
    rows = np.arange(len(table.y))
    if share == 0.0:
        return rows, rows[:0]
    try:
        kept, aside = train_test_split(rows, test_size=share, stratify=table.y, random_state=seed)
    except ValueError as error:
        raise InvalidInputError(
            f"{len(rows)} labelled rows cannot be split with a share of {share:g} set aside "
            f"({error}); pass more rows, or another share"
        ) from None
    return np.sort(kept), np.sort(aside)


def complete_rows(
    table: Labelled, rows: Positions, encoder: ColumnEncoder, purpose: str
) -> CompleteRows:
    """Take the features of the rows without missing cells, after filling what the encoder fills.

    The purpose is what the rows are for, to be said in the notes.
    """
    cells = table.columns.iloc[rows]
    X = encoder.features(cells)
    _require_moderate(X)
    filled = [
        f"{n_filled} in {column.name!r} with {_shown(column.fill)}"
        for column in encoder.columns
        if column.fill is not None and (n_filled := cells[column.name].isna().sum())
    ]
    notes = []
    if filled:
        gaps = f"Missing cells of the {len(cells)} rows to {purpose}, filled"
        notes.append(f"{gaps}: {', '.join(filled)}.")
    whole = X.notna().all(axis=1).to_numpy()
    if not whole.all():
        # By column, not by feature: of a category that the encoder does not know all are missing.
        without = {
            column.name: X[list(column.feature_names)].isna().any(axis=1)
            for column in encoder.columns
        }
        unknown = any((absent & cells[name].notna()).any() for name, absent in without.items())
        what = "missing cells or unknown categories" if unknown else "missing cells"
        most = max(without, key=lambda name: int(without[name].sum()))
        notes.append(
            f"Rows to {purpose} with {what}, left out: {np.sum(~whole)} of {len(whole)}, "
            f"most for {most!r}."
        )
    return CompleteRows(X[whole], table.y[rows][whole], tuple(notes))


def _require_moderate(X: pd.DataFrame) -> None:
    """Refuse numbers whose squares overflow, as those of a scaler would, by their columns."""
    beyond = X.abs() > LARGEST_ENTRY
    for name in X.columns[beyond.any()]:
        row = beyond[name].idxmax()
        raise InvalidInputError(
            f"column {name!r} holds {X.at[row, name]:g} in row {row}, and numbers may not "
            f"exceed {LARGEST_ENTRY:g}; give it in a larger unit, or leave it out "
            f"with --drop {name!r}"
        )


def require_both_classes(table: Labelled, rows: CompleteRows, purpose: str) -> None:
    """Refuse rows that leave a class with fewer than two: one to train, one to validate."""
    for sign, label in zip((-1.0, 1.0), table.classes, strict=True):
        n_rows = int(np.sum(rows.y == sign))
        if n_rows < 2:
            gaps = table.columns[table.y == sign].isna().sum()
            remedy = "pass more rows, or hold out fewer"
            if gaps.any():
                remedy = (
                    f"leave out the column with most missing cells (--drop {gaps.idxmax()!r}), "
                    f"fill them (--missing fill), {remedy}"
                )
            raise InvalidInputError(
                f"class {label!r} has {n_rows} complete row(s) to {purpose} and needs two; {remedy}"
            )


def _shown(fill: float | str) -> str:
    return repr(fill) if isinstance(fill, str) else f"{fill:.6g}"


def _plain(label: Any) -> str | int | float | bool:
    """Return a label that a JSON file can hold, without spaces around it.

    A column with gaps turns 1 into 1.0, which is undone.
    """
    if isinstance(label, float) and math.isfinite(label):
        return int(label) if label.is_integer() else label
    return label if isinstance(label, int) else str(label).strip()
