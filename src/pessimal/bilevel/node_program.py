"""The linear program of a node: warm, and with its claims checked.

HiGHS says "optimal" and "infeasible". Here a bound is the value of the Lagrangian at its
multipliers, and "infeasible" wants multipliers that prove it (Farkas), both recomputed. Where HiGHS
has no such ray, the multipliers of the least total violation of rows are one; where even they prove
nothing, nothing is claimed.
A multiplier of the inner problem has no upper limit, so a reduced cost of the wrong sign, however
small, would make the Lagrangian unbounded: within the tolerance of HiGHS it counts at the size
that the column has in the solution, and in a proof of infeasibility at a million.
"""

from __future__ import annotations

import enum
from dataclasses import replace
from typing import Any

import highspy
import numpy as np
from scipy.sparse import csr_array, eye_array, hstack

from pessimal.limits import Deadline
from pessimal.lp.highs import LinearProgram, WarmProgram
from pessimal.lp.sparse_rows import SparseRows
from pessimal.problem import Vector
from pessimal.tolerances import REDUCED_COST, ROUNDING

_WRONG_SIGN = 1e3 * REDUCED_COST
"""Reduced costs larger than this are no rounding."""

_FAR = 1e6
"""Size, in equilibrated units, up to which a program without feasible points has none."""

_SMALL = 250_000
"""Matrices with no more entries than this are kept dense."""


class End(enum.Enum):
    """How a linear program ended."""

    OPTIMAL = "optimal"
    INFEASIBLE = "infeasible"
    UNBOUNDED = "unbounded"
    UNKNOWN = "unknown"


_Status = highspy.HighsModelStatus


class _Multipliers(WarmProgram):
    def multipliers(self) -> Vector:
        """Return the multipliers of the rows at the last optimum."""
        return np.asarray(self._scaled.row * self._highs.getSolution().row_dual)


class NodeProgram(WarmProgram):
    """A linear program whose limits change from node to node; rows may be added.

    Integer columns are relaxed: HiGHS has no multipliers for a mixed-integer program.
    """

    def __init__(self, program: LinearProgram) -> None:
        super().__init__(replace(program, integer=np.zeros_like(program.integer)))
        self._prepare()
        self._bound, self._n_rows = -np.inf, len(program.row_lower)
        self._ray = np.zeros(len(program.cost))
        self._rays: Any = self._highs  # whose stubs know of no rays
        self.column_unit, self.row_unit = self._scaled.column, 1.0 / self._scaled.row

    def set_column(self, column: int, lower: float, upper: float) -> None:
        """Replace the limits of one column."""
        scaled = self._scaled
        scaled.lower[column] = lower / scaled.column[column]
        scaled.upper[column] = upper / scaled.column[column]
        self._highs.changeColBounds(column, scaled.lower[column], scaled.upper[column])

    def add_row(self, coefficients: Vector, lower: float) -> None:
        """Add a row ``coefficients·x ≥ lower``."""
        scaled = self._scaled
        coefficients = scaled.column * coefficients
        unit = 1.0 / float(np.abs(coefficients).max())
        row, lower = SparseRows.of(coefficients[None, :] * unit), lower * unit
        self._highs.addRow(lower, np.inf, len(row.entries), row.columns, row.entries)
        scaled.matrix = scaled.matrix.above(row)
        scaled.row = np.append(scaled.row, unit)
        scaled.row_lower = np.append(scaled.row_lower, lower)
        scaled.row_upper = np.append(scaled.row_upper, np.inf)
        self._prepare()

    def _prepare(self) -> None:
        """Transpose the matrix; for small ones scipy's overhead is most of a product's time."""
        matrix = self._scaled.matrix.csr
        small = matrix.shape[0] * matrix.shape[1] <= _SMALL
        self._transposed: Any = matrix.toarray().T.copy() if small else csr_array(matrix.T)
        self._sizes: Any = abs(self._transposed)

    @property
    def basis(self) -> highspy.HighsBasis:
        """The basis in which the last run ended."""
        return self._highs.getBasis()

    def restart(self, basis: highspy.HighsBasis) -> None:
        """Begin the next run at a basis of an earlier one."""
        missing = self._scaled.matrix.shape[0] - len(basis.row_status)
        if missing:  # rows that were added since
            basis.row_status = [*basis.row_status, *[highspy.HighsBasisStatus.kBasic] * missing]
        self._highs.setBasis(basis)

    def end(self, deadline: Deadline) -> End:
        """Run, from scratch and with presolve where the first answer cannot be checked."""
        scaled = self._scaled
        if np.any(scaled.lower > scaled.upper) or np.any(scaled.row_lower > scaled.row_upper):
            return End.INFEASIBLE
        first = self._checked(self._run(deadline))
        if first is not End.UNKNOWN or deadline.over:
            return first
        self._highs.clearSolver()
        first = self._checked(self._run(deadline))
        if first is not End.UNKNOWN or deadline.over:
            return first
        self._highs.clearSolver()
        self._highs.setOptionValue("presolve", "on")
        last = self._checked(self._run(deadline))
        self._highs.setOptionValue("presolve", "off")
        if last is not End.UNKNOWN or deadline.over:
            return last
        if self._proves_infeasible(self._violated(deadline)):
            return End.INFEASIBLE
        self._ray = self._steepest(deadline)
        falls = float(self._scaled.cost @ self._ray) < -_WRONG_SIGN
        return End.UNBOUNDED if falls and self._feasible(deadline) else End.UNKNOWN

    def _steepest(self, deadline: Deadline) -> Vector:
        """Return the direction in which no limit is met and the cost falls most, or 0."""
        scaled = self._scaled

        def cone(limit: Vector, far: float) -> Vector:
            return np.where(np.isfinite(limit), 0.0, far)

        steepest = WarmProgram(
            LinearProgram(
                cost=scaled.cost,
                matrix=scaled.matrix,
                row_lower=cone(scaled.row_lower, -np.inf),
                row_upper=cone(scaled.row_upper, np.inf),
                lower=cone(scaled.lower, -1.0),
                upper=cone(scaled.upper, 1.0),
            )
        )
        return steepest.point() if steepest.solve(deadline) else np.zeros(len(scaled.cost))

    def _feasible(self, deadline: Deadline) -> bool:
        """Whether a run without costs finds a point."""
        cost = self._scaled.cost / self._scaled.column
        self.set_cost(np.zeros(len(cost)))
        found = self.solve(deadline)
        self.set_cost(cost)
        return found

    def _violated(self, deadline: Deadline) -> Vector:
        """Return the multipliers of the program whose rows are violated least in total."""
        scaled, m = self._scaled, len(self._scaled.row_lower)
        one, zero, infinite = eye_array(m), np.zeros(2 * m), np.full(2 * m, np.inf)
        least = _Multipliers(
            LinearProgram(
                cost=np.append(np.zeros(len(scaled.cost)), np.ones(2 * m)),
                matrix=hstack([scaled.matrix.csr, one, -one], format="csr"),
                row_lower=scaled.row_lower,
                row_upper=scaled.row_upper,
                lower=np.append(scaled.lower, zero),
                upper=np.append(scaled.upper, infinite),
            )
        )
        return least.multipliers() if least.solve(deadline) else np.zeros(m)

    def ray(self) -> Vector:
        """Return a direction in which an unbounded program improves for ever."""
        return np.asarray(self._scaled.column * self._ray)

    def activity(self, x: Vector) -> Vector:
        """Return the rows at a point, without those that were added."""
        scaled, n = self._scaled, self._n_rows
        return np.asarray((self._transposed.T @ (x / scaled.column))[:n] / scaled.row[:n])

    def bound(self) -> float:
        """Lower bound on the program from the multipliers of the last run that was optimal."""
        return self._bound

    def _checked(self, status: highspy.HighsModelStatus) -> End:
        if status == _Status.kOptimal:
            multipliers = np.array(self._highs.getSolution().row_dual)
            self._bound = self._lagrangian(multipliers, self._scaled.cost)
            return End.OPTIMAL if np.isfinite(self._bound) else End.UNKNOWN
        if status == _Status.kInfeasible:
            # A row is violated by any bounds that cross, and HiGHS then has no ray.
            found, ray = self._rays.getDualRay()[1:]
            proved = found and self._proves_infeasible(np.asarray(ray))
            return End.INFEASIBLE if proved else End.UNKNOWN
        if status == _Status.kUnbounded:
            # Programs without rows have a ray, which HiGHS does not tell.
            found, ray = self._rays.getPrimalRay()[1:]
            self._ray = np.asarray(ray)
            return End.UNBOUNDED if found else End.UNKNOWN
        return End.UNKNOWN

    def _proves_infeasible(self, ray: Vector) -> bool:
        size = float(np.abs(ray).max(initial=0.0))
        if size == 0.0:
            return False
        zero = np.zeros(len(self._scaled.cost))
        return any(self._lagrangian(s * ray / size, zero, _FAR) > REDUCED_COST for s in (1.0, -1.0))

    def _lagrangian(self, y: Vector, cost: Vector, far: float = 1.0) -> float:
        """Least value of ``cost·x + y·(limits − A·x)``, less what rounding can have done.

        Columns without limits are taken to be no larger than `far`, or than in the solution.
        """
        scaled = self._scaled
        limits = np.where(y > 0.0, scaled.row_lower, scaled.row_upper)
        y = np.where(np.isfinite(limits), y, 0.0)
        limits = np.where(y == 0.0, 0.0, limits)
        reduced = cost - self._transposed @ y
        at = np.where(reduced > 0.0, scaled.lower, scaled.upper)
        size = far + np.abs(np.array(self._highs.getSolution().col_value))
        free = ~np.isfinite(at)
        if np.any(np.abs(reduced[free]) > _WRONG_SIGN):
            return -np.inf
        at = np.where(free, -np.sign(reduced) * size, at)
        terms = np.abs(cost) + self._sizes @ np.abs(y)
        rounding = ROUNDING * (np.abs(y) @ np.abs(limits) + terms @ np.abs(at))
        return float(y @ limits + reduced @ at - rounding)
