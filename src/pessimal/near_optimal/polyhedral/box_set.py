"""The near-optimal models of a box: hinge loss in training, ``|w_j| ≤ w̄_j``.

``Ψ(w̄) = {(w, b) in the box: L_T ≤ (1 + ε)·L_T* + δ}`` is a polytope. The best hinge loss and every
score range are linear programs; the other extremes are found by branch and bound on the points
(`loss_search`), whatever the loss, if it has one breakpoint.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from pessimal.errors import InvalidInputError
from pessimal.labels import Classes, signs
from pessimal.limits import NEVER, Deadline, TimeLimit
from pessimal.losses import HINGE, Hinge, Loss, OneBreakpoint, Step
from pessimal.near_optimal.base import Extreme, Linear, NearOptimalSet, ScoreRange
from pessimal.near_optimal.polyhedral.enclosure import BoxEnclosure
from pessimal.near_optimal.polyhedral.linear_program import (
    BoxModels,
    Trained,
    loading_seconds,
    row_ranges,
)
from pessimal.near_optimal.polyhedral.loss_search import LossSearch, mean_loss
from pessimal.near_optimal.polyhedral.program import coarse_bound, coarse_ranges
from pessimal.near_optimal.polyhedral.ranges import ScoreRanges
from pessimal.problem import Budget, Mask, TuningProblem, Vector, feature_rows, margin_rows
from pessimal.tolerances import CUTOFF, MEMBER

DRAWN, DRAWN_PER_FEATURE = 20, 2
"""Directions like those of rows in which an enclosure has the exact range."""


class BoxSet(NearOptimalSet):
    """Near-optimal models of a box; see the module.

    Parameters
    ----------
    problem : TuningProblem
        Its training set is what the models are trained on.
    box : ndarray of shape (p,)
        The hyperparameters w̄.
    budget : Budget
    deadline : Deadline
        When training should end; past it the best model so far stands for the optimum.
    trained : Extreme, optional
        The least training loss, if it is known: nothing is trained then.

    Attributes
    ----------
    finished : bool
        Whether training came to its end.
    """

    loss = HINGE
    classes: Classes = (-1.0, 1.0)
    _warm: BoxModels | None = None
    _of_budget = ("training_limit", "models", "_ranges", "_warm", "search")

    def __init__(
        self,
        problem: TuningProblem,
        box: Vector,
        budget: Budget,
        *,
        deadline: Deadline = NEVER,
        trained: Extreme | None = None,
    ) -> None:
        self.problem, self.box, self.budget = problem, box, budget
        self.finished = True
        if trained is None:
            self._warm = BoxModels(problem, box)  # another budget has its own
            found = self._warm.least_loss(deadline)
            trained, self.finished = as_extreme(found), found.optimal
        self.trained = trained

    @classmethod
    def accepts(cls, estimator: Any) -> bool:
        """Return whether an estimator has tuned a box."""
        return hasattr(estimator, "box_")

    @classmethod
    def of(
        cls,
        estimator: Any,
        X: Any,
        y: Any,
        budget: Budget,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Make the set of the models in the box that an estimator has tuned.

        The box is one of standardised features; the intercept is free, so that in the features as
        they are it is the same set with the box divided by their scale.
        """
        classes = estimator.classes_[0], estimator.classes_[1]
        labels = signs("y", y, classes)
        box = estimator.box_ / estimator.scale_
        upper = box if box.any() else 1.0
        problem = TuningProblem(X, labels, X, labels, upper=upper, train_weight=sample_weight)
        members = cls(problem, box, budget)
        members.classes = classes
        return members

    @property
    def certain(self) -> bool:
        """Whether the trained model is certainly a member: time may have run out in training."""
        return self.trained.value <= self.budget.limit(self.trained.lower_bound) + CUTOFF

    @cached_property
    def training_limit(self) -> float:
        """Largest training loss of a member, and the slack that solvers need."""
        return self.problem.training_limit(self.budget, self.trained.value)

    @cached_property
    def models(self) -> BoxModels:
        """The set as a linear program."""
        models = self._warm or BoxModels(self.problem, self.box)
        models.limit_training(self.training_limit)
        return models

    @cached_property
    def _ranges(self) -> ScoreRanges:
        """Ranges of scores, as far as they have been found."""
        return ScoreRanges(self.problem, self.budget, self.models, self._inner)

    @cached_property
    def search(self) -> LossSearch:
        """What finds the largest losses."""
        return LossSearch(self.budget, self.models, self._ranges, self._inner)

    def train_loss(self, model: Linear) -> float:
        """Return the mean hinge loss on the training set."""
        model = Linear.read(model)
        return self.problem.train_loss(model.coef, -model.intercept)

    def contains(self, model: Linear) -> bool:
        """Return whether a model is in the box and trains within the budget, up to rounding."""
        model = Linear.read(model)
        slack = MEMBER * self.problem.loss_unit(self.training_limit)
        in_box = bool((np.abs(model.coef) <= self.box).all())
        return in_box and self.train_loss(model) <= self.training_limit + slack

    def _worst(
        self, X: Any, y: Any, loss: Loss, deadline: Deadline, node_limit: int | None
    ) -> Extreme:
        """Find the member of largest mean loss, which may have one breakpoint."""
        return self.worst_on(self._judging(X, y), loss, deadline, node_limit)

    def _best(self, X: Any, y: Any, loss: Loss, deadline: Deadline) -> Extreme:
        """Find the member of least mean loss: hinge, or one that counts."""
        return self.best_on(self._judging(X, y), loss, deadline)

    def _score_range(self, X: ArrayLike, deadline: Deadline) -> ScoreRange:
        """Find the range of the score of each row: two linear programs each, solved once."""
        points = feature_rows("X", X, self.problem.n_features)
        if deadline.over and "_ranges" not in self.__dict__:
            rows = margin_rows(points, np.ones(len(points)))
            low, high = coarse_ranges(self.problem, self.box, self.training_limit, rows)
            return ScoreRange(low, high, np.zeros(len(points), dtype=np.bool_), [])
        low, high, exact = self._ranges.find(points, deadline)
        ends = self._ranges.ends(points)
        return ScoreRange(low, high, exact, [Linear(u[:-1], -float(u[-1])) for u in ends])

    def rough_score_range(self, X: ArrayLike, *, time_limit: TimeLimit = None) -> ScoreRange:
        """Bound the scores of rows by linear programs that are not solved to the end."""
        points = feature_rows("X", X, self.problem.n_features)
        before = len(self._ranges.met)
        self._ranges.find_loosely(points, Deadline.read(time_limit))
        met = self._ranges.met[before:]
        models = [Linear(u[:-1], -float(u[-1])) for u in met]
        return ScoreRange(*self._ranges.known(points), models)

    def prepare(self, X: ArrayLike, y: ArrayLike, *, time_limit: TimeLimit = None) -> None:
        """Bound the scores of training rows, on which bounds of many validation rows depend."""
        self.search.prepare(self._judging(X, y), Deadline.read(time_limit))

    def enclosure(
        self, shift: Vector, scale: Vector, *, time_limit: TimeLimit = None
    ) -> BoxEnclosure:
        """Return ranges of the models, and some of them, for features that were standardised.

        Whatever the time, the ranges hold; there is always one of the models. With no time to load
        the training rows there are ranges of the weights, as box and budget leave them.
        """
        p, deadline = len(self.box), Deadline.read(time_limit)
        axes, one = np.eye(p + 1), self._inner[None, :]
        if not deadline.affords(loading_seconds(self.problem)):
            low, high = coarse_ranges(self.problem, self.box, self.training_limit, axes)
            return BoxEnclosure(shift, scale, axes, low, high, one)
        X = self.problem.X_train
        covariance = np.atleast_2d(np.cov(X.T, bias=True))
        drawn = np.random.default_rng(0).multivariate_normal(
            X.mean(axis=0), covariance, DRAWN + DRAWN_PER_FEATURE * p
        )
        directions = np.vstack([axes, margin_rows(drawn, np.ones(len(drawn)))])
        low, high, ends = row_ranges(self.models, directions, deadline)
        # Coarse ranges follow from those along the axes, and would only make prediction slow.
        kept = slice(0, max(p + 1, len(ends) // 2))
        members = np.vstack([one, ends])
        return BoxEnclosure(shift, scale, directions[kept], low[kept], high[kept], members)

    def _sample(self, n: int, rng: np.random.Generator, deadline: Deadline) -> list[Linear]:
        """Return vertices in random directions; past the deadline fewer, or the trained model."""
        members: list[Linear] = []
        while len(members) < n and not deadline.over:
            u, _ = self.models.least(rng.standard_normal(len(self.box) + 1), deadline=deadline)
            if u is None:
                break
            members.append(Linear(u[:-1], -float(u[-1])))
        return members or [self.trained.model]

    def worst_on(
        self, problem: TuningProblem, loss: Loss, deadline: Deadline, node_limit: int | None
    ) -> Extreme:
        """Find the member of largest mean loss on the validation set of a problem."""
        u, bound = self._largest(problem, loss, deadline, node_limit)
        value = mean_loss(problem, loss, u)
        return Extreme(
            value=value,
            lower_bound=value if self.certain else 0.0,
            upper_bound=max(value, bound),
            model=Linear(u[:-1], -float(u[-1])),
        )

    def best_on(self, problem: TuningProblem, loss: Loss, deadline: Deadline) -> Extreme:
        """Find the member of least mean loss on the validation set of a problem."""
        if isinstance(loss, Hinge):
            u, bound = self._least_hinge(problem, loss, deadline)
        elif isinstance(loss, Step):
            flipped = replace(problem, y_val=-problem.y_val)
            u, most = self._largest(flipped, loss.opposite, deadline, None)
            bound = 1.0 - most
        else:
            raise _unfit(loss)
        value = mean_loss(problem, loss, u)
        return Extreme(value, min(value, max(0.0, bound)), value, Linear(u[:-1], -float(u[-1])))

    def flipped_on(
        self, problem: TuningProblem, loss: Loss, mask: Mask, deadline: Deadline
    ) -> Extreme:
        """Find the member that fits the validation points of a mask best, their labels flipped.

        Past the deadline it is the trained one. What bounds its loss is the box and the budget.
        """
        flipped = replace(
            problem,
            X_val=problem.X_val[mask],
            y_val=-problem.y_val[mask],
            val_weight=problem.flipped_weight(mask),
        )
        u, _ = self._least_hinge(flipped, HINGE, deadline)
        value = mean_loss(problem, loss, u)
        return Extreme(
            value=value,
            lower_bound=value if self.certain else 0.0,
            upper_bound=max(value, coarse_bound(problem, self.box, self.training_limit, loss)),
            model=Linear(u[:-1], -float(u[-1])),
        )

    def _judging(self, X: ArrayLike, y: ArrayLike) -> TuningProblem:
        """Return the problem with these points as its validation set."""
        if X is self.problem.X_val and y is self.problem.y_val:
            return self.problem
        labels = signs("y", y, self.classes)
        weight = np.full(len(labels), 1.0 / len(labels))
        points = feature_rows("X", X, self.problem.n_features)
        return replace(self.problem, X_val=points, y_val=labels, val_weight=weight)

    @property
    def _inner(self) -> Vector:
        return np.append(self.trained.coef, -self.trained.intercept)

    def _largest(
        self, problem: TuningProblem, loss: Loss, deadline: Deadline, node_limit: int | None
    ) -> tuple[Vector, float]:
        if not isinstance(loss, OneBreakpoint):
            raise _unfit(loss)
        return self.search.find(problem, loss, deadline, node_limit)

    def _least_hinge(
        self, problem: TuningProblem, loss: Hinge, deadline: Deadline
    ) -> tuple[Vector, float]:
        if deadline.over:
            return self._inner, 0.0
        rows = margin_rows(problem.X_val, problem.y_val)
        models = BoxModels(self.problem, self.box, rows, loss.breakpoints[0])
        models.limit_training(self.training_limit)
        u, bound = models.least(hinge_cost=problem.val_weight, deadline=deadline)
        return self._inner if u is None else u, bound


def _unfit(loss: Loss) -> InvalidInputError:
    return InvalidInputError(
        f"loss is {type(loss).__name__}, which is no hinge and counts no points; over the models "
        "of a box only these have proved extremes, so pass 'hinge', 'zero_one' or 'margin'"
    )


def as_extreme(trained: Trained) -> Extreme:
    """Return what training found, as the least training loss of a set."""
    model = Linear(trained.w, -trained.b)
    return Extreme(trained.value, trained.lower_bound, trained.value, model)
