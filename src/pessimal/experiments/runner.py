"""Run the cells of a study that the store does not hold yet, on any executor.

A cell that raises does not stop the others. A worker process that dies takes the cells in flight
with it, guilty or not; they are run again one at a time, where a further death can be blamed on the
cell.
"""

from __future__ import annotations

import logging
import time
import traceback
from collections.abc import Callable, Iterable
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

from pessimal.errors import PessimalError
from pessimal.experiments.environment import describe_environment
from pessimal.experiments.store import Store
from pessimal.experiments.study import Cell, Study
from pessimal.experiments.version import code_version
from pessimal.experiments.worker import Answer, compute

logger = logging.getLogger(__name__)

TRIES_ALONE = 2
"""How often a cell whose worker died is tried again, with no other cell beside it."""

LOST_BEFORE_GIVING_UP = 12
"""Cells lost with their workers, when none was ever answered: the workers cannot start."""


@dataclass(frozen=True)
class Failure:
    """A cell that gave no rows, and why."""

    cell: Cell
    error: str
    details: str = ""


@dataclass(frozen=True)
class Tally:
    """How far a run has come.

    Attributes
    ----------
    study : str
        Name of the study.
    cells : int
        Cells of the study.
    stored : int
        Cells that the store held before this run.
    done, failed : int
        Cells that this run has stored, and those that raised or lost their worker for good.
    seconds : float
        Time since the run began.
    """

    study: str
    cells: int
    stored: int
    done: int
    failed: int
    seconds: float


@dataclass(frozen=True)
class RunResult:
    """What became of a run: its last tally, and every cell that failed."""

    tally: Tally
    failures: tuple[Failure, ...]

    @property
    def complete(self) -> bool:
        """Whether every cell of the study is in the store."""
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
    """Compute every cell of a study that the store does not hold, and store it as it finishes.

    Parameters
    ----------
    study : Study
        What to run.
    store : Store
        Where the rows go.
    executor : concurrent.futures.Executor
        Where the cells run; the same cells give the same rows on any.
    progress : callable, optional
        Called with a `Tally` at the start and whenever a cell has ended.
    in_flight : int, default=4
        Cells handed to the executor at a time; somewhat more than it has workers.
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
        When the workers cannot start, or the executor gives up on its cells, as that of a cluster
        does that is shut down.

    Examples
    --------
    >>> import tempfile
    >>> from concurrent.futures import ThreadPoolExecutor
    >>> study = Study("squares", ({"x": 2}, {"x": 3}), lambda cell: [{"square": cell["x"] ** 2}])
    >>> with (
    ...     tempfile.TemporaryDirectory() as folder,
    ...     Store(f"{folder}/studies.sqlite") as store,
    ...     ThreadPoolExecutor(2) as executor,
    ... ):
    ...     print(run(study, store, executor).complete, list(store.frame("squares").square))
    True [4, 9]
    """
    version = code_version()
    pending = store.pending(study, version)
    record = _Record(study, store, progress, version, command, len(pending))

    def submit(cell: Cell) -> Future[Answer]:
        return executor.submit(compute, study.run, cell, version)

    lost = _pass(pending, in_flight, submit, record)
    for _ in range(TRIES_ALONE):
        lost = _pass(lost, 1, submit, record)
    for cell in lost:
        record.fail(Failure(cell, f"its worker process died in each of {TRIES_ALONE} tries alone"))
    return RunResult(record.tally(), tuple(record.failures))


def _pass(
    cells: Iterable[Cell],
    in_flight: int,
    submit: Callable[[Cell], Future[Answer]],
    record: _Record,
) -> list[Cell]:
    """Run cells, a bounded number at a time; return those whose worker died."""
    waiting = iter(cells)
    running: dict[Future[Answer], Cell] = {}
    lost: list[Cell] = []
    try:
        while True:
            for cell in islice(waiting, in_flight - len(running)):
                running[submit(cell)] = cell
            if not running:
                return lost
            for future in wait(running, return_when=FIRST_COMPLETED).done:
                if not record.receive(running[future], future):
                    lost.append(running[future])
                # Forgotten only now: an interrupt before this line finds it among the finished.
                del running[future]
    except KeyboardInterrupt:
        for future, cell in running.items():
            if future.done():
                record.receive(cell, future)
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
        self._stored = len(study.cells) - pending
        self._done = 0
        self._lost = 0
        self._started = time.perf_counter()
        self._run = store.begin(study, version, command=command, environment=describe_environment())
        self._tell()

    def receive(self, cell: Cell, future: Future[Answer]) -> bool:
        """File the answer of a future that is done; False when its worker died."""
        try:
            answer = future.result()
        except CancelledError:  # not by us: a cluster cancels what it held when it goes away
            raise PessimalError(
                "the workers are gone, and the cells they held with them. What was stored is "
                "safe: start the workers, then run the same command again"
            ) from None
        except BrokenExecutor:
            logger.warning("a worker died with %s in flight", dict(cell))
            self._lose()
            return False
        except Exception as error:  # the cell never began: the worker lacks a module, say
            words = "".join(traceback.format_exception_only(error)).strip()
            self.fail(Failure(cell, words, traceback.format_exc()))
            return True
        if answer.error:
            self.fail(Failure(cell, answer.error, answer.details))
            return True
        elapsed = time.perf_counter() - self._started
        self._store.add(self._run, cell, answer.rows, seconds=answer.seconds, elapsed=elapsed)
        self._done += 1
        self._tell()
        return True

    def _lose(self) -> None:
        self._lost += 1
        if not (self._done or self.failures) and self._lost >= LOST_BEFORE_GIVING_UP:
            raise PessimalError(
                f"{self._lost} cells were lost with their worker processes and none was answered, "
                "so the workers cannot even start; their messages on standard error say why. A "
                "script that starts a run must guard its code with if __name__ == '__main__'"
            )

    def fail(self, failure: Failure) -> None:
        """Remember a cell that gave no rows."""
        logger.warning("%s failed: %s", dict(failure.cell), failure.error)
        logger.debug("%s", failure.details)
        self.failures.append(failure)
        self._tell()

    def tally(self) -> Tally:
        """Count."""
        return Tally(
            study=self._study.name,
            cells=len(self._study.cells),
            stored=self._stored,
            done=self._done,
            failed=len(self.failures),
            seconds=time.perf_counter() - self._started,
        )

    def _tell(self) -> None:
        if self._progress is not None:
            self._progress(self.tally())
