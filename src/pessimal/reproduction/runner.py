"""Run the configurations of a study that the store does not hold yet, on any executor.

A configuration that raises does not stop the others. A worker process that dies takes the
configurations in flight with it, guilty or not; they are run again one at a time, where a further
death can be blamed on the configuration. Rows are encoded in the worker that computes them, so that
the same configuration gives the same bytes wherever it ran.
"""

from __future__ import annotations

import logging
import time
import traceback
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, CancelledError, Executor, Future
from concurrent.futures import wait as wait_for
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import timedelta
from itertools import islice

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TaskID, TextColumn, TimeElapsedColumn
from rich.progress import Progress as Bar
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from pessimal.environment import describe_environment
from pessimal.errors import PessimalError
from pessimal.reproduction.store import Store, encode
from pessimal.reproduction.study import Configuration, Row, Study

logger = logging.getLogger(__name__)

TRIES_ALONE = 2
"""How often a configuration whose worker died is tried again, with no other beside it."""

LOST_BEFORE_GIVING_UP = 12
"""Configurations lost with their workers, when none was ever answered: the workers cannot start."""

LINES_IN_A_PIPE = 10


@dataclass(frozen=True)
class Failure:
    """A configuration that gave no rows, and why."""

    configuration: Configuration
    error: str
    details: str = ""


@dataclass(frozen=True)
class Tally:
    """How far a run has come.

    Attributes
    ----------
    study : str
        Name of the study.
    configurations : int
        Configurations of the study.
    stored : int
        Configurations that the store held before this run.
    done, failed : int
        Configurations that this run has stored, and those that raised or lost their worker.
    seconds : float
        Time since the run began.
    """

    study: str
    configurations: int
    stored: int
    done: int
    failed: int
    seconds: float


@dataclass(frozen=True)
class RunResult:
    """What became of a run: its last tally, every configuration that failed, its number."""

    tally: Tally
    failures: tuple[Failure, ...]
    number: int = 0

    @property
    def complete(self) -> bool:
        """Whether every configuration of the study is in the store."""
        return not self.failures


Progress = Callable[[Tally], None]

Answer = tuple[str, float] | Failure
"""What a worker sends back: encoded rows and the seconds they took, or what went wrong."""


def run(
    study: Study,
    store: Store,
    executor: Executor,
    progress: Progress | None = None,
    *,
    in_flight: int = 4,
    command: str = "",
) -> RunResult:
    """Compute what the store does not hold of a study, and store it as it finishes.

    Parameters
    ----------
    study : Study
        What to run.
    store : Store
        Where the rows go.
    executor : concurrent.futures.Executor
        Where the configurations run; the same configurations give the same rows on any.
    progress : callable, optional
        Called with a `Tally` at the start and whenever a configuration has ended.
    in_flight : int, default=4
        Configurations handed to the executor at a time; somewhat more than it has workers.
    command : str, default=""
        How a reader can start the same run, kept with the rows.

    Returns
    -------
    RunResult

    Raises
    ------
    KeyboardInterrupt
        On Ctrl-C, after what has finished is stored; the next run goes on from there.
    StorageError
        When the disk is full or gone; what was stored is safe.
    PessimalError
        When the workers cannot start, or the executor gives up on its configurations, as that of a
        cluster does that is shut down.

    Examples
    --------
    >>> import tempfile
    >>> from concurrent.futures import ThreadPoolExecutor
    >>> study = Study("squares", ({"x": 2}, {"x": 3}), lambda at: [{"square": at["x"] ** 2}])
    >>> with (
    ...     tempfile.TemporaryDirectory() as folder,
    ...     Store(f"{folder}/studies.sqlite") as store,
    ...     ThreadPoolExecutor(2) as executor,
    ... ):
    ...     print(run(study, store, executor).complete, list(store.frame("squares").square))
    True [4, 9]
    """
    version = study.version()
    pending = store.pending(study, version)
    number = store.begin(study, version, command=command, environment=describe_environment())
    declared = len(study.configurations)
    tally = Tally(study.name, declared, declared - len(pending), done=0, failed=0, seconds=0.0)
    record = _Record(store, progress, number, tally)
    record.tell()

    def submit(configuration: Configuration) -> Future[Answer]:
        return executor.submit(compute, study.run, configuration, study.version, version)

    lost = _pass(pending, in_flight, submit, record)
    for _ in range(TRIES_ALONE):
        lost = _pass(lost, 1, submit, record)
    for configuration in lost:
        died = f"its worker process died in each of {TRIES_ALONE} tries alone"
        record.fail(Failure(configuration, died))
    return RunResult(record.tally, tuple(record.failures), number)


def _pass(
    configurations: Iterable[Configuration],
    in_flight: int,
    submit: Callable[[Configuration], Future[Answer]],
    record: _Record,
) -> list[Configuration]:
    """Run configurations, a bounded number at a time; return those whose worker died."""
    waiting = iter(configurations)
    running: dict[Future[Answer], Configuration] = {}
    lost: list[Configuration] = []
    try:
        while True:
            for configuration in islice(waiting, in_flight - len(running)):
                running[submit(configuration)] = configuration
            if not running:
                return lost
            for future in wait_for(running, return_when=FIRST_COMPLETED).done:
                if not record.receive(running[future], future):
                    lost.append(running[future])
                # Forgotten only now: an interrupt before this line finds it among the finished.
                del running[future]
    except KeyboardInterrupt:
        for future, configuration in running.items():
            if future.done():
                record.receive(configuration, future)
        raise
    finally:
        for future in running:
            future.cancel()


@dataclass
class _Record:
    """Files answers, counts and tells."""

    store: Store
    progress: Progress | None
    number: int
    tally: Tally
    lost: int = 0
    failures: list[Failure] = field(default_factory=list)
    started: float = field(default_factory=time.perf_counter)

    def receive(self, configuration: Configuration, future: Future[Answer]) -> bool:
        """File the answer of a future that is done; False when its worker died."""
        try:
            answer = future.result()
        except CancelledError:  # not by us: a cluster cancels what it held when it goes away
            raise PessimalError(
                "the workers are gone, and the configurations they held with them. What was "
                "stored is safe: start the workers, then run the same command again"
            ) from None
        except BrokenExecutor:
            logger.warning("a worker died with %s in flight", dict(configuration))
            self._lose()
            return False
        except Exception as error:  # the configuration never began: the worker lacks a module, say
            answer = _failure(configuration, error)
        if isinstance(answer, Failure):
            self.fail(answer)
            return True
        rows, seconds = answer
        elapsed = time.perf_counter() - self.started
        self.store.add(self.number, configuration, rows, seconds=seconds, elapsed=elapsed)
        self.tell(newly_done=1)
        return True

    def _lose(self) -> None:
        self.lost += 1
        if not (self.tally.done or self.failures) and self.lost >= LOST_BEFORE_GIVING_UP:
            raise PessimalError(
                f"{self.lost} configurations were lost with their worker processes and none was "
                "answered, so the workers cannot even start; their messages on standard error say "
                "why. A script that starts a run must guard its code with if __name__ == '__main__'"
            )

    def fail(self, failure: Failure) -> None:
        """Remember a configuration that gave no rows."""
        logger.warning("%s failed: %s", dict(failure.configuration), failure.error)
        logger.debug("%s", failure.details)
        self.failures.append(failure)
        self.tell()

    def tell(self, newly_done: int = 0) -> None:
        """Say how far the run has come."""
        self.tally = replace(
            self.tally,
            done=self.tally.done + newly_done,
            failed=len(self.failures),
            seconds=time.perf_counter() - self.started,
        )
        if self.progress is not None:
            self.progress(self.tally)


def compute(
    run: Callable[[Configuration], Sequence[Row]],
    configuration: Configuration,
    own_version: Callable[[], str],
    version: str,
) -> Answer:
    """Run one configuration in a worker, on one thread."""
    started = time.perf_counter()
    try:
        if (own := own_version()) != version:
            raise PessimalError(
                f"the worker has pessimal {own}, but the run was started with {version}; "
                "install the same sources on both, or start the run again"
            )
        with threadpool_limits(1):
            rows = run(configuration)
        _require_no_contradiction(configuration, rows)
        return encode(rows), time.perf_counter() - started
    except Exception as error:
        return _failure(configuration, error)


def _failure(configuration: Configuration, error: Exception) -> Failure:
    """Put an error that is being handled in words: an exception may not survive the way back."""
    words = "".join(traceback.format_exception_only(error)).strip()
    return Failure(configuration, words, traceback.format_exc())


def _require_no_contradiction(configuration: Configuration, rows: Sequence[Row]) -> None:
    for row in rows:
        for name in configuration.keys() & row.keys():
            if configuration[name] != row[name]:
                raise PessimalError(
                    f"a row has {name} = {row[name]!r} but its configuration has "
                    f"{configuration[name]!r}; give the column another name"
                )


@contextmanager
def show_progress(console: Console | None = None) -> Iterator[Progress]:
    """Yield a callback for `run` that shows a bar in a terminal, a line now and then in a pipe.

    Parameters
    ----------
    console : rich.console.Console, optional
        Where to show it; standard error by default.

    Examples
    --------
    >>> import sys
    >>> with show_progress(Console(file=sys.stdout)) as tell:
    ...     tell(Tally("quality", configurations=40, stored=8, done=0, failed=0, seconds=0.0))
    ...     tell(Tally("quality", configurations=40, stored=8, done=16, failed=1, seconds=32.0))
    quality: 8 of 40 configurations stored
    quality: 24 of 40 configurations stored, 1 failed, about 0:00:28 left
    """
    console = Console(stderr=True) if console is None else console
    if not console.is_terminal:
        yield _lines(console)
        return
    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("{task.fields[outlook]}", markup=False),
    )
    with Bar(*columns, console=console) as bar:
        tasks: dict[str, TaskID] = {}

        def tell(tally: Tally) -> None:
            if tally.study not in tasks:
                total = tally.configurations
                tasks[tally.study] = bar.add_task(tally.study, total=total, outlook="")
            outlook = ", ".join(_outlook(tally))
            bar.update(tasks[tally.study], completed=tally.stored + tally.done, outlook=outlook)

        yield tell


def _lines(console: Console) -> Progress:
    """At most so many lines per study, and one whenever a configuration has failed."""
    last: dict[str, tuple[int, int]] = {}

    def tell(tally: Tally) -> None:
        ended = tally.done + tally.failed
        now = (tally.failed, LINES_IN_A_PIPE * ended // max(1, tally.configurations - tally.stored))
        if now == last.get(tally.study):
            return
        last[tally.study] = now
        stored = f"{tally.stored + tally.done} of {tally.configurations}"
        head = f"{tally.study}: {stored} configurations stored"
        line = ", ".join([head, *_outlook(tally)])
        console.print(line, markup=False, highlight=False, soft_wrap=True)

    return tell


def _outlook(tally: Tally) -> list[str]:
    """Say what failed, and how long the rest takes if it goes on like this."""
    words = [f"{tally.failed} failed"] if tally.failed else []
    ended = tally.done + tally.failed
    left = tally.configurations - tally.stored - ended
    if ended and left:
        seconds = round(tally.seconds / ended * left)
        words.append(f"about {timedelta(seconds=seconds)} left")
    return words
