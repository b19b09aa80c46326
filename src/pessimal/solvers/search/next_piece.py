"""From the best point of a piece to a piece beside it.

What the multipliers of a ``u`` prove is a piece of the space of ``u``, and its best point lies on
breakpoints, as a rule. Other multipliers prove that point, too, and have other pieces. P's own
multipliers say on which side of a breakpoint L_V would fall, and how fast. So of all points of D
that prove ``u`` take the one that comes nearest to what those sides imply, each weighted with how
fast L_V falls: a linear program. ``u`` is in the piece of that one, too, whose best point is
therefore no worse.
"""

from __future__ import annotations

import numpy as np

from pessimal.lp.codes import OPTIMAL
from pessimal.lp.simplex import Simplex
from pessimal.lp.watch import Watch
from pessimal.problem import Vector
from pessimal.solvers.search.complementarities import ABOVE, BELOW, Conditions
from pessimal.tolerances import AT_BREAKPOINT, REDUCED_COST

INF = np.inf
LEAST_RATE = 1e-7  # at which L_V must fall beyond a breakpoint to be worth a change
LEAST_GAIN = 1e-9  # relative; a smaller one is rounding
GROWTH = 10.0  # of 1 + λ from one piece to the next, at most
LARGEST_MULTIPLIER = 1e4  # of λ, so that rounding of multipliers stays small


class NextPiece:
    """Finds multipliers that prove the best point of a piece and let it go on."""

    def __init__(self, conditions: Conditions, budget: bool, watch: Watch) -> None:
        dual = conditions.dual
        size = len(dual.low)
        self.pairs = conditions.pairs
        self.weighted = conditions.weighted
        self.keeps_box = budget
        self.n_points = len(conditions.point_row)
        self.n_features = len(conditions.upper)
        self.reduced_cost_row = conditions.reduced_cost_row
        self.upper = conditions.upper
        self.low = dual.low
        self.high = dual.high
        # Costs change from call to call, so D is kept bounded: any costs will do then. A row is at
        # most what it can be for λ = 0 and what λ adds.
        costs = np.zeros((3, size))
        self.dual = Simplex(
            dual._replace(slope_left=costs[0], slope_right=costs[1], kink=costs[2]), watch
        )
        n_columns = dual.A.shape[1]
        trained = conditions.point_sign < 0
        columns = np.zeros((2, n_columns))
        columns[0, : self.n_points][~trained] = conditions.point_weight[~trained]
        columns[1, : self.n_points][trained] = conditions.point_weight[trained]
        columns[1, self.n_points :] = 1.0
        reach = np.hstack([columns, columns @ np.abs(dual.A).T])
        self.reach = reach[0]
        self.reach_per_multiplier = reach[1]

    def find(self, piece: Simplex, values: Vector) -> bool:
        """Put other multipliers in place of the piece's; False: none are nearer."""
        self.relax(values[self.n_points] if self.weighted else 0.0)
        distance = 0.0
        for pair in range(self.pairs.n_pairs):
            k = self.pairs.row[pair]
            off = piece.z[k] - self.pairs.breakpoint[pair]
            if abs(off) > AT_BREAKPOINT:
                self.pairs.bound_dual(self.dual, pair, ABOVE if off > 0.0 else BELOW)
                continue
            left = piece.z[k] < piece.kink[k]
            rate = piece.y[k] - (piece.slope_left[k] if left else piece.slope_right[k])
            if abs(rate) > LEAST_RATE:
                distance += self.charge(pair, ABOVE if rate > 0.0 else BELOW, abs(rate), values)
        if distance == 0.0:
            return False
        if self.keeps_box:
            self.keep_box(piece, values)
        self.dual.reprice(False)
        if self.dual.solve(INF) != OPTIMAL:
            return False
        if self.dual.objective > distance * (1.0 - LEAST_GAIN):
            return False
        for k in range(self.dual.size):
            values[k] = self.dual.z[k]
        return True

    def relax(self, multiplier: float) -> None:
        """Take all costs and decisions off D; let λ grow by some factor at most."""
        dual = self.dual
        most = 1.0
        if self.weighted:
            most = min(GROWTH * (1.0 + multiplier), LARGEST_MULTIPLIER, self.high[self.n_points])
        for k in range(dual.size):
            limit = self.reach[k] + most * self.reach_per_multiplier[k]
            dual.low[k] = max(self.low[k], -limit)
            dual.high[k] = min(self.high[k], limit)
            dual.slope_left[k] = 0.0
            dual.slope_right[k] = 0.0
            dual.kink[k] = 0.0

    def charge(self, pair: int, side: int, rate: float, values: Vector) -> float:
        """Charge D for what it lacks to what a side implies; return the charge for `values`."""
        if self.pairs.satisfied(values, pair, side):
            return 0.0
        k = self.pairs.dual_row[pair, side]
        implied = self.pairs.dual_value[pair, side]
        self.dual.kink[k] = implied
        if self.pairs.dual_side[pair, side] > 0:
            self.dual.slope_left[k] = -rate
        else:
            self.dual.slope_right[k] = rate
        return rate * abs(values[k] - implied)

    def keep_box(self, piece: Simplex, values: Vector) -> None:
        """Keep reduced costs at 0 where otherwise the box would shrink, and its budget grow."""
        for j in range(self.n_features):
            k = self.reduced_cost_row + j
            if abs(values[k]) <= REDUCED_COST and abs(piece.z[j]) < self.upper[j]:
                self.dual.set_bounds(k, 0.0, 0.0)
