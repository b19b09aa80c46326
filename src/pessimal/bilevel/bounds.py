"""The big Ms of the paper's programs, each with the reason why it is large enough.

Write ``reach_i = Σ_j |x_ij|·upper_j``, so that ``|x_i·w| ≤ reach_i`` in every box, and
``B = 1 + max reach_i``.

**|b| ≤ B.** Beyond ``B`` every score has one sign and lies outside the margin. T holds both
classes, so moving b back lowers ``L_T`` strictly: no inner optimum of the optimistic problem lies
there, and none of the pessimistic one (maximum over T∪V) with λ > 0. With λ = 0 it does not raise
F or ``L_T`` and it does not raise ``L_V``, for any validation point that gains by a large |b|
already has loss 0 at B. The copy ``(ŵ, b̂)`` only supplies a number, ``L_T(ŵ, b̂)``, between
``L_T*(w̄)`` and ``L_T(w, b)``, which a copy within the same limits attains as well.

**The slacks** ξ, ξ̂, v may be taken equal to the hinges, which bounds them and the surplus of
their rows.

**The multipliers.** β ≤ λ·weight and α ≤ κ·weight are rows of the program. Of μ⁺ and μ⁻ one may
be taken 0, and the other is then the absolute value of the rest of its stationarity row.

**λ.** With ``u`` the inner optimum and ``v`` a training optimum of the same box, the Lagrangian
gives ``λ·(ε·L_T*(w̄) + δ) ≤ F(v) − F(u) ≤ max F``. When the budget has slack this caps λ;
otherwise nothing in the data does.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pessimal.bilevel.single_level import BigM
from pessimal.problem import Budget, Mask, Matrix, TuningProblem, Vector
from pessimal.tolerances import LP_FEASIBILITY
from pessimal.training import least_loss


@dataclass(frozen=True, eq=False)
class PrimalBounds:
    """Bounds on the model and on the slacks of the rows of T and V_f.

    Examples
    --------
    >>> problem = TuningProblem([[0.0], [2.0]], [-1, 1], [[1.5]], [1])
    >>> primal_bounds(problem, problem.X_train).b.value.tolist()
    [3.0]
    """

    b: BigM
    box_slack: BigM
    xi: BigM
    xi_surplus: BigM
    v: BigM
    v_surplus: BigM


def primal_bounds(
    problem: TuningProblem, X_intercept: Matrix, X_flipped: Matrix | None = None
) -> PrimalBounds:
    """Bound b over the points whose losses depend on it, and the slacks of T and V_f from that."""
    if X_flipped is None:
        X_flipped = problem.X_val[:0]
    b = 1.0 + reach(problem, X_intercept).max()
    train = reach(problem, problem.X_train) + b
    flipped = reach(problem, X_flipped) + b
    loss, surplus = "hinge at the worst score: 1 + |score|", "margin less 1 at the best score"
    return PrimalBounds(
        b=BigM(np.array([b]), "beyond it every score is outside the margin, on one side"),
        box_slack=BigM(2.0 * problem.upper, "|w| ≤ w̄ ≤ upper"),
        xi=BigM(1.0 + train, loss),
        xi_surplus=BigM(train - 1.0, surplus),
        v=BigM(1.0 + flipped, loss),
        v_surplus=BigM(flipped - 1.0, surplus),
    )


def multiplier_bound(
    problem: TuningProblem, flipped: Mask | None, kappa: float, lam: float
) -> BigM:
    """Bound μ by the steepest slope of ``κ·F + λ·L_T`` in each weight."""
    slope = lam * (problem.train_weight @ np.abs(problem.X_train))
    if flipped is not None:
        slope = slope + kappa * (problem.flipped_weight(flipped) @ np.abs(problem.X_val[flipped]))
    return BigM(slope, "the stationarity row with every multiplier at its bound")


def proved_multiplier_cap(problem: TuningProblem, budget: Budget, flipped: Mask) -> float:
    """Return a proved bound on the multiplier λ of the budget row, infinite without slack.

    Examples
    --------
    >>> problem = TuningProblem([[-1.0], [1.0], [0.0]], [-1, 1, 1], [[1.0]], [1])
    >>> proved_multiplier_cap(problem, Budget(), np.array([True]))
    inf
    >>> proved_multiplier_cap(problem, Budget(absolute=0.5), np.array([True]))
    8.0
    """
    least = max(0.0, least_loss(problem, problem.upper).value - LP_FEASIBILITY)
    slack = budget.relative * least + budget.absolute
    if slack <= LP_FEASIBILITY:
        return float("inf")
    # The training optimum v of the proof has |b| ≤ 1 + max reach over T.
    b = 1.0 + reach(problem, problem.X_train).max()
    worst = 1.0 + reach(problem, problem.X_val[flipped]) + b
    return float(problem.flipped_weight(flipped) @ worst / slack)


def reach(problem: TuningProblem, X: Matrix) -> Vector:
    """Return ``Σ_j |x_ij|·upper_j``, the largest ``|x_i·w|`` of any box."""
    return np.asarray(np.abs(X) @ problem.upper)
