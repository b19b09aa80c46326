"""CPLEX, by its own package."""

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


class Cplex(Backend):
    """CPLEX, by a ``cplex.Cplex``."""

    def __init__(self) -> None:
        self._cplex = import_extra("cplex", "solvers")
        model = self._cplex.Cplex()
        self.name, ends = f"CPLEX {model.get_version()}", model.solution.status
        self.infeasible = (ends.MIP_infeasible, ends.MIP_infeasible_or_unbounded)
        self.ends = {
            ends.MIP_optimal: Status.OPTIMAL,
            ends.optimal_tolerance: Status.OPTIMAL,
            ends.MIP_time_limit_feasible: Status.TIME_LIMIT,
            ends.MIP_time_limit_infeasible: Status.TIME_LIMIT,
            ends.node_limit_feasible: Status.NODE_LIMIT,
            ends.node_limit_infeasible: Status.NODE_LIMIT,
            ends.MIP_abort_feasible: Status.INTERRUPTED,
            ends.MIP_abort_infeasible: Status.INTERRUPTED,
        }

    def prepare(self, program: LinearProgram, effort: Effort) -> Handle:
        """Hand a program to the solver."""
        model = self._cplex.Cplex()
        for stream in ("log", "results", "warning", "error"):
            getattr(model, f"set_{stream}_stream")(None)
        option = model.parameters
        option.threads.set(1)
        option.randomseed.set(0)
        option.timelimit.set(min(effort.seconds, option.timelimit.max()))
        option.mip.limits.nodes.set(int(min(effort.nodes, option.mip.limits.nodes.max())))
        option.mip.tolerances.mipgap.set(effort.relative_gap)
        option.mip.tolerances.absmipgap.set(effort.absolute_gap)
        option.mip.tolerances.integrality.set(INTEGRALITY)
        option.simplex.tolerances.feasibility.set(LP_FEASIBILITY)
        option.simplex.tolerances.optimality.set(LP_FEASIBILITY)
        model.variables.add(
            obj=program.cost.tolist(),
            lb=np.maximum(program.lower, -self._cplex.infinity).tolist(),
            ub=np.minimum(program.upper, self._cplex.infinity).tolist(),
            types="".join(column_kinds(program)),
        )
        for matrix, sense, limits in row_groups(program):
            lists = matrix.tolil()
            model.linear_constraints.add(
                lin_expr=list(zip(lists.rows, lists.data, strict=True)),
                senses={"=": "E", "<": "L", ">": "G"}[sense] * len(limits),
                rhs=limits.tolist(),
            )
        for i, j in program.sos1:
            model.SOS.add(type="1", SOS=[[i, j], [1.0, 2.0]])
        aborter = model.use_aborter(self._cplex.Aborter())

        def read() -> SolverResult:
            solution = model.solution
            x = np.array(solution.get_values()) if solution.is_primal_feasible() else None
            bound = solution.MIP.get_best_objective()
            nodes = solution.progress.get_num_nodes_processed()
            return self.result(solution.get_status(), x, bound, nodes)

        return Handle(model.solve, aborter.abort, read)
