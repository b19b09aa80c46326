"""How large the multipliers of an inner problem have to be.

They may be as large as they like, but need not: some multipliers of an optimal response are at a
vertex of the dual, where they belong to linearly independent rows. With few bases, all vertices are
looked at; otherwise determinants bound those of whole numbers.
"""

from __future__ import annotations

import itertools
import math

import numpy as np
from scipy.sparse import csr_array

from pessimal.problem import Matrix, Vector

LARGEST_NUMBER_OF_BASES = 100_000
LARGEST_M = 1e5
"""Ms above this are none: solvers leak through them."""

_REGULAR, _SINGULAR = 1e10, 1e14
"""Condition numbers below and above which a basis is, or is not, one; between them it may be."""


def vertex_bounds(normals: csr_array, gradient: Vector) -> Vector:
    """Bound ``|π|`` at every vertex of ``{π : normalsᵀ·π = g}`` for all g with ``|g| ≤ gradient``.

    Infinite where nothing is proved, or the rows leave a direction free.

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
    if m < n or not np.all(np.isfinite(gradient)) or np.linalg.matrix_rank(dense) < n:
        return unknown
    if math.comb(m, n) > LARGEST_NUMBER_OF_BASES:
        return np.full(m, _by_determinants(dense, gradient))
    rows = np.array(list(itertools.combinations(range(m), n)))
    condition = np.linalg.cond(dense[rows])
    if np.any((condition > _REGULAR) & (condition < _SINGULAR)):
        return unknown
    rows = rows[condition <= _REGULAR]
    inverse = np.abs(np.linalg.inv(dense[rows])).transpose(0, 2, 1)
    np.maximum.at(largest, rows, inverse @ gradient)
    return largest


def _by_determinants(normals: Matrix, gradient: Vector) -> float:
    """Bound multipliers of whole normals, such as those of a network, by Cramer's rule.

    The determinant of a basis is at least 1, and those without a row and a column are at most the
    product of the lengths of their rows (Hadamard).
    """
    if not np.array_equal(normals, np.round(normals)):
        return math.inf
    lengths = np.sort(np.linalg.norm(normals, axis=1))[::-1][: normals.shape[1] - 1]
    bound = float(gradient.sum() * np.prod(np.maximum(1.0, lengths)))
    return bound if bound <= LARGEST_M else math.inf
