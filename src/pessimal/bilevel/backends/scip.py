"""SCIP, by PySCIPOpt."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from pessimal.bilevel.backends.base import (
    ABSOLUTE_GAP,
    RELATIVE_GAP,
    Backend,
    Effort,
    SolverResult,
    column_kinds,
    row_groups,
)
from pessimal.errors import import_extra
from pessimal.lp.highs import LinearProgram
from pessimal.solution import Status


class Scip(Backend):
    """SCIP; a handle is a ``pyscipopt.Model`` whose `data` are the columns."""

    statuses: Mapping[Any, Status] = {
        "optimal": Status.OPTIMAL,
        "gaplimit": Status.OPTIMAL,
        "timelimit": Status.TIME_LIMIT,
        "totalnodelimit": Status.NODE_LIMIT,
        "userinterrupt": Status.INTERRUPTED,
    }

    def __init__(self) -> None:
        self._pyscipopt = import_extra("pyscipopt", "solvers")
        self.name = f"SCIP {self._pyscipopt.Model().version()}"

    def prepare(self, program: LinearProgram, effort: Effort) -> Any:
        """Return a ``pyscipopt.Model``, not started."""
        model = self._pyscipopt.Model()
        model.hideOutput()
        model.setParams(
            {
                "limits/time": min(effort.seconds, model.infinity()),
                "limits/totalnodes": -1 if math.isinf(effort.nodes) else int(effort.nodes),
                "limits/gap": RELATIVE_GAP,
                "limits/absgap": ABSOLUTE_GAP,
                "lp/threads": 1,
                "parallel/maxnthreads": 1,
                "randomization/randomseedshift": 0,
                "misc/catchctrlc": False,
            }
        )
        columns = [
            model.addVar(lb=low, ub=high, obj=cost, vtype=kind)
            for low, high, cost, kind in zip(
                program.lower, program.upper, program.cost, column_kinds(program), strict=True
            )
        ]
        relation = {"=": "__eq__", "<": "__le__", ">": "__ge__"}
        for rows, sense, limits in row_groups(program):
            matrix = program.matrix[rows]
            for k, limit in enumerate(limits):
                row = slice(matrix.indptr[k], matrix.indptr[k + 1])
                total = self._pyscipopt.quicksum(
                    value * columns[j]
                    for j, value in zip(matrix.indices[row], matrix.data[row], strict=True)
                )
                model.addCons(getattr(total, relation[sense])(limit))
        model.data = columns
        return model

    def run(self, handle: Any) -> None:
        """Solve."""
        handle.optimizeNogil()

    def stop(self, handle: Any) -> None:
        """End a run from another thread."""
        handle.interruptSolve()

    def read(self, handle: Any) -> SolverResult:
        """Return what a run found."""
        status, nodes = handle.getStatus(), int(handle.getNTotalNodes())
        if status in ("infeasible", "inforunbd"):
            return SolverResult.infeasible(nodes)
        best = handle.getBestSol() if handle.getNSols() > 0 else None
        return SolverResult(
            x=None if best is None else np.array([best[column] for column in handle.data]),
            bound=float(handle.getDualbound()),
            status=self.statuses.get(status, Status.NOT_PROVED),
            nodes=nodes,
        )
