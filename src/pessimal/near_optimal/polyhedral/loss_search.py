"""The largest loss over the near-optimal models of a box, in the time there is.

With all the time there is, the branch and bound on points (`cases`) finds what it needs by itself;
what it has not proved after some nodes is excluded.
A limited time is shared: first come the ranges of the margins and ascents from the models at their
ends, then branching on points; of the hinge loss all that lose more than the worst model found are
excluded (`exclusion`); then comes branching on directions (`directions`), whose bound is better
where many points may be on both sides of the breakpoint, then points again.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace

import numpy as np

from pessimal.limits import Deadline
from pessimal.losses import HINGE, Hinge, Loss, OneBreakpoint, ZeroOne
from pessimal.lp.highs import WarmProgram
from pessimal.lp.sparse_rows import SparseRows
from pessimal.near_optimal.polyhedral.cases import WorstCases
from pessimal.near_optimal.polyhedral.cells import Cells, Coordinates
from pessimal.near_optimal.polyhedral.exclusion import largest_hinge
from pessimal.near_optimal.polyhedral.linear_program import BoxModels, loading_seconds
from pessimal.near_optimal.polyhedral.program import pulled_back
from pessimal.near_optimal.polyhedral.ranges import ScoreRanges
from pessimal.problem import Budget, Mask, Matrix, TuningProblem, Vector, margin_rows
from pessimal.tolerances import LP_FEASIBILITY

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

EXCLUSION_SHARE = 0.4
"""Of the rest, for excluding all that lose more: of a hundred points it seldom takes longer."""

FIRST_NODES = 1000
"""Nodes of the tree on points before that begins, with all the time there is."""

MOMENTS_SHARE, MOMENTS_SHARE_OF_MANY = 0.6, 0.9
"""Of the rest, for branching on directions before points are returned to: of many that proves
nothing, but finds models."""


class LossSearch:
    """Largest losses of the models of a box; what one search finds the next ones begin with.

    Parameters
    ----------
    budget : Budget
    models : BoxModels
        The set in HiGHS.
    ranges : ScoreRanges
    inner : ndarray of shape (p + 1,)
        A member ``(w, b)``.
    """

    def __init__(
        self, budget: Budget, models: BoxModels, ranges: ScoreRanges, inner: Vector
    ) -> None:
        self._budget, self._models, self._ranges, self._inner = budget, models, ranges, inner
        self._box, self._limit = models.box, models.training_limit
        self._cells: Cells | None = None

    def find(
        self,
        problem: TuningProblem,
        loss: OneBreakpoint,
        deadline: Deadline,
        node_limit: int | None,
    ) -> tuple[Vector, float]:
        """Find the largest loss and a bound on it, as far as limits and Ctrl-C allow."""
        cases = WorstCases(problem, self._budget, loss)
        cases.begin(self._box, self._limit, self._inner)
        with suppress(KeyboardInterrupt):
            self.explore(cases, problem, loss, deadline, node_limit)
        found = cases.known()
        if not loss.counts:
            return found.u, found.upper_bound
        deeper = self._deepest(problem, found.u, loss.threshold, deadline)
        u = max(found.u, deeper, key=lambda u: mean_loss(problem, loss, u))
        return u, found.upper_bound

    def prepare(self, problem: TuningProblem, deadline: Deadline) -> None:
        """Do ahead what searches on many points of both sides of the breakpoints share."""
        low, high, _ = self._known_margins(problem)
        undecided = max(_undecided(low, high, loss.threshold) for loss in (HINGE, ZeroOne()))
        if undecided > MANY and deadline.moment < np.inf:
            self._ranges.find_loosely(self._models.problem.X_train, deadline)

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
        cases.know(low, high, exact, self._members(), deadline.share(ASCENT_SHARE))
        if node_limit is None and deadline.moment < np.inf:
            many = _undecided(low, high, loss.threshold) > MANY
            first = deadline.share(0.0 if many else FIRST_SHARE)
            cases.solve_root(first, deadline.share(ROOT_SHARE))
            if not many:
                cases.run(first)
            self._exclude(cases, problem, loss, deadline.share(EXCLUSION_SHARE))
            rest = deadline.share(MOMENTS_SHARE_OF_MANY if many else MOMENTS_SHARE)
            self._bound_along_directions(cases, problem, loss, rest)
        elif node_limit is None:
            cases.run(deadline, FIRST_NODES)
            self._exclude(cases, problem, loss, deadline)
        if cases.open:
            cases.run(deadline, node_limit)

    def _exclude(
        self, cases: WorstCases, problem: TuningProblem, loss: OneBreakpoint, deadline: Deadline
    ) -> None:
        """Exclude models that lose more than the worst one found."""
        if not isinstance(loss, Hinge) or deadline.over or not cases.open:
            return
        best = self._best(cases, problem, deadline)
        cases.prove(largest_hinge(problem, self._box, self._limit, self._inner, best, deadline))

    def _best(
        self, cases: WorstCases, problem: TuningProblem, deadline: Deadline
    ) -> Callable[[Vector | None], float]:
        """Return what tells the largest loss found, given a model after looking around it."""

        def best(u: Vector | None) -> float:
            if u is not None:
                u = np.append(np.clip(u[:-1], -self._box, self._box), u[-1])
                u = pulled_back(problem, u, self._inner, self._limit)
                cases.ascend_from(u[None, :], deadline)
            return cases.known().value

        return best

    def _bound_along_directions(
        self, cases: WorstCases, problem: TuningProblem, loss: OneBreakpoint, deadline: Deadline
    ) -> None:
        """Bound a largest loss for which branching on points was not enough."""
        from pessimal.near_optimal.polyhedral.directions import (  # noqa: PLC0415 (slow to import)
            DirectionSearch,
        )

        if deadline.over or not cases.open:
            return
        self._ranges.find_loosely(self._models.problem.X_train, deadline.share(TRAINING_SHARE))
        if self._cells is None:
            coordinates = Coordinates.of(self._members(), self._ranges, deadline)
            if coordinates is None:
                return
            self._cells = Cells(coordinates, self._ranges)
        search = DirectionSearch(problem, self._box, self._limit, loss, self._cells)
        best = self._best(cases, problem, deadline)
        cases.prove(search.bound(best, cases.gain, deadline))

    def _margin_ranges(
        self, problem: TuningProblem, loss: OneBreakpoint, deadline: Deadline
    ) -> tuple[Vector, Vector, Mask]:
        """Find the ranges of the margins that may lie on both sides of the breakpoint.

        With all the time there is, the search finds those that it needs sooner by itself.
        """

        def undecided() -> Mask:
            low, high, _ = self._known_margins(problem)
            return (low < loss.threshold) & (high > loss.threshold)

        if deadline.moment < np.inf:
            rows = problem.X_val[undecided()]
            self._ranges.find_loosely(rows, deadline.share(RANGES_SHARE))
            if undecided().sum() <= MANY:
                self._ranges.find(problem.X_val[undecided()], deadline.share(RANGES_SHARE))
        return self._known_margins(problem)

    def _members(self) -> Matrix:
        """Return the models at the ends of the ranges that are known."""
        return np.array(self._ranges.members).reshape(-1, len(self._box) + 1)

    def _known_margins(self, problem: TuningProblem) -> tuple[Vector, Vector, Mask]:
        """Return what is known of the ranges of validation margins, and which are exact."""
        low, high, exact = self._ranges.known(problem.X_val)
        ends = np.array([low, high]) * problem.y_val
        return ends.min(axis=0), ends.max(axis=0), exact

    def _deepest(
        self, problem: TuningProblem, u: Vector, threshold: float, deadline: Deadline
    ) -> Vector:
        """Return a member whose margins are further below `threshold` where those of `u` are.

        As far as can be, up to one unit. Out of time it is `u` itself.
        """
        rows = margin_rows(problem.X_val, problem.y_val)
        rows = rows[rows @ u <= threshold + 2.0 * LP_FEASIBILITY]
        if not (len(rows) and deadline.affords(loading_seconds(self._models.problem))):
            return u
        n_columns = len(self._models.program.cost)
        program = self._models.program.extended(
            cost=np.append(np.zeros(n_columns), -1.0),
            rows=replace(SparseRows.of(rows), n_columns=n_columns).beside(
                SparseRows.of(np.ones((len(rows), 1)))
            ),
            row_upper=np.full(len(rows), threshold),
            lower=np.array([-np.inf]),
            upper=np.ones(1),
        )
        simplex = WarmProgram(program)
        if not simplex.solve(deadline):
            return u
        x = simplex.point()[: rows.shape[1]]
        return np.append(np.clip(x[:-1], -self._box, self._box), x[-1])


def _undecided(low: Vector, high: Vector, threshold: float) -> int:
    """Return how many margins may be on both sides of a threshold."""
    return int(np.sum((low < threshold) & (high > threshold)))


def mean_loss(problem: TuningProblem, loss: Loss, u: Vector) -> float:
    """Return the mean loss of a model ``(w, b)`` on the validation set."""
    margins = problem.y_val * (problem.X_val @ u[:-1] - u[-1])
    return loss.mean(margins, problem.val_weight)
