"""Ranges of scores by the warm simplex against HiGHS, which solves each from the data."""

from __future__ import annotations

import signal
from collections.abc import Callable
from contextlib import AbstractContextManager

import numpy as np
import pytest
from clocks import LeapingClock

from pessimal.interrupts import Interrupts, deferred_interrupts
from pessimal.limits import NEVER, Deadline
from pessimal.near_optimal import BoxSet, Linear
from pessimal.near_optimal.polyhedral import stopping
from pessimal.near_optimal.polyhedral.linear_program import near_optimal, row_ranges
from pessimal.near_optimal.polyhedral.ranges import ScoreRanges
from pessimal.problem import Budget, TuningProblem, margin_rows

BUDGETS = (Budget(), Budget(epsilon=0.1), Budget(delta=0.2), Budget(0.5, 0.1))
every_budget = pytest.mark.parametrize("budget", BUDGETS, ids=str)


def drawn(seed: int, n: int, p: int, unit: float = 1.0, whole: bool = False) -> TuningProblem:
    """Two classes that overlap, in any unit; whole numbers have ties and repeated rows."""
    rng = np.random.default_rng(seed)
    y = np.where(np.arange(2 * n) % 2 == 0, -1.0, 1.0)
    X = rng.normal(size=(2 * n, p)) + 0.5 * y[:, None]
    X = unit * (np.round(X) if whole else X)
    return TuningProblem(X[:n], y[:n], X[n:], y[n:], upper=1.0 / unit)


def assert_ranges_of_highs(problem: TuningProblem, budget: Budget) -> None:
    members = BoxSet(problem, problem.upper, budget)
    found = members.score_range(problem.X_val)
    rows = margin_rows(problem.X_val, np.ones(problem.n_val))
    low, high, _ = row_ranges(near_optimal(problem, problem.upper, budget), rows)
    assert found.exact.all()
    assert found.low == pytest.approx(low, abs=1e-6)
    assert found.high == pytest.approx(high, abs=1e-6)
    # Both ends are attained by members.
    scores = np.array([model.decision_function(problem.X_val) for model in found.models])
    assert all(members.contains(Linear.read(model)) for model in found.models)
    assert scores.min(axis=0) == pytest.approx(found.low, abs=1e-6)
    assert scores.max(axis=0) == pytest.approx(found.high, abs=1e-6)
    assert (scores >= found.low - 1e-6).all()
    assert (scores <= found.high + 1e-6).all()


@every_budget
@pytest.mark.parametrize("seed", range(3))
def test_ranges_are_those_of_highs(seed: int, budget: Budget) -> None:
    assert_ranges_of_highs(drawn(seed, 30, 4), budget)


@every_budget
def test_of_whole_numbers_with_repeated_rows(budget: Budget) -> None:
    assert_ranges_of_highs(drawn(7, 30, 3, whole=True), budget)


@every_budget
@pytest.mark.parametrize("unit", [1e-8, 1e-3, 1e3, 1e8])
def test_in_any_unit(unit: float, budget: Budget) -> None:
    assert_ranges_of_highs(drawn(8, 20, 3, unit), budget)


def test_a_range_is_found_once_for_all_questions(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[float] = []
    real = ScoreRanges._solved

    def counted(found: ScoreRanges, rows: np.ndarray, stops: Callable[[], bool]) -> object:
        asked.extend(rows[:, 0])
        return real(found, rows, stops)

    monkeypatch.setattr(ScoreRanges, "_solved", counted)
    problem = drawn(9, 30, 3)
    members = BoxSet(problem, problem.upper, Budget(0.2))
    members.score_range(problem.X_val)
    assert len(asked) == problem.n_val
    members.worst(problem.X_val, problem.y_val)
    members.worst(problem.X_val, -problem.y_val, "zero_one")
    members.score_range(problem.X_val[::-1])
    assert len(asked) == problem.n_val
    # Another budget is another set.
    members.with_budget(Budget(0.3)).score_range(problem.X_val[:2])
    assert len(asked) == problem.n_val + 2


def test_worst_cases_do_not_depend_on_what_was_asked_before() -> None:
    problem = drawn(10, 40, 3)
    for loss in ("hinge", "zero_one"):
        fresh, asked = (BoxSet(problem, problem.upper, Budget(0.1)) for _ in range(2))
        asked.score_range(problem.X_val)
        first = fresh.worst(problem.X_val, problem.y_val, loss)
        second = asked.worst(problem.X_val, problem.y_val, loss)
        assert first.proved
        assert second.proved
        assert first.value == pytest.approx(second.value, abs=1e-6)


@pytest.mark.parametrize("ask", ["score_range", "rough_score_range"])
def test_ctrl_c_is_held_back_once_for_all_rows(ask: str, monkeypatch: pytest.MonkeyPatch) -> None:
    blocks: list[bool] = []

    def counted() -> AbstractContextManager[Interrupts]:
        blocks.append(True)
        return deferred_interrupts()

    problem = drawn(12, 40, 3)
    members = BoxSet(problem, problem.upper, Budget(0.1))
    monkeypatch.setattr(stopping, "deferred_interrupts", counted)
    getattr(members, ask)(problem.X_val)
    assert len(blocks) == 1


def test_a_worst_case_with_all_the_time_there_is_finds_no_ranges_ahead() -> None:
    problem = drawn(13, 40, 3)
    members = BoxSet(problem, problem.upper, Budget(0.1))
    ranges = members._ranges
    without = members.worst(problem.X_val, problem.y_val)
    assert ranges.members == []
    limited = members.worst(problem.X_val, problem.y_val, time_limit=60.0)
    assert ranges.members != []
    assert limited.proved
    assert without.proved
    assert without.value == pytest.approx(limited.value, abs=1e-6)


def test_ranges_found_before_ctrl_c_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = drawn(14, 40, 3)
    members = BoxSet(problem, problem.upper, Budget(0.1))
    ranges, looks = members._ranges, 0

    def interrupted(_: Deadline) -> bool:
        nonlocal looks
        looks += 1
        if looks == 10:
            signal.raise_signal(signal.SIGINT)
        return False

    monkeypatch.setattr(Deadline, "over", property(interrupted))
    with pytest.raises(KeyboardInterrupt):
        ranges.find(problem.X_val, NEVER)
    exact = ranges.known(problem.X_val)[2]
    assert exact[:5].all()
    assert not exact.all()


@pytest.mark.parametrize("still_looks", [1, 5, 20])
def test_out_of_time_the_rest_is_coarse_and_goes_on_later(
    still_looks: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    problem = drawn(11, 30, 4)
    exact = BoxSet(problem, problem.upper, Budget(0.2)).score_range(problem.X_val)
    members = BoxSet(problem, problem.upper, Budget(0.2))
    with monkeypatch.context() as patch:
        LeapingClock(patch, still_looks)
        early = members.score_range(problem.X_val, time_limit=Deadline(1.0))
    assert not early.exact.all()
    assert (early.low <= exact.low + 1e-9).all()
    assert (early.high >= exact.high - 1e-9).all()
    later = members.score_range(problem.X_val)
    assert later.exact.all()
    assert later.low == pytest.approx(exact.low, abs=1e-6)


@every_budget
@pytest.mark.parametrize("unit", [1e-3, 1.0])
def test_rough_ranges_hold_those_of_highs_and_their_models_are_members(
    unit: float, budget: Budget
) -> None:
    problem = drawn(11, 60, 8, unit)
    members = BoxSet(problem, problem.upper, budget)
    rough = members.rough_score_range(problem.X_val)
    rows = margin_rows(problem.X_val, np.ones(problem.n_val))
    low, high, _ = row_ranges(near_optimal(problem, problem.upper, budget), rows)
    assert (rough.low <= low + 1e-6).all()
    assert (rough.high >= high - 1e-6).all()
    assert ((rough.high - rough.low) <= 1.5 * (high - low) + 1e-3).all()
    assert all(members.contains(Linear.read(model)) for model in rough.models)
