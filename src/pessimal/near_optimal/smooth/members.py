"""Members of a smooth near-optimal set: on its boundary, of large loss, of least loss."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache, cached_property

import numpy as np
from numpy.random import Generator
from scipy.linalg import cholesky, solve_triangular
from scipy.optimize import brentq

from pessimal.errors import SolverError
from pessimal.limits import LATE_SECONDS, Deadline
from pessimal.near_optimal.smooth.objective import (
    Function,
    LateError,
    MeanLoss,
    Objective,
    Parabola,
    Tilted,
    Weighted,
    newton,
    solve,
)
from pessimal.near_optimal.smooth.quadratic import TINY, Quadratic, certainly_positive, largest
from pessimal.near_optimal.smooth.rows import Block, HeldRows, Rows
from pessimal.near_optimal.smooth.training import ROUNDING, Training
from pessimal.problem import Matrix, Vector

STEPS = 40
"""Of the ascent to a worst model; 2 to 4 are usual."""

TOP = 1e-8
"""Share of the loss; who has less than this to gain is at the top."""

LEAST_STEPS = 4
"""Those it takes a moment beyond its time for: without them there is hardly an answer."""

STARTS = 3
"""Of the models tried, those from which the ascent begins anew."""

TRIED = 5
"""Random directions, to and fro, in which members are tried for that."""

SUPPORTS = 20
"""Members sought by the slope of the loss at another."""

LEVELS = 20
"""Of the rounding of absolute values, on the way from half of the budget."""


class Members:
    """A near-optimal set from within: the models with a computed objective within a limit.

    Next to 0 an absolute value is nothing like its parabola, and no step would leave 0. So ways
    to members are sought in sets in which it is rounded off more, then ever less.
    """

    def __init__(self, training: Training, limit: float) -> None:
        self.training, self.limit = training, limit
        self._last = self._sublevel(training.objective, training.optimum)

    @cached_property
    def _sublevels(self) -> list[Sublevel]:
        """The sets in which a way is sought, the last of them the one in question."""
        training, excess = self.training, self.limit - self.training.value
        absolute = training.objective.absolute
        if absolute is None or excess <= 0.0:
            return [self._last]
        weight = absolute.total_weight
        least = training.rounded_off / weight
        levels = np.geomspace(0.5 * excess / weight, least, LEVELS)[:-1]
        rounded = [training.objective.rounded(level) for level in levels if level > least]
        return [*(self._sublevel(R, self._optimum(R)) for R in rounded), self._last]

    def _sublevel(self, objective: Objective, optimum: Quadratic) -> Sublevel:
        training = self.training
        return Sublevel(objective, training.u, optimum, self.limit, training.step_seconds)

    def _optimum(self, objective: Objective) -> Quadratic:
        """Return the expansion, at the trained model, of the objective as it is rounded off."""
        assert objective.absolute is not None
        return self.training.smooth + objective.absolute.expansion(self.training.u)

    def boundary(self, direction: Vector) -> Vector:
        """Return the last member in a direction from the trained model."""
        return self._last.boundary(direction)

    def pulled_back(self, u: Vector) -> Vector:
        """Return the last member on the way from the trained model to another one."""
        return self._last.pulled_back(u)

    def climbed(self, mean: Function, u: Vector, deadline: Deadline) -> Vector:
        """Climb from a member to one of large loss."""
        late = deadline.not_within(LATE_SECONDS)
        if not late.affords(self.training.step_seconds):
            return max(u, self._along_slope(mean), key=mean.value)
        for sublevel in self._sublevels:
            u = sublevel.ascend(mean, u, deadline, late)
        rows, last = self.training.problem.rows, self._last
        if self.training.problem.loss.self_concordant or not isinstance(rows, HeldRows):
            return u
        # Where curvature jumps, parabolas mislead: as long as there is time, by the slope alone.
        for _ in range(SUPPORTS):
            if not deadline.affords(self.training.step_seconds):
                break
            further = last.ascend(mean, last.support(mean, u, deadline), deadline, deadline)
            if not mean.value(further) > (1.0 + TOP) * mean.value(u):
                break
            u = further
        return u

    def _along_slope(self, mean: Function) -> Vector:
        """Return the member that a loss, as its slope at the trained model has it, leads to."""
        u = self.training.u
        at = mean.tangent(u) if isinstance(mean, MeanLoss) else mean.expansion(u)
        return self.boundary(solve(self.training.smooth.curvature, at.slope))

    def descended(self, mean: Function, deadline: Deadline) -> Vector:
        """Return the member of least loss, as far as time allows."""
        u = self.training.u
        for sublevel in self._sublevels:
            u = sublevel.descend(mean, u, deadline)
        return u

    def at_random(self, rng: Generator) -> Vector:
        """Return a member on the boundary, in a random direction from the trained model."""
        return self.boundary(solve_triangular(self._root, rng.standard_normal(len(self._root))))

    @cached_property
    def _root(self) -> Matrix:
        """The upper triangular root of the curvature at the trained model."""
        return np.asarray(cholesky(self.training.smooth.curvature))

    def promising(self, mean: Function, rows: Rows, deadline: Deadline) -> list[Vector]:
        """Return members on the boundary from which to climb again, if there is time."""
        met: list[Vector] = []
        if deadline.over:
            return met
        directions = np.random.default_rng(0).standard_normal((TRIED, len(self._root)))
        # Against the mean of all rows: where none costs anything there is no slope to follow.
        against = solve(self.training.smooth.curvature, rows.total(_mean_row))
        for d in [against, *solve_triangular(self._root, directions.T).T]:
            if deadline.over:
                break
            met += [self.boundary(side * d) for side in (-1.0, 1.0)]
        return sorted(met, key=mean.value)[-STARTS:]

    def confirmed(self, u: Vector) -> Vector:
        """Return a model, or one nearer to the trained one, that is a member by the rows alone."""
        training = self.training
        if not isinstance(training.objective.mean, Parabola):
            return u
        budget = self.limit - training.value
        for _ in range(10):
            used = self.direct.value(u) - training.value
            if used <= budget:
                return u
            if budget <= 0.0:
                break
            u = training.u + np.sqrt(budget / used) * (1.0 - ROUNDING) * (u - training.u)
        return training.u

    @property
    def direct(self) -> Objective:
        """The objective by a pass over the rows."""
        problem = self.training.problem
        return replace(self.training.objective, mean=MeanLoss(problem.rows, problem.loss))


def _mean_row(block: Block) -> Vector:
    return np.asarray(block.weight @ block.Z)


@dataclass(frozen=True, eq=False)
class Sublevel:
    """The models with a computed training objective within a limit, around the trained one."""

    objective: Objective
    trained: Vector
    optimum: Quadratic
    limit: float
    seconds: float
    """What a step of an ascent takes, at least."""

    def boundary(self, direction: Vector) -> Vector:
        """Return the last member in a direction from the trained model."""
        limit, u = self.limit, self.trained
        if self.optimum.value >= limit or not direction.any():
            return u
        far = 1.0
        value, slope = self.objective.slope_along(u + direction, direction)
        while value <= limit:
            far *= 2.0
            if far > 1e15:
                raise useless()
            value, slope = self.objective.slope_along(u + far * direction, direction)
        # From outside Newton's method comes ever closer to the boundary of a convex function.
        for _ in range(60):
            nearer = far - (value - limit) / slope
            if value <= limit * (1.0 + 1e-13) or not 0.0 < nearer < far:
                break
            far = nearer
            value, slope = self.objective.slope_along(u + far * direction, direction)
        back = 1e-13
        while self.objective.value(u + far * direction) > limit:
            far *= 1.0 - back
            back = min(0.5, 16.0 * back)
        return u + far * direction

    def pulled_back(self, u: Vector) -> Vector:
        """Return the last member on the way from the trained model to another one."""
        if self.objective.value(u) <= self.limit:
            return u
        return self.boundary(u - self.trained)

    def ascend(self, mean: Function, start: Vector, deadline: Deadline, late: Deadline) -> Vector:
        """Climb to a member of large loss by steps that are trust-region problems.

        The first few may be taken until later than the others.
        """
        u, value, before = start, mean.value(start), 0.0
        for step in range(STEPS):
            if not (late if step < LEAST_STEPS else deadline).affords(self.seconds):
                break
            at = self.optimum if u is self.trained else self.objective.expansion(u)
            region = Quadratic(min(0.0, at.value - self.limit), at.slope, at.curvature)
            ahead = largest(mean.expansion(u), region).point
            share = 1.0
            while True:
                further = self.pulled_back(u + share * ahead)
                reached = mean.value(further)
                if reached > value or share < 1e-6:
                    break
                share *= 0.5
            if reached <= value:
                return u
            gained = reached - value
            u, value = further, reached
            # What the next step would gain, if gains go on falling as they did.
            if gained <= TOP * value or gained * gained <= TOP * value * before:
                return u
            before = gained
        return u

    def descend(self, mean: Function, start: Vector, deadline: Deadline) -> Vector:
        """Minimise the mean loss from a member on, along the multiplier of the budget."""

        def weighted(multiplier: float) -> Function:
            return Weighted(mean, multiplier, self.objective)

        inside = self._along(weighted, start, (np.log(1e-6), 0.0), deadline)
        return min(inside, key=mean.value)

    def support(self, mean: Function, start: Vector, deadline: Deadline) -> Vector:
        """Return the member that a convex loss, as its slope at another has it, is largest for.

        The loss lies above its tangent, so the member has no less than the one it is from.
        """
        slope = mean.expansion(start).slope
        at = self.objective.expansion(start)
        if not (slope.any() and certainly_positive(at.curvature)):
            return start
        ahead = solve(at.curvature, slope)
        # At the member in question the slope of R is that of the loss, so many times.
        times = max(float(at.slope @ ahead), TINY) / max(float(slope @ ahead), TINY)

        def tilted(multiplier: float) -> Function:
            return Tilted(self.objective, slope / multiplier)

        near = float(np.log(max(1.0 / times, TINY)))
        inside = self._along(tilted, start, (near - 1.0, near), deadline)
        return max(inside, key=mean.value)

    def _along(
        self,
        function: Callable[[float], Function],
        start: Vector,
        first: tuple[float, float],
        deadline: Deadline,
    ) -> list[Vector]:
        """Minimise functions of a multiplier until the minimiser uses up the budget.

        Of its logarithm two values are tried first; the larger it is the less is used. Return the
        members met.
        """
        inside = [start]

        @cache  # each value depends on where the one before ended, and a root needs one sign
        def excess(logarithm: float) -> float:
            if deadline.over:
                raise LateError
            u, _ = newton(function(float(np.exp(logarithm))), inside[-1], deadline)
            over = self.objective.value(u) - self.limit
            if over <= 0.0:
                inside.append(u)
            return over

        low, high = first
        try:
            while excess(high) > 0.0 and high < first[1] + np.log(1e12):
                low, high = high, high + np.log(10.0)
            if excess(low) > 0.0 >= excess(high):
                brentq(excess, low, high, xtol=1e-7, rtol=1e-7)
        except LateError:
            pass
        return inside


def useless() -> SolverError:
    """Return what is said of a set so long that no bound is of use."""
    return SolverError(
        "some row weighs so much in the fit that no useful bound exists; transform the features "
        "with the longest tails, raise the penalty or lower epsilon"
    )
