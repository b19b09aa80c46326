"""The Karush-Kuhn-Tucker conditions of an inner linear program, as data.

An inner program in variables x has outer variables y in its right-hand side:

    minimise ``cost·x``  subject to  ``A·x + B·y + a ≥ 0``  and  ``x_j ≥ 0`` for some j.

With multipliers π ≥ 0 of its rows the *reduced cost* of x_j is ``κ·cost_j − A_jᵀ·π``, where κ is
the weight of the inner objective. A feasible x is optimal if and only if, for κ = 1, some π makes
the reduced cost of a free variable 0 and that of the others non-negative, with

    ``π ⟂ A·x + B·y + a``  and  ``reduced cost ⟂ x_j ≥ 0``,

the *complementarities*. Multipliers may be scaled at will, so κ may be any positive number; κ = 0
makes the conditions a relaxation.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from pessimal.bilevel.affine import Affine, linear_program
from pessimal.lp.highs import WarmProgram
from pessimal.problem import Mask, Vector
from pessimal.tolerances import AT_BREAKPOINT

KAPPA = "kappa"
"""Name of the weight κ of the inner objective."""


@dataclass(frozen=True, eq=False)
class InnerProgram:
    """Minimise ``cost·x`` subject to rows ``≥ 0`` and to some variables ``≥ 0``.

    Attributes
    ----------
    free, nonnegative : mapping of str to Vector
        The inner variables, with their costs.
    rows : mapping of str to Affine
        In inner and outer variables, by the name of their multipliers.
    """

    free: Mapping[str, Vector]
    nonnegative: Mapping[str, Vector]
    rows: Mapping[str, Affine]

    def reduced_cost(self, name: str, cost: Vector) -> Affine:
        """Return ``κ·cost − Aᵀ·π`` of an inner variable."""
        of_rows = {
            multiplier: -row.coefficients[name].T
            for multiplier, row in self.rows.items()
            if name in row.coefficients
        }
        return Affine({KAPPA: cost[:, None], **of_rows}, np.zeros(len(cost)))


class Complementarity(NamedTuple):
    """``multiplier ≥ 0``, ``slack ≥ 0``, and of each pair of entries one is 0."""

    multiplier: Affine
    slack: Affine


@dataclass(frozen=True, eq=False)
class KKT:
    """Optimality conditions.

    Attributes
    ----------
    multipliers : mapping of str to int
        How many there are of each name.
    nonnegative : list of Affine
        The rows, and the reduced costs of the variables that are not free.
    zero : list of Affine
        The reduced costs of the free variables.
    complementarities : mapping of str to Complementarity
        By the name of the multipliers, or of the variable where the multiplier is a reduced cost.
    """

    multipliers: Mapping[str, int]
    nonnegative: list[Affine]
    zero: list[Affine]
    complementarities: Mapping[str, Complementarity]


def kkt(inner: InnerProgram) -> KKT:
    """Write down the conditions under which an inner program is solved.

    Examples
    --------
    Least x ≥ 0 with x ≥ y: either x = y, or the multiplier of the row is 0; and either x = 0, or
    its reduced cost, 1 less that multiplier, is 0.

    >>> one = np.ones((1, 1))
    >>> row = Affine({"x": one, "y": -one}, np.zeros(1))
    >>> list(kkt(InnerProgram({}, {"x": np.ones(1)}, {"pi": row})).complementarities)
    ['pi', 'x']
    """
    reduced = {name: inner.reduced_cost(name, cost) for name, cost in inner.nonnegative.items()}
    return KKT(
        multipliers={name: len(row) for name, row in inner.rows.items()},
        nonnegative=[*inner.rows.values(), *reduced.values()],
        zero=[inner.reduced_cost(name, cost) for name, cost in inner.free.items()],
        complementarities={
            **{
                name: Complementarity(Affine.variable(name, len(row)), row)
                for name, row in inner.rows.items()
            },
            **{
                name: Complementarity(cost, Affine.variable(name, len(cost)))
                for name, cost in reduced.items()
            },
        },
    )


def slacks(conditions: KKT, values: Mapping[str, Vector]) -> Vector:
    """Return the slacks of all complementarities at a point."""
    pairs = conditions.complementarities.values()
    return np.concatenate([pair.slack(values) for pair in pairs])


def find_conflict(conditions: KKT, slack: Vector, large: str) -> Mask | None:
    """Return complementarities that no multipliers satisfy together, or None if there are some.

    A big M bounds a multiplier, and an integrality tolerance leaks through it; κ = 0 may even be
    admitted. So a point is asked again here, without any M, whether multipliers of any size exist.
    A complementarity with a positive slack is *closed*: its multiplier is 0. The question is a
    linear program in the multipliers alone: maximise κ. They exist when κ is positive. A κ below
    the tolerance `AT_BREAKPOINT` counts as 0.

    If they do not exist, some of the closed complementarities are a *conflict*: no point of the
    bilevel problem has all of them closed. In the binaries of the single-level program that is the
    cut ``Σ z ≥ 1`` over the conflict, whatever the multipliers (a combinatorial Benders cut).

    Parameters
    ----------
    conditions : KKT
    slack : Vector
        Of every complementarity, in their order.
    large : str
        The multipliers that may grow without bound; the scale is such that they and κ add up to
        at most 1.

    Returns
    -------
    Mask or None
        A conflict that is none without any one of its complementarities.
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
    for k in np.flatnonzero(conflict).tolist():
        simplex.set_row(k, 0.0, 0.0)
    if multipliers_exist():
        return None
    # Try to open those nearest to their breakpoint first: a conflict among distant ones is dearer
    # to escape and makes the stronger cut.
    closed = np.flatnonzero(conflict)
    for k in closed[np.argsort(slack[closed])].tolist():
        simplex.set_row(k, 0.0, np.inf)
        if multipliers_exist():
            simplex.set_row(k, 0.0, 0.0)
        else:
            conflict[k] = False
    return conflict
