"""A sparse matrix by rows, as HiGHS takes it.

Most programs are small: scipy would take longer to make a matrix of one than HiGHS to read it, and
longer to be imported than a thousand of them to be solved. Who computes with it has scipy's, `csr`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from pessimal.problem import Vector

if TYPE_CHECKING:
    from scipy.sparse import csr_array

Places = NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class SparseRows:
    """Entries row by row: those of row i are at ``starts[i]`` to ``starts[i + 1]``.

    Examples
    --------
    >>> rows = SparseRows.of(np.array([[1.0, 0.0], [2.0, 3.0]]))
    >>> rows.entries.tolist(), rows.columns.tolist(), rows.starts.tolist()
    ([1.0, 2.0, 3.0], [0, 0, 1], [0, 1, 3])
    >>> rows.above(SparseRows.of(np.array([[4.0, 5.0, 6.0]]))).csr.toarray().tolist()
    [[1.0, 0.0, 0.0], [2.0, 3.0, 0.0], [4.0, 5.0, 6.0]]
    """

    entries: Vector
    columns: Places
    starts: Places
    n_columns: int

    @classmethod
    def of(cls, matrix: Any) -> SparseRows:
        """Return the rows of a matrix of any kind, without zeros if it is dense."""
        if isinstance(matrix, cls):
            return matrix
        if isinstance(matrix, np.ndarray):
            kept = matrix != 0.0
            starts = np.zeros(len(matrix) + 1, np.int32)
            np.cumsum(kept.sum(axis=1), out=starts[1:])
            return cls(matrix[kept], kept.nonzero()[1].astype(np.int32), starts, matrix.shape[1])
        csr = matrix.tocsr()
        starts, columns = csr.indptr.astype(np.int32), csr.indices.astype(np.int32)
        return cls(csr.data.astype(np.float64), columns, starts, csr.shape[1])

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of rows and columns."""
        return len(self.starts) - 1, self.n_columns

    @property
    def lengths(self) -> Places:
        """Number of entries of each row."""
        return self.starts[1:] - self.starts[:-1]

    @property
    def rows(self) -> NDArray[np.intp]:
        """Row of each entry."""
        return np.arange(self.shape[0]).repeat(self.lengths)

    @property
    def csr(self) -> csr_array:
        """The same as a matrix of scipy's."""
        from scipy.sparse import csr_array  # noqa: PLC0415 (slow to import)

        return csr_array((self.entries, self.columns, self.starts), shape=self.shape)

    def above(self, below: SparseRows) -> SparseRows:
        """Return these rows with others below them, which may have more columns."""
        return SparseRows(
            np.concatenate([self.entries, below.entries]),
            np.concatenate([self.columns, below.columns]),
            np.concatenate([self.starts, self.starts[-1] + below.starts[1:]]),
            max(self.n_columns, below.n_columns),
        )

    def beside(self, right: SparseRows) -> SparseRows:
        """Return these rows with further columns."""
        order = np.concatenate([self.rows, right.rows]).argsort(kind="stable")
        return SparseRows(
            np.concatenate([self.entries, right.entries])[order],
            np.concatenate([self.columns, self.n_columns + right.columns])[order],
            self.starts + right.starts,
            self.n_columns + right.n_columns,
        )
