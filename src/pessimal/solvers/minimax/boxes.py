"""Many hyperparameters: branch and bound on cells of boxes.

In every box the model that loses most on some points S, counted as linear functions, is one of the
near-optimal ones, so its loss lies below the worst case. The search finds where that is least over
a *cell*, the boxes between two corners. A cell whose bound reaches the least worst case known is
closed. In the box where the bound of any other is attained, the worst case is found: either it is
less than any before, or its worst model loses on other points, which make the next set. If neither
lifts the bound by much, the cell is cut between the boxes in which the two sets attain their
bounds: on either side one of them says more.

Around the best box many sets matter at once, and one alone bounds none but tiny cells well. There
affine policies bound a cell by several sets (`refining`), which takes as long as a dozen searches.
They are tried where these no longer help, in cells of about the size in which they did last time.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable
from dataclasses import replace
from itertools import count, islice

import numpy as np

from pessimal.problem import Mask, Vector
from pessimal.solvers.minimax.active_sets import ActiveSets
from pessimal.solvers.minimax.oracle import WorstCaseOracle
from pessimal.solvers.minimax.refining import ENOUGH_LIFTED, Cell, Refinement
from pessimal.solvers.minimax.regions import SMALLEST
from pessimal.solvers.search.driver import bound_between
from pessimal.tolerances import CUTOFF, OPTIMAL_GAP

CLOSED = 0.5 * OPTIMAL_GAP
"""A cell whose bound is no further below the least worst case is closed."""

LATEST_SETS = 4
"""Sets tried in a cell beside its parent's and that of the last worst model: the latest."""

CELL_NODES = 20_000
"""Nodes of one search."""

MOST_NODES = 5_000
"""Nodes of all searches and worst cases, unless it is the time that is limited."""

FIRST_REACH, GROWTH = 0.5, 1.25
"""Longest side of a cell for which policies are tried, as a share of the limits: at first, and by
how much it grows or shrinks with whether they helped."""

FARTHEST_CUT = 0.15
"""Least share of a side that a cut leaves on either hand."""


class BoxSearch:
    """Branches on cells until the best worst case is proved or a limit is reached.

    Parameters
    ----------
    oracle : WorstCaseOracle
        With a best point, whose worst case is known.
    sets : ActiveSets
        Met on the way to it.
    """

    def __init__(self, oracle: WorstCaseOracle, sets: ActiveSets) -> None:
        self._oracle = oracle
        self._open: list[tuple[float, int, Cell]] = []
        self._number = count()
        self._closed = np.inf  # least bound of a cell that was closed
        self._sets = ActiveSets(reversed(list(sets)))
        self._refinement = Refinement(oracle, self._sets)
        self._reach = FIRST_REACH
        width = oracle.groups.upper - oracle.groups.lower
        self._width = np.where(width > 0.0, width, 1.0)
        limited = oracle.limits.time_limit is not None
        self._last_node = np.inf if limited else oracle.nodes + MOST_NODES

    def run(self) -> None:
        """Branch; whatever ends it, the oracle has the best box and a valid bound."""
        oracle, groups = self._oracle, self._oracle.groups
        assert oracle.best is not None
        best = oracle.best
        everyone = np.ones(oracle.problem.n_val, dtype=np.bool_)
        self._sets.add(best.active)
        self._refinement.polish()
        best = oracle.best
        first = Cell(groups.lower, groups.upper, oracle.lower_bound, everyone, best.h)
        self._add(first, (best.active,))
        while self._open:
            bound, _, cell = self._open[0]
            oracle.prove(min(bound, self._closed, oracle.best_value))
            if bound >= oracle.best_value - CLOSED or self._exhausted():
                return
            oracle.check()
            heapq.heappop(self._open)
            before = oracle.best_value
            self._examine(cell)
            oracle.nodes += 1  # a cell is a node, too
            if oracle.best_value < before - CUTOFF:
                self._refinement.polish()
        oracle.prove(min(self._closed, oracle.best_value))

    def _exhausted(self) -> bool:
        return self._oracle.nodes >= self._last_node

    def _examine(self, cell: Cell) -> None:
        """Find the worst case where the bound of a cell is attained; take its set, or cut."""
        oracle = self._oracle
        enough = cell.bound + ENOUGH_LIFTED * (oracle.best_value - cell.bound)
        worst = oracle.at(cell.h, oracle.best_value).active
        self._sets.add(worst)
        other = self._bounded(cell, (worst,))
        better = max(cell, other, key=lambda cell: cell.bound)
        longest = float(((cell.high - cell.low) / self._width).max())
        if better.bound <= enough and longest <= self._reach:
            better = self._refinement.bounded(better)
            self._reach *= GROWTH if better.bound > enough else 1.0 / GROWTH
        if better.bound > enough:
            self._keep(better)
            return
        for half in self._halves(cell, other.h):
            lifted = replace(half, bound=better.bound, active=better.active, planes=better.planes)
            self._add(lifted, (worst,))

    def _halves(self, cell: Cell, other: Vector) -> Iterable[Cell]:
        """Cut a cell between two of its points, or its longest side where these are close."""
        sides, apart = (cell.high - cell.low) / self._width, np.abs(cell.h - other) / self._width
        j = int(np.argmax(apart + 0.1 * sides))
        if sides[j] < SMALLEST:
            self._closed = min(self._closed, cell.bound)
            return
        between = 0.5 * (cell.h[j] + other[j])
        if apart[j] < 0.05 * sides[j]:
            between = 0.5 * (cell.low[j] + cell.high[j])
        spare = FARTHEST_CUT * (cell.high[j] - cell.low[j])
        cut = min(max(between, cell.low[j] + spare), cell.high[j] - spare)
        for end in (cell.low, cell.high):
            low, high = cell.low.copy(), cell.high.copy()
            (high if end is cell.low else low)[j] = cut
            yield replace(cell, low=low, high=high, h=np.clip(cell.h, low, high))

    def _add(self, cell: Cell, sets: Iterable[Mask]) -> None:
        """Bound a cell by its own set, these and the latest ones, and keep it if need be."""
        latest = islice(self._sets, LATEST_SETS)
        self._keep(self._bounded(cell, (cell.active, *sets, *latest)))

    def _keep(self, cell: Cell) -> None:
        if self._is_closed(cell):
            self._closed = min(self._closed, cell.bound)
        else:
            heapq.heappush(self._open, (cell.bound, next(self._number), cell))

    def _is_closed(self, cell: Cell) -> bool:
        return cell.bound >= self._oracle.best_value - CLOSED

    def _bounded(self, cell: Cell, sets: Iterable[Mask]) -> Cell:
        """Raise the bound of a cell by sets, as far as it matters.

        A set is left out if its model loses little in the one box of the cell that is known to be
        good. Where the bound is attained is told of the set that gave it, or of the first.
        """
        oracle, groups = self._oracle, self._oracle.groups
        problem = replace(oracle.problem, lower=groups.box(cell.low), upper=groups.box(cell.high))
        distinct = {active.tobytes(): active for active in sets if self._counts(active)}
        first = True
        for active in distinct.values():
            if self._exhausted() or self._is_closed(cell):
                break
            lifted = cell.bound + ENOUGH_LIFTED * (oracle.best_value - cell.bound)
            if oracle.loss_of_loser(cell.h, active) <= lifted:
                continue
            limits, enough = oracle.rest(1.0, CELL_NODES), oracle.best_value
            found = bound_between(problem, oracle.budget, active, cell.bound, enough, limits)
            oracle.nodes += 1 + found.nodes  # many a cell is closed before its first node
            if first or found.bound > cell.bound:
                box = groups.box(cell.h) if found.box is None else found.box
                h = np.clip(groups.around(box), cell.low, cell.high)
                cell = replace(cell, bound=max(cell.bound, found.bound), active=active, h=h)
            first = False
        return cell

    def _counts(self, active: Mask) -> bool:
        """Whether a set has any weight."""
        return bool(self._oracle.problem.val_weight[active].any())
