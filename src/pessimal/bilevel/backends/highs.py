"""HiGHS, which is always installed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from highspy import Highs as Library
from highspy import HighsModelStatus

from pessimal.bilevel.backends.base import (
    ABSOLUTE_GAP,
    RELATIVE_GAP,
    Backend,
    Effort,
    SolverResult,
)
from pessimal.lp.highs import IntegerProgram, LinearProgram
from pessimal.solution import Status


class Highs(Backend):
    """HiGHS, on the package's own interface to it."""

    statuses: Mapping[Any, Status] = {
        HighsModelStatus.kOptimal: Status.OPTIMAL,
        HighsModelStatus.kTimeLimit: Status.TIME_LIMIT,
        HighsModelStatus.kSolutionLimit: Status.NODE_LIMIT,  # so HiGHS calls it
        HighsModelStatus.kInterrupt: Status.INTERRUPTED,
    }

    def __init__(self) -> None:
        self.name = f"HiGHS {Library().version()}"  # type: ignore[no-untyped-call]

    def prepare(self, program: LinearProgram, effort: Effort) -> IntegerProgram:
        """Return an `IntegerProgram`, not started."""
        return IntegerProgram(program, effort.seconds, effort.nodes, RELATIVE_GAP, ABSOLUTE_GAP)

    def run(self, handle: IntegerProgram) -> None:
        """Solve."""
        handle.run()

    def stop(self, handle: IntegerProgram) -> None:
        """End a run from another thread."""
        handle.stop()

    def read(self, handle: IntegerProgram) -> SolverResult:
        """Return what a run found."""
        ends = (HighsModelStatus.kInfeasible, HighsModelStatus.kUnboundedOrInfeasible)
        if handle.status in ends:
            return SolverResult.infeasible(handle.nodes)
        found = handle.solution()
        status = self.statuses.get(handle.status, Status.NOT_PROVED)
        return SolverResult(found.x, found.bound, status, handle.nodes)
