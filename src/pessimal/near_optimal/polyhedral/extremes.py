"""Best and worst case: least and largest validation loss of the near-optimal models of a box.

For the worst case there is, beside the exact one, the paper's eq. (evaluation-ML): among the models
of Ψ take the one that fits the validation set with *flipped* labels best. That is a linear program,
and its model is a member of Ψ, so its loss is a lower bound on the worst case; it can be far below.
"""

from __future__ import annotations

import warnings
from contextlib import suppress
from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike

from pessimal.errors import InvalidInputError, SolverError
from pessimal.flip import validation_mask
from pessimal.limits import Deadline, read_node_limit, read_time_limit
from pessimal.losses import Loss, find_loss
from pessimal.near_optimal.base import Extreme, Linear
from pessimal.near_optimal.polyhedral.box_set import BoxSet
from pessimal.near_optimal.polyhedral.training import WarmTraining
from pessimal.problem import Budget, TuningProblem, Vector
from pessimal.tolerances import CUTOFF

Inner = Literal["exact", "flip"]

FEW_CELLS = 10_000
"""Training rows times features up to which the simplex of the package trains sooner than HiGHS."""


def best_case(
    problem: TuningProblem,
    box: ArrayLike,
    budget: Budget | None = None,
    loss: str | Loss = "hinge",
    time_limit: float | None = None,
) -> Extreme:
    """Least validation loss over the near-optimal models of a box.

    Parameters
    ----------
    problem : TuningProblem
    box : float or array-like of shape (p,)
        The hyperparameters w̄.
    budget : Budget, optional
        How far from optimal a model may train; by default not at all.
    loss : {"hinge", "zero_one", "margin"} or Loss, default="hinge"
        Mean hinge loss, or weight of the validation points with ``y·score < 0`` or ``< 1``.
    time_limit : float, optional
        Seconds after which the best model so far is returned, with the lower bound proved by then.

    Returns
    -------
    Extreme

    Examples
    --------
    >>> problem = TuningProblem([[0.0], [1.0]], [-1, 1], [[2.0]], [1])
    >>> round(best_case(problem, 1.0).value, 6)
    0.0
    """
    deadline = Deadline.after(read_time_limit(time_limit))
    judged_by = find_loss(loss)
    members = BoxSet(problem, problem.box(box), budget or Budget(), deadline=deadline)
    return members.best_on(problem, judged_by, deadline)


def worst_case(
    problem: TuningProblem,
    box: ArrayLike,
    budget: Budget | None = None,
    inner: Inner = "exact",
    loss: str | Loss = "hinge",
    flip: ArrayLike | None = None,
    time_limit: float | None = None,
    node_limit: int | None = None,
    *,
    method: Inner | None = None,
    flipped: ArrayLike | None = None,
) -> Extreme:
    """Largest validation loss over the near-optimal models of a box.

    Parameters
    ----------
    problem : TuningProblem
    box : float or array-like of shape (p,)
        The hyperparameters w̄.
    budget : Budget, optional
        How far from optimal a model may train; by default not at all.
    inner : {"exact", "flip"}, default="exact"
        A search with proved bounds, or the paper's flipping linear program. The
        upper bound of the latter is cheap and coarse: it follows from the box and the budget.
    loss : {"hinge", "zero_one", "margin"} or Loss, default="hinge"
        Mean hinge loss, or weight of the validation points with ``y·score < 0`` or ``< 1``.
    flip : array-like of bool of shape (n_val,), optional
        For ``"flip"``: the validation points V_f to flip; by default all of them.
    time_limit : float, optional
        Seconds after which the worst model so far is returned, with the upper bound proved by
        then. For ``"flip"`` it is the trained model; training has 0.3 s in any case.
    node_limit : int, optional
        For ``"exact"`` and the hinge loss: the same in nodes, alike on every machine.
    method, flipped
        Former names of `inner` and `flip`.

    Returns
    -------
    Extreme
        Of least and largest value, model and bounds. The two counting losses leave out ties:
        margins within 1e-6 of the breakpoint.

    Examples
    --------
    >>> problem = TuningProblem([[-1.0], [1.0]], [-1, 1], [[0.5], [-2.0]], [1, -1])
    >>> round(worst_case(problem, 1.0).value, 6)
    0.25
    >>> worst = worst_case(problem, 1.0, Budget(delta=0.5))
    >>> round(worst.value, 6), round(worst.upper_bound, 6)
    (0.75, 0.75)
    """
    for former, value, name in (("method", method, "inner"), ("flipped", flipped, "flip")):
        if value is not None:
            warnings.warn(f"{former} is now called {name}", FutureWarning, stacklevel=2)
    inner, flip = method or inner, flip if flipped is None else flipped
    if inner not in get_args(Inner):
        raise InvalidInputError(f"inner is {inner!r}; pass 'exact' or 'flip'")
    judged_by, limits = find_loss(loss), problem.box(box)
    node_limit = read_node_limit(node_limit)
    everyone = np.ones(problem.n_val, dtype=np.bool_)
    mask = validation_mask(problem, everyone if flip is None else flip, "flip")
    deadline = Deadline.after(read_time_limit(time_limit))
    trained = None if inner == "flip" else _trained_in_few_rows(problem, limits)
    members = BoxSet(problem, limits, budget or Budget(), deadline=deadline, trained=trained)
    if inner == "flip":
        return members.flipped_on(problem, judged_by, mask, deadline)
    return members.worst_on(problem, judged_by, deadline, node_limit)


def _trained_in_few_rows(problem: TuningProblem, box: Vector) -> Extreme | None:
    """Train where that takes less time than to load HiGHS; none if it is not proved to be best."""
    if problem.X_train.size > FEW_CELLS:
        return None
    with suppress(SolverError):
        training = WarmTraining(problem, Budget()).train(box)
        if training.loss <= training.bound + CUTOFF:
            model = Linear(training.u[:-1], -float(training.u[-1]))
            return Extreme(training.loss, min(training.bound, training.loss), training.loss, model)
    return None
