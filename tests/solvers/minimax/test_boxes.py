"""Branch and bound on cells of boxes: against grids of boxes, whose worst cases are enumerated."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from grids import enumerated_worst_case, random_problem, worst_cases_on_grid
from hypothesis import given, settings
from strategies import budgets, problems

from pessimal import Budget, TuningProblem, solve_pessimistic, worst_case
from pessimal.limits import Limits
from pessimal.solvers.minimax.active_sets import ActiveSets
from pessimal.solvers.minimax.boxes import BoxSearch
from pessimal.solvers.minimax.groups import groups_of
from pessimal.solvers.minimax.oracle import WorstCaseOracle
from pessimal.solvers.search.driver import bound_between

TOLERANCE = 1e-6


def searched(
    problem: TuningProblem, budget: Budget, time_limit: float | None = None
) -> WorstCaseOracle:
    """Branch on boxes alone, from the widest."""
    limits = Limits(time_limit=time_limit)
    oracle = WorstCaseOracle(problem, budget, groups_of(problem, "each"), limits)
    oracle.at(problem.upper)
    BoxSearch(oracle, ActiveSets()).run()
    return oracle


@settings(max_examples=8)
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
    assert oracle.lower_bound <= oracle.best_value <= least + TOLERANCE


def test_nodes_end_the_search_only_where_time_is_not_limited(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("pessimal.solvers.minimax.boxes.MOST_NODES", 1)
    problem, budget = random_problem(0, 6, 4, 3), Budget(0.2, 0.1)
    assert not searched(problem, budget).met
    assert searched(problem, budget, time_limit=1e6).met


@pytest.mark.parametrize("seed", range(4))
def test_the_loser_of_a_box_is_one_of_its_near_optimal_models(seed: int) -> None:
    problem, budget = random_problem(seed, 8, 6, 3), Budget(0.2, 0.05)
    oracle = WorstCaseOracle(problem, budget, groups_of(problem, "each"), Limits())
    box = np.array([0.3, 0.1, 0.6])
    worst = enumerated_worst_case(problem, box, budget)
    rng = np.random.default_rng(seed)
    for active in (np.ones(6, np.bool_), rng.random(6) < 0.5, oracle.at(box).active):
        most = oracle.active_set_loss(box, oracle.limit(box), active)
        assert most - TOLERANCE <= oracle.loss_of_loser(box, active) <= worst + TOLERANCE
    assert oracle.loss_of_loser(box, active) == pytest.approx(worst, abs=TOLERANCE)


def test_no_box_drawn_at_random_is_better() -> None:
    problem, budget = random_problem(3, 8, 6, 5), Budget(0.0, 0.1)
    solution = solve_pessimistic(problem, budget, inner="exact", groups="each")
    rng = np.random.default_rng(0)
    drawn = (problem.upper * rng.random(5) ** 2 for _ in range(100))
    worst = min(enumerated_worst_case(problem, box, budget) for box in drawn)
    assert solution.lower_bound <= solution.objective <= worst + TOLERANCE


@pytest.mark.parametrize("budget", [Budget(), Budget(0.2), Budget(0.0, 0.1)], ids=str)
@pytest.mark.parametrize("seed", range(4))
def test_the_bound_of_a_cell_is_no_larger_than_a_worst_case_in_it(
    seed: int, budget: Budget
) -> None:
    problem = random_problem(seed, 8, 6, 2)
    cell = replace(problem, lower=np.array([0.2, 0.0]), upper=np.array([0.5, 1.0]))
    axes = [np.linspace(low, high, 9) for low, high in zip(cell.lower, cell.upper, strict=True)]
    boxes = np.array(np.meshgrid(*axes)).reshape(2, -1).T
    least = min(enumerated_worst_case(problem, box, budget) for box in boxes)
    for active in (np.ones(6, np.bool_), problem.y_val > 0.0, np.arange(6) < 2):
        found = bound_between(cell, budget, active, 0.0, 10.0, Limits())
        assert found.bound <= least + TOLERANCE


@pytest.mark.parametrize("budget", [Budget(0.2), Budget(0.0, 0.1)], ids=str)
def test_in_one_box_the_bound_of_the_worst_model_s_points_is_the_worst_case(
    budget: Budget,
) -> None:
    problem = random_problem(7, 8, 6, 3)
    cell = replace(problem, lower=np.full(3, 0.4), upper=np.full(3, 0.4))
    worst = worst_case(problem, 0.4, budget)
    active = problem.y_val * worst.model.decision_function(problem.X_val) < 1.0
    found = bound_between(cell, budget, active, 0.0, 10.0, Limits())
    assert found.bound == pytest.approx(worst.value, abs=TOLERANCE)


def test_between_two_values_the_bound_is_the_nearer_one() -> None:
    problem, budget = random_problem(5, 8, 6, 3), Budget(0.2)
    active = np.ones(6, np.bool_)
    least = bound_between(problem, budget, active, 0.0, 10.0, Limits()).bound
    below = bound_between(problem, budget, active, 0.0, least - 0.1, Limits())
    assert below.bound == pytest.approx(least - 0.1, abs=TOLERANCE)
    assert below.box is None
    above = bound_between(problem, budget, active, least + 0.05, least + 0.1, Limits())
    assert above.bound <= least + TOLERANCE
