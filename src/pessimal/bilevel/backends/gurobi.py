"""Gurobi, by gurobipy."""

from __future__ import annotations

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
from pessimal.tolerances import INTEGRALITY, LP_FEASIBILITY


class Gurobi(Backend):
    """Gurobi, by a ``gurobipy.Model``."""

    def __init__(self) -> None:
        self._gurobipy = import_extra("gurobipy", "solvers")
        self.name = f"Gurobi {'.'.join(map(str, self._gurobipy.gurobi.version()))}"
        ends = self._gurobipy.GRB
        self.infeasible = (ends.INFEASIBLE, ends.INF_OR_UNBD)
        self.ends = {
            ends.OPTIMAL: Status.OPTIMAL,
            ends.TIME_LIMIT: Status.TIME_LIMIT,
            ends.NODE_LIMIT: Status.NODE_LIMIT,
            ends.INTERRUPTED: Status.INTERRUPTED,
        }

    def prepare(self, program: LinearProgram, effort: Effort) -> Handle:
        """Hand a program to the solver."""
        options = {
            "OutputFlag": 0,
            "Threads": 1,
            "Seed": 0,
            "TimeLimit": effort.seconds,
            "NodeLimit": effort.nodes,
            "MIPGap": effort.relative_gap,
            "MIPGapAbs": effort.absolute_gap,
            "IntFeasTol": INTEGRALITY,
            "FeasibilityTol": LP_FEASIBILITY,
            "OptimalityTol": LP_FEASIBILITY,
        }
        model = self._gurobipy.Model(env=self._gurobipy.Env(params=options))
        x = model.addMVar(
            len(program.cost),
            lb=program.lower,
            ub=program.upper,
            obj=program.cost,
            vtype=column_kinds(program),
        )
        for matrix, sense, limits in row_groups(program):
            model.addMConstr(matrix, x, sense, limits)
        columns = x.tolist()
        for i, j in program.sos1:
            model.addSOS(self._gurobipy.GRB.SOS_TYPE1, [columns[i], columns[j]])

        def read() -> SolverResult:
            x = np.array(model.X) if model.SolCount else None
            # An infeasible program without integers has no bound.
            bound = getattr(model, "ObjBound", -np.inf)
            return self.result(model.Status, x, bound, model.NodeCount)

        return Handle(model.optimize, model.terminate, read)
