"""Published problems on every route, and random ones, against enumeration."""

from __future__ import annotations

import math
from typing import Any

import cvxpy
import pytest
from catalogue import CATALOGUE, Published
from enumeration import UNATTAINED, Outcome, optimistic, pessimistic, pessimistic_on_line
from plain_arrays import arrays_of
from random_programs import AGREES, draw, judge

from pessimal.bilevel import BilevelProblem, BilevelStatus, Follower
from pessimal.bilevel.routes import METHODS
from pessimal.errors import MissingExtraError

cp: Any = cvxpy

ENUMERATED = [
    problem
    for problem in CATALOGUE
    if problem.unattained
    or problem.pessimistic not in (None, problem.optimistic)
    or problem.name in ("bard_1984_a", "tuy_1994")
]
OTHER_ROUTES = ["candler_townsley_1982", "kleinert_2021", "de_silva_1978", "pineda_morales_2019"]
"""The benchmark has all problems on all routes."""


def named(problem: Published) -> str:
    return problem.name


def agrees(value: float, published: float | None) -> bool:
    assert published is not None
    return math.isclose(value, published, rel_tol=1e-6, abs_tol=1e-6)


def test_the_catalogue_has_enough_of_both_views() -> None:
    certain = [problem for problem in CATALOGUE if not problem.doubtful]
    assert sum(problem.optimistic is not None for problem in certain) >= 20
    assert sum(problem.pessimistic is not None for problem in certain) >= 6
    assert len({problem.name for problem in CATALOGUE}) == len(CATALOGUE)
    assert all(len(problem.source) > 40 for problem in CATALOGUE)


@pytest.mark.parametrize("published", ENUMERATED, ids=named)
def test_enumeration_confirms_what_was_published(published: Published) -> None:
    arrays = arrays_of(published.build())
    assert agrees(optimistic(arrays).value, published.optimistic)
    if published.pessimistic is None:
        return
    found: Outcome
    if any(follower.price.any() for follower in arrays.followers):
        found = pessimistic_on_line(arrays)
    else:
        found = pessimistic(arrays, published.epsilon, published.delta)
    assert agrees(found.value, published.pessimistic)
    assert (found.status == UNATTAINED) == published.unattained


def solved(published: Published, view: str, method: str = "search") -> None:
    problem: Any = published.build()
    pessimist = {"epsilon": published.epsilon, "delta": published.delta}
    problem.solve(view, method=method, **(pessimist if view == "pessimistic" else {}))
    expected = getattr(published, view)
    assert problem.status is not None
    if view == "pessimistic" and published.unattained:
        assert problem.status.value == "not attained"
        assert agrees(problem.bound, expected)
    elif math.isinf(expected):
        assert problem.status.value == "infeasible"
    else:
        assert problem.status.value == "optimal"
        assert problem.certificate is not None
        assert problem.certificate.ok
        assert agrees(problem.value, expected)
        assert agrees(problem.bound, expected)


@pytest.mark.parametrize("published", CATALOGUE, ids=named)
def test_the_search_proves_the_published_optimum(published: Published) -> None:
    solved(published, "optimistic")


@pytest.mark.parametrize(
    "published",
    [p for p in CATALOGUE if p.pessimistic is not None],
    ids=named,
)
def test_the_search_proves_the_published_guarantee(published: Published) -> None:
    solved(published, "pessimistic")


def test_an_integer_that_would_have_to_be_a_fraction_leaves_no_decision() -> None:
    x, y = cp.Variable(integer=True), cp.Variable(bounds=[-2, 1])
    follower = Follower(cp.Maximize(y), [y <= x + 5], variables=[y])
    problem = BilevelProblem(cp.Minimize(-3 * y), [x >= -2, x <= 1, 3 * x == -5], follower)
    assert problem.solve() == math.inf
    assert problem.status is BilevelStatus.INFEASIBLE


@pytest.mark.parametrize("method", [method for method in METHODS if method != "search"])
@pytest.mark.parametrize("name", OTHER_ROUTES)
def test_every_route_proves_the_published_optimum(name: str, method: str) -> None:
    published = next(p for p in CATALOGUE if p.name == name)
    try:
        solved(published, "optimistic", method)
    except MissingExtraError as missing:
        pytest.skip(str(missing))


@pytest.mark.parametrize("method", METHODS)
def test_limits_that_cross_are_an_answer_on_every_route(method: str) -> None:
    x, y = cp.Variable(), cp.Variable(bounds=[-2, 1])
    follower = Follower(cp.Maximize(y), [y <= x + 5], variables=[y])
    for rows, expected in (([x >= 2, x <= 1], "infeasible"), ([x >= 0], "optimal")):
        problem: Any = BilevelProblem(cp.Minimize(x - y), [*rows, x <= 9], follower)
        try:
            problem.solve(method=method)
        except MissingExtraError as missing:
            pytest.skip(str(missing))
        assert problem.status.value == expected


def test_a_guarantee_is_sought_at_every_whole_number() -> None:
    # Near 0 the follower answers −2, at 0 anything up to 2, which costs 6; at −1 the value is −5.
    x, y = cp.Variable(integer=True), cp.Variable(bounds=[-2, 2])
    follower = Follower(cp.Minimize(-3 * x * y), [], variables=[y])
    problem = BilevelProblem(cp.Minimize(3 * y - x), [x >= -1, x <= 0], follower)
    assert agrees(problem.solve("pessimistic"), -5.0)
    assert problem.status is BilevelStatus.OPTIMAL


def test_a_leader_without_a_decision_is_not_told_of_bad_responses() -> None:
    x, y = cp.Variable(), cp.Variable(bounds=[0, 2])
    follower = Follower(cp.Minimize(y - x * y), [], variables=[y])
    problem = BilevelProblem(cp.Minimize(-y), [x >= 1, x <= 0], follower)
    problem.solve("pessimistic")
    assert problem.status is BilevelStatus.INFEASIBLE


@pytest.mark.parametrize("view", ["optimistic", "pessimistic"])
@pytest.mark.parametrize("seed", range(5))
def test_random_programs_end_as_enumeration_says(seed: int, view: str) -> None:
    drawn = draw(seed)
    if view == "pessimistic" and drawn.curved:
        pytest.skip("worst responses to squares are not enumerated")
    drawn.solve(view)
    verdict, told = judge(drawn, view, drawn.enumerate(view))
    assert verdict == AGREES, told
