"""The optimistic view: of a follower's optimal responses the leader gets the best.

One search on complementarities decides it; what it found is certified, and why it found nothing is
asked of linear programs without the complementarities.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

import numpy as np

from pessimal.bilevel.answer import BilevelSolution, BilevelStatus
from pessimal.bilevel.certificate import certify
from pessimal.bilevel.complementarity import Engine, Guess, Outcome
from pessimal.bilevel.complementarity_search import branch_and_bound
from pessimal.bilevel.node_program import End, NodeProgram
from pessimal.bilevel.optimality import Assembly, add_conditions, single_level_program
from pessimal.bilevel.program import BilevelProgram, FollowerProgram
from pessimal.limits import NEVER, Deadline
from pessimal.problem import Vector

STATUS = {
    Outcome.OPTIMAL: BilevelStatus.OPTIMAL,
    Outcome.UNBOUNDED: BilevelStatus.UNBOUNDED,
    Outcome.TIME_LIMIT: BilevelStatus.TIME_LIMIT,
    Outcome.NODE_LIMIT: BilevelStatus.NODE_LIMIT,
    Outcome.NOT_PROVED: BilevelStatus.NOT_PROVED,
}


def solve_optimistic(
    program: BilevelProgram,
    deadline: Deadline = NEVER,
    node_limit: float = math.inf,
    improve: Callable[[Vector], Vector | None] = lambda x: x,
    engine: Engine = branch_and_bound,
) -> BilevelSolution:
    """Minimise the outer objective over decisions and optimal responses.

    `improve` may replace a relaxed decision by a better one before responses to it are tried.
    """
    single = single_level_program(program)

    def guess(z: Vector) -> Iterator[Guess]:
        x = improve(single.split(z)[0])
        if x is not None:
            yield from single.guess(x)

    found = engine(single.problem, guess, deadline, node_limit)
    if found.outcome is Outcome.INFEASIBLE:
        status = why_infeasible(program)
        return BilevelSolution(status, bound=math.inf, nodes=found.nodes)
    status = STATUS[found.outcome]
    bound = found.bound + program.constant
    if found.point is None:
        return BilevelSolution(status, bound=bound, nodes=found.nodes)
    x, y = single.split(found.point)
    value = program.objective(x, y)
    certificate = certify(program, x, y, found.value + program.constant)
    if status is BilevelStatus.OPTIMAL and not certificate.ok:
        status = BilevelStatus.NOT_PROVED
    return BilevelSolution(status, x, y, value, min(bound, value), found.nodes, certificate)


def why_infeasible(program: BilevelProgram) -> BilevelStatus:
    """Say whether the leader's constraints or a follower's problem leave nothing.

    Each question is a linear program, without integrality and complementarities.
    """
    if not has_decisions(program):
        return BilevelStatus.INFEASIBLE
    if not _feasible(program, responses=True, multipliers=False):
        return BilevelStatus.INNER_INFEASIBLE
    if not _feasible(program, responses=True, multipliers=True):
        return BilevelStatus.INNER_UNBOUNDED
    return BilevelStatus.INFEASIBLE


def has_decisions(program: BilevelProgram) -> bool:
    """Whether some x, whole or not, meets the outer constraints without y."""
    return _feasible(program, responses=False, multipliers=False)


def _feasible(program: BilevelProgram, responses: bool, multipliers: bool) -> bool:
    """Whether some x meets the rows without y, has feasible responses, and has multipliers."""
    assembly = Assembly()
    x = assembly.add_columns(program.lower, program.upper)
    alone = np.flatnonzero(abs(program.rows.inner).sum(axis=1) == 0.0)
    rows = program.rows
    assembly.add_rows([(x, rows.outer[alone])], rows.lower[alone], rows.upper[alone])
    for follower in program.followers:
        if responses:
            y = assembly.add_columns(follower.lower, follower.upper)
            own = follower.rows
            assembly.add_rows([(x, own.outer), (y, own.inner)], own.lower, own.upper)
        if multipliers:
            # A quadratic problem is bounded where some point, feasible or not, has multipliers.
            free = np.full(len(follower), np.inf)
            add_conditions(assembly, follower, x, assembly.add_columns(-free, free), feasible=False)
    return _has_point(assembly)


def has_multipliers(program: BilevelProgram, follower: FollowerProgram) -> bool:
    """Whether a follower's problem is bounded after some decision, if it is feasible."""
    assembly = Assembly()
    x = assembly.add_columns(program.lower, program.upper)
    free = np.full(len(follower), np.inf)
    add_conditions(assembly, follower, x, assembly.add_columns(-free, free), feasible=False)
    return _has_point(assembly)


def _has_point(assembly: Assembly) -> bool:
    problem = assembly.build(np.zeros(assembly.n_columns))
    return NodeProgram(problem.program).end(NEVER) is not End.INFEASIBLE
