"""Programs that are linear but for complementary pairs, and what those who solve them answer.

Of each pair one part has to be 0: a *multiplier*, or the *slack* of a column or a row to one of its
limits. A convex quadratic objective is a sum of squares of columns.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pessimal.limits import Deadline
from pessimal.lp.highs import LinearProgram
from pessimal.problem import Mask, Vector

Sides = NDArray[np.int8]
"""What a node has fixed of each pair."""

FREE, NO_MULTIPLIER, NO_SLACK = np.int8(0), np.int8(1), np.int8(2)

GAP = 1e-7
"""Share of the objective, or part of it if that is below 1, by which a node has to improve."""


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
    need an M, from bounds on the absolute values of columns; they may be infinite.
    """

    program: LinearProgram
    pairs: Pairs
    squared: NDArray[np.intp]
    epigraph: NDArray[np.intp]
    weight: Vector
    multiplier_bounds: Callable[[Callable[[int], float]], Vector]

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


Guesses = Callable[[Vector], Iterator[Guess]]
Engine = Callable[[ComplementarityProgram, Guesses, Deadline, float], Found]
"""What solves a program with pairs within a deadline and a number of nodes."""


def gap_of(value: float) -> float:
    """Difference to a value that counts as none."""
    return GAP * max(1.0, abs(value))
