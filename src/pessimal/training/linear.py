"""Linear and mixed-integer programs as numpy arrays, solved by HiGHS.

A `Program` is data: ``min cost·x`` with ``row_lower ≤ matrix·x ≤ row_upper``,
``lower ≤ x ≤ upper`` and some columns integer. `WarmProgram` keeps one linear program in HiGHS and
solves it again after a change of cost or row limit, from the last basis; `solve_integer` solves a
mixed-integer program once and reports a bound with its solution.
"""

from __future__ import annotations

from dataclasses import dataclass

import highspy
import numpy as np

from pessimal.errors import SolverError
from pessimal.problem import Mask, Matrix, Vector
from pessimal.tolerances import CUTOFF, LP_FEASIBILITY


@dataclass(frozen=True, eq=False)
class Program:
    """``min cost·x``, ``row_lower ≤ matrix·x ≤ row_upper``, ``lower ≤ x ≤ upper``."""

    cost: Vector
    matrix: Matrix
    row_lower: Vector
    row_upper: Vector
    lower: Vector
    upper: Vector
    integer: Mask | None = None


@dataclass(frozen=True, eq=False)
class IntegerSolution:
    """The best point found, if any, and a bound no feasible point can go below."""

    x: Vector | None
    bound: float


class WarmProgram:
    """One linear program in HiGHS, solved again from the last basis when it changes.

    Presolve is off: it costs more than it saves on a program with some fifty columns, and it
    would throw the basis away.
    """

    def __init__(self, program: Program) -> None:
        self._highs = _load(program)
        # "Choose" takes the primal simplex when the basis is primal feasible, which a change of
        # cost leaves it; the default dual simplex starts again.
        self._highs.setOptionValue("simplex_strategy", 0)
        self._highs.setOptionValue("presolve", "off")
        self._columns = np.arange(len(program.cost), dtype=np.int32)

    def set_cost(self, cost: Vector) -> None:
        """Replace the objective."""
        self._highs.changeColsCost(len(cost), self._columns, cost)

    def set_row(self, row: int, lower: float, upper: float) -> None:
        """Replace the limits of one row."""
        self._highs.changeRowBounds(row, lower, upper)

    def minimise(self) -> Vector:
        """Return an optimal point, or raise `SolverError` when there is none."""
        status = _run(self._highs)
        if status != highspy.HighsModelStatus.kOptimal:
            status = self._start_over()
        if status != highspy.HighsModelStatus.kOptimal:
            raise SolverError(
                f"HiGHS ended a linear program as '{self._highs.modelStatusToString(status)}' "
                "instead of optimal; features of very different scale are the usual cause, "
                "so standardise them"
            )
        return np.array(self._highs.getSolution().col_value)

    def feasible(self) -> bool:
        """Return whether any point satisfies the program."""
        status = _run(self._highs)
        if status not in (highspy.HighsModelStatus.kOptimal, highspy.HighsModelStatus.kInfeasible):
            status = self._start_over()
        return bool(status == highspy.HighsModelStatus.kOptimal)

    def _start_over(self) -> highspy.HighsModelStatus:
        """Solve from scratch and with presolve: the way out of a numerical dead end."""
        self._highs.clearSolver()
        self._highs.setOptionValue("presolve", "on")
        status = _run(self._highs)
        self._highs.setOptionValue("presolve", "off")
        return status


def solve_integer(program: Program, start: Vector, time_limit: float) -> IntegerSolution:
    """Minimise a mixed-integer program from a feasible start, within `time_limit` seconds."""
    highs = _load(program)
    highs.setOptionValue("mip_rel_gap", 0.0)
    highs.setOptionValue("mip_abs_gap", CUTOFF)
    if time_limit < np.inf:
        highs.setOptionValue("time_limit", max(0.0, time_limit))
    solution = highspy.HighsSolution()
    solution.col_value = start
    solution.value_valid = True
    highs.setSolution(solution)
    status = _run(highs)
    info = highs.getInfo()
    found = info.primal_solution_status == highspy.SolutionStatus.kSolutionStatusFeasible
    # Any other end, "infeasible" from a feasible start above all, proves nothing.
    sound = status in (highspy.HighsModelStatus.kOptimal, highspy.HighsModelStatus.kTimeLimit)
    return IntegerSolution(
        x=np.array(highs.getSolution().col_value) if found else None,
        bound=float(info.mip_dual_bound) if sound else -np.inf,
    )


def _load(program: Program) -> highspy.Highs:
    lp = highspy.HighsLp()
    lp.num_row_, lp.num_col_ = program.matrix.shape
    lp.col_cost_ = program.cost
    lp.col_lower_ = program.lower
    lp.col_upper_ = program.upper
    lp.row_lower_ = program.row_lower
    lp.row_upper_ = program.row_upper
    nonzero = program.matrix != 0.0
    lp.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
    lp.a_matrix_.start_ = np.concatenate(([0], np.cumsum(nonzero.sum(axis=1)))).astype(np.int32)
    lp.a_matrix_.index_ = np.nonzero(nonzero)[1].astype(np.int32)
    lp.a_matrix_.value_ = program.matrix[nonzero]
    if program.integer is not None:
        kinds = (highspy.HighsVarType.kContinuous, highspy.HighsVarType.kInteger)
        lp.integrality_ = [kinds[int(flag)] for flag in program.integer]
    highs = highspy.Highs()  # type: ignore[no-untyped-call]
    highs.setOptionValue("output_flag", False)
    highs.setOptionValue("threads", 1)
    highs.setOptionValue("parallel", "off")
    highs.setOptionValue("primal_feasibility_tolerance", LP_FEASIBILITY)
    highs.setOptionValue("dual_feasibility_tolerance", LP_FEASIBILITY)
    highs.passModel(lp)
    return highs


def _run(highs: highspy.Highs) -> highspy.HighsModelStatus:
    if highs.run() == highspy.HighsStatus.kError:
        # HiGHS shares one scheduler in a process and refuses a number of threads other than the
        # one it was first given, by whomever; 0 takes what is there.
        highs.setOptionValue("threads", 0)
        highs.run()
    return highs.getModelStatus()
