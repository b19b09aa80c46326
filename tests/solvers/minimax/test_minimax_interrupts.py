"""Ctrl-C at any moment: the bound holds, and the box, the model and its loss belong together."""

from __future__ import annotations

import time
from functools import cache
from typing import Any

import numpy as np
import pytest
from grids import enumerated_worst_case

from pessimal import Budget, TuningProblem, TuningSolution, solve_pessimistic
from pessimal.datasets import load_diabetes, paper_split
from pessimal.near_optimal.polyhedral.cases import WorstCases
from pessimal.solvers.base import Status

BUDGET = Budget(0.2, 0.1)
GROUPS: dict[str, Any] = {"one": "one", "two": [[0, 1], [2]], "each": "each"}
every_kind = pytest.mark.parametrize("kind", GROUPS)


@cache
def problem(kind: str) -> TuningProblem:
    """Few columns of Diabetes, so that every kind can be solved to proved optimality."""
    split = paper_split(load_diabetes(), 5, 5, 901)
    columns = [1, 2] if kind == "each" else [0, 1, 2]
    return TuningProblem(
        split.X_train[:, columns], split.y_train, split.X_val[:, columns], split.y_val
    )


def solve(kind: str) -> TuningSolution:
    return solve_pessimistic(problem(kind), BUDGET, inner="exact", groups=GROUPS[kind])


@cache
def optimum(kind: str) -> float:
    solution = solve(kind)
    assert solution.proved
    return solution.objective


def assert_valid(solution: TuningSolution, kind: str) -> None:
    """Bounds on both sides of the optimum, of the box's worst case, and of the model's loss."""
    tuning = problem(kind)
    worst = enumerated_worst_case(tuning, solution.box, BUDGET)
    assert solution.lower_bound <= optimum(kind) + 1e-6
    assert solution.objective <= worst + 1e-6
    assert worst <= solution.worst_case_bound + 1e-6 < np.inf
    assert solution.objective == tuning.val_loss(solution.coef, -solution.intercept)
    assert solution.certificate.box_violation <= 1e-9
    assert solution.certificate.budget_violation <= 1e-6
    if solution.proved:
        assert solution.objective == pytest.approx(optimum(kind), abs=1e-6)


class InterruptingClock:
    """A clock that raises KeyboardInterrupt when it is looked at for the n-th time, once."""

    def __init__(self, at: float = np.inf) -> None:
        self.at = at
        self.looks = 0
        self._real = time.perf_counter

    def __call__(self) -> float:
        self.looks += 1
        if self.looks == self.at:
            raise KeyboardInterrupt
        return self._real()


@every_kind
def test_interrupted_wherever_the_clock_is_looked_at(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    optimum(kind)
    whole = InterruptingClock()
    with monkeypatch.context() as patch:
        patch.setattr(time, "perf_counter", whole)
        solve(kind)
    # The first looks begin the call: there is nothing to return yet.
    for moment in np.unique(np.geomspace(4, whole.looks, 24).astype(int)).tolist():
        with monkeypatch.context() as patch:
            patch.setattr(time, "perf_counter", InterruptingClock(moment))
            solution = solve(kind)
        assert_valid(solution, kind)


@every_kind
@pytest.mark.parametrize("method", ["worst", "train", "active_set_loss"])
@pytest.mark.parametrize("call", [1, 2, 5, 9])
def test_interrupted_inside_a_linear_program(
    kind: str, method: str, call: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    optimum(kind)
    real, calls = getattr(WorstCases, method), 0

    def interrupted(*arguments: Any) -> Any:
        nonlocal calls
        calls += 1
        answer = real(*arguments)
        if calls == call:
            raise KeyboardInterrupt  # the work is done, and its answer is lost
        return answer

    with monkeypatch.context() as patch:
        patch.setattr(WorstCases, method, interrupted)
        solution = solve(kind)
    assert solution.status is (Status.INTERRUPTED if calls >= call else Status.OPTIMAL)
    assert_valid(solution, kind)
