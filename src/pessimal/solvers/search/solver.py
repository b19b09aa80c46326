"""The exact search as a solver found by name."""

from __future__ import annotations

from pessimal.limits import Limits
from pessimal.solvers.base import BaseSolver, Result, Task
from pessimal.solvers.search.driver import search_optimistic, search_pessimistic


class SearchSolver(BaseSolver):
    """Branch and bound on complementarities, with no big-M and no solver but its own."""

    name = "search"
    kinds = ("optimistic", "pessimistic")

    def _solve(self, task: Task, limits: Limits) -> Result:
        if task.flipped is None:
            return search_optimistic(task.problem, limits)
        return search_pessimistic(task.problem, task.budget, task.flipped, limits)
