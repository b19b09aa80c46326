"""SCIP, by PySCIPOpt."""

from __future__ import annotations

import math
import operator

import numpy as np

from pessimal.bilevel.backends.base import (
    Backend,
    Effort,
    Handle,
    SolverResult,
    column_kinds,
    row_groups,
)
from pessimal.errors import import_extra
from pessimal.lp.highs import LinearProgram
from pessimal.solution import Status


class Scip(Backend):
    """SCIP, by a ``pyscipopt.Model``."""

    def __init__(self) -> None:
        self._pyscipopt = import_extra("pyscipopt", "solvers")
        self.name = f"SCIP {self._pyscipopt.Model().version()}"
        self.infeasible = ("infeasible", "inforunbd")
        self.ends = {
            "optimal": Status.OPTIMAL,
            "gaplimit": Status.OPTIMAL,
            "timelimit": Status.TIME_LIMIT,
            "totalnodelimit": Status.NODE_LIMIT,
            "userinterrupt": Status.INTERRUPTED,
        }

    def prepare(self, program: LinearProgram, effort: Effort) -> Handle:
        """Hand a program to the solver."""
        model = self._pyscipopt.Model()
        model.hideOutput()
        model.setParams(
            {
                "limits/time": min(effort.seconds, model.infinity()),
                "limits/totalnodes": -1 if math.isinf(effort.nodes) else int(effort.nodes),
                "limits/gap": effort.relative_gap,
                "limits/absgap": effort.absolute_gap,
                "lp/threads": 1,
                "parallel/maxnthreads": 1,
                "randomization/randomseedshift": 0,
                "misc/catchctrlc": False,
            }
        )
        kinds = column_kinds(program)
        columns = [
            model.addVar(lb=low, ub=high, obj=cost, vtype=kind)
            for low, high, cost, kind in zip(
                program.lower, program.upper, program.cost, kinds, strict=True
            )
        ]
        relation = {"=": operator.eq, "<": operator.le, ">": operator.ge}
        for matrix, sense, limits in row_groups(program):
            lists = matrix.tolil()
            for row, values, limit in zip(lists.rows, lists.data, limits, strict=True):
                terms = (a * columns[j] for j, a in zip(row, values, strict=True))
                model.addCons(relation[sense](self._pyscipopt.quicksum(terms), limit))
        for i, j in program.sos1:
            model.addConsSOS1([columns[i], columns[j]])

        def read() -> SolverResult:
            best = model.getBestSol() if model.getNSols() > 0 else None
            x = None if best is None else np.array([best[column] for column in columns])
            return self.result(model.getStatus(), x, model.getDualbound(), model.getNTotalNodes())

        return Handle(model.optimizeNogil, model.interruptSolve, read)
