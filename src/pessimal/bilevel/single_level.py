"""A bilevel program as one mixed-integer program: KKT conditions in place of the inner program.

Every complementarity ``p ⟂ q`` becomes a binary z: ``p ≤ M·z``, ``q ≤ M'·(1 − z)``, with an M that
states why it is large enough.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

import numpy as np
from scipy.sparse import diags_array

from pessimal.bilevel.affine import Affine, Limits, linear_program
from pessimal.bilevel.kkt import KAPPA, KKT, InnerProgram, kkt
from pessimal.lp.highs import LinearProgram
from pessimal.problem import Mask, Vector


@dataclass(frozen=True, eq=False)
class BigM:
    """A bound on each entry of a vector, and why it holds.

    Examples
    --------
    >>> BigM(np.array([2.0]), "twice the upper limit").reason
    'twice the upper limit'
    """

    value: Vector
    reason: str


@dataclass(frozen=True, eq=False)
class SingleLevel:
    """A single-level program, where its variables are, and what it was made from.

    Attributes
    ----------
    program : LinearProgram
        Its integer columns are the binaries of the complementarities, in their order; 1 lets the
        multiplier be positive.
    columns : mapping of str to slice
        The columns of each variable.
    conditions : KKT
        Optimality conditions of the inner program.
    big_m : mapping of str to pair of BigM
        Bounds on multiplier and slack of each complementarity.
    """

    program: LinearProgram
    columns: Mapping[str, slice]
    conditions: KKT
    big_m: Mapping[str, tuple[BigM, BigM]]

    def with_cut(self, conflict: Mask) -> SingleLevel:
        """Demand that one of these complementarities has its slack at 0."""
        row = np.zeros(len(self.program.cost))
        row[np.flatnonzero(self.program.integer)[conflict]] = 1.0
        return replace(self, program=self.program.with_row(row, 1.0, np.inf))


def single_level(
    cost: Mapping[str, Vector],
    limits: Limits,
    outer: Iterable[Affine],
    inner: InnerProgram,
    big_m: Mapping[str, tuple[BigM, BigM]],
) -> SingleLevel:
    """Write a bilevel program, in its optimistic form, as one mixed-integer program.

    Parameters
    ----------
    cost : mapping of str to Vector
        The outer objective; 0 for a variable that is missing.
    limits : mapping of str to pair of Vector
        Of all outer and inner variables. Those of multipliers, by default 0 and their big M, and
        of κ, by default 1 and 1, may be given too.
    outer : iterable of Affine
        Constraints ``≥ 0`` of the outer level.
    inner : InnerProgram
    big_m : mapping of str to pair of BigM
        Bounds on multiplier and slack of each complementarity.

    Returns
    -------
    SingleLevel

    Examples
    --------
    The largest y in [0, 3] to which least x ≥ 0 with x ≥ y answers with x ≤ 2:

    >>> one, at_most = np.ones((1, 1)), lambda value: BigM(np.array([value]), "by its limits")
    >>> inner = InnerProgram(
    ...     {}, {"x": np.ones(1)}, {"pi": Affine({"x": one, "y": -one}, np.zeros(1))}
    ... )
    >>> bilevel = single_level(
    ...     cost={"y": -np.ones(1)},
    ...     limits={"y": (np.zeros(1), np.full(1, 3.0)), "x": (np.zeros(1), np.full(1, 3.0))},
    ...     outer=[Affine({"x": -one}, np.full(1, 2.0))],
    ...     inner=inner,
    ...     big_m={"pi": (at_most(1.0), at_most(3.0)), "x": (at_most(1.0), at_most(3.0))},
    ... )
    >>> from pessimal.lp.highs import solve_integer
    >>> solve_integer(bilevel.program, 10.0).bound
    -2.0
    """
    conditions = kkt(inner)
    pairs = conditions.complementarities.items()
    binaries = {f"z_{name}": (np.zeros(len(q)), np.ones(len(q))) for name, (_, q) in pairs}
    limits = {
        KAPPA: (np.ones(1), np.ones(1)),
        **{name: (np.zeros(n), big_m[name][0].value) for name, n in conditions.multipliers.items()},
        **limits,
        **binaries,
    }
    switched = [
        row
        for name, (p, q) in pairs
        for row in (
            _below(p, np.zeros(len(p)), big_m[name][0].value, f"z_{name}"),
            _below(q, big_m[name][1].value, -big_m[name][1].value, f"z_{name}"),
        )
    ]
    program = linear_program(
        cost, limits, [*outer, *conditions.nonnegative, *switched], conditions.zero
    )
    sizes = [len(lower) for lower, _ in limits.values()]
    ends = np.cumsum(sizes).tolist()
    columns = {name: slice(end - n, end) for name, n, end in zip(limits, sizes, ends, strict=True)}
    integer = np.repeat([name in binaries for name in limits], sizes)
    return SingleLevel(replace(program, integer=integer), columns, conditions, big_m)


def _below(side: Affine, constant: Vector, factor: Vector, binary: str) -> Affine:
    """Row ``constant + factor·z − side``."""
    coefficients = {name: -matrix for name, matrix in side.coefficients.items()}
    return Affine({**coefficients, binary: diags_array(factor)}, constant - side.constant)
