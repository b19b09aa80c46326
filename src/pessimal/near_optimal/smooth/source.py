"""Where rows come from: arrays, sparse matrices, blocks of rows, Dask collections.

A source yields pieces (X, y, weight) any number of times. One pass at the beginning checks them
and counts what training needs to know: columns, classes and weights.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property, reduce
from operator import add
from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.utils.validation import check_array, check_X_y, column_or_1d

from pessimal.errors import InvalidInputError
from pessimal.near_optimal.smooth.rows import BLOCK, Block, DaskRows, Rows, StreamedRows
from pessimal.problem import Matrix, Vector

Piece = tuple[Any, Any, Vector]
"""Features, labels or targets, and weights of some rows."""

PRECISIONS = [np.float64, np.float32]
"""Kept as they are in memory; a block is worked on in double precision."""

TWO, THREE = 2, 3


@dataclass(frozen=True, eq=False)
class Summary:
    """What one pass over the rows tells; sums of it are those of more rows.

    Attributes
    ----------
    n_rows, n_features : int
    weight : float
        Sum of the weights.
    least_weight : float
        The smallest of them.
    classes : tuple
        The classes in order, none in regression.
    class_counts, class_weights : tuple of float
        Rows and weight of each.
    """

    n_rows: int
    n_features: int
    weight: float
    least_weight: float
    classes: tuple[Any, ...] = ()
    class_counts: tuple[float, ...] = ()
    class_weights: tuple[float, ...] = ()

    @classmethod
    def of(cls, piece: Piece, classifies: bool) -> Summary:
        """Summarise one piece."""
        X, y, weight = piece
        total, least = float(weight.sum()), float(weight.min(initial=np.inf))
        if not classifies:
            return cls(len(weight), X.shape[1], total, least)
        classes, which = np.unique(np.asarray(y), return_inverse=True)
        return cls(
            len(weight),
            X.shape[1],
            total,
            least,
            tuple(classes.tolist()),
            tuple(np.bincount(which, minlength=len(classes)).astype(float).tolist()),
            tuple(np.bincount(which, weights=weight, minlength=len(classes)).tolist()),
        )

    def __add__(self, other: Summary) -> Summary:
        if self.n_features != other.n_features:
            raise InvalidInputError(
                f"X has blocks of {self.n_features} and of {other.n_features} columns; pass the "
                "same columns in every block"
            )
        classes = tuple(sorted({*self.classes, *other.classes}))
        counts, weights = dict[Any, float](), dict[Any, float]()
        for part in (self, other):
            for k, label in enumerate(part.classes):
                counts[label] = counts.get(label, 0.0) + part.class_counts[k]
                weights[label] = weights.get(label, 0.0) + part.class_weights[k]
        return Summary(
            self.n_rows + other.n_rows,
            self.n_features,
            self.weight + other.weight,
            min(self.least_weight, other.least_weight),
            classes,
            tuple(counts[label] for label in classes),
            tuple(weights[label] for label in classes),
        )


class Source(ABC):
    """Pieces of data that can be passed over any number of times."""

    in_memory = False
    classifies: bool

    @abstractmethod
    def rows(self, make: Callable[[Piece], Block]) -> Rows:
        """Return the rows that `make` makes of every piece."""

    @cached_property
    @abstractmethod
    def first(self) -> Piece:
        """The first piece."""

    @abstractmethod
    def summarise(self) -> Summary:
        """Pass over all pieces once and check them."""

    @cached_property
    def summary(self) -> Summary:
        """What is known of all rows; refused are weights that no mean can be made of."""
        found = self.summarise()
        if not (np.isfinite(found.weight) and found.weight > 0.0 and found.least_weight >= 0.0):
            raise InvalidInputError(
                f"sample_weight has minimum {found.least_weight:g} and sum {found.weight:g}; pass "
                "finite weights that are not negative, and not all 0"
            )
        return found


class Table(Source):
    """Rows in memory: an array, a data frame or a sparse matrix."""

    in_memory = True

    def __init__(self, X: Any, y: Any, weight: Any, classifies: bool) -> None:
        self.classifies = classifies
        # Text that is a number stays text: it is refused, not read.
        self.X, self.y = check_X_y(
            X, y, accept_sparse="csr", dtype=PRECISIONS, y_numeric=not classifies
        )
        n = len(self.y)
        self.weight = np.ones(n) if weight is None else np.array(weight, np.float64)
        if self.weight.shape != (n,):
            raise InvalidInputError(
                f"sample_weight has shape {self.weight.shape}; pass {n} weights, one per row"
            )

    def __iter__(self) -> Iterator[Piece]:
        for k in range(0, len(self.y), BLOCK):
            rows = slice(k, k + BLOCK)
            yield self.X[rows], self.y[rows], self.weight[rows]

    def rows(self, make: Callable[[Piece], Block]) -> Rows:
        """Return the rows that `make` makes of slices of the table."""
        return StreamedRows(self, make)

    @cached_property
    def first(self) -> Piece:
        """The first slice."""
        return next(iter(self))

    def summarise(self) -> Summary:
        """Count classes and weights; the rest was checked when the table was read."""
        return Summary.of((self.X, self.y, self.weight), self.classifies)


class Blocks(Source):
    """Anything that yields blocks (X, y) or (X, y, sample_weight), as often as it is asked."""

    def __init__(self, blocks: Iterable[Any], classifies: bool) -> None:
        self.blocks, self.classifies = blocks, classifies

    def __iter__(self) -> Iterator[Piece]:
        empty = True
        for block in self.blocks:
            if not (isinstance(block, tuple) and len(block) in (TWO, THREE)):
                raise InvalidInputError(
                    "X yields something other than blocks; pass an array, or blocks that are "
                    "tuples (X, y) or (X, y, sample_weight)"
                )
            empty = False
            yield read_piece(block[0], block[1], block[2] if len(block) == THREE else None)
        if empty:
            raise InvalidInputError("X yields no blocks; pass something that can be read again")

    def rows(self, make: Callable[[Piece], Block]) -> Rows:
        """Return the rows that `make` makes of every block, block after block."""
        return StreamedRows(self, make)

    @cached_property
    def first(self) -> Piece:
        """The first block that has rows."""
        return next(piece for piece in self if len(piece[1]))

    def summarise(self) -> Summary:
        """Pass over all blocks and check them."""
        return reduce(add, (checked(piece, self.classifies) for piece in self))


class DaskTable(Source):
    """Arrays or data frames of Dask, whose partitions are the pieces."""

    def __init__(self, X: Any, y: Any, weight: Any, classifies: bool) -> None:
        from dask.delayed import delayed  # noqa: PLC0415  an extra

        self.classifies = classifies
        if not hasattr(y, "to_delayed"):
            raise InvalidInputError(
                f"X is a collection of Dask and y a {type(y).__name__}; pass both in partitions"
            )
        columns = [_partitions(X)]
        for name, other in (("y", y), ("sample_weight", weight)):
            parts = [None] * len(columns[0]) if other is None else _partitions(other, X)
            if len(parts) != len(columns[0]):
                raise InvalidInputError(
                    f"{name} has {len(parts)} partitions and X {len(columns[0])}; pass the same "
                    "partitions, as repartition or rechunk makes them"
                )
            columns.append(parts)
        read = delayed(read_piece, pure=False)
        self.pieces = [read(*parts) for parts in zip(*columns, strict=True)]

    def rows(self, make: Callable[[Piece], Block]) -> Rows:
        """Return the rows that workers make of every partition."""
        return DaskRows(self.pieces, make)

    @cached_property
    def first(self) -> Piece:
        """The first partition that has rows."""
        pieces: Iterator[Piece] = (piece.compute() for piece in self.pieces)
        return next(piece for piece in pieces if len(piece[1]))

    def summarise(self) -> Summary:
        """Pass over all partitions and check them."""
        from dask.base import compute  # noqa: PLC0415  an extra
        from dask.delayed import delayed  # noqa: PLC0415  an extra

        check = delayed(checked, pure=False)
        parts: tuple[Summary, ...] = compute(  # type: ignore[no-untyped-call]
            *(check(piece, self.classifies) for piece in self.pieces)
        )
        return reduce(add, parts)


def _partitions(collection: Any, like: Any = None) -> list[Any]:
    """Return delayed blocks of rows of a Dask array, data frame or series."""
    if hasattr(collection, "rechunk"):
        if collection.ndim == TWO:
            collection = collection.rechunk({1: -1})
        elif hasattr(like, "chunks") and collection.chunks[0] != like.chunks[0]:
            collection = collection.rechunk((like.chunks[0],))
        return list(collection.to_delayed().ravel())
    return list(collection.to_delayed())


def read_source(X: Any, y: Any, weight: Any, *, classifies: bool) -> Source:
    """Return the source of what a user passed as X, y and sample_weight."""
    if hasattr(X, "to_delayed"):
        return DaskTable(X, y, weight, classifies)
    if y is not None:
        return Table(X, y, weight, classifies)
    if weight is not None or not isinstance(X, Iterable) or hasattr(X, "shape"):
        raise InvalidInputError(
            "y is None; pass the labels of X, or as X blocks of rows, tuples (X, y) or "
            "(X, y, sample_weight)"
        )
    if isinstance(X, Iterator):
        raise InvalidInputError(
            f"X is a {type(X).__name__}, which can be read once; pass a list of blocks, or an "
            "object whose __iter__ begins anew"
        )
    return Blocks(X, classifies)


def read_piece(X: Any, y: Any, weight: Any) -> Piece:
    """Return a block with its weights as numbers; values are checked in the first pass."""
    if not issparse(X):
        X = np.asarray(X)
    y = column_or_1d(y)
    share = np.ones(len(y)) if weight is None else np.asarray(weight, np.float64)
    if not X.shape[0] == len(y) == len(share):
        raise InvalidInputError(
            f"a block has {X.shape[0]} rows, {len(y)} labels and {len(share)} weights; pass as "
            "many of each"
        )
    return X, y, share


def checked(piece: Piece, classifies: bool) -> Summary:
    """Check the values of a block as those of a table are, and summarise it."""
    X, y, _ = piece
    if len(y):
        check_X_y(X, y, accept_sparse="csr", dtype=PRECISIONS, y_numeric=not classifies)
    return Summary.of(piece, classifies)


def column_names(X: Any) -> tuple[str, ...] | None:
    """Return the names of the columns of a data frame, if all are text."""
    names = tuple(getattr(X, "columns", ()))
    return names if names and all(isinstance(name, str) for name in names) else None


def dense(X: Any) -> Matrix:
    """Return rows as a dense array of double precision."""
    return np.asarray(X.toarray() if issparse(X) else X, np.float64)


def read_features(X: Any) -> Iterator[Matrix]:
    """Yield the rows of a table without labels, a block at a time."""
    X = check_array(X, accept_sparse="csr", dtype=PRECISIONS)
    return (dense(X[k : k + BLOCK]) for k in range(0, X.shape[0], BLOCK))
