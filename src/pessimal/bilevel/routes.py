"""Mixed-integer solvers for programs with complementarities.

SOS1: each pair of a multiplier and a slack is declared as such, and the solver branches on it.

MILP: each pair has a binary, with an M for the multiplier and one for the slack, both proved. A
slack is bounded by a linear program. So may be a multiplier; otherwise there is always a multiplier
at a vertex, whose support is a basis of the inner problem: where bases are few, all are looked at.
Where no M can be proved, the route is refused.

A solver's point is polished: its pattern of zeros is fixed and the rest solved again. Its bound is
its own claim.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from scipy.sparse import csr_array, eye_array, hstack, vstack

from pessimal.bilevel.backends import find_backend
from pessimal.bilevel.backends.base import Effort, SolverResult
from pessimal.bilevel.complementarity_search import (
    ComplementarityProgram,
    ComplementaritySearch,
    Engine,
    Found,
    Guesses,
    Outcome,
    branch_and_bound,
)
from pessimal.bilevel.node_program import End, NodeProgram
from pessimal.errors import InvalidInputError
from pessimal.limits import NEVER, Deadline
from pessimal.lp.highs import LinearProgram
from pessimal.solution import Status
from pessimal.tolerances import OPTIMAL_GAP

METHODS = (
    "search",
    *(f"sos1 {solver}" for solver in ("scip", "gurobi", "cplex")),
    *(f"milp {solver}" for solver in ("highs", "scip", "gurobi", "cplex")),
)

_OUTCOMES = {
    Status.OPTIMAL: Outcome.OPTIMAL,
    Status.TIME_LIMIT: Outcome.TIME_LIMIT,
    Status.INTERRUPTED: Outcome.TIME_LIMIT,
    Status.NODE_LIMIT: Outcome.NODE_LIMIT,
}


def find_engine(method: str) -> Engine:
    """Return what solves programs with complementarities by that method."""
    if method == "search":
        return branch_and_bound
    kind, _, solver = method.partition(" ")
    return _Route(kind, solver)


@dataclass(frozen=True)
class _Route:
    kind: str
    solver: str

    def __call__(
        self, problem: ComplementarityProgram, guess: Guesses, deadline: Deadline, node_limit: float
    ) -> Found:
        if len(problem.weight) > 0:
            raise InvalidInputError(
                f"method is '{self.kind} {self.solver}' and the outer objective is quadratic; pass "
                "method='search'"
            )
        backend = find_backend(self.solver)
        effort = Effort(deadline.left, node_limit)
        program = with_slacks(problem)
        program = with_binaries(problem, program) if self.kind == "milp" else program
        answer = backend.solve(program, effort)
        if answer.x is None:
            return self._nothing(program, answer, effort)
        n = len(problem.program.cost)
        polished = ComplementaritySearch(problem, guess, NEVER).polish(answer.x[:n])
        outcome = _OUTCOMES.get(answer.status, Outcome.NOT_PROVED)
        gap = polished.value - answer.bound
        if outcome is Outcome.OPTIMAL and not gap <= OPTIMAL_GAP * max(1.0, abs(polished.value)):
            outcome = Outcome.NOT_PROVED
        bound = min(answer.bound, polished.value)
        return replace(polished, outcome=outcome, bound=bound, nodes=answer.nodes)

    def _nothing(self, program: LinearProgram, answer: SolverResult, effort: Effort) -> Found:
        """Tell infeasible from unbounded, which solvers do not always do."""
        outcome = _OUTCOMES.get(answer.status, Outcome.NOT_PROVED)
        if outcome is Outcome.OPTIMAL:
            again = find_backend(self.solver).solve(
                replace(program, cost=np.zeros_like(program.cost)), effort
            )
            nothing = again.x is None and again.status is Status.OPTIMAL
            outcome = Outcome.INFEASIBLE if nothing else Outcome.NOT_PROVED
        bound = math.inf if outcome is Outcome.INFEASIBLE else -math.inf
        return Found(outcome, None, math.inf, bound, answer.nodes)


def with_slacks(problem: ComplementarityProgram) -> LinearProgram:
    """Return the linear program with a column for the slack of each pair, and the pairs."""
    program, pairs = problem.program, problem.pairs
    n, k = len(program.cost), len(pairs)
    lower = np.append(program.lower, program.row_lower)[pairs.member]
    upper = np.append(program.upper, program.row_upper)[pairs.member]
    sign = np.where(pairs.at_upper, -1.0, 1.0)
    # slack = ±(member − limit)
    member = vstack([eye_array(n), program.matrix], format="csr")[pairs.member]
    limit = np.where(pairs.at_upper, upper, lower)
    return LinearProgram(
        cost=np.append(program.cost, np.zeros(k)),
        matrix=vstack(
            [
                hstack([program.matrix, csr_array((program.matrix.shape[0], k))]),
                hstack([member, -csr_array(np.diag(sign)) if k else csr_array((0, 0))]),
            ],
            format="csr",
        ),
        row_lower=np.append(program.row_lower, limit),
        row_upper=np.append(program.row_upper, limit),
        lower=np.append(program.lower, np.zeros(k)),
        upper=np.append(program.upper, np.full(k, np.inf)),
        integer=np.append(program.integer, np.zeros(k, dtype=np.bool_)),
        sos1=tuple(zip(pairs.multiplier.tolist(), range(n, n + k), strict=True)),
    )


def with_binaries(problem: ComplementarityProgram, program: LinearProgram) -> LinearProgram:
    """Return the program with slacks with ``multiplier ≤ M·z`` and ``slack ≤ M'·(1 − z)``."""
    k, n = len(problem.pairs), len(program.cost)
    relaxed = NodeProgram(program)
    columns = np.array(program.sos1, dtype=np.intp).reshape(-1, 2)
    vertices = problem.multiplier_bounds()
    multiplier = np.array(
        [
            min(_largest(relaxed, n, int(j)), vertex)
            for j, vertex in zip(columns[:, 0], vertices, strict=True)
        ]
    )
    slack = np.array([_largest(relaxed, n, int(j)) for j in columns[:, 1]])
    for bounds, what in ((multiplier, "a multiplier"), (slack, "the slack of a row")):
        if not np.all(np.isfinite(bounds)):
            raise InvalidInputError(
                f"method is 'milp', and no M can be proved for {what} of a follower; pass "
                "method='search' or one with 'sos1', which need none"
            )
    unit = csr_array(eye_array(n))
    diagonal = np.diag(multiplier), np.diag(slack)
    rows = vstack(
        [
            hstack([unit[columns[:, 0]], -csr_array(diagonal[0])]),
            hstack([unit[columns[:, 1]], csr_array(diagonal[1])]),
        ]
    )
    extended = program.extended(
        cost=np.append(program.cost, np.zeros(k)),
        rows=rows,
        row_upper=np.append(np.zeros(k), slack),
        lower=np.zeros(k),
        upper=np.ones(k),
        integer=np.ones(k, dtype=np.bool_),
    )
    return replace(extended, sos1=())


def _largest(relaxed: NodeProgram, n: int, column: int) -> float:
    """Bound a column by a linear program."""
    relaxed.set_cost(-np.eye(1, n, column)[0])
    end = relaxed.end(NEVER)
    # Larger by a trifle: an M has to admit what solvers allow by their tolerances.
    return (1.0 + 1e-6) * max(0.0, -relaxed.bound()) + 1e-6 if end is End.OPTIMAL else math.inf
