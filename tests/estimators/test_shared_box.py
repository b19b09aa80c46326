"""One box for all folds: an exact value, a valid bound, a search no worse than its start."""

from __future__ import annotations

import signal
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from clocks import LeapingClock
from hypothesis import given, settings
from oracles import brute_force_worst_case, grid_of_boxes
from sklearn.model_selection import StratifiedKFold
from strategies import problems

from pessimal.estimators import shared_box
from pessimal.estimators.shared_box import tune_shared_box
from pessimal.limits import NEVER, Deadline
from pessimal.lp.highs import WarmProgram
from pessimal.near_optimal import worst_case
from pessimal.near_optimal.polyhedral.loss_search import LossSearch
from pessimal.problem import Budget, TuningProblem, Vector
from pessimal.solution import Status
from pessimal.solve import solve_pessimistic

BUDGET = Budget(0.2, 0.05)


def folds(seed: int = 0) -> list[TuningProblem]:
    random = np.random.default_rng(seed)
    y = np.where(np.arange(18) % 2 == 0, -1.0, 1.0)
    X = random.standard_normal((18, 2)) + 0.8 * y[:, None]
    pairs = StratifiedKFold(3).split(X, y)
    return [TuningProblem(X[train], y[train], X[val], y[val]) for train, val in pairs]


@settings(max_examples=10)
@given(problem=problems(n_features=1))
def test_value_and_bound_hold_against_brute_force(problem: TuningProblem) -> None:
    shared = tune_shared_box([problem, problem], BUDGET)
    worst = brute_force_worst_case(problem, shared.box, BUDGET)
    assert shared.value == pytest.approx(worst, abs=1e-5)
    grid = [brute_force_worst_case(problem, box, BUDGET) for box in grid_of_boxes(problem, 5)]
    assert shared.lower_bound <= min(grid) + 1e-6


def test_the_shared_box_is_no_worse_than_the_folds_own() -> None:
    parts = folds()
    shared = tune_shared_box(parts, BUDGET)
    for part in parts:
        box = solve_pessimistic(part, BUDGET).box
        values = [_worst(other, box) for other in parts]
        assert shared.value <= np.mean(values) + 1e-6
    assert shared.value == pytest.approx(shared.fold_values.mean())
    assert shared.status is (Status.OPTIMAL if shared.proved else Status.NOT_PROVED)


def _worst(problem: TuningProblem, box: Vector) -> float:
    return worst_case(problem, box, BUDGET).value


def test_separable_folds_are_proved() -> None:
    fold = TuningProblem([[-3.0], [3.0]], [-1, 1], [[-4.0], [4.0]], [-1, 1], upper=1.0)
    shared = tune_shared_box([fold, fold], Budget())
    assert shared.proved
    assert shared.status is Status.OPTIMAL
    assert shared.value == pytest.approx(0.0, abs=1e-6)


def test_the_answer_does_not_depend_on_the_number_of_processes() -> None:
    alone = tune_shared_box(folds(), BUDGET, max_boxes=9)
    together = tune_shared_box(folds(), BUDGET, max_boxes=9, n_jobs=2)
    np.testing.assert_array_equal(alone.box, together.box)
    assert alone.value == together.value
    assert alone.judged == together.judged == 9


def test_a_limit_in_seconds_still_gives_a_box_with_a_value() -> None:
    shared = tune_shared_box(folds(), BUDGET, time_limit=1e-6)
    assert shared.status is Status.TIME_LIMIT
    assert np.isfinite(shared.value)
    assert shared.judged == 1


def test_without_time_a_box_has_the_value_that_box_and_budget_give(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    began: list[float] = []
    real = WarmProgram.solve

    def solve(program: WarmProgram, deadline: Deadline = NEVER) -> bool:
        began.append(deadline.left)
        return real(program, deadline)

    monkeypatch.setattr(WarmProgram, "solve", solve)
    LeapingClock(monkeypatch, 2)
    shared = tune_shared_box(folds(), BUDGET, time_limit=1.0)
    monkeypatch.undo()
    assert not began  # no linear program
    assert shared.status is Status.TIME_LIMIT
    assert np.mean([_worst(fold, shared.box) for fold in folds()]) <= shared.value + 1e-9
    # Without weights only b is free, and least training loss is 1, so one class, half of the
    # weight, may have a mean hinge of (1.2 + 0.05) / 0.5 while the other has none.
    assert shared.value == pytest.approx(1.25, abs=1e-6)


@pytest.mark.parametrize("still_looks", [3, 10, 40, 100, 300, 1000])
def test_whenever_time_runs_out_value_and_bound_hold(
    still_looks: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = tune_shared_box(folds(), BUDGET)
    with monkeypatch.context() as patch:
        LeapingClock(patch, still_looks)
        shared = tune_shared_box(folds(), BUDGET, time_limit=1.0)
    assert np.mean([_worst(fold, shared.box) for fold in folds()]) <= shared.value + 1e-6
    assert shared.lower_bound <= whole.value + 1e-6


@pytest.mark.parametrize(
    ("step", "call"), [("_tuned", 1), ("_tuned", 3), ("_tuned", 5), ("_judge", 1), ("_judge", 3)]
)
def test_ctrl_c_ends_the_run_with_a_valid_box(
    step: str, call: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = tune_shared_box(folds(), BUDGET)
    real, calls = getattr(shared_box, step), 0

    def interrupted(*arguments: Any, **options: Any) -> Any:
        nonlocal calls
        calls += 1
        answer = real(*arguments, **options)
        if calls < call:
            return answer
        if step == "_judge":
            raise KeyboardInterrupt
        return replace(answer, status=Status.INTERRUPTED)

    with monkeypatch.context() as patch:
        patch.setattr(shared_box, step, interrupted)
        shared = tune_shared_box(folds(), BUDGET)
    assert shared.status is Status.INTERRUPTED
    assert calls == call
    assert shared.lower_bound <= whole.value + 1e-6
    worst = [_worst(fold, shared.box) for fold in folds()]
    assert np.mean(worst) <= shared.value + 1e-6 < np.inf


def test_ctrl_c_that_a_worst_case_has_taken_ends_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    real, calls = LossSearch._margin_ranges, 0

    def interrupted(*arguments: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls == 2:
            signal.raise_signal(signal.SIGINT)
        return real(*arguments)

    monkeypatch.setattr(LossSearch, "_margin_ranges", interrupted)
    shared = tune_shared_box(folds(), BUDGET)
    assert shared.status is Status.INTERRUPTED
    # The folds of the box that was being judged, and none of another.
    assert calls <= 1 + len(folds())
    monkeypatch.undo()
    assert np.mean([_worst(fold, shared.box) for fold in folds()]) <= shared.value + 1e-6
