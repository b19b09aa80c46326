"""Which rows do what: a stratified draw, and the rows of it whose cells are all there."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.model_selection import train_test_split

from pessimal.errors import InvalidInputError
from pessimal.problem import Vector
from pessimal.tabular.labelled import Labelled
from pessimal.tabular.recipe import Recipe

Positions: TypeAlias = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class CompleteRows:
    """Rows without missing cells.

    Attributes
    ----------
    X : pandas.DataFrame
        Features; the index counts the rows of the file from 1.
    y : ndarray of shape (n_rows,)
        Labels −1 and +1.
    notes : tuple of str
        A sentence about every column with filled cells and about the rows left out, if any.
    """

    X: pd.DataFrame
    y: Vector
    notes: tuple[str, ...]


def draw_rows(table: Labelled, share: float, seed: int) -> tuple[Positions, Positions]:
    """Set a share of the rows aside, stratified by class.

    Parameters
    ----------
    table : Labelled
    share : float
        0 for none.
    seed : int

    Returns
    -------
    kept, aside : ndarray of int
        Positions, in order.
    """
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


def complete_rows(table: Labelled, rows: Positions, recipe: Recipe, purpose: str) -> CompleteRows:
    """Take the features of the rows without missing cells, after filling what the recipe fills.

    Parameters
    ----------
    table : Labelled
    rows : ndarray of int
        Positions of the rows.
    recipe : Recipe
    purpose : str
        What the rows are for, to be said in the note.

    Returns
    -------
    CompleteRows

    Examples
    --------
    >>> from pessimal.tabular import Source, make_recipe, with_labels
    >>> frame = pd.DataFrame({"size": [1.0, None, 3.0], "kind": ["a", "b", "b"]})
    >>> table = with_labels(Source("toy", frame), "kind")
    >>> recipe = make_recipe(table.columns, "drop", "refuse")
    >>> rows = complete_rows(table, np.arange(3), recipe, "tune on")
    >>> rows.y, rows.notes[0]
    (array([-1.,  1.]), "Rows to tune on with missing cells, left out: 1 of 3, most for 'size'.")
    """
    cells = table.columns.iloc[rows]
    X = recipe.features(cells)
    notes = tuple(
        f"Rows to {purpose} without a value in {column.name!r}, filled with {column.fill}: "
        f"{n_filled} of {len(cells)}."
        for column in recipe.columns
        if column.fill is not None and (n_filled := cells[column.name].isna().sum())
    )
    whole = X.notna().all(axis=1).to_numpy()
    if whole.all():
        return CompleteRows(X, table.y[rows], notes)
    note = (
        f"Rows to {purpose} with missing cells, left out: {np.sum(~whole)} of {len(whole)}, "
        f"most for {X.isna().sum().idxmax()!r}."
    )
    return CompleteRows(X[whole], table.y[rows][whole], (*notes, note))


def require_both_classes(table: Labelled, rows: CompleteRows, purpose: str) -> None:
    """Refuse rows that leave a class with fewer than two: one to train, one to validate."""
    for sign, label in zip((-1.0, 1.0), table.classes, strict=True):
        n_rows = int(np.sum(rows.y == sign))
        if n_rows < 2:
            raise InvalidInputError(
                f"class {label!r} has {n_rows} complete row(s) to {purpose} and needs two; pass "
                "more rows, hold out fewer, or fill missing cells"
            )
