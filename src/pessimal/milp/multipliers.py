"""Whether multipliers of any size exist at a point, and if not, which slacks forbid them.

A big M bounds a multiplier, and an integrality tolerance leaks through it; the tail program even
admits κ = 0. So a point of a program is asked again here, without any M. Each complementarity
``p ⟂ q`` is an *item*; where its slack q is positive the item is *closed*: p = 0. The question is
a linear program in the multipliers alone, scaled by ``κ + λ ≤ 1``: maximise κ. They exist when κ
is positive, and the smallest λ is then ``1/κ − 1``. A κ below the tolerance ``AT_BREAKPOINT``
(λ above ten million) counts as 0.

If they do not exist, some of the closed items form a *conflict*: no point of the bilevel problem
has all of them closed. In the binaries of the program that is the cut ``Σ z ≥ 1`` over the
conflict, valid for every λ (a combinatorial Benders cut).
"""

from __future__ import annotations

import numpy as np

from pessimal.problem import Budget, Mask, TuningProblem, Vector, hinge
from pessimal.tolerances import AT_BREAKPOINT
from pessimal.training import least_loss
from pessimal.training.linear import Program, WarmProgram


def item_slacks(
    problem: TuningProblem, budget: Budget, flipped: Mask, box: Vector, w: Vector, b: float
) -> Vector:
    """Return the slack q of every item, in the order of the program's binaries.

    The slack of the budget row is the least over all copies (ŵ, b̂) of the box.
    """
    margin_f = -problem.y_val[flipped] * (problem.X_val[flipped] @ w - b)
    margin_T = problem.y_train * (problem.X_train @ w - b)
    unused = budget.limit(least_loss(problem, box).value) - problem.train_loss(w, b)
    return np.concatenate(
        [
            hinge(margin_f),
            np.maximum(0.0, margin_f - 1.0),
            np.maximum(0.0, margin_T - 1.0),
            hinge(margin_T),
            box - w,
            box + w,
            [max(0.0, unused)],
        ]
    )


def find_conflict(problem: TuningProblem, flipped: Mask, slacks: Vector) -> Mask | None:
    """Return the items of a conflict that no item can leave, or None if multipliers exist.

    Examples
    --------
    Training points at −1 and 1 and the model w = ½, b = 0 in the box 1: both training hinges are
    active and the box is not, so that the training loss pulls on w and nothing holds it.

    >>> problem = TuningProblem([[-1.0], [1.0]], [-1, 1], [[5.0]], [1])
    >>> flipped, box = np.array([True]), np.array([1.0])
    >>> slacks = item_slacks(problem, Budget(), flipped, box, np.array([0.5]), 0.0)
    >>> conflict = find_conflict(problem, flipped, slacks)
    >>> conflict is not None and bool(conflict.any())
    True
    """
    program, first_item_row = _multiplier_program(problem, flipped)
    simplex = WarmProgram(program)

    def multipliers_exist() -> bool:
        return bool(simplex.minimise()[0] > AT_BREAKPOINT)

    def set_closed(item: int, closed: bool) -> None:
        simplex.set_row(first_item_row + item, 0.0, 0.0 if closed else np.inf)

    conflict = slacks > AT_BREAKPOINT
    for item in np.flatnonzero(conflict):
        set_closed(int(item), True)
    if multipliers_exist():
        return None
    # Try to open the items nearest to their breakpoint first: a conflict among distant ones is
    # dearer to escape and makes the stronger cut.
    closed = np.flatnonzero(conflict)
    for item in closed[np.argsort(slacks[closed])]:
        set_closed(item, False)
        if multipliers_exist():
            set_closed(item, True)
        else:
            conflict[item] = False
    return conflict


def _multiplier_program(problem: TuningProblem, flipped: Mask) -> tuple[Program, int]:
    """Columns κ, ᾱ = κ·weight − α, α, β, β̄ = λ·weight − β, μ⁺, μ⁻, λ; one row an item at last."""
    n_f, n_T, p = int(flipped.sum()), problem.n_train, problem.n_features
    y_f, X_f = -problem.y_val[flipped], problem.X_val[flipped]
    y_T, X_T = problem.y_train, problem.X_train
    alpha_bar, alpha, beta, beta_bar, mu_plus, mu_minus, end = np.cumsum(
        [1, n_f, n_f, n_T, n_T, p, p]
    )
    n_columns = end + 1
    matrix = np.zeros((1 + n_f + n_T + p + 1 + n_columns - 1, n_columns))
    shares_f, shares_T, pulls, balance, items = np.cumsum([1, n_f, n_T, p, 1])
    matrix[0, [0, -1]] = 1.0
    matrix[shares_f:shares_T, alpha_bar:alpha] = np.eye(n_f)
    matrix[shares_f:shares_T, alpha:beta] = np.eye(n_f)
    matrix[shares_f:shares_T, 0] = -problem.flipped_weight(flipped)
    matrix[shares_T:pulls, beta:beta_bar] = np.eye(n_T)
    matrix[shares_T:pulls, beta_bar:mu_plus] = np.eye(n_T)
    matrix[shares_T:pulls, -1] = -problem.train_weight
    matrix[pulls:balance, alpha:beta] = -(y_f[:, None] * X_f).T
    matrix[pulls:balance, beta:beta_bar] = -(y_T[:, None] * X_T).T
    matrix[pulls:balance, mu_plus:mu_minus] = np.eye(p)
    matrix[pulls:balance, mu_minus:end] = -np.eye(p)
    matrix[balance, alpha:beta] = y_f
    matrix[balance, beta:beta_bar] = y_T
    matrix[items:, 1:] = np.eye(n_columns - 1)
    row_upper = np.zeros(len(matrix))
    row_upper[0] = 1.0
    row_upper[items:] = np.inf
    cost = np.zeros(n_columns)
    cost[0] = -1.0
    return (
        Program(
            cost=cost,
            matrix=matrix,
            row_lower=np.zeros(len(matrix)),
            row_upper=row_upper,
            lower=np.zeros(n_columns),
            upper=np.full(n_columns, np.inf),
        ),
        int(items),
    )
