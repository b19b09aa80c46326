"""Rows as tuning sees them, no row twice, and which of them validate.

Identical rows are merged and their weights added, rows of weight 0 dropped, the rest sorted. So a
row of weight k is the same as k equal rows, and the order of rows does not matter.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pessimal.errors import InvalidInputError
from pessimal.problem import Mask, Matrix, Vector, distinct_rows

MANY, LARGE = 10, 0.02
"""Rows with equal features are divided if they are this many and a larger share than this."""

_CLASSES = np.array([-1.0, 1.0])


@dataclass(frozen=True, eq=False)
class Rows:
    """Features, labels −1 and +1, and weights of n rows."""

    X: Matrix
    y: Vector
    weight: Vector


@dataclass(frozen=True, eq=False)
class Distinct:
    """Merged rows, the sets they belong to, and where each original row went (−1: dropped)."""

    rows: Rows
    sets: Mask
    position: NDArray[np.intp]


def distinct(rows: Rows, sets: Mask) -> Distinct:
    """Merge the rows that agree in features, label and membership of the k sets; k may be 0."""
    used = np.flatnonzero(rows.weight > 0.0)
    # Adding 0 turns −0 into 0, which is equal but sorts apart.
    table = np.column_stack([rows.y, rows.X, sets])[used] + 0.0
    unique, inverse = distinct_rows(table)
    position = np.full(len(rows.y), -1, dtype=np.intp)
    position[used] = inverse
    p = rows.X.shape[1]
    weight = np.bincount(inverse, weights=rows.weight[used]).astype(np.float64)
    return Distinct(
        Rows(unique[:, 1 : p + 1], unique[:, 0], weight),
        unique[:, p + 1 :].astype(np.bool_),
        position,
    )


def draw_validation(rows: Rows, share: float, random: np.random.RandomState) -> Vector:
    """Draw a validation set by class that leaves training rows of both.

    Rows equal in their features stay together, whatever their labels, so that nothing learnt by
    heart is validated on. But where many rows of a table have the same features, as in one of few
    categories, they would decide what either set looks like: such rows are divided in proportion.
    Weights that are whole numbers count copies of a row; others are not divided.

    The rows are distinct, of both classes, at least three. Of their copies a share is drawn, at
    least one, and one of each class left; returned is how much of each row's weight validates.
    """
    counted = bool((rows.weight % 1.0 == 0.0).all() and rows.weight.max() < 2.0**53)
    # A table whose rows all come in pairs is the table of half as many.
    unit = np.gcd.reduce(rows.weight.astype(np.int64)) if counted else rows.weight
    copies = rows.weight / unit
    by_class = copies[:, None] * (rows.y[:, None] == _CLASSES)
    wanted = _quota(by_class.sum(axis=0), share)

    _, group = distinct_rows(rows.X)
    groups = np.zeros((group.max() + 1, 2))
    np.add.at(groups, group, by_class)
    size = groups.sum(axis=1)
    divided = (size >= MANY) & (size > LARGE * size.sum()) & counted

    drawn = np.zeros(len(copies))
    for k in range(2):
        cells = divided[group] & (by_class[:, k] > 0.0)
        drawn[cells] = _apportion(copies[cells], wanted[k] / by_class[:, k].sum())
    chosen = _choose(groups, divided, wanted - drawn @ (by_class > 0.0), random)
    drawn[chosen[group]] = copies[chosen[group]]
    return np.asarray(drawn * unit)


def divide(merged: Distinct, rows: Rows, drawn: Vector) -> Distinct:
    """Put what `draw_validation` drew of each merged row into V, their one set.

    A row that is divided is there twice. An original row is on the side that has the most of it.
    """
    weight = merged.rows.weight
    parts = 1 + ((drawn > 0.0) & (drawn < weight))
    source = np.repeat(np.arange(len(weight)), parts)
    first = np.cumsum(parts) - parts
    in_val = drawn[source] > 0.0
    in_val[first[parts == 2]] = False
    position = np.where(merged.position >= 0, first[merged.position], -1)
    for row in np.flatnonzero(parts == 2):
        members = np.flatnonzero(merged.position == row)
        middle = np.cumsum(rows.weight[members]) - rows.weight[members] / 2.0
        position[members] += middle <= drawn[row]
    return Distinct(
        Rows(
            merged.rows.X[source],
            merged.rows.y[source],
            np.where(in_val, drawn[source], (weight - drawn)[source]),
        ),
        in_val[:, None],
        position,
    )


def _quota(sizes: Vector, share: float) -> Vector:
    """Share copies out to the classes, at least one copy, leaving one of each class."""
    total = float(np.clip(round(share * sizes.sum()), 1.0, sizes.sum() - 2.0))
    first = np.floor(total * sizes[0] / sizes.sum() + 0.5)
    first = np.clip(first, total - (sizes[1] - 1.0), sizes[0] - 1.0)
    return np.array([first, total - first])


def _choose(groups: Matrix, divided: Mask, wanted: Vector, random: np.random.RandomState) -> Mask:
    """Choose among groups that stay together, in random order, what comes near the wanted copies.

    Groups are given by their copies of each class; there must be some to choose from, or some that
    are divided.
    """
    sizes = groups.sum(axis=0)
    left, short = sizes.copy(), wanted.copy()
    chosen = np.zeros(len(groups), dtype=np.bool_)

    def gain(g: int) -> float:
        """By how much nearer the wanted copies are; never take the last of a class."""
        if divided[g] or ((left <= groups[g]) & (groups[g] > 0.0)).any():
            return -np.inf
        return float((groups[g] * (2.0 * short - groups[g]) / sizes).sum())

    mostly_first = groups[:, 0] >= groups[:, 1]
    for members in (mostly_first & ~divided, ~mostly_first & ~divided):
        for g in random.permutation(np.flatnonzero(members)):
            if gain(g) > 0.0:
                chosen[g] = True
                short -= groups[g]
                left -= groups[g]
    if not (chosen.any() or divided.any()):
        chosen[max(range(len(groups)), key=gain)] = True
    return chosen


def _apportion(copies: Vector, share: float) -> Vector:
    """Take a share of whole copies, as near to it in each as whole copies allow."""
    exact = share * copies
    whole: Vector = np.floor(exact)
    missing = round(float((exact - whole).sum()))
    whole[np.argsort(whole - exact, kind="stable")[:missing]] += 1.0
    return whole


def given_validation(
    n_rows: int, validation: Any, X_val: Any, y_val: Any, sample_weight_val: Any
) -> Mask | None:
    """Return which rows validate, if `fit` is told which, and not by rows of their own."""
    if (X_val is None) != (y_val is None):
        given, missing = ("X_val", "y_val") if y_val is None else ("y_val", "X_val")
        raise InvalidInputError(f"{given} is given without {missing}; pass both or neither")
    if sample_weight_val is not None and X_val is None:
        raise InvalidInputError("sample_weight_val is given without X_val; pass both")
    if validation is None:
        return None
    if X_val is not None:
        raise InvalidInputError("validation and X_val are both given; pass one of them")
    return _read_validation(validation, n_rows)


def _read_validation(validation: ArrayLike, n_rows: int) -> Mask:
    """Return which rows validate, from a mask or from indices."""
    values = np.asarray(validation)
    chosen = np.zeros(n_rows, dtype=np.bool_)
    if values.dtype == np.bool_ and values.shape == (n_rows,):
        chosen |= values
    elif np.issubdtype(values.dtype, np.integer) and values.ndim == 1:
        outside = (values < 0) | (values >= n_rows)
        if outside.any():
            raise InvalidInputError(
                f"validation holds the index {values[outside][0]}, but X has rows 0 to "
                f"{n_rows - 1}; pass indices of rows, or a mask of booleans"
            )
        chosen[values] = True
    else:
        raise InvalidInputError(
            f"validation has type {values.dtype} and shape {values.shape}; pass a mask of "
            f"{n_rows} booleans, one per row, or the indices of the validation rows"
        )
    if not chosen.any():
        raise InvalidInputError("validation selects no row; select at least one")
    return chosen
