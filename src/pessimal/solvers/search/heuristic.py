"""Good points early: solve the inner problem for a box, then improve within its proof.

For a box and a share t, minimise ``(1 − t)·F + t·L_T``, or the one loss of the inner problem. The
multipliers, divided by 1 − t, are a point of D; the incumbent finds the best ``u`` that they prove.
With a budget, t is bisected until the training loss meets the budget of the box.

Boxes to start from: the widest, the narrowest, and ``|w|`` of models fitted to mixtures of ``L_V``
and ``L_T``; then random changes of a few sides of the incumbent's box, at times of all.
"""

from __future__ import annotations

import numpy as np

from pessimal.lp.codes import OPTIMAL
from pessimal.lp.program import KinkedProgram
from pessimal.lp.simplex import Simplex
from pessimal.lp.watch import Watch
from pessimal.problem import TuningProblem, Vector
from pessimal.solvers.search.budget import BudgetCondition
from pessimal.solvers.search.complementarities import Conditions
from pessimal.tolerances import CUTOFF, LP_FEASIBILITY, REDUCED_COST

INF = np.inf
MIXTURES = (0.05, 0.3, 0.6, 0.9)
BISECTIONS = 14
BUDGET_ROUNDS = 10  # attempts to meet the budget in one piece


class Incumbent:
    """The best ``u`` so far, with the widest box its multipliers allow.

    Given a point of D, a row of P must lie on a side whose implication that point satisfies, on the
    breakpoint if it satisfies neither. That piece of the space of ``u`` is a polyhedron; its best
    point is a linear program, and inner-optimal by construction, not to a tolerance.
    """

    def __init__(
        self, conditions: Conditions, root: Simplex, budget: BudgetCondition | None, watch: Watch
    ) -> None:
        n_features = len(conditions.upper)
        self.root = root
        self.pairs = conditions.pairs
        self.budget = budget
        self.watch = watch
        self.n_features = n_features
        self.reduced_cost_row = conditions.reduced_cost_row
        self.piece = Simplex(conditions.primal, watch)
        self.lower = conditions.lower
        self.upper = conditions.upper
        self.binding = np.zeros(n_features, np.intp)
        self.box = np.zeros(n_features)
        self.best = INF
        self.found = False
        self.u = np.zeros(n_features + 1)
        self.u_box = np.zeros(n_features)

    def point(self) -> tuple[Vector, Vector]:
        """Return ``u`` and its box."""
        return np.array(self.u), np.array(self.u_box)

    def widest_box(self, primal: Simplex, values: Vector) -> None:
        """Box of P's point: the limit where the reduced cost is 0, otherwise binding at |w_j|."""
        for j in range(self.n_features):
            self.binding[j] = abs(values[self.reduced_cost_row + j]) > REDUCED_COST
            if self.binding[j]:
                self.box[j] = max(abs(primal.z[j]), self.lower[j])
            else:
                self.box[j] = self.upper[j]

    def try_multipliers(self, values: Vector) -> bool:
        """Take the best point of the piece of these multipliers if it beats the incumbent."""
        piece = self.piece
        piece.copy_from(self.root)
        for pair in range(self.pairs.n_pairs):
            for side in range(2):
                if not self.pairs.satisfied(values, pair, side):
                    self.pairs.bound_primal(piece, pair, 1 - side)
        for k in range(piece.size):
            if piece.low[k] > piece.high[k]:
                return False
        self.widest_box(piece, values)
        for _ in range(BUDGET_ROUNDS):
            if self.budget is not None:
                self.budget.write_cuts(piece, self.binding)
            if piece.solve(self.best - CUTOFF) != OPTIMAL:
                return False
            self.widest_box(piece, values)
            if self.budget is None or self.budget.satisfied(piece, self.box):
                self.accept(piece)
                return True
        return False

    def accept(self, primal: Simplex) -> None:
        """Take P's point, with the box computed last, if it is better."""
        if primal.objective < self.best:
            self.take(primal.z, self.box, primal.objective)

    def take(self, z: Vector, box: Vector, objective: float) -> None:
        """Take the point that `z` begins with, proved in `box`."""
        self.best = objective
        self.found = True
        self.u[:] = z[: self.n_features + 1]
        self.u_box[:] = box


class Heuristic:
    """Offers boxes, and the proofs of what is optimal in them, to the incumbent of a tree."""

    def __init__(
        self, incumbent: Incumbent, conditions: Conditions, problem: TuningProblem, seed: int
    ) -> None:
        self.incumbent = incumbent
        self.budget = self.incumbent.budget
        self.seed = seed
        # Made when first used: many a problem ends with the first boxes.
        self.rng: np.random.Generator | None = None
        self.n_features = problem.n_features
        self.n_train = problem.n_train
        self.n_val = problem.n_val
        self.train_weight = problem.train_weight
        self.val_weight = problem.val_weight
        self.upper = problem.upper
        self.lower = problem.lower
        self.box = problem.upper.copy()
        self.weighted = conditions.weighted
        self.point_row = conditions.point_row
        self.point_sign = conditions.point_sign
        self.point_weight = conditions.point_weight
        self.values = np.zeros(len(conditions.dual.low))
        self.other_values = np.zeros(len(conditions.dual.low))
        self.primal = conditions.primal
        self.inner = self.program(-1.0)
        self.mixed: Simplex | None = None

    def program(self, val_kink: float) -> Simplex:
        """Return a program in ``w``, ``b`` and the margins, its costs still to be written."""
        counts = self.n_features + 1, self.n_train, self.n_val
        kink = np.repeat((0.0, 1.0, val_kink), counts)
        n_rows = len(kink)
        A = self.primal.A[: self.n_train + self.n_val]
        low, high = self.primal.low[:n_rows], self.primal.high[:n_rows]
        program = KinkedProgram(A, low, high, np.zeros(n_rows), np.zeros(n_rows), kink)
        return Simplex(program, self.incumbent.watch)

    def try_initial_boxes(self, target: float) -> None:
        """Try the widest box, the narrowest and those of mixed fits; stop at `target`."""
        for k in range(len(MIXTURES) + 2):
            if self.incumbent.best <= target + CUTOFF or self.incumbent.watch.over:
                return
            if k == 1:
                self.box[:] = self.lower
            elif k > 1:
                self.fit_mixed(MIXTURES[k - 2])
            self.try_box(0.99)
            if self.weighted and self.budget is None:
                self.try_box(0.9)

    def improve(self, target: float) -> None:
        """Try a random change of the incumbent's box, unless the incumbent has reached `target`."""
        if self.incumbent.best <= target + CUTOFF:
            return
        if self.rng is None:
            self.rng = np.random.default_rng(self.seed)
        for j in range(self.n_features):
            self.box[j] = max(abs(self.incumbent.u[j]), self.lower[j])
        if self.rng.random() < 0.15:
            size = self.rng.random()
            for j in range(self.n_features):
                self.box[j] = max(size * self.box[j], self.lower[j])
        for _ in range(1 + int(self.rng.integers(1 + self.n_features // 8))):
            j = int(self.rng.integers(self.n_features))
            kind = self.rng.random()
            size = self.rng.random()
            if kind < 0.2:
                self.box[j] = self.lower[j]
            elif kind < 0.4:
                self.box[j] = self.upper[j]
            elif kind < 0.7:
                self.box[j] = min(self.upper[j], self.box[j] * (0.5 + size))
            else:
                self.box[j] = self.upper[j] * size
            self.box[j] = max(self.box[j], self.lower[j])
        self.try_box(1.0 - 10.0 ** (-4.0 * self.rng.random()))

    def try_given(self, box: Vector) -> None:
        """Try a box, which has to lie between the limits."""
        for j in range(self.n_features):
            self.box[j] = box[j]
        self.try_box(0.99)

    def fit_mixed(self, share: float) -> None:
        """Box ``|w|`` of the model that minimises ``share·L_V + (1 − share)·L_T``."""
        if self.mixed is None:
            self.mixed = self.program(1.0)
        slope = self.mixed.slope_left
        first = self.n_features + 1
        for i in range(self.n_train):
            slope[first + i] = -(1.0 - share) * self.train_weight[i]
        for k in range(self.n_val):
            slope[first + self.n_train + k] = -share * self.val_weight[k]
        self.mixed.reprice(False)
        self.mixed.solve(INF)
        for j in range(self.n_features):
            self.box[j] = max(abs(self.mixed.z[j]), self.lower[j])

    def fit(self, share: float) -> bool:
        """Minimise ``(1 − share)·F + share·L_T``, or the one loss there is, over the box."""
        train_share = share if self.weighted else 1.0
        flip_share = 1.0 - share if self.weighted else 1.0
        for i in range(len(self.point_row)):
            k = self.point_row[i]
            if self.point_sign[i] < 0:
                self.inner.slope_left[k] = -train_share * self.point_weight[i]
            else:
                self.inner.slope_right[k] = flip_share * self.point_weight[i]
        for j in range(self.n_features):
            self.inner.set_bounds(j, -self.box[j], self.box[j])
        self.inner.reprice(False)
        return self.inner.solve(INF) == OPTIMAL

    def read_multipliers(self, share: float, values: Vector) -> None:
        """Write the multipliers of the last fit as a point of D."""
        n = len(self.point_row)
        scale = 1.0 / (1.0 - share) if self.weighted else 1.0
        for i in range(n):
            values[i] = scale * self.point_sign[i] * self.inner.y[self.point_row[i]]
        if self.weighted:
            values[n] = share * scale
            for i in range(self.n_train):
                beta = values[n - self.n_train + i]
                values[n + 1 + i] = values[n] * self.train_weight[i] - beta
        for j in range(self.n_features):
            values[self.incumbent.reduced_cost_row + j] = scale * self.inner.y[j]

    def try_box(self, share: float) -> None:
        """Offer the incumbent the proof of the current box."""
        if self.budget is not None:
            self.try_budget()
        elif self.fit(share):
            self.read_multipliers(share, self.values)
            self.incumbent.try_multipliers(self.values)

    def try_budget(self) -> None:
        """Bisect the share for the box's budget; offer the proofs on both sides of it."""
        limit = self.budget.limit(self.box)
        low = 0.0
        high = 1.0
        found = False
        for _ in range(BISECTIONS):
            share = 0.5 * (low + high)
            if not self.fit(share):
                return
            if self.budget.train_loss(self.inner) >= limit - LP_FEASIBILITY:
                low = share
                self.read_multipliers(share, self.values)
                found = True
            else:
                high = share
                self.read_multipliers(share, self.other_values)
        if found:
            self.incumbent.try_multipliers(self.values)
        if high < 1.0:
            self.incumbent.try_multipliers(self.other_values)

    def accept_narrowest(self) -> bool:
        """Take the model fitted in the narrowest box as it is: quick, and seldom good."""
        self.box[:] = self.lower
        # From the start: a fit that was cut short may have left a dictionary of rounding errors.
        self.inner = self.program(-1.0)
        if not self.fit(0.99):
            return False
        loss = 0.0
        for k in range(self.n_val):
            margin = self.inner.z[self.n_features + 1 + self.n_train + k]
            loss += self.val_weight[k] * max(0.0, 1.0 - margin)
        self.incumbent.take(self.inner.z, self.box, loss)
        return True
