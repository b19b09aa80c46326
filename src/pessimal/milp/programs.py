"""The paper's two single-level programs, in its own notation, as CVXPY problems.

Both replace an inner linear program by its Karush-Kuhn-Tucker conditions and every
complementarity ``p ⟂ q`` by a binary z: ``p ≤ M·z``, ``q ≤ M'·(1 − z)``. Each M is proved
(:mod:`pessimal.milp.bounds`).

The inner problem of the pessimistic program is a weighted training problem: (w, b) minimises
``κ·F + λ·L_T`` over the box, where λ is the multiplier of the training budget and κ = 1. Its
multipliers may be scaled at will, so a program is written for a *range* of (κ, λ): ``κ = 1`` and
``λ ≤ cap``, or, divided by λ, ``κ ≤ 1/cap`` and ``λ = 1``. The second, the *tail*, holds every
λ ≥ cap at once; its κ = 0 stands for an infinite λ, so the tail is a relaxation.

In the code ``yx_T`` holds the rows ``y_i·x_i`` of T, and the surplus of a hinge row is
``ξ_i + y_i(x_i·w − b) − 1``; ``f`` marks the flipped points V_f with their flipped labels.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import cvxpy as cp
import numpy as np

from pessimal.milp.bounds import BigM, primal_bounds, pull_bound
from pessimal.problem import Budget, Mask, TuningProblem


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


@dataclass(frozen=True, eq=False)
class Program:
    """A single-level program: the CVXPY problem, its variables, binaries and big Ms.

    Attributes
    ----------
    problem : cvxpy.Problem
        Minimise the validation loss subject to the four groups of the paper.
    variables : mapping of str to cvxpy.Variable
        By the names of the paper.
    binaries : mapping of str to cvxpy.Variable
        One a complementarity, by the name of its multiplier; 1 lets the multiplier be positive.
    big_m : mapping of str to BigM
        Every bound used, with its reason.
    """

    problem: Any
    variables: Mapping[str, Any]
    binaries: Mapping[str, Any]
    big_m: Mapping[str, BigM]


def optimistic_program(problem: TuningProblem) -> Program:
    """Write eq. (prob:optim-hinge) as one MILP.

    Examples
    --------
    >>> problem = TuningProblem([[0.0], [2.0]], [-1, 1], [[1.5]], [1])
    >>> sorted(optimistic_program(problem).binaries)
    ['beta', 'beta_bar', 'mu_minus', 'mu_plus']
    """
    y_T, y_V = problem.y_train, problem.y_val
    yx_T, yx_V = y_T[:, None] * problem.X_train, y_V[:, None] * problem.X_val
    n_T, n_V, p = problem.n_train, problem.n_val, problem.n_features
    bound = primal_bounds(problem, problem.X_train)
    pull = pull_bound(problem, None, 0.0, 1.0)
    share = BigM(problem.train_weight, "stationarity in ξ: β ≤ weight")

    w_bar = cp.Variable(p, name="w_bar", bounds=[problem.lower, problem.upper])
    w = cp.Variable(p, name="w", bounds=[-problem.upper, problem.upper])
    b = cp.Variable(name="b", bounds=[-bound.b.value[0], bound.b.value[0]])
    xi = cp.Variable(n_T, name="xi", bounds=[0.0, bound.xi.value])
    g = cp.Variable(n_V, name="g", nonneg=True)
    beta = cp.Variable(n_T, name="beta", bounds=[0.0, share.value])
    mu_plus = cp.Variable(p, name="mu_plus", bounds=[0.0, pull.value])
    mu_minus = cp.Variable(p, name="mu_minus", bounds=[0.0, pull.value])

    surplus_T = xi + yx_T @ w - b * y_T - 1
    # Outer-level constraints
    outer_level = [g >= 1 - (yx_V @ w - b * y_V)]
    # Primal constraints
    primal = [surplus_T >= 0, -w_bar <= w, w <= w_bar]
    # Stationarity constraints
    stationarity = [-(yx_T.T @ beta) + mu_plus - mu_minus == 0, y_T @ beta == 0]
    # Complementary slackness constraints
    complementary_slackness, binaries = _complementary(
        beta=(beta, share, surplus_T, bound.xi_surplus),
        beta_bar=(problem.train_weight - beta, share, xi, bound.xi),
        mu_plus=(mu_plus, pull, w_bar - w, bound.box_slack),
        mu_minus=(mu_minus, pull, w_bar + w, bound.box_slack),
    )
    return Program(
        problem=cp.Problem(
            cp.Minimize(problem.val_weight @ g),
            outer_level + primal + stationarity + complementary_slackness,
        ),
        variables={"w_bar": w_bar, "w": w, "b": b},
        binaries=binaries,
        big_m={"b": bound.b, "xi": bound.xi, "surplus": bound.xi_surplus, "beta": share}
        | {"mu": pull, "w_bar -+ w": bound.box_slack},
    )


def pessimistic_program(
    problem: TuningProblem, budget: Budget, flipped: Mask, multipliers: Range
) -> Program:
    """Write the single-level form of eq. (A-RPBL-hyper) for a range of (κ, λ) as one MILP.

    Examples
    --------
    >>> problem = TuningProblem([[0.0], [2.0]], [-1, 1], [[1.5]], [1])
    >>> program = pessimistic_program(
    ...     problem, Budget(0.2), np.array([True]), Range((1.0, 1.0), (0.0, 10.0))
    ... )
    >>> program.big_m["alpha"].reason
    'stationarity in v: α ≤ κ·weight'
    """
    y_T, y_V, y_f = problem.y_train, problem.y_val, -problem.y_val[flipped]
    yx_T, yx_V = y_T[:, None] * problem.X_train, y_V[:, None] * problem.X_val
    yx_f = -yx_V[flipped]
    n_T, n_V, p = problem.n_train, problem.n_val, problem.n_features
    weight_T, weight_f = problem.train_weight, problem.flipped_weight(flipped)
    bound = primal_bounds(
        problem, np.vstack([problem.X_train, problem.X_val]), problem.X_val[flipped]
    )
    pull = pull_bound(problem, flipped, multipliers.kappa[1], multipliers.lam[1])
    alpha_max = BigM(multipliers.kappa[1] * weight_f, "stationarity in v: α ≤ κ·weight")
    beta_max = BigM(multipliers.lam[1] * weight_T, "stationarity in ξ: β ≤ λ·weight")
    lam_max = BigM(np.array([multipliers.lam[1]]), "end of the range of λ")
    # With λ = 0 the copy may be (w, b) itself, which leaves ε·L_T + δ of the budget unused.
    slack_max = BigM(
        np.array([budget.relative * (weight_T @ bound.xi.value) + budget.absolute]),
        "ε·L_T + δ with the copy at (w, b)",
    )

    w_bar = cp.Variable(p, name="w_bar", bounds=[problem.lower, problem.upper])
    w_hat = cp.Variable(p, name="w_hat", bounds=[-problem.upper, problem.upper])
    b_hat = cp.Variable(name="b_hat", bounds=[-bound.b.value[0], bound.b.value[0]])
    xi_hat = cp.Variable(n_T, name="xi_hat", bounds=[0.0, bound.xi.value])
    w = cp.Variable(p, name="w", bounds=[-problem.upper, problem.upper])
    b = cp.Variable(name="b", bounds=[-bound.b.value[0], bound.b.value[0]])
    xi = cp.Variable(n_T, name="xi", bounds=[0.0, bound.xi.value])
    v = cp.Variable(len(y_f), name="v", bounds=[0.0, bound.v.value])
    g = cp.Variable(n_V, name="g", nonneg=True)
    kappa = cp.Variable(name="kappa", bounds=list(multipliers.kappa))
    lam = cp.Variable(name="lam", bounds=list(multipliers.lam))
    alpha = cp.Variable(len(y_f), name="alpha", bounds=[0.0, alpha_max.value])
    beta = cp.Variable(n_T, name="beta", bounds=[0.0, beta_max.value])
    mu_plus = cp.Variable(p, name="mu_plus", bounds=[0.0, pull.value])
    mu_minus = cp.Variable(p, name="mu_minus", bounds=[0.0, pull.value])

    surplus_T = xi + yx_T @ w - b * y_T - 1
    surplus_f = v + yx_f @ w - b * y_f - 1
    unused = (1 + budget.relative) * (weight_T @ xi_hat) + budget.absolute - weight_T @ xi
    # Outer-level constraints
    outer_level = [
        g >= 1 - (yx_V @ w - b * y_V),
        -w_bar <= w_hat,
        w_hat <= w_bar,
        xi_hat >= 1 - (yx_T @ w_hat - b_hat * y_T),
    ]
    # Primal constraints
    primal = [surplus_f >= 0, -w_bar <= w, w <= w_bar, unused >= 0, surplus_T >= 0]
    # Stationarity constraints
    stationarity = [
        alpha <= kappa * weight_f,
        -(yx_f.T @ alpha) - yx_T.T @ beta + mu_plus - mu_minus == 0,
        y_f @ alpha + y_T @ beta == 0,
        beta <= lam * weight_T,
    ]
    # Complementary slackness constraints
    complementary_slackness, binaries = _complementary(
        alpha_bar=(kappa * weight_f - alpha, alpha_max, v, bound.v),
        alpha=(alpha, alpha_max, surplus_f, bound.v_surplus),
        beta=(beta, beta_max, surplus_T, bound.xi_surplus),
        beta_bar=(lam * weight_T - beta, beta_max, xi, bound.xi),
        mu_plus=(mu_plus, pull, w_bar - w, bound.box_slack),
        mu_minus=(mu_minus, pull, w_bar + w, bound.box_slack),
        lam=(lam * np.ones(1), lam_max, unused * np.ones(1), slack_max),
    )
    return Program(
        problem=cp.Problem(
            cp.Minimize(problem.val_weight @ g),
            outer_level + primal + stationarity + complementary_slackness,
        ),
        variables={"w_bar": w_bar, "w": w, "b": b, "kappa": kappa, "lam": lam},
        binaries=binaries,
        big_m={"b": bound.b, "xi": bound.xi, "xi surplus": bound.xi_surplus, "v": bound.v}
        | {"v surplus": bound.v_surplus, "alpha": alpha_max, "beta": beta_max, "lam": lam_max}
        | {"mu": pull, "w_bar -+ w": bound.box_slack, "unused budget": slack_max},
    )


def _complementary(
    **pairs: tuple[Any, BigM, Any, BigM],
) -> tuple[list[Any], dict[str, Any]]:
    """Linearise each ``p ⟂ q`` of two non-negative vectors by a vector z of binaries."""
    rows: list[Any] = []
    binaries: dict[str, Any] = {}
    for name, (p, p_max, q, q_max) in pairs.items():
        z = cp.Variable(p.shape, boolean=True, name=f"z_{name}")
        rows += [p <= np.diag(p_max.value) @ z, q <= np.diag(q_max.value) @ (1 - z)]
        binaries[name] = z
    return rows, binaries
