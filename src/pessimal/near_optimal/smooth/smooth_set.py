"""The near-optimal models of a training problem with a smooth loss: ridge, lasso, logistic, SVM.

``Ψ = {u : R(u) ≤ (1 + ε)·R* + δ}`` is convex. Its members move the margin of every row within a
range (`ellipsoids`); over the ranges R lies above parabolas and the validation loss below others,
which bounds the worst case (`relaxation`), and where that leaves a gap the set is divided
(`branching`). With the squared loss the parabolas are the losses themselves, and the bound is
exact.

What floating point adds is on the safe side: bounds count on the budget of the trained model's own
loss, members on that of a lower bound of the least loss.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from pessimal.errors import InvalidInputError
from pessimal.interrupts import ended_by_interrupts
from pessimal.limits import NEVER, Deadline
from pessimal.losses import Logistic, Loss, SmoothLoss, Squared, Step
from pessimal.near_optimal.base import Extreme, Linear, NearOptimalSet, ScoreRange
from pessimal.near_optimal.smooth.count_ascent import extreme_count
from pessimal.near_optimal.smooth.ellipsoid_pair import EllipsoidPair
from pessimal.near_optimal.smooth.enclosure import Enclosure
from pessimal.near_optimal.smooth.estimators import known_name, training_problem
from pessimal.near_optimal.smooth.judged import Counted, Judged
from pessimal.near_optimal.smooth.members import Members
from pessimal.near_optimal.smooth.objective import MeanLoss, mean_loss, solve
from pessimal.near_optimal.smooth.problem import TrainingProblem
from pessimal.near_optimal.smooth.source import Source, read_features
from pessimal.near_optimal.smooth.training import ROUNDING, Training
from pessimal.near_optimal.smooth.worst_case import GAP, bounded
from pessimal.problem import Budget, Mask, Matrix, Vector

NODES = 30
"""Of the branch and bound, unless another limit is given."""

WHOLE = 1e-6
"""How far a bound on a number of points may be above a whole one."""

ATTAINED, SAME = 1e-6, 1e-8
"""Shares of a range, and of the score, to which a member must attain its ends to be exact."""


class SmoothSet(NearOptimalSet):
    """Near-optimal models of a smooth training problem; see the module."""

    _of_budget = ("_enclosure", "_members")

    def __init__(self, problem: TrainingProblem, budget: Budget) -> None:
        self.problem, self.budget, self.loss = problem, budget, problem.loss
        self.classes = problem.classes or ()
        self._training = Training(problem)
        self.objective, self.u = self._training.objective, self._training.u
        self.step_seconds = self._training.step_seconds
        value, least = self._training.value, self._training.least
        self.trained = Extreme(value, least, value, self._model(self.u))

    @classmethod
    def accepts(cls, estimator: Any) -> bool:
        """Return whether the training problem of an estimator is known."""
        return known_name(estimator) is not None

    @classmethod
    def of(
        cls,
        estimator: Any,
        X: Any,
        y: Any,
        budget: Budget,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Make the set of the models that train on (X, y) about as well as an estimator can."""
        return cls(training_problem(estimator, X, y, sample_weight), budget)

    @property
    def outer_limit(self) -> float:
        """No member has a larger computed training objective."""
        limit = self.budget.limit(self.trained.value)
        return limit * (1.0 + self._training.rounding(limit)) + self._training.rounded_off

    @property
    def inner_limit(self) -> float:
        """Every model with no larger computed training objective is a member."""
        limit = self.budget.limit(self.trained.lower_bound)
        return limit * (1.0 - self._training.rounding(limit))

    def train_loss(self, model: Linear) -> float:
        """Return what training minimises, penalty included."""
        return self.objective.value(self.problem.coordinates.variables(Linear.read(model)))

    def contains(self, model: Linear) -> bool:
        """Return whether a model trains within the budget, up to rounding."""
        return self.train_loss(model) <= self.outer_limit

    def _worst(
        self, X: Any, y: Any, loss: Loss, given: Deadline, node_limit: int | None
    ) -> Extreme:
        """Find a member of large mean loss, and a bound on that of all."""
        with ended_by_interrupts(given) as deadline:
            points = self.problem.points(X, y)
            if isinstance(loss, Step):
                return self._count(points, loss, -1.0, deadline)
            smooth = _smooth(loss)
            rows = self.problem.encoded(points, smooth)
            mean = mean_loss(rows, smooth, self.u)
            members = self._members
            u = members.climbed(mean, self.u, deadline)
            if mean.value(u) <= mean.value(self.u):  # nothing costs anything there
                part = deadline.share(0.25)
                starts = members.promising(mean, rows, part)
                climbed = [members.climbed(mean, start, part) for start in starts]
                u = max([u, *climbed], key=mean.value)
            bound, met = bounded(
                self._enclosure,
                Judged(mean, rows, smooth, self.u),
                u,
                mean.value(u),
                node_limit or NODES,
                deadline,
            )
            if bound > mean.value(u) * (1.0 + GAP):
                starts = [*map(members.pulled_back, met), *members.promising(mean, rows, deadline)]
                climbed = [members.climbed(mean, start, deadline) for start in starts]
                u = max([u, *climbed], key=mean.value)
            u = members.confirmed(u)
            value = MeanLoss(rows, smooth).value(u)
            return Extreme(value, value, max(value, bound * (1.0 + ROUNDING)), self._model(u))

    def _best(self, X: Any, y: Any, loss: Loss, given: Deadline) -> Extreme:
        """Find the member of least mean loss, a convex program, and bound it by its dual."""
        with ended_by_interrupts(given) as deadline:
            points = self.problem.points(X, y)
            if isinstance(loss, Step):
                return self._count(points, loss, 1.0, deadline)
            smooth = _smooth(loss)
            rows = self.problem.encoded(points, smooth)
            members = self._members
            u = members.confirmed(members.descended(mean_loss(rows, smooth, self.u), deadline))
            mean = MeanLoss(rows, smooth)
            value = mean.value(u)
            bound = max(0.0, self._dual_bound(mean, u, deadline))
            return Extreme(value, min(value, bound), value, self._model(u))

    def _score_range(self, X: ArrayLike, given: Deadline) -> ScoreRange:
        """Bound the score of each row, exactly where there is time and the rows are in memory."""
        with ended_by_interrupts(given) as deadline:
            self.problem.require_columns(X)
            parts = [
                _scored(Z, self._enclosure, self._members, deadline)
                for Z in map(self._rows, read_features(X))
            ]
            low, high, attained = (np.concatenate([part[k] for part in parts]) for k in range(3))
            models = [self._model(u) for part in parts for u in part[3]]
            return ScoreRange(low, high, attained, models)

    def _coarse_score_range(self, X: ArrayLike, given: Deadline) -> ScoreRange:
        """Bound the score of each row by the ellipsoids."""
        with ended_by_interrupts(given) as deadline:
            self.problem.require_columns(X)
            around = self._enclosure.narrowed(deadline).around
            parts = [
                self.u @ Z.T + np.array(around.reach(Z)) for Z in map(self._rows, read_features(X))
            ]
            low, high = np.hstack(parts)
            return ScoreRange(low, high, np.zeros(len(low), np.bool_), [self.trained.model])

    def _sample(self, n: int, rng: np.random.Generator, deadline: Deadline) -> list[Linear]:
        """Return models on the boundary of the set, in random directions from the trained one."""
        members: list[Linear] = []
        while len(members) < n and not (members and deadline.over):
            members.append(self._model(self._members.at_random(rng)))
        return members

    def enclosure(self) -> EllipsoidPair | None:
        """Return ellipsoids around and inside the set, which say of new rows what it can.

        None where a penalty on absolute values leaves none inside, or there is no intercept.
        """
        coordinates, around = self.problem.coordinates, self._enclosure
        if self.objective.absolute is not None or not coordinates.intercept:
            return None
        outer, inner = around.narrowed(NEVER).around.regions[-1], around.inner_region()
        return EllipsoidPair(coordinates.shift, coordinates.scale, self.u, outer, inner)

    @cached_property
    def _enclosure(self) -> Enclosure:
        """The set from without."""
        return Enclosure(self._training, self.outer_limit, self.inner_limit)

    @cached_property
    def _members(self) -> Members:
        """The set from within."""
        return Members(self._training, self.inner_limit)

    def _dual_bound(self, mean: MeanLoss, u: Vector, deadline: Deadline) -> float:
        """Bound the mean loss of all members from below, from the optimality at one.

        Both functions lie above their tangents, so with a multiplier λ of the budget no member has
        less than ``L(u) − λ(limit − R(u)) + (∇L + λ∇R)·(v − u)``, and the last gradient is small.
        """
        loss, train = mean.tangent(u), self._members.direct.tangent(u)
        inverse = solve(self._training.smooth.curvature, train.slope)
        multiplier = max(0.0, -float(loss.slope @ inverse)) / max(
            float(train.slope @ inverse), float(np.finfo(float).tiny)
        )
        slack = max(0.0, self.outer_limit - train.value)
        bounds = []
        for factor in (multiplier, 0.0):
            rest = loss.slope + factor * train.slope
            low, _ = self._enclosure.narrowed(deadline).around.reach(rest[None])
            bounds.append(loss.value - factor * slack + float(low[0] - rest @ (u - self.u)))
        return max(bounds) - ROUNDING * abs(loss.value)

    def _count(self, points: Source, judge: Step, side: float, deadline: Deadline) -> Extreme:
        """Find a member that gets many points wrong (side −1), or few, and bound their number."""
        if self.problem.classes is None:
            raise InvalidInputError("loss counts errors, and a regression makes none; pass another")
        rows = self.problem.encoded(points, Logistic())
        mean = mean_loss(rows, Logistic(), self.u)
        judged, members = Counted(rows, judge, side, self.u), self._members
        if side < 0.0:
            found = members.climbed(mean, self.u, deadline)
        else:
            found = members.descended(mean, deadline)
        u = extreme_count(judged, members, (self.u, found), deadline.share(0.25))
        value = judged.at(u)
        # Of the points that may count, or may not, no more than the relaxation says.
        largest = value if side < 0.0 else 1.0 - value
        most, met = bounded(self._enclosure, judged, u, largest, 0, deadline)
        ends = judged.at_ends(self._enclosure.exact_rows(rows, deadline))
        u = extreme_count(judged, members, (u, *map(members.pulled_back, met)), deadline)
        value, n = judged.at(u), points.summary.n_rows
        if side < 0.0:
            bound = min(ends, 1.0, np.floor(most * n + WHOLE) / n)
            return Extreme(value, value, max(value, bound), self._model(u))
        bound = max(ends, np.ceil((1.0 - most) * n - WHOLE) / n)
        return Extreme(value, min(value, bound), value, self._model(u))

    def _rows(self, X: Matrix) -> Matrix:
        """Return the rows whose products with the variables are scores."""
        n_features = len(self.problem.coordinates.scale)
        if X.shape[1] != n_features:
            raise InvalidInputError(
                f"X has {X.shape[1]} columns; pass {n_features}, as in training"
            )
        return self.problem.coordinates.rows(X)

    def _model(self, u: Vector) -> Linear:
        return self.problem.coordinates.model(u)


def _scored(
    Z: Matrix, enclosure: Enclosure, members: Members, deadline: Deadline
) -> tuple[Vector, Vector, Mask, Sequence[Vector]]:
    """Return bounds on the scores of rows, whether they are attained, and members met."""
    training, supports = enclosure.training, enclosure.supports(deadline)
    scores = Z @ training.u
    low, high = enclosure.narrowed(deadline).around.reach(Z)
    if isinstance(training.problem.loss, Squared) and not deadline.over:
        directions = solve(training.smooth.curvature, Z.T).T
        ends = [
            [training.u if deadline.over else members.boundary(side * d) for d in directions]
            for side in (-1.0, 1.0)
        ]
        least, most = (np.einsum("ij,ij->i", Z, np.array(end) - training.u) for end in ends)
        met = [u for u in (*ends[0], *ends[1]) if u is not training.u]
    elif supports is None:
        return scores + low, scores + high, np.zeros(len(Z), np.bool_), [training.u]
    else:
        up, down = (
            supports.slowly(side * Z, supports.furthest(side * Z, deadline), deadline)
            for side in (1.0, -1.0)
        )
        low, high = np.maximum(low, -down.bound), np.minimum(high, up.bound)
        least, most = -down.found, up.found
        found = np.vstack([up.models, down.models])
        met = [training.u, *(training.u + d for d in found if d.any())]
    near = ATTAINED * (high - low) + SAME * np.abs(scores)
    attained = np.maximum(least - low, high - most) <= near
    return scores + low, scores + high, attained, met


def _smooth(loss: Loss) -> SmoothLoss:
    if not isinstance(loss, SmoothLoss):
        raise InvalidInputError(
            f"loss is {type(loss).__name__}; pass a smooth loss, or one that counts points"
        )
    return loss
