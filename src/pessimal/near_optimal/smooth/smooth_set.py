"""The near-optimal models of a smooth training problem: ridge, logistic regression, squared hinge.

``Ψ = {u : R(u) ≤ (1 + ε)·R* + δ}`` is convex, and over the margins that its members can give R
lies above a parabola and the validation loss below one. So Ψ lies in an ellipsoid, which narrows
the margins, and so on; over it the parabola of the validation loss has a largest value that the
S-lemma gives exactly (`quadratic`), and where it leaves a gap the set is divided (`branching`).
With the squared loss both parabolas are exact, and so is the answer.

What floating point adds is on the safe side: bounds count on the budget of the trained model's own
loss, members on that of a lower bound of the least loss.
"""

from __future__ import annotations

from copy import copy
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import cholesky, solve_triangular
from scipy.optimize import brentq

from pessimal.errors import InvalidInputError, SolverError
from pessimal.limits import NEVER, Deadline
from pessimal.losses import Logistic, Loss, SmoothLoss, Squared, Step, find_loss
from pessimal.near_optimal.base import Extreme, Linear, NearOptimalSet, ScoreRange
from pessimal.near_optimal.smooth.branching import Branching
from pessimal.near_optimal.smooth.estimators import SUPPORTED, TrainingProblem, training_problem
from pessimal.near_optimal.smooth.objective import MeanLoss, Objective, Rows, newton, solve
from pessimal.near_optimal.smooth.quadratic import Quadratic, largest, reach
from pessimal.problem import Budget, Matrix, Vector

ROUNDING = 1e-12
"""How far, relatively, a computed objective may be from the true one."""

ROUNDS = 12
"""Times the ranges are narrowed; 3 to 10 are usual."""

NARROWED = 0.01
"""Ranges that all kept this close to their width are left as they are."""

STEPS = 40
"""Of the ascent to a worst model; 2 to 4 are usual."""

GAP = 1e-6
"""Bound and member closer than this share of the loss have met."""

NODES = 400
"""Of the branch and bound, unless another limit is given."""

FOUND_ROWS = 200
"""Rows for which members are sought that score them low and high."""


class SmoothSet(NearOptimalSet):
    """Near-optimal models of a smooth training problem; see the module."""

    def __init__(self, problem: TrainingProblem, budget: Budget) -> None:
        self.problem, self.budget, self.loss = problem, budget, problem.loss
        self.u = problem.objective.minimise()
        self._optimum = problem.objective.expansion(self.u)
        value = self._optimum.value
        least = value * (1.0 - ROUNDING) - self._still_to_gain()
        self.trained = Extreme(value, least, value, self._model(self.u))

    @classmethod
    def accepts(cls, estimator: Any) -> bool:
        """Return whether the training problem of an estimator is known."""
        return type(estimator) in SUPPORTED

    @classmethod
    def of(
        cls,
        estimator: Any,
        X: ArrayLike,
        y: ArrayLike,
        budget: Budget,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Make the set of the models that train on (X, y) about as well as an estimator can."""
        return cls(training_problem(estimator, X, y, sample_weight), budget)

    @property
    def objective(self) -> Objective:
        """What training minimises."""
        return self.problem.objective

    @property
    def outer_limit(self) -> float:
        """No member has a larger computed training objective."""
        return self.budget.limit(self.trained.value) * (1.0 + ROUNDING)

    @property
    def inner_limit(self) -> float:
        """Every model with no larger computed training objective is a member."""
        return self.budget.limit(self.trained.lower_bound) * (1.0 - ROUNDING)

    def train_loss(self, model: Linear) -> float:
        """Return what training minimises, penalty included."""
        return self.objective.value(self._variables(model))

    def contains(self, model: Linear) -> bool:
        """Return whether a model trains within the budget, up to rounding."""
        return self.train_loss(model) <= self.outer_limit

    def with_budget(self, budget: Budget) -> Self:
        """Return the set of another budget, without training again."""
        other = copy(self)
        other.budget = budget
        other.__dict__.pop("ellipsoid", None)
        return other

    def worst(
        self,
        X: ArrayLike,
        y: ArrayLike,
        loss: str | Loss | None = None,
        *,
        deadline: Deadline = NEVER,
        node_limit: int | None = None,
    ) -> Extreme:
        """Find a member of large mean loss, and a bound on that of all."""
        X, y = self.problem.points(X, y)
        judge = find_loss(loss or self.loss)
        if isinstance(judge, Step):
            return self._worst_count(X, y, judge)
        mean = MeanLoss(self.problem.rows(X, y, _smooth(judge)), _smooth(judge))
        u = self._ascend(mean)
        value = mean.value(u)
        bound = min(self._bound(mean, u), self._loss_of_ranges(mean))
        if bound > value + GAP * abs(value) and not deadline.over:
            nodes = NODES if node_limit is None else node_limit
            bound = min(bound, self._branch(mean, u, value, nodes, deadline))
        return Extreme(value, value, max(value, bound * (1.0 + ROUNDING)), self._model(u))

    def best(
        self,
        X: ArrayLike,
        y: ArrayLike,
        loss: str | Loss | None = None,
        *,
        deadline: Deadline = NEVER,
    ) -> Extreme:
        """Find the member of least mean loss, a convex program, and bound it by its dual."""
        del deadline
        X, y = self.problem.points(X, y)
        judge = find_loss(loss or self.loss)
        if isinstance(judge, Step):
            return self._best_count(X, y, judge)
        mean = MeanLoss(self.problem.rows(X, y, _smooth(judge)), _smooth(judge))
        u, multiplier = self._descend(mean)
        value = mean.value(u)
        bound = self._dual_bound(mean, u, multiplier)
        return Extreme(value, min(value, max(0.0, bound)), value, self._model(u))

    def score_range(self, X: ArrayLike, *, deadline: Deadline = NEVER) -> ScoreRange:
        """Bound the score of each row over the ellipsoid that holds the set.

        For some rows members are found, too, that score them low and high.
        """
        Z = self.problem.scored(np.array(X, np.float64))
        low, high = reach(Z, self.ellipsoid)
        scores = Z @ self.u
        found: list[Linear] = []
        for z in Z[:FOUND_ROWS]:
            if deadline.over:
                break
            direction = solve(self._optimum.curvature, z)
            found += (self._model(self._boundary(side * direction)) for side in (-1.0, 1.0))
        return ScoreRange(scores + low, scores + high, np.zeros(len(Z), np.bool_), found)

    def sample(
        self, n: int, random_state: int | None = None, *, deadline: Deadline = NEVER
    ) -> list[Linear]:
        """Return models on the boundary of the set, in random directions from the trained one."""
        rng = np.random.default_rng(random_state)
        factor = cholesky(self._optimum.curvature)
        members: list[Linear] = []
        while len(members) < n and not (members and deadline.over):
            direction = solve_triangular(factor, rng.standard_normal(len(self.u)))
            members.append(self._model(self._boundary(direction)))
        return members

    @cached_property
    def ellipsoid(self) -> Quadratic:
        """An ellipsoid that holds the set, as a quadratic around the trained model."""
        rows = self.objective.mean.rows
        excess = self.trained.value - self.outer_limit
        if isinstance(self.loss, Squared):
            return Quadratic(excess, self._optimum.slope, self._optimum.curvature)
        margins = rows.margins(self.u)
        low, high = self._first_shifts(rows, margins)
        while True:
            least, _ = _smooth(self.loss).secants(margins, low, high)
            at = self.objective.expansion(self.u, least)
            region = Quadratic(excess, at.slope, at.curvature)
            nearer_low, nearer_high = reach(rows.Z, region)
            width = high - low
            low = np.minimum(0.0, np.maximum(low, nearer_low))
            high = np.maximum(0.0, np.minimum(high, nearer_high))
            if (high - low >= (1.0 - NARROWED) * width).all():
                return region

    def _first_shifts(self, rows: Rows, margins: Vector) -> tuple[Vector, Vector]:
        """Bound how far members can move the margins of rows from those of the trained model."""
        if not _smooth(self.loss).self_concordant:
            return self._shifts_by_penalty(rows, margins)
        # Along any direction R grows at least as fast as ψ(Mρ)/M² less the gradient, with ρ the
        # distance in the norm of the Hessian and M the largest margin of unit distance.
        hessian, slope = self._optimum.curvature, self._optimum.slope
        factor = cholesky(hessian, lower=True)
        lever = np.linalg.norm(solve_triangular(factor, rows.Z.T, lower=True), axis=0)
        most = float(lever.max())
        gradient = float(np.linalg.norm(solve_triangular(factor, slope, lower=True)))
        excess = self.outer_limit - self.trained.value

        def growth(rho: float) -> float:
            return float((np.expm1(-most * rho) + most * rho) / most**2 - gradient * rho - excess)

        far = 1.0
        while growth(far) <= 0.0:
            far *= 2.0
            if far > 1e12:
                raise _useless()
        near = 0.0
        for _ in range(200):  # the largest root: beyond `far` growth only grows
            middle = 0.5 * (near + far)
            near, far = (middle, far) if growth(middle) <= 0.0 else (near, middle)
        width = far * lever * (1.0 + 1e-9)
        return -width, width

    def _shifts_by_penalty(self, rows: Rows, margins: Vector) -> tuple[Vector, Vector]:
        """Bound margins by what the penalty alone allows, if it is on every variable."""
        penalty = self.objective.penalty
        if not (penalty > 0.0).all():
            raise _unpenalised()
        width = np.sqrt(2.0 * self.outer_limit * ((rows.Z * rows.Z) @ (1.0 / penalty)))
        return np.minimum(0.0, -width - margins), np.maximum(0.0, width - margins)

    def _shifts(self, rows: Rows, u: Vector) -> tuple[Vector, Vector]:
        """Bound how far members can move the margins of rows from those of a member."""
        low, high = reach(rows.Z, self.ellipsoid)
        moved = rows.Z @ (u - self.u)
        return np.minimum(0.0, low - moved), np.maximum(0.0, high - moved)

    def _region(self, u: Vector) -> Quadratic:
        """Return a quadratic below ``R − limit`` on the set, tangent at a member."""
        rows = self.objective.mean.rows
        least, _ = _smooth(self.loss).secants(rows.margins(u), *self._shifts(rows, u))
        at = self.objective.expansion(u, least)
        return Quadratic(at.value - self.outer_limit, at.slope, at.curvature)

    def _bound(self, mean: MeanLoss, u: Vector) -> float:
        """Bound the mean loss over the set, with both parabolas tangent at a member."""
        _, most = mean.loss.secants(mean.rows.margins(u), *self._shifts(mean.rows, u))
        return largest(mean.expansion(u, most), self._region(u)).bound

    def _branch(
        self, mean: MeanLoss, u: Vector, value: float, nodes: int, deadline: Deadline
    ) -> float:
        """Bound the mean loss by branching on the directions that leave a gap."""
        _, most = mean.loss.secants(mean.rows.margins(u), *self._shifts(mean.rows, u))
        curvature = mean.expansion(u, most).curvature
        branching = Branching(
            self.objective, self.outer_limit, mean, self.u, self.ellipsoid, curvature, u
        )
        return branching.run(value, GAP * abs(value), nodes, deadline)

    def _loss_of_ranges(self, mean: MeanLoss) -> float:
        """Bound the mean loss by giving every row its worst margin at once."""
        margins = mean.rows.margins(self.u)
        ends = [mean.loss.value(margins + shift) for shift in self._shifts(mean.rows, self.u)]
        return float(mean.rows.weight @ np.maximum(*ends))

    def _ascend(self, mean: MeanLoss) -> Vector:
        """Climb to a member of large loss by steps that are trust-region problems."""
        u, value = self.u, mean.value(self.u)
        for _ in range(STEPS):
            at = self.objective.expansion(u)
            region = Quadratic(min(0.0, at.value - self.inner_limit), at.slope, at.curvature)
            step = largest(mean.expansion(u), region).point
            share = 1.0
            while True:
                further = self._pulled_back(u + share * step)
                reached = mean.value(further)
                if reached > value or share < 1e-6:
                    break
                share *= 0.5
            if reached <= value:
                return u
            gained = reached - value
            u, value = further, reached
            if gained <= 1e-10 * value:
                return u
        return u

    def _descend(self, mean: MeanLoss) -> tuple[Vector, float]:
        """Minimise the mean loss over the set; return the multiplier of its budget, too."""

        def optimum(multiplier: float, start: Vector) -> Vector:
            def value(u: Vector) -> float:
                return mean.value(u) + multiplier * self.objective.value(u)

            def expansion(u: Vector) -> Quadratic:
                a, b = mean.expansion(u), self.objective.expansion(u)
                return Quadratic(
                    a.value + multiplier * b.value,
                    a.slope + multiplier * b.slope,
                    a.curvature + multiplier * b.curvature,
                )

            return newton(value, expansion, start)

        low, high = 1e-6, 1.0
        inside = self.u
        while self.objective.value(u := optimum(high, inside)) > self.inner_limit:
            low, high = high, 10.0 * high
            if high > 1e12:  # a budget of next to nothing: the trained model alone
                return self.u, high
        inside = u
        for _ in range(60):
            middle = float(np.sqrt(low * high))
            u = optimum(middle, inside)
            if self.objective.value(u) <= self.inner_limit:
                high, inside = middle, u
            else:
                low = middle
            if high <= low * (1.0 + 1e-6):
                break
        return inside, high

    def _dual_bound(self, mean: MeanLoss, u: Vector, multiplier: float) -> float:
        """Bound the mean loss of all members from below, from the optimality at one."""
        region, loss = self._region(u), mean.expansion(u)
        slope = loss.slope + multiplier * region.slope
        curvature = multiplier * region.curvature
        value = loss.value + multiplier * region.value
        return value - 0.5 * float(slope @ solve(curvature, slope)) - ROUNDING * abs(value)

    def _worst_count(self, X: Matrix, y: Vector, judge: Step) -> Extreme:
        """Count by the ranges; the member is a worst one by the logistic loss."""
        low, _, share = self._margin_ends(X, y)
        u = self._ascend(MeanLoss(self.problem.rows(X, y, Logistic()), Logistic()))
        value = judge.mean(y * (self.problem.scored(X) @ u), share)
        return Extreme(value, value, max(value, judge.mean(low, share)), self._model(u))

    def _best_count(self, X: Matrix, y: Vector, judge: Step) -> Extreme:
        _, high, share = self._margin_ends(X, y)
        u, _ = self._descend(MeanLoss(self.problem.rows(X, y, Logistic()), Logistic()))
        value = judge.mean(y * (self.problem.scored(X) @ u), share)
        return Extreme(value, min(value, judge.mean(high, share)), value, self._model(u))

    def _margin_ends(self, X: Matrix, y: Vector) -> tuple[Vector, Vector, Vector]:
        """Least and largest margin of each point over the set, and the weights of points."""
        if self.problem.classes is None:
            raise InvalidInputError("loss counts errors, and a regression makes none; pass another")
        rows = self.problem.scored(X) * y[:, None]
        low, high = reach(rows, self.ellipsoid)
        margins = rows @ self.u
        return margins + low, margins + high, np.full(len(y), 1.0 / len(y))

    def _pulled_back(self, u: Vector) -> Vector:
        """Return the last member on the way from the trained model to another one."""
        if self.objective.value(u) <= self.inner_limit:
            return u
        return self._boundary(u - self.u)

    def _boundary(self, direction: Vector) -> Vector:
        """Return the last member in a direction from the trained model."""
        objective, limit = self.objective.along(self.u, direction), self.inner_limit
        if objective(0.0) >= limit:
            return self.u
        far = 1.0
        while objective(far) <= limit:
            far *= 2.0
            if far > 1e15:
                raise _useless()
        t = float(brentq(lambda t: objective(t) - limit, 0.0, far, xtol=1e-15, rtol=1e-14))
        while objective(t) > limit or self.objective.value(self.u + t * direction) > limit:
            t *= 1.0 - 1e-13 if t > 0.0 else 0.0
            if t == 0.0:
                break
        return self.u + t * direction

    def _still_to_gain(self) -> float:
        """Bound what training has left to gain, from the gradient where it ended."""
        at, penalty = self._optimum, self.objective.penalty
        newton_gain = float(at.slope @ solve(at.curvature, at.slope))
        if isinstance(self.loss, Squared):
            return 0.5 * newton_gain
        if _smooth(self.loss).self_concordant:
            # While M·‖gradient‖ is far below 1 the curvature on the way is at least half of H.
            rows = self.objective.mean.rows
            factor = cholesky(at.curvature, lower=True)
            lever = np.linalg.norm(solve_triangular(factor, rows.Z.T, lower=True), axis=0).max()
            if lever * np.sqrt(newton_gain) > 0.1:
                raise SolverError("training ended far from its optimum; scale the features")
            return newton_gain
        if (penalty > 0.0).all():
            return 0.5 * float(at.slope @ (at.slope / penalty))
        raise _unpenalised()

    def _model(self, u: Vector) -> Linear:
        return Linear(u[:-1], float(u[-1])) if self.problem.intercept else Linear(u, 0.0)

    def _variables(self, model: Linear) -> Vector:
        return np.append(model.coef, model.intercept) if self.problem.intercept else model.coef


def _smooth(loss: Loss) -> SmoothLoss:
    if not isinstance(loss, SmoothLoss):
        raise InvalidInputError(
            f"loss is {type(loss).__name__}; pass a smooth loss, or one that counts points"
        )
    return loss


def _unpenalised() -> InvalidInputError:
    return InvalidInputError(
        "estimator leaves its intercept without a penalty, where this loss needs one; pass one "
        "that penalises it, or fit_intercept=False on centred data"
    )


def _useless() -> SolverError:
    return SolverError(
        "some row weighs so much in the fit that no useful bound exists; transform the features "
        "with the longest tails, raise the penalty or lower epsilon"
    )
