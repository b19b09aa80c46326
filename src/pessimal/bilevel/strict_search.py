"""Branch and bound where one column has to be strictly positive.

A linear program knows no strict inequality, so a leaf is its closure: its optimum may be a value
that its points approach and none has. A leaf in which the column cannot be positive is empty. In
any other one points with a positive column come as close to the optimum as one likes; whether one
*attains* it is asked by making the column as large as the optimum allows.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from pessimal.bilevel.complementarity import ComplementarityProgram, gap_of
from pessimal.bilevel.complementarity_search import ComplementaritySearch, Node
from pessimal.bilevel.node_program import End
from pessimal.limits import Deadline
from pessimal.problem import Vector

_POSITIVE = 1e-7
"""Columns above this are positive."""

_SHARE = 0.02
"""Of the miss of a value, what squares may add by being tangents."""

_TANGENT_ROUNDS = 40

_NEAR = 1e-4
"""How close to a value that is not attained the point comes that is returned."""


class StrictSearch(ComplementaritySearch):
    """A search in which the column `strict`, from 0 to 1, has to be positive.

    Where the integers decide everything, `value_of` says what they are worth, infinite if nothing,
    and the search branches on them alone.
    """

    def __init__(
        self,
        problem: ComplementarityProgram,
        strict: int,
        deadline: Deadline,
        node_limit: float,
        value_of: Callable[[Vector], float] | None = None,
    ) -> None:
        program = problem.program
        # One more row, the objective, to be bounded when the column is made large.
        program = program.with_row(program.cost, -math.inf, math.inf)
        problem = replace(problem, program=program)
        super().__init__(problem, lambda _: iter(()), deadline, node_limit)
        self._strict = -np.eye(1, len(program.cost), strict)[0]
        self._objective = len(program.row_lower) - 1
        self.attained = False
        self._value_of = value_of

    def _process(self, node: Node, eager: bool) -> list[Node] | None:
        if self._value_of is None or np.any(node.lower < node.upper):
            return super()._process(node, eager)
        value = self._value_of(node.lower)
        self._closed = min(self._closed, value)
        if value < self._value:
            self._best = np.zeros(self._n)
            self._best[self._integer] = node.lower
            self._value, self.attained = value, True
        return []

    def _branch(self, node: Node, z: Vector | None, bound: float) -> list[Node]:
        if self._value_of is None:
            return super()._branch(node, z, bound)
        width = node.upper - node.lower
        at = 0.5 * (node.lower + node.upper) if z is None else z[self._integer]
        fraction = np.where(width > 0.0, np.abs(at - np.round(at)), -1.0)
        k = int((fraction if fraction.max() > 1e-6 else width).argmax())
        return self._branch_integer(node, k, np.clip(at, node.lower, node.upper - 0.5), bound)

    def _branch_unbounded(self, node: Node) -> list[Node] | None:
        if self._value_of is None:
            return super()._branch_unbounded(node)
        return self._branch(node, None, -math.inf)

    def _target(self) -> float:
        # While no point attains the value, one may in a node with the same bound.
        return super()._target() if self.attained else self._value + gap_of(self._value)

    def _proves(self, bound: float) -> bool:
        return bound >= super()._target()

    def _relax(self) -> End:
        end, z = self._most_positive()
        if end is End.OPTIMAL and not -(self._strict @ z) > _POSITIVE:
            return End.INFEASIBLE
        end = super()._relax() if end is End.OPTIMAL else end
        if end is End.OPTIMAL and not self.attained and self._lp.bound() >= super()._target():
            # Nothing better is in here. A point that attains the value would be, but none does.
            value, basis = self._problem.value(self._lp.point()), self._lp.basis
            if self._positive_at(value) is None:
                return End.INFEASIBLE
            self._lp.restart(basis)
            return super()._relax()
        return end

    def _most_positive(self, at_most: float = math.inf, miss: float = 0.0) -> tuple[End, Vector]:
        """Make the column as large as an objective allows that squares miss by so much."""
        self._lp.set_row(self._objective, -math.inf, at_most)
        self._lp.set_cost(self._strict)
        for _ in range(_TANGENT_ROUNDS):
            end, z = self._lp.end(self._deadline), self._lp.point()
            if end is not End.OPTIMAL or math.isinf(at_most) or not self._lp.touch(z, miss):
                break
        self._lp.set_row(self._objective, -math.inf, math.inf)
        self._lp.set_cost(self._problem.program.cost)
        return end, z

    def _positive_at(self, value: float) -> Vector | None:
        """Return a point with that value and a positive column; None if there is none.

        How positive the column can be, as a function of how far the value may be missed, starts at
        0 if there is none, and is concave: linear near 0, or with squares in the objective like a
        root. What two of its values say of its start decides.
        """
        if len(self._problem.weight) == 0:
            miss, times, share = 1e-2 * gap_of(value), 10.0, 1.0 / 9.0
        else:
            miss, times, share = 10.0 * gap_of(value), 4.0, 1.0
        end, z = self._most_positive(value + miss, _SHARE * miss)
        end_further, further = self._most_positive(value + times * miss, _SHARE * miss)
        near, far = -(self._strict @ z), -(self._strict @ further)
        least = _POSITIVE if len(self._problem.weight) == 0 else max(_POSITIVE, 0.1 * near)
        positive = near - (far - near) * share > least
        return z if positive and end is end_further is End.OPTIMAL else None

    def _keep(self, _: Vector, value: float) -> None:
        if value > self._value + (0.0 if self.attained else gap_of(self._value)):
            return
        z = self._positive_at(value)
        if z is not None:
            self._best, self._value, self.attained = z, min(value, self._value), True
        elif value < self._value - gap_of(value):
            end, near = self._most_positive(value + _NEAR * max(1.0, abs(value)))
            if end is End.OPTIMAL:
                self._best, self._value, self.attained = near, value, False
