"""One limit a feature starts from the boxes of both views, so it is never worse than they are."""

from __future__ import annotations

import pytest

from pessimal import Budget, TuningProblem, solve_optimistic, solve_pessimistic, worst_case
from pessimal.experiments.draws import draw, tuning_problem
from pessimal.minimax.driver import START_NODES
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
