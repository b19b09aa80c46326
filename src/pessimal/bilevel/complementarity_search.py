"""Branch and bound on complementarities, over warm linear programs and without a big M.

The program is linear but for pairs of which one part has to be 0: a *multiplier*, and the *slack*
of a column or a row to one of its limits. A node fixes some multipliers to 0 and some slacks to 0;
the relaxation drops what is left of the pairs. Every point that counts is the optimum of a *leaf*,
in which every pair has a part fixed. Integer columns are branched on in the usual way.

Multipliers have no upper limit, so a relaxation may be unbounded. It is then branched on like any
other; only where a leaf is unbounded the problem is.

A convex quadratic objective is a sum of squares of columns, each bounded below by its tangents,
which are added where a relaxation needs them.
"""

from __future__ import annotations

import enum
import heapq
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import count
from typing import NamedTuple

import highspy
import numpy as np
from numpy.typing import NDArray

from pessimal.bilevel.node_program import End, NodeProgram
from pessimal.limits import Deadline
from pessimal.lp.highs import LinearProgram
from pessimal.problem import Mask, Vector

Sides = NDArray[np.int8]
"""What a node has fixed of each pair."""

FREE, NO_MULTIPLIER, NO_SLACK = np.int8(0), np.int8(1), np.int8(2)

GAP = 1e-7
"""Share of the objective, or part of it if that is below 1, by which a node has to improve."""

_COMPLEMENTARY = 1e-8
"""A pair whose smaller part is no larger than this, in equilibrated units, needs no branching."""

_INTEGRAL = 1e-7
_TANGENT_ROUNDS = 60


@dataclass(frozen=True, eq=False)
class Pairs:
    """Pairs of a multiplier, which is a column ``≥ 0``, and the slack of a member to a limit.

    Members are the columns and then the rows of the program.
    """

    multiplier: NDArray[np.intp]
    member: NDArray[np.intp]
    at_upper: Mask

    def __len__(self) -> int:
        return len(self.multiplier)


@dataclass(frozen=True, eq=False)
class ComplementarityProgram:
    """A linear program with pairs, and with ``Σ ½·weight·column²`` added to its objective.

    The k-th square is bounded from below by the column ``epigraph[k]``, which has the cost 1.
    `multiplier_bounds` finds limits that the multipliers of some optimum respect, for those who
    need an M; they may be infinite.
    """

    program: LinearProgram
    pairs: Pairs
    squared: NDArray[np.intp]
    epigraph: NDArray[np.intp]
    weight: Vector
    multiplier_bounds: Callable[[], Vector]

    def value(self, z: Vector) -> float:
        """Objective at a point."""
        squares = 0.5 * self.weight * z[self.squared] ** 2
        return float(self.program.cost @ z + (squares - z[self.epigraph]).sum())


class Outcome(enum.Enum):
    """Why a search ended."""

    OPTIMAL = "optimal"
    INFEASIBLE = "infeasible"
    UNBOUNDED = "unbounded"
    TIME_LIMIT = "time limit"
    NODE_LIMIT = "node limit"
    NOT_PROVED = "not proved"


@dataclass(frozen=True, eq=False)
class Found:
    """The best point, if any, its value, a lower bound, why the search ended and its nodes."""

    outcome: Outcome
    point: Vector | None
    value: float
    bound: float
    nodes: int


class Guess(NamedTuple):
    """A leaf to try: what it fixes of each pair, and columns with their values."""

    sides: Sides
    columns: NDArray[np.intp]
    values: Vector


@dataclass(order=True)
class _Node:
    bound: float
    number: int
    sides: Sides = field(compare=False)
    lower: Vector = field(compare=False)
    upper: Vector = field(compare=False)
    basis: highspy.HighsBasis | None = field(compare=False, default=None)


Guesses = Callable[[Vector], Iterator[Guess]]
Engine = Callable[[ComplementarityProgram, Guesses, Deadline, float], Found]
"""What solves a program with pairs within a deadline and a number of nodes."""


def branch_and_bound(
    problem: ComplementarityProgram, guess: Guesses, deadline: Deadline, node_limit: float
) -> Found:
    """Solve a program with pairs by the search of this module."""
    return ComplementaritySearch(problem, guess, deadline, node_limit).run()


def gap_of(value: float) -> float:
    """Difference to a value that counts as none."""
    return GAP * max(1.0, abs(value))


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
        self._lp = NodeProgram(program)
        self._unit = np.append(self._lp.column_unit, self._lp.row_unit)
        self._set = (self._lower.copy(), self._upper.copy())
        self._integer = np.flatnonzero(program.integer)
        self._best: Vector | None = None
        self._value = math.inf
        self._closed = math.inf  # least bound of the nodes that were closed
        self._numbers = count()

    def run(self) -> Found:
        """Search until the gap is closed or a limit is reached."""
        program, pairs = self._problem.program, self._problem.pairs
        lower, upper = program.lower[self._integer], program.upper[self._integer]
        sides = np.full(len(pairs), FREE)
        heap = [_Node(-math.inf, next(self._numbers), sides, lower, upper)]
        nodes, outcome = 0, Outcome.OPTIMAL
        dive: list[_Node] = []
        while heap or dive:
            node = dive.pop() if dive else heapq.heappop(heap)
            if node.bound >= self._target():
                self._closed = min(self._closed, node.bound)
                continue
            if self._deadline.over or nodes >= self._node_limit:
                over = self._deadline.over
                outcome = Outcome.TIME_LIMIT if over else Outcome.NODE_LIMIT
                heap += [node, *dive]
                break
            nodes += 1
            children = self._process(node, eager=nodes < 32 or nodes % 16 == 0)
            if children is None:
                return Found(Outcome.UNBOUNDED, self._best, -math.inf, -math.inf, nodes)
            # Depth first, until a dive ends: children are near, and leaves make incumbents.
            heap_children, dive = children[:-1], children[-1:]
            for child in heap_children:
                heapq.heappush(heap, child)
        bound = min([self._closed, self._value, *(node.bound for node in heap)])
        if outcome is Outcome.OPTIMAL and self._best is None and bound == math.inf:
            outcome = Outcome.INFEASIBLE
        elif outcome is Outcome.OPTIMAL and not self._proves(bound):
            outcome = Outcome.NOT_PROVED
        return Found(outcome, self._best, self._value, bound, nodes)

    def polish(self, z: Vector) -> Found:
        """Return the optimum of the leaf that is nearest to a point, without a bound."""
        program = self._problem.program
        lower, upper = program.lower[self._integer], program.upper[self._integer]
        sides = np.full(len(self._problem.pairs), FREE)
        self._try(self._leaf_near(_Node(-math.inf, 0, sides, lower, upper), z))
        return Found(Outcome.NOT_PROVED, self._best, self._value, -math.inf, 0)

    def _target(self) -> float:
        """Return the bound from which on a node is closed."""
        return math.inf if math.isinf(self._value) else self._value - 2.0 * gap_of(self._value)

    def _proves(self, bound: float) -> bool:
        """Whether a bound says that the incumbent is optimal."""
        return bound >= self._target()

    def _process(self, node: _Node, eager: bool) -> list[_Node] | None:
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
        """Solve the relaxation, with tangents as far as they raise it."""
        problem = self._problem
        before = -math.inf
        for _ in range(_TANGENT_ROUNDS):
            end = self._lp.end(self._deadline)
            if end is End.UNBOUNDED and self._tangents_along(self._lp.ray()):
                continue
            if end is not End.OPTIMAL or len(problem.weight) == 0:
                return end
            z = self._lp.point()
            squares = 0.5 * problem.weight * z[problem.squared] ** 2
            short = squares - z[problem.epigraph]
            value = float(problem.program.cost @ z)
            enough = 0.05 * gap_of(problem.value(z))
            if short.sum() <= enough or value >= self._target() or value < before:
                return end
            before = value
            for k in np.flatnonzero(short > enough / len(short)).tolist():
                self._tangent(k, z[problem.squared[k]])
        return end

    def _tangent(self, k: int, at: float) -> None:
        """Add ``t ≥ weight·at·c − ½·weight·at²``."""
        problem, row = self._problem, np.zeros(self._n)
        slope = float(problem.weight[k]) * at
        row[problem.epigraph[k]], row[problem.squared[k]] = 1.0, -slope
        self._lp.add_row(row, -0.5 * slope * at)

    def _tangents_along(self, ray: Vector) -> bool:
        """Add tangents steep enough to stop a ray; return whether any square grows along it."""
        problem = self._problem
        along = ray[problem.squared]
        curvature = float(problem.weight @ along**2)
        if len(along) == 0 or curvature <= 1e-12 * float(np.abs(ray).max()) ** 2:
            return False
        fall = -float(problem.program.cost @ ray) + 2.0 * float(ray[problem.epigraph].sum())
        far = 2.0 * max(1.0, fall / curvature)
        for k in np.flatnonzero(problem.weight * along**2 > 1e-6 * curvature):
            self._tangent(int(k), far * float(along[k]))
        return True

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

    def _leaf_near(self, node: _Node, z: Vector) -> Guess:
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

    def _branch(self, node: _Node, z: Vector | None, bound: float) -> list[_Node]:
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

    def _branch_integer(self, node: _Node, k: int, values: Vector, bound: float) -> list[_Node]:
        below, above = self._child(node, bound), self._child(node, bound)
        below.upper = node.upper.copy()
        above.lower = node.lower.copy()
        below.upper[k], above.lower[k] = math.floor(values[k]), math.floor(values[k]) + 1.0
        return [below, above]

    def _branch_unbounded(self, node: _Node) -> list[_Node] | None:
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

    def _child(self, node: _Node, bound: float, pair: tuple[int, np.int8] | None = None) -> _Node:
        sides = node.sides
        if pair is not None:
            k, side = pair
            sides = sides.copy()
            sides[k] = side
        return _Node(bound, next(self._numbers), sides, node.lower, node.upper, node.basis)

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
