"""A linear program with one-kink costs, as data."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from pessimal.problem import Matrix, Vector


class KinkedProgram(NamedTuple):
    """Minimise ``Σ_k h_k(z_k)`` subject to ``z = [I; A] u`` and ``low ≤ z ≤ high``.

    ``h_k`` has slope `slope_left` below its kink and `slope_right` above. The last `n_local` rows
    of A belong to whoever solves the program, to be rewritten. Of programs with infinite bounds
    only the feasibility is to be relied on: their multipliers may have an unbounded Lagrangian.
    """

    A: Matrix
    low: Vector
    high: Vector
    slope_left: Vector
    slope_right: Vector
    kink: Vector
    n_local: int = 0


def empty_program(n_rows: int, n_columns: int, n_local: int = 0) -> KinkedProgram:
    """Return a program with `n_rows` rows in A and zeros everywhere, to be written."""
    size = n_columns + n_rows
    return KinkedProgram(
        np.zeros((n_rows, n_columns)),
        np.zeros(size),
        np.zeros(size),
        np.zeros(size),
        np.zeros(size),
        np.zeros(size),
        n_local,
    )
