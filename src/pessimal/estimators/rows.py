"""Rows as tuning sees them: numbers, labels −1 and +1, weights, and no row twice.

Identical rows are merged and their weights added, rows of weight 0 dropped, the rest sorted. So a
row of weight k is the same as k equal rows, the order of rows does not matter, and a split of the
merged rows never has the same row in T and in V.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pessimal.problem import Mask, Matrix, Vector


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
    """Merge the rows that agree in features, label and membership of every set.

    Parameters
    ----------
    rows : Rows
    sets : ndarray of bool of shape (n, k)
        Which of k sets each row belongs to; k may be 0.

    Returns
    -------
    Distinct

    Examples
    --------
    >>> rows = Rows(np.array([[2.0], [1.0], [2.0]]), np.array([1.0, -1.0, 1.0]), np.ones(3))
    >>> merged = distinct(rows, np.empty((3, 0), dtype=bool))
    >>> merged.rows.weight, merged.position
    (array([1., 2.]), array([1, 0, 1]))
    """
    used = np.flatnonzero(rows.weight > 0.0)
    # Adding 0 turns −0 into 0, which is equal but sorts apart.
    table = np.column_stack([rows.y, rows.X, sets])[used] + 0.0
    unique, inverse = np.unique(table, axis=0, return_inverse=True)
    inverse = inverse.reshape(-1)
    position = np.full(len(rows.y), -1, dtype=np.intp)
    position[used] = inverse
    p = rows.X.shape[1]
    weight = np.bincount(inverse, weights=rows.weight[used]).astype(np.float64)
    return Distinct(
        Rows(unique[:, 1 : p + 1], unique[:, 0], weight),
        unique[:, p + 1 :].astype(np.bool_),
        position,
    )


def draw_validation(y: Vector, share: float, random: np.random.RandomState) -> Mask:
    """Draw a validation set, stratified, that leaves a training row of each class.

    Parameters
    ----------
    y : ndarray of shape (n,)
        Labels −1 and +1, both present; at least three rows.
    share : float
        Share of the rows to draw; at least one row is drawn and one of each class left.
    random : RandomState

    Returns
    -------
    ndarray of bool of shape (n,)

    Examples
    --------
    >>> y = np.array([-1.0, -1.0, -1.0, -1.0, 1.0, 1.0])
    >>> drawn = draw_validation(y, 0.5, np.random.RandomState(0))
    >>> y[drawn]
    array([-1., -1.,  1.])
    """
    classes = [np.flatnonzero(y == label) for label in (-1.0, 1.0)]
    sizes = np.array([len(members) for members in classes])
    total = int(np.clip(round(share * len(y)), 1, len(y) - 2))
    wanted = total * sizes / len(y)
    taken = np.zeros(2, dtype=np.intp)
    for _ in range(total):
        short = np.where(taken < sizes - 1, wanted - taken, -np.inf)
        taken[np.argmax(short)] += 1
    chosen = np.zeros(len(y), dtype=np.bool_)
    for members, count in zip(classes, taken, strict=True):
        chosen[random.permutation(members)[:count]] = True
    return chosen
