"""Sparse rows against scipy's matrices."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array, hstack, random_array, vstack

from pessimal.lp.sparse_rows import SparseRows


def drawn(seed: int, n_rows: int, n_columns: int) -> csr_array:
    rng = np.random.default_rng(seed)
    return random_array((n_rows, n_columns), density=0.3, format="csr", rng=rng)


@pytest.mark.parametrize("seed", range(5))
def test_dense_and_scipys_matrices_are_read_alike(seed: int) -> None:
    matrix = drawn(seed, 7, 4)
    of_dense, of_sparse = SparseRows.of(matrix.toarray()), SparseRows.of(matrix.tocoo())
    for rows in (of_dense, of_sparse):
        assert rows.shape == (7, 4)
        np.testing.assert_array_equal(rows.csr.toarray(), matrix.toarray())
    np.testing.assert_array_equal(of_dense.rows, matrix.tocoo().row)


@pytest.mark.parametrize("seed", range(5))
def test_rows_below_and_columns_to_the_right_are_those_of_scipy(seed: int) -> None:
    matrix, below, right = drawn(seed, 5, 3), drawn(seed + 5, 2, 3), drawn(seed + 10, 5, 4)
    rows = SparseRows.of(matrix)
    found = rows.above(SparseRows.of(below)).csr.toarray()
    np.testing.assert_array_equal(found, vstack([matrix, below]).toarray())
    found = rows.beside(SparseRows.of(right)).csr.toarray()
    np.testing.assert_array_equal(found, hstack([matrix, right]).toarray())
