"""What every mixed-integer solver is asked and what it answers; Ctrl-C.

A solve runs in a worker thread, so that Ctrl-C reaches the calling one, which then stops the
solver and takes the incumbent and the bound it has. Every solver runs on one thread with a fixed
seed.
"""

from __future__ import annotations

import _thread
import math
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from pessimal.errors import SolverError
from pessimal.lp.highs import LinearProgram
from pessimal.problem import Vector
from pessimal.solution import Status


@dataclass(frozen=True, eq=False)
class SolverResult:
    """What a solver found: a point, if any, a lower bound, and why it stopped.

    An infeasible program has no point, the bound +inf and the status OPTIMAL.
    """

    x: Vector | None
    bound: float
    status: Status
    nodes: int

    @classmethod
    def infeasible(cls, nodes: int) -> SolverResult:
        """No point satisfies the program."""
        return cls(None, math.inf, Status.OPTIMAL, nodes)


@dataclass(frozen=True)
class Effort:
    """How long a solver may take, which may be infinite, and the gaps at which it may stop."""

    seconds: float
    nodes: float = math.inf
    relative_gap: float = 1e-7
    absolute_gap: float = 1e-9


@dataclass(frozen=True, eq=False)
class Handle:
    """One solve, prepared but not started."""

    run: Callable[[], object]
    stop: Callable[[], object]
    read: Callable[[], SolverResult]


class Backend(ABC):
    """A mixed-integer solver that is installed; making one raises `MissingExtraError` otherwise.

    `name` is its name and version; `ends` and `infeasible` are its words for how it ended.
    """

    name: str
    ends: Mapping[Any, Status]
    infeasible: Collection[Any]

    @abstractmethod
    def prepare(self, program: LinearProgram, effort: Effort) -> Handle:
        """Hand a program to the solver."""

    def solve(self, program: LinearProgram, effort: Effort) -> SolverResult:
        """Minimise a mixed-integer program; Ctrl-C ends it with the status INTERRUPTED."""
        if effort.seconds <= 0.0:
            return SolverResult(None, -math.inf, Status.TIME_LIMIT, 0)
        if effort.nodes < 1:
            return SolverResult(None, -math.inf, Status.NODE_LIMIT, 0)
        try:
            handle = self.prepare(program, effort)
            interrupted = _run(handle)
            result = handle.read()
        except Exception as error:
            raise SolverError(_explain(self.name, error)) from None
        if interrupted:
            return replace(result, status=Status.INTERRUPTED)
        if result.status is Status.NOT_PROVED:
            # An end the backend does not know, such as a numerical failure: no bound to trust.
            return replace(result, bound=-math.inf)
        return result

    def result(self, end: Any, x: Vector | None, bound: float, nodes: float) -> SolverResult:
        """Say in our words what the solver found."""
        if end in self.infeasible:
            return SolverResult.infeasible(int(nodes))
        return SolverResult(x, float(bound), self.ends.get(end, Status.NOT_PROVED), int(nodes))


def _run(handle: Handle) -> bool:
    """Run in a worker thread; return whether Ctrl-C stopped it."""
    failures: list[BaseException] = []
    done = threading.Event()

    def work() -> None:
        try:
            handle.run()
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
                handle.stop()
            # A bounded wait: on some platforms an unbounded one keeps Ctrl-C waiting too.
            done.wait(0.1)
        except KeyboardInterrupt:
            interrupted = True
    if failures:
        raise failures[0]
    return interrupted


def row_groups(program: LinearProgram) -> Iterator[tuple[csr_array, str, Vector]]:
    """Split the rows by sense: their matrix, ``=``, ``<`` or ``>``, and their limits."""
    matrix, equal = program.matrix.csr, program.row_lower == program.row_upper
    for rows, sense, limits in (
        (equal, "=", program.row_upper),
        (~equal & np.isfinite(program.row_upper), "<", program.row_upper),
        (~equal & np.isfinite(program.row_lower), ">", program.row_lower),
    ):
        if rows.any():
            yield matrix[rows], sense, limits[rows]


def column_kinds(program: LinearProgram) -> NDArray[np.str_]:
    """Return C, I or B for continuous, integer and binary columns."""
    binary = (program.lower >= 0.0) & (program.upper <= 1.0)
    return np.where(program.integer, np.where(binary, "B", "I"), "C")


def _explain(name: str, error: BaseException) -> str:
    text = " ".join(str(error).split())
    if "size-limited" in text or "size limit" in text:
        return (
            f"this program is too large for the licence of {name}; "
            "pass solver='highs' or solver='scip', or install a full licence"
        )
    return f"{name} failed ({text or type(error).__name__}); try another solver"
