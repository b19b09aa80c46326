"""Training in a box, and the near-optimal set Ψ: all models of the box that train well enough.

The training problem is the paper's eq. (boxSVM): least ``L_T(w, b)`` with ``|w_j| ≤ w̄_j``. With
``L_T*`` its value, ``Ψ(w̄) = {(w, b) in the box: L_T ≤ (1 + ε)·L_T* + δ}`` is a polytope (both
classes are in T, so the budget bounds b). Whatever is linear or convex over Ψ is a linear program:
the best validation loss, and the range of the score at a point.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from pessimal.problem import Budget, Matrix, TuningProblem, Vector, feature_rows, margin_rows
from pessimal.tolerances import BUDGET_SLACK
from pessimal.training.linear import Program, WarmProgram
from pessimal.worst.program import coarse_ranges


@dataclass(frozen=True, eq=False)
class Trained:
    """A model ``(w, b)`` of least training loss in a box, and that loss."""

    value: float
    w: Vector
    b: float


@dataclass(frozen=True, eq=False)
class BestCase:
    """The near-optimal model that does best on the validation set.

    Attributes
    ----------
    value : float
        Its mean hinge loss on the validation set.
    coef, intercept : ndarray of shape (p,), float
        The model, in scikit-learn's sign: the score is ``X @ coef + intercept``.
    """

    value: float
    coef: Vector
    intercept: float


def least_loss(problem: TuningProblem, box: ArrayLike) -> Trained:
    """Train in a box: the paper's eq. (boxSVM).

    Parameters
    ----------
    problem : TuningProblem
    box : float or array-like of shape (p,)
        The hyperparameters w̄.

    Returns
    -------
    Trained
        Least training loss and a model ``(w, b)`` that has it; the score is ``x·w − b``.

    Examples
    --------
    >>> problem = TuningProblem([[0.0], [1.0]], [-1, 1], [[2.0]], [1])
    >>> least_loss(problem, 1.0).value
    0.5
    """
    return BoxModels(problem, problem.box(box)).least_loss()


def best_case(problem: TuningProblem, box: ArrayLike, budget: Budget | None = None) -> BestCase:
    """Least validation loss over the near-optimal models of a box.

    Parameters
    ----------
    problem : TuningProblem
    box : float or array-like of shape (p,)
        The hyperparameters w̄.
    budget : Budget, optional
        How far from optimal a model may train; by default not at all.

    Returns
    -------
    BestCase

    Examples
    --------
    >>> problem = TuningProblem([[0.0], [1.0]], [-1, 1], [[2.0]], [1])
    >>> round(best_case(problem, 1.0).value, 6)
    0.0
    """
    models = near_optimal(
        problem, problem.box(box), budget, margin_rows(problem.X_val, problem.y_val)
    )
    u = models.minimise(hinge_cost=problem.val_weight)
    w, b = u[:-1], float(u[-1])
    return BestCase(value=problem.val_loss(w, b), coef=w, intercept=-b)


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
    >>> low, high = score_range(problem, 1.0, Budget(absolute=0.5))
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
    their margin rows; the last row is the training loss, without limit at first.
    """

    def __init__(self, problem: TuningProblem, box: Vector, others: Matrix | None = None) -> None:
        self.problem = problem
        self.box = box
        self.program = _hinge_program(problem, box, others)
        self.training_limit = np.inf
        self._simplex = WarmProgram(self.program)

    def minimise(
        self,
        model_cost: Vector | None = None,
        train_cost: Vector | None = None,
        hinge_cost: Vector | None = None,
    ) -> Vector:
        """Return ``(w, b)`` of least cost, given the costs of u, ξ and v (0 by default)."""
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
        u = self._simplex.minimise()[:first_hinge]
        u[:-1] = np.clip(u[:-1], -self.box, self.box)
        return u

    def least_loss(self) -> Trained:
        """Train: the paper's eq. (boxSVM)."""
        u = self.minimise(train_cost=self.problem.train_weight)
        w, b = u[:-1], float(u[-1])
        return Trained(value=self.problem.train_loss(w, b), w=w, b=b)

    def limit_training(self, limit: float) -> None:
        """Keep only the models with ``L_T ≤ limit``."""
        self.training_limit = limit
        self._simplex.set_row(len(self.program.row_upper) - 1, -np.inf, limit)


def near_optimal(
    problem: TuningProblem, box: Vector, budget: Budget | None, others: Matrix | None = None
) -> BoxModels:
    """Return Ψ: the models of the box within the training budget."""
    models = BoxModels(problem, box, others)
    least = models.least_loss().value
    models.limit_training((budget or Budget()).limit(least) + BUDGET_SLACK)
    return models


def row_ranges(
    models: BoxModels, rows: Matrix, deadline: float = np.inf
) -> tuple[Vector, Vector, Matrix]:
    """Range of each linear form ``rows·u`` over Ψ, and all the models at its ends.

    Past the deadline, rows after the first have ranges that only hold Ψ's.
    """
    low, high = coarse_ranges(models.problem, models.box, models.training_limit, rows)
    ends: list[Vector] = []
    for k, row in enumerate(rows):
        if ends and time.perf_counter() > deadline:
            break
        ends += models.minimise(row), models.minimise(-row)
        low[k], high[k] = ends[-2] @ row, ends[-1] @ row
    return low, high, np.array(ends)


def _hinge_program(problem: TuningProblem, box: Vector, others: Matrix | None) -> Program:
    p, n_train = problem.n_features, problem.n_train
    margins = margin_rows(problem.X_train, problem.y_train)
    if others is not None:
        margins = np.vstack([margins, others])
    n_hinges = len(margins)
    matrix = np.zeros((n_hinges + 1, p + 1 + n_hinges))
    matrix[:-1, : p + 1] = margins
    matrix[:-1, p + 1 :] = np.eye(n_hinges)
    matrix[-1, p + 1 : p + 1 + n_train] = problem.train_weight
    return Program(
        cost=np.zeros(p + 1 + n_hinges),
        matrix=matrix,
        row_lower=np.append(np.ones(n_hinges), -np.inf),
        row_upper=np.full(n_hinges + 1, np.inf),
        lower=np.concatenate([-box, [-np.inf], np.zeros(n_hinges)]),
        upper=np.concatenate([box, np.full(1 + n_hinges, np.inf)]),
    )
