"""What every MILP solver is asked and what it answers; Ctrl-C.

A solve runs in a worker thread, so that Ctrl-C reaches the calling one, which then stops the
solver and takes the incumbent and the bound it has.
"""

from __future__ import annotations

import _thread
import math
import threading
from collections.abc import Callable
from dataclasses import dataclass, replace

from pessimal.errors import SolverError
from pessimal.problem import Vector
from pessimal.solution import Status
from pessimal.training.linear import Program


@dataclass(frozen=True, eq=False)
class Answer:
    """What a solver found: a point, if any, a lower bound, and why it stopped.

    An infeasible program has no point, the bound +inf and the status OPTIMAL.
    """

    x: Vector | None
    bound: float
    status: Status
    nodes: int


@dataclass(frozen=True)
class Effort:
    """How long a solver may take: seconds and nodes, both may be infinite."""

    seconds: float
    nodes: float = math.inf


@dataclass(frozen=True, eq=False)
class Job:
    """One solve, prepared but not started: run it, stop it, read its answer."""

    run: Callable[[], object]
    stop: Callable[[], object]
    read: Callable[[], Answer]


@dataclass(frozen=True, eq=False)
class Solver:
    """A MILP solver that is installed.

    Attributes
    ----------
    name : str
        Name and version, for the notes of an outcome.
    prepare : callable
        Turns a program and the effort it is worth into a `Job`.
    """

    name: str
    prepare: Callable[[Program, Effort], Job]

    def solve(self, program: Program, effort: Effort) -> Answer:
        """Minimise a mixed-integer program; Ctrl-C ends it with the status INTERRUPTED."""
        if effort.seconds <= 0.0:
            return Answer(None, -math.inf, Status.TIME_LIMIT, 0)
        if effort.nodes < 1:
            return Answer(None, -math.inf, Status.NODE_LIMIT, 0)
        try:
            job = self.prepare(program, effort)
            interrupted = _run(job)
            answer = job.read()
        except Exception as error:
            raise SolverError(_explain(self.name, error)) from None
        if interrupted:
            return replace(answer, status=Status.INTERRUPTED)
        if answer.status is Status.NOT_PROVED:
            # An end the adaptor does not know, such as a numerical failure: no bound to trust.
            return replace(answer, bound=-math.inf)
        return answer


def _run(job: Job) -> bool:
    """Run a job in a worker thread; return whether Ctrl-C stopped it."""
    failures: list[BaseException] = []
    done = threading.Event()

    def work() -> None:
        try:
            job.run()
        except BaseException as error:
            failures.append(error)
        finally:
            done.set()

    # Not `threading.Thread`: its start() waits for the thread, and Ctrl-C may come just then.
    _thread.start_new_thread(work, ())
    interrupted = False
    while not done.is_set():
        try:
            if interrupted:
                # Again and again: a solver that has not quite started forgets the first call.
                job.stop()
            # A bounded wait: on some platforms an unbounded one keeps Ctrl-C waiting too.
            done.wait(0.1)
        except KeyboardInterrupt:
            interrupted = True
    if failures:
        raise failures[0]
    return interrupted


def _explain(name: str, error: BaseException) -> str:
    text = " ".join(str(error).split())
    if "size-limited" in text or "size limit" in text:
        return (
            f"this program is too large for the licence of {name}; "
            "pass solver='highs' or solver='scip', or install a full licence"
        )
    return f"{name} failed ({text or type(error).__name__}); try another solver"
