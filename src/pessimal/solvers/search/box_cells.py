"""Bounds from values of the inner problem, for cells of boxes.

The tree decides on which sides of its breakpoints ``u`` lies. Here only its box counts: let it lie
in a cell, ``low ≤ w̄ ≤ high``. Every ``v`` of the smaller box was a choice of the inner problem,
too, and ``u`` was preferred. So F(u) is small, and who fits flipped labels well fits the right ones
badly. That bounds large cells, of many rows, too, when the tree has hardly begun; around the
optimum the tree is better. Both bound all boxes, so the larger bound counts.

With a budget ``u`` minimises ``F + λ·L_T`` over its box and trains no better than
τ = (1 + ε)·L_T*(high) + δ, for the budget of its box is no less. With Λ no less than λ, and any
``|v| ≤ low``,

    F(u) ≤ F(v) + λ·(L_T(v) − L_T(u)) ≤ F(v) + Λ·[L_T(v) − τ]₊ =: C,

and ``L_V(u) ≥ L_V(u) + μ·(F(u) − C)`` for any μ ≥ 0, which is at least its minimum over
``|u| ≤ high``. C is small for v that minimise ``F + λ·L_T``. The best λ and the best μ are found by
trying a few, with a linear program for each, and all of them give valid bounds: C is computed from
``v`` and the data, the minimum from multipliers.
"""

from __future__ import annotations

from heapq import heappop, heappush

import numpy as np

from pessimal.lp.program import KinkedProgram
from pessimal.lp.simplex import Simplex
from pessimal.lp.watch import Watch
from pessimal.problem import Matrix, TuningProblem, Vector
from pessimal.solvers.search.budget import BudgetCondition
from pessimal.solvers.search.complementarities import Conditions

INF = np.inf
TRIED = 6  # values of a multiplier tried for one bound
CLOSE = 1e-5  # a bound this close to the best there is needs no other multiplier
STEP = 4.0  # factor to the next multiplier, as long as all tried have been too small
LARGEST_RATE = 1e4  # of the multipliers μ: where F(u) ≤ C has no solution there is no best one
SLACK = 1e-11  # added to C, for rounding
NARROWEST = 1e-3  # edge of a cell that is not halved any more
MOST_OPEN = 500_000  # cells kept; from then on their bound stays where it is


class BoxCells:
    """Cells that cover all boxes, each with a lower bound on ``L_V`` where λ > 0.

    The cell with the lowest bound is halved next, across the feature on whose limits its bound
    depends most.
    """

    def __init__(
        self, problem: TuningProblem, conditions: Conditions, budget: BudgetCondition, watch: Watch
    ) -> None:
        p, n_train, n_val = problem.n_features, problem.n_train, problem.n_val
        self.n_features = p
        self.n_train = n_train
        self.n_val = n_val
        self.budget = budget
        self.watch = watch
        self.val_weight = problem.val_weight
        self.train_weight = problem.train_weight
        self.flip_weight = np.zeros(n_val)
        first = p + 1 + n_train
        for i in range(len(conditions.point_row)):
            if conditions.point_sign[i] > 0:
                self.flip_weight[conditions.point_row[i] - first] = conditions.point_weight[i]
        A, reach = conditions.primal.A, conditions.primal.high
        # Rows of ``v``: weights, intercept, margins of T, margins of V, whose labels are flipped.
        rows = A[: n_train + n_val]
        self.choice = _program(rows, reach[: first + n_val], (p + 1, n_train, n_val), watch)
        for k in range(n_val):
            self.choice.slope_right[first + k] = self.flip_weight[k]
        # Rows of ``u``: weights, intercept, margins of V, and once more, with flipped labels.
        rows = np.concatenate([A[n_train : n_train + n_val]] * 2)
        reach = np.concatenate([reach[: p + 1], *[reach[first : first + n_val]] * 2])
        self.model = _program(rows, reach, (p + 1, n_val, n_val), watch)
        for k in range(n_val):
            self.model.slope_left[p + 1 + k] = -problem.val_weight[k]
        self.low = problem.lower.copy()
        self.high = problem.upper.copy()
        # F and L_T of the choice last computed.
        self.choice_loss = 0.0
        self.choice_train_loss = 0.0
        self.price = 1.0
        self.rate = 1.0
        self.n_cells = 0
        self.unresolved = INF
        # Bound, number, feature to halve, price, rate, low, high.
        self.open: list[tuple[float, int, int, float, float, Vector, Vector]] = []

    def advance(self, n_cells: int, cutoff: float, price_limit: float) -> None:
        """Halve up to `n_cells` cells whose bound is below the cutoff, given Λ."""
        if self.n_cells == 0:
            self.add(0.0, cutoff, price_limit)
        for _ in range(n_cells):
            if self.watch.over or not 0 < len(self.open) <= MOST_OPEN:
                return
            if self.open[0][0] >= min(cutoff, self.unresolved):
                return
            bound, _, feature, price, rate, low, high = heappop(self.open)
            if feature < 0:
                self.unresolved = min(self.unresolved, bound)
                continue
            middle = 0.5 * (low[feature] + high[feature])
            for side in range(2):
                self.low[:] = low
                self.high[:] = high
                if side == 0:
                    self.high[feature] = middle
                else:
                    self.low[feature] = middle
                self.price = price
                self.rate = rate
                self.add(bound, cutoff, price_limit)

    def bound(self) -> float:
        """Return the lowest bound of a cell that has not been closed."""
        if self.n_cells == 0:
            return 0.0
        return min(self.unresolved, self.open[0][0]) if self.open else self.unresolved

    def lowest(self) -> Vector | None:
        """Return the middle of the cell with the lowest bound, if one is left."""
        if not self.open:
            return None
        return 0.5 * (self.open[0][5] + self.open[0][6])

    def add(self, bound: float, cutoff: float, price_limit: float) -> None:
        """Bound the cell from `low` to `high`, and keep it unless that closes it."""
        self.n_cells += 1
        largest = self.largest_flipped_loss(price_limit)
        bound = max(bound, self.least_loss(largest, cutoff))
        if bound < cutoff:
            cell = (np.array(self.low), np.array(self.high))
            entry = (bound, self.n_cells, self.widest(), self.price, self.rate, *cell)
            heappush(self.open, entry)

    def largest_flipped_loss(self, price_limit: float) -> float:
        """Bound ``F(u)`` by what can be chosen in the smaller box: C."""
        limit = self.budget.limit(self.high)
        for j in range(self.n_features):
            self.choice.set_bounds(j, -self.low[j], self.low[j])
        largest = INF
        least = -INF
        near, near_loss = INF, 0.0  # by how much L_T is above τ where it is not, and F there
        far, far_loss = INF, 0.0  # where it is
        price = min(self.price, price_limit)
        for _ in range(TRIED):
            self.choose(price)
            self.price = price
            loss = self.choice_loss
            excess = self.choice_train_loss - limit
            least = max(least, loss + price * excess)
            if excess <= 0.0:
                near, near_loss = excess, loss
                largest = min(largest, loss)
            else:
                far, far_loss = excess, loss
                if price_limit < INF:
                    largest = min(largest, loss + price_limit * excess)
            if near < INF and far < INF:
                # The model between both that trains to the limit; losses are convex.
                price = (near_loss - far_loss) / (far - near)
                largest = min(largest, far_loss + price * far)
            elif near < INF:
                if price == 0.0:
                    break
                price = 0.0
            elif price < price_limit:
                price = min(STEP * price + 1.0, price_limit)
            else:
                break
            if largest - least <= CLOSE:
                break
        return largest + SLACK

    def choose(self, price: float) -> None:
        """Minimise ``F + price·L_T`` over the smaller box; compute both of a model inside it."""
        p = self.n_features
        for i in range(self.n_train):
            self.choice.slope_left[p + 1 + i] = -price * self.train_weight[i]
        self.choice.reprice(False)
        self.choice.solve(INF)
        self.choice_loss = 0.0
        self.choice_train_loss = 0.0
        for i in range(self.n_train + self.n_val):
            margin = self.choice.A[i, p] * self.choice.z[p]
            for j in range(p):
                w = min(max(self.choice.z[j], -self.low[j]), self.low[j])
                margin += self.choice.A[i, j] * w
            if i < self.n_train:
                self.choice_train_loss += self.train_weight[i] * max(0.0, 1.0 - margin)
            else:
                k = i - self.n_train
                self.choice_loss += self.flip_weight[k] * max(0.0, 1.0 + margin)

    def least_loss(self, largest: float, cutoff: float) -> float:
        """Bound ``L_V`` from below in the larger box where F is at most `largest`."""
        for j in range(self.n_features):
            self.model.set_bounds(j, -self.high[j], self.high[j])
        bound = -INF
        near, near_loss = INF, 0.0  # by how much F is above its bound where it is not, and L_V
        far, far_loss = INF, 0.0  # where it is
        rate = self.rate if largest < INF else 0.0
        for _ in range(TRIED):
            self.fit(rate)
            self.rate = rate
            if largest == INF:
                return self.model.objective
            bound = max(bound, self.model.objective - rate * largest)
            if bound >= cutoff:
                break
            excess = self.flipped_loss() - largest
            if excess <= 0.0:
                near, near_loss = excess, self.loss()
            else:
                far, far_loss = excess, self.loss()
            if near < INF and far < INF:
                rate = max(0.0, (near_loss - far_loss) / (far - near))
                if far_loss + rate * far - bound <= CLOSE:
                    break
            elif near < INF:
                if rate == 0.0:
                    break
                rate = 0.0
            elif rate < LARGEST_RATE:
                rate = STEP * rate + 0.1
            else:
                break
        return bound

    def fit(self, rate: float) -> None:
        """Minimise ``L_V + rate·F`` over the larger box; the objective bounds it in any case."""
        first = self.n_features + 1 + self.n_val
        for k in range(self.n_val):
            self.model.slope_right[first + k] = rate * self.flip_weight[k]
        self.model.reprice(False)
        self.model.solve(INF)

    def loss(self) -> float:
        """``L_V`` of the model."""
        total = 0.0
        for k in range(self.n_val):
            total += self.val_weight[k] * max(0.0, 1.0 - self.model.z[self.n_features + 1 + k])
        return total

    def flipped_loss(self) -> float:
        """F of the model."""
        first = self.n_features + 1 + self.n_val
        total = 0.0
        for k in range(self.n_val):
            total += self.flip_weight[k] * max(0.0, 1.0 + self.model.z[first + k])
        return total

    def widest(self) -> int:
        """Return the feature on whose limits the bound depends most; −1: none can be halved."""
        best = -1.0
        feature = -1
        for j in range(self.n_features):
            width = self.high[j] - self.low[j]
            if width > NARROWEST:
                cost = (1.0 + self.budget.relative) * abs(self.budget.trainer.y[j])
                score = (abs(self.choice.y[j]) + self.price * cost) * width
                if score > best:
                    best = score
                    feature = j
        return feature


def _program(rows: Matrix, reach: Vector, counts: tuple[int, int, int], watch: Watch) -> Simplex:
    """Return a program whose rows are variables, those with a kink at 1, those with one at −1."""
    kink = np.repeat((0.0, 1.0, -1.0), counts)
    program = KinkedProgram(rows, -reach, reach, np.zeros(len(kink)), np.zeros(len(kink)), kink)
    return Simplex(program, watch)
