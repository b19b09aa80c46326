"""A search by several processes: the same answer from any number, and a bound whatever happens."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

import numpy as np
import pytest

from pessimal import InvalidInputError, solve_optimistic, solve_pessimistic
from pessimal.datasets import load_diabetes, paper_split
from pessimal.limits import Limits, Progress
from pessimal.lp.watch import Watch
from pessimal.problem import Budget, TuningProblem
from pessimal.solvers.base import Result, Status, Task
from pessimal.solvers.search import driver, subtrees
from pessimal.solvers.search.driver import SearchSolver
from pessimal.solvers.search.node import OpenNode
from pessimal.solvers.search.parts import parts_of
from pessimal.solvers.search.subtrees import Explorer, Job, Subtrees

_SPLIT = paper_split(load_diabetes(), 20, 15, 0)
PROBLEM = TuningProblem(_SPLIT.X_train, _SPLIT.y_train, _SPLIT.X_val, _SPLIT.y_val)

# Optima certified by two other solvers, as in reference.json.
OPTIMUM = {None: 0.358186167, 0.0: 0.358186167, 0.2: 0.375723215}
VIEWS = pytest.mark.parametrize("epsilon", OPTIMUM)


def task(epsilon: float | None) -> Task:
    if epsilon is None:
        return Task(PROBLEM)
    return Task(PROBLEM, Budget(epsilon), np.ones(PROBLEM.n_val, dtype=np.bool_))


def search(epsilon: float | None, n_jobs: int, **limits: Any) -> Result:
    return SearchSolver().solve(task(epsilon), Limits(n_jobs=n_jobs, **limits))


def assert_same(first: Result, second: Result) -> None:
    assert first.nodes == second.nodes
    assert first.lower_bound == second.lower_bound
    assert first.b == second.b
    assert np.array_equal(first.w, second.w)
    assert np.array_equal(first.box, second.box)


def assert_frames_the_optimum(outcome: Result, epsilon: float | None) -> None:
    assert outcome.lower_bound <= OPTIMUM[epsilon] + 1e-7
    assert PROBLEM.val_loss(outcome.w, outcome.b) >= OPTIMUM[epsilon] - 1e-7


def assert_proved(outcome: Result, epsilon: float | None) -> None:
    assert_frames_the_optimum(outcome, epsilon)
    assert outcome.status is Status.OPTIMAL
    loss = PROBLEM.val_loss(outcome.w, outcome.b)
    assert loss == pytest.approx(OPTIMUM[epsilon], abs=1e-7)
    assert outcome.lower_bound == pytest.approx(OPTIMUM[epsilon], abs=1e-6)


class Here:
    """Stands in for worker processes: every job is done when it is handed over."""

    def __init__(self, n_workers: int, initargs: tuple[Any, ...], **_: Any) -> None:
        task, part, costs, _ = initargs
        self.explorer = Explorer(task, part, costs, Watch())

    def submit(self, _: Any, job: Job) -> Future[Any]:
        answer: Future[Any] = Future()
        answer.set_result(self.explorer.explore(job))
        return answer

    def shutdown(self, **_: Any) -> None:
        pass


@pytest.fixture(autouse=True)
def shared_early(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hand the tree over after a few nodes, in small jobs."""
    monkeypatch.setattr(driver, "WORK_ALONE", 1.0)
    monkeypatch.setattr(driver, "SCHEDULE", ((4, 5), (4, np.inf)))
    monkeypatch.setattr(driver, "CAP_STAGE", 1)
    monkeypatch.setattr(subtrees, "WORK", 0.0)


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(subtrees, "ProcessPoolExecutor", Here)


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[Subtrees]:
    """Return the list to which every shared tree is added."""
    made: list[Subtrees] = []

    class Noted(Subtrees):
        def __init__(self, *given: Any) -> None:
            super().__init__(*given)
            made.append(self)

    monkeypatch.setattr(subtrees, "Subtrees", Noted)
    return made


def lowest_last(node: OpenNode) -> tuple[float, bytes]:
    return -node.bound, node.decided.tobytes()


def pids(tree: Subtrees) -> list[int]:
    return [] if tree.workers is None else list(tree.workers._processes)


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


@VIEWS
@pytest.mark.usefixtures("here")
def test_subtrees_prove_the_optimum(epsilon: float | None, made: list[Subtrees]) -> None:
    assert_proved(search(epsilon, 2), epsilon)
    assert sum(tree.n_opened for tree in made) > 1


def test_the_number_of_processes_changes_nothing(
    made: list[Subtrees], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(driver, "WORK_ALONE", 3e5)
    monkeypatch.setattr(subtrees, "WORK", 3e4)
    split = paper_split(load_diabetes(), 20, 10, 1)
    problem = TuningProblem(split.X_train, split.y_train, split.X_val, split.y_val)
    hard = Task(problem, Budget(0.2), np.ones(problem.n_val, dtype=np.bool_))
    alone, by_two, by_three = (
        SearchSolver().solve(hard, Limits(n_jobs=n_jobs)) for n_jobs in (1, 2, 3)
    )
    assert [tree.n_opened > 500 for tree in made] == [True, True]
    assert_same(by_two, by_three)
    for outcome in (alone, by_two):
        assert outcome.status is Status.OPTIMAL
        # As in reference.json.
        assert problem.val_loss(outcome.w, outcome.b) == pytest.approx(0.384685212, abs=1e-7)
        assert outcome.lower_bound == pytest.approx(0.384685212, abs=1e-6)


@VIEWS
@pytest.mark.usefixtures("here")
def test_the_bound_holds_after_any_answer(epsilon: float | None) -> None:
    def interrupt_after(calls: int) -> Callable[[Progress], None]:
        told: list[Progress] = []

        def callback(progress: Progress) -> None:
            told.append(progress)
            if len(told) == calls:
                raise KeyboardInterrupt

        return callback

    for calls in range(1, 200, 4):
        outcome = search(epsilon, 2, callback=interrupt_after(calls))
        assert_frames_the_optimum(outcome, epsilon)
        if outcome.status is Status.OPTIMAL:
            break
        assert outcome.status is Status.INTERRUPTED
    assert calls > 10


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize("node_limit", [20, 60, 80])
def test_no_node_beyond_the_limit(node_limit: int) -> None:
    outcome = search(0.2, 2, node_limit=node_limit)
    assert outcome.status is Status.NODE_LIMIT
    assert outcome.nodes == node_limit
    assert_frames_the_optimum(outcome, 0.2)


@pytest.mark.usefixtures("here")
def test_memory_for_few_nodes_is_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(subtrees, "BYTES", 0)
    assert_proved(search(0.2, 2), 0.2)


def test_open_nodes_are_all_there_is_to_a_tree() -> None:
    first, second = (parts_of(task(0.2), 0, Watch())[1].tree for _ in range(2))
    assert not isinstance(first, Subtrees)
    assert not isinstance(second, Subtrees)
    first.advance(40)
    nodes = sorted(first.open_nodes(), key=lowest_last)
    second.incumbent.best = first.incumbent.best
    second.begin_from(nodes, first.pseudo_costs())
    assert len(nodes) > 5
    assert second.open_bound() == first.open_bound() == nodes[-1].bound
    again = sorted(second.open_nodes(), key=lowest_last)
    for node, other in zip(nodes, again, strict=True):
        assert node.bound == other.bound
        assert np.array_equal(node.decided, other.decided)
    for tree in (first, second):
        tree.advance(10**6)
    assert first.incumbent.best == pytest.approx(second.incumbent.best, abs=2e-7)


class TestProcesses:
    """What becomes of real ones."""

    def test_one_that_is_killed_takes_nothing_along(
        self, made: list[Subtrees], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        killed: list[int] = []

        def kill(_: Progress) -> None:
            if made and made[-1].under_way and not killed:
                killed.extend(pids(made[-1]))
                for pid in killed:
                    os.kill(pid, signal.SIGKILL)

        outcome = search(0.2, 2, callback=kill)
        assert len(killed) == 2
        assert_proved(outcome, 0.2)
        assert outcome.notes == ("worker processes failed, so that the search went on in one",)
        monkeypatch.setattr(subtrees, "ProcessPoolExecutor", Here)
        assert_same(outcome, search(0.2, 2))

    @pytest.mark.parametrize(
        "error",
        [
            OSError("Resource temporarily unavailable"),
            AssertionError("daemonic processes are not allowed to have children"),
            RuntimeError("can't start new thread"),
        ],
        ids=lambda error: type(error).__name__,
    )
    @pytest.mark.parametrize("step", ["__init__", "submit"])
    def test_none_is_needed(
        self, error: Exception, step: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def refuse(*_: Any, **__: Any) -> None:
            raise error

        full = type("Full", (Here,), {step: refuse})
        monkeypatch.setattr(subtrees, "ProcessPoolExecutor", full)
        outcome = search(0.2, 2)
        assert_proved(outcome, 0.2)
        assert outcome.notes == ("worker processes failed, so that the search went on in one",)

    def test_ctrl_c_may_come_again_while_they_end(self, monkeypatch: pytest.MonkeyPatch) -> None:
        class Slow(Here):
            def shutdown(self, **_: Any) -> None:
                signal.raise_signal(signal.SIGINT)

        def press(progress: Progress) -> None:
            if progress.nodes > 20:
                signal.raise_signal(signal.SIGINT)

        monkeypatch.setattr(subtrees, "ProcessPoolExecutor", Slow)
        outcome = search(0.2, 2, callback=press)
        assert outcome.status is Status.INTERRUPTED
        assert_frames_the_optimum(outcome, 0.2)

    def test_they_end_with_the_search(self, made: list[Subtrees]) -> None:
        running: set[int] = set()

        def note(_: Progress) -> None:
            if made:
                running.update(pids(made[-1]))

        assert_proved(search(0.2, 2, callback=note), 0.2)
        assert len(running) >= 2
        assert not any(map(alive, running))

    def test_they_end_at_ctrl_c(self, made: list[Subtrees]) -> None:
        running: set[int] = set()

        def press(_: Progress) -> None:
            if made and pids(made[-1]) and not running:
                running.update(pids(made[-1]))
                signal.raise_signal(signal.SIGINT)

        outcome = search(0.2, 2, callback=press)
        assert outcome.status is Status.INTERRUPTED
        assert_frames_the_optimum(outcome, 0.2)
        assert len(running) == 2
        assert not any(map(alive, running))

    @pytest.mark.skipif(not hasattr(signal, "pthread_sigmask"), reason="Windows has no such masks")
    def test_they_never_see_ctrl_c(self, made: list[Subtrees]) -> None:
        """Pressed at a terminal it reaches all processes, those that still import as well."""
        masks: list[set[signal.Signals]] = []

        def ask(_: Progress) -> None:
            if made and made[-1].workers is not None and pids(made[-1]) and not masks:
                asked = made[-1].workers.submit(signal.pthread_sigmask, signal.SIG_BLOCK, ())
                masks.append(asked.result())

        before = signal.pthread_sigmask(signal.SIG_BLOCK, ())
        assert_proved(search(0.2, 2, callback=ask), 0.2)
        assert signal.SIGINT in masks[0]
        assert signal.pthread_sigmask(signal.SIG_BLOCK, ()) == before

    def test_they_end_at_an_error(self, made: list[Subtrees]) -> None:
        running: set[int] = set()

        def fail(progress: Progress) -> None:
            if made and pids(made[-1]):
                running.update(pids(made[-1]))
                raise ZeroDivisionError(progress.nodes)

        with pytest.raises(ZeroDivisionError):
            search(0.2, 2, callback=fail)
        assert len(running) == 2
        assert not any(map(alive, running))

    def test_the_time_limit_holds_for_all(self) -> None:
        outcome = search(0.2, 2, time_limit=0.1)
        assert_frames_the_optimum(outcome, 0.2)


@pytest.mark.parametrize("n_jobs", [0, 1.5, True, "all"])
def test_what_is_no_number_of_processes_is_refused(n_jobs: Any) -> None:
    for solve in (solve_optimistic, solve_pessimistic):
        with pytest.raises(InvalidInputError, match="n_jobs"):
            solve(PROBLEM, n_jobs=n_jobs)


def test_small_problems_take_no_processes(
    made: list[Subtrees], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.undo()
    solutions = [solve_pessimistic(PROBLEM, Budget(0.2), n_jobs=n_jobs) for n_jobs in (1, -1)]
    assert not made
    assert solutions[0].nodes == solutions[1].nodes
    assert np.array_equal(solutions[0].box, solutions[1].box)
