"""Good points early: solve the inner problem for a box, then climb from what proves it.

For a box and a share t, minimise ``(1 − t)·F + t·L_T``, or the one loss of the inner problem. The
multipliers, divided by 1 − t, are a point of D; the incumbent finds the best ``u`` that they prove.
With a budget, t is the one at which a model of the box just uses it up. From the best ``u`` of a
piece a climb goes on to a piece beside it (`NextPiece`), until none is better.

Boxes to start from: the widest, the narrowest, and ``|w|`` of models fitted to mixtures of ``L_V``
and ``L_T``; then random changes of a few sides of the incumbent's box, at times of all. In a search
that takes long, some climbs begin below the incumbent, or in boxes of any size.
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
from pessimal.solvers.search.next_piece import NextPiece
from pessimal.tolerances import CUTOFF, LP_FEASIBILITY, REDUCED_COST

INF = np.inf
MIXTURES = (0.05, 0.3, 0.6, 0.9)
PRICES = 20  # tried for the budget of a box
MOST_PIECES = 50  # passed in one climb
FREE = 0.5  # share of the climbs that need not begin with a better model
DRAWN = 0.2  # share of those from boxes that are not the incumbent's
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
        if not self.solve_piece(values, self.best - CUTOFF):
            return False
        self.accept(self.piece)
        return True

    def solve_piece(self, values: Vector, cutoff: float) -> bool:
        """Find the best point of the piece of these multipliers, if it is below the cutoff."""
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
            if piece.solve(cutoff) != OPTIMAL:
                return False
            self.widest_box(piece, values)
            if self.budget is None or self.budget.satisfied(piece, self.box):
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
    """Offers boxes, and the proofs of what is optimal in them, to the incumbent of a tree.

    Unless it `climbs`, it stays in the pieces of these proofs: enough where few nodes will do.
    """

    def __init__(
        self,
        incumbent: Incumbent,
        conditions: Conditions,
        problem: TuningProblem,
        seed: int,
        climbs: bool = False,
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
        self.primal = conditions.primal
        self.conditions = conditions
        self.next_piece: NextPiece | None = None
        self.climbs = climbs
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

    def improve(self, target: float, freely: bool = False) -> None:
        """Try a random box, unless the incumbent has reached `target`.

        As a rule a change of the incumbent's. Half of those tried `freely` are climbed from even
        where they are worse than the incumbent, and of these a fifth has nothing to do with it.
        """
        if self.incumbent.best <= target + CUTOFF:
            return
        if self.rng is None:
            self.rng = np.random.default_rng(self.seed)
        free = freely and self.rng.random() < FREE
        if free and self.rng.random() < DRAWN:
            self.draw_box()
        else:
            self.change_box()
        self.try_box(1.0 - 10.0 ** (-4.0 * self.rng.random()), free)

    def change_box(self) -> None:
        """Change a few sides of the incumbent's box, at times all."""
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

    def draw_box(self) -> None:
        """Draw a box of any size, its limits some orders of magnitude apart, some of them least."""
        size = 3.0 * self.rng.random()
        spread = 2.0 * self.rng.random()
        least = self.rng.random() * self.rng.random()
        for j in range(self.n_features):
            exponent = spread * (self.rng.random() - 0.5) - size
            self.box[j] = self.upper[j] * min(1.0, 10.0**exponent)
            if self.rng.random() < least:
                self.box[j] = self.lower[j]
            self.box[j] = max(self.box[j], self.lower[j])

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

    def climb(self, free: bool) -> None:
        """Go from the piece of the multipliers to better ones beside it, as far as there are any.

        Unless it is free to start anywhere, the first must already beat the incumbent.
        """
        incumbent = self.incumbent
        cutoff = INF if free else incumbent.best - CUTOFF
        for _ in range(MOST_PIECES):
            if not incumbent.solve_piece(self.values, cutoff):
                return
            incumbent.accept(incumbent.piece)
            if not self.climbs:
                return
            cutoff = incumbent.piece.objective - CUTOFF
            if self.next_piece is None:
                budget = self.budget is not None
                self.next_piece = NextPiece(self.conditions, budget, incumbent.watch)
            if not self.next_piece.find(incumbent.piece, self.values):
                return

    def try_box(self, share: float, free: bool = False) -> None:
        """Climb from the piece of the current box, with a budget that of its own price."""
        if self.budget is not None:
            share = self.price_of_budget()
        if share >= 0.0 and self.fit(share):
            self.read_multipliers(share, self.values)
            self.climb(free)

    def price_of_budget(self) -> float:
        """Return the share λ/(1 + λ) at which the box's budget is just used up; −1: it never is.

        Of models that are optimal for some λ, the best within the budget and the nearest beyond
        it span a chord, whose slope is the next λ to try. At the last one both are optimal, so the
        piece of its multipliers holds all models between them, and the one on the budget.
        """
        limit = self.budget.limit(self.box)
        if not self.fit(1.0):
            return -1.0
        near = self.budget.train_loss(self.inner)
        near_loss = self.flipped_loss()
        if not self.fit(0.0):
            return -1.0
        far = self.budget.train_loss(self.inner)
        far_loss = self.flipped_loss()
        share = -1.0
        for _ in range(PRICES):
            if far <= limit or far - near <= LP_FEASIBILITY:
                break
            price = max(0.0, (near_loss - far_loss) / (far - near))
            share = price / (1.0 + price)
            if not self.fit(share):
                return -1.0
            train_loss = self.budget.train_loss(self.inner)
            loss = self.flipped_loss()
            if loss + price * train_loss >= far_loss + price * far - LP_FEASIBILITY:
                break
            if train_loss > limit:
                far = train_loss
                far_loss = loss
            else:
                near = train_loss
                near_loss = loss
        return share

    def flipped_loss(self) -> float:
        """F of the last fit."""
        total = 0.0
        for i in range(len(self.point_row)):
            if self.point_sign[i] > 0:
                total += self.point_weight[i] * max(0.0, 1.0 + self.inner.z[self.point_row[i]])
        return total

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
