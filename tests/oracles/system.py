"""Linear programs over named blocks of columns, and the rows every oracle shares."""

from __future__ import annotations

import numpy as np
from scipy.optimize import linprog

from pessimal.problem import Matrix, Vector

LP_TOLERANCE = 1e-9


class System:
    """Equations ``A·x = rhs`` over named blocks of columns, each block with its bounds."""

    def __init__(self, **blocks: tuple[int, float | Vector, float | Vector]) -> None:
        ends = np.cumsum([size for size, _, _ in blocks.values()])
        self.columns = {
            name: np.arange(end - size, end)
            for end, (name, (size, _, _)) in zip(ends, blocks.items(), strict=True)
        }
        self.lower = np.concatenate([np.broadcast_to(lo, n) for n, lo, _ in blocks.values()])
        self.upper = np.concatenate([np.broadcast_to(up, n) for n, _, up in blocks.values()])
        self.A: Matrix = np.empty((0, len(self.lower)))
        self.rhs: Vector = np.empty(0)

    def add(self, rhs: float | Vector, **coefficients: Matrix) -> None:
        """Add the rows ``Σ coefficients[block]·x[block] = rhs``."""
        rows: Matrix = np.zeros((len(next(iter(coefficients.values()))), len(self.lower)))
        for name, matrix in coefficients.items():
            rows[:, self.columns[name]] = matrix
        self.A = np.vstack([self.A, rows])
        self.rhs = np.concatenate([self.rhs, np.broadcast_to(rhs, len(rows))])

    def cost(self, **coefficients: float | Vector) -> Vector:
        """Return the cost vector with these coefficients on these blocks."""
        cost = np.zeros(len(self.lower))
        for name, values in coefficients.items():
            cost[self.columns[name]] = values
        return cost

    def minimise(
        self, cost: Vector, zero: frozenset[int] = frozenset()
    ) -> tuple[float, Vector] | None:
        """Least cost and where, with the columns `zero` held at 0; None if infeasible."""
        upper = self.upper.copy()
        upper[list(zero)] = 0.0
        answer = linprog(
            cost,
            A_eq=self.A,
            b_eq=self.rhs,
            bounds=np.column_stack([self.lower, upper]),
            method="highs",
            options={
                "primal_feasibility_tolerance": LP_TOLERANCE,
                "dual_feasibility_tolerance": LP_TOLERANCE,
            },
        )
        if answer.status == 2:
            return None
        if answer.status != 0:
            raise RuntimeError(f"linprog: {answer.message}")
        return float(answer.fun), answer.x


def add_hinge_rows(
    system: System, X: Matrix, y: Vector, w: str, b: str, xi: str, slack: str
) -> None:
    """``ξ_i − slack_i = 1 − y_i(x_i·w − b)``."""
    eye = np.eye(len(y))
    system.add(1.0, **{w: y[:, None] * X, b: -y[:, None], xi: eye, slack: -eye})


def add_box_rows(system: System, p: int, w: str, up_slack: str, low_slack: str) -> None:
    """``w̄ − w = up_slack`` and ``w̄ + w = low_slack``."""
    eye = np.eye(p)
    system.add(0.0, **{"box": eye, w: -eye, up_slack: -eye})
    system.add(0.0, **{"box": eye, w: eye, low_slack: -eye})
