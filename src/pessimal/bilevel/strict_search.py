"""Branch and bound where one column has to be strictly positive.

A linear program knows no strict inequality, so a leaf is its closure: its optimum may be a value
that its points approach and none has. A leaf in which the column cannot be positive is empty. In
any other one points with a positive column come as close to the optimum as one likes; whether one
*attains* it is asked by making the column as large as the optimum allows.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from pessimal.bilevel.complementarity_search import (
    ComplementarityProgram,
    ComplementaritySearch,
    gap_of,
)
from pessimal.bilevel.node_program import End
from pessimal.limits import Deadline
from pessimal.problem import Vector

_POSITIVE = 1e-7
"""Columns above this are positive."""

_NEAR = 1e-4
"""How close to a value that is not attained the point comes that is returned."""


class StrictSearch(ComplementaritySearch):
    """A search in which the column `strict`, from 0 to 1, has to be positive."""

    def __init__(
        self, problem: ComplementarityProgram, strict: int, deadline: Deadline, node_limit: float
    ) -> None:
        program = problem.program
        # One more row, the objective, to be bounded when the column is made large.
        program = program.with_row(program.cost, -math.inf, math.inf)
        problem = replace(problem, program=program)
        super().__init__(problem, lambda _: iter(()), deadline, node_limit)
        self._strict = -np.eye(1, len(program.cost), strict)[0]
        self._objective = len(program.row_lower) - 1
        self.attained = False

    def _target(self) -> float:
        # While no point attains the value, one may in a node with the same bound.
        return super()._target() if self.attained else self._value + gap_of(self._value)

    def _proves(self, bound: float) -> bool:
        return bound >= super()._target()

    def _relax(self) -> End:
        end, z = self._most_positive()
        if end is End.OPTIMAL and not -(self._strict @ z) > _POSITIVE:
            return End.INFEASIBLE
        return super()._relax() if end is End.OPTIMAL else end

    def _most_positive(self, at_most: float = math.inf) -> tuple[End, Vector]:
        """Make the column as large as an objective at most as large as given allows."""
        self._lp.set_row(self._objective, -math.inf, at_most)
        self._lp.set_cost(self._strict)
        end = self._lp.end(self._deadline)
        z = self._lp.point()
        self._lp.set_row(self._objective, -math.inf, math.inf)
        self._lp.set_cost(self._problem.program.cost)
        return end, z

    def _keep(self, _: Vector, value: float) -> None:
        if value > self._value + (0.0 if self.attained else gap_of(self._value)):
            return
        # How positive the column can be is a concave function of how far the value may be missed.
        # It is positive at 0 if a line through two points of it is; without one it starts at 0.
        miss = 1e-2 * gap_of(value)
        end, strict = self._most_positive(value + miss)
        end_further, further = self._most_positive(value + 10.0 * miss)
        near, far = -(self._strict @ strict), -(self._strict @ further)
        attained = near - (far - near) / 9.0 > _POSITIVE
        if attained and end is end_further is End.OPTIMAL:
            self._best, self._value, self.attained = strict, min(value, self._value), True
        elif value < self._value - gap_of(value):
            end, near = self._most_positive(value + _NEAR * max(1.0, abs(value)))
            if end is End.OPTIMAL:
                self._best, self._value, self.attained = near, value, False
