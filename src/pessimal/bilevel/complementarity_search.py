"""Branch and bound on complementarities, over warm linear programs and without a big M.

The program is linear but for pairs of which one part has to be 0: a *multiplier*, and the *slack*
of a column or a row to one of its limits. A node fixes some multipliers to 0 and some slacks to 0;
the relaxation drops what is left of the pairs. Every point that counts is the optimum of a *leaf*,
in which every pair has a part fixed. Integer columns are branched on in the usual way.

Multipliers have no upper limit, so a relaxation may be unbounded. It is then branched on like any
other; only where a leaf is unbounded the problem is.

Squares in the objective are bounded below by tangents (:mod:`pessimal.bilevel.tangents`).
"""

from __future__ import annotations

import heapq
import math
from dataclasses import dataclass, field
from itertools import count

import highspy
import numpy as np

from pessimal.bilevel.complementarity import (
    FREE,
    NO_MULTIPLIER,
    NO_SLACK,
    ComplementarityProgram,
    Found,
    Guess,
    Guesses,
    Outcome,
    Sides,
    gap_of,
)
from pessimal.bilevel.node_program import End
from pessimal.bilevel.tangents import TangentProgram
from pessimal.limits import Deadline
from pessimal.problem import Vector

_COMPLEMENTARY = 1e-8
"""A pair whose smaller part is no larger than this, in equilibrated units, needs no branching."""

_INTEGRAL = 1e-7

_DEEPEST = 200
"""How many integers, besides all pairs, are branched on before the best bound has its turn."""

NODES_WITHOUT_LIMITS = 20_000
"""Nodes after which a search without any limit ends whose integers may be infinitely large."""


@dataclass(order=True)
class Node:
    """What is fixed of each pair, limits of the integers, and a bound on what is left."""

    bound: float
    number: int
    sides: Sides = field(compare=False)
    lower: Vector = field(compare=False)
    upper: Vector = field(compare=False)
    basis: highspy.HighsBasis | None = field(compare=False, default=None)


def branch_and_bound(
    problem: ComplementarityProgram, guess: Guesses, deadline: Deadline, node_limit: float
) -> Found:
    """Solve a program with pairs by the search of this module."""
    return ComplementaritySearch(problem, guess, deadline, node_limit).run()


class ComplementaritySearch:
    """One search; `run` may be called once.

    `guess` proposes leaves near a relaxed point, for incumbents; it need not.
    """

    def __init__(
        self,
        problem: ComplementarityProgram,
        guess: Guesses,
        deadline: Deadline,
        node_limit: float = math.inf,
    ) -> None:
        self._problem, self._guess = problem, guess
        self._deadline, self._node_limit = deadline, node_limit
        program = problem.program
        self._n = len(program.cost)
        self._lower = np.append(program.lower, program.row_lower)
        self._upper = np.append(program.upper, program.row_upper)
        self._lp = TangentProgram(problem)
        self._unit = np.append(self._lp.column_unit, self._lp.row_unit)
        self._set = (self._lower.copy(), self._upper.copy())
        self._integer = np.flatnonzero(program.integer)
        self._best: Vector | None = None
        self._value = math.inf
        self._closed = math.inf  # least bound of the nodes that were closed
        self._numbers = count()

    def run(self) -> Found:
        """Search until the gap is closed or a limit is reached."""
        lower, upper = self._integer_limits()
        sides = np.full(len(self._problem.pairs), FREE)
        heap = [Node(-math.inf, next(self._numbers), sides, lower, upper)]
        node_limit = self._node_limit
        if not np.all(np.isfinite(upper - lower)) and math.isinf(self._deadline.moment):
            node_limit = min(node_limit, NODES_WITHOUT_LIMITS)
        nodes, depth, outcome = 0, 0, Outcome.OPTIMAL
        dive: list[Node] = []
        while heap or dive:
            depth = depth + 1 if dive else 0
            node = dive.pop() if dive else heapq.heappop(heap)
            if node.bound >= self._target():
                self._closed = min(self._closed, node.bound)
                continue
            if self._deadline.over or nodes >= node_limit:
                over = self._deadline.over
                outcome = Outcome.TIME_LIMIT if over else Outcome.NODE_LIMIT
                heap += [node, *dive]
                break
            nodes += 1
            children = self._process(node, eager=nodes < 32 or nodes % 16 == 0)
            if children is None:
                return Found(Outcome.UNBOUNDED, self._best, -math.inf, -math.inf, nodes)
            # Depth first, until a dive ends: children are near, and leaves make incumbents.
            # Not for ever, which it could be towards larger and larger integers.
            dive = children[-1:] if depth < _DEEPEST + len(sides) else []
            for child in children[: len(children) - len(dive)]:
                heapq.heappush(heap, child)
        bound = min([self._closed, self._value, *(node.bound for node in heap)])
        if outcome is Outcome.OPTIMAL and self._best is None and bound == math.inf:
            outcome = Outcome.INFEASIBLE
        elif outcome is Outcome.OPTIMAL and not self._proves(bound):
            outcome = Outcome.NOT_PROVED
        return Found(outcome, self._best, self._value, bound, nodes)

    def _integer_limits(self) -> tuple[Vector, Vector]:
        """Return limits of the integer columns, from the relaxation where there were none."""
        program = self._problem.program
        lower, upper = program.lower[self._integer], program.upper[self._integer]
        for limits, sign in ((lower, 1.0), (upper, -1.0)):
            for k in np.flatnonzero(np.isinf(limits)).tolist():
                self._lp.set_cost(sign * np.eye(1, self._n, self._integer[k])[0])
                if self._lp.end(self._deadline) is End.OPTIMAL:
                    limits[k] = sign * math.ceil(self._lp.bound() - _INTEGRAL)
        self._lp.set_cost(program.cost)
        return lower, upper

    def relaxed(self) -> tuple[End, TangentProgram]:
        """Solve the relaxation without branching; return how it ended, and its program."""
        return self._relax(), self._lp

    def polish(self, z: Vector) -> Found:
        """Return the best optimum of a leaf that is nearest to a point so far, without a bound."""
        program = self._problem.program
        lower, upper = program.lower[self._integer], program.upper[self._integer]
        sides = np.full(len(self._problem.pairs), FREE)
        self._try(self._leaf_near(Node(-math.inf, 0, sides, lower, upper), z))
        return Found(Outcome.NOT_PROVED, self._best, self._value, -math.inf, 0)

    def _target(self) -> float:
        """Return the bound from which on a node is closed."""
        return math.inf if math.isinf(self._value) else self._value - 2.0 * gap_of(self._value)

    def _proves(self, bound: float) -> bool:
        """Whether a bound says that the incumbent is optimal."""
        return bound >= self._target()

    def _process(self, node: Node, eager: bool) -> list[Node] | None:
        """Solve the relaxation, look for incumbents, branch; None if the problem is unbounded."""
        if node.basis is not None:
            self._lp.restart(node.basis)
        some = self._apply(node.sides, node.lower, node.upper)
        end = self._relax() if some else End.INFEASIBLE
        if end is End.INFEASIBLE:
            return []
        if end is End.UNBOUNDED:
            return self._branch_unbounded(node)
        if end is End.UNKNOWN:
            return self._branch(node, None, node.bound)
        z, bound = self._lp.point(), max(node.bound, self._lp.bound())
        if bound >= self._target():
            self._closed = min(self._closed, bound)
            return []
        node.basis = self._lp.basis
        violation = self._violation(z)
        complementary = bool(np.all(violation[node.sides == FREE] <= _COMPLEMENTARY))
        fraction = np.abs(z[self._integer] - np.round(z[self._integer]))
        whole = bool(np.all(fraction <= _INTEGRAL))
        if complementary and whole:
            self._try(self._leaf_near(node, z))
        if eager or complementary:
            for guess in self._guess(z):
                self._try(guess)
        if bound >= self._target():
            self._closed = min(self._closed, bound)
            return []
        return self._branch(node, z, bound)

    def _relax(self) -> End:
        """Solve the relaxation of a node."""
        return self._lp.relax(self._deadline, self._target())

    def _violation(self, z: Vector) -> Vector:
        """Smaller part of each pair, in equilibrated units."""
        multiplier, slack = self._parts(z)
        return np.minimum(multiplier, slack)

    def _parts(self, z: Vector) -> tuple[Vector, Vector]:
        pairs = self._problem.pairs
        at = np.append(z, self._lp.activity(z))
        lower, upper = at - self._lower, self._upper - at
        slack = np.where(pairs.at_upper, upper[pairs.member], lower[pairs.member])
        multiplier = z[pairs.multiplier] / self._unit[pairs.multiplier]
        return multiplier, slack / self._unit[pairs.member]

    def _leaf_near(self, node: Node, z: Vector) -> Guess:
        """Fix of each pair the part that is nearly 0, and the integers."""
        multiplier, slack = self._parts(z)
        nearest = np.where(multiplier > slack, NO_SLACK, NO_MULTIPLIER)
        sides = np.where(node.sides == FREE, nearest, node.sides)
        return Guess(sides, self._integer, np.round(z[self._integer]))

    def _try(self, guess: Guess) -> None:
        """Solve a leaf, and keep its optimum if it is the best so far."""
        program = self._problem.program
        fixed = dict(zip(guess.columns.tolist(), guess.values.tolist(), strict=True))
        if not all(k in fixed for k in self._integer.tolist()):
            return
        whole = np.array([fixed[k] for k in self._integer.tolist()])
        if not self._apply(guess.sides, whole, whole):
            return
        for k, value in fixed.items():
            at = float(np.clip(value, program.lower[k], program.upper[k]))
            self._lp.set_column(k, at, at)
        if self._relax() is End.OPTIMAL:
            z = self._lp.point()
            self._keep(z, self._problem.value(z))
        for k in fixed:
            self._lp.set_column(k, float(self._set[0][k]), float(self._set[1][k]))

    def _keep(self, z: Vector, value: float) -> None:
        """Take the optimum of a leaf for the incumbent if it is better."""
        if value < self._value:
            self._best, self._value = z, value

    def _branch(self, node: Node, z: Vector | None, bound: float) -> list[Node]:
        """Split a node on an integer column or a pair; a leaf that is left is not proved."""
        if z is None:
            violation = np.ones(len(node.sides))
        else:
            whole = z[self._integer]
            fraction = np.abs(whole - np.round(whole))
            if fraction.max(initial=0.0) > _INTEGRAL:
                return self._branch_integer(node, int(fraction.argmax()), whole, bound)
            violation = self._violation(z)
        free = np.flatnonzero(node.sides == FREE)
        if len(free) > 0:
            k = int(free[violation[free].argmax()])
            slack_first = z is not None and bool(np.greater(*(part[k] for part in self._parts(z))))
            sides = (NO_MULTIPLIER, NO_SLACK) if slack_first else (NO_SLACK, NO_MULTIPLIER)
            return [self._child(node, bound, pair=(k, side)) for side in sides]
        # A whole number in the relaxation is none to keep where the leaf at it is empty.
        width = node.upper - node.lower
        for k in np.flatnonzero((width >= 0.5) & np.isfinite(width))[:1].tolist():
            middle = node.lower + 0.5 * width + 0.25
            return self._branch_integer(node, k, middle, bound)
        self._closed = min(self._closed, bound)
        return []

    def _branch_integer(self, node: Node, k: int, values: Vector, bound: float) -> list[Node]:
        below, above = self._child(node, bound), self._child(node, bound)
        below.upper = node.upper.copy()
        above.lower = node.lower.copy()
        below.upper[k], above.lower[k] = math.floor(values[k]), math.floor(values[k]) + 1.0
        return [below, above]

    def _branch_unbounded(self, node: Node) -> list[Node] | None:
        """Split on the pair that the ray violates most; None if a leaf is unbounded."""
        pairs, ray = self._problem.pairs, self._lp.ray()
        free = np.flatnonzero(node.sides == FREE)
        if len(free) > 0:
            along = np.append(ray, self._lp.activity(ray))
            slack = np.where(pairs.at_upper, -1.0, 1.0) * along[pairs.member]
            growth = np.minimum(
                ray[pairs.multiplier] / self._unit[pairs.multiplier],
                slack / self._unit[pairs.member],
            )
            k = int(free[growth[free].argmax()])
            return [
                self._child(node, -math.inf, pair=(k, side)) for side in (NO_MULTIPLIER, NO_SLACK)
            ]
        # A leaf: all its points are feasible, if only it has one with whole numbers.
        self._lp.set_cost(np.zeros(self._n))
        end, z = self._lp.end(self._deadline), self._lp.point()
        self._lp.set_cost(self._problem.program.cost)
        if end is not End.OPTIMAL:
            return [] if end is End.INFEASIBLE else self._branch(node, None, -math.inf)
        whole = z[self._integer]
        fraction = np.abs(whole - np.round(whole))
        if fraction.max(initial=0.0) > _INTEGRAL:
            return self._branch_integer(node, int(fraction.argmax()), whole, -math.inf)
        return None

    def _child(self, node: Node, bound: float, pair: tuple[int, np.int8] | None = None) -> Node:
        sides = node.sides
        if pair is not None:
            k, side = pair
            sides = sides.copy()
            sides[k] = side
        return Node(bound, next(self._numbers), sides, node.lower, node.upper, node.basis)

    def _apply(self, sides: Sides, lower: Vector, upper: Vector) -> bool:
        """Set the limits of a node; return whether they leave anything."""
        pairs = self._problem.pairs
        low, high = self._lower.copy(), self._upper.copy()
        low[self._integer], high[self._integer] = lower, upper
        high[pairs.multiplier[sides == NO_MULTIPLIER]] = 0.0
        at_lower = pairs.member[(sides == NO_SLACK) & ~pairs.at_upper]
        at_upper = pairs.member[(sides == NO_SLACK) & pairs.at_upper]
        high[at_lower] = np.minimum(high[at_lower], self._lower[at_lower])
        low[at_upper] = np.maximum(low[at_upper], self._upper[at_upper])
        if np.any(low > high):
            return False
        for k in np.flatnonzero((low != self._set[0]) | (high != self._set[1])).tolist():
            set_limits = self._lp.set_column if k < self._n else self._lp.set_row
            set_limits(k if k < self._n else k - self._n, low[k], high[k])
        self._set = (low, high)
        return True
