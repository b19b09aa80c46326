"""Which model of the tuned box predicts: one of the near-optimal set on all rows.

Tuning ends with a box; T ∪ V then trains in it. With Ψ the near-optimal set on all rows:

- `refit`: a model of least loss, an arbitrary vertex of the optimal face;
- `mean`: the average of vertices of Ψ reached in random directions, which lies inside Ψ;
- `centre`: the centre of a large ball inside Ψ.

Where time is too short for that, or Ctrl-C comes, it is the model trained by then, and a warning
says so.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from typing import TypeAlias

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from pessimal.limits import NEVER, Deadline
from pessimal.lp.highs import WarmProgram
from pessimal.near_optimal.base import Extreme
from pessimal.near_optimal.polyhedral.box_set import BoxSet, as_extreme
from pessimal.near_optimal.polyhedral.linear_program import BoxModels, loading_seconds
from pessimal.problem import Budget, TuningProblem, Vector, margin_rows

Final: TypeAlias = Callable[
    [TuningProblem, Vector, Budget, np.random.RandomState, Deadline],
    tuple[Vector, float, Extreme | None],
]
"""From a problem on all rows, the box, the budget, a source of randomness and a deadline.

To a model ``(w, b)``, and the training on all rows that was made for it, if it came to its end.
"""

N_DIRECTIONS = 60
"""Vertices averaged by `mean`; more change little."""


NO_TIME, CTRL_C = "there was no time for more", "Ctrl-C came"


class FinalModelWarning(ConvergenceWarning):  # type: ignore[misc]
    """The final model was cut short; `what` says what it is instead, and why."""

    def __init__(self, what: str, remedy: str) -> None:
        super().__init__(f"{what}, so {remedy}.")
        self.what = what


def refit(
    problem: TuningProblem,
    box: Vector,
    _budget: Budget,
    _random: np.random.RandomState,
    deadline: Deadline = NEVER,
) -> tuple[Vector, float, Extreme | None]:
    """Return a model of least loss in the box, or the best that was found in time."""
    trained = BoxModels(problem, box).least_loss(deadline)
    if not trained.optimal:
        loss = f"{trained.value:.6g}, the least being at least {trained.lower_bound:.6g}"
        _warn(f"has a training loss of {loss}", remedy="raise time_limit")
    return trained.w, trained.b, as_extreme(trained) if trained.optimal else None


def mean(
    problem: TuningProblem,
    box: Vector,
    budget: Budget,
    random: np.random.RandomState,
    deadline: Deadline = NEVER,
) -> tuple[Vector, float, Extreme | None]:
    """Average the vertices of Ψ in random directions; Ψ is convex, so the average is in it.

    Past the deadline, or interrupted, it is the average of those found, or else the trained model.
    """
    members = BoxSet(problem, box, budget, deadline=deadline)
    vertices: list[Vector] = []
    cause = NO_TIME
    try:
        for direction in random.standard_normal((N_DIRECTIONS, len(box) + 1)):
            u, _ = members.models.least(direction, deadline=deadline)
            if u is None:
                break
            vertices.append(u)
    except KeyboardInterrupt:
        cause = CTRL_C
    vertices = vertices or [_trained(members)]
    if len(vertices) < N_DIRECTIONS:
        what = f"is the mean of {len(vertices)} near-optimal models instead of {N_DIRECTIONS}"
        _warn(what, cause)
    u = np.mean(vertices, axis=0)
    return u[:-1], float(u[-1]), members.trained if members.finished else None


def centre(
    problem: TuningProblem,
    box: Vector,
    budget: Budget,
    _random: np.random.RandomState,
    deadline: Deadline = NEVER,
) -> tuple[Vector, float, Extreme | None]:
    """Return the centre of a large ball inside Ψ (Chebyshev's centre when the budget is 0).

    With r the radius, ``‖(w, b)‖`` the distance and ``m_i`` the margin row of point i, the
    hinge anywhere in the ball is at most ``1 − m_i·u + r·‖m_i‖``; these must keep the budget. On
    separable data with budget 0 the ball is the largest there is; otherwise it is one that fits,
    for no single place is the worst for every point. Weights that the box holds at 0 do not count.
    """
    members = BoxSet(problem, box, budget, deadline=deadline)
    u = _ball_centre(members, deadline)
    if u is None:
        _warn("is one of least training loss instead of the centre")
        u = _trained(members)
    trained = members.trained if members.finished else None
    return np.clip(u[:-1], -box, box), float(u[-1]), trained


def _ball_centre(members: BoxSet, deadline: Deadline) -> Vector | None:
    """Return the centre ``(w, b)`` of a large ball inside Ψ, None if there is no time for it."""
    problem, box = members.problem, members.box
    if not deadline.affords(loading_seconds(problem)):
        return None
    n_columns = len(members.models.program.cost)
    free = np.append(box > 0.0, True)
    margins = margin_rows(problem.X_train, problem.y_train)
    reach = -np.linalg.norm(margins[:, free], axis=1)
    bounded = np.flatnonzero(box > 0.0)
    # Rows w_j + r ≤ box_j and −w_j + r ≤ box_j, under those of Ψ; the last column is r.
    walls = np.zeros((2 * len(bounded), n_columns + 1))
    walls[np.arange(len(walls)), np.tile(bounded, 2)] = np.repeat([1.0, -1.0], len(bounded))
    walls[:, -1] = 1.0
    program = members.models.program.extended(
        cost=np.append(np.zeros(n_columns), -1.0),
        rows=walls,
        row_upper=np.tile(box[bounded], 2),
        lower=np.zeros(1),
        upper=np.full(1, np.inf),
        in_old_rows=np.append(reach, 0.0)[:, None],
    )
    simplex = WarmProgram(program)
    return simplex.point()[: len(box) + 1] if simplex.solve(deadline) else None


def _trained(members: BoxSet) -> Vector:
    return np.append(members.trained.coef, -members.trained.intercept)


def _warn(
    what: str, cause: str = NO_TIME, remedy: str = "raise time_limit, or pass final='refit'"
) -> None:
    warning = FinalModelWarning(f"The final model {what}: {cause}", remedy)
    warnings.warn(warning, stacklevel=6)  # whoever called fit


FINALS: Mapping[str, Final] = {"refit": refit, "mean": mean, "centre": centre}
