"""The models of a box that train within a limit, as a linear program whose costs can change.

The set is ``{u = (w, b): |w_j| ≤ box_j, L_T(u) ≤ limit}``. Its variables are u alone; its rows are
the validation margins, of which linear functions will be asked, and *cuts*: for any set S of
training points

    Σ_{i∈S} weight_i·(1 − margin_i) ≤ L_T(u) ≤ limit,

with equality on the left when S holds the points with an active hinge. An optimum that trains too
badly is cut off where the line to it from `inner`, a model that trains well, leaves the set: there
the cut touches the set (Veinott's supporting hyperplanes). That point is a model of the set, so no
solve goes without one, cut short or not. A cut holds in every box and with every limit, only its
right-hand side moves: soon hardly any are missing.

Every row has two finite bounds, implied by the rest where the problem gives none. So any
multipliers are dual feasible once each nonbasic row sits on the right bound, and the dual simplex
starts warm after every change: of the box, the limit or a cost.

Limits can be as small as the weights of points, so cuts are divided by the limit's own `unit`.
"""

from __future__ import annotations

import numpy as np

from pessimal.lp.codes import INFEASIBLE, OPTIMAL, STALLED
from pessimal.lp.program import KinkedProgram
from pessimal.lp.simplex import Simplex
from pessimal.lp.watch import Watch
from pessimal.problem import Matrix, Vector
from pessimal.tolerances import LP_FEASIBILITY, ROUNDING

INF = np.inf
MOST_ROUNDS = 200  # of solving and cutting
MOST_STEPS = 50  # of Newton's method on the way to the boundary; far fewer suffice


class Models(Simplex):
    """The set, the costs in force, and the dictionary that answered last."""

    def __init__(
        self, program: KinkedProgram, train_rows: Matrix, train_weight: Vector, watch: Watch
    ) -> None:
        super().__init__(program, watch)
        self.train_rows = train_rows
        self.train_weight = train_weight
        self.n_train = len(train_weight)
        self.n_val = self.m - program.n_local
        self.n_cuts = program.n_local - 1
        self.first_cut = self.q + self.n_val
        self.limit = INF
        self.rounds = MOST_ROUNDS  # after fewer of them an optimum is a bound
        self.unit = 1.0
        self.inner = np.zeros(self.q)
        self.inner_margin = np.zeros(self.n_train)
        self.margin = np.zeros(self.n_train)
        self.share = 1.0  # of the way from `inner` to the last optimum that lies in the set
        self.normal = np.zeros(self.q)
        self.terms = np.zeros(self.q)
        self.cut_weight = np.zeros(self.n_cuts)  # Σ_S weight_i; 0: no cut yet
        self.widest_low = program.low.copy()
        self.widest_high = program.high.copy()

    def move_to(self, box: Vector, limit: float, unit: float, inner: Vector) -> None:
        """Move to another box and training limit, validation margins free, no objective cut.

        `inner` is a model of the new set; far inside is best.
        """
        self.limit = limit
        self.drop_objective_cut()
        for j in range(self.q - 1):
            self.set_bounds(j, -box[j], box[j])
        for k in range(self.q, self.first_cut):
            self.set_bounds(k, self.widest_low[k], self.widest_high[k])
        if unit != self.unit:
            self.unit = unit
            self.forget_cuts()
        for c in range(self.n_cuts):
            if self.cut_weight[c] > 0.0:
                k = self.first_cut + c
                self.set_bounds(k, self.cut_weight[c] - limit / unit, self.widest_high[k] / unit)
        for i in range(self.n_train):
            self.inner_margin[i] = 0.0
            for j in range(self.q):
                self.inner_margin[i] += self.train_rows[i, j] * inner[j]
        for j in range(self.q):
            self.inner[j] = inner[j]

    def forget_cuts(self) -> None:
        """Let the rows of all cuts be without effect."""
        for c in range(self.n_cuts):
            self.cut_weight[c] = 0.0
            k = self.first_cut + c
            self.low[k] = self.widest_low[k]
            self.high[k] = self.widest_high[k]
            for j in range(self.q):
                self.A[self.n_val + c, j] = 0.0
        self.refactor()

    def replace_rows(self, rows: Matrix) -> None:
        """Let these, as many as there is room for, be the first of its rows, others be 0.

        Their bounds are to be set afterwards.
        """
        for k in range(self.n_val):
            for j in range(self.q):
                self.A[k, j] = rows[k, j] if k < rows.shape[0] else 0.0
            self.set_bounds(self.q + k, self.widest_low[self.q + k], self.widest_high[self.q + k])
        self.refactor()

    def set_cost(self, k: int, slope_left: float, slope_right: float, kink: float) -> None:
        """Let row `k` cost a function of one kink, 0 there; `reprice` makes it count."""
        self.slope_left[k] = slope_left
        self.slope_right[k] = slope_right
        self.kink[k] = kink

    def active_set_loss(self, weight: Vector) -> float:
        """Largest ``Σ weight_k·(1 − margin_k)`` over the set; −∞ if there is no model in it.

        With the weights of some validation points and 0 for the others it is a lower bound on the
        largest validation loss.
        """
        return -self.objective if self.optimise_active_set(weight) == OPTIMAL else -INF

    def optimise_active_set(self, weight: Vector) -> int:
        """Make ``−Σ weight_k·(1 − margin_k)`` the cost and minimise it."""
        for k in range(self.n_val):
            self.set_cost(self.q + k, weight[k], weight[k], 1.0)
        self.reprice(False)
        return self.optimise(INF)

    def minimise(self, A: Matrix, row: int, sign: float) -> int:
        """Minimise ``sign·A[row]·u``: of a program none of whose rows has a cost."""
        for j in range(self.q):
            self.set_cost(j, sign * A[row, j], sign * A[row, j], 0.0)
        self.reprice(False)
        return self.optimise(INF)

    def optimise(self, cutoff: float) -> int:
        """Solve and cut until the optimum trains within the limit; see `Simplex.solve`.

        However it ends, `objective` is a lower bound, and `share` of the way to ``z`` is a model.
        """
        self.share = 0.0
        if self.limit < 0.0:  # no hinge is negative, and the cut of no hinges would be no row
            return INFEASIBLE
        for _ in range(self.rounds):
            self.share = 0.0  # that of the last optimum is none of a point on the way to the next
            status = self.solve(cutoff)
            if status == INFEASIBLE and not self.certainly_infeasible():
                return STALLED
            if status != OPTIMAL or not self.cut():
                return status
            if self.watch.stops(self.n_train * self.q):
                break
        return STALLED

    def safe_bound(self) -> float:
        """Bound what `minimise` minimised, from the rows and multipliers, less all rounding.

        For any multipliers of rows what is left of the cost is least at a corner of the box.
        """
        total = 0.0
        size = 0.0
        for j in range(self.q):
            self.normal[j] = self.slope_left[j]
            self.terms[j] = abs(self.slope_left[j])
        for i in range(self.m):
            k = self.q + i
            share = -self.y[k]
            if share != 0.0:
                part = share * (self.low[k] if share > 0.0 else self.high[k])
                total += part
                size += abs(part)
                for j in range(self.q):
                    self.normal[j] -= share * self.A[i, j]
                    self.terms[j] += abs(share * self.A[i, j])
        for j in range(self.q):
            total += min(self.normal[j] * self.low[j], self.normal[j] * self.high[j])
            size += self.terms[j] * max(abs(self.low[j]), abs(self.high[j]))
        return total - ROUNDING * size

    def certainly_infeasible(self) -> bool:
        """Whether the row that proves infeasibility does so with its smallest entries, too."""
        k = self.basic[self.row]
        reach = 0.0
        for j in range(self.q):
            n = self.nonbasic[j]
            at_low = self.D[j, self.row] * self.low[n]
            at_high = self.D[j, self.row] * self.high[n]
            if self.direction == 1:
                reach += min(at_low, at_high)
            else:
                reach += max(at_low, at_high)
        return reach > self.high[k] if self.direction == 1 else reach < self.low[k]

    def cut(self) -> bool:
        """Cut the optimum off if it trains too badly; return whether it did.

        The training loss on the line from `inner` is convex and piecewise linear, so Newton's
        method comes down to the limit from above, in as many steps as it meets pieces. The hinges
        active on the last piece make the cut.
        """
        for i in range(self.n_train):
            self.margin[i] = 0.0
            for j in range(self.q):
                self.margin[i] += self.train_rows[i, j] * self.z[j]
        # A cut in force is met to within LP_FEASIBILITY; asking for no more would add it again.
        most = self.limit + 2.0 * LP_FEASIBILITY * self.unit
        self.share = 1.0
        last = 1.0
        total = 0.0
        for step in range(MOST_STEPS):
            loss = 0.0
            rate = 0.0
            weight = 0.0
            for i in range(self.n_train):
                change = self.margin[i] - self.inner_margin[i]
                margin = self.inner_margin[i] + self.share * change
                if margin < 1.0:
                    loss += self.train_weight[i] * (1.0 - margin)
                    rate -= self.train_weight[i] * change
                    weight += self.train_weight[i]
            if loss <= most:
                if step == 0:
                    return False
                break
            total = weight
            last = self.share
            self.share = max(0.0, self.share - (loss - self.limit) / rate) if rate > 0.0 else 0.0
        for j in range(self.q):
            self.normal[j] = 0.0
        for i in range(self.n_train):
            if self.inner_margin[i] + last * (self.margin[i] - self.inner_margin[i]) < 1.0:
                for j in range(self.q):
                    self.normal[j] += self.train_weight[i] * self.train_rows[i, j]
        c = self.loosest_cut()
        for j in range(self.q):
            self.normal[j] /= self.unit
        self.cut_weight[c] = total / self.unit
        self.low[self.first_cut + c] = self.cut_weight[c] - self.limit / self.unit
        self.high[self.first_cut + c] = self.widest_high[self.first_cut + c] / self.unit
        self.write_row(self.n_val + c)
        self.trace(c, last)
        return True

    def trace(self, c: int, last: float) -> None:
        """Take note that cut `c` counts the hinges active so far on the way to `margin`."""

    def add_objective_cut(self, at_most: float) -> None:
        """Keep only models with ``normal·u ≤ at_most``, in the row kept for that."""
        row = self.m - 1
        for j in range(self.q):
            self.A[row, j] = self.normal[j]
        self.high[self.size - 1] = at_most
        self.refactor()

    def drop_objective_cut(self) -> None:
        """Let that row be without effect."""
        k = self.size - 1
        self.set_bounds(k, self.widest_low[k], self.widest_high[k])

    def loosest_cut(self) -> int:
        """Return the basic cut with the most slack; there are more cuts than nonbasic rows."""
        found = -1
        most = -INF
        for c in range(self.n_cuts):
            k = self.first_cut + c
            if self.position[k] < 0:
                continue
            slack = INF if self.cut_weight[c] == 0.0 else self.z[k] - self.low[k]
            if slack > most:
                most = slack
                found = c
        return found

    def write_row(self, row: int) -> None:
        """Let a basic row of A become `normal`, in the dictionary too."""
        k = self.q + row
        at = self.position[k]
        for j in range(self.q):
            self.A[row, j] = self.normal[j]
            self.D[j, at] = 0.0
        value = 0.0
        for j in range(self.q):
            value += self.normal[j] * self.z[j]
            place = self.position[j]
            if place < 0:
                self.D[-1 - place, at] += self.normal[j]
            else:
                for n in range(self.q):
                    self.D[n, at] += self.normal[j] * self.D[n, place]
        self.z[k] = value

    def model(self) -> Vector:
        """``(w, b)`` at the last dictionary."""
        return np.array(self.z[: self.q])

    def box_rates(self) -> Vector:
        """How fast the last optimum grows as the box widens, feature by feature."""
        return np.abs(self.y[: self.q - 1])

    def limit_rate(self) -> float:
        """How fast the last optimum grows with the training limit."""
        rate = 0.0
        for c in range(self.n_cuts):
            rate += abs(self.y[self.first_cut + c])
        return rate / self.unit
