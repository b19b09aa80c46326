"""The paper's two bilevel programs, in its own notation, with every M proved.

The inner problem of the pessimistic program is a weighted training problem: (w, b) minimises
``κ·F + λ·L_T`` over the box, where λ is the multiplier of the training budget and κ = 1. Its
multipliers may be scaled at will, so a program is written for a *range* of (κ, λ): ``κ = 1`` and
``λ ≤ cap``, or, divided by λ, ``κ ≤ 1/cap`` and ``λ = 1``. The second, the *tail*, holds every
λ ≥ cap at once; its κ = 0 stands for an infinite λ, so the tail is a relaxation.

The other multipliers are α and β of the hinge rows of V_f and T, and μ⁺ and μ⁻ of the box; ``f``
marks the flipped points V_f with their flipped labels.

The Ms: write ``reach_i = Σ_j |x_ij|·upper_j``, so that ``|x_i·w| ≤ reach_i`` in every box, and
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

import numpy as np
from scipy.sparse import eye_array

from pessimal.bilevel.kkt import Affine, InnerProgram, Limits
from pessimal.bilevel.single_level import BigM, BigMs, SingleLevel, single_level
from pessimal.near_optimal import least_loss
from pessimal.problem import Budget, Mask, Matrix, TuningProblem, Vector, hinge
from pessimal.tolerances import LP_FEASIBILITY

Range = tuple[float, float]


def optimistic_program(problem: TuningProblem) -> SingleLevel:
    """Write eq. (prob:optim-hinge) as one MILP."""
    weight = problem.train_weight
    b_max = intercept_bound(problem, problem.X_train)
    xi_max, surplus_max = _hinge_bounds(problem, problem.X_train, b_max)
    beta_max = BigM(weight, "stationarity in ξ: β ≤ weight")
    return single_level(
        cost={"g": problem.val_weight},
        limits=_limits(problem, b_max, xi_max),
        outer=[_hinge_rows("g", problem.X_val, problem.y_val)],
        inner=InnerProgram(
            free={"w": np.zeros(problem.n_features), "b": np.zeros(1)},
            nonnegative={"xi": weight},
            rows={"beta": _hinge_rows("xi", problem.X_train, problem.y_train), **_box(problem)},
        ),
        big_m={
            "beta": (beta_max, surplus_max),
            **_box_bounds(problem, weight @ np.abs(problem.X_train)),
            "xi": (beta_max, xi_max),
        },
    )


def pessimistic_program(
    problem: TuningProblem, budget: Budget, flipped: Mask, kappa: Range, lam: Range
) -> SingleLevel:
    """Write the single-level form of eq. (A-RPBL-hyper) for a range of (κ, λ) as one MILP.

    The outer level holds a copy (ŵ, b̂, ξ̂) of the training problem, whose loss is the budget.
    """
    X_T, X_f = problem.X_train, problem.X_val[flipped]
    weight_T, weight_f = problem.train_weight, problem.flipped_weight(flipped)
    b_max = intercept_bound(problem, np.vstack([X_T, problem.X_val]))
    xi_max, xi_surplus = _hinge_bounds(problem, X_T, b_max)
    v_max, v_surplus = _hinge_bounds(problem, X_f, b_max)
    alpha_max = BigM(kappa[1] * weight_f, "stationarity in v: α ≤ κ·weight")
    beta_max = BigM(lam[1] * weight_T, "stationarity in ξ: β ≤ λ·weight")
    slope = lam[1] * (weight_T @ np.abs(X_T)) + kappa[1] * (weight_f @ np.abs(X_f))
    # With λ = 0 the copy may be (w, b) itself, which leaves ε·L_T + δ of the budget unused.
    unused_max = BigM(
        np.array([budget.epsilon * (weight_T @ xi_max.value) + budget.delta]),
        "ε·L_T + δ with the copy at (w, b)",
    )
    limits = _limits(problem, b_max, xi_max)
    return single_level(
        cost={"g": problem.val_weight},
        limits={
            **limits,
            **{f"{name}_hat": limits[name] for name in ("w", "b", "xi")},
            "v": (np.zeros(len(X_f)), v_max.value),
            "kappa": (np.array(kappa[:1]), np.array(kappa[1:])),
            "lam": (np.array(lam[:1]), np.array(lam[1:])),
        },
        outer=[
            _hinge_rows("g", problem.X_val, problem.y_val),
            *_box(problem, "w_hat").values(),
            _hinge_rows("xi_hat", X_T, problem.y_train, "w_hat", "b_hat"),
        ],
        inner=flipped_response(problem, budget, flipped),
        big_m={
            "alpha": (alpha_max, v_surplus),
            "beta": (beta_max, xi_surplus),
            **_box_bounds(problem, slope),
            "lam": (BigM(np.array(lam[1:]), "end of the range of λ"), unused_max),
            "v": (alpha_max, v_max),
            "xi": (beta_max, xi_max),
        },
    )


def flipped_response(problem: TuningProblem, budget: Budget, flipped: Mask) -> InnerProgram:
    """Write the inner problem of eq. (A-RPBL-hyper): least flipped loss within the budget."""
    weight_T = problem.train_weight[None, :]
    used = {"xi_hat": (1.0 + budget.epsilon) * weight_T, "xi": -weight_T}
    return InnerProgram(
        free={"w": np.zeros(problem.n_features), "b": np.zeros(1)},
        nonnegative={"v": problem.flipped_weight(flipped), "xi": np.zeros(problem.n_train)},
        rows={
            "alpha": _hinge_rows("v", problem.X_val[flipped], -problem.y_val[flipped]),
            "beta": _hinge_rows("xi", problem.X_train, problem.y_train),
            **_box(problem),
            "lam": Affine(used, np.array([budget.delta])),
        },
    )


def model_at(
    problem: TuningProblem, bilevel: SingleLevel, x: Vector
) -> tuple[Vector, Vector, float]:
    """Return box, w and b at a point of either program, which may be off by a tolerance."""
    w_bar, w, b = (x[bilevel.columns[name]] for name in ("w_bar", "w", "b"))
    box = np.clip(w_bar, problem.lower, problem.upper)
    return box, np.clip(w, -box, box), float(b[0])


def response_at(
    problem: TuningProblem, flipped: Mask, box: Vector, w: Vector, b: float
) -> dict[str, Vector]:
    """Return the variables of `flipped_response` at a model, with a copy of least training loss."""
    copy = least_loss(problem, box)
    return {
        "w_bar": box,
        "w": w,
        "b": np.array([b]),
        "v": hinge(-problem.y_val[flipped] * (problem.X_val[flipped] @ w - b)),
        "xi": hinge(problem.y_train * (problem.X_train @ w - b)),
        "xi_hat": hinge(problem.y_train * (problem.X_train @ copy.w - copy.b)),
    }


def proved_multiplier_cap(problem: TuningProblem, budget: Budget, flipped: Mask) -> float:
    """Return a proved bound on the multiplier λ of the budget row, infinite without slack."""
    least = max(0.0, least_loss(problem, problem.upper).value - LP_FEASIBILITY)
    slack = budget.epsilon * least + budget.delta
    if slack <= LP_FEASIBILITY:
        return float("inf")
    # The training optimum v of the proof has |b| ≤ 1 + max reach over T.
    b_max = intercept_bound(problem, problem.X_train)
    worst, _ = _hinge_bounds(problem, problem.X_val[flipped], b_max)
    return float(problem.flipped_weight(flipped) @ worst.value / slack)


def intercept_bound(problem: TuningProblem, X: Matrix) -> float:
    """Bound |b|: beyond it every score of X is outside the margin, on one side."""
    return float(1.0 + (np.abs(X) @ problem.upper).max())


def _hinge_bounds(problem: TuningProblem, X: Matrix, b_max: float) -> tuple[BigM, BigM]:
    """Bound the hinges of points, and the surplus of their rows."""
    score = np.abs(X) @ problem.upper + b_max
    return (
        BigM(1.0 + score, "hinge at the worst score: 1 + |score|"),
        BigM(score - 1.0, "margin less 1 at the best score"),
    )


def _box_bounds(problem: TuningProblem, slope: Vector) -> BigMs:
    """Bound μ by the steepest slope of ``κ·F + λ·L_T`` in each weight, and the slack of the box."""
    mu = BigM(slope, "the stationarity row with every multiplier at its bound")
    slack = BigM(2.0 * problem.upper, "|w| ≤ w̄ ≤ upper")
    return {"mu_plus": (mu, slack), "mu_minus": (mu, slack)}


def _hinge_rows(slack: str, X: Matrix, y: Vector, w: str = "w", b: str = "b") -> Affine:
    """Return ``slack + y·(x·w − b) − 1``."""
    return Affine(
        {slack: eye_array(len(y), format="csr"), w: y[:, None] * X, b: -y[:, None]},
        -np.ones(len(y)),
    )


def _box(problem: TuningProblem, w: str = "w") -> dict[str, Affine]:
    """Return ``w̄ − w`` and ``w̄ + w``."""
    one, zero = eye_array(problem.n_features, format="csr"), np.zeros(problem.n_features)
    return {
        "mu_plus": Affine({"w_bar": one, w: -one}, zero),
        "mu_minus": Affine({"w_bar": one, w: one}, zero),
    }


def _limits(problem: TuningProblem, b_max: float, xi_max: BigM) -> Limits:
    return {
        "w_bar": (problem.lower, problem.upper),
        "w": (-problem.upper, problem.upper),
        "b": (np.array([-b_max]), np.array([b_max])),
        "xi": (np.zeros(problem.n_train), xi_max.value),
        "g": (np.zeros(problem.n_val), np.full(problem.n_val, np.inf)),
    }
