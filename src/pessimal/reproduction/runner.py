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
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import (
    FIRST_COMPLETED,
    BrokenExecutor,
    CancelledError,
    Executor,
    Future,
    wait,
)
from dataclasses import dataclass
from itertools import islice

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
    record = _Record(study, store, progress, version, command, len(pending))

    def submit(configuration: Configuration) -> Future[Answer]:
        return executor.submit(compute, study.run, configuration, study.version, version)

    lost = _pass(pending, in_flight, submit, record)
    for _ in range(TRIES_ALONE):
        lost = _pass(lost, 1, submit, record)
    for configuration in lost:
        record.fail(
            Failure(configuration, f"its worker process died in each of {TRIES_ALONE} tries alone")
        )
    return RunResult(record.tally(), tuple(record.failures), record.number)


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
            for future in wait(running, return_when=FIRST_COMPLETED).done:
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


class _Record:
    """Files answers, counts and tells."""

    def __init__(
        self,
        study: Study,
        store: Store,
        progress: Progress | None,
        version: str,
        command: str,
        pending: int,
    ) -> None:
        self.failures: list[Failure] = []
        self._study = study
        self._store = store
        self._progress = progress
        self._stored = len(study.configurations) - pending
        self._done = 0
        self._lost = 0
        self._started = time.perf_counter()
        environment = describe_environment()
        self.number = store.begin(study, version, command=command, environment=environment)
        self._tell()

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
            words = "".join(traceback.format_exception_only(error)).strip()
            self.fail(Failure(configuration, words, traceback.format_exc()))
            return True
        if answer.error:
            self.fail(Failure(configuration, answer.error, answer.details))
            return True
        elapsed = time.perf_counter() - self._started
        self._store.add(
            self.number, configuration, answer.rows, seconds=answer.seconds, elapsed=elapsed
        )
        self._done += 1
        self._tell()
        return True

    def _lose(self) -> None:
        self._lost += 1
        if not (self._done or self.failures) and self._lost >= LOST_BEFORE_GIVING_UP:
            raise PessimalError(
                f"{self._lost} configurations were lost with their worker processes and none was "
                "answered, so the workers cannot even start; their messages on standard error say "
                "why. A script that starts a run must guard its code with if __name__ == '__main__'"
            )

    def fail(self, failure: Failure) -> None:
        """Remember a configuration that gave no rows."""
        logger.warning("%s failed: %s", dict(failure.configuration), failure.error)
        logger.debug("%s", failure.details)
        self.failures.append(failure)
        self._tell()

    def tally(self) -> Tally:
        """Count."""
        return Tally(
            study=self._study.name,
            configurations=len(self._study.configurations),
            stored=self._stored,
            done=self._done,
            failed=len(self.failures),
            seconds=time.perf_counter() - self._started,
        )

    def _tell(self) -> None:
        if self._progress is not None:
            self._progress(self.tally())


@dataclass(frozen=True)
class Answer:
    """What a worker sends back: encoded rows, or what went wrong."""

    rows: str
    seconds: float
    error: str = ""
    details: str = ""


def compute(
    run: Callable[[Configuration], Sequence[Row]],
    configuration: Configuration,
    own_version: Callable[[], str],
    version: str,
) -> Answer:
    """Run one configuration in a worker, on one thread.

    Errors travel as text: an exception may not survive the way back.
    """
    started = time.perf_counter()
    try:
        _same_code(own_version(), version)
        with threadpool_limits(1):
            rows = run(configuration)
        _no_contradiction(configuration, rows)
        return Answer(encode(rows), time.perf_counter() - started)
    except Exception as error:
        words = traceback.format_exception_only(error)[-1].strip()
        return Answer("", time.perf_counter() - started, words, traceback.format_exc())


def _same_code(own: str, version: str) -> None:
    if own != version:
        raise PessimalError(
            f"the worker has pessimal {own}, but the run was started with {version}; "
            "install the same sources on both, or start the run again"
        )


def _no_contradiction(configuration: Configuration, rows: Sequence[Row]) -> None:
    for row in rows:
        for name in configuration.keys() & row.keys():
            if configuration[name] != row[name]:
                raise PessimalError(
                    f"a row has {name} = {row[name]!r} but its configuration has "
                    f"{configuration[name]!r}; give the column another name"
                )
