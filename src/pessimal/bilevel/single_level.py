"""A bilevel program as one mixed-integer program: KKT conditions in place of the inner program.

Every complementarity ``p ⟂ q`` becomes a binary z: ``p ≤ M·z``, ``q ≤ M'·(1 − z)``, with an M that
states why it is large enough.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

import numpy as np
from scipy.sparse import eye_array

from pessimal.bilevel.kkt import KAPPA, KKT, Affine, InnerProgram, Limits, kkt, linear_program
from pessimal.lp.highs import LinearProgram
from pessimal.problem import Mask, Vector


@dataclass(frozen=True, eq=False)
class BigM:
    """A bound on each entry of a vector, and why it holds."""

    value: Vector
    reason: str


BigMs = Mapping[str, tuple[BigM, BigM]]
"""Bounds on multiplier and slack of each complementarity."""


@dataclass(frozen=True, eq=False)
class SingleLevel:
    """A single-level program, the columns of its variables, and what it was made from.

    Its integer columns are the binaries of the complementarities, in their order; 1 lets the
    multiplier be positive.
    """

    program: LinearProgram
    columns: Mapping[str, slice]
    conditions: KKT
    big_m: BigMs

    def with_cut(self, conflict: Mask) -> SingleLevel:
        """Demand that one of these complementarities has no slack."""
        row = np.zeros(len(self.program.cost))
        row[np.flatnonzero(self.program.integer)[conflict]] = 1.0
        return replace(self, program=self.program.with_row(row, 1.0, np.inf))


def single_level(
    cost: Mapping[str, Vector],
    limits: Limits,
    outer: Iterable[Affine],
    inner: InnerProgram,
    big_m: BigMs,
) -> SingleLevel:
    """Write a bilevel program, in its optimistic form, as one mixed-integer program.

    `cost` is the outer objective, 0 where none is given, and `outer` the outer constraints ``≥ 0``.
    `limits` are of all outer and inner variables; those of multipliers, by default 0 and their big
    M, and of κ, by default 1 and 1, may be given too.
    """
    conditions = kkt(inner)
    rows, binaries = [*outer, *conditions.nonnegative], {}
    for name, (p, q) in conditions.complementarities.items():
        p_max, q_max = (bound.value for bound in big_m[name])
        z = f"z_{name}"
        binaries[z] = (np.zeros(len(p)), np.ones(len(p)))
        rows += [_minus(p, z, p_max, np.zeros(len(p))), _minus(q, z, -q_max, q_max)]
    limits = {
        KAPPA: (np.ones(1), np.ones(1)),
        **{name: (np.zeros(n), big_m[name][0].value) for name, n in conditions.multipliers.items()},
        **limits,
        **binaries,
    }
    program = linear_program(cost, limits, rows, conditions.zero)
    sizes = [len(lower) for lower, _ in limits.values()]
    ends = np.cumsum(sizes).tolist()
    columns = {name: slice(end - n, end) for name, n, end in zip(limits, sizes, ends, strict=True)}
    integer = np.repeat([name in binaries for name in limits], sizes)
    return SingleLevel(replace(program, integer=integer), columns, conditions, big_m)


def _minus(side: Affine, z: str, factor: Vector, constant: Vector) -> Affine:
    """Return ``factor·z + constant − side``."""
    coefficients = {name: -matrix for name, matrix in side.coefficients.items()}
    return Affine(
        {**coefficients, z: eye_array(len(factor), format="csr").multiply(factor)},
        constant - side.constant,
    )
