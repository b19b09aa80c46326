"""Best and worst case: least and largest validation loss of the near-optimal models of a box.

The best hinge loss is a linear program, the other extremes are found by branch and bound. For the
worst case there is the paper's eq. (evaluation-ML), too: among the models of Ψ take the one that
fits the validation set with *flipped* labels best. That is a linear program, and its model is a
member of Ψ, so its loss is a lower bound on the worst case; it can be far below.

A margin within `tolerances.STRICT` of a threshold is a tie, and a tie is not below it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike

from pessimal.errors import InvalidInputError
from pessimal.flip import validation_mask
from pessimal.limits import Deadline, read_node_limit, read_time_limit
from pessimal.near_optimal.polyhedral.linear_program import BoxModels, near_optimal
from pessimal.near_optimal.polyhedral.mixed_integer import counted, deepest, search_set
from pessimal.near_optimal.polyhedral.program import coarse_ranges
from pessimal.problem import Budget, Mask, TuningProblem, Vector, hinge, margin_rows
from pessimal.tolerances import STRICT

Method = Literal["exact", "flip"]
Loss = Literal["hinge", "zero_one", "margin"]

THRESHOLD = {"zero_one": 0.0, "margin": 1.0}
"""Margin below which a point counts."""


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


@dataclass(frozen=True, eq=False)
class BestCase:
    """The near-optimal model that does best on the validation set, as far as is known.

    Attributes
    ----------
    value : float
        Its validation loss, recomputed from the data.
    coef, intercept : ndarray of shape (p,), float
        The model, in scikit-learn's sign: the score is ``X @ coef + intercept``.
    lower_bound : float
        No near-optimal model of the box has a smaller loss.
    """

    value: float
    coef: Vector
    intercept: float
    lower_bound: float


def best_case(
    problem: TuningProblem,
    box: ArrayLike,
    budget: Budget | None = None,
    loss: Loss = "hinge",
    time_limit: float | None = None,
) -> BestCase:
    """Least validation loss over the near-optimal models of a box.

    Parameters
    ----------
    problem : TuningProblem
    box : float or array-like of shape (p,)
        The hyperparameters w̄.
    budget : Budget, optional
        How far from optimal a model may train; by default not at all.
    loss : {"hinge", "zero_one", "margin"}, default="hinge"
        Mean hinge loss, or weight of the validation points with ``y·score < 0`` or ``< 1``.
    time_limit : float, optional
        Seconds after which the best model so far is returned, with the lower bound proved by then.

    Returns
    -------
    BestCase

    Examples
    --------
    >>> problem = TuningProblem([[0.0], [1.0]], [-1, 1], [[2.0]], [1])
    >>> round(best_case(problem, 1.0).value, 6)
    0.0
    """
    if loss not in get_args(Loss):
        raise InvalidInputError(f"loss is {loss!r}; pass 'hinge', 'zero_one' or 'margin'")
    limits, deadline = problem.box(box), Deadline.after(read_time_limit(time_limit))
    budget = Budget() if budget is None else budget
    if loss == "hinge":
        u, bound = _least_hinge(problem, limits, budget, deadline)
    else:
        # Every point that is not below counts, as one below the opposite with its label flipped.
        flipped = replace(problem, y_val=-problem.y_val)
        threshold = STRICT - THRESHOLD[loss]
        found = search_set(flipped, limits, budget, threshold, deadline, None)
        deeper = deepest(found.models, found.worst.u, threshold, deadline)
        u = min(found.worst.u, deeper, key=lambda u: loss_of(problem, loss, u))
        bound = 1.0 - found.worst.upper_bound
    value = loss_of(problem, loss, u)
    return BestCase(value, u[:-1], -float(u[-1]), min(value, max(0.0, bound)))


def _least_hinge(
    problem: TuningProblem, box: Vector, budget: Budget, deadline: Deadline
) -> tuple[Vector, float]:
    rows = margin_rows(problem.X_val, problem.y_val)
    models = BoxModels(problem, box, rows)
    trained = models.least_loss(deadline)
    models.limit_training(problem.training_limit(budget, trained.value))
    u, bound = models.least(hinge_cost=problem.val_weight, deadline=deadline)
    return np.append(trained.w, trained.b) if u is None else u, bound


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
    >>> worst = worst_case(problem, 1.0, Budget(delta=0.5))
    >>> round(worst.value, 6), round(worst.upper_bound, 6)
    (0.75, 0.75)
    """
    if method not in get_args(Method):
        raise InvalidInputError(f"method is {method!r}; pass 'exact' or 'flip'")
    if loss not in get_args(Loss):
        raise InvalidInputError(f"loss is {loss!r}; pass 'hinge', 'zero_one' or 'margin'")
    limits = problem.box(box)
    node_limit = read_node_limit(node_limit)
    budget = Budget() if budget is None else budget
    deadline = Deadline.after(read_time_limit(time_limit))
    if method == "flip":
        everyone = np.ones(problem.n_val, dtype=np.bool_)
        chosen = everyone if flipped is None else flipped
        mask = validation_mask(problem, chosen, "flipped")
        return _flipped(problem, limits, budget, loss, mask)
    threshold = None if loss == "hinge" else THRESHOLD[loss] - STRICT
    found = search_set(problem, limits, budget, threshold, deadline, node_limit)
    u = found.worst.u
    if threshold is not None:
        deeper = deepest(found.models, u, threshold, deadline)
        u = max(u, deeper, key=lambda u: loss_of(problem, loss, u))
    value = loss_of(problem, loss, u)
    upper = max(value, found.worst.upper_bound)
    return WorstCase(value, u[:-1], -float(u[-1]), upper, value if found.certain else 0.0)


def _flipped(
    problem: TuningProblem, box: Vector, budget: Budget, loss: Loss, mask: Mask
) -> WorstCase:
    others = margin_rows(problem.X_val[mask], -problem.y_val[mask])
    models = near_optimal(problem, box, budget, others)
    u = models.minimise(hinge_cost=problem.flipped_weight(mask))
    value = loss_of(problem, loss, u)
    upper = max(value, _coarse_bound(models, loss))
    return WorstCase(value, u[:-1], -float(u[-1]), upper, value)


def _coarse_bound(models: BoxModels, loss: Loss) -> float:
    """Bound the loss from the box and the training limit alone."""
    problem = models.problem
    rows = margin_rows(problem.X_val, problem.y_val)
    low, _ = coarse_ranges(problem, models.box, models.training_limit, rows)
    if loss == "hinge":
        return float(problem.val_weight @ hinge(low))
    return float(problem.val_weight[low < THRESHOLD[loss]].sum())


def loss_of(problem: TuningProblem, loss: Loss, u: Vector) -> float:
    """Return the validation loss of a model ``(w, b)``."""
    if loss == "hinge":
        return problem.val_loss(u[:-1], float(u[-1]))
    return counted(problem, u, THRESHOLD[loss])
