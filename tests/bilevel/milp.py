"""The mixed-integer programs of the paper, asked as the tests ask them."""

from __future__ import annotations

from pessimal.bilevel import MilpSolver
from pessimal.limits import Limits
from pessimal.problem import Budget, Mask, TuningProblem
from pessimal.solvers.base import Result, Task


def solve_milp(
    problem: TuningProblem,
    budget: Budget | None = None,
    flipped: Mask | None = None,
    solver: str = "highs",
    *,
    multiplier_cap: float | None = None,
    time_limit: float | None = None,
    node_limit: int | None = None,
) -> Result:
    """Solve the pessimistic problem or, with nothing flipped, the optimistic one."""
    task = Task(problem, budget or Budget(), flipped)
    limits = Limits.read(time_limit, node_limit)
    return MilpSolver(solver, multiplier_cap).solve(task, limits)
