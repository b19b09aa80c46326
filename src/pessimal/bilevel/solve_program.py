"""Solve a bilevel program in either view, by any of the methods, within limits."""

from __future__ import annotations

import math
from dataclasses import replace

from pessimal.bilevel.answer import BilevelSolution, BilevelStatus
from pessimal.bilevel.near_optimal import Tolerance
from pessimal.bilevel.optimistic import solve_optimistic
from pessimal.bilevel.pessimistic import solve_pessimistic
from pessimal.bilevel.program import BilevelProgram
from pessimal.interrupts import InterruptibleDeadline, ended_by_interrupts
from pessimal.limits import Deadline

METHODS = ("search",)


def solve_program(
    program: BilevelProgram,
    *,
    pessimistic: bool = False,
    epsilon: float = 0.0,
    delta: float = 0.0,
    time_limit: float | None = None,
    node_limit: int | None = None,
) -> BilevelSolution:
    """Solve a bilevel program; a time limit, a node limit or Ctrl-C ends it with what there is."""
    nodes = math.inf if node_limit is None else node_limit
    with ended_by_interrupts(Deadline.after(time_limit)) as deadline:
        if pessimistic:
            solution = solve_pessimistic(program, Tolerance(epsilon, delta), deadline, nodes)
        else:
            solution = solve_optimistic(program, deadline, nodes)
        assert isinstance(deadline, InterruptibleDeadline)
        if deadline.interrupts.pending and solution.status is BilevelStatus.TIME_LIMIT:
            solution = replace(solution, status=BilevelStatus.INTERRUPTED)
    return solution
