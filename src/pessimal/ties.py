"""Ties between boxes: the smallest and the largest box that keep a model inner-optimal.

Many boxes share an optimal model, and whoever trains in the box afterwards sees the difference.

*Smallest.* A model that is inner-optimal in a box is so in every smaller box that holds it, so
``max(|w|, lower)`` serves. Pessimistic view with a positive budget: a smaller box has a larger
``L_T*``, and ``L_T(u) ≥ (1 + ε)·L_T* + δ`` may fail; then the box moves towards the given one by
the least share t that restores it. ``L_T*`` is a linear program, so t is one too.

*Largest.* A feature may have ``w̄_j = upper_j`` when there are multipliers at u that leave ``w_j``
no reduced cost. With the sides of u fixed (margins below, at or above their breakpoints) the
multipliers ``α`` of the flipped points, ``β`` of the training points and ``λ`` of the budget obey

    ``Σ_k α_k·ȳ_k + Σ_i β_i·y_i = 0``  and  ``c = Σ_k α_k·ȳ_k·x_k + Σ_i β_i·y_i·x_i``,

``c_j ≥ 0`` where ``w_j = w̄_j``, ``c_j ≤ 0`` where ``w_j = −w̄_j``, ``c_j = 0`` in between. Features
are tried in their order, and each that can join those with ``c_j = 0`` does.
"""

from __future__ import annotations

import numpy as np

from pessimal.certificate import certify
from pessimal.limits import NEVER, Deadline
from pessimal.lp.highs import LinearProgram, WarmProgram
from pessimal.lp.sparse_rows import SparseRows
from pessimal.near_optimal.polyhedral.linear_program import BoxModels, loading_seconds
from pessimal.problem import Budget, Mask, Matrix, Vector, margin_rows
from pessimal.solvers.base import Task
from pessimal.tolerances import AT_BREAKPOINT, CERTIFICATE, LP_FEASIBILITY


def smallest_box(
    task: Task, w: Vector, b: float, box: Vector, deadline: Deadline = NEVER
) -> Vector:
    """Shrink a box as far as ``(w, b)``, inner-optimal in it, stays so and can be certified.

    What there is no time to certify is left as it is.
    """
    held = np.minimum(np.maximum(np.abs(w), task.problem.lower), box)
    # Without a budget, a model that is optimal in a box is so in any smaller one that holds it.
    if task.flipped is None or task.budget == Budget():
        return held
    if not deadline.over and _budget_used(task, w, b, held, deadline):
        return held
    if _certified(task, w, b, held, deadline):
        return held
    # Looking for a larger one loads the rows, and so does certifying it.
    if not deadline.affords(2.0 * loading_seconds(task.problem)):
        return box
    share = _least_share(task, w, b, held, box, deadline)
    moved = np.minimum(held + share * (box - held), box)
    return moved if _certified(task, w, b, moved, deadline) else box


def largest_box(task: Task, w: Vector, b: float, box: Vector, deadline: Deadline = NEVER) -> Vector:
    """Enlarge a box to the upper limits in every feature that ``(w, b)`` permits, likewise.

    Past the deadline no further feature is tried.
    """
    upper = task.problem.upper
    if (box >= upper).all():
        return box
    program = _multipliers(task, w, b, box, deadline)
    simplex = WarmProgram(program)
    if not simplex.feasible(deadline):
        return box
    enlarged = box.copy()
    for j in np.flatnonzero(box < upper).tolist():
        if deadline.over:
            break
        simplex.set_row(j, 0.0, 0.0)
        if simplex.feasible(deadline):
            enlarged[j] = upper[j]
        else:
            simplex.set_row(j, program.row_lower[j], program.row_upper[j])
    return enlarged if _certified(task, w, b, enlarged, deadline) else box


def _budget_used(task: Task, w: Vector, b: float, box: Vector, deadline: Deadline) -> bool:
    """Whether ``L_T(u) ≥ (1 + ε)·L_T* + δ`` in a box, which one training tells in good time."""
    problem = task.problem
    least = BoxModels(problem, box).least_loss(deadline, at_least=0.0).value
    limit = task.budget.limit(least)  # too large if training was cut short
    return limit - problem.train_loss(w, b) <= LP_FEASIBILITY * problem.loss_unit(limit)


def _certified(task: Task, w: Vector, b: float, box: Vector, deadline: Deadline) -> bool:
    if deadline.over:
        return False
    objective = task.problem.val_loss(w, b)
    return certify(task.problem, task.budget, task.flipped, box, w, b, objective, deadline).ok


def _least_share(
    task: Task, w: Vector, b: float, held: Vector, box: Vector, deadline: Deadline
) -> float:
    """Least t with ``(1 + ε)·L_T*(held + t·(box − held)) + δ ≤ L_T(w, b)``, 1 if not in time.

    Columns ``(ŵ, b̂, ξ̂, t)``: the program looks for a copy that trains well enough.
    """
    problem, budget = task.problem, task.budget
    models = BoxModels(problem, box)
    # At t = 1 the condition holds but for rounding; the maximum makes it hold exactly.
    needed = (problem.train_loss(w, b) - budget.delta) / (1.0 + budget.epsilon)
    models.limit_training(max(needed, models.least_loss(deadline, at_least=0.0).value))
    p, n_columns = problem.n_features, len(models.program.cost)
    within = np.zeros((2 * p, n_columns + 1))
    within[:, :p] = np.vstack([np.eye(p), -np.eye(p)])
    within[:, -1] = np.tile(held - box, 2)
    program = models.program.extended(
        cost=np.append(np.zeros(n_columns), 1.0),
        rows=within,
        row_upper=np.tile(held, 2),
        lower=np.zeros(1),
        upper=np.ones(1),
    )
    simplex = WarmProgram(program)
    return float(np.clip(simplex.point()[-1], 0.0, 1.0)) if simplex.solve(deadline) else 1.0


def _multipliers(task: Task, w: Vector, b: float, box: Vector, deadline: Deadline) -> LinearProgram:
    """Multipliers at ``(w, b)`` as a linear program whose row j is the reduced cost ``c_j``.

    Columns: the constant 1, λ, the β and the α of the points at their breakpoint. Beyond it a
    multiplier is known: 0 above; below, ``β_i = λ·weight_i`` and ``α_k = weight_k``.
    """
    problem, flipped = task.problem, task.flipped
    u = np.append(w, b)
    rows = margin_rows(problem.X_train, problem.y_train)
    train_cost, train_free = _sides(rows, u, problem.train_weight)
    if flipped is None:
        flip_rows, flip_weight = np.empty((0, len(u))), np.empty(0)
        least_lam, most_lam = 1.0, 1.0
    else:
        flip_rows = margin_rows(problem.X_val[flipped], -problem.y_val[flipped])
        flip_weight = problem.flipped_weight(flipped)
        # The multiplier of the budget may be positive where L_T(w, b) is a budget of this box.
        trained = BoxModels(problem, box).least_loss(deadline, at_least=0.0)
        limit = task.budget.limit(trained.value)
        within = problem.train_loss(w, b) >= limit - CERTIFICATE
        least_lam, most_lam = 0.0, np.inf if within else 0.0
    flip_cost, flip_free = _sides(flip_rows, u, flip_weight)

    n_beta, n_alpha = int(train_free.sum()), int(flip_free.sum())
    costs = np.column_stack([flip_cost, train_cost, rows[train_free].T, flip_rows[flip_free].T])
    shares = np.eye(n_beta, 2 + n_beta + n_alpha, 2)
    shares[:, 1] = -problem.train_weight[train_free]
    # The reduced cost of a weight on the limit of its box points outwards or is 0, that of one that
    # the box holds at 0 has either sign, any other is 0. The last is that of b.
    on_limit = np.abs(w) >= box - AT_BREAKPOINT
    least = np.where(on_limit & (w <= AT_BREAKPOINT), -np.inf, 0.0)
    most = np.where(on_limit & (w >= -AT_BREAKPOINT), np.inf, 0.0)
    return LinearProgram(
        cost=np.zeros(2 + n_beta + n_alpha),
        matrix=SparseRows.of(np.vstack([costs, shares])),
        row_lower=np.concatenate([least, [0.0], np.full(n_beta, -np.inf)]),
        row_upper=np.concatenate([most, [0.0], np.zeros(n_beta)]),
        lower=np.concatenate([[1.0, least_lam], np.zeros(n_beta + n_alpha)]),
        upper=np.concatenate([[1.0, most_lam], np.full(n_beta, np.inf), flip_weight[flip_free]]),
    )


def _sides(rows: Matrix, u: Vector, weight: Vector) -> tuple[Vector, Mask]:
    """Return the cost of the points below their breakpoint, and which points sit on it."""
    margins = rows @ u
    at = np.abs(margins - 1.0) <= AT_BREAKPOINT
    below = ~at & (margins < 1.0)
    return (weight * below) @ rows, at
