"""The near-optimal models of a training problem with a smooth loss: ridge, lasso, logistic, SVM.

``Ψ = {u : R(u) ≤ (1 + ε)·R* + δ}`` is convex. Its members move the margin of every row within a
range (`ranges`); over the ranges R lies above parabolas and the validation loss below others, which
bounds the worst case (`relaxation`), and where that leaves a gap the set is divided (`branching`).
With the squared loss the parabolas are the losses themselves, and the bound is exact.

What floating point adds is on the safe side: bounds count on the budget of the trained model's own
loss, members on that of a lower bound of the least loss.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from copy import copy
from dataclasses import replace
from functools import cached_property, partial, reduce
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import cholesky, solve_triangular

from pessimal.errors import InvalidInputError, SolverError
from pessimal.interrupts import ended_by_interrupts
from pessimal.limits import Deadline, TimeLimit, read_node_limit
from pessimal.losses import Absolute, Logistic, Loss, SmoothLoss, Squared, Step, find_loss
from pessimal.near_optimal.base import (
    Extreme,
    Linear,
    NearOptimalSet,
    ScoreRange,
    read_budget,
    read_size,
)
from pessimal.near_optimal.smooth.branching import branch
from pessimal.near_optimal.smooth.enclosure import Enclosure
from pessimal.near_optimal.smooth.estimators import SUPPORTED, TrainingProblem, training_problem
from pessimal.near_optimal.smooth.judged import Counted, Judged
from pessimal.near_optimal.smooth.members import Members, useless
from pessimal.near_optimal.smooth.objective import (
    Function,
    MeanLoss,
    Objective,
    Parabola,
    flat,
    mean_loss,
    solve,
)
from pessimal.near_optimal.smooth.quadratic import Quadratic, certainly_positive
from pessimal.near_optimal.smooth.ranges import Ellipsoids, Supports, above, exact, narrowed
from pessimal.near_optimal.smooth.relaxation import (
    ROUNDS,
    Envelope,
    Relaxation,
    envelope,
    tightened,
)
from pessimal.near_optimal.smooth.rows import Block, HeldRows, Rows
from pessimal.near_optimal.smooth.source import Source, read_features
from pessimal.near_optimal.smooth.training import trained
from pessimal.problem import Budget, Mask, Matrix, Vector

ROUNDING = 1e-12
"""How far, relatively, a computed objective may be from the true one."""

GAP = 1e-6
"""Bound and member closer than this share of the loss have met."""

EXACT_WORK = 5e9
"""Products of rows, rows and columns up to which the ranges of all rows are found exactly."""

NEAR = 1e-3
"""Share of a range to which that is done for a bound."""

ATTAINED, SAME = 1e-6, 1e-8
"""Shares of a range, and of the score, to which a member must attain its ends to be exact."""

STALLED = 1e-6
"""Share of the training objective that training may have left: with more there are no members."""

NODES = 30
"""Of the branch and bound, unless another limit is given."""

WHOLE = 1e-6
"""How far a bound on a number of points may be above a whole one."""

STARTS = 3
"""Models of the relaxation, and of those tried, from which the ascent begins anew."""

TRIED = 5
"""Random directions, to and fro, in which members are tried for that."""

LEVELS = 20
"""Of the rounding of absolute values, on the way from half of the budget."""


class SmoothSet(NearOptimalSet):
    """Near-optimal models of a smooth training problem; see the module."""

    def __init__(self, problem: TrainingProblem, budget: Budget) -> None:
        self.problem, self.budget, self.loss = problem, budget, problem.loss
        self.classes = problem.classes or ()
        self.objective, self.u = trained(problem)
        self._optimum = self.objective.expansion(self.u)
        # All but the absolute values, the curvature of which is around 0 alone.
        sharp = self.objective.absolute is not None
        self._smooth = self.objective.smooth_at(self.u) if sharp else self._optimum
        if not certainly_positive(self._smooth.curvature):
            raise flat()
        value = self._optimum.value
        least = max(0.0, value * (1.0 - ROUNDING) - self._still_to_gain() - self._rounded_off)
        if least < value * (1.0 - STALLED):
            raise SolverError(
                f"training stalled: the least objective is between {least:.6g} and {value:.6g}; "
                "leave out columns that nearly depend on each other, or raise the penalty"
            )
        self.trained = Extreme(value, least, value, self._model(self.u))

    @classmethod
    def accepts(cls, estimator: Any) -> bool:
        """Return whether the training problem of an estimator is known."""
        return type(estimator) in SUPPORTED

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
        return self.budget.limit(self.trained.value) * (1.0 + ROUNDING) + self._rounded_off

    @property
    def inner_limit(self) -> float:
        """Every model with no larger computed training objective is a member."""
        return self.budget.limit(self.trained.lower_bound) * (1.0 - ROUNDING)

    def train_loss(self, model: Linear) -> float:
        """Return what training minimises, penalty included."""
        return self.objective.value(self.problem.coordinates.variables(Linear.read(model)))

    def contains(self, model: Linear) -> bool:
        """Return whether a model trains within the budget, up to rounding."""
        return self.train_loss(model) <= self.outer_limit

    def with_budget(self, budget: Budget) -> Self:
        """Return the set of another budget, without training again."""
        other = copy(self)
        other.budget = read_budget(budget)
        for known in ("_enclosed", "_supports"):
            other.__dict__.pop(known, None)
        return other

    def worst(
        self,
        X: Any,
        y: Any,
        loss: str | Loss | None = None,
        *,
        time_limit: TimeLimit = None,
        node_limit: int | None = None,
    ) -> Extreme:
        """Find a member of large mean loss, and a bound on that of all."""
        nodes = read_node_limit(node_limit) or NODES
        with ended_by_interrupts(Deadline.read(time_limit)) as deadline:
            points = self.problem.points(X, y)
            judge = find_loss(loss or self.loss)
            if isinstance(judge, Step):
                return self._count(points, judge, -1.0, deadline)
            smooth = _smooth(judge)
            rows = self.problem.encoded(points, smooth)
            mean = mean_loss(rows, smooth, self.u)
            u = self._climbed(mean, self.u, deadline)
            bound, starts = self._bound(
                Judged(mean, rows, smooth, self.u), mean.value(u), u, nodes, deadline
            )
            if bound > mean.value(u) * (1.0 + GAP):
                starts = [*starts, *self._promising(mean, rows, deadline)]
                climbed = [self._climbed(mean, start, deadline) for start in starts]
                u = max([u, *climbed], key=mean.value)
            u = self._member(u)
            value = MeanLoss(rows, smooth).value(u)
            return Extreme(value, value, max(value, bound * (1.0 + ROUNDING)), self._model(u))

    def best(
        self,
        X: Any,
        y: Any,
        loss: str | Loss | None = None,
        *,
        time_limit: TimeLimit = None,
    ) -> Extreme:
        """Find the member of least mean loss, a convex program, and bound it by its dual."""
        with ended_by_interrupts(Deadline.read(time_limit)) as deadline:
            points = self.problem.points(X, y)
            judge = find_loss(loss or self.loss)
            if isinstance(judge, Step):
                return self._count(points, judge, 1.0, deadline)
            smooth = _smooth(judge)
            rows = self.problem.encoded(points, smooth)
            u = self._member(self._descended(mean_loss(rows, smooth, self.u), deadline))
            mean = MeanLoss(rows, smooth)
            value = mean.value(u)
            bound = max(0.0, self._dual_bound(mean, u))
            return Extreme(value, min(value, bound), value, self._model(u))

    def score_range(self, X: ArrayLike, *, time_limit: TimeLimit = None) -> ScoreRange:
        """Bound the score of each row, exactly where there is time and the rows are in memory."""
        with ended_by_interrupts(Deadline.read(time_limit)) as deadline:
            self.problem.require_columns(X)
            parts = [self._scored(Z, deadline) for Z in map(self._rows, read_features(X))]
            low, high, attained = (np.concatenate([part[k] for part in parts]) for k in range(3))
            models = [self._model(u) for part in parts for u in part[3]]
            return ScoreRange(low, high, attained, models)

    def sample(
        self, n: int, random_state: int | None = None, *, time_limit: TimeLimit = None
    ) -> list[Linear]:
        """Return models on the boundary of the set, in random directions from the trained one."""
        deadline = Deadline.read(time_limit)
        rng = np.random.default_rng(random_state)
        factor = cholesky(self._smooth.curvature)
        members: list[Linear] = []
        while len(members) < read_size(n) and not (members and deadline.over):
            direction = solve_triangular(factor, rng.standard_normal(len(self.u)))
            members.append(self._model(self._members[-1].boundary(direction)))
        return members

    # How far members reach.

    @property
    def _terms(self) -> list[MeanLoss]:
        """What R is a sum of, beside a quadratic."""
        parts = (self.objective.mean, self.objective.absolute)
        return [part for part in parts if isinstance(part, MeanLoss)]

    @property
    def _fixed(self) -> Quadratic:
        """The quadratic that is part of R: the penalty, and a mean of squares."""
        if isinstance(self.objective.mean, Parabola):
            return self._smooth
        return self.objective.penalty_at(self.u)

    @cached_property
    def _enclosed(self) -> tuple[Ellipsoids, tuple[Rows, ...]]:
        """Ellipsoids that hold the set, and the rows of all terms with the ranges that follow."""
        first = Ellipsoids((self._first_region(),))
        return narrowed(first, self._terms, self._fixed, self.u, self.outer_limit)

    def enclosure(self) -> Enclosure | None:
        """Return ellipsoids around and inside the set, which say of new rows what it can.

        None where a penalty on absolute values leaves none inside, or there is no intercept.
        """
        coordinates = self.problem.coordinates
        if self.objective.absolute is not None or not coordinates.intercept:
            return None
        around, terms = self._enclosed
        parts = [
            of.total(partial(above, term.loss, self.u))
            for term, of in zip(self._terms, terms, strict=True)
        ]
        inner = reduce(operator.add, parts, self._fixed)
        inner = replace(inner, value=inner.value - self.inner_limit)
        shift, scale = coordinates.shift, coordinates.scale
        return Enclosure(shift, scale, self.u, around.regions[-1], inner)

    @cached_property
    def _supports(self) -> Supports | None:
        """The support function of the set, if it is smooth and passes over its rows are cheap."""
        if isinstance(self.loss, Squared) or self.objective.absolute is not None:
            return None
        if not isinstance(self.problem.rows, HeldRows):
            return None
        limits = self.outer_limit, self.inner_limit
        return Supports(self.objective, self._optimum, self.u, limits, self._enclosed[0])

    def _first_region(self) -> Quadratic:
        """Return an ellipsoid that certainly holds the set."""
        # With the slope of absolute values, R lies above what is left without their curvature.
        hessian, slope = self._smooth.curvature, self._optimum.slope
        if isinstance(self.loss, Squared):
            return Quadratic(self.trained.value - self.outer_limit, slope, hessian)
        if not self.problem.loss.self_concordant:
            penalty = self.objective.penalty_at(self.u)
            if not certainly_positive(penalty.curvature):
                raise _unpenalised()
            return Quadratic(penalty.value - self.outer_limit, penalty.slope, penalty.curvature)
        # Along any direction R grows at least as fast as ψ(Mρ)/M² less the gradient, with ρ the
        # distance in the norm of the Hessian and M the largest margin of unit distance.
        most = max(self._leverage, 1e-6)  # any larger one is valid
        factor = cholesky(hessian, lower=True)
        gradient = float(np.linalg.norm(solve_triangular(factor, slope, lower=True)))
        excess = self.outer_limit - self.trained.value

        def growth(rho: float) -> float:
            return float((np.expm1(-most * rho) + most * rho) / most**2 - gradient * rho - excess)

        far = 1.0
        while growth(far) <= 0.0:
            far *= 2.0
            if far > 1e12:
                raise useless()
        near = 0.0
        for _ in range(200):  # the largest root: beyond `far` growth only grows
            middle = 0.5 * (near + far)
            near, far = (middle, far) if growth(middle) <= 0.0 else (near, middle)
        return Quadratic(-0.5 * far * far, np.zeros(len(self.u)), hessian)

    @cached_property
    def _leverage(self) -> float:
        """Return the largest change of a margin per unit of distance in the Hessian's norm."""
        factor = cholesky(self._smooth.curvature, lower=True)
        return float(max(self.problem.rows.each(partial(_lever, factor))))

    def _exact_rows(self, rows: Rows, deadline: Deadline) -> Rows:
        """Return rows with ranges of the ellipsoids, or exact ones where that is affordable."""
        ranged = rows.map(self._enclosed[0])
        train = self.problem.rows
        if self._supports is None or not isinstance(ranged, HeldRows):
            return ranged
        assert isinstance(train, HeldRows)
        if ranged.n_rows * train.n_rows * len(self.u) > EXACT_WORK:
            return ranged
        return exact(ranged, self._supports, deadline, NEAR)

    # The worst case.

    def _bound(
        self,
        judged: Judged | Counted,
        value: float,
        u: Vector,
        nodes: int,
        deadline: Deadline,
    ) -> tuple[float, list[Vector]]:
        """Bound the mean loss of all members, of which u has the largest that was found.

        Return also models from which to ascend again.
        """
        target = value + GAP * abs(value)
        around, terms = self._enclosed
        rows = judged.rows.map(around)
        bound = judged.by_ranges(rows)
        for step in range(3):
            relaxation = Relaxation(
                self._below(terms), judged.above(rows), self.outer_limit, around.regions[-1]
            )
            # First the certificate of the worst member alone, then all moments with the ranges at
            # hand, then with exact ones.
            rounds = 1 if step == 0 else ROUNDS
            with np.errstate(over="ignore", invalid="ignore"):  # what is not finite is no bound
                found = tightened(relaxation, u - self.u, target, deadline, rounds)
            bound = min(bound, found.bound)
            if bound <= target or deadline.over:
                return bound, []
            if step == 1:
                part = deadline.share(0.5)
                terms = tuple(self._exact_rows(of, part) for of in terms)
                rows = self._exact_rows(rows, part)
        starts = [self._members[-1].pulled_back(self.u + d) for d in found.models[-STARTS:]]
        # Of a set within rounding of one model no part is smaller.
        divisible = relaxation.in_memory and self.trained.value < self.inner_limit
        if divisible and nodes:
            with np.errstate(over="ignore", invalid="ignore"):
                branched, _ = branch(relaxation, found.moments, bound, target, nodes, deadline)
            bound = min(bound, branched)
        return bound, starts

    def _below(self, terms: tuple[Rows, ...]) -> Envelope | Quadratic:
        """Return what lies below the training objective, given ranges of the rows of its terms."""
        if not terms:
            return self._fixed
        parts = tuple(
            (rows, partial(envelope, term.loss, -1.0, self.u))
            for rows, term in zip(terms, self._terms, strict=True)
        )
        return Envelope(parts, self._fixed)

    def _dual_bound(self, mean: Function, u: Vector) -> float:
        """Bound the mean loss of all members from below, from the optimality at one.

        Both functions lie above their tangents, so with a multiplier λ of the budget no member has
        less than ``L(u) − λ(limit − R(u)) + (∇L + λ∇R)·(v − u)``, and the last gradient is small.
        """
        loss, train = mean.expansion(u), self._direct.expansion(u)
        inverse = solve(self._smooth.curvature, train.slope)
        multiplier = max(0.0, -float(loss.slope @ inverse)) / max(
            float(train.slope @ inverse), float(np.finfo(float).tiny)
        )
        slack = max(0.0, self.outer_limit - train.value)
        bounds = []
        for factor in (multiplier, 0.0):
            rest = loss.slope + factor * train.slope
            low, _ = self._enclosed[0].reach(rest[None])
            bounds.append(loss.value - factor * slack + float(low[0] - rest @ (u - self.u)))
        return max(bounds) - ROUNDING * abs(loss.value)

    # Counts and scores.

    def _count(self, points: Source, judge: Step, side: float, deadline: Deadline) -> Extreme:
        """Find a member that gets many points wrong (side −1), or few, and bound their number."""
        if self.problem.classes is None:
            raise InvalidInputError("loss counts errors, and a regression makes none; pass another")
        rows = self.problem.encoded(points, Logistic())
        mean = mean_loss(rows, Logistic(), self.u)
        judged = Counted(rows, judge, side, self.u)
        if side < 0.0:
            found = self._climbed(mean, self.u, deadline)
        else:
            found = self._descended(mean, deadline)
        u = (max if side < 0.0 else min)((self.u, found), key=judged.at)
        value = judged.at(u)
        # Of the points that may count, or may not, no more than the relaxation says.
        most, met = self._bound(judged, value if side < 0.0 else 1.0 - value, u, 0, deadline)
        ends = judged.at_ends(self._exact_rows(rows, deadline))
        u = (max if side < 0.0 else min)((u, *met), key=judged.at)
        value, n = judged.at(u), points.summary.n_rows
        if side < 0.0:
            bound = min(ends, 1.0, np.floor(most * n + WHOLE) / n)
            return Extreme(value, value, max(value, bound), self._model(u))
        bound = max(ends, np.ceil((1.0 - most) * n - WHOLE) / n)
        return Extreme(value, min(value, bound), value, self._model(u))

    def _scored(
        self, Z: Matrix, deadline: Deadline
    ) -> tuple[Vector, Vector, Mask, Sequence[Vector]]:
        """Return bounds on the scores of rows, whether they are attained, and members met."""
        scores = Z @ self.u
        low, high = self._enclosed[0].reach(Z)
        if isinstance(self.loss, Squared):
            directions = solve(self._smooth.curvature, Z.T).T
            boundary = self._members[-1].boundary
            ends = [[boundary(side * d) for d in directions] for side in (-1.0, 1.0)]
            least, most = (np.einsum("ij,ij->i", Z, np.array(end) - self.u) for end in ends)
            near = ATTAINED * (high - low) + SAME * np.abs(scores)
            attained = np.maximum(least - low, high - most) <= near
            return scores + low, scores + high, attained, [*ends[0], *ends[1]]
        if self._supports is None:
            return scores + low, scores + high, np.zeros(len(Z), np.bool_), [self.u]
        supports = self._supports
        up, down = (
            supports.slowly(side * Z, supports.furthest(side * Z, deadline), deadline)
            for side in (1.0, -1.0)
        )
        low, high = np.maximum(low, -down.bound), np.minimum(high, up.bound)
        near = ATTAINED * (high - low) + SAME * np.abs(scores)
        attained = (high - up.found <= near) & (-low - down.found <= near)
        met = [self.u + d for d in np.vstack([up.models, down.models])]
        return scores + low, scores + high, attained, met

    # Members.

    @property
    def _rounded_off(self) -> float:
        """By how much, at most, the rounding of absolute values adds to R."""
        absolute = self.objective.absolute
        if absolute is None:
            return 0.0
        assert isinstance(absolute.loss, Absolute)
        return absolute.rows.total(_weight) * absolute.loss.rounding

    @property
    def _members(self) -> list[Members]:
        """The set from within; with absolute values first rounded off more, then ever less.

        Next to 0 an absolute value is nothing like its parabola, and no step would leave 0.
        """
        limit, last = self.inner_limit, self.objective
        excess = limit - self.trained.value
        objectives = [last]
        if last.absolute is not None and excess > 0.0:
            weight = last.absolute.rows.total(_weight)
            least = self._rounded_off / weight
            levels = np.geomspace(0.5 * excess / weight, least, LEVELS)
            objectives = [*(last.rounded(level) for level in levels[:-1] if level > least), last]
        optima = [self._optimum if f is last else f.expansion(self.u) for f in objectives]
        return [
            Members(objective, self.u, optimum, limit)
            for objective, optimum in zip(objectives, optima, strict=True)
        ]

    def _climbed(self, mean: Function, u: Vector, deadline: Deadline) -> Vector:
        for members in self._members:
            u = members.ascend(mean, u, deadline)
        return u

    def _promising(self, mean: Function, rows: Rows, deadline: Deadline) -> list[Vector]:
        """Return members on the boundary from which to climb again, if there is time."""
        factor = cholesky(self._smooth.curvature)
        directions = np.random.default_rng(0).standard_normal((TRIED, len(self.u)))
        # Against the mean of all rows: where none costs anything there is no slope to follow.
        against = solve(self._smooth.curvature, rows.total(_mean_row))
        met: list[Vector] = []
        for d in [against, *solve_triangular(factor, directions.T).T]:
            if deadline.over:
                break
            met += [self._members[-1].boundary(side * d) for side in (-1.0, 1.0)]
        return sorted(met, key=mean.value)[-STARTS:]

    def _descended(self, mean: Function, deadline: Deadline) -> Vector:
        u = self.u
        for members in self._members:
            u = members.descend(mean, u, deadline)
        return u

    @property
    def _direct(self) -> Objective:
        """The objective by a pass over the rows."""
        return replace(self.objective, mean=MeanLoss(self.problem.rows, self.problem.loss))

    def _member(self, u: Vector) -> Vector:
        """Return a model, or one nearer to the trained one, that is a member by the rows alone."""
        if not isinstance(self.objective.mean, Parabola):
            return u
        budget = self.inner_limit - self.trained.value
        for _ in range(10):
            used = self._direct.value(u) - self.trained.value
            if used <= budget:
                return u
            if budget <= 0.0:
                break
            u = self.u + np.sqrt(budget / used) * (1.0 - ROUNDING) * (u - self.u)
        return self.u

    def _still_to_gain(self) -> float:
        """Bound what training has left to gain, from the gradient where it ended."""
        slope, penalty = self._optimum.slope, self.objective.penalty
        newton_gain = float(slope @ solve(self._smooth.curvature, slope))
        if isinstance(self.loss, Squared):
            return 0.5 * newton_gain
        if self.problem.loss.self_concordant:
            # While M·‖gradient‖ is far below 1 the curvature on the way is at least half of H.
            if self._leverage * np.sqrt(newton_gain) > 0.1:
                raise SolverError(
                    "training did not come near an optimum; if the classes can be separated and "
                    "nothing is penalised there is none, so add a penalty, such as C=1"
                )
            return newton_gain
        if certainly_positive(penalty):
            return 0.5 * float(slope @ solve(penalty, slope))
        raise _unpenalised()

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


def _lever(factor: Matrix, block: Block) -> float:
    return float(
        np.linalg.norm(solve_triangular(factor, block.Z.T, lower=True), axis=0).max(initial=0.0)
    )


def _mean_row(block: Block) -> Vector:
    return np.asarray(block.weight @ block.Z)


def _weight(block: Block) -> float:
    return float(block.weight.sum())


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
