"""The dictionary of a linear program, and the corners its rows sit on.

The programs of the search have the form

    minimise Σ_k h_k(z_k)   subject to   z = [I; A] u,   low_k ≤ z_k ≤ high_k,

where ``h_k`` is linear or has one kink, with ``slope_left`` below it and ``slope_right`` above, no
smaller. The first ``q`` rows of ``z`` are the variables ``u`` themselves. A *dictionary* writes the
basic rows by the nonbasic ones, ``z_B = D z_N``; it is all that is kept. ``D[j, i]`` is what column
``j`` adds to row ``i``: there are far more rows than columns as a rule, and a pivot that runs along
the rows of one column after the other is the fastest.

To it belong multipliers ``y`` with ``y_N = −Dᵀ y_B``. A basic row lies on one *segment* of its
function, and its ``y`` is that segment's slope. A nonbasic row sits on a corner, a bound or the
kink, that minimises ``h_k(z) − y_k·z``, so ``y_k`` lies between the slopes on either side, where a
bound counts as an infinite one. Hence the sum of these minima is a lower bound of the program, and
changing bounds keeps ``y`` feasible: a warm start is free.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pessimal.lp.program import KinkedProgram
from pessimal.lp.watch import Watch
from pessimal.problem import Matrix, Vector
from pessimal.tolerances import LP_FEASIBILITY, PIVOT

INF = np.inf


class Dictionary:
    """One linear program and its current dictionary; whoever rewrites A calls `refactor`."""

    def __init__(self, program: KinkedProgram, watch: Watch | None = None) -> None:
        self.watch = Watch() if watch is None else watch
        self.n_local = program.n_local
        self.m = program.A.shape[0]
        self.q = program.A.shape[1]
        self.size = self.m + self.q
        self.A = program.A.copy() if program.n_local else program.A
        self.slope_left = program.slope_left
        self.slope_right = program.slope_right
        self.kink = program.kink
        self.D = np.zeros((self.q, self.m))
        self.leaving_column = np.zeros(self.m)
        self.place(np.zeros((4, self.size)), np.zeros((4, self.size), np.intp))
        self.objective = 0.0
        self.pivots = 0
        self.age = 0
        self.start(program.low, program.high)

    def start(self, low: Vector, high: Vector) -> None:
        """Take bounds, and the dictionary in which the variables are nonbasic."""
        for k in range(self.size):
            self.low[k] = low[k]
            self.high[k] = high[k]
        for k in range(self.q, self.size):
            self.segment[k] = 0 if self.kink[k] > 0.0 else 1
        self.reset()
        self.reprice(False)

    def place(self, reals: Matrix, wholes: NDArray[np.intp]) -> None:
        """Keep the vectors in two blocks: most programs are small, and solved in less time."""
        self.z = reals[0]
        self.y = reals[1]
        self.low = reals[2]
        self.high = reals[3]
        self.position = wholes[0]  # row i of D, or −1−j for column j
        self.segment = wholes[1]  # 0 left of the kink, 1 right of it
        self.wanted = wholes[2]
        self.basic = wholes[3, : self.m]
        self.nonbasic = wholes[3, self.m :]

    def reset(self) -> None:
        """Make the variables nonbasic and the rows of A basic."""
        for j in range(self.q):
            self.nonbasic[j] = j
            self.position[j] = -1 - j
        for i in range(self.m):
            self.basic[i] = self.q + i
            self.position[self.q + i] = i
            for j in range(self.q):
                self.D[j, i] = self.A[i, j]

    def reprice(self, stay: bool) -> None:
        """Recompute ``y``, the corners of the nonbasic rows (unless they may `stay`), and ``z``."""
        for i in range(self.m):
            k = self.basic[i]
            self.y[k] = self.slope_left[k] if self.segment[k] == 0 else self.slope_right[k]
            self.z[k] = 0.0
        for j in range(self.q):
            k = self.nonbasic[j]
            total = 0.0
            for i in range(self.m):
                total -= self.D[j, i] * self.y[self.basic[i]]
            self.y[k] = total
            if not (stay and self.settled(k)):
                self.z[k] = self.best_corner(k)
            for i in range(self.m):
                self.z[self.basic[i]] += self.D[j, i] * self.z[k]

    def refactor(self) -> None:
        """Rebuild the dictionary of the current basis from the data, to be rid of rounding.

        Without a basis to be had, or the time to build it, start over from the variables.
        """
        for k in range(self.size):
            self.wanted[k] = self.position[k] < 0
        self.reset()
        for i in range(self.m):
            if not self.wanted[self.q + i]:
                continue
            column = -1
            largest = PIVOT
            for j in range(self.q):
                if not self.wanted[self.nonbasic[j]] and abs(self.D[j, i]) > largest:
                    largest = abs(self.D[j, i])
                    column = j
            if column < 0 or self.watch.stops(self.m * self.q):
                self.reset()
                break
            self.exchange(i, column)
        self.age = 0
        self.reprice(True)

    def copy_from(self, other: Dictionary) -> None:
        """Become a copy of `other`, which has the same functions and A but for its local rows."""
        for i in range(self.m):
            self.basic[i] = other.basic[i]
        for i in range(self.m - self.n_local, self.m):
            for j in range(self.q):
                self.A[i, j] = other.A[i, j]
        for j in range(self.q):
            self.nonbasic[j] = other.nonbasic[j]
            for i in range(self.m):
                self.D[j, i] = other.D[j, i]
        for k in range(self.size):
            self.position[k] = other.position[k]
            self.segment[k] = other.segment[k]
            self.z[k] = other.z[k]
            self.y[k] = other.y[k]
            self.low[k] = other.low[k]
            self.high[k] = other.high[k]
        self.objective = other.objective
        self.age = other.age

    def set_bounds(self, k: int, low: float, high: float) -> None:
        """Change the bounds of row `k`; a nonbasic row moves to a new corner if it must."""
        self.low[k] = low
        self.high[k] = high
        if self.position[k] < 0 and not self.settled(k):
            self.settle(-1 - self.position[k])

    def settled(self, k: int) -> bool:
        """Whether nonbasic row `k` may stay where it is."""
        return (
            self.low[k] <= self.z[k] <= self.high[k]
            and self.left_slope(k) - LP_FEASIBILITY <= self.y[k]
            and self.y[k] <= self.right_slope(k) + LP_FEASIBILITY
        )

    def settle(self, j: int) -> None:
        """Move the nonbasic row of column `j` to its best corner."""
        k = self.nonbasic[j]
        corner = self.best_corner(k)
        move = corner - self.z[k]
        if move != 0.0:
            self.z[k] = corner
            for i in range(self.m):
                self.z[self.basic[i]] += self.D[j, i] * move

    def left_slope(self, k: int) -> float:
        """Smallest multiplier allowed at the corner on which nonbasic row `k` sits."""
        if self.z[k] <= self.low[k]:
            return -INF
        return self.slope_left[k] if self.z[k] <= self.kink[k] else self.slope_right[k]

    def right_slope(self, k: int) -> float:
        """Largest multiplier allowed at the corner on which nonbasic row `k` sits."""
        if self.z[k] >= self.high[k]:
            return INF
        return self.slope_left[k] if self.z[k] < self.kink[k] else self.slope_right[k]

    def corner_value(self, k: int, at: float) -> float:
        """``h_k(at) − y_k·at``: the Lagrangian's share of row `k`."""
        slope = self.slope_left[k] if at < self.kink[k] else self.slope_right[k]
        return slope * (at - self.kink[k]) - self.y[k] * at

    def best_corner(self, k: int) -> float:
        """Corner of row `k` that minimises the Lagrangian."""
        corner = self.kink[k]
        value = INF
        if self.low[k] <= corner <= self.high[k]:
            value = -self.y[k] * corner
        if self.low[k] > -INF:
            other = self.corner_value(k, self.low[k])
            if other < value:
                value = other
                corner = self.low[k]
        if self.high[k] < INF:
            other = self.corner_value(k, self.high[k])
            if other < value:
                corner = self.high[k]
        return corner

    def dual_objective(self) -> float:
        """Value of the Lagrangian at ``y``; a lower bound of the program."""
        total = 0.0
        for k in range(self.size):
            y = self.y[k]
            left = self.slope_left[k]
            right = self.slope_right[k]
            at = self.kink[k]
            low = self.low[k]
            high = self.high[k]
            least = INF  # of the Lagrangian's share of the row, which one of its corners has
            if low <= at <= high or (self.position[k] >= 0 and left == right):
                least = -y * at
            # A linear basic row has the same share everywhere: y is its slope.
            if self.position[k] < 0 or left != right:
                if low > -INF:
                    least = min(least, (left if low < at else right) * (low - at) - y * low)
                if high < INF:
                    least = min(least, (left if high < at else right) * (high - at) - y * high)
            total += least
        return total

    def exchange(self, row: int, column: int) -> None:
        """Let a basic and a nonbasic row change places in the dictionary."""
        D = self.D
        factor = self.leaving_column
        inverse = 1.0 / D[column, row]
        for i in range(self.m):
            factor[i] = D[column, i]
            D[column, i] *= inverse
        D[column, row] = inverse
        for j in range(self.q):
            share = -inverse * D[j, row]
            if j != column and share != 0.0:
                for i in range(self.m):
                    D[j, i] += factor[i] * share
                D[j, row] = share
        leaving = self.basic[row]
        entering = self.nonbasic[column]
        self.basic[row] = entering
        self.nonbasic[column] = leaving
        self.position[entering] = row
        self.position[leaving] = -1 - column

    def bounds(self) -> tuple[Vector, Vector]:
        """Bounds of all rows, as arrays."""
        return np.asarray(self.low), np.asarray(self.high)

    def values(self) -> Vector:
        """``z``: the variables and the rows of A, at the current dictionary."""
        return np.asarray(self.z)

    def multipliers(self) -> Vector:
        """``y``: one multiplier per row."""
        return np.asarray(self.y)
