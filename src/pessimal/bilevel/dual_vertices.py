"""How large the multipliers of an inner problem have to be.

They may be as large as they like, but need not: some multipliers of an optimal response are at a
vertex of the dual, where they belong to linearly independent rows. With few bases, all vertices are
looked at.
"""

from __future__ import annotations

import itertools
import math

import numpy as np
from scipy.sparse import csr_array

from pessimal.problem import Vector

LARGEST_NUMBER_OF_BASES = 100_000
_REGULAR, _SINGULAR = 1e10, 1e14
"""Condition numbers below and above which a basis is, or is not, one; between them it may be."""


def vertex_bounds(normals: csr_array, gradient: Vector) -> Vector:
    """Bound ``|π|`` at every vertex of ``{π : normalsᵀ·π = g}`` for all g with ``|g| ≤ gradient``.

    Infinite where bases are too many, or the rows leave a direction free.

    Examples
    --------
    >>> vertex_bounds(csr_array([[1.0, 0.0], [0.0, 2.0], [1.0, 1.0]]), np.array([1.0, 3.0]))
    array([4., 2., 3.])
    """
    dense = normals.toarray()
    m, n = dense.shape
    unknown, largest = np.full(m, np.inf), np.zeros(m)
    if n == 0:
        return largest
    if m < n or math.comb(m, n) > LARGEST_NUMBER_OF_BASES or not np.all(np.isfinite(gradient)):
        return unknown
    if np.linalg.matrix_rank(dense) < n:
        return unknown
    rows = np.array(list(itertools.combinations(range(m), n)))
    condition = np.linalg.cond(dense[rows])
    if np.any((condition > _REGULAR) & (condition < _SINGULAR)):
        return unknown
    rows = rows[condition <= _REGULAR]
    inverse = np.abs(np.linalg.inv(dense[rows])).transpose(0, 2, 1)
    np.maximum.at(largest, rows, inverse @ gradient)
    return largest
