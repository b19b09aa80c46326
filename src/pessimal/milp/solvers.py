"""HiGHS, SCIP, Gurobi and CPLEX, each behind one function from matrices to a `Job`.

CVXPY's own interfaces return no bound at a time limit, and some of them no incumbent, so the
matrices that CVXPY builds are handed to each solver's own Python interface. Every solver runs on
one thread with a fixed seed.

Gurobi and CPLEX get the tightest tolerances they accept, against leaks through the big Ms. HiGHS
and SCIP keep their own, 1e-6: a leak only weakens the bound and is found and cut off afterwards,
whereas with 1e-9 HiGHS prunes nodes that hold the optimum, which nothing afterwards can find.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import highspy
import numpy as np
from scipy import sparse

from pessimal.errors import InvalidInputError, import_extra
from pessimal.milp.native import Answer, Effort, Job, Solver
from pessimal.problem import Mask, Vector
from pessimal.solution import Status
from pessimal.tolerances import INTEGRALITY, LP_FEASIBILITY
from pessimal.training.linear import Program

RELATIVE_GAP = 1e-7
ABSOLUTE_GAP = 1e-9


def find_solver(name: str) -> Solver:
    """Return the solver of that name, or say what is accepted or missing.

    Examples
    --------
    >>> find_solver("highs").name.split()[0]
    'HiGHS'
    """
    if name not in SOLVERS:
        raise InvalidInputError(f"solver is {name!r}; pass one of {', '.join(map(repr, SOLVERS))}")
    return SOLVERS[name]()


def _highs() -> Solver:
    def prepare(program: Program, effort: Effort) -> Job:
        matrix = sparse.csr_matrix(program.matrix)
        lp = highspy.HighsLp()
        lp.num_row_, lp.num_col_ = matrix.shape
        lp.col_cost_, lp.col_lower_, lp.col_upper_ = program.cost, program.lower, program.upper
        lp.row_lower_, lp.row_upper_ = program.row_lower, program.row_upper
        lp.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
        lp.a_matrix_.start_, lp.a_matrix_.index_ = matrix.indptr, matrix.indices
        lp.a_matrix_.value_ = matrix.data
        kinds = (highspy.HighsVarType.kContinuous, highspy.HighsVarType.kInteger)
        lp.integrality_ = [kinds[int(flag)] for flag in _integer(program)]
        highs = highspy.Highs()  # type: ignore[no-untyped-call]
        options: dict[str, bool | int | float | str] = {
            "output_flag": False,
            "threads": 1,
            "parallel": "off",
            "random_seed": 0,
            "time_limit": effort.seconds,
            "mip_max_nodes": int(min(effort.nodes, highspy.kHighsIInf)),
            "mip_rel_gap": RELATIVE_GAP,
            "mip_abs_gap": ABSOLUTE_GAP,
        }
        for option, value in options.items():
            highs.setOptionValue(option, value)
        highs.passModel(lp)
        highs.HandleUserInterrupt = True
        return Job(highs.run, highs.cancelSolve, lambda: read(highs))

    def read(highs: Any) -> Answer:
        info, status, ends = highs.getInfo(), highs.getModelStatus(), highspy.HighsModelStatus
        nodes = max(0, int(info.mip_node_count))
        if status in (ends.kInfeasible, ends.kUnboundedOrInfeasible):
            return Answer(None, math.inf, Status.OPTIMAL, nodes)
        found = info.primal_solution_status == highspy.SolutionStatus.kSolutionStatusFeasible
        return Answer(
            x=np.array(highs.getSolution().col_value) if found else None,
            bound=float(info.mip_dual_bound),
            status={
                ends.kOptimal: Status.OPTIMAL,
                ends.kTimeLimit: Status.TIME_LIMIT,
                ends.kSolutionLimit: Status.NODE_LIMIT,  # so HiGHS calls it
                ends.kInterrupt: Status.INTERRUPTED,
            }.get(status, Status.NOT_PROVED),
            nodes=nodes,
        )

    version = highspy.Highs().version()  # type: ignore[no-untyped-call]
    return Solver(f"HiGHS {version}", prepare)


def _scip() -> Solver:
    pyscipopt = import_extra("pyscipopt", "solvers")

    def prepare(program: Program, effort: Effort) -> Job:
        model = pyscipopt.Model()
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
            model.addVar(lb=low, ub=high, obj=cost, vtype="B" if flag else "C")
            for low, high, cost, flag in zip(
                program.lower, program.upper, program.cost, _integer(program), strict=True
            )
        ]
        for rows, sense, limits in _row_groups(program):
            for row, limit in zip(program.matrix[rows], limits, strict=True):
                total = pyscipopt.quicksum(row[j] * columns[j] for j in np.flatnonzero(row))
                model.addCons(
                    total == limit
                    if sense == "="
                    else total <= limit
                    if sense == "<"
                    else total >= limit
                )
        return Job(model.optimizeNogil, model.interruptSolve, lambda: read(model, columns))

    def read(model: Any, columns: list[Any]) -> Answer:
        status, nodes = model.getStatus(), int(model.getNTotalNodes())
        if status in ("infeasible", "inforunbd"):
            return Answer(None, math.inf, Status.OPTIMAL, nodes)
        best = model.getBestSol() if model.getNSols() > 0 else None
        return Answer(
            x=None if best is None else np.array([best[column] for column in columns]),
            bound=float(model.getDualbound()),
            status={
                "optimal": Status.OPTIMAL,
                "gaplimit": Status.OPTIMAL,
                "timelimit": Status.TIME_LIMIT,
                "totalnodelimit": Status.NODE_LIMIT,
                "userinterrupt": Status.INTERRUPTED,
            }.get(status, Status.NOT_PROVED),
            nodes=nodes,
        )

    return Solver(f"SCIP {pyscipopt.Model().version()}", prepare)


def _gurobi() -> Solver:
    gurobipy = import_extra("gurobipy", "solvers")

    def prepare(program: Program, effort: Effort) -> Job:
        model = gurobipy.Model(env=gurobipy.Env(params={"OutputFlag": 0}))
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
        kinds = np.where(_integer(program), "B", "C")
        x = model.addMVar(
            len(kinds), lb=program.lower, ub=program.upper, obj=program.cost, vtype=kinds
        )
        for rows, sense, limits in _row_groups(program):
            model.addMConstr(sparse.csr_matrix(program.matrix[rows]), x, sense, limits)
        return Job(model.optimize, model.terminate, lambda: read(model, x))

    def read(model: Any, x: Any) -> Answer:
        ends, nodes = gurobipy.GRB, int(model.NodeCount)
        if model.Status in (ends.INFEASIBLE, ends.INF_OR_UNBD):
            return Answer(None, math.inf, Status.OPTIMAL, nodes)
        return Answer(
            x=np.array(x.X) if model.SolCount else None,
            bound=float(model.ObjBound),
            status={
                ends.OPTIMAL: Status.OPTIMAL,
                ends.TIME_LIMIT: Status.TIME_LIMIT,
                ends.NODE_LIMIT: Status.NODE_LIMIT,
                ends.INTERRUPTED: Status.INTERRUPTED,
            }.get(model.Status, Status.NOT_PROVED),
            nodes=nodes,
        )

    return Solver(f"Gurobi {'.'.join(map(str, gurobipy.gurobi.version()))}", prepare)


def _cplex() -> Solver:
    cplex = import_extra("cplex", "solvers")

    def prepare(program: Program, effort: Effort) -> Job:
        model = cplex.Cplex()
        for stream in ("log", "results", "warning", "error"):
            getattr(model, f"set_{stream}_stream")(None)
        option = model.parameters
        option.threads.set(1)
        option.randomseed.set(0)
        option.timelimit.set(min(effort.seconds, option.timelimit.max()))
        option.mip.limits.nodes.set(int(min(effort.nodes, option.mip.limits.nodes.max())))
        option.mip.tolerances.mipgap.set(RELATIVE_GAP)
        option.mip.tolerances.absmipgap.set(ABSOLUTE_GAP)
        option.mip.tolerances.integrality.set(INTEGRALITY)
        option.simplex.tolerances.feasibility.set(LP_FEASIBILITY)
        option.simplex.tolerances.optimality.set(LP_FEASIBILITY)
        model.variables.add(
            obj=program.cost.tolist(),
            lb=np.maximum(program.lower, -cplex.infinity).tolist(),
            ub=np.minimum(program.upper, cplex.infinity).tolist(),
            types="".join(np.where(_integer(program), "B", "C")),
        )
        for rows, sense, limits in _row_groups(program):
            model.linear_constraints.add(
                lin_expr=[
                    [np.flatnonzero(row).tolist(), row[row != 0.0].tolist()]
                    for row in program.matrix[rows]
                ],
                senses={"=": "E", "<": "L", ">": "G"}[sense] * len(limits),
                rhs=limits.tolist(),
            )
        aborter = model.use_aborter(cplex.Aborter())
        return Job(model.solve, aborter.abort, lambda: read(model))

    def read(model: Any) -> Answer:
        solution, ends = model.solution, model.solution.status
        status, nodes = solution.get_status(), int(solution.progress.get_num_nodes_processed())
        if status in (ends.MIP_infeasible, ends.MIP_infeasible_or_unbounded):
            return Answer(None, math.inf, Status.OPTIMAL, nodes)
        return Answer(
            x=np.array(solution.get_values()) if solution.is_primal_feasible() else None,
            bound=float(solution.MIP.get_best_objective()),
            status={
                ends.MIP_optimal: Status.OPTIMAL,
                ends.optimal_tolerance: Status.OPTIMAL,
                ends.MIP_time_limit_feasible: Status.TIME_LIMIT,
                ends.MIP_time_limit_infeasible: Status.TIME_LIMIT,
                ends.node_limit_feasible: Status.NODE_LIMIT,
                ends.node_limit_infeasible: Status.NODE_LIMIT,
                ends.MIP_abort_feasible: Status.INTERRUPTED,
                ends.MIP_abort_infeasible: Status.INTERRUPTED,
            }.get(status, Status.NOT_PROVED),
            nodes=nodes,
        )

    return Solver(f"CPLEX {cplex.Cplex().get_version()}", prepare)


def _row_groups(program: Program) -> Iterator[tuple[Mask, str, Vector]]:
    """Split the rows by sense: which they are, ``=``, ``<`` or ``>``, and their limits."""
    equal = program.row_lower == program.row_upper
    for rows, sense, limits in (
        (equal, "=", program.row_upper),
        (~equal & np.isfinite(program.row_upper), "<", program.row_upper),
        (~equal & np.isfinite(program.row_lower), ">", program.row_lower),
    ):
        if rows.any():
            yield rows, sense, limits[rows]


def _integer(program: Program) -> Mask:
    if program.integer is None:
        return np.zeros(len(program.cost), dtype=np.bool_)
    return program.integer


SOLVERS: dict[str, Callable[[], Solver]] = {
    "highs": _highs,
    "scip": _scip,
    "gurobi": _gurobi,
    "cplex": _cplex,
}
