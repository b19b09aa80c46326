"""Bound cells of boxes by affine policies, and go from the best box to better ones around it.

A program of policies knows few sets and few planes. Where its bound is attained, training gives the
plane that is missing, if one is, and the worst case the set; with these it is solved again. What is
missing no more is the answer: the bound of the cell, and the box in which it is attained. Around
the best box that is its best neighbour, or the proof that there is none.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pessimal.problem import Mask, Vector
from pessimal.solvers.minimax.active_sets import ActiveSets
from pessimal.solvers.minimax.oracle import EVALUATION_SHARE, WorstCaseOracle
from pessimal.solvers.minimax.policies import Policies, PolicyBound, policy_rows
from pessimal.solvers.minimax.proof import Plane, distinct_planes
from pessimal.tolerances import CUTOFF, OPTIMAL_GAP

FIRST_SETS = 3
"""Sets that a program has at first, those that say most about one box."""

MOST_PLANES, POINTS = 10, 12
"""Planes that a program has at first, and boxes of the cell, at random, where they touch."""

MOST_ROUNDS = 6
"""Programs solved for one cell."""

MOST_ROWS = 5_000
"""Of a program: with more, one takes longer than a hundred cells without."""

LEAST_SHARE = 0.01
"""A set with less of the average is not worth its rows in the next program."""

ENOUGH_LIFTED = 0.1
"""Of the gap that is left, that a program must close for another one to be solved."""

HOPELESS = 3.0
"""Times the gap that a first bound may be below what is known, before all hope is given up."""

FIRST_RADIUS, LAST_RADIUS = 0.1, 1e-3
"""Of the cell around the best box, as shares of the limits."""


@dataclass(frozen=True, eq=False)
class Cell:
    """Hyperparameters from `low` to `high`, a bound, the set that gave it, and where.

    Planes below the least training loss, if any are known that matter here.
    """

    low: Vector
    high: Vector
    bound: float
    active: Mask
    h: Vector
    planes: tuple[Plane, ...] = ()


class Refinement:
    """Bounds cells by policies.

    Parameters
    ----------
    oracle : WorstCaseOracle
        With a best point.
    sets : ActiveSets
        Those that are known; what is met here is added.
    """

    def __init__(self, oracle: WorstCaseOracle, sets: ActiveSets) -> None:
        self._oracle, self._sets = oracle, sets
        self._rng = np.random.default_rng(0)
        self._most_sets = MOST_ROWS // policy_rows(oracle.problem, oracle.groups)

    def polish(self) -> None:
        """Go from the best box to better ones until there is none in reach."""
        oracle, groups = self._oracle, self._oracle.groups
        radius = FIRST_RADIUS if self._most_sets else 0.0
        while radius > LAST_RADIUS:
            best = oracle.best
            assert best is not None
            reach = radius * (groups.upper - groups.lower)
            low, high = np.maximum(groups.lower, best.h - reach), best.h + reach
            around = Cell(low, np.minimum(groups.upper, high), 0.0, best.active, best.h)
            if self.bounded(around).bound >= oracle.best_value - OPTIMAL_GAP:
                return
            if oracle.best_value > best.bound - CUTOFF:
                radius *= 0.25

    def bounded(self, cell: Cell) -> Cell:
        """Raise the bound of a cell as far as policies can, or leave it."""
        if not self._most_sets:
            return cell
        oracle, groups = self._oracle, self._oracle.groups
        least = oracle.cases.train(groups.box(cell.low)).loss
        policies = Policies(oracle.problem, oracle.budget, groups, cell.low, cell.high, least)
        sets = self._sets.telling(oracle, cell.h, min(FIRST_SETS, self._most_sets))
        planes = self._planes(cell)
        useful = cell.bound - HOPELESS * (oracle.best_value - cell.bound)
        for _ in range(MOST_ROUNDS):
            oracle.check()
            oracle.nodes += 1  # a program is a node, too
            found = policies.bound(sets, planes, oracle.deadline.share(EVALUATION_SHARE))
            if found is None:
                break
            if found.bound > cell.bound:
                active = sets[int(np.argmax(found.shares))]
                cell = Cell(cell.low, cell.high, found.bound, active, found.h, tuple(planes))
            if not useful <= found.bound < oracle.best_value:
                break
            lifted = found.bound + ENOUGH_LIFTED * (oracle.best_value - found.bound)
            useful = max(useful, lifted)
            if not self._supply(found, sets, planes) or len(sets) > self._most_sets:
                break
        return cell

    def _supply(self, found: PolicyBound, sets: list[Mask], planes: list[Plane]) -> bool:
        """Add the plane and the set that are missing where a bound is attained, if any are."""
        oracle = self._oracle
        plane = oracle.tangent(found.h)
        below = plane(found.h) <= found.tau + CUTOFF
        if not below:
            planes.append(plane)
        worst = oracle.at(found.h, oracle.best_value).active
        self._sets.add(worst)
        known = any(np.array_equal(worst, active) for active in sets)
        sets[:] = [sets[k] for k in np.flatnonzero(found.shares > LEAST_SHARE)]
        if not known:
            sets.append(worst)
        return not (below and known)

    def _planes(self, cell: Cell) -> list[Plane]:
        """Return planes below the least training loss that touch it somewhere in a cell."""
        inside = self._rng.uniform(cell.low, cell.high, (POINTS, len(cell.low)))
        points = (cell.h, 0.5 * (cell.low + cell.high), cell.low, cell.high, *inside)
        tangents = (self._oracle.tangent(h) for h in points)
        return distinct_planes((*cell.planes, *tangents))[:MOST_PLANES]
