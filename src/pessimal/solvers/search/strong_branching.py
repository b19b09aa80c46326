"""Bounds of P after crossing a complementarity."""

from __future__ import annotations

import numpy as np

from pessimal.lp.codes import CUT_OFF, INFEASIBLE
from pessimal.lp.simplex import Simplex
from pessimal.lp.watch import Watch
from pessimal.solvers.search.complementarities import ABOVE, Conditions
from pessimal.solvers.search.heuristic import Incumbent
from pessimal.solvers.search.node import Node
from pessimal.solvers.search.pseudo_costs import PseudoCosts
from pessimal.tolerances import CUTOFF

INF = np.inf
STRONG_BRANCHING_STEPS = 20


class StrongBranching:
    """Crosses pairs on a copy of P, and learns from it what that costs."""

    def __init__(self, conditions: Conditions, incumbent: Incumbent, watch: Watch) -> None:
        self.pairs = conditions.pairs
        self.incumbent = incumbent
        self.trial = Simplex(conditions.primal, watch)
        self.pseudo_costs = PseudoCosts(conditions.pairs.n_pairs)

    def first_bound(self, node: Node, pair: int, side: int) -> float:
        """Bound of P after one step to the other side of a pair; infinite from the cutoff on."""
        k = self.pairs.row[pair]
        at = self.pairs.breakpoint[pair]
        low = node.primal.low[k] if side == ABOVE else at
        high = at if side == ABOVE else node.primal.high[k]
        if low > high:
            return INF
        bound = node.primal.bound_after(k, low, high)
        return INF if bound >= self.incumbent.best - CUTOFF else bound

    def crossing_bound(self, node: Node, pair: int, side: int) -> float:
        """Bound of P after crossing a pair; infinite from the cutoff on."""
        if self.first_bound(node, pair, side) == INF:
            return INF
        cutoff = self.incumbent.best - CUTOFF
        trial = self.trial
        trial.copy_from(node.primal)
        self.pairs.bound_primal(trial, pair, 1 - side)
        # The objective is a bound at every step; ties are not worth settling for one.
        status = trial.iterate(cutoff, STRONG_BRANCHING_STEPS, False)
        bound = INF if status == INFEASIBLE or status == CUT_OFF else trial.objective
        off = abs(node.primal.z[self.pairs.row[pair]] - self.pairs.breakpoint[pair])
        self.pseudo_costs.record(pair, side, off, min(bound, cutoff) - node.primal.objective)
        return bound
