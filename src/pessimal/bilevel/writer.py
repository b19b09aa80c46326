"""From two levels in CVXPY to arrays.

Each level is canonicalised by CVXPY with the variables of the other one as parameters. What comes
back is affine in them: products are prices, everything else is a right-hand side.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Protocol

import cvxpy as cp
import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, hstack, vstack

from pessimal.bilevel.canonical import (
    CanonicalLevel,
    canonicalise,
    is_dpp,
    limits,
    refuse,
    substitute,
    substitute_constraint,
    terms,
)
from pessimal.bilevel.program import BilevelProgram, FollowerProgram, Rows
from pessimal.errors import InvalidInputError


class Level(Protocol):
    """What a follower minimises, subject to what, over which variables."""

    objective: Any
    constraints: list[Any]
    variables: list[cp.Variable]


class ProgramWriter:
    """Writes the program of one problem; `outer` and `inner` are its variables in their order."""

    def __init__(
        self,
        objective: Any,
        constraints: Sequence[Any],
        followers: Sequence[Level],
        outer: Sequence[cp.Variable],
        inner: Sequence[cp.Variable],
    ) -> None:
        self.objective, self.constraints, self.followers = objective, constraints, followers
        self._outer, self._inner = outer, inner

    def write(self) -> BilevelProgram:
        """Return the problem as arrays; the leader minimises."""
        followers, start = [], 0
        for k, follower in enumerate(self.followers):
            where = "the follower" if len(self.followers) == 1 else f"follower {k}"
            followers.append(self._follower(follower, start, where))
            start += len(followers[-1])
        return self._leader(followers, start)

    def _follower(self, follower: Level, start: int, where: str) -> FollowerProgram:
        plain = [cp.Variable(v.shape, name=v.name()) for v in follower.variables]
        fixed = [_parameter(v, where) for v in self._outer]
        leaves = _constants(follower.objective, follower.constraints)
        leaves |= {v.id: p for v, p in zip(follower.variables, plain, strict=True)}
        leaves |= {v.id: p for v, p in zip(self._outer, fixed, strict=True)}
        level = canonicalise(
            substitute(follower.objective, leaves),
            [substitute_constraint(c, leaves, where) for c in follower.constraints],
            plain,
            fixed,
            where,
        )
        lower, upper = level.lower.copy(), level.upper.copy()
        first = 0
        for variable in follower.variables:
            low, high, integer = limits(variable, where)
            if integer.any():
                refuse(variable, where, "an integer variable; only outer ones may be integer")
            own = slice(first, first + variable.size)
            lower[own], upper[own] = np.maximum(lower[own], low), np.minimum(upper[own], high)
            first += variable.size
        return FollowerProgram(
            cost=level.cost,
            price=level.price,
            curvature=level.curvature,
            rows=level.rows,
            lower=lower,
            upper=upper,
            columns=slice(start, start + len(level.cost)),
            outer_cost=level.slope,
            constant=level.constant,
        )

    def _leader(self, followers: list[FollowerProgram], n_inner: int) -> BilevelProgram:
        where = "the outer problem"
        variables = [*self._outer, *self._inner]
        plain = [cp.Variable(v.shape, name=v.name()) for v in variables]
        leaves = _constants(self.objective, self.constraints)
        leaves |= {v.id: p for v, p in zip(variables, plain, strict=True)}
        convex: list[Any] = []
        products: list[Any] = []
        for term in terms(self.objective):
            (convex if substitute(term, leaves).is_convex() else products).append(term)
        level = canonicalise(
            sum((substitute(term, leaves) for term in convex), cp.Constant(0.0)),
            [substitute_constraint(c, leaves, where) for c in self.constraints],
            plain,
            [],
            where,
        )
        n_own = sum(v.size for v in self._outer)
        # Columns of the level: x, the named inner variables, auxiliary ones; y has its own order.
        inner = np.concatenate([self._inner_columns(f, p) for f, p in zip(
            self.followers, followers, strict=True)])  # fmt: skip
        n_level = len(level.cost)
        auxiliary = np.arange(n_own + len(inner), n_level)
        x = np.append(np.arange(n_own), auxiliary)
        pad = len(auxiliary)
        followers = [_padded(follower, pad) for follower in followers]

        def in_y(matrix: csr_array) -> csr_array:
            entries = csr_array(matrix)[:, n_own : n_own + len(inner)].tocoo()
            return csr_array(
                (entries.data, (entries.row, inner[entries.col])), shape=(matrix.shape[0], n_inner)
            )

        # Limits on inner variables are rows: they are the leader's, not the follower's.
        named_inner = slice(n_own, n_own + len(inner))
        low, high = level.lower[named_inner], level.upper[named_inner]
        bounded = np.flatnonzero(np.isfinite(low) | np.isfinite(high))
        unit = csr_array(
            (np.ones(len(bounded)), (np.arange(len(bounded)), inner[bounded])),
            shape=(len(bounded), n_inner),
        )
        rows = _stacked(
            Rows(
                level.rows.inner[:, x], in_y(level.rows.inner), level.rows.lower, level.rows.upper
            ),
            Rows(csr_array((len(bounded), len(x))), unit, low[bounded], high[bounded]),
        )
        lower, upper = level.lower[x].copy(), level.upper[x].copy()
        integer = np.zeros(len(x), dtype=np.bool_)
        first = 0
        for variable in self._outer:
            own = slice(first, first + variable.size)
            low, high, integer[own] = limits(variable, where)
            lower[own], upper[own] = np.maximum(lower[own], low), np.minimum(upper[own], high)
            first += variable.size
        curvature = csr_array(level.curvature)
        if abs(curvature[x][:, named_inner]).sum() > 0.0:
            refuse(self.objective, where, "a square of outer and inner variables together; keep "
                   "them in separate squares")  # fmt: skip
        between = curvature[named_inner][:, named_inner].tocoo()
        inner_curvature = csr_array(
            (between.data, (inner[between.row], inner[between.col])), shape=(n_inner, n_inner)
        )
        outer_cost, inner_cost = level.cost[x].copy(), np.zeros(n_inner)
        inner_cost[inner] = level.cost[named_inner]
        price = csr_array((n_inner, len(x)))
        for term in products:
            product = self._product(term, where)
            outer_cost[:n_own] += product.slope
            inner_cost[inner] += product.cost
            price = price + _placed(product.price, inner, price.shape)
        return BilevelProgram(
            outer_cost=outer_cost,
            inner_cost=inner_cost,
            outer_curvature=csr_array(curvature[x][:, x]),
            inner_curvature=inner_curvature,
            price=csr_array(price),
            constant=level.constant,
            rows=rows,
            lower=lower,
            upper=upper,
            integer=integer,
            followers=tuple(followers),
            auxiliary=np.arange(len(x)) >= n_own,
        )

    def _product(self, term: Any, where: str) -> CanonicalLevel:
        """Return a term that is not convex as products of outer and inner variables."""
        plain = [cp.Variable(v.shape, name=v.name()) for v in self._inner]
        fixed = [_parameter(v, where) for v in self._outer]
        leaves = _constants(term, [])
        leaves |= {v.id: p for v, p in zip(self._inner, plain, strict=True)}
        leaves |= {v.id: p for v, p in zip(self._outer, fixed, strict=True)}
        as_function_of_y = substitute(term, leaves)
        reason = "which is neither convex nor a product of outer and inner variables"
        if not is_dpp(as_function_of_y):
            refuse(term, where, reason)
        level = canonicalise(as_function_of_y, [], plain, fixed, where)
        if abs(level.curvature).sum() > 0.0 or len(level.cost) > sum(v.size for v in plain):
            refuse(term, where, reason)
        return level

    @staticmethod
    def _inner_columns(follower: Level, program: FollowerProgram) -> Any:
        return program.columns.start + np.arange(sum(v.size for v in follower.variables))


def _parameter(variable: cp.Variable, where: str) -> cp.Parameter:
    """Return a parameter in place of a variable, with its sign, which the rules of DCP use."""
    lower, upper, _ = limits(variable, where)
    nonneg, nonpos = bool(np.all(lower >= 0.0)), bool(np.all(upper <= 0.0))
    return cp.Parameter(
        variable.shape, name=variable.name(), nonneg=nonneg, nonpos=nonpos and not nonneg
    )


def _constants(objective: Any, constraints: Sequence[Any]) -> dict[int, Any]:
    """Return the values of the user's parameters, by their ids."""
    values = {}
    for part in (objective, *constraints):
        for parameter in part.parameters():
            if parameter.value is None:
                raise InvalidInputError(f"parameter {parameter.name()!r} has no value; set it")
            values[parameter.id] = cp.Constant(parameter.value)
    return values


def _padded(follower: FollowerProgram, pad: int) -> FollowerProgram:
    """Return a follower with outer variables appended that it does not see."""
    rows = follower.rows
    return replace(
        follower,
        price=csr_array(hstack([follower.price, csr_array((len(follower), pad))])),
        rows=replace(rows, outer=csr_array(hstack([rows.outer, csr_array((len(rows), pad))]))),
        outer_cost=np.append(follower.outer_cost, np.zeros(pad)),
    )


def _stacked(first: Rows, second: Rows) -> Rows:
    return Rows(
        csr_array(vstack([first.outer, second.outer])),
        csr_array(vstack([first.inner, second.inner])),
        np.append(first.lower, second.lower),
        np.append(first.upper, second.upper),
    )


def _placed(matrix: csr_array, rows: NDArray[np.intp], shape: tuple[int, int]) -> csr_array:
    """Return a larger matrix with the rows of this one at some of its rows."""
    entries = csr_array(matrix).tocoo()
    return csr_array((entries.data, (rows[entries.row], entries.col)), shape=shape)
