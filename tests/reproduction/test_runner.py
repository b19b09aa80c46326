"""A run stores what finishes, whatever becomes of rows, workers, disk and the run itself."""

from __future__ import annotations

import io
import os
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import BrokenExecutor, Executor, Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Never

import pytest
from rich.console import Console
from toy_studies import FOLDER, TIMEOUT, contents, times_computed, toy_study

from pessimal.errors import InvalidInputError, PessimalError, StorageError
from pessimal.reproduction import (
    RunResult,
    Store,
    Study,
    Tally,
    Workers,
    open_workers,
    paper,
    reproduce,
    run,
    show_progress,
)

SCRIPT = """
import sys
from pessimal.reproduction import Store, open_workers, run
from toy_studies import toy_study

if __name__ == "__main__":
    with Store(sys.argv[1]) as store, open_workers(2) as workers:
        run(toy_study(12, c7="wait", c11="wait"), store, workers.executor)
"""


@pytest.fixture(autouse=True)
def marks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the configurations of a test leave their marks."""
    folder = tmp_path / "marks"
    folder.mkdir()
    monkeypatch.setenv(FOLDER, str(folder))
    return folder


def run_in_threads(study: Study, path: Path) -> RunResult:
    with Store(path) as store, ThreadPoolExecutor(3) as executor:
        return run(study, store, executor)


def start(script: Path, path: Path) -> subprocess.Popen[str]:
    """Start a run in a process group of its own, as a terminal does."""
    script.write_text(SCRIPT, encoding="utf-8")
    here = str(Path(__file__).parent)
    return subprocess.Popen(
        [sys.executable, str(script), str(path)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join([here, *sys.path])},
        start_new_session=True,
        stderr=subprocess.PIPE,
        text=True,
    )


def wait_until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + TIMEOUT
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def n_stored(path: Path) -> int:
    return len(contents(path)) if path.exists() and path.stat().st_size else 0


def group_is_gone(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return True
    return False


def test_processes_and_threads_give_the_same_rows(tmp_path: Path) -> None:
    study = toy_study()
    assert run_in_threads(study, tmp_path / "threads.sqlite").complete
    with Store(tmp_path / "processes.sqlite") as store, open_workers(2) as workers:
        assert run(study, store, workers.executor, in_flight=workers.in_flight).complete
        frame = store.frame("toy")
    assert contents(tmp_path / "processes.sqlite") == contents(tmp_path / "threads.sqlite")
    assert list(frame["seed"]) == [seed for seed in range(12) for _ in range(2)]


def test_what_is_stored_is_not_computed_again(tmp_path: Path, marks: Path) -> None:
    run_in_threads(toy_study(5), tmp_path / "s.sqlite")
    result = run_in_threads(toy_study(8), tmp_path / "s.sqlite")
    assert (result.tally.stored, result.tally.done, result.tally.configurations) == (5, 3, 8)
    assert times_computed(marks) == dict.fromkeys(range(8), 1)


@pytest.mark.parametrize(
    ("what", "message"),
    [
        ("fail", "ValueError: configuration 3 cannot be computed"),
        ("contradict", "a row has seed = 4 but its configuration has 3"),
        ("numpy", "int64 is not JSON serializable"),
    ],
)
def test_a_configuration_that_fails_is_named_and_the_others_are_stored(
    tmp_path: Path, marks: Path, what: str, message: str
) -> None:
    study = toy_study(6, c3=what)
    result = run_in_threads(study, tmp_path / "s.sqlite")
    assert not result.complete
    (failure,) = result.failures
    assert failure.configuration == study.configurations[3]
    assert message in failure.error
    assert "Traceback" in failure.details
    assert n_stored(tmp_path / "s.sqlite") == 5
    run_in_threads(study, tmp_path / "s.sqlite")
    assert times_computed(marks)[3] == 2
    assert times_computed(marks)[0] == 1


def test_a_worker_that_dies_costs_only_the_configuration_that_kills_it(
    tmp_path: Path, marks: Path
) -> None:
    study = toy_study(6, c1="die once", c2="die")
    with Store(tmp_path / "s.sqlite") as store, open_workers(1) as workers:
        result = run(study, store, workers.executor, in_flight=workers.in_flight)
    assert [failure.configuration["seed"] for failure in result.failures] == [2]
    assert "died in each of 2 tries" in result.failures[0].error
    assert 2 <= times_computed(marks)[2] <= 3  # once perhaps beside the other
    assert n_stored(tmp_path / "s.sqlite") == 5


class Stillborn(Executor):
    """Its workers die before they have begun."""

    def submit(self, *_: object, **__: object) -> Future[Never]:  # type: ignore[override]
        future: Future[Never] = Future()
        future.set_exception(BrokenExecutor())
        return future


def test_workers_that_cannot_start_end_the_run(tmp_path: Path) -> None:
    with (
        Store(tmp_path / "s.sqlite") as store,
        pytest.raises(PessimalError, match="cannot even start"),
    ):
        run(toy_study(1000), store, Stillborn())


class Leaving(Executor):
    """Cancels what it was given, as a cluster does that is shut down."""

    def submit(self, *_: object, **__: object) -> Future[Never]:  # type: ignore[override]
        future: Future[Never] = Future()
        future.cancel()
        future.set_running_or_notify_cancel()
        return future


def test_workers_that_leave_end_the_run(tmp_path: Path) -> None:
    with (
        Store(tmp_path / "s.sqlite") as store,
        pytest.raises(PessimalError, match="the workers are gone"),
    ):
        run(toy_study(), store, Leaving())


def test_linear_algebra_gets_one_thread_a_worker(tmp_path: Path) -> None:
    run_in_threads(toy_study(1, c0="count threads"), tmp_path / "s.sqlite")
    with Store(tmp_path / "s.sqlite") as store:
        assert list(store.frame("toy")["threads"]) == [1]


def test_a_worker_with_other_sources_is_refused(tmp_path: Path) -> None:
    versions = iter(["1+ours", "1+theirs"])
    study = replace(toy_study(1), version=lambda: next(versions))
    result = run_in_threads(study, tmp_path / "s.sqlite")
    assert "the worker has pessimal 1+theirs" in result.failures[0].error
    assert n_stored(tmp_path / "s.sqlite") == 0


def test_a_killed_run_resumes_to_the_identical_store(tmp_path: Path, marks: Path) -> None:
    path = tmp_path / "killed.sqlite"
    process = start(tmp_path / "script.py", path)
    wait_until(lambda: n_stored(path) >= 4)
    process.kill()
    process.communicate()
    wait_until(lambda: group_is_gone(process.pid))  # the workers end with their parent
    stored, before = n_stored(path), times_computed(marks)
    assert stored <= 10  # configurations 7 and 11 wait for the file that comes now
    (marks / "go").touch()
    study = toy_study(12, c7="wait", c11="wait")
    assert run_in_threads(study, path).complete
    assert sum((times_computed(marks) - before).values()) == 12 - stored
    run_in_threads(study, tmp_path / "straight.sqlite")
    assert contents(path) == contents(tmp_path / "straight.sqlite")


def test_ctrl_c_keeps_what_has_finished_and_waits_for_nobody(tmp_path: Path, marks: Path) -> None:
    path = tmp_path / "s.sqlite"
    process = start(tmp_path / "script.py", path)
    wait_until(lambda: {7, 11} <= times_computed(marks).keys())
    wait_until(lambda: n_stored(path) == 10)
    os.killpg(process.pid, signal.SIGINT)
    error = process.communicate(timeout=TIMEOUT)[1]
    assert error.strip().endswith("KeyboardInterrupt")
    assert n_stored(path) == 10
    wait_until(lambda: group_is_gone(process.pid))


def test_ctrl_c_stores_the_answers_that_are_in(tmp_path: Path) -> None:
    def interrupt(tally: Tally) -> None:
        if tally.done == 1:
            executor.shutdown()  # every configuration in flight has its answer by now
            raise KeyboardInterrupt

    executor: Executor = ThreadPoolExecutor(2)
    with Store(tmp_path / "s.sqlite") as store:
        with pytest.raises(KeyboardInterrupt):
            run(toy_study(9), store, executor, interrupt, in_flight=4)
        assert len(store.frame("toy")["seed"].unique()) == 4


@contextmanager
def disk_that_holds(size: int) -> Iterator[None]:
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_a_full_disk_is_told_and_nothing_stored_is_lost(tmp_path: Path, marks: Path) -> None:
    path = tmp_path / "s.sqlite"
    study = toy_study(8, **{f"c{seed}": "large" for seed in range(8)})
    with (
        disk_that_holds(100_000),
        pytest.raises(StorageError, match=r"already holds is safe.*run the same command again"),
    ):
        run_in_threads(study, path)
    stored = contents(path)
    assert 1 <= len(stored) < 8
    before = times_computed(marks)
    assert run_in_threads(study, path).complete
    assert set(stored) <= set(contents(path))
    assert sum((times_computed(marks) - before).values()) == 8 - len(stored)


def test_progress_in_a_pipe_is_a_few_plain_lines(tmp_path: Path) -> None:
    seen = io.StringIO()
    with (
        show_progress(Console(file=seen, width=40)) as tell,
        Store(tmp_path / "s.sqlite") as store,
        ThreadPoolExecutor(1) as executor,
    ):
        study = toy_study(100, c5="fail")
        run(Study("[red]toy[/red]", study.configurations, study.run), store, executor, tell)
    lines = seen.getvalue().splitlines()
    assert 5 <= len(lines) <= 14
    assert lines[0] == "[red]toy[/red]: 0 of 100 configurations stored"
    assert lines[-1] == "[red]toy[/red]: 99 of 100 configurations stored, 1 failed"
    assert "left" in lines[1]


def test_progress_in_a_terminal_is_a_bar_a_study() -> None:
    seen = io.StringIO()
    with show_progress(Console(file=seen, force_terminal=True, width=100)) as tell:
        tell(Tally("[red]a[/red]", configurations=4, stored=1, done=2, failed=0, seconds=20.0))
        tell(Tally("quality", configurations=4, stored=1, done=2, failed=1, seconds=20.0))
    assert "[red]a[/red]" in seen.getvalue()
    assert "about 0:00:10 left" in seen.getvalue()
    assert "1 failed" in seen.getvalue()


@pytest.fixture
def _toy_in_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    def declare(*, quick: bool, size: int = 6) -> Study:
        return toy_study(2 if quick else size)

    @contextmanager
    def threads(*_: object) -> Iterator[Workers]:
        with ThreadPoolExecutor(2) as executor:
            yield Workers(executor, 2, "threads")

    monkeypatch.setattr(paper, "STUDIES", {"toy": declare})
    monkeypatch.setattr(paper, "open_workers", threads)


@pytest.mark.usefixtures("_toy_in_threads")
def test_reproduce_runs_studies_by_name_with_options_of_their_own(tmp_path: Path) -> None:
    out = tmp_path / "a folder" / "out"
    assert reproduce(["toy"], out, quick=True, jobs=1).runs[0].tally.configurations == 2
    result = reproduce(["toy", "toy"], out, jobs=1, options={"toy": {"size": 3}})
    assert result.complete
    assert [run.tally.done for run in result.runs] == [1]
    with Store(result.store, create=False) as store:
        (last,) = store.summary("toy").runs
    assert last.command == "pessimal reproduce toy --jobs 1 --size 3"
    assert "numpy" in last.environment


@pytest.mark.usefixtures("_toy_in_threads")
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"names": ["tyo"]}, "'tyo' is not known"),
        ({"names": ["toy"], "options": {"tyo": {}}}, "'tyo' is not known"),
    ],
)
def test_reproduce_refuses_studies_it_does_not_know(
    tmp_path: Path, arguments: dict[str, object], message: str
) -> None:
    with pytest.raises(InvalidInputError, match=message):
        reproduce(out=tmp_path, **arguments)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("jobs", "cluster", "message"),
    [(0, None, "jobs is 0"), (2, "tcp://127.0.0.1:1", "pass one of the two")],
)
def test_workers_that_cannot_be_are_refused(jobs: int, cluster: str | None, message: str) -> None:
    with pytest.raises(InvalidInputError, match=message), open_workers(jobs, cluster):
        pass
