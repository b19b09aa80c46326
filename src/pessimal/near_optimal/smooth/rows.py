"""Rows of data, a block at a time: in memory, from anything that yields blocks, or on Dask.

What the package needs of them are sums over rows (losses, gradients, Gram matrices), so that no
more than a block is ever looked at: memory is that of a block and of what is summed.
"""

from __future__ import annotations

import operator
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any, TypeVar

import numpy as np

from pessimal.problem import Matrix, Vector

T = TypeVar("T")

BLOCK = 16_384
"""Rows worked on at a time: what is made of them stays in the cache, and memory small."""

FEW, MANY = 5000, 4
"""Rows that stand for all where there are so many times as many."""


@dataclass(frozen=True, eq=False)
class Block:
    """Some rows ``z`` with their offsets and weights.

    Attributes
    ----------
    Z, offset, weight : ndarray
        A margin, or a residual, is ``z·u − offset``.
    low, high : ndarray
        How far, at most, members of a near-optimal set move the margins from those of the trained
        model; infinite as long as nothing is known.
    """

    Z: Matrix
    offset: Vector
    weight: Vector
    low: Vector
    high: Vector

    @classmethod
    def of(cls, Z: Matrix, offset: Vector, weight: Vector) -> Block:
        """Make a block of which no ranges are known."""
        wide = np.full(len(Z), np.inf)
        return cls(Z, offset, weight, -wide, wide)

    def margins(self, u: Vector) -> Vector:
        """Return ``z·u − offset`` of every row."""
        return np.asarray(self.Z @ u - self.offset)

    def gram(self, curvature: Vector) -> Matrix:
        """Return ``Σ weight·curvature·z zᵀ``, of curvatures that are not negative."""
        scaled = self.Z * np.sqrt(self.weight * curvature)[:, None]
        return np.asarray(scaled.T @ scaled)

    def moments(self, mean: Vector, root: Matrix) -> tuple[Vector, Vector]:
        """Return mean and variance of ``z·d`` as far as the ranges allow.

        Given are the mean of d and a root of its covariance, F of FFᵀ.
        """
        shift = self.Z @ mean
        average = np.clip(shift, self.low, self.high)
        variance = shift * shift - average * average
        if root.size:
            variance += np.square(self.Z @ root).sum(axis=1)
        most = (average - self.low) * (self.high - average)
        return average, np.clip(variance, 0.0, most)

    def within(self, low: Vector, high: Vector) -> Block:
        """Return the block with ranges narrowed; 0, the trained model, stays in them."""
        return replace(
            self,
            low=np.minimum(0.0, np.maximum(self.low, low)),
            high=np.maximum(0.0, np.minimum(self.high, high)),
        )


class Rows(ABC):
    """Rows that can be passed over any number of times."""

    @abstractmethod
    def total(self, part: Callable[[Block], T]) -> T:
        """Return the sum of what `part` makes of each block."""

    @abstractmethod
    def each(self, part: Callable[[Block], T]) -> list[T]:
        """Return what `part` makes of each block, in their order."""

    @abstractmethod
    def map(self, change: Callable[[Block], Block]) -> Rows:
        """Return these rows with every block changed."""


class HeldRows(Rows):
    """Rows that are held in memory, ready to use."""

    def __init__(self, blocks: Iterable[Block]) -> None:
        self.blocks = list(blocks)
        self.n_rows = sum(len(block.weight) for block in self.blocks)

    def total(self, part: Callable[[Block], T]) -> T:
        """Return the sum of what `part` makes of each block."""
        return reduce(operator.add, map(part, self.blocks))

    def each(self, part: Callable[[Block], T]) -> list[T]:
        """Return what `part` makes of each block, in their order."""
        return [part(block) for block in self.blocks]

    @property
    def many(self) -> bool:
        """Whether some of them tell most of what all do, much faster."""
        return self.n_rows > MANY * FEW

    def thinned(self, size: int = FEW) -> HeldRows:
        """Return some of the rows, about so many if there are more, with the weight of all."""
        step = self.n_rows // size
        if step < 2:
            return self
        Z, offset, weight, low, high = (
            np.concatenate([getattr(block, name)[::step] for block in self.blocks])
            for name in ("Z", "offset", "weight", "low", "high")
        )
        return HeldRows([Block(Z, offset, weight / weight.sum(), low, high)])

    def map(self, change: Callable[[Block], Block]) -> HeldRows:
        """Return these rows with every block changed, now."""
        return HeldRows(map(change, self.blocks))


@dataclass(frozen=True, eq=False)
class StreamedRows(Rows):
    """Rows made block by block in every pass over their source."""

    source: Iterable[Any]
    make: Callable[[Any], Block]

    def total(self, part: Callable[[Block], T]) -> T:
        """Return the sum of what `part` makes of each block."""
        return reduce(operator.add, (part(self.make(piece)) for piece in self.source))

    def each(self, part: Callable[[Block], T]) -> list[T]:
        """Return what `part` makes of each block, in their order."""
        return [part(self.make(piece)) for piece in self.source]

    def map(self, change: Callable[[Block], Block]) -> StreamedRows:
        """Return these rows with every block changed as it is made."""
        return StreamedRows(self.source, Chain(self.make, change))


@dataclass(frozen=True, eq=False)
class DaskRows(Rows):
    """Rows made by the workers of Dask, of its delayed pieces, and summed there."""

    pieces: list[Any]
    make: Callable[[Any], Block]

    def total(self, part: Callable[[Block], T]) -> T:
        """Return the sum of what `part` makes of each block."""
        from dask.delayed import delayed  # noqa: PLC0415  an extra

        sums, add = self._delayed(part), delayed(operator.add)
        while len(sums) > 1:  # a tree, so that no worker holds all parts at once
            sums = [
                add(*pair) if len(pair) == 2 else pair[0]
                for pair in (sums[k : k + 2] for k in range(0, len(sums), 2))
            ]
        total: T = sums[0].compute()
        return total

    def each(self, part: Callable[[Block], T]) -> list[T]:
        """Return what `part` makes of each block, in their order."""
        from dask.base import compute  # noqa: PLC0415  an extra

        return list(compute(*self._delayed(part)))  # type: ignore[no-untyped-call]

    def map(self, change: Callable[[Block], Block]) -> DaskRows:
        """Return these rows with every block changed as it is made."""
        return DaskRows(self.pieces, Chain(self.make, change))

    def _delayed(self, part: Callable[[Block], T]) -> list[Any]:
        from dask.delayed import delayed  # noqa: PLC0415  an extra

        run = delayed(Chain(self.make, part), pure=False, traverse=False)
        return [run(piece) for piece in self.pieces]


@dataclass(frozen=True, eq=False)
class Chain:
    """One function after another, in a form that can be sent to other processes."""

    first: Callable[[Any], Any]
    then: Callable[[Any], Any]

    def __call__(self, piece: Any) -> Any:
        """Apply both."""
        return self.then(self.first(piece))
