"""Limits, Ctrl-C, progress: whatever ends the search, the answer is usable and the bound holds."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from grids import random_problem

from pessimal import Budget, TuningProblem, TuningSolution, solve_pessimistic, worst_case
from pessimal.errors import SolverError
from pessimal.limits import Limits, Progress
from pessimal.problem import Vector
from pessimal.solvers.base import Result, Status, Task
from pessimal.solvers.minimax import driver, oracle, regions
from pessimal.solvers.minimax.groups import groups_of
from pessimal.solvers.minimax.line import bound_on_line, minimise_on_line
from pessimal.solvers.search.driver import SearchSolver
from pessimal.tolerances import OPTIMAL_GAP

BUDGET = Budget(0.2, 0.1)
KINDS: list[Any] = ["one", [[0, 1], [2, 3]], "each"]
every_kind = pytest.mark.parametrize("groups", KINDS, ids=str)


def problem() -> TuningProblem:
    return random_problem(90, 10, 10, 5)


def all_features(groups: Any) -> Any:
    return groups if isinstance(groups, str) else [*groups, [4]]


def solve(groups: Any, **options: Any) -> TuningSolution:
    return solve_pessimistic(
        problem(), BUDGET, inner="exact", groups=all_features(groups), **options
    )


def assert_usable(solution: TuningSolution, groups: Any) -> None:
    """The model is in the near-optimal set of a valid box, and no claim is too large."""
    assert (problem().lower <= solution.box).all()
    assert (solution.box <= problem().upper).all()
    assert solution.certificate.budget_violation <= 1e-6
    assert solution.certificate.box_violation <= 1e-9
    assert 0.0 <= solution.lower_bound <= solution.objective
    assert solution.objective <= worst_case(problem(), solution.box, BUDGET).value + 1e-6
    # No box in these groups has a worst case below the bound: try the best one there is.
    best = solve(groups, node_limit=400)
    assert solution.lower_bound <= best.exact_worst_case.value + 1e-6


@every_kind
def test_out_of_time(groups: Any) -> None:
    solution = solve(groups, time_limit=1e-9)
    assert solution.status is Status.TIME_LIMIT
    assert not solution.proved
    assert_usable(solution, groups)


@pytest.mark.parametrize("groups", KINDS[1:], ids=str)
@pytest.mark.parametrize("node_limit", [1, 30])
def test_out_of_nodes(groups: Any, node_limit: int) -> None:
    first, second = (solve(groups, node_limit=node_limit) for _ in range(2))
    assert first.status is Status.NODE_LIMIT
    assert not first.proved
    assert first.nodes <= node_limit + 2
    assert_usable(first, groups)
    assert np.array_equal(first.box, second.box)
    assert first.objective == second.objective
    assert first.lower_bound == second.lower_bound


@every_kind
def test_nodes_enough_for_a_single_limit_leave_no_worse_box(groups: Any) -> None:
    one = solve("one")
    assert one.proved
    assert solve(groups, node_limit=one.nodes).objective <= one.objective + 1e-6


@every_kind
def test_progress_is_told_and_never_goes_back(groups: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(oracle, "SECONDS_BETWEEN_CALLS", 0.0)
    told: list[Progress] = []
    solution = solve(groups, node_limit=400, callback=told.append)
    assert len(told) > 5
    assert (
        np.diff([progress.incumbent for progress in told if progress.incumbent < np.inf]) <= 0.0
    ).all()
    assert (np.diff([progress.bound for progress in told]) >= -1e-6).all()
    assert (np.diff([progress.nodes for progress in told]) >= 0).all()
    assert (np.diff([progress.seconds for progress in told]) >= 0.0).all()
    for progress in told:
        assert progress.bound <= progress.incumbent
        assert progress.bound <= solution.objective + 1e-6
    assert solution.objective == pytest.approx(told[-1].incumbent, abs=1e-9)


@every_kind
@pytest.mark.parametrize("after", [1, 8])
def test_interrupted(groups: Any, after: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(oracle, "SECONDS_BETWEEN_CALLS", 0.0)
    told: list[Progress] = []

    def interrupt(progress: Progress) -> None:
        told.append(progress)
        if len(told) == after:
            raise KeyboardInterrupt

    solution = solve(groups, callback=interrupt)
    assert solution.status is Status.INTERRUPTED
    assert not solution.proved
    assert solution.objective <= told[-1].incumbent + 1e-9
    assert_usable(solution, groups)


def test_a_start_s_search_that_was_interrupted_ends_all(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(self: SearchSolver, task: Task, limits: Limits) -> Result:
        result = search(self, task, limits)
        return replace(result, status=Status.INTERRUPTED) if task.flipped is None else result

    search = SearchSolver._solve
    monkeypatch.setattr(SearchSolver, "_solve", interrupted)
    solution = solve("each")
    assert solution.status is Status.INTERRUPTED
    assert solution.objective <= solve("one").objective + 1e-6
    assert_usable(solution, "each")


def test_numerical_trouble_is_told_and_what_was_found_is_kept(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def stall(*_: object) -> None:
        raise SolverError("training stalled")

    monkeypatch.setattr(driver, "minimise_in_regions", stall)
    solution = solve(KINDS[1])
    assert solution.status is Status.NOT_PROVED
    assert solution.notes == ("training stalled",)
    assert solution.objective <= solve("one").objective + 1e-6
    assert_usable(solution, KINDS[1])


@pytest.mark.parametrize("groups", ["one", [[0, 1], [2]]], ids=str)
def test_a_proof_that_does_not_hold_is_none(groups: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    small = random_problem(80, 8, 4, 3)
    assert solve_pessimistic(small, BUDGET, inner="exact", groups=groups).proved
    monkeypatch.setattr(driver, "check_leaf", lambda *_: 0.1)
    solution = solve_pessimistic(small, BUDGET, inner="exact", groups=groups)
    assert solution.status is Status.NOT_PROVED
    assert not solution.proved
    assert solution.lower_bound < solution.objective


def test_regions_come_to_an_end(monkeypatch: pytest.MonkeyPatch) -> None:
    # With no slack in the budget a region across a kink of the training loss has no bound.
    monkeypatch.setattr(regions, "MOST_REGIONS", 50)
    small = random_problem(100, 8, 6, 2)
    solution = solve_pessimistic(small, inner="exact")
    assert solution.status is Status.NOT_PROVED
    assert solution.certificate.ok
    assert solution.lower_bound < solution.objective


@pytest.mark.parametrize("seed", [91, 92, 93])
def test_on_a_line_hardly_any_limit_is_branched_on(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    tuning = random_problem(seed, 20, 20, 5)
    line = oracle.WorstCaseOracle(tuning, BUDGET, groups_of(tuning, "one"), Limits())
    real = oracle.WorstCaseOracle.settled
    evaluated: list[Vector] = []

    def counted(self: oracle.WorstCaseOracle, h: Vector, *arguments: float) -> oracle.Point:
        evaluated.append(h)
        return real(self, h, *arguments)

    monkeypatch.setattr(oracle.WorstCaseOracle, "settled", counted)
    minimise_on_line(line)
    assert len(evaluated) <= 4
    assert line.best_value - OPTIMAL_GAP <= line.lower_bound <= line.best_value
    for share in np.linspace(0.0, 1.0, 30):
        assert line.lower_bound <= worst_case(tuning, share * tuning.upper, BUDGET).value + 1e-6


@pytest.mark.parametrize("seed", [91, 92])
def test_ascent_alone_bounds_most_of_the_least_worst_case(seed: int) -> None:
    tuning = random_problem(seed, 20, 20, 5)
    optimum = solve_pessimistic(tuning, BUDGET, inner="exact", groups="one")
    assert optimum.proved
    line = oracle.WorstCaseOracle(tuning, BUDGET, groups_of(tuning, "one"), Limits())
    bound_on_line(line)
    assert line.nodes == 0
    assert 0.9 * optimum.objective <= line.lower_bound <= optimum.objective + OPTIMAL_GAP
