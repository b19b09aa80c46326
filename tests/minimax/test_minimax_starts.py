"""One limit a feature starts from the boxes of both views: it is no worse, and has their bounds."""

from __future__ import annotations

import numpy as np
import pytest
from grids import enumerated_worst_case
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import budgets, flip_masks, problems

from pessimal import Budget, TuningProblem, solve_optimistic, solve_pessimistic, worst_case
from pessimal.experiments.draws import draw, tuning_problem
from pessimal.minimax.driver import START_NODES
from pessimal.problem import Mask
from pessimal.tolerances import OPTIMAL_GAP
from pessimal.views import TieBreak


def problem(data: str, n_train: int, n_val: int, seed: int) -> TuningProblem:
    return tuning_problem(draw(data, n_train, n_val, seed))


@pytest.mark.parametrize("epsilon", [0.0, 0.2])
def test_no_box_that_a_view_returns_has_a_smaller_worst_case(epsilon: float) -> None:
    # On this draw descent ends above the paper's box unless it starts there.
    tuning, budget = problem("cancer", 20, 20, 300), Budget(epsilon)
    ours = solve_pessimistic(tuning, budget, inner="exact", node_limit=3000)
    ties: tuple[TieBreak, ...] = ("smallest_box", "largest_box")
    for tie_break in ties:
        views = (
            solve_optimistic(tuning, node_limit=START_NODES, tie_break=tie_break),
            solve_pessimistic(tuning, budget, node_limit=START_NODES, tie_break=tie_break),
        )
        for view in views:
            assert ours.objective <= worst_case(tuning, view.box, budget).value + OPTIMAL_GAP


def test_an_answer_that_meets_the_optimistic_bound_is_proved() -> None:
    tuning = problem("diabetes", 10, 20, 300)
    optimum = solve_optimistic(tuning)
    ours = solve_pessimistic(tuning, inner="exact")
    assert ours.objective == pytest.approx(optimum.objective, abs=OPTIMAL_GAP)
    assert ours.proved


@settings(max_examples=60)
@given(data=st.data(), problem=problems(), budget=budgets())
def test_no_box_has_a_worst_case_below_the_paper_s_optimum_whatever_is_flipped(
    data: st.DataObject, problem: TuningProblem, budget: Budget
) -> None:
    flipped: Mask = data.draw(flip_masks(problem))
    p = problem.n_features
    share = np.array(data.draw(st.lists(st.floats(0, 1), min_size=p, max_size=p)))
    box = problem.lower + share * (problem.upper - problem.lower)
    bound = solve_pessimistic(problem, budget, flip=flipped).lower_bound
    assert bound <= enumerated_worst_case(problem, box, budget) + OPTIMAL_GAP


def test_an_answer_above_the_optimistic_optimum_can_be_proved() -> None:
    tuning = problem("cancer", 10, 10, 2)
    ours = solve_pessimistic(tuning, Budget(0.2), inner="exact")
    assert ours.proved
    assert ours.lower_bound > solve_optimistic(tuning).objective + 0.05
