"""The exact worst case over Ψ, as mixed-integer programs with proved bounds.

The largest validation loss over Ψ maximises a convex function. One binary ``z_k`` a validation
point says whether its loss is active; with ``m_k`` the margin and ``low_k ≤ m_k ≤ high_k`` its
range over Ψ (two linear programs), the hinge ``h_k`` obeys

    ``h_k ≤ (1 − low_k)·z_k``  and  ``h_k ≤ 1 − m_k + (high_k − 1)·(1 − z_k)``,

and a counted point obeys ``m_k ≤ θ + (high_k − θ)·(1 − z_k)``. The ranges are the big-M constants,
so they are as small as a constant can be, and a point whose range lies on one side of the
threshold needs no binary.

Counting ``m_k < θ`` is strict, hence a supremum. The closed program (``≤``) bounds it from above;
a model that has the chosen margins below θ with room to spare attains it.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np

from pessimal.problem import Mask, Matrix, TuningProblem, Vector, hinge, margin_rows
from pessimal.tolerances import LP_FEASIBILITY, STRICT
from pessimal.training.linear import Program, WarmProgram, solve_integer
from pessimal.training.near_optimal import BoxModels, row_ranges

_N_STARTS = 4
_ROOM = 2.0 * STRICT
"""A counted margin is put this far below its threshold, so that rounding cannot uncount it."""


@dataclass(frozen=True, eq=False)
class Extreme:
    """A model ``u = (w, b)`` of Ψ and an upper bound on the loss of every model of Ψ."""

    u: Vector
    upper_bound: float


def largest_hinge(models: BoxModels, deadline: float) -> Extreme:
    """Maximise the mean hinge loss on V over Ψ."""
    rows, weight = _validation(models.problem)
    low, high, ends = row_ranges(models, rows, deadline)

    def loss(u: Vector) -> float:
        return float(weight @ hinge(rows @ u))

    starts = sorted(ends, key=loss, reverse=True)[:_N_STARTS]
    best = max((_ascend(models, rows, weight, u) for u in starts), key=loss)
    always = high <= 1.0
    free = (low < 1.0) & ~always & (weight > 0.0)
    if not free.any():
        return Extreme(best, loss(best))

    R, w, n = rows[free], weight[free], int(free.sum())
    eye = np.eye(n)
    above = high[free] - 1.0
    ceiling = 1.0 - low[free]
    # Columns h and z after those of Ψ; minimise −Σ weight·hinge.
    program = _extend(
        models,
        model_rows=np.vstack([np.zeros_like(R), R]),
        new_columns=np.block([[eye, -np.diag(ceiling)], [eye, np.diag(above)]]),
        row_upper=np.concatenate([np.zeros(n), 1.0 + above]),
        model_cost=(weight * always) @ rows,
        new_cost=np.concatenate([-w, np.zeros(n)]),
        new_upper=np.concatenate([ceiling, np.ones(n)]),
        integer=np.repeat([False, True], n),
    )
    active = (R @ best < 1.0).astype(float)
    new = np.concatenate([active * np.minimum(hinge(R @ best), ceiling), active])
    answer = solve_integer(program, _start(models, best, new), deadline - time.perf_counter())
    if answer.x is not None:
        found = answer.x[: rows.shape[1]]
        best = max(best, _ascend(models, rows, weight, found), key=loss)
    root = float(weight @ hinge(low))
    upper = min(root, float(weight[always].sum()) - answer.bound)
    return Extreme(best, max(upper, loss(best)))


def largest_count(models: BoxModels, threshold: float, deadline: float) -> Extreme:
    """Maximise the weight of the validation points with margin below `threshold` over Ψ."""
    rows, _ = _validation(models.problem)
    low, high, ends = row_ranges(models, rows, deadline)
    reachable = low < threshold - STRICT
    best = max(ends, key=lambda u: counted(models.problem, u, threshold))

    closed = _count(models, rows, low, high, reachable, threshold, best, deadline)
    u, room = _deepest(models, rows[closed.chosen], threshold)
    if room < _ROOM:
        strict = _count(models, rows, low, high, reachable, threshold - _ROOM, best, deadline)
        u, _ = _deepest(models, rows[strict.chosen], threshold)
    best = max(best, u, key=lambda u: counted(models.problem, u, threshold))
    return Extreme(best, max(closed.bound, counted(models.problem, best, threshold)))


def counted(problem: TuningProblem, u: Vector, threshold: float) -> float:
    """Weight of the validation points with margin strictly below `threshold`."""
    rows, weight = _validation(problem)
    return float(weight[rows @ u < threshold - STRICT].sum())


@dataclass(frozen=True, eq=False)
class _Count:
    chosen: Mask
    bound: float


def _count(
    models: BoxModels,
    rows: Matrix,
    low: Vector,
    high: Vector,
    reachable: Mask,
    threshold: float,
    start: Vector,
    deadline: float,
) -> _Count:
    """Choose the heaviest set of points whose margins can all be at most `threshold`."""
    weight = models.problem.val_weight
    always = reachable & (high <= threshold)
    free = reachable & (low <= threshold) & ~always & (weight > 0.0)
    if not free.any():
        return _Count(always, float(weight[always].sum()))
    above = high[free] - threshold
    program = _extend(
        models,
        model_rows=rows[free],
        new_columns=np.diag(above),
        row_upper=threshold + above,
        model_cost=np.zeros(rows.shape[1]),
        new_cost=-weight[free],
        new_upper=np.ones(len(above)),
        integer=np.ones(len(above), dtype=bool),
    )
    new = (rows[free] @ start <= threshold).astype(float)
    answer = solve_integer(program, _start(models, start, new), deadline - time.perf_counter())
    chosen = always.copy()
    chosen[free] = (new if answer.x is None else answer.x[-len(above) :]) > 0.5
    bound = min(float(weight[always | free].sum()), float(weight[always].sum()) - answer.bound)
    return _Count(chosen, bound)


def _ascend(models: BoxModels, rows: Matrix, weight: Vector, u: Vector) -> Vector:
    """Fix the active hinges, solve the linear program, repeat while the loss grows."""
    loss = float(weight @ hinge(rows @ u))
    while True:
        better = models.minimise((weight * (rows @ u < 1.0)) @ rows)
        grown = float(weight @ hinge(rows @ better))
        if grown <= loss + LP_FEASIBILITY:
            return better if grown > loss else u
        u, loss = better, grown


def _deepest(models: BoxModels, rows: Matrix, threshold: float) -> tuple[Vector, float]:
    """Return the model of Ψ that has these margins furthest below `threshold`, and how far.

    One unit is enough, so the answer is capped there.
    """
    q = rows.shape[1]
    program = _extend(
        models,
        model_rows=rows,
        new_columns=np.ones((len(rows), 1)),
        row_upper=np.full(len(rows), threshold),
        model_cost=np.zeros(q),
        new_cost=np.array([-1.0]),
        new_upper=np.ones(1),
        new_lower=np.array([-np.inf]),
    )
    x = WarmProgram(program).minimise()
    u = x[:q]
    u[:-1] = np.clip(u[:-1], -models.box, models.box)
    return u, float(x[-1])


def _extend(
    models: BoxModels,
    model_rows: Matrix,
    new_columns: Matrix,
    row_upper: Vector,
    model_cost: Vector,
    new_cost: Vector,
    new_upper: Vector,
    new_lower: Vector | None = None,
    integer: Mask | None = None,
) -> Program:
    """Return Ψ with new columns x and the rows ``model_rows·u + new_columns·x ≤ row_upper``."""
    base = models.program
    n_rows, n_columns = base.matrix.shape
    q, n_new = model_rows.shape[1], len(new_cost)
    matrix = np.zeros((n_rows + len(model_rows), n_columns + n_new))
    matrix[:n_rows, :n_columns] = base.matrix
    matrix[n_rows:, :q] = model_rows
    matrix[n_rows:, n_columns:] = new_columns
    cost = np.zeros(n_columns + n_new)
    cost[:q] = model_cost
    cost[n_columns:] = new_cost
    limits = base.row_upper.copy()
    limits[-1] = models.training_limit
    return Program(
        cost=cost,
        matrix=matrix,
        row_lower=np.concatenate([base.row_lower, np.full(len(model_rows), -np.inf)]),
        row_upper=np.concatenate([limits, row_upper]),
        lower=np.concatenate([base.lower, np.zeros(n_new) if new_lower is None else new_lower]),
        upper=np.concatenate([base.upper, new_upper]),
        integer=None if integer is None else np.append(np.zeros(n_columns, dtype=bool), integer),
    )


def _start(models: BoxModels, u: Vector, new: Vector) -> Vector:
    problem = models.problem
    hinges = hinge(margin_rows(problem.X_train, problem.y_train) @ u)
    return np.concatenate([u, hinges, new])


def _validation(problem: TuningProblem) -> tuple[Matrix, Vector]:
    return margin_rows(problem.X_val, problem.y_val), problem.val_weight
