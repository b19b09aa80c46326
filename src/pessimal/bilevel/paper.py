"""The paper's two bilevel programs, in its own notation, as single-level programs.

Each M is proved (:mod:`pessimal.bilevel.bounds`).

The inner problem of the pessimistic program is a weighted training problem: (w, b) minimises
``κ·F + λ·L_T`` over the box, where λ is the multiplier of the training budget and κ = 1. Its
multipliers may be scaled at will, so a program is written for a *range* of (κ, λ): ``κ = 1`` and
``λ ≤ cap``, or, divided by λ, ``κ ≤ 1/cap`` and ``λ = 1``. The second, the *tail*, holds every
λ ≥ cap at once; its κ = 0 stands for an infinite λ, so the tail is a relaxation.

The multipliers have the paper's names: α and β of the hinge rows of V_f and T, μ⁺ and μ⁻ of the
box, λ of the training budget. In the code ``f`` marks the flipped points V_f with their flipped
labels.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.sparse import eye_array

from pessimal.bilevel.affine import Affine
from pessimal.bilevel.bounds import PrimalBounds, multiplier_bound, primal_bounds
from pessimal.bilevel.kkt import InnerProgram
from pessimal.bilevel.single_level import BigM, SingleLevel, single_level
from pessimal.problem import Budget, Mask, Matrix, TuningProblem, Vector, hinge
from pessimal.training import least_loss


@dataclass(frozen=True, eq=False)
class Range:
    """Limits on the weights κ of the flipped loss and λ of the training loss.

    Examples
    --------
    >>> Range(kappa=(0.0, 0.01), lam=(1.0, 1.0)).kappa
    (0.0, 0.01)
    """

    kappa: tuple[float, float]
    lam: tuple[float, float]


def optimistic_program(problem: TuningProblem) -> SingleLevel:
    """Write eq. (prob:optim-hinge) as one MILP.

    Examples
    --------
    >>> problem = TuningProblem([[0.0], [2.0]], [-1, 1], [[1.5]], [1])
    >>> list(optimistic_program(problem).conditions.complementarities)
    ['beta', 'mu_plus', 'mu_minus', 'xi']
    """
    bound = primal_bounds(problem, problem.X_train)
    mu_max = multiplier_bound(problem, None, 0.0, 1.0)
    beta_max = BigM(problem.train_weight, "stationarity in ξ: β ≤ weight")
    return single_level(
        cost={"g": problem.val_weight},
        limits=_limits(problem, bound),
        outer=[_hinge_rows("g", problem.X_val, problem.y_val)],
        inner=InnerProgram(
            free=_no_cost(problem),
            nonnegative={"xi": problem.train_weight},
            rows={"beta": _hinge_rows("xi", problem.X_train, problem.y_train), **_box(problem)},
        ),
        big_m={
            "beta": (beta_max, bound.xi_surplus),
            "mu_plus": (mu_max, bound.box_slack),
            "mu_minus": (mu_max, bound.box_slack),
            "xi": (beta_max, bound.xi),
        },
    )


def pessimistic_program(
    problem: TuningProblem, budget: Budget, flipped: Mask, multipliers: Range
) -> SingleLevel:
    """Write the single-level form of eq. (A-RPBL-hyper) for a range of (κ, λ) as one MILP.

    The outer level holds a copy (ŵ, b̂, ξ̂) of the training problem, whose loss is the budget.

    Examples
    --------
    >>> problem = TuningProblem([[0.0], [2.0]], [-1, 1], [[1.5]], [1])
    >>> program = pessimistic_program(
    ...     problem, Budget(0.2), np.array([True]), Range((1.0, 1.0), (0.0, 10.0))
    ... )
    >>> program.big_m["alpha"][0].reason
    'stationarity in v: α ≤ κ·weight'
    """
    X_f, weight_T = problem.X_val[flipped], problem.train_weight
    bound = primal_bounds(problem, np.vstack([problem.X_train, problem.X_val]), X_f)
    kappa_max, lam_max = multipliers.kappa[1], multipliers.lam[1]
    mu_max = multiplier_bound(problem, flipped, kappa_max, lam_max)
    alpha_max = BigM(kappa_max * problem.flipped_weight(flipped), "stationarity in v: α ≤ κ·weight")
    beta_max = BigM(lam_max * weight_T, "stationarity in ξ: β ≤ λ·weight")
    # With λ = 0 the copy may be (w, b) itself, which leaves ε·L_T + δ of the budget unused.
    unused_max = BigM(
        np.array([budget.relative * (weight_T @ bound.xi.value) + budget.absolute]),
        "ε·L_T + δ with the copy at (w, b)",
    )
    limits = _limits(problem, bound)
    return single_level(
        cost={"g": problem.val_weight},
        limits={
            **limits,
            **{f"{name}_hat": limits[name] for name in ("w", "b", "xi")},
            "v": (np.zeros(len(X_f)), bound.v.value),
            "kappa": _interval(*multipliers.kappa),
            "lam": _interval(*multipliers.lam),
        },
        outer=[
            _hinge_rows("g", problem.X_val, problem.y_val),
            *_box(problem, "w_hat").values(),
            _hinge_rows("xi_hat", problem.X_train, problem.y_train, "w_hat", "b_hat"),
        ],
        inner=flipped_response(problem, budget, flipped),
        big_m={
            "alpha": (alpha_max, bound.v_surplus),
            "beta": (beta_max, bound.xi_surplus),
            "mu_plus": (mu_max, bound.box_slack),
            "mu_minus": (mu_max, bound.box_slack),
            "lam": (BigM(np.array([lam_max]), "end of the range of λ"), unused_max),
            "v": (alpha_max, bound.v),
            "xi": (beta_max, bound.xi),
        },
    )


def flipped_response(problem: TuningProblem, budget: Budget, flipped: Mask) -> InnerProgram:
    """Write the inner problem of eq. (A-RPBL-hyper): least flipped loss within the budget."""
    weight_T = problem.train_weight[None, :]
    return InnerProgram(
        free=_no_cost(problem),
        nonnegative={"v": problem.flipped_weight(flipped), "xi": np.zeros(problem.n_train)},
        rows={
            "alpha": _hinge_rows("v", problem.X_val[flipped], -problem.y_val[flipped]),
            "beta": _hinge_rows("xi", problem.X_train, problem.y_train),
            **_box(problem),
            "lam": Affine(
                {"xi_hat": (1.0 + budget.relative) * weight_T, "xi": -weight_T},
                np.array([budget.absolute]),
            ),
        },
    )


def values_at(
    problem: TuningProblem, flipped: Mask, box: Vector, w: Vector, b: float
) -> dict[str, Vector]:
    """Return the variables of the pessimistic inner problem at a model.

    The copy (ŵ, b̂) is one of least training loss in the box.
    """
    copy = least_loss(problem, box)

    def hinges(w: Vector, b: float) -> Vector:
        return hinge(problem.y_train * (problem.X_train @ w - b))

    return {
        "w_bar": box,
        "w": w,
        "b": np.array([b]),
        "v": hinge(-problem.y_val[flipped] * (problem.X_val[flipped] @ w - b)),
        "xi": hinges(w, b),
        "xi_hat": hinges(copy.w, copy.b),
    }


def _hinge_rows(slack: str, X: Matrix, y: Vector, w: str = "w", b: str = "b") -> Affine:
    """Rows ``slack + y·(x·w − b) − 1``."""
    return Affine({slack: eye_array(len(y)), w: y[:, None] * X, b: -y[:, None]}, -np.ones(len(y)))


def _box(problem: TuningProblem, w: str = "w") -> dict[str, Affine]:
    """Rows ``w̄ − w`` and ``w̄ + w``."""
    one, zero = eye_array(problem.n_features), np.zeros(problem.n_features)
    return {
        "mu_plus": Affine({"w_bar": one, w: -one}, zero),
        "mu_minus": Affine({"w_bar": one, w: one}, zero),
    }


def _no_cost(problem: TuningProblem) -> dict[str, Vector]:
    return {"w": np.zeros(problem.n_features), "b": np.zeros(1)}


def _limits(problem: TuningProblem, bound: PrimalBounds) -> dict[str, tuple[Vector, Vector]]:
    return {
        "w_bar": (problem.lower, problem.upper),
        "w": (-problem.upper, problem.upper),
        "b": (-bound.b.value, bound.b.value),
        "xi": (np.zeros(problem.n_train), bound.xi.value),
        "g": (np.zeros(problem.n_val), np.full(problem.n_val, np.inf)),
    }


def _interval(low: float, high: float) -> tuple[Vector, Vector]:
    return np.array([low]), np.array([high])
