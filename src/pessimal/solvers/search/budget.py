"""The training budget as rows of P.

For a budget (ε, δ) the paper's problem asks, wherever λ > 0, that ``u`` use up its budget:

    L_T(u) ≥ (1 + ε)·L_T*(w̄) + δ,      w̄_j = max(|w_j|, lower_j) where c_j ≠ 0, else upper_j.

By linear-programming duality ``L_T*(w̄) = max_β Σ β_i − Σ_j w̄_j·|c_j(β)|`` over the multipliers β of
the training problem. Each β found gives a necessary condition, linear in ``w̄`` and in the hinges:

    Σ_i weight_i·hinge(margin_i) + (1 + ε) Σ_j |c_j(β)|·w̄_j ≥ (1 + ε) Σ β_i + δ.

Hinge and ``|w_j|`` are convex, so over the bounds that hold at a node they lie below their chords.
With chords in their place the condition is one row, linear in ``u``, and valid in that node; once
every training point has a side and every pulled weight a sign, the chords are exact.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pessimal.lp.codes import OPTIMAL
from pessimal.lp.program import KinkedProgram
from pessimal.lp.simplex import Simplex
from pessimal.lp.watch import Watch
from pessimal.problem import Budget, TuningProblem, Vector
from pessimal.solvers.search.codes import N_CUTS, NOTHING, PULL, SIDE
from pessimal.tolerances import BUDGET, LP_FEASIBILITY

INF = np.inf


class BudgetCondition:
    """Remembers multipliers β and writes them as rows; also knows ``L_T*`` of any box."""

    def __init__(
        self, problem: TuningProblem, budget: Budget, b_limit: float, watch: Watch
    ) -> None:
        p = problem.n_features
        self.n_features = p
        self.n_train = problem.n_train
        self.relative = budget.epsilon
        self.absolute = budget.delta
        self.weight = problem.train_weight
        self.lower = problem.lower
        self.upper = problem.upper
        scores = np.hstack([problem.X_train, -np.ones((problem.n_train, 1))])
        self.signed = scores * problem.y_train[:, None]
        reach = np.abs(problem.X_train) @ problem.upper + b_limit
        high = np.concatenate([problem.upper, [b_limit], reach])
        slope_left = np.concatenate([np.zeros(p + 1), -problem.train_weight])
        kink = np.concatenate([np.zeros(p + 1), np.ones(problem.n_train)])
        right = np.zeros(len(high))
        program = KinkedProgram(np.asarray(self.signed), -high, high, slope_left, right, kink)
        self.trainer = Simplex(program, watch)
        self.trained = False
        self.n_cuts = 0
        self.oldest = 0
        self.last = 0
        self.reach = np.zeros((N_CUTS, p))  # (1 + ε)·|c_j(β)|
        self.need = np.zeros(N_CUTS)  # (1 + ε)·Σ β_i + δ
        self.chord_slope = np.zeros(problem.n_train)
        self.chord_start = np.zeros(problem.n_train)
        self.box_slope = np.zeros(p)
        self.box_start = np.zeros(p)
        self.coefficients = np.zeros(p + 1)
        self.kind = NOTHING
        self.index = 0
        self.slack = self.relative * self.least_loss(self.upper) + self.absolute
        self.remember()

    def least_loss(self, box: Vector) -> float:
        """``L_T*(box)``, or a lower bound of it unless `trained`."""
        for j in range(self.n_features):
            self.trainer.set_bounds(j, -box[j], box[j])
        self.trained = self.trainer.solve(INF) == OPTIMAL
        return self.trainer.objective

    def limit(self, box: Vector) -> float:
        """Training loss that a point of `box` must reach."""
        return (1.0 + self.relative) * self.least_loss(box) + self.absolute

    def train_loss(self, primal: Simplex) -> float:
        """``L_T`` at P's current point."""
        total = 0.0
        for i in range(self.n_train):
            total += self.weight[i] * max(0.0, 1.0 - primal.z[self.n_features + 1 + i])
        return total

    def met(self, primal: Simplex, box: Vector) -> bool:
        """Whether P's point uses up the budget of `box`; if not, the condition is remembered."""
        excess = self.train_loss(primal) - self.limit(box)
        if excess < -BUDGET:
            self.remember()
        return self.trained and excess >= -BUDGET

    def remember(self) -> None:
        """Keep the multipliers of the last training problem, in place of the oldest ones."""
        cut = self.oldest
        self.oldest = (cut + 1) % N_CUTS
        self.last = cut
        self.n_cuts = max(self.n_cuts, cut + 1)
        need = self.absolute
        for j in range(self.n_features):
            self.reach[cut, j] = (1.0 + self.relative) * abs(self.trainer.y[j])
        for i in range(self.n_train):
            need -= (1.0 + self.relative) * self.trainer.y[self.n_features + 1 + i]
        self.need[cut] = need

    def chords(self, primal: Simplex, pulled: NDArray[np.intp]) -> None:
        """Chords of the hinges and of the box over P's bounds: ``start + slope·z``."""
        for i in range(self.n_train):
            low = primal.low[self.n_features + 1 + i]
            high = primal.high[self.n_features + 1 + i]
            if high <= 1.0:
                self.chord_slope[i] = -1.0
                self.chord_start[i] = 1.0
            elif low >= 1.0:
                self.chord_slope[i] = 0.0
                self.chord_start[i] = 0.0
            else:
                self.chord_slope[i] = -(1.0 - low) / (high - low)
                self.chord_start[i] = -self.chord_slope[i] * high
        for j in range(self.n_features):
            low = primal.low[j]
            high = primal.high[j]
            at_low = max(abs(low), self.lower[j])
            at_high = max(abs(high), self.lower[j])
            if not pulled[j] or high <= low:
                self.box_slope[j] = 0.0
                self.box_start[j] = max(at_low, at_high) if pulled[j] else self.upper[j]
            else:
                self.box_slope[j] = (at_high - at_low) / (high - low)
                self.box_start[j] = at_low - self.box_slope[j] * low

    def write(self, primal: Simplex, pulled: NDArray[np.intp]) -> None:
        """Write every remembered condition as a row of P, valid under P's bounds."""
        if self.n_cuts == 0:
            return
        self.chords(primal, pulled)
        first = primal.m - primal.n_local
        start = 0.0
        for j in range(self.n_features + 1):
            self.coefficients[j] = 0.0
        for i in range(self.n_train):
            start += self.weight[i] * self.chord_start[i]
            slope = self.weight[i] * self.chord_slope[i]
            if slope != 0.0:
                for j in range(self.n_features + 1):
                    self.coefficients[j] += slope * self.signed[i, j]
        for cut in range(self.n_cuts):
            need = self.need[cut] - start
            top = abs(self.coefficients[self.n_features]) * primal.high[self.n_features]
            for j in range(self.n_features):
                need -= self.reach[cut, j] * self.box_start[j]
                value = self.coefficients[j] + self.reach[cut, j] * self.box_slope[j]
                primal.A[first + cut, j] = value
                top += abs(value) * self.upper[j]
            primal.A[first + cut, self.n_features] = self.coefficients[self.n_features]
            k = primal.q + first + cut
            primal.low[k] = need
            primal.high[k] = max(top, need)
        primal.refactor()

    def separates(self, cut: int, primal: Simplex, pulled: NDArray[np.intp]) -> bool:
        """Whether a remembered condition, as a row, cuts off P's point."""
        self.chords(primal, pulled)
        total = 0.0
        for i in range(self.n_train):
            margin = primal.z[self.n_features + 1 + i]
            total += self.weight[i] * (self.chord_start[i] + self.chord_slope[i] * margin)
        for j in range(self.n_features):
            total += self.reach[cut, j] * (self.box_start[j] + self.box_slope[j] * primal.z[j])
        return total < self.need[cut] - 0.5 * BUDGET

    def loosest(self, cut: int, primal: Simplex, pulled: NDArray[np.intp], box: Vector) -> bool:
        """Find a condition's chord that is furthest from the truth; False if all are exact.

        Leaves the row of P whose side is open (`SIDE`) or the feature that may be pulled (`PULL`).
        """
        self.chords(primal, pulled)
        widest = LP_FEASIBILITY
        self.kind = NOTHING
        for i in range(self.n_train):
            margin = primal.z[self.n_features + 1 + i]
            truth = max(0.0, 1.0 - margin)
            gap = self.chord_start[i] + self.chord_slope[i] * margin - truth
            gap *= self.weight[i]
            if gap > widest:
                widest = gap
                self.kind = SIDE
                self.index = self.n_features + 1 + i
        for j in range(self.n_features):
            w = primal.z[j]
            gap = self.box_start[j] + self.box_slope[j] * w
            gap = self.reach[cut, j] * (gap - max(abs(w), self.lower[j]))
            if not pulled[j] and box[j] == self.upper[j]:
                continue
            if gap > widest:
                widest = gap
                self.kind = SIDE if pulled[j] else PULL
                self.index = j
        return self.kind != NOTHING
