"""Brute force over the models of one box: training, near-optimal set, best and worst case."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Literal

import numpy as np

from oracles.system import LP_TOLERANCE, System, add_hinge_rows
from pessimal.problem import Budget, Mask, TuningProblem, Vector

Loss = Literal["hinge", "zero_one", "margin"]

STRICTLY = 1e-6
"""How far a strict inequality must hold to count."""


def least_training_loss(problem: TuningProblem, box: Vector) -> float:
    """``L_T*``: least training loss in a box."""
    system = _training_system(problem, box)
    solved = system.minimise(system.cost(xi=problem.train_weight))
    assert solved is not None
    return solved[0]


def least_flipped_loss(problem: TuningProblem, box: Vector, limit: float, flipped: Mask) -> float:
    """Least flipped loss ``F`` over the models of a box with training loss at most `limit`."""
    m = int(flipped.sum())
    system = _training_system(problem, box, limit, v=(m, 0.0, np.inf), v_slack=(m, 0.0, np.inf))
    add_hinge_rows(
        system, problem.X_val[flipped], -problem.y_val[flipped], "w", "b", "v", "v_slack"
    )
    solved = system.minimise(system.cost(v=problem.flipped_weight(flipped)))
    assert solved is not None
    return solved[0]


def follower_value(problem: TuningProblem, box: Vector, limit: float, flipped: Mask) -> float:
    """Least validation loss among the minimisers of ``F`` that `least_flipped_loss` speaks of.

    This is the paper's pessimistic objective at one choice of the outer level: a box, and a copy
    that sets the training budget to `limit`.
    """
    m, m_flip = problem.n_val, int(flipped.sum())
    least = least_flipped_loss(problem, box, limit, flipped)
    system = _training_system(
        problem, box, limit,
        v=(m_flip, 0.0, np.inf), v_slack=(m_flip, 0.0, np.inf),
        v_total=(1, 0.0, least + LP_TOLERANCE),
        g=(m, 0.0, np.inf), g_slack=(m, 0.0, np.inf),
    )  # fmt: skip
    add_hinge_rows(
        system, problem.X_val[flipped], -problem.y_val[flipped], "w", "b", "v", "v_slack"
    )
    system.add(0.0, v=problem.flipped_weight(flipped)[None, :], v_total=-np.eye(1))
    add_hinge_rows(system, problem.X_val, problem.y_val, "w", "b", "g", "g_slack")
    solved = system.minimise(system.cost(g=problem.val_weight))
    assert solved is not None
    return solved[0]


def brute_force_best_case(problem: TuningProblem, box: Vector, budget: Budget) -> float:
    """Least validation loss over the near-optimal models of a box."""
    m = problem.n_val
    limit = budget.limit(least_training_loss(problem, box)) + LP_TOLERANCE
    system = _training_system(problem, box, limit, g=(m, 0.0, np.inf), g_slack=(m, 0.0, np.inf))
    add_hinge_rows(system, problem.X_val, problem.y_val, "w", "b", "g", "g_slack")
    solved = system.minimise(system.cost(g=problem.val_weight))
    assert solved is not None
    return solved[0]


def brute_force_worst_case(
    problem: TuningProblem, box: Vector, budget: Budget, loss: Loss = "hinge"
) -> float:
    """Largest validation loss over the near-optimal models of a box, by trying every set.

    The hinge loss is the largest of ``Σ_{k∈S} (1 − margin_k)`` over all subsets S of V. The two
    counting losses are the largest weight of a set whose margins can all lie strictly below 0
    (``"zero_one"``) or 1 (``"margin"``).
    """
    limit = budget.limit(least_training_loss(problem, box)) + LP_TOLERANCE
    if loss == "hinge":
        return max(_largest_sum(problem, box, limit, chosen) for chosen in _subsets(problem.n_val))
    threshold = 0.0 if loss == "zero_one" else 1.0
    return max(
        float(problem.val_weight[chosen].sum())
        for chosen in _subsets(problem.n_val)
        if _attainable(problem, box, limit, np.where(chosen, -1, 0), threshold, ignore_zeros=True)
    )


def sign_patterns(problem: TuningProblem, box: Vector, budget: Budget) -> list[tuple[int, ...]]:
    """Every pattern of signs (−1, 0, +1) that the near-optimal models give to ``y·score`` on V."""
    limit = budget.limit(least_training_loss(problem, box)) + LP_TOLERANCE
    return [
        signs
        for signs in itertools.product((-1, 0, 1), repeat=problem.n_val)
        if _attainable(problem, box, limit, np.array(signs), 0.0)
    ]


def grid_pessimistic(problem: TuningProblem, budget: Budget, n_boxes: int = 41) -> float:
    """Least worst case over a grid of boxes, for one feature: an upper bound on ``P_p*``."""
    return min(
        brute_force_worst_case(problem, box, budget) for box in grid_of_boxes(problem, n_boxes)
    )


def grid_of_boxes(problem: TuningProblem, n_boxes: int) -> Iterator[Vector]:
    """Yield evenly spaced boxes of a one-feature problem, limits included."""
    assert problem.n_features == 1
    yield from np.linspace(problem.lower, problem.upper, n_boxes)


def in_near_optimal_set(
    problem: TuningProblem, w: Vector, b: float, box: Vector, budget: Budget, slack: float = 1e-7
) -> bool:
    """Whether a model lies in the box and trains within the budget."""
    limit = budget.limit(least_training_loss(problem, box))
    return bool((np.abs(w) <= box + slack).all() and problem.train_loss(w, b) <= limit + slack)


def is_pessimistic_answer(
    problem: TuningProblem,
    w: Vector,
    b: float,
    box: Vector,
    budget: Budget,
    flipped: Mask,
    slack: float = 1e-6,
) -> bool:
    """Whether a model and a box are feasible in the paper's eq. (A-RPBL-hyper).

    The outer level may widen the budget by a poor copy, never narrow it: the model must minimise
    ``F`` among those that train within the budget, or within its own loss if that is larger.
    """
    if (np.abs(w) > box + slack).any():
        return False
    limit = max(budget.limit(least_training_loss(problem, box)), problem.train_loss(w, b))
    least = least_flipped_loss(problem, box, limit + LP_TOLERANCE, flipped)
    return problem.flipped_loss(w, b, flipped) <= least + slack


def _training_system(
    problem: TuningProblem,
    box: Vector,
    limit: float = np.inf,
    **extra: tuple[int, float | Vector, float | Vector],
) -> System:
    """Models of a fixed box with training loss at most `limit`."""
    system = System(
        w=(problem.n_features, -box, box),
        b=(1, -np.inf, np.inf),
        xi=(problem.n_train, 0.0, np.inf),
        xi_slack=(problem.n_train, 0.0, np.inf),
        total=(1, 0.0, limit),
        **extra,
    )
    add_hinge_rows(system, problem.X_train, problem.y_train, "w", "b", "xi", "xi_slack")
    system.add(0.0, xi=problem.train_weight[None, :], total=-np.eye(1))
    return system


def _subsets(n: int) -> Iterator[Mask]:
    for chosen in itertools.product((False, True), repeat=n):
        yield np.array(chosen)


def _largest_sum(problem: TuningProblem, box: Vector, limit: float, chosen: Mask) -> float:
    """Largest ``Σ_{k chosen} weight_k (1 − margin_k)`` over the near-optimal models."""
    system = _training_system(problem, box, limit)
    signed = (problem.val_weight * problem.y_val)[chosen]
    solved = system.minimise(
        system.cost(w=signed @ problem.X_val[chosen], b=np.array([-signed.sum()]))
    )
    assert solved is not None
    return float(problem.val_weight[chosen].sum()) - solved[0]


def _attainable(
    problem: TuningProblem,
    box: Vector,
    limit: float,
    signs: Vector,
    threshold: float,
    ignore_zeros: bool = False,
) -> bool:
    """Whether one near-optimal model has ``sign(y·score − threshold)`` equal to `signs`."""
    strict = signs != 0
    n_strict, n_equal = int(strict.sum()), problem.n_val - int(strict.sum())
    margins = problem.y_val[:, None] * np.column_stack([problem.X_val, -np.ones(problem.n_val)])
    system = _training_system(
        problem, box, limit, t=(1, -np.inf, 1.0), slack=(n_strict, 0.0, np.inf)
    )
    if n_strict:
        signed = signs[strict][:, None] * margins[strict]
        system.add(
            signs[strict] * threshold,
            w=signed[:, :-1], b=signed[:, -1:], t=-np.ones((n_strict, 1)), slack=-np.eye(n_strict),
        )  # fmt: skip
    if n_equal and not ignore_zeros:
        system.add(threshold, w=margins[~strict, :-1], b=margins[~strict, -1:])
    solved = system.minimise(system.cost(t=-1.0))
    return solved is not None and -solved[0] > STRICTLY
