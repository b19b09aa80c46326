"""Branch and bound on cells of boxes: against grids of boxes, whose worst cases are enumerated."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from grids import enumerated_worst_case, random_problem, worst_cases_on_grid
from hypothesis import given, settings
from strategies import budgets, problems

from pessimal import Budget, TuningProblem, solve_pessimistic
from pessimal.limits import Limits
from pessimal.solvers.base import Task
from pessimal.solvers.minimax.boxes import BoxSearch
from pessimal.solvers.minimax.descent import Descent
from pessimal.solvers.minimax.groups import groups_of
from pessimal.solvers.minimax.oracle import WorstCaseOracle
from pessimal.solvers.search.driver import bound_between

TOLERANCE = 1e-6


def searched(problem: TuningProblem, budget: Budget) -> WorstCaseOracle:
    """Branch on boxes alone, from the widest."""
    oracle = WorstCaseOracle(problem, budget, groups_of(problem, "each"), Limits())
    oracle.at(problem.upper)
    BoxSearch(oracle, Descent(oracle)).run()
    return oracle


@settings(max_examples=15)
@given(problem=problems(n_features=2), budget=budgets())
def test_no_box_of_a_grid_is_below_the_bound(problem: TuningProblem, budget: Budget) -> None:
    oracle = searched(problem, budget)
    on_grid = worst_cases_on_grid(problem, budget, "each", 9)
    assert oracle.lower_bound <= on_grid.min() + TOLERANCE
    assert oracle.lower_bound <= oracle.best_value + TOLERANCE
    assert oracle.best is not None
    box = oracle.groups.box(oracle.best.h)
    assert oracle.best_value == pytest.approx(
        enumerated_worst_case(problem, box, budget), abs=TOLERANCE
    )


@pytest.mark.parametrize("seed", range(6))
def test_what_is_found_and_what_is_proved_meet(seed: int) -> None:
    problem, budget = random_problem(seed, 6, 4, 3), Budget(0.2, 0.1)
    oracle = searched(problem, budget)
    least = worst_cases_on_grid(problem, budget, "each", 6).min()
    assert oracle.met
    assert oracle.best_value <= least + TOLERANCE


def test_it_finds_what_descent_does_not() -> None:
    # Of the six draws this is one where local search from every start ends above the optimum.
    problem, budget = random_problem(3, 8, 6, 5), Budget(0.0, 0.1)
    solution = solve_pessimistic(problem, budget, inner="exact", groups="each")
    rng = np.random.default_rng(0)
    drawn = (problem.upper * rng.random(5) ** 2 for _ in range(200))
    worst = min(enumerated_worst_case(problem, box, budget) for box in drawn)
    assert solution.lower_bound <= solution.objective <= worst + TOLERANCE


@pytest.mark.parametrize("budget", [Budget(), Budget(0.2), Budget(0.0, 0.1)], ids=str)
@pytest.mark.parametrize("seed", range(4))
def test_a_bound_between_two_values_is_the_optimum_or_the_nearer_one(
    seed: int, budget: Budget
) -> None:
    problem = random_problem(seed, 8, 8, 3)
    everyone = np.ones(problem.n_val, dtype=np.bool_)
    task = Task(problem, budget, everyone)
    optimum = solve_pessimistic(problem, budget, flip="all").objective
    within = bound_between(task, 0.0, optimum + 0.1, Limits())
    assert within.bound == pytest.approx(optimum, abs=TOLERANCE)
    below = bound_between(task, 0.0, optimum - 0.1, Limits())
    assert below.bound == pytest.approx(optimum - 0.1, abs=TOLERANCE)
    assert below.box is None
    above = bound_between(task, optimum + 0.05, optimum + 0.1, Limits())
    assert above.bound <= optimum + TOLERANCE


def test_a_cell_is_the_problem_with_its_limits() -> None:
    problem, budget = random_problem(5, 8, 6, 3), Budget(0.2)
    cell = replace(problem, lower=np.full(3, 0.2), upper=np.array([0.5, 1.0, 0.3]))
    everyone = np.ones(problem.n_val, dtype=np.bool_)
    bound = bound_between(Task(cell, budget, everyone), 0.0, 10.0, Limits()).bound
    axes = [np.linspace(low, high, 5) for low, high in zip(cell.lower, cell.upper, strict=True)]
    boxes = np.array(np.meshgrid(*axes)).reshape(3, -1).T
    assert bound <= min(enumerated_worst_case(problem, box, budget) for box in boxes) + TOLERANCE
