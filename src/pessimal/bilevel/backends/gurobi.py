"""Gurobi, by gurobipy."""

from __future__ import annotations

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
from pessimal.tolerances import INTEGRALITY, LP_FEASIBILITY


class Gurobi(Backend):
    """Gurobi; a handle is a ``gurobipy.Model``."""

    def __init__(self) -> None:
        self._gurobipy = import_extra("gurobipy", "solvers")
        self.name = f"Gurobi {'.'.join(map(str, self._gurobipy.gurobi.version()))}"
        ends = self._gurobipy.GRB
        self.statuses = {
            ends.OPTIMAL: Status.OPTIMAL,
            ends.TIME_LIMIT: Status.TIME_LIMIT,
            ends.NODE_LIMIT: Status.NODE_LIMIT,
            ends.INTERRUPTED: Status.INTERRUPTED,
        }

    def prepare(self, program: LinearProgram, effort: Effort) -> Any:
        """Return a ``gurobipy.Model``, not started."""
        model = self._gurobipy.Model(env=self._gurobipy.Env(params={"OutputFlag": 0}))
        for option, value in {
            "Threads": 1,
            "Seed": 0,
            "TimeLimit": effort.seconds,
            "NodeLimit": effort.nodes,
            "MIPGap": RELATIVE_GAP,
            "MIPGapAbs": ABSOLUTE_GAP,
            "IntFeasTol": INTEGRALITY,
            "FeasibilityTol": LP_FEASIBILITY,
            "OptimalityTol": LP_FEASIBILITY,
        }.items():
            model.setParam(option, value)
        x = model.addMVar(
            len(program.cost),
            lb=program.lower,
            ub=program.upper,
            obj=program.cost,
            vtype=np.array(column_kinds(program)),
        )
        for rows, sense, limits in row_groups(program):
            model.addMConstr(program.matrix[rows], x, sense, limits)
        return model

    def run(self, handle: Any) -> None:
        """Solve."""
        handle.optimize()

    def stop(self, handle: Any) -> None:
        """End a run from another thread."""
        handle.terminate()

    def read(self, handle: Any) -> SolverResult:
        """Return what a run found."""
        ends, nodes = self._gurobipy.GRB, int(handle.NodeCount)
        if handle.Status in (ends.INFEASIBLE, ends.INF_OR_UNBD):
            return SolverResult.infeasible(nodes)
        return SolverResult(
            x=np.array(handle.X) if handle.SolCount else None,
            bound=float(handle.ObjBound),
            status=self.statuses.get(handle.Status, Status.NOT_PROVED),
            nodes=nodes,
        )
