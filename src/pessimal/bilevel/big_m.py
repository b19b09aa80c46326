"""Complementarities as binaries, each with an M for its multiplier and one for its slack, proved.

Multipliers may be as large as they like, but need not: some multipliers of a response are at a
vertex of the dual, whose support is a basis of the inner problem; where bases are few, all are
looked at. Anything else is bounded by a linear program over the relaxation. Where that has no
bound, an incumbent limits the objective, and at last the search, which knows that one part of each
pair is 0, is asked for the largest value. What no M can be proved for is refused: it may have none.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, eye_array, hstack, vstack

from pessimal.bilevel.complementarity import ComplementarityProgram, Guesses
from pessimal.bilevel.complementarity_search import ComplementaritySearch
from pessimal.bilevel.node_program import End
from pessimal.bilevel.tangents import TangentProgram
from pessimal.errors import InvalidInputError
from pessimal.limits import Deadline
from pessimal.lp.highs import LinearProgram
from pessimal.problem import Vector
from pessimal.tolerances import OPTIMAL_GAP

_NODES = 500
"""How long the search may look for an incumbent, or for the largest value of a column."""


def with_binaries(
    problem: ComplementarityProgram, program: LinearProgram, guess: Guesses, deadline: Deadline
) -> LinearProgram:
    """Return the program with slacks with ``multiplier ≤ M·z`` and ``slack ≤ M'·(1 − z)``."""
    k, n = len(problem.pairs), len(program.cost)
    columns = np.array(program.sos1, dtype=np.intp).reshape(-1, 2)
    proved = _Bounds(problem, program, guess, deadline)
    multiplier, slack = proved.of_pairs(columns)
    if not np.all(np.isfinite(np.append(multiplier, slack))):
        proved.limit_objective()
        multiplier, slack = proved.of_pairs(columns)
    for bounds, what in ((multiplier, "a multiplier"), (slack, "the slack of a row")):
        if not np.all(np.isfinite(bounds)):
            raise InvalidInputError(
                f"method is 'milp', and no M can be proved for {what} of a follower; pass "
                "method='search' or one with 'sos1', which need none"
            )
    program = proved.program
    unit = csr_array(eye_array(n))
    rows = vstack(
        [
            hstack([unit[columns[:, 0]], -csr_array(np.diag(multiplier))]),
            hstack([unit[columns[:, 1]], csr_array(np.diag(slack))]),
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


class _Bounds:
    """Proved bounds on columns of a program with slacks, at points no worse than an incumbent."""

    def __init__(
        self,
        problem: ComplementarityProgram,
        program: LinearProgram,
        guess: Guesses,
        deadline: Deadline,
    ) -> None:
        self.program = program
        self._problem, self._guess, self._deadline = problem, guess, deadline
        self._searched = False
        self._relaxed = TangentProgram(replace(problem, program=program))

    def of_pairs(self, columns: NDArray[np.intp]) -> tuple[Vector, Vector]:
        """Bound the multipliers and slacks of all pairs."""
        vertices = self._problem.multiplier_bounds(self._size)
        multiplier = np.array(
            [
                vertex if self._searched and math.isfinite(vertex) else min(vertex, self._most(j))
                for j, vertex in zip(columns[:, 0].tolist(), vertices, strict=True)
            ]
        )
        slack = np.array([self._most(j) for j in columns[:, 1].tolist()])
        # Larger by a trifle: an M has to admit what solvers allow by their tolerances.
        return (1.0 + 1e-6) * multiplier + 1e-6, (1.0 + 1e-6) * slack + 1e-6

    def limit_objective(self) -> None:
        """Demand points no worse than one that the search finds, and let it bound columns too."""
        problem = self._problem
        found = ComplementaritySearch(problem, self._guess, self._deadline, _NODES).run()
        self._searched = True
        if math.isfinite(found.value):
            limit = found.value + OPTIMAL_GAP * max(1.0, abs(found.value))
            cost = problem.program.cost
            self._problem = replace(
                problem, program=problem.program.with_row(cost, -math.inf, limit)
            )
            self.program = self.program.with_row(self.program.cost, -math.inf, limit)
            self._relaxed = TangentProgram(replace(problem, program=self.program))

    def _size(self, column: int) -> float:
        """Bound the absolute value of a column."""
        low, high = self.program.lower[column], self.program.upper[column]
        low = low if math.isfinite(low) else -self._most(column, -1.0)
        high = high if math.isfinite(high) else self._most(column)
        return float(max(abs(low), abs(high)))

    def _most(self, column: int, sign: float = 1.0) -> float:
        """Bound a column, or its negative, from above."""
        cost = -sign * np.eye(1, len(self.program.cost), column)[0]
        self._relaxed.set_cost(cost)
        if self._relaxed.relax(self._deadline) is End.OPTIMAL:
            return -self._relaxed.bound()
        return self._most_by_search(column, sign) if self._searched else math.inf

    def _most_by_search(self, column: int, sign: float) -> float:
        n = len(self._problem.program.cost)
        if column < n:
            objective, constant = sign * np.eye(1, n, column)[0], 0.0
        else:
            objective, constant = self._slack(column - n)
        sought = replace(
            self._problem,
            program=replace(self._problem.program, cost=-objective),
            squared=np.zeros(0, dtype=np.intp),
            epigraph=np.zeros(0, dtype=np.intp),
            weight=np.zeros(0),
        )
        search = ComplementaritySearch(sought, lambda _: iter(()), self._deadline, _NODES)
        return max(0.0, constant - search.run().bound)  # without a point there is none to bound

    def _slack(self, pair: int) -> tuple[Vector, float]:
        """Return the slack of a pair as a linear function: coefficients and constant."""
        program, pairs = self._problem.program, self._problem.pairs
        n, member = len(program.cost), int(pairs.member[pair])
        row = (
            np.eye(1, n, member)[0] if member < n else program.matrix.csr[[member - n]].toarray()[0]
        )
        lower = np.append(program.lower, program.row_lower)[member]
        upper = np.append(program.upper, program.row_upper)[member]
        return (-row, float(upper)) if pairs.at_upper[pair] else (row, -float(lower))
