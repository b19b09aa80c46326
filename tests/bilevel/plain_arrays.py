"""A bilevel program in plain matrices, read from CVXPY by evaluating its expressions."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import cvxpy
import numpy as np
from numpy.typing import NDArray

from pessimal.bilevel import BilevelProblem

cp: Any = cvxpy

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Rows:
    """``A x + B y ≤ b``, with ``=`` where `equal`."""

    A: Array
    B: Array
    b: Array
    equal: NDArray[np.bool_]

    @property
    def count(self) -> int:
        return len(self.b)


@dataclass(frozen=True)
class Inner:
    """Minimise ``(cost + price x)·y + ½ y·curvature y + slope·x + constant`` subject to rows."""

    cost: Array
    price: Array
    curvature: Array
    rows: Rows
    slope: Array
    constant: float = 0.0

    @property
    def size(self) -> int:
        return len(self.cost)


@dataclass(frozen=True)
class Arrays:
    """Minimise ``cost·z + ½ z·curvature z + constant``, z = (x, y of every follower in turn)."""

    cost: Array
    curvature: Array
    constant: float
    rows: Rows
    integer: NDArray[np.bool_]
    followers: tuple[Inner, ...]
    outer: tuple[Any, ...] = ()

    @property
    def n_outer(self) -> int:
        return len(self.integer)

    def decision(self) -> Array:
        """Return the values that the outer variables have in CVXPY."""
        return np.concatenate([np.ravel(v.value, order="F") for v in self.outer])


def arrays_of(problem: BilevelProblem) -> Arrays:
    """Read a program from CVXPY; nothing is used of the problem but what the user gave it."""
    objective, constraints = problem.objective, problem.constraints
    followers = [(f.objective, f.constraints, f.variables) for f in problem.followers]
    inner = [variable for _, _, own in followers for variable in own]
    every = {
        v.id: v for e in _expressions(objective, constraints, followers) for v in e.variables()
    }
    outer = [v for name, v in sorted(every.items()) if name not in {v.id for v in inner}]
    variables = [*outer, *inner]
    n, sizes = sum(v.size for v in outer), [sum(v.size for v in own) for _, _, own in followers]
    cost, curvature, constant = _quadratic(objective, variables)
    stops = n + np.cumsum([0, *sizes])
    parts = []
    for (goal, rows, own), start, stop in zip(followers, stops[:-1], stops[1:], strict=True):
        c, Q, at_zero = _quadratic(goal, variables)
        mine = slice(start, stop)
        A, b, equal = _rows([*rows, *_domain(own)], variables)
        matrix = Rows(A[:, :n], A[:, mine], b, equal)
        parts.append(Inner(c[mine], Q[mine, :n], Q[mine, mine], matrix, c[:n], at_zero))
    A, b, equal = _rows([*constraints, *_domain(outer)], variables)
    whole = np.concatenate(
        [np.full(v.size, v.attributes["integer"] or v.attributes["boolean"]) for v in outer]
        or [np.empty(0)]
    )
    own_rows = Rows(A[:, :n], A[:, n:], b, equal)
    return Arrays(
        cost, curvature, constant, own_rows, whole.astype(bool), tuple(parts), tuple(outer)
    )


def _expressions(objective: Any, constraints: Any, followers: Any) -> Iterator[Any]:
    yield objective
    yield from constraints
    for goal, rows, _ in followers:
        yield goal
        yield from rows


def _domain(variables: Sequence[Any]) -> list[Any]:
    rows: list[Any] = []
    for v in variables:
        if v.attributes["nonneg"]:
            rows.append(v >= 0)
        if v.attributes["boolean"]:
            rows += [v >= 0, v <= 1]
        if v.attributes["bounds"] is not None:
            lower, upper = v.attributes["bounds"]
            rows += [v >= lower] if np.all(np.isfinite(lower)) else []
            rows += [v <= upper] if np.all(np.isfinite(upper)) else []
    return rows


def _evaluate(expression: Any, variables: Sequence[Any], at: Array) -> Array:
    start = 0
    for v in variables:
        v.save_value(at[start : start + v.size].reshape(v.shape, order="F"))
        start += v.size
    return np.atleast_1d(np.asarray(expression.value, dtype=float)).ravel(order="F")


def _affine(expression: Any, variables: Sequence[Any]) -> tuple[Array, Array]:
    size = sum(v.size for v in variables)
    at_zero = _evaluate(expression, variables, np.zeros(size))
    columns = [_evaluate(expression, variables, e) - at_zero for e in np.eye(size)]
    return np.array(columns).T.reshape(len(at_zero), size), at_zero


def _rows(constraints: Sequence[Any], variables: Sequence[Any]) -> tuple[Array, Array, Any]:
    size = sum(v.size for v in variables)
    A, b, equal = [np.empty((0, size))], [np.empty(0)], [np.empty(0, dtype=bool)]
    for constraint in constraints:
        matrix, at_zero = _affine(constraint.expr, variables)
        A.append(matrix)
        b.append(-at_zero)
        equal.append(
            np.full(
                len(at_zero), isinstance(constraint, cp.constraints.Zero | cp.constraints.Equality)
            )
        )
    return np.vstack(A), np.concatenate(b), np.concatenate(equal)


def _quadratic(objective: Any, variables: Sequence[Any]) -> tuple[Array, Array, float]:
    size = sum(v.size for v in variables)

    def f(at: Array) -> float:
        return float(_evaluate(objective, variables, at)[0])

    e, zero = np.eye(size), f(np.zeros(size))
    up, down = [f(e[i]) for i in range(size)], [f(-e[i]) for i in range(size)]
    cost = np.array([(u - d) / 2 for u, d in zip(up, down, strict=True)])
    Q = np.zeros((size, size))
    for i, j in itertools.combinations(range(size), 2):
        Q[i, j] = Q[j, i] = f(e[i] + e[j]) - up[i] - up[j] + zero
    np.fill_diagonal(Q, [u + d - 2 * zero for u, d in zip(up, down, strict=True)])
    Q[np.abs(Q) < 1e-9] = 0.0  # data are small rational numbers
    return cost, Q, zero
