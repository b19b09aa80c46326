"""Whenever time runs out, true pessimism ends soon after, with a usable answer."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from clocks import LeapingClock
from grids import random_problem

from pessimal import Budget, solve_pessimistic, worst_case
from pessimal.limits import Limits
from pessimal.lp.highs import WarmProgram
from pessimal.near_optimal.polyhedral.cases import WorstCases
from pessimal.solvers.base import Status, Stop
from pessimal.solvers.minimax.groups import groups_of
from pessimal.solvers.minimax.oracle import WorstCaseOracle

BUDGET = Budget(0.2, 0.1)
SECONDS = 10.0
AFTERWARDS = 30
"""Linear programs that end an answer: a first box, two ranges of the certificate, its ascents."""


class Counter:
    """Counts the linear programs that begin after a clock has leapt."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, clock: LeapingClock) -> None:
        self.late = 0
        for owner, name in (
            (WorstCases, "train"),
            (WorstCases, "active_set_loss"),
            (WarmProgram, "minimise"),
            (WarmProgram, "feasible"),
        ):
            self._count(monkeypatch, clock, owner, name)

    def _count(
        self, monkeypatch: pytest.MonkeyPatch, clock: LeapingClock, owner: type, name: str
    ) -> None:
        real = getattr(owner, name)

        def counted(*arguments: Any) -> Any:
            self.late += clock.leapt
            return real(*arguments)

        monkeypatch.setattr(owner, name, counted)


@pytest.mark.parametrize("groups", ["one", "each", [[0, 1], [2]], [[0], [1], [2]]], ids=str)
def test_time_that_runs_out_at_any_moment(groups: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    problem = random_problem(80, 8, 6, 3)
    untimed = solve_pessimistic(problem, BUDGET, inner="exact", groups=groups, node_limit=300)
    with monkeypatch.context() as patch:
        clock = LeapingClock(patch, np.inf)
        solve_pessimistic(
            problem, BUDGET, inner="exact", groups=groups, time_limit=SECONDS, node_limit=300
        )
        looks = clock.looks
    moments = np.unique(np.geomspace(2, looks - 1, 25).astype(int))
    for still_looks in moments.tolist():
        with monkeypatch.context() as patch:
            clock = LeapingClock(patch, still_looks)
            counter = Counter(patch, clock)
            solution = solve_pessimistic(
                problem, BUDGET, inner="exact", groups=groups, time_limit=SECONDS, node_limit=300
            )
        assert counter.late <= AFTERWARDS, still_looks
        assert solution.status is Status.TIME_LIMIT or solution.status is untimed.status
        assert solution.certificate.box_violation <= 1e-9
        assert solution.certificate.budget_violation <= 1e-6
        largest = worst_case(problem, solution.box, BUDGET).value
        assert solution.objective <= largest + 1e-6
        assert largest <= solution.objective + solution.certificate.inner_gap + 1e-6
        assert solution.lower_bound <= untimed.objective + 1e-6
        if solution.proved:
            assert solution.objective == pytest.approx(untimed.objective, abs=1e-6)


def test_a_box_that_is_half_evaluated_is_the_answer_if_there_is_no_other(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    problem = random_problem(90, 20, 30, 5)
    half = np.full(5, 0.5)
    limits = Limits(time_limit=SECONDS)
    with monkeypatch.context() as patch:
        LeapingClock(patch, 20)
        oracle = WorstCaseOracle(problem, BUDGET, groups_of(problem, "each"), limits)
        with pytest.raises(Stop):
            oracle.at(half)
    point = oracle.best
    assert point is not None
    assert np.array_equal(point.h, half)
    worst = worst_case(problem, half, BUDGET).value
    assert point.value <= worst + 1e-6
    assert point.bound >= worst - 1e-6


def test_a_single_limit_that_was_evaluated_briefly_beats_the_widest_box(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    problem = random_problem(90, 20, 30, 5, upper=2.0)
    with monkeypatch.context() as patch:
        LeapingClock(patch, 400)
        solution = solve_pessimistic(
            problem, BUDGET, inner="exact", groups="one", time_limit=SECONDS
        )
    assert solution.status is Status.TIME_LIMIT
    widest, found = (worst_case(problem, box, BUDGET).value for box in (2.0, solution.box))
    assert found < widest - 0.01
