"""Linear programs written in named vectors of variables."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import block_array, csr_array, eye_array

from pessimal.lp.highs import LinearProgram
from pessimal.problem import Vector

Limits = Mapping[str, tuple[Vector, Vector]]
"""Lower and upper limits of each vector of variables."""


@dataclass(frozen=True, eq=False)
class Affine:
    """A vector ``Σ coefficients[name]·name + constant`` in named vectors of variables.

    Examples
    --------
    >>> margin = Affine({"w": np.array([[2.0, 1.0]])}, np.array([-1.0]))
    >>> margin({"w": np.array([1.0, 3.0])}).tolist()
    [4.0]
    """

    coefficients: Mapping[str, Any]
    constant: Vector

    @classmethod
    def variable(cls, name: str, size: int) -> Affine:
        """Return the variables themselves."""
        return cls({name: eye_array(size)}, np.zeros(size))

    def __call__(self, values: Mapping[str, Vector]) -> Vector:
        """Evaluate at values of the variables."""
        parts = (matrix @ values[name] for name, matrix in self.coefficients.items())
        return np.asarray(sum(parts, self.constant))

    def __len__(self) -> int:
        return len(self.constant)


def linear_program(
    cost: Mapping[str, Vector],
    limits: Limits,
    nonnegative: Iterable[Affine],
    zero: Sequence[Affine],
) -> LinearProgram:
    """Minimise a cost, 0 where none is given; the rows are first those ``≥ 0``, then those ``= 0``.

    Examples
    --------
    >>> row = Affine({"x": np.ones((1, 2))}, np.array([-1.0]))
    >>> program = linear_program({}, {"x": (np.zeros(2), np.ones(2))}, [row], [])
    >>> program.matrix.toarray().tolist(), program.row_lower.tolist()
    ([[1.0, 1.0]], [1.0])
    """
    functions = [*nonnegative, *zero]
    constant = np.concatenate([f.constant for f in functions])
    n_equations = sum(map(len, zero))
    row_upper = np.full(len(constant), np.inf)
    row_upper[len(constant) - n_equations :] = -constant[len(constant) - n_equations :]
    lower, upper = (np.concatenate(side) for side in zip(*limits.values(), strict=True))
    sizes = {name: len(low) for name, (low, _) in limits.items()}
    return LinearProgram(
        cost=np.concatenate([cost.get(name, np.zeros(n)) for name, n in sizes.items()]),
        matrix=block_array(
            [
                [csr_array(f.coefficients.get(name, (len(f), n))) for name, n in sizes.items()]
                for f in functions
            ]
        ),
        row_lower=-constant,
        row_upper=row_upper,
        lower=lower,
        upper=upper,
    )
