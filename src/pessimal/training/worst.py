"""The worst case: the largest validation loss among the near-optimal models of a box.

Two methods. ``"exact"`` is a branch and bound, or for the counting losses a mixed-integer program,
with proved bounds. ``"flip"`` is the paper's
eq. (evaluation-ML) by label flipping: among the models of Ψ take the one that fits the validation
set with *flipped* labels best. That is a linear program, and its model is a member of Ψ, so its
loss is a lower bound on the worst case; it can be far below.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike

from pessimal.errors import InvalidInputError
from pessimal.problem import Budget, Mask, TuningProblem, Vector, hinge, margin_rows
from pessimal.training.exact import Extreme, counted, largest_count
from pessimal.training.near_optimal import near_optimal
from pessimal.units import balance
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
    """

    value: float
    coef: Vector
    intercept: float
    upper_bound: float

    @property
    def lower_bound(self) -> float:
        """The worst case is at least this: `value`, since its model attains it."""
        return self.value


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
        For the two counting losses the upper bound takes a margin that touches the threshold as
        below it; where that matters it exceeds the value.

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
    given = problem.box(box)
    # The mixed-integer programs, too, are only as good as their tolerances.
    balanced = balance(problem)
    scaled, limits = balanced.problem, balanced.factor * given
    if method == "flip":
        extreme = _flip(scaled, limits, budget, _mask(problem, flipped), loss)
    else:
        deadline = _deadline(time_limit)
        if node_limit is not None and not node_limit > 0:
            raise InvalidInputError(f"node_limit is {node_limit!r}; pass a positive number or None")
        if loss == "hinge":
            extreme = _worst_hinge(scaled, limits, budget or Budget(), deadline, node_limit)
        else:
            models = near_optimal(scaled, limits, budget)
            extreme = largest_count(models, _THRESHOLD[loss], deadline)
    coef, b = extreme.u[:-1] / balanced.factor, float(extreme.u[-1])
    value = _loss(problem, loss, np.append(coef, b))
    return WorstCase(value, coef, -b, max(value, extreme.upper_bound))


def _worst_hinge(
    problem: TuningProblem, box: Vector, budget: Budget, deadline: float, node_limit: int | None
) -> Extreme:
    cases = WorstCases(problem, budget)
    worst = cases.worst(box, cases.limit(box), deadline=deadline, node_limit=node_limit)
    return Extreme(worst.u, worst.upper_bound)


def _flip(
    problem: TuningProblem, box: Vector, budget: Budget | None, flipped: Mask, loss: Loss
) -> Extreme:
    others = margin_rows(problem.X_val[flipped], -problem.y_val[flipped])
    models = near_optimal(problem, box, budget, others)
    u = models.minimise(hinge_cost=problem.flipped_weight(flipped))
    rows = margin_rows(problem.X_val, problem.y_val)
    low, _ = coarse_ranges(problem, box, models.training_limit, rows)
    if loss == "hinge":
        return Extreme(u, float(problem.val_weight @ hinge(low)))
    return Extreme(u, float(problem.val_weight[low < _THRESHOLD[loss]].sum()))


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
