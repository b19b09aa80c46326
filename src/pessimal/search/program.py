"""A linear program with one-kink costs, as data."""

from __future__ import annotations

from typing import NamedTuple

from pessimal.problem import Matrix, Vector


class LinearProgram(NamedTuple):
    """Minimise ``Σ_k h_k(z_k)`` subject to ``z = [I; A] u`` and ``low ≤ z ≤ high``.

    ``h_k`` has slope `slope_left` below its kink and `slope_right` above. The last `n_local` rows
    of A belong to whoever solves the program, to be rewritten.
    """

    A: Matrix
    low: Vector
    high: Vector
    slope_left: Vector
    slope_right: Vector
    kink: Vector
    n_local: int = 0
