"""Mixed-integer solvers for programs with complementarities.

SOS1: each pair of a multiplier and a slack is declared as such, and the solver branches on it.

MILP: each pair has a binary and proved Ms (:mod:`pessimal.bilevel.big_m`).

Squares in the objective are tangents here too, so that every solver takes them: solve, add tangents
where the point needs them, until the bound meets the best value.

A solver's point is polished: its pattern of zeros is fixed and the rest solved again. Its bound is
its own claim, which a point that the search finds in a few nodes may contradict.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from scipy.sparse import csr_array, eye_array, hstack, vstack

from pessimal.bilevel.backends import find_backend
from pessimal.bilevel.backends.base import Effort, SolverResult
from pessimal.bilevel.big_m import with_binaries
from pessimal.bilevel.complementarity import (
    ComplementarityProgram,
    Engine,
    Found,
    Guesses,
    Outcome,
)
from pessimal.bilevel.complementarity_search import ComplementaritySearch, branch_and_bound
from pessimal.bilevel.node_program import End
from pessimal.limits import Deadline
from pessimal.lp.highs import LinearProgram
from pessimal.problem import Vector
from pessimal.solution import Status
from pessimal.tolerances import OPTIMAL_GAP

METHODS = (
    "search",
    *(f"sos1 {solver}" for solver in ("scip", "gurobi", "cplex")),
    *(f"milp {solver}" for solver in ("highs", "scip", "gurobi", "cplex")),
)

_SECOND_OPINION = 100
"""Nodes of the search that looks for a point that contradicts a solver."""

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
        found = self._solve(problem, guess, deadline, node_limit)
        other = ComplementaritySearch(problem, guess, deadline, _SECOND_OPINION).run()
        if other.outcome is Outcome.UNBOUNDED:
            return replace(other, nodes=found.nodes)
        better = min(found, other, key=lambda one: one.value)
        if better.value < found.bound - OPTIMAL_GAP * max(1.0, abs(better.value)):
            # Whatever the solver proved was something else.
            outcome, bound = Outcome.NOT_PROVED, min(other.bound, better.value)
            return replace(better, outcome=outcome, bound=bound, nodes=found.nodes)
        return replace(found, bound=min(found.bound, found.value))

    def _solve(
        self, problem: ComplementarityProgram, guess: Guesses, deadline: Deadline, node_limit: float
    ) -> Found:
        backend, n = find_backend(self.solver), len(problem.program.cost)
        search = ComplementaritySearch(problem, guess, deadline)
        root, lp = search.relaxed()
        if root is End.INFEASIBLE:
            return Found(Outcome.INFEASIBLE, None, math.inf, math.inf, 0)
        program = with_slacks(problem)
        if self.kind == "milp":
            program = with_binaries(problem, program, guess, deadline)
        bound = lp.bound() if root is End.OPTIMAL else -math.inf
        found = Found(Outcome.NOT_PROVED, None, math.inf, bound, 0)
        while True:
            effort = Effort(deadline.left, node_limit - found.nodes)
            answer = backend.solve(_with_rows(program, lp.tangents), effort)
            nodes, bound = found.nodes + answer.nodes, max(found.bound, answer.bound)
            outcome = _OUTCOMES.get(answer.status, Outcome.NOT_PROVED)
            if answer.x is None:
                break
            found = replace(search.polish(answer.x[:n]), bound=bound, nodes=nodes)
            gap = OPTIMAL_GAP * max(1.0, abs(found.value))
            if found.value - bound <= gap or outcome is not Outcome.OPTIMAL:
                break
            if not lp.touch(answer.x[:n], 0.1 * gap):
                outcome = Outcome.NOT_PROVED
                break
        if found.point is None:
            return replace(self._nothing(program, answer, effort), nodes=nodes)
        if answer.x is None and outcome is Outcome.OPTIMAL:
            outcome = Outcome.NOT_PROVED  # "infeasible", after a point was found
        return replace(found, outcome=outcome, bound=bound, nodes=nodes)

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


def _with_rows(program: LinearProgram, rows: list[tuple[Vector, float]]) -> LinearProgram:
    """Return the program with rows ``coefficients·x ≥ lower``, which know its first columns."""
    if not rows:
        return program
    coefficients = csr_array(np.array([row for row, _ in rows]))
    coefficients.resize(len(rows), len(program.cost))
    return replace(
        program,
        matrix=vstack([program.matrix.csr, coefficients], format="csr"),
        row_lower=np.append(program.row_lower, [lower for _, lower in rows]),
        row_upper=np.append(program.row_upper, np.full(len(rows), np.inf)),
    )


def with_slacks(problem: ComplementarityProgram) -> LinearProgram:
    """Return the linear program with a column for the slack of each pair, and the pairs."""
    program, pairs = problem.program, problem.pairs
    n, k = len(program.cost), len(pairs)
    lower = np.append(program.lower, program.row_lower)[pairs.member]
    upper = np.append(program.upper, program.row_upper)[pairs.member]
    sign = np.where(pairs.at_upper, -1.0, 1.0)
    matrix = program.matrix.csr
    # slack = ±(member − limit)
    member = vstack([eye_array(n), matrix], format="csr")[pairs.member]
    limit = np.where(pairs.at_upper, upper, lower)
    return LinearProgram(
        cost=np.append(program.cost, np.zeros(k)),
        matrix=vstack(
            [
                hstack([matrix, csr_array((matrix.shape[0], k))]),
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
