"""The near-optimal models of a box: hinge loss in training, ``|w_j| ≤ w̄_j``.

``Ψ(w̄) = {(w, b) in the box: L_T ≤ (1 + ε)·L_T* + δ}`` is a polytope. The best hinge loss and every
score range are linear programs; the other extremes are found by branch and bound on the points
(`cases`), whatever the loss, if it has one breakpoint.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import csr_array, hstack

from pessimal.errors import InvalidInputError
from pessimal.labels import Classes, signs
from pessimal.limits import NEVER, Deadline, TimeLimit
from pessimal.losses import HINGE, Hinge, Loss, OneBreakpoint, Step, ZeroOne
from pessimal.lp.highs import WarmProgram
from pessimal.near_optimal.base import Extreme, Linear, NearOptimalSet, ScoreRange
from pessimal.near_optimal.polyhedral.cases import WorstCases
from pessimal.near_optimal.polyhedral.cells import Cells, Coordinates
from pessimal.near_optimal.polyhedral.directions import DirectionSearch
from pessimal.near_optimal.polyhedral.enclosure import BoxEnclosure
from pessimal.near_optimal.polyhedral.linear_program import (
    BoxModels,
    Trained,
    loading_seconds,
    row_ranges,
)
from pessimal.near_optimal.polyhedral.program import coarse_bound, coarse_ranges, pulled_back
from pessimal.near_optimal.polyhedral.ranges import ScoreRanges
from pessimal.problem import Budget, Mask, TuningProblem, Vector, feature_rows, margin_rows
from pessimal.tolerances import CUTOFF, LP_FEASIBILITY, MEMBER

DRAWN, DRAWN_PER_FEATURE = 20, 2
"""Directions like those of rows in which an enclosure has the exact range."""

RANGES_SHARE = 0.3
"""Of the time left, for the ranges of scores before a search."""

MANY = 60
"""Points on both sides of a breakpoint beyond which branching on them rarely proves anything."""

FIRST_SHARE = 0.4
"""Of the time left, for branching on points, unless they are many, before directions are."""

TRAINING_SHARE = 0.5
"""Of the time left, for the ranges of training points: where they are coarse, so is a bound."""

ASCENT_SHARE = 0.2
"""Of the time left, for ascents from models that are known."""

ROOT_SHARE = 0.5
"""Of the time left, for the root of the tree on points: no search goes without its bound."""

MOMENTS_SHARE, MOMENTS_SHARE_OF_MANY = 0.6, 0.9
"""Of the rest, for branching on directions before points are returned to: of many that proves
nothing, but finds models."""


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
    _cells: Cells | None = None
    _of_budget = ("training_limit", "models", "_ranges", "_warm", "_cells")

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
        deadline = Deadline.read(time_limit)
        low, high = self._known_margins(self._judging(X, y))
        undecided = max(_undecided(low, high, loss.threshold) for loss in (HINGE, ZeroOne()))
        if undecided > MANY and deadline.moment < np.inf:
            self._ranges.find_loosely(self.problem.X_train, deadline)

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
        u, bound = self._search(problem, loss, deadline, node_limit)
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
            u, most = self._search(flipped, loss.opposite, deadline, None)
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

    def _search(
        self, problem: TuningProblem, loss: Loss, deadline: Deadline, node_limit: int | None
    ) -> tuple[Vector, float]:
        """Find the largest loss and a bound on it, as far as limits and Ctrl-C allow."""
        if not isinstance(loss, OneBreakpoint):
            raise _unfit(loss)
        cases = WorstCases(problem, self.budget, loss)
        cases.begin(self.box, self.training_limit, self._inner)
        with suppress(KeyboardInterrupt):
            self.explore(cases, problem, loss, deadline, node_limit)
        found = cases.known()
        if not loss.counts:
            return found.u, found.upper_bound
        deeper = self._deepest(problem, found.u, loss.threshold, deadline)
        u = max(found.u, deeper, key=lambda u: mean_loss(problem, loss, u))
        return u, found.upper_bound

    def explore(
        self,
        cases: WorstCases,
        problem: TuningProblem,
        loss: OneBreakpoint,
        deadline: Deadline,
        node_limit: int | None = None,
    ) -> None:
        """Find the largest loss, or bound it, with cases that have begun."""
        low, high, exact = self._margin_ranges(problem, loss, deadline)
        met = np.array(self._ranges.members).reshape(-1, len(self.box) + 1)
        cases.know(low, high, exact, met, deadline.share(ASCENT_SHARE))
        if node_limit is None and deadline.moment < np.inf:
            many = _undecided(low, high, loss.threshold) > MANY
            first = deadline.share(0.0 if many else FIRST_SHARE)
            cases.solve_root(first, deadline.share(ROOT_SHARE))
            if not many:
                cases.run(first)
            rest = deadline.share(MOMENTS_SHARE_OF_MANY if many else MOMENTS_SHARE)
            self._bound_along_directions(cases, problem, loss, rest)
        cases.run(deadline, node_limit)

    def _bound_along_directions(
        self, cases: WorstCases, problem: TuningProblem, loss: OneBreakpoint, deadline: Deadline
    ) -> None:
        """Bound a largest loss for which branching on points was not enough."""
        found = cases.known()
        if deadline.over or found.upper_bound <= found.value + cases.gain:
            return

        def best(u: Vector | None) -> float:
            if u is not None:
                u = np.append(np.clip(u[:-1], -self.box, self.box), u[-1])
                u = pulled_back(problem, u, self._inner, self.training_limit)
                cases.ascend_from(u[None, :], deadline)
            return cases.known().value

        self._ranges.find_loosely(self.problem.X_train, deadline.share(TRAINING_SHARE))
        if self._cells is None:
            members = np.array(self._ranges.members).reshape(-1, len(self.box) + 1)
            coordinates = Coordinates.of(members, self._ranges, deadline)
            if coordinates is None:
                return
            self._cells = Cells(coordinates, self._ranges)
        search = DirectionSearch(problem, self.box, self.training_limit, loss, self._cells)
        cases.prove(search.bound(best, cases.gain, deadline))

    def _margin_ranges(
        self, problem: TuningProblem, loss: OneBreakpoint, deadline: Deadline
    ) -> tuple[Vector, Vector, Mask]:
        """Find the ranges of the margins that may lie on both sides of the breakpoint.

        With all the time there is, the search finds those that it needs sooner by itself.
        """

        def undecided() -> Mask:
            low, high = self._known_margins(problem)
            return (low < loss.threshold) & (high > loss.threshold)

        if deadline.moment < np.inf:
            rows = problem.X_val[undecided()]
            self._ranges.find_loosely(rows, deadline.share(RANGES_SHARE))
            if undecided().sum() <= MANY:
                self._ranges.find(problem.X_val[undecided()], deadline.share(RANGES_SHARE))
        return *self._known_margins(problem), self._ranges.known(problem.X_val)[2]

    def _known_margins(self, problem: TuningProblem) -> tuple[Vector, Vector]:
        """Return what is known of the ranges of validation margins."""
        low, high, _ = self._ranges.known(problem.X_val)
        ends = np.array([low, high]) * problem.y_val
        return ends.min(axis=0), ends.max(axis=0)

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

    def _deepest(
        self, problem: TuningProblem, u: Vector, threshold: float, deadline: Deadline
    ) -> Vector:
        """Return a member whose margins are further below `threshold` where those of `u` are.

        As far as can be, up to one unit. Out of time it is `u` itself.
        """
        rows = margin_rows(problem.X_val, problem.y_val)
        rows = rows[rows @ u <= threshold + 2.0 * LP_FEASIBILITY]
        if not (len(rows) and deadline.affords(loading_seconds(self.problem))):
            return u
        n_columns = len(self.models.program.cost)
        others = csr_array((len(rows), n_columns - rows.shape[1]))
        program = self.models.program.extended(
            cost=np.append(np.zeros(n_columns), -1.0),
            rows=hstack([csr_array(rows), others, np.ones((len(rows), 1))], format="csr"),
            row_upper=np.full(len(rows), threshold),
            lower=np.array([-np.inf]),
            upper=np.ones(1),
        )
        simplex = WarmProgram(program)
        if not simplex.solve(deadline):
            return u
        x = simplex.point()[: rows.shape[1]]
        return np.append(np.clip(x[:-1], -self.box, self.box), x[-1])


def _undecided(low: Vector, high: Vector, threshold: float) -> int:
    """Return how many margins may be on both sides of a threshold."""
    return int(np.sum((low < threshold) & (high > threshold)))


def _unfit(loss: Loss) -> InvalidInputError:
    return InvalidInputError(
        f"loss is {type(loss).__name__}, which is no hinge and counts no points; over the models "
        "of a box only these have proved extremes, so pass 'hinge', 'zero_one' or 'margin'"
    )


def as_extreme(trained: Trained) -> Extreme:
    """Return what training found, as the least training loss of a set."""
    model = Linear(trained.w, -trained.b)
    return Extreme(trained.value, trained.lower_bound, trained.value, model)


def mean_loss(problem: TuningProblem, loss: Loss, u: Vector) -> float:
    """Return the mean loss of a model ``(w, b)`` on the validation set."""
    margins = problem.y_val * (problem.X_val @ u[:-1] - u[-1])
    return loss.mean(margins, problem.val_weight)
