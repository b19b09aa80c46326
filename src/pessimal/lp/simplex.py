"""Dual simplex for sums of two-piece linear functions.

Each step picks a basic row off its segment and moves its multiplier until a nonbasic row leaves the
slopes of its corner (a pivot), or until the row itself passes its kink (a new segment, no pivot).
The row is the one along which the objective grows fastest, measured by how far all multipliers move
(steepest edge): hinge fits take a quarter to an eighth of the pivots. The objective only grows, so
it is a valid lower bound at every moment.
"""

from __future__ import annotations

import numpy as np

from pessimal.lp.codes import CUT_OFF, INFEASIBLE, OPTIMAL, STALLED
from pessimal.lp.dictionary import Dictionary
from pessimal.lp.program import KinkedProgram
from pessimal.lp.watch import Watch
from pessimal.tolerances import LP_FEASIBILITY, PIVOT

INF = np.inf
HARRIS = 1e-10  # how far a multiplier may overstep for the sake of a larger pivot
REFACTOR_AFTER = 60  # pivots between two recomputations from the data, from one solve to the next
REFACTOR_WITHIN = 4  # the same within a long solve, per variable: it costs about one pivot each
SMALL_PIVOT = 1e-5  # one that is smaller, or larger than its inverse, leaves too much rounding
PERTURBATION = 1e-4  # size of the random costs that settle ties, relative to the largest slope
LEAST_COST = 1e-7  # of a move; what rounding leaves of a smaller one says little of how far it goes
GOLDEN = 0.6180339887498949  # its multiples are spread evenly over [0, 1)


class Simplex(Dictionary):
    """The dual simplex method, from whatever dictionary there is.

    After an infeasible end `row` and `direction` name the basic row, too large (1) or too small
    (−1), whose entries in the dictionary are the proof. When its watch says stop it has stalled.
    """

    def __init__(self, program: KinkedProgram, watch: Watch | None = None) -> None:
        super().__init__(program, watch)
        self.row = -1
        self.direction = 0
        self.column = -1
        self.ratio = np.zeros(self.q)

    def solve(self, cutoff: float) -> int:
        """Run to optimality, infeasibility, or a bound of `cutoff`; see `objective` and `row`."""
        if self.age > REFACTOR_AFTER:
            self.refactor()
        n_steps = 30 + self.size // 2
        status = self.iterate(cutoff, n_steps, False)
        if status == STALLED and not self.watch.over:
            # Many ties: settle them with random costs, then go on from there without, even when
            # infeasible, for the row that proves it must be one of the final dictionary.
            self.perturb()
            self.iterate(INF, 10 * n_steps, False)
            self.unperturb()
            status = self.iterate(cutoff, n_steps, False)
        if status == STALLED and not self.watch.over:
            status = self.iterate(cutoff, 10 * n_steps, True)
        return status

    def perturb(self) -> None:
        """Add a cost of random slope to either side of every kink."""
        self.true_left = self.slope_left.copy()
        self.true_right = self.slope_right.copy()
        largest = 0.0
        for k in range(self.size):
            largest = max(largest, abs(self.slope_left[k]), abs(self.slope_right[k]))
        scale = PERTURBATION * (largest if largest > 0.0 else 1.0)
        for k in range(self.size):
            slope = scale * (0.5 + (k * GOLDEN) % 1.0)
            self.slope_left[k] -= slope
            self.slope_right[k] += slope
            if self.position[k] >= 0:
                self.segment[k] = 0 if self.z[k] < self.kink[k] else 1
        self.refactor()

    def unperturb(self) -> None:
        """Put the true costs back."""
        self.slope_left[:] = self.true_left
        self.slope_right[:] = self.true_right
        self.refactor()

    def iterate(self, cutoff: float, n_steps: int, bland: bool) -> int:
        """Take up to `n_steps` steps of the dual simplex, by Bland's rule if asked."""
        self.objective = self.dual_objective()
        for _ in range(n_steps):
            if self.objective >= cutoff:
                # Multipliers that overstepped their slopes a little count as if they had not: over
                # wide bounds that adds up. The Lagrangian itself is a bound whatever they are.
                self.objective = self.dual_objective()
                if self.objective >= cutoff:
                    return CUT_OFF
            if self.watch.stops(self.m * self.q):
                return STALLED
            row = -1
            direction = 0
            steepest = 0.0
            worst = 0.0
            target = 0.0
            for i in range(self.m):
                k = self.basic[i]
                at = self.z[k]
                start = self.low[k]
                end = self.high[k]
                if self.slope_left[k] != self.slope_right[k]:
                    if self.segment[k] == 0:
                        end = max(min(self.kink[k], end), start)
                    else:
                        start = min(max(self.kink[k], start), end)
                off = max(at - end, start - at)
                if off > LP_FEASIBILITY:
                    steepness = off * off / self.edge(i)
                    if row < 0 or steepness > steepest:
                        steepest = steepness
                        worst = off
                        row = i
                        direction = 1 if self.z[k] > end else -1
                        target = end if self.z[k] > end else start
                if bland and row >= 0:
                    break
            if row < 0:
                self.objective = self.dual_objective()
                return OPTIMAL
            k = self.basic[row]
            # How far the row's own multiplier may go before the row passes its kink.
            if direction == 1:
                own = INF if target >= self.high[k] else self.slope_right[k] - self.y[k]
            else:
                own = INF if target <= self.low[k] else self.y[k] - self.slope_left[k]
            step = self.entering(row, direction, bland)
            if own == INF and self.column < 0:
                self.row = row
                self.direction = direction
                return INFEASIBLE
            if own <= step:
                for j in range(self.q):
                    self.y[self.nonbasic[j]] -= direction * self.D[j, row] * own
                self.segment[k] = 1 if direction == 1 else 0
                self.y[k] = self.slope_right[k] if direction == 1 else self.slope_left[k]
                self.objective += own * worst
            else:
                self.objective += step * worst
                magnitude = abs(self.D[self.column, row])
                rough = not SMALL_PIVOT < magnitude < 1.0 / SMALL_PIVOT
                self.pivot(row, self.column, target, direction, step)
                if rough or self.age > REFACTOR_AFTER + REFACTOR_WITHIN * self.q:
                    self.refactor()
                    self.objective = self.dual_objective()
        self.objective = self.dual_objective()
        return STALLED

    def edge(self, i: int) -> float:
        """Squared length by which all multipliers move when that of basic row `i` moves by 1."""
        total = 1.0
        for j in range(self.q):
            total += self.D[j, i] * self.D[j, i]
        return total

    def entering(self, row: int, direction: int, bland: bool) -> float:
        """Ratio test; leaves the entering column in `column` (−1: none) and returns the step.

        Two passes (Harris): the largest step that oversteps no multiplier by more than `HARRIS`,
        then, among the columns that block by then, the largest pivot. Bland's rule against cycling
        takes the first row of those that block first.
        """
        slack = 0.0 if bland else HARRIS
        limit = INF
        for j in range(self.q):
            a = -direction * self.D[j, row]
            self.ratio[j] = INF
            if abs(a) <= PIVOT:
                continue
            k = self.nonbasic[j]
            at = self.z[k]
            if a > 0.0:
                room = INF
                if at < self.high[k]:
                    slope = self.slope_left[k] if at < self.kink[k] else self.slope_right[k]
                    room = slope - self.y[k]
            else:
                a = -a
                room = INF
                if at > self.low[k]:
                    slope = self.slope_left[k] if at <= self.kink[k] else self.slope_right[k]
                    room = self.y[k] - slope
            self.ratio[j] = room / a
            limit = min(limit, (room + slack) / a)
        self.column = -1
        if limit == INF:
            return INF
        step = 0.0
        largest = 0.0
        for j in range(self.q):
            if self.ratio[j] > limit:
                continue
            if bland:
                if self.column < 0 or self.nonbasic[j] < self.nonbasic[self.column]:
                    self.column = j
                    step = self.ratio[j]
            elif abs(self.D[j, row]) > largest:
                largest = abs(self.D[j, row])
                self.column = j
                step = self.ratio[j]
        return max(step, 0.0)

    def pivot(self, row: int, column: int, target: float, direction: int, step: float) -> None:
        """Row leaves at `target`, column enters on the segment it moves into."""
        D = self.D
        leaving = self.basic[row]
        entering = self.nonbasic[column]
        for j in range(self.q):
            self.y[self.nonbasic[j]] -= direction * D[j, row] * step
        self.y[leaving] += direction * step
        if -direction * D[column, row] > 0.0:
            right = self.z[entering] >= self.kink[entering]
        else:
            right = self.z[entering] > self.kink[entering]
        self.segment[entering] = 1 if right else 0
        self.y[entering] = self.slope_right[entering] if right else self.slope_left[entering]

        move = (target - self.z[leaving]) / D[column, row]
        for i in range(self.m):
            self.z[self.basic[i]] += D[column, i] * move
        self.z[entering] += move
        self.z[leaving] = target

        self.exchange(row, column)
        self.age += 1
        self.pivots += 1

    def reach(self, k: int, direction: int, gap: float) -> float:
        """How far row `k` can go up (1) or down (−1) before the objective has grown by `gap`.

        Off their corners the nonbasic rows cost what their multipliers lack to the next slope, and
        together no more than the gap; a basic row moves with them, furthest with one of them alone.
        """
        if self.position[k] < 0:
            cost = self.cost_to_move(k, direction)
            return gap / cost if cost > LEAST_COST else INF
        furthest = 0.0
        for j in range(self.q):
            a = direction * self.D[j, self.position[k]]
            if abs(a) > PIVOT:
                cost = self.cost_to_move(self.nonbasic[j], 1 if a > 0.0 else -1)
                if cost <= LEAST_COST:
                    return INF
                furthest = max(furthest, abs(a) / cost)
        return furthest * gap

    def cost_to_move(self, k: int, direction: int) -> float:
        """Rate at which the objective grows, at least, as nonbasic row `k` leaves its corner."""
        if direction > 0:
            return self.right_slope(k) - self.y[k]
        return self.y[k] - self.left_slope(k)

    def bound_after(self, k: int, low: float, high: float) -> float:
        """Lower bound under tighter bounds on row `k`: one dual step, nothing kept."""
        at = self.z[k]
        target = high if at > high else low
        # A row that rounding alone holds off its bound proves nothing.
        if low - LP_FEASIBILITY <= at <= high + LP_FEASIBILITY:
            return self.objective
        if self.position[k] < 0:
            return self.objective + self.corner_value(k, target) - self.corner_value(k, at)
        direction = 1 if at > high else -1
        row = self.position[k]
        step = INF
        for j in range(self.q):
            a = -direction * self.D[j, row]
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
