"""The Karush-Kuhn-Tucker conditions of an inner linear program, as data.

An inner program in variables x has outer variables y in its right-hand side:

    minimise ``cost·x``  subject to  ``A·x + B·y + a ≥ 0``  and  ``x_j ≥ 0`` for some j.

With multipliers π ≥ 0 of its rows, the *reduced cost* of x_j is ``κ·cost_j − A_jᵀ·π``. A feasible x
is optimal if and only if, for κ = 1, some π makes the reduced costs 0 where x_j is free, else
non-negative, with the *complementarities* ``π ⟂ A·x + B·y + a`` and ``reduced cost ⟂ x_j``.
Multipliers may be scaled, so κ may be any positive number; κ = 0 makes the conditions a relaxation.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import block_array, csr_array, eye_array

from pessimal.lp.highs import LinearProgram, WarmProgram
from pessimal.problem import Mask, Vector
from pessimal.tolerances import AT_BREAKPOINT

KAPPA = "kappa"
"""Name of the weight κ of the inner objective."""

Limits = Mapping[str, tuple[Vector, Vector]]
"""Lower and upper limits of named vectors of variables."""


@dataclass(frozen=True, eq=False)
class Affine:
    """A vector ``Σ coefficients[name]·name + constant`` in named vectors of variables."""

    coefficients: Mapping[str, Any]
    constant: Vector

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
    """Minimise a cost, by default 0; the rows are first those ``≥ 0``, then those ``= 0``."""
    functions = [*nonnegative, *zero]
    constant = np.concatenate([f.constant for f in functions])
    equations = np.arange(len(constant)) >= len(constant) - sum(map(len, zero))
    lower, upper = (np.concatenate(side) for side in zip(*limits.values(), strict=True))
    sizes = {name: len(low) for name, (low, _) in limits.items()}
    blocks = [
        [csr_array(f.coefficients.get(name, (len(f), n))) for name, n in sizes.items()]
        for f in functions
    ]
    return LinearProgram(
        cost=np.concatenate([cost.get(name, np.zeros(n)) for name, n in sizes.items()]),
        matrix=block_array(blocks),
        row_lower=-constant,
        row_upper=np.where(equations, -constant, np.inf),
        lower=lower,
        upper=upper,
    )


@dataclass(frozen=True, eq=False)
class InnerProgram:
    """Minimise ``cost·x`` subject to rows ``≥ 0`` and to some variables ``≥ 0``.

    `free` and `nonnegative` are the inner variables with their costs. The rows, in inner and outer
    variables, have the names of their multipliers.
    """

    free: Mapping[str, Vector]
    nonnegative: Mapping[str, Vector]
    rows: Mapping[str, Affine]

    def reduced_costs(self, variables: Mapping[str, Vector]) -> dict[str, Affine]:
        """Return ``κ·cost − Aᵀ·π`` of inner variables."""
        reduced = {}
        for x, cost in variables.items():
            rows = {pi: -a.coefficients[x].T for pi, a in self.rows.items() if x in a.coefficients}
            reduced[x] = Affine({KAPPA: cost[:, None], **rows}, np.zeros(len(cost)))
        return reduced


class Complementarity(NamedTuple):
    """``multiplier ≥ 0``, ``slack ≥ 0``, and of each pair of entries one is 0."""

    multiplier: Affine
    slack: Affine


@dataclass(frozen=True, eq=False)
class KKT:
    """Optimality conditions: rows and reduced costs that are ``≥ 0``, reduced costs that are 0.

    Complementarities have the name of the multipliers, or of the variable if the multiplier is its
    reduced cost; `multipliers` says how many there are of each name.
    """

    multipliers: Mapping[str, int]
    nonnegative: list[Affine]
    zero: list[Affine]
    complementarities: Mapping[str, Complementarity]

    def slacks(self, values: Mapping[str, Vector]) -> Vector:
        """Return the slacks of all complementarities at a point."""
        return np.concatenate([pair.slack(values) for pair in self.complementarities.values()])


def kkt(inner: InnerProgram) -> KKT:
    """Write down the conditions under which an inner program is solved."""
    reduced = inner.reduced_costs(inner.nonnegative)

    def variable(name: str, size: int) -> Affine:
        return Affine({name: eye_array(size, format="csr")}, np.zeros(size))

    of_rows = {pi: Complementarity(variable(pi, len(a)), a) for pi, a in inner.rows.items()}
    of_columns = {x: Complementarity(r, variable(x, len(r))) for x, r in reduced.items()}
    return KKT(
        multipliers={name: len(row) for name, row in inner.rows.items()},
        nonnegative=[*inner.rows.values(), *reduced.values()],
        zero=list(inner.reduced_costs(inner.free).values()),
        complementarities=of_rows | of_columns,
    )


def find_conflict(conditions: KKT, slack: Vector, large: str) -> Mask | None:
    """Return complementarities that no multipliers satisfy together, or None if there are some.

    A big M bounds a multiplier, and an integrality tolerance leaks through it; κ = 0 may even be
    admitted. So a point, given by the slacks of all complementarities, is asked again here, without
    any M. Where its slack is positive a complementarity is *closed*: the multiplier is 0. Whether
    multipliers exist is then a linear program in them alone, scaled so that κ and the `large` ones,
    which may grow without bound, add up to at most 1: maximise κ. A κ below the tolerance
    `AT_BREAKPOINT` counts as 0.

    If none exist, some of the closed complementarities are a *conflict*, from which none can be
    left out: no point of the bilevel problem has all of them closed. In the binaries of the
    single-level program that is the cut ``Σ z ≥ 1`` over the conflict, whatever the Ms (a
    combinatorial Benders cut).
    """
    sizes = {KAPPA: 1, **conditions.multipliers}
    scale = Affine({KAPPA: -np.ones((1, 1)), large: -np.ones((1, sizes[large]))}, np.ones(1))
    simplex = WarmProgram(
        linear_program(
            cost={KAPPA: -np.ones(1)},
            limits={name: (np.zeros(n), np.full(n, np.inf)) for name, n in sizes.items()},
            nonnegative=[*(p for p, _ in conditions.complementarities.values()), scale],
            zero=conditions.zero,
        )
    )

    def multipliers_exist() -> bool:
        return bool(simplex.minimise()[0] > AT_BREAKPOINT)

    conflict = slack > AT_BREAKPOINT
    # In the order of their slacks, to open those nearest to their breakpoint first: a conflict
    # among distant ones is dearer to escape and makes the stronger cut.
    closed = [k for k in np.argsort(slack).tolist() if conflict[k]]
    for k in closed:
        simplex.set_row(k, 0.0, 0.0)
    if multipliers_exist():
        return None
    for k in closed:
        simplex.set_row(k, 0.0, np.inf)
        if multipliers_exist():
            simplex.set_row(k, 0.0, 0.0)
        else:
            conflict[k] = False
    return conflict
