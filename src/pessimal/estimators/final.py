"""Which model of the tuned box predicts: one of the near-optimal set on all rows.

Tuning ends with a box; T ∪ V then trains in it. With Ψ the near-optimal set on all rows:

- `refit`: a model of least loss, an arbitrary vertex of the optimal face;
- `mean`: the average of vertices of Ψ reached in random directions, which lies inside Ψ;
- `centre`: the centre of a large ball inside Ψ.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from typing import TypeAlias

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from pessimal.limits import NEVER, Deadline
from pessimal.lp.highs import WarmProgram
from pessimal.near_optimal import least_loss
from pessimal.near_optimal.polyhedral.linear_program import near_optimal
from pessimal.problem import Budget, TuningProblem, Vector, margin_rows

Final: TypeAlias = Callable[
    [TuningProblem, Vector, Budget, np.random.RandomState, Deadline], tuple[Vector, float]
]
"""From a problem on all rows, the box, the budget, a source of randomness and a deadline."""

N_DIRECTIONS = 60
"""Vertices averaged by `mean`; more change little."""


def refit(
    problem: TuningProblem,
    box: Vector,
    budget: Budget,
    random: np.random.RandomState,
    deadline: Deadline = NEVER,
) -> tuple[Vector, float]:
    """Return a model of least loss in the box.

    Examples
    --------
    >>> problem = TuningProblem([[0.0], [1.0]], [-1, 1], [[0.0]], [-1])
    >>> w, b = refit(problem, np.ones(1), Budget(), np.random.RandomState(0))
    >>> round(problem.train_loss(w, b), 6)
    0.5
    """
    del budget, random, deadline
    trained = least_loss(problem, box)
    return trained.w, trained.b


def mean(
    problem: TuningProblem,
    box: Vector,
    budget: Budget,
    random: np.random.RandomState,
    deadline: Deadline = NEVER,
) -> tuple[Vector, float]:
    """Average the vertices of Ψ in random directions; Ψ is convex, so the average is in it.

    Past the deadline, or interrupted, it is the average of those found, one at least.

    Examples
    --------
    >>> problem = TuningProblem([[-1.0], [1.0]], [-1, 1], [[0.0]], [-1])
    >>> w, b = mean(problem, np.ones(1), Budget(delta=0.2), np.random.RandomState(0))
    >>> problem.train_loss(w, b) <= 0.2
    True
    """
    models = near_optimal(problem, box, budget)
    directions = random.standard_normal((N_DIRECTIONS, len(box) + 1))
    vertices = [models.minimise(directions[0])]
    try:
        for direction in directions[1:]:
            if deadline.over:
                break
            vertices.append(models.minimise(direction))
    except KeyboardInterrupt:
        pass
    if len(vertices) < N_DIRECTIONS:
        warnings.warn(
            f"The final model is the mean of {len(vertices)} near-optimal models instead of "
            f"{N_DIRECTIONS}: there was no time for more. Raise time_limit, or pass final='refit'.",
            ConvergenceWarning,
            stacklevel=2,
        )
    u = np.mean(vertices, axis=0)
    return u[:-1], float(u[-1])


def centre(
    problem: TuningProblem,
    box: Vector,
    budget: Budget,
    random: np.random.RandomState,
    deadline: Deadline = NEVER,
) -> tuple[Vector, float]:
    """Return the centre of a large ball inside Ψ (Chebyshev's centre when the budget is 0).

    With r the radius, ``‖(w, b)‖`` the distance and ``m_i`` the margin row of point i, the
    hinge anywhere in the ball is at most ``1 − m_i·u + r·‖m_i‖``; these must keep the budget. On
    separable data with budget 0 the ball is the largest there is; otherwise it is one that fits,
    for no single place is the worst for every point. Weights that the box holds at 0 do not count.

    Examples
    --------
    >>> problem = TuningProblem([[-3.0], [3.0]], [-1, 1], [[0.0]], [-1])
    >>> w, b = centre(problem, np.ones(1), Budget(), np.random.RandomState(0))
    >>> bool(1 / 3 < w[0] < 1.0), abs(round(b, 6))
    (True, 0.0)
    """
    del random, deadline
    models = near_optimal(problem, box, budget)
    n_columns = len(models.program.cost)
    free = np.append(box > 0.0, True)
    margins = margin_rows(problem.X_train, problem.y_train)
    reach = -np.linalg.norm(margins[:, free], axis=1)
    bounded = np.flatnonzero(box > 0.0)
    # Rows w_j + r ≤ box_j and −w_j + r ≤ box_j, under those of Ψ; the last column is r.
    walls = np.zeros((2 * len(bounded), n_columns + 1))
    walls[np.arange(len(walls)), np.tile(bounded, 2)] = np.repeat([1.0, -1.0], len(bounded))
    walls[:, -1] = 1.0
    program = models.program.extended(
        cost=np.append(np.zeros(n_columns), -1.0),
        rows=walls,
        row_upper=np.tile(box[bounded], 2),
        lower=np.zeros(1),
        upper=np.full(1, np.inf),
        in_old_rows=np.append(reach, 0.0)[:, None],
    )
    u = WarmProgram(program).minimise()
    return np.clip(u[: len(box)], -box, box), float(u[len(box)])


FINALS: Mapping[str, Final] = {"refit": refit, "mean": mean, "centre": centre}
