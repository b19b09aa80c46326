"""Training in a box, and the near-optimal set Ψ: all models of the box that train well enough.

The training problem is the paper's eq. (boxSVM): least ``L_T(w, b)`` with ``|w_j| ≤ w̄_j``. With
``L_T*`` its value, ``Ψ(w̄) = {(w, b) in the box: L_T ≤ (1 + ε)·L_T* + δ}`` is a polytope (both
classes are in T, so the budget bounds b). Whatever is linear or convex over Ψ is a linear program:
the best validation loss, and the range of the score at a point.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from pessimal.limits import LATE_SECONDS, NEVER, Deadline, read_time_limit
from pessimal.lp.highs import LinearProgram, WarmProgram
from pessimal.lp.sparse_rows import SparseRows
from pessimal.near_optimal.polyhedral.program import (
    coarse_ranges,
    intercept_range,
)
from pessimal.problem import Budget, Matrix, TuningProblem, Vector, feature_rows, margin_rows

SECONDS_PER_CELL = 5e-7
"""What it takes HiGHS to load rows × features and to solve a first program of them, at least."""


def loading_seconds(problem: TuningProblem) -> float:
    """Estimate what it takes to load the training rows of a problem: no deadline ends it sooner."""
    return SECONDS_PER_CELL * float(problem.X_train.size)


@dataclass(frozen=True, eq=False)
class Trained:
    """A model ``(w, b)`` of least training loss in a box, that loss, and a bound on the least.

    It is `optimal` by the solver's word, unless time ran out.
    """

    value: float
    w: Vector
    b: float
    lower_bound: float
    optimal: bool


def least_loss(problem: TuningProblem, box: ArrayLike, time_limit: float | None = None) -> Trained:
    """Train in a box: the paper's eq. (boxSVM).

    Parameters
    ----------
    problem : TuningProblem
    box : float or array-like of shape (p,)
        The hyperparameters w̄.
    time_limit : float, optional
        Seconds after which the best model so far is returned; 0.3 s it has in any case.

    Returns
    -------
    Trained
        Least training loss and a model ``(w, b)`` that has it; the score is ``x·w − b``. No model
        of the box has a loss below the `lower_bound`.

    Examples
    --------
    >>> problem = TuningProblem([[0.0], [1.0]], [-1, 1], [[2.0]], [1])
    >>> least_loss(problem, 1.0).value
    0.5
    """
    deadline = Deadline.after(read_time_limit(time_limit))
    return BoxModels(problem, problem.box(box)).least_loss(deadline)


def score_range(
    problem: TuningProblem,
    box: ArrayLike,
    budget: Budget | None = None,
    X: ArrayLike | None = None,
) -> tuple[Vector, Vector]:
    """Least and largest score that near-optimal models of a box give to each row of X.

    A row whose range straddles 0 is one on which equally good models disagree.

    Parameters
    ----------
    problem : TuningProblem
    box : float or array-like of shape (p,)
        The hyperparameters w̄.
    budget : Budget, optional
        How far from optimal a model may train; by default not at all.
    X : array-like of shape (n, p), optional
        Points to score; by default the validation set.

    Returns
    -------
    low, high : ndarray of shape (n,)

    Examples
    --------
    >>> problem = TuningProblem([[-1.0], [1.0]], [-1, 1], [[3.0]], [1])
    >>> low, high = score_range(problem, 1.0, Budget(delta=0.5))
    >>> float(low[0].round(6)), float(high[0].round(6))
    (1.0, 4.0)
    """
    points = problem.X_val if X is None else feature_rows("X", X, problem.n_features)
    rows = margin_rows(points, np.ones(len(points)))
    low, high, _ = row_ranges(near_optimal(problem, problem.box(box), budget), rows)
    return low, high


class BoxModels:
    """The models ``u = (w, b)`` of a box as a linear program, kept warm in HiGHS.

    Columns ``(u, ξ, v)`` with ``ξ`` the hinges of T and ``v`` those of further points, given by
    their margin rows and a breakpoint; the last row is the training loss, without limit at first.
    HiGHS loads it when it is first solved, if there is time for that: loading cannot be cut short.
    """

    def __init__(
        self,
        problem: TuningProblem,
        box: Vector,
        others: Matrix | None = None,
        breakpoint_: float = 1.0,
    ) -> None:
        self.problem = problem
        self.box = box
        self.training_limit = np.inf
        self._others = np.empty((0, len(box) + 1)) if others is None else others
        self._at = np.repeat([1.0, breakpoint_], [problem.n_train, len(self._others)])
        self._known_limits: dict[float, tuple[Vector, Vector]] = {}
        self._unit = 1.0  # of the training loss in its row
        self._loading = SECONDS_PER_CELL * len(self._at) * self._others.shape[1]

    @cached_property
    def _margins(self) -> Matrix:
        problem = self.problem
        return np.concatenate([margin_rows(problem.X_train, problem.y_train), self._others])

    @cached_property
    def _reach(self) -> Vector:
        """How large a hinge may be at an intercept of 0."""
        return np.abs(self._margins[:, :-1]) @ self.box + np.abs(self._at)

    @cached_property
    def program(self) -> LinearProgram:
        """The program, with the limit on training that there is when it is first asked for."""
        weight = np.zeros(len(self._at))
        weight[: self.problem.n_train] = self.problem.train_weight / self._unit
        program = _hinge_program(self.box, self._margins, weight, self._at)
        program.row_upper[-1] = self.training_limit / self._unit
        return program

    @cached_property
    def _simplex(self) -> WarmProgram:
        return WarmProgram(self.program)

    def _ready(self, deadline: Deadline) -> bool:
        """Whether the program is loaded, or there is time for it."""
        return "_simplex" in self.__dict__ or deadline.affords(self._loading)

    def minimise(
        self,
        model_cost: Vector | None = None,
        train_cost: Vector | None = None,
        hinge_cost: Vector | None = None,
    ) -> Vector:
        """Return ``(w, b)`` of least cost, given the costs of u, ξ and v (0 by default)."""
        self._set_cost(model_cost, train_cost, hinge_cost)
        self._simplex.minimise()
        return self._model()

    def least_loss(self, deadline: Deadline = NEVER, at_least: float = LATE_SECONDS) -> Trained:
        """Train: the paper's eq. (boxSVM). Past the deadline, the best model so far.

        A small loss is minimised again in its own unit, for tolerances are absolute. Some seconds
        it has in any case: without training there is little to say.
        """
        trained = self._untrained()
        if not (at_least or self._ready(deadline)):
            return trained
        deadline = deadline.not_within(at_least)
        unit = 1.0
        while True:
            self._set_cost(None, self.problem.train_weight / unit, None)
            solved = self._simplex.solve(deadline)
            u = self._model()
            value = self.problem.train_loss(u[:-1], float(u[-1]))
            if value < trained.value:
                trained = replace(trained, value=value, w=u[:-1], b=float(u[-1]))
            bound = unit * self._simplex.lower_bound(*self._limits(trained.value))
            bound = min(max(trained.lower_bound, bound), trained.value)
            trained = replace(trained, lower_bound=bound, optimal=solved)
            last, unit = unit, self.problem.loss_unit(trained.value)
            if unit >= last:
                return trained

    def least(
        self,
        model_cost: Vector | None = None,
        hinge_cost: Vector | None = None,
        deadline: Deadline = NEVER,
    ) -> tuple[Vector | None, float]:
        """Return a model of least cost, if there was time, and a bound on the cost of all."""
        if not self._ready(deadline):
            return None, -np.inf
        self._set_cost(model_cost, None, hinge_cost)
        solved = self._simplex.solve(deadline)
        bound = -np.inf  # without a training limit b is free, and multipliers bound nothing
        if self.training_limit < np.inf:
            bound = self._simplex.lower_bound(*self._limits(self.training_limit))
        return self._model() if solved else None, bound

    def limit_training(self, limit: float) -> None:
        """Keep only the models with ``L_T ≤ limit``."""
        self.training_limit = limit
        unit = self.problem.loss_unit(limit)
        if unit != self._unit:
            # In the unit of the limit the tolerance of its row is relative.
            self._unit = unit
            for written in ("program", "_simplex"):
                self.__dict__.pop(written, None)
            return
        last = len(self._at)
        if "program" in self.__dict__:
            self.program.row_upper[last] = limit / unit
        if "_simplex" in self.__dict__:
            self._simplex.set_row(last, -np.inf, limit / unit)

    def _untrained(self) -> Trained:
        """Return the best model without weights, which every box has: the heavier class for all."""
        (_, negative), (_, positive) = self.problem.by_class
        w, b = np.zeros(len(self.box)), -1.0 if positive[-1] >= negative[-1] else 1.0
        return Trained(self.problem.train_loss(w, b), w, b, 0.0, optimal=False)

    def _set_cost(
        self, model_cost: Vector | None, train_cost: Vector | None, hinge_cost: Vector | None
    ) -> None:
        first_hinge = self.problem.n_features + 1
        first_other = first_hinge + self.problem.n_train
        cost = np.zeros(len(self.program.cost))
        if model_cost is not None:
            cost[:first_hinge] = model_cost
        if train_cost is not None:
            cost[first_hinge:first_other] = train_cost
        if hinge_cost is not None:
            cost[first_other:] = hinge_cost
        self._simplex.set_cost(cost)

    def _model(self) -> Vector:
        u = self._simplex.point()[: len(self.box) + 1]
        u[:-1] = np.clip(u[:-1], -self.box, self.box)
        return u

    def _limits(self, limit: float) -> tuple[Vector, Vector]:
        """Finite limits on all columns, which no model that trains within `limit` exceeds."""
        if limit not in self._known_limits:
            low, high = intercept_range(self.problem, self.box, limit)
            hinges = self._reach + max(-low, high)
            lower = np.concatenate([-self.box, [low], np.zeros(len(hinges))])
            self._known_limits = {limit: (lower, np.concatenate([self.box, [high], hinges]))}
        return self._known_limits[limit]


def near_optimal(
    problem: TuningProblem, box: Vector, budget: Budget | None, others: Matrix | None = None
) -> BoxModels:
    """Return Ψ: the models of the box within the training budget."""
    models = BoxModels(problem, box, others)
    least = models.least_loss().value
    models.limit_training(problem.training_limit(budget or Budget(), least))
    return models


def row_ranges(
    models: BoxModels, rows: Matrix, deadline: Deadline = NEVER
) -> tuple[Vector, Vector, Matrix]:
    """Range of each linear form ``rows·u`` over Ψ, and the models at its ends.

    No model of Ψ leaves a range. Past the deadline, the remaining ones are coarse and have no
    models at their ends.
    """
    low, high = coarse_ranges(models.problem, models.box, models.training_limit, rows)
    ends: list[Vector] = []
    for k, row in enumerate(rows):
        if deadline.over:
            break
        at_low, least = models.least(row, deadline=deadline)
        at_high, most = models.least(-row, deadline=deadline)
        low[k], high[k] = max(low[k], least), min(high[k], -most)
        if at_low is None or at_high is None:
            break
        ends += at_low, at_high
    return low, high, np.array(ends).reshape(-1, rows.shape[1])


def _hinge_program(box: Vector, margins: Matrix, weight: Vector, at: Vector) -> LinearProgram:
    """Write ``margins·u + hinge ≥ at`` and, in the last row, ``weight·hinge``."""
    n_hinges, n_models = margins.shape
    n_columns = n_models + n_hinges
    loss = np.append(np.zeros(n_models), weight)
    rows = SparseRows.of(np.column_stack([margins, np.ones(n_hinges)]))
    rows.columns[rows.starts[1:] - 1] += np.arange(n_hinges)  # each hinge has its own
    return LinearProgram(
        cost=np.zeros(n_columns),
        matrix=rows.above(SparseRows.of(loss[None, :])),
        row_lower=np.append(at, -np.inf),
        row_upper=np.full(n_hinges + 1, np.inf),
        lower=np.concatenate([-box, [-np.inf], np.zeros(n_hinges)]),
        upper=np.concatenate([box, np.full(1 + n_hinges, np.inf)]),
    )
