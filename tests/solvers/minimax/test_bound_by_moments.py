"""A worst case that took too long has a bound by moments, which no model passes."""

from __future__ import annotations

from dataclasses import replace
from unittest import mock

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from oracles import brute_force_worst_case
from strategies import budgets, problems, uneven_problems

from pessimal.limits import Limits
from pessimal.near_optimal.polyhedral import loss_search
from pessimal.problem import Budget, TuningProblem
from pessimal.solvers.minimax.groups import groups_of
from pessimal.solvers.minimax.oracle import WorstCaseOracle


def oracle_of(problem: TuningProblem, budget: Budget, seconds: float | None) -> WorstCaseOracle:
    """Return an oracle of one limit for all features."""
    groups = groups_of(problem, "one")
    assert groups is not None
    return WorstCaseOracle(problem, budget, groups, Limits(time_limit=seconds))


@given(problem=problems() | uneven_problems(), budget=budgets(), many=st.sampled_from((-1, 60)))
def test_the_bound_is_between_the_worst_case_and_what_was_known(
    problem: TuningProblem, budget: Budget, many: int
) -> None:
    problem = replace(problem, lower=np.zeros(problem.n_features))  # of features in one group
    oracle = oracle_of(problem, budget, 600.0)
    h = oracle.groups.upper
    point = oracle.climbed(h)
    with mock.patch.object(loss_search, "MANY", many):  # -1: moments come before points
        bounded = oracle.bounded_by_moments(point, 1e-4)
    worst = brute_force_worst_case(problem, oracle.groups.box(h), budget)
    assert worst - 1e-6 <= bounded.bound <= point.bound


def test_without_a_time_limit_there_are_no_moments() -> None:
    X = np.array([[-1.0], [1.0], [0.5], [-2.0]])
    problem = TuningProblem(X[:2], [-1, 1], X[2:], [1, -1])
    oracle = oracle_of(problem, Budget(delta=0.5), None)
    point = oracle.climbed(oracle.groups.upper)
    assert oracle.bounded_by_moments(point, 0.9) is point
