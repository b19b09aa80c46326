"""Polytopes by their vertices, in exact rational arithmetic (double description)."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from fractions import Fraction

Point = tuple[Fraction, ...]


class Polytope:
    """A bounded polyhedron: each vertex with the set of inequalities it meets, as bits."""

    def __init__(self, vertices: dict[Point, int], n_rows: int) -> None:
        self.vertices = vertices
        self.n_rows = n_rows

    @classmethod
    def box(cls, ranges: Sequence[tuple[Fraction, Fraction]]) -> Polytope:
        """Product of intervals; an interval may be one point."""
        vertices: dict[Point, int] = {}
        for ends in itertools.product((0, 1), repeat=len(ranges)):
            corner = tuple(limits[end] for limits, end in zip(ranges, ends, strict=True))
            bits = sum(1 << (2 * j + end) for j, end in enumerate(ends))
            vertices[corner] = vertices.get(corner, 0) | bits
        return cls(vertices, 2 * len(ranges))

    def clip(self, normal: Point, offset: Fraction) -> Polytope:
        """Add ``normal·x ≤ offset``; a polytope without vertices is empty."""
        slack = {x: offset - dot(normal, x) for x in self.vertices}
        bit = 1 << self.n_rows
        kept = {
            x: bits | bit if slack[x] == 0 else bits
            for x, bits in self.vertices.items()
            if slack[x] >= 0
        }
        inside = [x for x in self.vertices if slack[x] > 0]
        for x, out in itertools.product(inside, [x for x in self.vertices if slack[x] < 0]):
            if self._adjacent(x, out):
                share = slack[x] / (slack[x] - slack[out])
                new = tuple(a + share * (c - a) for a, c in zip(x, out, strict=True))
                common = self.vertices[x] & self.vertices[out] | bit
                kept[new] = kept.get(new, 0) | common
        return Polytope(kept, self.n_rows + 1)

    def _adjacent(self, x: Point, z: Point) -> bool:
        """Whether two vertices share an edge: no third one lies on the least face of both."""
        common = self.vertices[x] & self.vertices[z]
        return not any(
            bits & common == common for v, bits in self.vertices.items() if v not in (x, z)
        )

    def prism(self, low: Fraction, high: Fraction) -> Polytope:
        """Product with an interval, as the last coordinate."""
        bits = 1 << self.n_rows, 2 << self.n_rows
        vertices = {
            (*x, end): mask | bit
            for x, mask in self.vertices.items()
            for end, bit in zip((low, high), bits, strict=True)
        }
        return Polytope(vertices, self.n_rows + 2)


def dot(a: Iterable[Fraction], c: Iterable[Fraction]) -> Fraction:
    return sum((x * z for x, z in zip(a, c, strict=True)), Fraction(0))
