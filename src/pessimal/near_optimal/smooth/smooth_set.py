"""The near-optimal models of a smooth training problem: ridge, logistic regression, squared hinge.

``Ψ = {u : R(u) ≤ (1 + ε)·R* + δ}`` is convex. Its members move the margin of every row within a
range (`ranges`); over the ranges R lies above parabolas and the validation loss below others, which
bounds the worst case (`relaxation`), and where that leaves a gap the set is divided (`branching`).
With the squared loss the parabolas are the losses themselves, and the bound is exact.

What floating point adds is on the safe side: bounds count on the budget of the trained model's own
loss, members on that of a lower bound of the least loss.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import cholesky, solve_triangular
from scipy.optimize import brentq

from pessimal.errors import InvalidInputError, SolverError
from pessimal.interrupts import ended_by_interrupts
from pessimal.limits import Deadline, TimeLimit
from pessimal.losses import Logistic, Loss, SmoothLoss, Squared, Step, find_loss
from pessimal.near_optimal.base import Extreme, Linear, NearOptimalSet, ScoreRange
from pessimal.near_optimal.smooth.branching import branch
from pessimal.near_optimal.smooth.counting import count_above
from pessimal.near_optimal.smooth.estimators import SUPPORTED, TrainingProblem, training_problem
from pessimal.near_optimal.smooth.objective import (
    Function,
    MeanLoss,
    Objective,
    Parabola,
    Weighted,
    flat,
    mean_loss,
    moved,
    newton,
    solve,
)
from pessimal.near_optimal.smooth.quadratic import Quadratic, certainly_positive, largest
from pessimal.near_optimal.smooth.ranges import Ellipsoids, Supports, exact, narrowed
from pessimal.near_optimal.smooth.relaxation import (
    ROUNDS,
    Envelope,
    Relaxation,
    envelope,
    tightened,
)
from pessimal.near_optimal.smooth.rows import Block, HeldRows, Rows
from pessimal.near_optimal.smooth.source import Source, read_features
from pessimal.problem import Budget, Mask, Matrix, Vector

ROUNDING = 1e-12
"""How far, relatively, a computed objective may be from the true one."""

STEPS = 40
"""Of the ascent to a worst model; 2 to 4 are usual."""

LEAST_STEPS = 4
"""Those it takes even when time is up: without them there is hardly an answer."""

GAP = 1e-6
"""Bound and member closer than this share of the loss have met."""

EXACT_WORK = 5e9
"""Products of rows, rows and columns up to which the ranges of all rows are found exactly."""

NEAR = 1e-3
"""Share of a range to which that is done for a bound."""

ATTAINED = 1e-6
"""Share of a score to which a member must attain an end of its range for it to be exact."""

NODES = 30
"""Of the branch and bound, unless another limit is given."""

WHOLE = 1e-6
"""How far a bound on a number of points may be above a whole one."""

STARTS = 3
"""Models of the relaxation from which the ascent begins anew."""


@dataclass(frozen=True, eq=False)
class Judged:
    """The mean of a smooth loss over rows, to be bounded from above."""

    mean: Function
    rows: Rows
    loss: SmoothLoss
    trained: Vector

    def above(self, rows: Rows) -> Envelope | Quadratic:
        """Return what lies above it on rows with ranges."""
        if isinstance(self.mean, Parabola):
            return self.mean.expansion(self.trained)
        return Envelope(rows, partial(envelope, self.loss, 1.0, self.trained))

    def by_ranges(self, rows: Rows) -> float:
        """Bound it as if every row could have its worst margin at once."""
        if isinstance(self.mean, Parabola):
            return np.inf
        return rows.total(partial(_worst_of_range, self.loss, self.trained))


@dataclass(frozen=True, eq=False)
class Counted:
    """The share of rows below a threshold (side −1) or above it, to be bounded from above."""

    rows: Rows
    threshold: float
    side: float
    trained: Vector

    def above(self, rows: Rows) -> Envelope:
        """Return what lies above it on rows with ranges."""
        return Envelope(rows, partial(count_above, self.threshold, self.side, self.trained))

    def by_ranges(self, rows: Rows) -> float:
        """Bound it as if every row could be counted."""
        del rows
        return 1.0


class SmoothSet(NearOptimalSet):
    """Near-optimal models of a smooth training problem; see the module."""

    def __init__(self, problem: TrainingProblem, budget: Budget) -> None:
        self.problem, self.budget, self.loss = problem, budget, problem.loss
        self.u = np.zeros(len(problem.penalty))
        mean = mean_loss(problem.rows, problem.loss, self.u)
        self.u = newton(Objective(mean, problem.penalty), self.u)
        if isinstance(mean, Parabola):  # its digits are best around the point where it is used
            mean = moved(mean, problem.rows, self.u)
            self.u = newton(Objective(mean, problem.penalty), self.u)
            mean = moved(mean, problem.rows, self.u)
        self.objective = Objective(mean, problem.penalty)
        self._optimum = self.objective.expansion(self.u)
        if not certainly_positive(self._optimum.curvature):
            raise flat()
        value = self._optimum.value
        least = max(0.0, value * (1.0 - ROUNDING) - self._still_to_gain())
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
        return self.budget.limit(self.trained.value) * (1.0 + ROUNDING)

    @property
    def inner_limit(self) -> float:
        """Every model with no larger computed training objective is a member."""
        return self.budget.limit(self.trained.lower_bound) * (1.0 - ROUNDING)

    def train_loss(self, model: Linear) -> float:
        """Return what training minimises, penalty included."""
        return self.objective.value(self.problem.coordinates.variables(model))

    def contains(self, model: Linear) -> bool:
        """Return whether a model trains within the budget, up to rounding."""
        return self.train_loss(model) <= self.outer_limit

    def with_budget(self, budget: Budget) -> Self:
        """Return the set of another budget, without training again."""
        other = copy(self)
        other.budget = budget
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
        with ended_by_interrupts(Deadline.read(time_limit)) as deadline:
            points = self.problem.points(X, y)
            judge = find_loss(loss or self.loss)
            if isinstance(judge, Step):
                return self._count(points, judge, -1.0, deadline)
            smooth = _smooth(judge)
            rows = self.problem.encoded(points, smooth)
            mean = mean_loss(rows, smooth, self.u)
            u = self._ascend(mean, self.u, deadline)
            nodes = NODES if node_limit is None else node_limit
            bound, starts = self._bound(
                Judged(mean, rows, smooth, self.u), mean.value(u), u, nodes, deadline
            )
            u = max([u, *(self._ascend(mean, start, deadline) for start in starts)], key=mean.value)
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
            u = self._member(self._descend(mean_loss(rows, smooth, self.u), deadline))
            mean = MeanLoss(rows, smooth)
            value = mean.value(u)
            bound = max(0.0, self._dual_bound(mean, u))
            return Extreme(value, min(value, bound), value, self._model(u))

    def score_range(self, X: ArrayLike, *, time_limit: TimeLimit = None) -> ScoreRange:
        """Bound the score of each row, exactly where there is time and the rows are in memory."""
        with ended_by_interrupts(Deadline.read(time_limit)) as deadline:
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
        factor = cholesky(self._optimum.curvature)
        members: list[Linear] = []
        while len(members) < n and not (members and deadline.over):
            direction = solve_triangular(factor, rng.standard_normal(len(self.u)))
            members.append(self._model(self._boundary(direction)))
        return members

    # How far members reach.

    @cached_property
    def _enclosed(self) -> tuple[Ellipsoids, Rows]:
        """Ellipsoids that hold the set, and the training rows with the ranges that follow."""
        if isinstance(self.loss, Squared):
            region = Quadratic(
                self.trained.value - self.outer_limit,
                self._optimum.slope,
                self._optimum.curvature,
            )
            return Ellipsoids((region,)), self.problem.rows
        first = Ellipsoids((self._first_region(),))
        rows, penalty = self.problem.rows, self.objective.penalty_at(self.u)
        return narrowed(first, rows, self.problem.loss, penalty, self.u, self.outer_limit)

    @cached_property
    def _supports(self) -> Supports | None:
        """The support function of the set, if passes over the training rows are cheap."""
        if isinstance(self.loss, Squared) or not isinstance(self.problem.rows, HeldRows):
            return None
        limits = self.outer_limit, self.inner_limit
        return Supports(self.objective, self._optimum, self.u, limits, self._enclosed[0])

    def _first_region(self) -> Quadratic:
        """Return an ellipsoid that certainly holds the set."""
        hessian, slope = self._optimum.curvature, self._optimum.slope
        if not self.problem.loss.self_concordant:
            penalty = self.objective.penalty_at(self.u)
            if not certainly_positive(penalty.curvature):
                raise _unpenalised()
            return Quadratic(penalty.value - self.outer_limit, penalty.slope, penalty.curvature)
        # Along any direction R grows at least as fast as ψ(Mρ)/M² less the gradient, with ρ the
        # distance in the norm of the Hessian and M the largest margin of unit distance.
        most = max(self._leverage(), 1e-6)  # any larger one is valid
        factor = cholesky(hessian, lower=True)
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
        return Quadratic(-0.5 * far * far, np.zeros(len(self.u)), hessian)

    def _leverage(self) -> float:
        """Return the largest change of a margin per unit of distance in the Hessian's norm."""
        factor = cholesky(self._optimum.curvature, lower=True)
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
        around, train = self._enclosed
        rows = judged.rows.map(around)
        bound = judged.by_ranges(rows)
        for step in range(3):
            relaxation = Relaxation(
                self._below(train), judged.above(rows), self.outer_limit, around.regions[-1]
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
                train, rows = self._exact_rows(train, part), self._exact_rows(rows, part)
        starts = [self._pulled_back(self.u + d) for d in found.models[-STARTS:]]
        # Of a set within rounding of one model no part is smaller.
        divisible = isinstance(train, HeldRows) and self.trained.value < self.inner_limit
        if divisible and nodes:
            with np.errstate(over="ignore", invalid="ignore"):
                branched, _ = branch(relaxation, found.moments, bound, target, nodes, deadline)
            bound = min(bound, branched)
        return bound, starts

    def _below(self, rows: Rows) -> Envelope | Quadratic:
        """Return what lies below the training objective."""
        if isinstance(self.objective.mean, Parabola):
            return self._optimum
        part = partial(envelope, self.problem.loss, -1.0, self.u)
        return Envelope(rows, part, self.objective.penalty_at(self.u))

    def _ascend(self, mean: Function, start: Vector, deadline: Deadline) -> Vector:
        """Climb to a member of large loss by steps that are trust-region problems."""
        u, value = start, mean.value(start)
        for step in range(STEPS):
            if step >= LEAST_STEPS and deadline.over:
                break
            at = self.objective.expansion(u)
            region = Quadratic(min(0.0, at.value - self.inner_limit), at.slope, at.curvature)
            ahead = largest(mean.expansion(u), region).point
            share = 1.0
            while True:
                further = self._pulled_back(u + share * ahead)
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

    # The best case.

    def _descend(self, mean: Function, deadline: Deadline) -> Vector:
        """Minimise the mean loss over the set, along the multiplier of its budget."""
        inside = [self.u]

        def excess(logarithm: float) -> float:
            if deadline.over:
                raise _LateError
            u = newton(Weighted(mean, float(np.exp(logarithm)), self.objective), inside[-1])
            over = self.objective.value(u) - self.inner_limit
            if over <= 0.0:
                inside.append(u)
            return over

        low, high = np.log(1e-6), 0.0
        try:
            while excess(high) > 0.0 and high < np.log(1e12):
                low, high = high, high + np.log(10.0)
            if excess(low) > 0.0 >= excess(high):
                brentq(excess, low, high, xtol=1e-7, rtol=1e-7)
        except _LateError:
            pass
        return min(inside, key=mean.value)

    def _dual_bound(self, mean: Function, u: Vector) -> float:
        """Bound the mean loss of all members from below, from the optimality at one.

        Both functions lie above their tangents, so with a multiplier λ of the budget no member has
        less than ``L(u) − λ(limit − R(u)) + (∇L + λ∇R)·(v − u)``, and the last gradient is small.
        """
        loss, train = mean.expansion(u), self._direct.expansion(u)
        inverse = solve(self._optimum.curvature, train.slope)
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

        def counted(u: Vector) -> float:
            return rows.total(partial(_counted, judge, u))

        found = (
            self._ascend(mean, self.u, deadline) if side < 0.0 else self._descend(mean, deadline)
        )
        u = (max if side < 0.0 else min)((self.u, found), key=counted)
        value = counted(u)
        # Of the points that may count, or may not, no more than the relaxation says.
        judged = Counted(rows, judge.threshold, side, self.u)
        most, met = self._bound(judged, value if side < 0.0 else 1.0 - value, u, 0, deadline)
        ends = self._exact_rows(rows, deadline).total(partial(_end_count, judge, self.u, side))
        u = (max if side < 0.0 else min)((u, *met), key=counted)
        value, n = counted(u), points.summary.n_rows
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
        near = ATTAINED * np.maximum(1.0, np.abs(scores))
        if isinstance(self.loss, Squared):
            directions = solve(self._optimum.curvature, Z.T).T
            ends = [[self._boundary(side * d) for d in directions] for side in (-1.0, 1.0)]
            least, most = (np.einsum("ij,ij->i", Z, np.array(end) - self.u) for end in ends)
            attained = np.maximum(least - low, high - most) <= near
            return scores + low, scores + high, attained, [*ends[0], *ends[1]]
        if self._supports is None:
            return scores + low, scores + high, np.zeros(len(Z), np.bool_), [self.u]
        supports = self._supports
        up, down = (
            supports.slowly(side * Z, supports.furthest(side * Z, deadline), deadline)
            for side in (1.0, -1.0)
        )
        attained = (up.bound - up.found <= near) & (down.bound - down.found <= near)
        low, high = np.maximum(low, -down.bound), np.minimum(high, up.bound)
        met = [self.u + d for d in np.vstack([up.models, down.models])]
        return scores + low, scores + high, attained, met

    # Members.

    def _pulled_back(self, u: Vector) -> Vector:
        """Return the last member on the way from the trained model to another one."""
        if self.objective.value(u) <= self.inner_limit:
            return u
        return self._boundary(u - self.u)

    @property
    def _direct(self) -> Objective:
        """The objective by a pass over the rows."""
        return Objective(MeanLoss(self.problem.rows, self.problem.loss), self.problem.penalty)

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

    def _boundary(self, direction: Vector) -> Vector:
        """Return the last member in a direction from the trained model."""
        limit = self.inner_limit
        if self.trained.value >= limit or not direction.any():
            return self.u
        far = 1.0
        value, slope = self.objective.slope_along(self.u + far * direction, direction)
        while value <= limit:
            far *= 2.0
            if far > 1e15:
                raise _useless()
            value, slope = self.objective.slope_along(self.u + far * direction, direction)
        # From outside Newton's method comes ever closer to the boundary of a convex function.
        for _ in range(60):
            nearer = far - (value - limit) / slope
            if value <= limit * (1.0 + 1e-13) or not 0.0 < nearer < far:
                break
            far = nearer
            value, slope = self.objective.slope_along(self.u + far * direction, direction)
        back = 1e-14
        while self.objective.value(self.u + far * direction) > limit:
            far *= 1.0 - back
            back = min(0.5, 4.0 * back)
        return self.u + far * direction

    def _still_to_gain(self) -> float:
        """Bound what training has left to gain, from the gradient where it ended."""
        at, penalty = self._optimum, self.objective.penalty
        newton_gain = float(at.slope @ solve(at.curvature, at.slope))
        if isinstance(self.loss, Squared):
            return 0.5 * newton_gain
        if self.problem.loss.self_concordant:
            # While M·‖gradient‖ is far below 1 the curvature on the way is at least half of H.
            if self._leverage() * np.sqrt(newton_gain) > 0.1:
                raise SolverError(
                    "training did not come near an optimum; if the classes can be separated and "
                    "nothing is penalised there is none, so add a penalty, such as C=1"
                )
            return newton_gain
        if certainly_positive(penalty):
            return 0.5 * float(at.slope @ solve(penalty, at.slope))
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


class _LateError(Exception):
    """Time is up in the middle of a search for a root."""


def _lever(factor: Matrix, block: Block) -> float:
    return float(
        np.linalg.norm(solve_triangular(factor, block.Z.T, lower=True), axis=0).max(initial=0.0)
    )


def _worst_of_range(loss: SmoothLoss, trained: Vector, block: Block) -> float:
    margins = block.margins(trained)
    ends = loss.value(margins + block.low), loss.value(margins + block.high)
    return float(block.weight @ np.maximum(*ends))


def _counted(judge: Step, u: Vector, block: Block) -> float:
    return judge.mean(block.margins(u), block.weight)


def _end_count(judge: Step, trained: Vector, side: float, block: Block) -> float:
    ends = block.low if side < 0.0 else block.high
    return judge.mean(block.margins(trained) + ends, block.weight)


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
