"""The worst case: the largest validation loss among the near-optimal models of a box.

Two methods. ``"exact"`` is a branch and bound with proved bounds. ``"flip"`` is the paper's
eq. (evaluation-ML) by label flipping: among the models of Ψ take the one that fits the validation
set with *flipped* labels best. That is a linear program, and its model is a member of Ψ, so its
loss is a lower bound on the worst case; it can be far below.

A margin within `tolerances.STRICT` of a threshold is a tie, and a tie is not below it.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike

from pessimal.errors import InvalidInputError
from pessimal.problem import Budget, Mask, TuningProblem, Vector, hinge, margin_rows
from pessimal.tolerances import CUTOFF, STRICT
from pessimal.training.exact import counted, deepest
from pessimal.training.near_optimal import BoxModels
from pessimal.worst.cases import WorstCases
from pessimal.worst.program import coarse_ranges

Method = Literal["exact", "flip"]
Loss = Literal["hinge", "zero_one", "margin"]

_THRESHOLD = {"zero_one": 0.0, "margin": 1.0}


@dataclass(frozen=True, eq=False)
class WorstCase:
    """The near-optimal model that does worst on the validation set, as far as is known.

    Attributes
    ----------
    value : float
        Its validation loss, recomputed from the data.
    coef, intercept : ndarray of shape (p,), float
        The model, in scikit-learn's sign: the score is ``X @ coef + intercept``.
    upper_bound : float
        No near-optimal model of the box has a larger loss.
    lower_bound : float
        The worst case is at least this: `value`, since its model attains it. If time ran out
        before the least training loss was known, the model may train too badly, and this is 0.
    """

    value: float
    coef: Vector
    intercept: float
    upper_bound: float
    lower_bound: float


def worst_case(
    problem: TuningProblem,
    box: ArrayLike,
    budget: Budget | None = None,
    method: Method = "exact",
    loss: Loss = "hinge",
    flipped: ArrayLike | None = None,
    time_limit: float | None = None,
    node_limit: int | None = None,
) -> WorstCase:
    """Largest validation loss over the near-optimal models of a box.

    Parameters
    ----------
    problem : TuningProblem
    box : float or array-like of shape (p,)
        The hyperparameters w̄.
    budget : Budget, optional
        How far from optimal a model may train; by default not at all.
    method : {"exact", "flip"}, default="exact"
        A search with proved bounds, or the paper's flipping linear program. The
        upper bound of the latter is cheap and coarse: it follows from the box and the budget.
    loss : {"hinge", "zero_one", "margin"}, default="hinge"
        Mean hinge loss, or weight of the validation points with ``y·score < 0`` or ``< 1``.
    flipped : array-like of bool of shape (n_val,), optional
        For ``"flip"``: the validation points V_f to flip; by default all of them.
    time_limit : float, optional
        For ``"exact"``: seconds after which the worst model so far is returned, with the upper
        bound proved by then.
    node_limit : int, optional
        For ``"exact"`` and the hinge loss: the same in nodes, alike on every machine.

    Returns
    -------
    WorstCase
        For the two counting losses the value and the bound leave out ties: margins within 1e-6 of
        the threshold.

    Examples
    --------
    >>> problem = TuningProblem([[-1.0], [1.0]], [-1, 1], [[0.5], [-2.0]], [1, -1])
    >>> round(worst_case(problem, 1.0).value, 6)
    0.25
    >>> worst = worst_case(problem, 1.0, Budget(absolute=0.5))
    >>> round(worst.value, 6), round(worst.upper_bound, 6)
    (0.75, 0.75)
    """
    if method not in get_args(Method):
        raise InvalidInputError(f"method is {method!r}; pass 'exact' or 'flip'")
    if loss not in get_args(Loss):
        raise InvalidInputError(f"loss is {loss!r}; pass 'hinge', 'zero_one' or 'margin'")
    limits = problem.box(box)
    if node_limit is not None and not node_limit > 0:
        raise InvalidInputError(f"node_limit is {node_limit!r}; pass a positive number or None")
    budget = Budget() if budget is None else budget
    deadline = _deadline(time_limit)
    if method == "flip":
        mask = _mask(problem, flipped)
        models = BoxModels(problem, limits, margin_rows(problem.X_val[mask], -problem.y_val[mask]))
    else:
        models = BoxModels(problem, limits)
    trained = models.least_loss(deadline)
    limit = problem.training_limit(budget, trained.value)
    models.limit_training(limit)
    if method == "flip":
        u = models.minimise(hinge_cost=problem.flipped_weight(mask))
        upper = _coarse_bound(models, loss)
    else:
        threshold = None if loss == "hinge" else _THRESHOLD[loss] - STRICT
        worst = WorstCases(problem, budget, threshold).worst(
            limits, limit, np.inf, deadline, node_limit, np.append(trained.w, trained.b)
        )
        u, upper = worst.u, worst.upper_bound
        if threshold is not None:
            u = max(
                u, deepest(models, u, threshold, deadline), key=lambda u: _loss(problem, loss, u)
            )
    value = _loss(problem, loss, u)
    certain = trained.value <= budget.limit(trained.lower_bound) + CUTOFF
    return WorstCase(value, u[:-1], -float(u[-1]), max(value, upper), value if certain else 0.0)


def _coarse_bound(models: BoxModels, loss: Loss) -> float:
    """Bound the loss from the box and the training limit alone."""
    problem = models.problem
    rows = margin_rows(problem.X_val, problem.y_val)
    low, _ = coarse_ranges(problem, models.box, models.training_limit, rows)
    if loss == "hinge":
        return float(problem.val_weight @ hinge(low))
    return float(problem.val_weight[low < _THRESHOLD[loss]].sum())


def _loss(problem: TuningProblem, loss: Loss, u: Vector) -> float:
    if loss == "hinge":
        return problem.val_loss(u[:-1], float(u[-1]))
    return counted(problem, u, _THRESHOLD[loss])


def _mask(problem: TuningProblem, flipped: ArrayLike | None) -> Mask:
    if flipped is None:
        return np.ones(problem.n_val, dtype=bool)
    mask = np.asarray(flipped)
    if mask.dtype != np.bool_ or mask.shape != (problem.n_val,):
        raise InvalidInputError(
            f"flipped has type {mask.dtype} and shape {mask.shape}; "
            f"pass {problem.n_val} booleans, one a validation point"
        )
    if not problem.val_weight[mask].sum() > 0.0:
        raise InvalidInputError("flipped marks no point with positive weight; flip at least one")
    return mask


def _deadline(time_limit: float | None) -> float:
    if time_limit is None:
        return np.inf
    if not time_limit > 0.0:
        raise InvalidInputError(f"time_limit is {time_limit!r}; pass a positive number of seconds")
    return time.perf_counter() + time_limit
