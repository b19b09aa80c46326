"""Linear and mixed-integer programs as arrays, solved by HiGHS in equilibrated units.

A `LinearProgram` is data: ``min cost·x`` with ``row_lower ≤ matrix·x ≤ row_upper``,
``lower ≤ x ≤ upper`` and some columns integer. `WarmProgram` keeps one linear program in HiGHS and
solves it again after a change of cost or row limit, from the last basis; `IntegerProgram` is one
run of branch and bound that can be stopped, and `solve_integer` such a run from start to end.

HiGHS drops small entries and has absolute tolerances, so every program is equilibrated on its way
in: columns, then rows of unusual size are multiplied by powers of two, which round nothing.

"Optimal" is HiGHS's word. A bound that others rely on is `WarmProgram.lower_bound`: it follows from
the multipliers alone, whatever they are (Neumaier and Shcherbina, 2004).
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import highspy
import numpy as np
from numpy.typing import NDArray

from pessimal.errors import SolverError
from pessimal.limits import NEVER, Deadline
from pessimal.lp.sparse_rows import SparseRows
from pessimal.problem import Mask, Matrix, Vector, power_of_two
from pessimal.tolerances import CUTOFF, LP_FEASIBILITY, ROUNDING

_SMALLEST_ENTRY = 1e-12
"""The least that HiGHS lets us ask for: smaller entries count as zeros."""


@dataclass(frozen=True, eq=False)
class LinearProgram:
    """``min cost·x``, ``row_lower ≤ matrix·x ≤ row_upper``, ``lower ≤ x ≤ upper``.

    The matrix is kept sparse, however it is given; `integer` marks the integer columns, by default
    none. Of each pair of columns in `sos1` one has to be 0: HiGHS has no such pairs, but some
    backends have.
    """

    cost: Vector
    matrix: SparseRows
    row_lower: Vector
    row_upper: Vector
    lower: Vector
    upper: Vector
    integer: Mask = field(default_factory=lambda: np.zeros(0, dtype=np.bool_))
    sos1: tuple[tuple[int, int], ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "matrix", SparseRows.of(self.matrix))
        if len(self.integer) == 0:
            object.__setattr__(self, "integer", np.zeros(len(self.cost), dtype=np.bool_))

    def extended(
        self,
        cost: Vector,
        rows: Matrix | SparseRows,
        row_upper: Vector,
        lower: Vector,
        upper: Vector,
        in_old_rows: Matrix | None = None,
        integer: Mask | None = None,
    ) -> LinearProgram:
        """Return this program with new columns, and rows ``rows·x ≤ row_upper`` on all columns.

        The rows may leave out the last columns, of which they have no entries. `cost` is of all
        columns; limits, integrality and entries in the old rows, by default 0, are of the new ones.
        """
        matrix = self.matrix
        if in_old_rows is not None:
            matrix = matrix.beside(SparseRows.of(in_old_rows))
        if integer is None:
            integer = np.zeros(len(lower), dtype=np.bool_)
        return LinearProgram(
            cost=cost,
            matrix=replace(matrix.above(SparseRows.of(rows)), n_columns=len(cost)),
            row_lower=np.append(self.row_lower, np.full(len(row_upper), -np.inf)),
            row_upper=np.append(self.row_upper, row_upper),
            lower=np.append(self.lower, lower),
            upper=np.append(self.upper, upper),
            integer=np.append(self.integer, integer),
        )

    def with_row(self, coefficients: Vector, lower: float, upper: float) -> LinearProgram:
        """Return this program with one more row."""
        return replace(
            self,
            matrix=self.matrix.above(SparseRows.of(coefficients[None, :])),
            row_lower=np.append(self.row_lower, lower),
            row_upper=np.append(self.row_upper, upper),
        )

    def with_integers_fixed(self, x: Vector) -> LinearProgram:
        """Return the linear program that is left when the integer columns are rounded and fixed."""
        fixed = np.round(x)
        return replace(
            self,
            lower=np.where(self.integer, fixed, self.lower),
            upper=np.where(self.integer, fixed, self.upper),
            integer=np.zeros_like(self.integer),
        )


@dataclass(frozen=True, eq=False)
class IntegerSolution:
    """The best point found, if any, HiGHS's lower bound, how it ended, and its number of nodes."""

    x: Vector | None
    bound: float
    end: highspy.HighsModelStatus
    nodes: int


class WarmProgram:
    """One linear program in HiGHS, solved again from the last basis when it changes.

    Presolve is off: it costs more than it saves on a program with some fifty columns, and it
    would throw the basis away.
    """

    def __init__(self, program: LinearProgram) -> None:
        self._scaled = _Equilibrated(program)
        self._highs = self._scaled.load()
        # "Choose" takes the primal simplex when the basis is primal feasible, which a change of
        # cost leaves it; the default dual simplex starts again.
        self._highs.setOptionValue("simplex_strategy", 0)
        self._highs.setOptionValue("presolve", "off")
        self._indices = np.arange(len(program.cost), dtype=np.int32)

    def set_cost(self, cost: Vector) -> None:
        """Replace the objective."""
        self._scaled.cost = self._scaled.column * cost
        self._highs.changeColsCost(len(cost), self._indices, self._scaled.cost)

    def set_row(self, row: int, lower: float, upper: float) -> None:
        """Replace the limits of one row."""
        scaled = self._scaled
        scaled.row_lower[row], scaled.row_upper[row] = scaled.row[row] * np.array([lower, upper])
        self._highs.changeRowBounds(row, scaled.row_lower[row], scaled.row_upper[row])

    def minimise(self) -> Vector:
        """Return an optimal point, or raise `SolverError` when there is none."""
        if not self.solve():
            status = self._highs.modelStatusToString(self._highs.getModelStatus())
            raise SolverError(
                f"HiGHS ended a linear program as '{status}' instead of optimal; features of very "
                "different scale are the usual cause, so standardise them"
            )
        return self.point()

    def solve(self, deadline: Deadline = NEVER) -> bool:
        """Run until an optimum is found or the deadline has passed; return whether one was."""
        status = self._run(deadline)
        ends = (highspy.HighsModelStatus.kOptimal, highspy.HighsModelStatus.kTimeLimit)
        if status not in ends:
            # From scratch and with presolve: the way out of a numerical dead end.
            self._highs.clearSolver()
            self._highs.setOptionValue("presolve", "on")
            status = self._run(deadline)
            self._highs.setOptionValue("presolve", "off")
        return bool(status == highspy.HighsModelStatus.kOptimal)

    def point(self) -> Vector:
        """Return the point at which the last run ended."""
        return np.asarray(self._scaled.column * self._highs.getSolution().col_value)

    def lower_bound(self, lower: Vector, upper: Vector) -> float:
        """Bound the cost of every feasible point within finite limits, from the multipliers."""
        return self._scaled.lower_bound(np.array(self._highs.getSolution().row_dual), lower, upper)

    def feasible(self, deadline: Deadline = NEVER) -> bool:
        """Return whether a point was found that satisfies the program."""
        return self.solve(deadline)

    def _run(self, deadline: Deadline) -> highspy.HighsModelStatus:
        if deadline.moment < np.inf:  # HiGHS counts the seconds of all its runs
            left = max(0.0, deadline.left)
            self._highs.setOptionValue("time_limit", self._highs.getRunTime() + left)
        return _run(self._highs)


@dataclass(frozen=True, eq=False)
class Solved:
    """A point, and multipliers of the rows, at which a run ended; how good they are is unsaid."""

    x: Vector
    multipliers: Vector


def solve_large(program: LinearProgram, deadline: Deadline = NEVER) -> Solved | None:
    """Solve a linear program of thousands of rows from nothing: the interior point is faster.

    None if there was no time for it, or no optimum.
    """
    scaled = _Equilibrated(program)
    highs = scaled.load()
    highs.setOptionValue("solver", "ipm")
    if deadline.moment < np.inf:
        highs.setOptionValue("time_limit", max(0.0, deadline.left))
    if _run(highs) != highspy.HighsModelStatus.kOptimal:
        return None
    solution = highs.getSolution()
    return Solved(scaled.column * solution.col_value, scaled.row * solution.row_dual)


class IntegerProgram:
    """One run of HiGHS's branch and bound, with its limits and the gaps at which it may end.

    It gets no starting point: with one, and presolve, version 1.15 has been seen to end as
    optimal with a bound that feasible points beat.
    """

    def __init__(
        self,
        program: LinearProgram,
        seconds: float = np.inf,
        nodes: float = np.inf,
        relative_gap: float = 0.0,
        absolute_gap: float = CUTOFF,
        stoppable: bool = False,
    ) -> None:
        self._scaled = _Equilibrated(program)
        self._highs = self._scaled.load()
        self._highs.setOptionValue("time_limit", max(0.0, seconds))
        self._highs.setOptionValue("mip_max_nodes", int(min(nodes, highspy.kHighsIInf)))
        self._highs.setOptionValue("mip_rel_gap", relative_gap)
        self._highs.setOptionValue("mip_abs_gap", absolute_gap)
        self._highs.HandleUserInterrupt = stoppable

    def run(self) -> None:
        """Branch and bound until the gap is closed or a limit is reached."""
        _run(self._highs)

    def stop(self) -> None:
        """End a stoppable run from another thread."""
        self._highs.cancelSolve()  # type: ignore[no-untyped-call]

    def read(self) -> IntegerSolution:
        """Return what the run found."""
        info = self._highs.getInfo()
        found = info.primal_solution_status == highspy.SolutionStatus.kSolutionStatusFeasible
        return IntegerSolution(
            x=self._scaled.column * self._highs.getSolution().col_value if found else None,
            bound=float(info.mip_dual_bound),
            end=self._highs.getModelStatus(),
            nodes=max(0, int(info.mip_node_count)),
        )


def solve_integer(program: LinearProgram, time_limit: float) -> IntegerSolution:
    """Minimise a mixed-integer program within `time_limit` seconds."""
    branch_and_bound = IntegerProgram(program, time_limit)
    branch_and_bound.run()
    found = branch_and_bound.read()
    # Any other end, "infeasible" of a program that is not above all, proves nothing.
    sound = found.end in (highspy.HighsModelStatus.kOptimal, highspy.HighsModelStatus.kTimeLimit)
    return found if sound else replace(found, bound=-np.inf)


class _Equilibrated:
    """A program with columns, then rows, of similar size: ``x = column·x'``, row k times `row[k]`.

    Costs keep their value.
    """

    def __init__(self, program: LinearProgram) -> None:
        matrix = program.matrix
        n_rows, n_columns = matrix.shape
        self.column = 1.0 / power_of_two(_largest(matrix.entries, matrix.columns, n_columns))
        self.column[program.integer] = 1.0
        entries = matrix.entries * self.column[matrix.columns]
        self.row = 1.0 / power_of_two(_largest(entries, matrix.rows, n_rows))
        entries *= self.row.repeat(matrix.lengths)
        self.matrix = SparseRows(entries, matrix.columns, matrix.starts, n_columns)
        self.cost = self.column * program.cost
        self.row_lower = self.row * program.row_lower
        self.row_upper = self.row * program.row_upper
        self.lower = program.lower / self.column
        self.upper = program.upper / self.column
        self.integer = program.integer

    def load(self) -> highspy.Highs:
        lp = highspy.HighsLp()
        lp.num_row_, lp.num_col_ = self.matrix.shape
        lp.col_cost_ = self.cost
        lp.col_lower_ = self.lower
        lp.col_upper_ = self.upper
        lp.row_lower_ = self.row_lower
        lp.row_upper_ = self.row_upper
        lp.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
        lp.a_matrix_.start_ = self.matrix.starts
        lp.a_matrix_.index_ = self.matrix.columns
        lp.a_matrix_.value_ = self.matrix.entries
        if self.integer.any():
            kinds = (highspy.HighsVarType.kContinuous, highspy.HighsVarType.kInteger)
            lp.integrality_ = [kinds[int(flag)] for flag in self.integer]
        highs = highspy.Highs()  # type: ignore[no-untyped-call]
        highs.setOptionValue("output_flag", False)
        highs.setOptionValue("threads", 1)
        highs.setOptionValue("parallel", "off")
        highs.setOptionValue("primal_feasibility_tolerance", LP_FEASIBILITY)
        highs.setOptionValue("dual_feasibility_tolerance", LP_FEASIBILITY)
        highs.setOptionValue("small_matrix_value", _SMALLEST_ENTRY)
        highs.passModel(lp)
        return highs

    def lower_bound(self, multipliers: Vector, lower: Vector, upper: Vector) -> float:
        """Value of the Lagrangian, less what rounding can have done to it."""
        cost, y = self.cost, multipliers
        limits = np.where(y > 0.0, self.row_lower, self.row_upper)
        y = np.where(np.isfinite(limits), y, 0.0)
        limits = np.where(y == 0.0, 0.0, limits)
        low, high = lower / self.column, upper / self.column
        columns, n = self.matrix.columns, len(cost)
        products = self.matrix.entries * y.repeat(self.matrix.lengths)
        reduced = cost - np.bincount(columns, products, n)
        widest = np.maximum(np.abs(low), np.abs(high))
        terms = np.abs(cost) + np.bincount(columns, np.abs(products), n)
        rounding = ROUNDING * (np.abs(y) @ np.abs(limits) + terms @ widest)
        return float(y @ limits + np.minimum(reduced * low, reduced * high).sum() - rounding)


def _largest(entries: Vector, places: NDArray[Any], size: int) -> Vector:
    """Largest entry of each column or row, 0 where there are none."""
    largest = np.zeros(size)
    np.maximum.at(largest, places, np.abs(entries))
    return largest


def _run(highs: highspy.Highs) -> highspy.HighsModelStatus:
    if highs.run() == highspy.HighsStatus.kError:
        # HiGHS shares one scheduler in a process and refuses a number of threads other than the
        # one it was first given, by whomever; 0 takes what is there.
        highs.setOptionValue("threads", 0)
        highs.run()
    return highs.getModelStatus()
