"""One limit per feature starts from the boxes of both views: no worse, and with their bounds."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from clocks import LeapingClock
from grids import enumerated_worst_case
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_digits
from sklearn.preprocessing import StandardScaler
from strategies import budgets, flip_masks, problems

from pessimal import Budget, TuningProblem, solve_optimistic, solve_pessimistic, worst_case
from pessimal.errors import SolverError
from pessimal.limits import Limits
from pessimal.near_optimal.polyhedral.cases import Worst, WorstCases
from pessimal.problem import Mask
from pessimal.reproduction.instances import draw, tuning_problem
from pessimal.solve import TieBreak
from pessimal.solvers.base import Result, Status, Task
from pessimal.solvers.minimax.descent import Descent
from pessimal.solvers.minimax.driver import DEFAULT_SHARE, START_NODES
from pessimal.solvers.search.driver import SearchSolver
from pessimal.tolerances import OPTIMAL_GAP


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


def digits(n_train: int, n_val: int) -> TuningProblem:
    """Threes and eights of scikit-learn's digits: more columns than rows, separable."""
    X, y = load_digits(return_X_y=True)
    chosen = np.flatnonzero(np.isin(y, (3, 8)))[: n_train + n_val]
    X, y = StandardScaler().fit_transform(X[chosen]), np.where(y[chosen] == 8, 1.0, -1.0)
    return TuningProblem(X[:n_train], y[:n_train], X[n_train:], y[n_train:])


def test_few_nodes_are_enough_for_the_boxes_that_cost_nothing() -> None:
    tuning, budget = digits(12, 12), Budget(0.2)
    ours = solve_pessimistic(tuning, budget, inner="exact", node_limit=1)
    paper, optimistic = solve_pessimistic(tuning, budget), solve_optimistic(tuning)
    worst = worst_case(tuning, ours.box, budget).upper_bound
    assert worst <= ours.worst_case_bound + OPTIMAL_GAP
    for box in (paper.box, optimistic.box, 0.0, 0.0625, 0.25):
        assert worst <= worst_case(tuning, box, budget, node_limit=1).upper_bound + OPTIMAL_GAP


@pytest.mark.parametrize("still_looks", [5, 10, 20, 60])
def test_a_box_is_guaranteed_something_however_early_time_runs_out(
    still_looks: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    tuning, budget = digits(12, 12), Budget(0.2)
    with monkeypatch.context() as patch:
        LeapingClock(patch, still_looks)
        ours = solve_pessimistic(tuning, budget, inner="exact", time_limit=10.0)
    assert ours.status is Status.TIME_LIMIT
    worst = worst_case(tuning, ours.box, budget, node_limit=1)
    assert worst.value <= ours.worst_case_bound + OPTIMAL_GAP
    # Whatever the intercept of the narrowest box, a class of half the weight loses at most this.
    assert ours.worst_case_bound <= 3.0


@pytest.mark.parametrize("trouble", ["no model", "no bound"])
def test_linear_programs_that_stall_leave_a_finite_bound(
    trouble: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    tuning, budget = problem("diabetes", 5, 5, 300), Budget(0.2)
    real = WorstCases.worst

    def stalled(*arguments: Any) -> Worst:
        if trouble == "no model":
            raise SolverError("no model was found")
        return replace(real(*arguments), upper_bound=np.inf)

    with monkeypatch.context() as patch:
        patch.setattr(WorstCases, "worst", stalled)
        ours = solve_pessimistic(tuning, budget, inner="exact", node_limit=20)
    assert worst_case(tuning, ours.box, budget).value <= ours.worst_case_bound < np.inf
    assert ours.exact_worst_case.upper_bound <= ours.worst_case_bound


def test_a_run_cut_short_has_the_bound_of_the_problem_against_its_worst_model(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    tuning = problem("diabetes", 10, 10, 3)
    monkeypatch.setattr(Descent, "improve", interrupt)
    ours = solve_pessimistic(tuning, Budget(0.2), inner="exact")
    assert ours.status is Status.INTERRUPTED
    views = solve_optimistic(tuning), solve_pessimistic(tuning, Budget(0.2))
    assert ours.lower_bound > max(view.objective for view in views) + 0.01


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


@pytest.mark.parametrize("seed", [3, 5, 8])
@pytest.mark.parametrize("nodes", [1, 10, 100])
def test_under_a_limit_no_more_is_proved_of_the_paper_s_box(seed: int, nodes: int) -> None:
    # With that limit the paper's box has a smaller worst case here, but nobody has found out.
    random, y = np.random.default_rng(seed), np.where(np.arange(40) % 2 == 0, -1.0, 1.0)
    X = random.standard_normal((40, 4)) + 0.4 * y[:, None]
    tuning, budget = TuningProblem(X[:20], y[:20], X[20:], y[20:]), Budget(0.2)
    paper = solve_pessimistic(tuning, budget, node_limit=nodes)
    ours = solve_pessimistic(tuning, budget, inner="exact", node_limit=nodes)
    known = worst_case(tuning, paper.box, budget, node_limit=nodes).upper_bound
    assert ours.worst_case_bound <= known + OPTIMAL_GAP


def test_the_default_s_problem_has_its_share_of_the_time_and_as_many_nodes_as_fit(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # With less it starts from a worse box than the default finds in the same time.
    tuning, given = problem("diabetes", 5, 5, 300), []
    real = SearchSolver.solve

    def recorded(solver: SearchSolver, task: Task, limits: Limits) -> Result:
        given.append((task.kind, limits))
        return real(solver, task, limits)

    monkeypatch.setattr(SearchSolver, "solve", recorded)
    solve_pessimistic(tuning, Budget(0.2), inner="exact", time_limit=1e6)
    kind, limits = given[0]
    assert kind == "pessimistic"
    assert limits.time_limit is not None
    assert limits.time_limit > 0.9 * DEFAULT_SHARE * 1e6
    assert limits.node_limit is None or limits.node_limit > 1_000_000


@pytest.mark.parametrize("seed", [3, 8])
@pytest.mark.parametrize("nodes", [40, 400])
def test_cut_short_it_guarantees_no_less_than_the_default_s_box_does(seed: int, nodes: int) -> None:
    random, y = np.random.default_rng(seed), np.where(np.arange(60) % 2 == 0, -1.0, 1.0)
    X = random.standard_normal((60, 4)) + 0.4 * y[:, None]
    tuning, budget = TuningProblem(X[:30], y[:30], X[30:], y[30:]), Budget(0.1)
    ours = solve_pessimistic(tuning, budget, inner="exact", node_limit=nodes)
    default = solve_pessimistic(tuning, budget, node_limit=nodes)
    few = int(DEFAULT_SHARE * nodes)
    known = worst_case(tuning, default.box, budget, node_limit=few).upper_bound
    assert ours.worst_case_bound <= known + OPTIMAL_GAP
