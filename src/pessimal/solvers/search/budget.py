"""The training budget as cuts: rows of P.

For a budget (ε, δ) the paper's problem asks, wherever λ > 0, that ``u`` use up its budget:

    L_T(u) ≥ (1 + ε)·L_T*(w̄) + δ,      w̄_j = max(|w_j|, lower_j) where c_j ≠ 0, else upper_j.

By linear-programming duality ``L_T*(w̄) = max_β Σ β_i − Σ_j w̄_j·|c_j(β)|`` over the multipliers β of
the training problem. Each β found gives a necessary condition, linear in ``w̄`` and in the hinges:

    Σ_i weight_i·hinge(margin_i) + (1 + ε) Σ_j |c_j(β)|·w̄_j ≥ (1 + ε) Σ β_i + δ.

Hinge and ``|w_j|`` are convex, so over the bounds that hold at a node they lie below their chords.
With chords in their place the condition is a cut, linear in ``u`` and valid in that node. The box
of a weight is *binding* if c_j ≠ 0; once every training point has a side and every weight with a
binding box a sign, the chords are exact.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pessimal.lp.codes import OPTIMAL
from pessimal.lp.program import KinkedProgram
from pessimal.lp.simplex import Simplex
from pessimal.lp.watch import Watch
from pessimal.problem import Budget, TuningProblem, Vector
from pessimal.tolerances import BUDGET, LP_FEASIBILITY

INF = np.inf
MAX_CUTS = 16  # rows that P has for cuts; not typed, so that others can import it


class BudgetCondition:
    """Keeps the cuts of multipliers β and writes them as rows; computes ``L_T*`` of any box."""

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
        self.box_cost = np.zeros((MAX_CUTS, p))  # (1 + ε)·|c_j(β)|
        self.rhs = np.zeros(MAX_CUTS)  # (1 + ε)·Σ β_i + δ
        self.chord_slope = np.zeros(problem.n_train)
        self.chord_start = np.zeros(problem.n_train)
        self.box_slope = np.zeros(p)
        self.box_start = np.zeros(p)
        self.coefficients = np.zeros(p + 1)
        self.slack = self.relative * self.least_loss(self.upper) + self.absolute
        self.add_cut()

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

    def satisfied(self, primal: Simplex, box: Vector) -> bool:
        """Whether P's point uses up the budget of `box`; if not, add a cut."""
        excess = self.train_loss(primal) - self.limit(box)
        if excess < -BUDGET:
            self.add_cut()
        return self.trained and excess >= -BUDGET

    def add_cut(self) -> None:
        """Add the cut of the last training problem's multipliers, in place of the oldest one."""
        cut = self.oldest
        self.oldest = (cut + 1) % len(self.rhs)
        self.last = cut
        self.n_cuts = max(self.n_cuts, cut + 1)
        rhs = self.absolute
        for j in range(self.n_features):
            self.box_cost[cut, j] = (1.0 + self.relative) * abs(self.trainer.y[j])
        for i in range(self.n_train):
            rhs -= (1.0 + self.relative) * self.trainer.y[self.n_features + 1 + i]
        self.rhs[cut] = rhs

    def chords(self, primal: Simplex, binding: NDArray[np.intp]) -> None:
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
            if not binding[j] or high <= low:
                self.box_slope[j] = 0.0
                self.box_start[j] = max(at_low, at_high) if binding[j] else self.upper[j]
            else:
                self.box_slope[j] = (at_high - at_low) / (high - low)
                self.box_start[j] = at_low - self.box_slope[j] * low

    def write_cuts(self, primal: Simplex, binding: NDArray[np.intp]) -> None:
        """Write every cut as a row of P, valid under P's bounds."""
        if self.n_cuts == 0:
            return
        self.chords(primal, binding)
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
            rhs = self.rhs[cut] - start
            b_limit = max(-primal.low[self.n_features], primal.high[self.n_features])
            top = abs(self.coefficients[self.n_features]) * b_limit
            for j in range(self.n_features):
                rhs -= self.box_cost[cut, j] * self.box_start[j]
                value = self.coefficients[j] + self.box_cost[cut, j] * self.box_slope[j]
                primal.A[first + cut, j] = value
                top += abs(value) * self.upper[j]
            primal.A[first + cut, self.n_features] = self.coefficients[self.n_features]
            k = primal.q + first + cut
            primal.low[k] = rhs
            primal.high[k] = max(top, rhs)
        primal.refactor()

    def separates(self, cut: int, primal: Simplex, binding: NDArray[np.intp]) -> bool:
        """Whether a cut, with the chords of P's bounds, separates P's point."""
        self.chords(primal, binding)
        total = 0.0
        for i in range(self.n_train):
            margin = primal.z[self.n_features + 1 + i]
            total += self.weight[i] * (self.chord_start[i] + self.chord_slope[i] * margin)
        for j in range(self.n_features):
            total += self.box_cost[cut, j] * (self.box_start[j] + self.box_slope[j] * primal.z[j])
        return total < self.rhs[cut] - 0.5 * BUDGET

    def loosest(self, cut: int, primal: Simplex, binding: NDArray[np.intp], box: Vector) -> int:
        """Return the row of P whose chord is furthest from the truth in a cut; −1: all are exact.

        To branch on it is to decide its side or, for a weight, first whether its box is binding.
        """
        self.chords(primal, binding)
        widest = LP_FEASIBILITY
        row = -1
        for i in range(self.n_train):
            margin = primal.z[self.n_features + 1 + i]
            truth = max(0.0, 1.0 - margin)
            gap = self.chord_start[i] + self.chord_slope[i] * margin - truth
            gap *= self.weight[i]
            if gap > widest:
                widest = gap
                row = self.n_features + 1 + i
        for j in range(self.n_features):
            w = primal.z[j]
            gap = self.box_start[j] + self.box_slope[j] * w
            gap = self.box_cost[cut, j] * (gap - max(abs(w), self.lower[j]))
            if gap > widest and (binding[j] or box[j] != self.upper[j]):
                widest = gap
                row = j
        return row
