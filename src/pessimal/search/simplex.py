"""Dual simplex for sums of two-piece linear functions, on a dense dictionary.

The programs of the search have the form

    minimise Σ_k h_k(z_k)   subject to   z = [I; A] u,   low_k ≤ z_k ≤ high_k,

where ``h_k`` is linear or has one kink, with ``slope_left`` below it and ``slope_right`` above, no
smaller. The first ``q`` rows of ``z`` are the variables ``u`` themselves. A *dictionary* writes the
basic rows by the nonbasic ones, ``z_B = D z_N``; it is all the algorithm keeps.

Dual side: multipliers ``y`` with ``y_N = −Dᵀ y_B`` and ``y_k`` in the subdifferential of ``h_k``
plus the normal cone of ``[low_k, high_k]``. A nonbasic row sits on a corner (a bound or the kink);
a basic row lies on one *segment* of its function and its ``y`` is that segment's slope. Each step
picks the basic row furthest off its segment and moves its ``y`` until a nonbasic row leaves its
subdifferential (a pivot), or until the row itself passes its kink (a new segment, no pivot). The
objective only grows, so it is a valid lower bound at every moment.

Changing bounds keeps ``y`` feasible: a warm start is free.
"""

from __future__ import annotations

import numpy as np

from pessimal.problem import Matrix, Vector
from pessimal.search.codes import CUT_OFF, INFEASIBLE, OPTIMAL, STALLED
from pessimal.tolerances import LP_FEASIBILITY, PIVOT

INF = np.inf
HARRIS = 1e-10  # how far a multiplier may overstep for the sake of a larger pivot
REFACTOR_AFTER = 60  # pivots between two recomputations from the data
PERTURBATION = 1e-4
GOLDEN = 0.6180339887498949  # its multiples are spread evenly over [0, 1)


class Dictionary:
    """One linear program and its current dictionary.

    The last `n_local` rows of A are its own, to be rewritten followed by `refactor`.
    """

    def __init__(
        self,
        A: Matrix,
        low: Vector,
        high: Vector,
        slope_left: Vector,
        slope_right: Vector,
        kink: Vector,
        n_local: int = 0,
    ) -> None:
        self.n_local = n_local
        self.m = A.shape[0]
        self.q = A.shape[1]
        self.size = self.m + self.q
        self.A = A.copy() if n_local else A
        self.slope_left = slope_left
        self.slope_right = slope_right
        self.kink = kink
        self.D = np.zeros((self.m, self.q))
        self.basic = np.zeros(self.m, np.intp)
        self.nonbasic = np.zeros(self.q, np.intp)
        self.position = np.zeros(self.size, np.intp)  # row i of D, or −1−j for column j
        self.segment = np.zeros(self.size, np.intp)  # 0 left of the kink, 1 right of it
        self.z = np.zeros(self.size)
        self.y = np.zeros(self.size)
        self.low = low.copy()
        self.high = high.copy()
        self.objective = 0.0
        self.row = -1
        self.direction = 0
        self.pivots = 0
        self.age = 0
        self.wanted = np.zeros(self.size, np.intp)
        for i in range(self.m):
            k = self.q + i
            self.segment[k] = 0 if self.kink[k] > 0.0 else 1
        self.reset()
        self.reprice(False)

    def reset(self) -> None:
        """Make the variables nonbasic and the rows of A basic."""
        for j in range(self.q):
            self.nonbasic[j] = j
            self.position[j] = -1 - j
        for i in range(self.m):
            self.basic[i] = self.q + i
            self.position[self.q + i] = i
            for j in range(self.q):
                self.D[i, j] = self.A[i, j]

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
                total -= self.D[i, j] * self.y[self.basic[i]]
            self.y[k] = total
            if not (stay and self.settled(k)):
                self.z[k] = self.best_corner(k)
        for i in range(self.m):
            total = 0.0
            for j in range(self.q):
                total += self.D[i, j] * self.z[self.nonbasic[j]]
            self.z[self.basic[i]] = total

    def refactor(self) -> None:
        """Rebuild the dictionary of the current basis from the data, to be rid of rounding."""
        for k in range(self.size):
            self.wanted[k] = self.position[k] < 0
        self.reset()
        for i in range(self.m):
            if not self.wanted[self.q + i]:
                continue
            column = -1
            largest = PIVOT
            for j in range(self.q):
                if not self.wanted[self.nonbasic[j]] and abs(self.D[i, j]) > largest:
                    largest = abs(self.D[i, j])
                    column = j
            if column < 0:  # singular: start over from the variables
                self.reset()
                break
            self.exchange(i, column)
        self.age = 0
        self.reprice(True)

    def copy_from(self, other: Dictionary) -> None:
        """Become a copy of `other`, which has the same functions and A but for its local rows."""
        for i in range(self.m):
            self.basic[i] = other.basic[i]
            for j in range(self.q):
                self.D[i, j] = other.D[i, j]
        for i in range(self.m - self.n_local, self.m):
            for j in range(self.q):
                self.A[i, j] = other.A[i, j]
        for j in range(self.q):
            self.nonbasic[j] = other.nonbasic[j]
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
                self.z[self.basic[i]] += self.D[i, j] * move

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
            total += self.corner_value(k, self.best_corner(k))
        return total

    def bound_after(self, k: int, low: float, high: float) -> float:
        """Lower bound of the program with these bounds on row `k`: one dual step, nothing kept."""
        at = self.z[k]
        target = high if at > high else low
        if low <= at <= high:
            return self.objective
        if self.position[k] < 0:
            return self.objective + self.corner_value(k, target) - self.corner_value(k, at)
        direction = 1 if at > high else -1
        row = self.position[k]
        step = INF
        for j in range(self.q):
            a = -direction * self.D[row, j]
            if a > PIVOT:
                n = self.nonbasic[j]
                ratio = (self.right_slope(n) - self.y[n]) / a
                step = min(ratio, step)
            elif a < -PIVOT:
                n = self.nonbasic[j]
                ratio = (self.left_slope(n) - self.y[n]) / a
                step = min(ratio, step)
        if step == INF:
            return INF
        return self.objective + max(step, 0.0) * abs(at - target)

    def solve(self, cutoff: float) -> int:
        """Run to optimality, infeasibility, or a bound of `cutoff`; see `objective` and `row`."""
        if self.age > REFACTOR_AFTER:
            self.refactor()
        patience = 30 + self.size // 2
        status = self.iterate(cutoff, patience, False)
        if status == STALLED:
            # Many ties: settle them with random costs, then go on from there without, even when
            # infeasible, for the row that proves it must be one of the final dictionary.
            self.perturb(PERTURBATION)
            self.iterate(INF, 10 * patience, False)
            self.perturb(-PERTURBATION)
            status = self.iterate(cutoff, patience, False)
        if status == STALLED:
            status = self.iterate(cutoff, 10 * patience, True)
        return status

    def perturb(self, size: float) -> None:
        """Add a cost of random slope, about `size`, to either side of every kink."""
        for k in range(self.size):
            slope = size * (0.5 + (k * GOLDEN) % 1.0)
            self.slope_left[k] -= slope
            self.slope_right[k] += slope
            if self.position[k] >= 0:
                self.segment[k] = 0 if self.z[k] < self.kink[k] else 1
        self.refactor()

    def iterate(self, cutoff: float, n_steps: int, bland: bool) -> int:
        """Take up to `n_steps` steps of the dual simplex, by Bland's rule if asked."""
        self.objective = self.dual_objective()
        for _ in range(n_steps):
            if self.objective >= cutoff:
                return CUT_OFF
            row = -1
            direction = 0
            worst = LP_FEASIBILITY
            target = 0.0
            for i in range(self.m):
                k = self.basic[i]
                start = self.low[k]
                end = self.high[k]
                if self.slope_left[k] != self.slope_right[k]:
                    if self.segment[k] == 0:
                        end = max(min(self.kink[k], end), start)
                    else:
                        start = min(max(self.kink[k], start), end)
                if self.z[k] - end > worst:
                    worst = self.z[k] - end
                    row = i
                    direction = 1
                    target = end
                elif start - self.z[k] > worst:
                    worst = start - self.z[k]
                    row = i
                    direction = -1
                    target = start
                if bland and row >= 0:
                    break
            if row < 0:
                return OPTIMAL
            k = self.basic[row]
            # How far the row's own multiplier may go before the row passes its kink.
            if direction == 1:
                own = INF if target >= self.high[k] else self.slope_right[k] - self.y[k]
            else:
                own = INF if target <= self.low[k] else self.y[k] - self.slope_left[k]
            step = self.entering(row, direction, bland)
            if own == INF and self.row < 0:
                self.row = row
                self.direction = direction
                return INFEASIBLE
            if own <= step:
                for j in range(self.q):
                    self.y[self.nonbasic[j]] -= direction * self.D[row, j] * own
                self.segment[k] = 1 if direction == 1 else 0
                self.y[k] = self.slope_right[k] if direction == 1 else self.slope_left[k]
                self.objective += own * worst
            else:
                self.objective += step * worst
                self.pivot(row, self.row, target, direction, step)
        return STALLED

    def entering(self, row: int, direction: int, bland: bool) -> float:
        """Ratio test; leaves the entering column in `row` (−1: none) and returns the step.

        Two passes (Harris): the largest step that oversteps no multiplier by more than `HARRIS`,
        then, among the columns that block by then, the largest pivot. Bland's rule against cycling
        takes the first row of those that block first.
        """
        slack = 0.0 if bland else HARRIS
        limit = INF
        for j in range(self.q):
            a = -direction * self.D[row, j]
            if a > PIVOT:
                k = self.nonbasic[j]
                limit = min(limit, (self.right_slope(k) - self.y[k] + slack) / a)
            elif a < -PIVOT:
                k = self.nonbasic[j]
                limit = min(limit, (self.left_slope(k) - self.y[k] - slack) / a)
        self.row = -1
        if limit == INF:
            return INF
        step = 0.0
        largest = 0.0
        for j in range(self.q):
            a = -direction * self.D[row, j]
            if a > PIVOT:
                k = self.nonbasic[j]
                ratio = (self.right_slope(k) - self.y[k]) / a
            elif a < -PIVOT:
                k = self.nonbasic[j]
                ratio = (self.left_slope(k) - self.y[k]) / a
            else:
                continue
            if ratio > limit:
                continue
            if bland:
                if self.row < 0 or k < self.nonbasic[self.row]:
                    self.row = j
                    step = ratio
            elif abs(a) > largest:
                largest = abs(a)
                self.row = j
                step = ratio
        return max(step, 0.0)

    def pivot(self, row: int, column: int, target: float, direction: int, step: float) -> None:
        """Row leaves at `target`, column enters on the segment it moves into."""
        D = self.D
        leaving = self.basic[row]
        entering = self.nonbasic[column]
        for j in range(self.q):
            self.y[self.nonbasic[j]] -= direction * D[row, j] * step
        self.y[leaving] += direction * step
        if -direction * D[row, column] > 0.0:
            right = self.z[entering] >= self.kink[entering]
        else:
            right = self.z[entering] > self.kink[entering]
        self.segment[entering] = 1 if right else 0
        self.y[entering] = self.slope_right[entering] if right else self.slope_left[entering]

        move = (target - self.z[leaving]) / D[row, column]
        for i in range(self.m):
            self.z[self.basic[i]] += D[i, column] * move
        self.z[entering] += move
        self.z[leaving] = target

        self.exchange(row, column)
        self.age += 1
        self.pivots += 1

    def exchange(self, row: int, column: int) -> None:
        """Let a basic and a nonbasic row change places in the dictionary."""
        D = self.D
        inverse = 1.0 / D[row, column]
        for j in range(self.q):
            D[row, j] *= -inverse
        D[row, column] = inverse
        for i in range(self.m):
            if i != row:
                factor = D[i, column]
                if factor != 0.0:
                    D[i, column] = 0.0
                    for j in range(self.q):
                        D[i, j] += factor * D[row, j]
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
        """``y``: one multiplier a row."""
        return np.asarray(self.y)
