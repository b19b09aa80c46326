"""From a CVXPY program to matrices, and from a point of the matrices back to its variables."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import cvxpy as cp
import numpy as np

from pessimal.milp import programs
from pessimal.problem import Mask, Vector
from pessimal.training.linear import Program


@dataclass(frozen=True, eq=False)
class StandardForm:
    """The matrices of a single-level program, and where its variables are among the columns."""

    matrices: Program
    first_column: dict[int, int]

    def columns(self, variable: Any) -> slice:
        """Return the columns of a CVXPY variable."""
        first = self.first_column[variable.id]
        return slice(first, first + variable.size)

    def with_row(self, coefficients: Vector, lower: float, upper: float) -> StandardForm:
        """Add one row."""
        old = self.matrices
        return replace(
            self,
            matrices=replace(
                old,
                matrix=np.vstack([old.matrix, coefficients]),
                row_lower=np.append(old.row_lower, lower),
                row_upper=np.append(old.row_upper, upper),
            ),
        )

    def with_binaries_fixed(self, x: Vector) -> Program:
        """Return the linear program that is left when the binaries are rounded and fixed."""
        old, integer = self.matrices, self.integer
        lower, upper = old.lower.copy(), old.upper.copy()
        lower[integer] = upper[integer] = np.round(x[integer])
        return replace(old, lower=lower, upper=upper, integer=None)

    @property
    def integer(self) -> Mask:
        """Which columns are binary."""
        assert self.matrices.integer is not None
        return self.matrices.integer


def standard_form(program: programs.Program) -> StandardForm:
    """Let CVXPY write a single-level program as matrices.

    Examples
    --------
    >>> from pessimal.problem import TuningProblem
    >>> problem = TuningProblem([[0.0], [2.0]], [-1, 1], [[1.5]], [1])
    >>> int(standard_form(programs.optimistic_program(problem)).integer.sum())
    6
    """
    # Any solver that takes bounds on variables gives the same matrices; HiGHS is always there.
    data, _, _ = program.problem.get_problem_data(cp.HIGHS)
    n_columns = len(data["c"])
    integer = np.zeros(n_columns, dtype=np.bool_)
    integer[data["bool_vars_idx"]] = True
    upper = np.array(data["upper_bounds"], dtype=np.float64)
    lower = np.array(data["lower_bounds"], dtype=np.float64)
    lower[integer], upper[integer] = 0.0, 1.0
    limits = np.array(data["b"], dtype=np.float64)
    # CVXPY's cone form: the first rows are equations A·x = b, the others A·x <= b.
    row_lower = limits.copy()
    row_lower[data["dims"].zero :] = -np.inf
    return StandardForm(
        matrices=Program(
            cost=np.array(data["c"], dtype=np.float64),
            matrix=data["A"].toarray(),
            row_lower=row_lower,
            row_upper=limits,
            lower=lower,
            upper=upper,
            integer=integer,
        ),
        first_column=dict(data["param_prob"].var_id_to_col),
    )
