"""What CVXPY makes of a level, and what is refused."""

from __future__ import annotations

from typing import Any

import cvxpy
import numpy as np
import pytest

from pessimal.bilevel import BilevelProblem, Follower
from pessimal.bilevel.canonical import canonicalise, terms
from pessimal.errors import InvalidInputError

cp: Any = cvxpy  # mypy does not find its functions


def test_a_level_has_the_values_of_its_expressions() -> None:
    w, p = cp.Variable(2, name="w"), cp.Parameter(nonneg=True, name="p")
    level = canonicalise(
        p * cp.norm1(w) + cp.sum_squares(w) + 3.0 + 2.0 * p,
        [w[0] + 2 * w[1] == 3 + p, w <= 4],
        [w],
        [p],
        "a level",
    )
    at, price = np.array([1.5, -2.5]), 7.0
    v = np.append(at, np.abs(at))  # norm1 has one auxiliary column per entry
    value = (level.cost + level.price @ [price]) @ v + 0.5 * v @ (level.curvature @ v)
    value += level.slope @ [price] + level.constant
    assert value == pytest.approx(7 * 4 + (1.5**2 + 2.5**2) + 3 + 14)
    equation = level.rows.lower == level.rows.upper
    inner, outer = level.rows.inner.toarray()[equation], level.rows.outer.toarray()[equation]
    assert inner[0, :2] @ at + outer[0] * price - level.rows.lower[equation] == pytest.approx(
        1.5 - 5.0 - 3.0 - 7.0
    )
    assert level.upper[:2].tolist() == [4.0, 4.0]


def test_sums_are_split_into_terms_with_their_signs() -> None:
    x, y = cp.Variable(), cp.Variable()
    x.value, y.value = 2.0, 3.0
    assert [float(term.value) for term in terms(x - (y - 5.0 * x))] == [2.0, -3.0, 10.0]


X, Y = cp.Variable(name="x", nonneg=True), cp.Variable(name="y", nonneg=True)
Z = cp.Variable(name="z", integer=True)


@pytest.mark.parametrize(
    ("objective", "constraints", "inner", "inner_constraints", "named"),
    [
        (cp.exp(X), [], Y, [], "exp(x)"),
        (-cp.square(X), [], Y, [], "x"),
        (X, [X * Y <= 1], Y, [], "x * y <= 1.0"),
        (X, [cp.norm2(cp.hstack([X, Y])) <= 1], Y, [], "Pnorm"),
        (X, [], -cp.abs(Y), [], "abs(y)"),
        (X, [], cp.exp(Y), [], "exp(y)"),
        (X, [], Y, [X * Y >= 1], "x * y"),
        (X, [], X * cp.square(Y), [], "y"),
        (X, [], cp.pos(X * Y - 1), [], "x * y"),
        (X, [], Y, [cp.square(Y) <= 1], "y"),
        (X * Y, [], Y, [Y <= 1], "x * y"),
        (X * Y, [], X * Y, [Y <= 1 + X], "x * y"),
    ],
)
def test_what_is_refused_is_named(
    objective: Any, constraints: list[Any], inner: Any, inner_constraints: list[Any], named: str
) -> None:
    follower = Follower(cp.Minimize(inner), inner_constraints, variables=[Y])
    with pytest.raises(InvalidInputError) as error:
        BilevelProblem(cp.Minimize(objective), constraints, follower).solve()
    assert named in str(error.value)


def test_inner_integers_are_refused() -> None:
    follower = Follower(cp.Minimize(Z), [Z >= X], variables=[Z])
    with pytest.raises(InvalidInputError, match=r"z, an integer variable"):
        BilevelProblem(cp.Minimize(X), [], follower).solve()


def test_followers_that_see_each_other_are_refused() -> None:
    a, b = cp.Variable(name="a"), cp.Variable(name="b")
    first = Follower(cp.Minimize(a), [a >= b], variables=[a])
    second = Follower(cp.Minimize(b), [b >= 0], variables=[b])
    with pytest.raises(InvalidInputError, match="'b', a variable of another follower"):
        BilevelProblem(cp.Minimize(a), [], [first, second])


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"view": "cautious"}, "view"),
        ({"epsilon": 0.1}, "epsilon"),
        ({"view": "pessimistic", "delta": -1.0}, "delta"),
        ({"method": "guess"}, "method"),
        ({"time_limit": 0.0}, "time_limit"),
        ({"node_limit": 0}, "node_limit"),
    ],
)
def test_bad_options_are_named(options: dict[str, Any], named: str) -> None:
    follower = Follower(cp.Minimize(Y), [Y >= X], variables=[Y])
    with pytest.raises(InvalidInputError, match=named):
        BilevelProblem(cp.Minimize(X), [], follower).solve(**options)


def test_bad_arguments_are_named() -> None:
    with pytest.raises(InvalidInputError, match="objective"):
        Follower(Y, variables=[Y])
    with pytest.raises(InvalidInputError, match="variables"):
        Follower(cp.Minimize(Y), variables=[])
    unset = cp.Parameter(name="unset")
    follower = Follower(cp.Minimize(unset * Y), variables=[Y])
    with pytest.raises(InvalidInputError, match="'unset' has no value"):
        BilevelProblem(cp.Minimize(X), [], follower).solve()
