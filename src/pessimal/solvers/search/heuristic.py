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
from pessimal.problem import TuningProblem, Vector
from pessimal.solvers.search.items import Conditions
from pessimal.solvers.search.tree import Tree
from pessimal.tolerances import CUTOFF, LP_FEASIBILITY

INF = np.inf
MIXTURES = (0.05, 0.3, 0.6, 0.9)
BISECTIONS = 14


class Heuristic:
    """Feeds the incumbent of a tree."""

    def __init__(
        self, tree: Tree, conditions: Conditions, problem: TuningProblem, seed: int
    ) -> None:
        self.incumbent = tree.incumbent
        self.budget = tree.budget
        self.watch = tree.watch
        self.seed = seed
        # Made when first used: many a problem ends with the first trial.
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
        self.pull_row = conditions.pull_row
        self.values = np.zeros(len(conditions.dual.low))
        self.other = np.zeros(len(conditions.dual.low))
        self.primal = conditions.primal
        self.inner = self.program(-1.0)
        self.mixed: Simplex | None = None

    def program(self, val_kink: float) -> Simplex:
        """Return a program in ``w``, ``b`` and the margins, its costs still to be written."""
        A, low, high = self.primal.A, self.primal.low, self.primal.high
        first_train = self.n_features + 1
        first_val = first_train + self.n_train
        n_rows = first_val + self.n_val
        kink = np.zeros(n_rows)
        kink[first_train:first_val] = 1.0
        kink[first_val:] = val_kink
        flat, also_flat = np.zeros(n_rows), np.zeros(n_rows)
        return Simplex(
            KinkedProgram(
                A[: n_rows - first_train], low[:n_rows], high[:n_rows], flat, also_flat, kink
            ),
            self.watch,
        )

    def starts(self, target: float) -> None:
        """Try the widest box, the narrowest and those of mixed fits; stop at `target`."""
        for k in range(len(MIXTURES) + 2):
            if self.incumbent.best <= target + CUTOFF or self.watch.over:
                return
            if k == 1:
                for j in range(self.n_features):
                    self.box[j] = self.lower[j]
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

    def train_loss(self) -> float:
        """``L_T`` of the last fit."""
        total = 0.0
        for i in range(self.n_train):
            margin = self.inner.z[self.n_features + 1 + i]
            total += self.train_weight[i] * max(0.0, 1.0 - margin)
        return total

    def read(self, share: float, values: Vector) -> None:
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
            values[self.pull_row + j] = scale * self.inner.y[j]

    def try_box(self, share: float) -> None:
        """Offer the tree the proof of the current box."""
        if self.budget is not None:
            self.try_budget()
        elif self.fit(share):
            self.read(share, self.values)
            self.incumbent.try_multipliers(self.values)

    def settle_for_narrowest(self) -> bool:
        """Take the model fitted in the narrowest box as it is: quick, and seldom good."""
        for j in range(self.n_features):
            self.box[j] = self.lower[j]
        if not self.fit(0.99):
            return False
        loss = 0.0
        for k in range(self.n_val):
            margin = self.inner.z[self.n_features + 1 + self.n_train + k]
            loss += self.val_weight[k] * max(0.0, 1.0 - margin)
        self.incumbent.take(self.inner.z, self.box, loss)
        return True

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
            if self.train_loss() >= limit - LP_FEASIBILITY:
                low = share
                self.read(share, self.values)
                found = True
            else:
                high = share
                self.read(share, self.other)
        if found:
            self.incumbent.try_multipliers(self.values)
        if high < 1.0:
            self.incumbent.try_multipliers(self.other)
