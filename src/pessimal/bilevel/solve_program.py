"""Solve a bilevel program in either view, by any of the methods, within limits."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from pessimal.bilevel.answer import BilevelSolution, BilevelStatus
from pessimal.bilevel.complementarity import Engine
from pessimal.bilevel.complementarity_search import branch_and_bound
from pessimal.bilevel.faces import solve_faces
from pessimal.bilevel.near_optimal import Tolerance
from pessimal.bilevel.optimistic import has_multipliers, solve_optimistic, why_infeasible
from pessimal.bilevel.pessimistic import check_pessimistic, solve_linear
from pessimal.bilevel.pieces import solve_pieces, split_recourse
from pessimal.bilevel.program import BilevelProgram, FollowerProgram, RefusedError
from pessimal.bilevel.routes import find_engine
from pessimal.errors import InvalidInputError
from pessimal.interrupts import InterruptibleDeadline, ended_by_interrupts
from pessimal.limits import Deadline


def solve_program(
    program: BilevelProgram,
    *,
    pessimistic: bool = False,
    epsilon: float = 0.0,
    delta: float = 0.0,
    method: str = "search",
    time_limit: float | None = None,
    node_limit: int | None = None,
) -> BilevelSolution:
    """Solve a bilevel program; a time limit, a node limit or Ctrl-C ends it with what there is."""
    nodes = math.inf if node_limit is None else node_limit
    engine = find_engine(method)
    limited: tuple[Any, ...] = (program, program.rows, *program.followers)
    if any(np.any(part.lower > part.upper) for part in limited):
        # No solver need be asked, and some fail when they are.
        return BilevelSolution(why_infeasible(program), bound=math.inf)
    with ended_by_interrupts(Deadline.after(time_limit)) as deadline:
        if pessimistic:
            tolerance = Tolerance(epsilon, delta)
            solution = _solve_pessimistic(program, tolerance, deadline, nodes, engine)
        else:
            solution = solve_optimistic(program, deadline, nodes, engine=engine)
        assert isinstance(deadline, InterruptibleDeadline)
        if deadline.interrupts.pending and solution.status is BilevelStatus.TIME_LIMIT:
            solution = replace(solution, status=BilevelStatus.INTERRUPTED)
    return solution


def _solve_pessimistic(
    program: BilevelProgram,
    tolerance: Tolerance,
    deadline: Deadline,
    nodes: float,
    engine: Engine,
) -> BilevelSolution:
    if tolerance.none and all(_unambiguous(program, f) for f in program.followers):
        return solve_optimistic(program, deadline, nodes, engine=engine)
    leader, recourse = split_recourse(program)
    check_pessimistic(leader, tolerance)
    if recourse is not None and leader.priced:
        raise RefusedError(
            "the outer objective has products of outer and inner variables and convex functions of "
            "inner ones; the pessimistic view takes one of both",
            "objective",
        )
    if not all(has_multipliers(leader, follower) for follower in leader.followers):
        return BilevelSolution(why_infeasible(leader), bound=math.inf)
    if any(follower.priced or follower.curved for follower in leader.followers):
        reason = (
            "a follower's objective has products of variables or squares; the pessimistic view then"
        )
        if recourse is not None:
            raise RefusedError(f"{reason} takes outer objectives linear in y", "objective")
        if engine != branch_and_bound:
            raise InvalidInputError(
                f"{reason} asks whether multipliers are strictly positive, which no mixed-integer "
                "program can; pass method='search'"
            )
        return solve_faces(program, deadline, nodes)
    if recourse is None:
        return solve_linear(program, tolerance, deadline, nodes, engine)
    return solve_pieces(program, leader, recourse, tolerance, deadline, nodes, engine)


def _unambiguous(program: BilevelProgram, follower: FollowerProgram) -> bool:
    """Whether the leader cares for nothing in which optimal responses of a follower differ."""
    own = np.arange(program.n_inner)[follower.columns]
    price = csr_array(program.price)[own]
    curvature = abs(csr_array(program.inner_curvature)[own]).sum()
    if not curvature + abs(csr_array(program.rows.inner)[:, own]).sum() > 0.0:
        # All optimal responses have the same objective, and so has the leader who opposes them.
        leads = np.column_stack([program.inner_cost[own], price.toarray()]).ravel()
        follows = np.column_stack([follower.cost, follower.price.toarray()]).ravel()
        ratio = float(leads @ follows) / max(float(follows @ follows), 1e-300)
        if np.array_equal(leads, ratio * follows) and not (follower.curved and leads.any()):
            return True
    # They have the same gradient of the quadratic part too, and meet the equations.
    equations = csr_array(follower.rows.inner)[follower.rows.lower == follower.rows.upper]
    same = np.vstack([follower.curvature.toarray(), equations.toarray()])
    rank = np.linalg.matrix_rank(same, tol=1e-9 * max(1.0, np.abs(same).max(initial=0.0)))
    return bool(rank == len(own) and not abs(price).sum() > 0.0)
