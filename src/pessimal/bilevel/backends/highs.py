"""HiGHS, which is always installed."""

from __future__ import annotations

import math
from dataclasses import asdict

from highspy import Highs as Library
from highspy import HighsModelStatus as Ends

from pessimal.bilevel.backends.base import Backend, Effort, Handle, SolverResult
from pessimal.lp.highs import IntegerProgram, LinearProgram
from pessimal.solution import Status


class Highs(Backend):
    """HiGHS, by the package's own interface."""

    def __init__(self) -> None:
        self.name = f"HiGHS {Library().version()}"  # type: ignore[no-untyped-call]
        self.infeasible = (Ends.kInfeasible, Ends.kUnboundedOrInfeasible)
        self.ends = {
            Ends.kOptimal: Status.OPTIMAL,
            Ends.kTimeLimit: Status.TIME_LIMIT,
            Ends.kSolutionLimit: Status.NODE_LIMIT,  # so HiGHS calls it
            Ends.kInterrupt: Status.INTERRUPTED,
        }

    def prepare(self, program: LinearProgram, effort: Effort) -> Handle:
        """Hand a program to the solver."""
        model = IntegerProgram(program, **asdict(effort), stoppable=True)

        def read() -> SolverResult:
            found = model.read()
            bound = found.bound
            if not program.integer.any():  # HiGHS has a bound of a mixed-integer program only
                bound = -math.inf
                if found.x is not None and found.end == Ends.kOptimal:
                    bound = float(program.cost @ found.x)
            return self.result(found.end, found.x, bound, found.nodes)

        return Handle(model.run, model.stop, read)
