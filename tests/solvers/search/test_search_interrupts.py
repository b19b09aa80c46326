"""Wherever a search is interrupted, its bound holds and its model is no better than the optimum."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator

import numpy as np
import pytest

from pessimal.datasets import load_diabetes, paper_split
from pessimal.limits import NEVER, Deadline, Limits, Progress
from pessimal.lp.watch import Watch
from pessimal.near_optimal.polyhedral.stopping import stopping
from pessimal.problem import Budget, TuningProblem
from pessimal.solvers.base import Result, Status, Task
from pessimal.solvers.search import driver, parts
from pessimal.solvers.search.box_cells import BoxCells
from pessimal.solvers.search.driver import SearchSolver
from pessimal.solvers.search.tree import Tree

_SPLIT = paper_split(load_diabetes(), 15, 15, 1)
PROBLEM = TuningProblem(_SPLIT.X_train, _SPLIT.y_train, _SPLIT.X_val, _SPLIT.y_val)

# Optima certified by two other solvers, as in reference.json.
OPTIMUM = {None: 0.198589363, 0.0: 0.232862133, 0.2: 0.238649953}
Callback = Callable[[Progress], None]
VIEWS = pytest.mark.parametrize("epsilon", OPTIMUM)


def search(epsilon: float | None, callback: Callback | None = None) -> Result:
    """Solve the optimistic problem, or the pessimistic one with a budget ε."""
    task = Task(PROBLEM)
    if epsilon is not None:
        task = Task(PROBLEM, Budget(epsilon), np.ones(PROBLEM.n_val, dtype=np.bool_))
    return SearchSolver().solve(task, Limits(callback=callback))


def assert_frames_the_optimum(outcome: Result, epsilon: float | None) -> None:
    assert outcome.lower_bound <= OPTIMUM[epsilon] + 1e-7
    assert PROBLEM.val_loss(outcome.w, outcome.b) >= OPTIMUM[epsilon] - 1e-7


class TestAfterAnyCallOfTheTree:
    """The last moment before the driver learns what the tree has found."""

    @pytest.fixture(autouse=True)
    def one_node_per_call(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(driver, "SECONDS_BETWEEN_CHECKS", 0.0)

    def interrupt_after(self, monkeypatch: pytest.MonkeyPatch, calls: int) -> None:
        class InterruptedTree(Tree):
            left = calls

            def advance(self, n_nodes: int) -> bool:
                more: bool = super().advance(n_nodes)
                self.left -= 1
                if self.left == 0:
                    raise KeyboardInterrupt
                return more

        monkeypatch.setattr(parts, "Tree", InterruptedTree)

    @VIEWS
    def test_the_bound_holds(self, epsilon: float | None, monkeypatch: pytest.MonkeyPatch) -> None:
        for calls in range(1, 100, 3):
            with monkeypatch.context() as patch:
                self.interrupt_after(patch, calls)
                outcome = search(epsilon)
            assert_frames_the_optimum(outcome, epsilon)
            if outcome.status is Status.OPTIMAL:
                break
            assert outcome.status is Status.INTERRUPTED
        assert calls > 4

    def test_the_bound_holds_after_any_call_of_the_cells(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(driver, "CAP_STAGE", 0)
        monkeypatch.setattr(parts, "TURN", 1)

        def interrupted_after(calls: int) -> type[BoxCells]:
            class InterruptedCells(BoxCells):
                left = calls

                def advance(self, n_cells: int, cutoff: float, price_limit: float) -> None:
                    super().advance(n_cells, cutoff, price_limit)
                    self.left -= 1
                    if self.left == 0:
                        raise KeyboardInterrupt

            return InterruptedCells

        for calls in range(1, 40, 6):
            monkeypatch.setattr(parts, "BoxCells", interrupted_after(calls))
            outcome = search(0.2)
            assert_frames_the_optimum(outcome, 0.2)
            assert outcome.status is Status.INTERRUPTED


@pytest.fixture
def alarm() -> Iterator[Callable[[float, Callable[[], object]], None]]:
    """Have a function called by a signal handler after some seconds."""

    def set_alarm(seconds: float, call: Callable[[], object]) -> None:
        signal.signal(signal.SIGALRM, lambda *_: call())
        signal.setitimer(signal.ITIMER_REAL, seconds)

    previous = signal.getsignal(signal.SIGALRM)
    yield set_alarm
    signal.setitimer(signal.ITIMER_REAL, 0.0)
    signal.signal(signal.SIGALRM, previous)


def _raise() -> None:
    raise KeyboardInterrupt


def _press_ctrl_c() -> None:
    signal.raise_signal(signal.SIGINT)


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="no interval timers here")
@pytest.mark.parametrize("interrupt", [_raise, _press_ctrl_c])
@VIEWS
def test_the_bound_holds_at_any_moment(
    interrupt: Callable[[], object],
    epsilon: float | None,
    alarm: Callable[[float, Callable[[], object]], None],
) -> None:
    rng = np.random.default_rng(0)
    for seconds in rng.uniform(1e-4, 0.03, 12):
        try:
            alarm(seconds, interrupt)
            outcome = search(epsilon)
            alarm(0.0, interrupt)
        except KeyboardInterrupt:  # before the first model, or after the search
            continue
        assert_frames_the_optimum(outcome, epsilon)


@VIEWS
def test_ctrl_c_before_the_first_check_still_yields_a_model(epsilon: float | None) -> None:
    told: list[Progress] = []

    def press_at_first(progress: Progress) -> None:
        if not told:
            signal.raise_signal(signal.SIGINT)
        told.append(progress)

    outcome = search(epsilon, press_at_first)
    assert outcome.status is Status.INTERRUPTED
    assert len(told) == 1
    assert_frames_the_optimum(outcome, epsilon)


def test_the_callers_handling_of_ctrl_c_is_restored() -> None:
    before = signal.getsignal(signal.SIGINT)
    search(None)
    assert signal.getsignal(signal.SIGINT) is before

    def fail(progress: Progress) -> None:
        raise ZeroDivisionError(progress.nodes)

    with pytest.raises(ZeroDivisionError):
        search(None, fail)
    assert signal.getsignal(signal.SIGINT) is before


def test_ctrl_c_while_the_cap_is_found_ends_with_a_model(monkeypatch: pytest.MonkeyPatch) -> None:
    def find_cap(_: parts.Part, __: Deadline) -> None:
        with stopping(Watch(), NEVER):  # as worst cases are, one of which bounds λ
            signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(parts.Part, "find_cap", find_cap)
    monkeypatch.setattr(driver, "CAP_STAGE", 0)
    outcome = search(0.2)
    assert outcome.status is Status.INTERRUPTED
    assert_frames_the_optimum(outcome, 0.2)
