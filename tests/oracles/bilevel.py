"""The two bilevel programs of the paper by branching on their complementarities.

Each is written as its KKT system: two polyhedra that share no variable,

* the primal one, in ``(w̄, w, b, ξ, …)``, which carries the objective ``L_V``, and
* the dual one, in the multipliers,

tied together only by pairs of non-negative columns of which one must be 0. `_solve_pairs`
branches on which.
"""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from oracles.system import System, add_box_rows, add_hinge_rows
from pessimal.problem import Budget, Mask, TuningProblem, Vector

SLACK_IS_ZERO = 1e-7
"""Columns of a pair below this count as 0; data of the tests are of order one."""


@dataclass(frozen=True)
class Optimum:
    """Value of a bilevel program and a point that attains it."""

    value: float
    w: Vector
    b: float
    box: Vector


def brute_force_optimistic(problem: TuningProblem) -> float:
    """Least value of the paper's eq. (prob:optim-hinge)."""
    return optimistic_optimum(problem).value


def brute_force_pessimistic(problem: TuningProblem, budget: Budget, flipped: Mask) -> float:
    """Least value of the paper's eq. (A-RPBL-hyper), with δ added to its budget row."""
    return pessimistic_optimum(problem, budget, flipped).value


def optimistic_optimum(problem: TuningProblem) -> Optimum:
    """Solve the paper's eq. (prob:optim-hinge) by its KKT system."""
    n, p = problem.n_train, problem.n_features
    y, X = problem.y_train, problem.X_train
    primal = System(**_model_blocks(problem))
    _add_model_rows(primal, problem)

    dual = System(
        beta=(n, 0.0, np.inf), beta_rest=(n, 0.0, np.inf),
        mu_up=(p, 0.0, np.inf), mu_low=(p, 0.0, np.inf),
    )  # fmt: skip
    dual.add(problem.train_weight, beta=np.eye(n), beta_rest=np.eye(n))
    dual.add(0.0, beta=-(y[:, None] * X).T, mu_up=np.eye(p), mu_low=-np.eye(p))
    dual.add(0.0, beta=y[None, :])

    pairs = {"xi": "beta_rest", "xi_slack": "beta", "up_slack": "mu_up", "low_slack": "mu_low"}
    return _solve_pairs(problem, primal, dual, pairs)


def pessimistic_optimum(problem: TuningProblem, budget: Budget, flipped: Mask) -> Optimum:
    """Solve the single-level program that follows the paper's eq. (A-RPBL-hyper)."""
    n, p, m = problem.n_train, problem.n_features, int(flipped.sum())
    y, X = problem.y_train, problem.X_train
    y_flip, X_flip = -problem.y_val[flipped], problem.X_val[flipped]
    weight, flip_weight = problem.train_weight, problem.flipped_weight(flipped)

    primal = System(
        **_model_blocks(problem),
        v=(m, 0.0, np.inf), v_slack=(m, 0.0, np.inf),
        w_hat=(p, -np.inf, np.inf), b_hat=(1, -np.inf, np.inf),
        xi_hat=(n, 0.0, np.inf), xi_hat_slack=(n, 0.0, np.inf),
        hat_up_slack=(p, 0.0, np.inf), hat_low_slack=(p, 0.0, np.inf),
        budget_slack=(1, 0.0, np.inf),
    )  # fmt: skip
    _add_model_rows(primal, problem)
    add_hinge_rows(primal, X_flip, y_flip, "w", "b", "v", "v_slack")
    add_box_rows(primal, p, "w_hat", "hat_up_slack", "hat_low_slack")
    add_hinge_rows(primal, X, y, "w_hat", "b_hat", "xi_hat", "xi_hat_slack")
    primal.add(
        budget.delta,
        xi=weight[None, :],
        xi_hat=-(1.0 + budget.epsilon) * weight[None, :],
        budget_slack=np.eye(1),
    )

    dual = System(
        alpha=(m, 0.0, np.inf), alpha_rest=(m, 0.0, np.inf),
        beta=(n, 0.0, np.inf), beta_rest=(n, 0.0, np.inf), lam=(1, 0.0, np.inf),
        mu_up=(p, 0.0, np.inf), mu_low=(p, 0.0, np.inf),
    )  # fmt: skip
    dual.add(flip_weight, alpha=np.eye(m), alpha_rest=np.eye(m))
    dual.add(0.0, beta=np.eye(n), beta_rest=np.eye(n), lam=-weight[:, None])
    dual.add(
        0.0,
        alpha=-(y_flip[:, None] * X_flip).T,
        beta=-(y[:, None] * X).T,
        mu_up=np.eye(p),
        mu_low=-np.eye(p),
    )
    dual.add(0.0, alpha=y_flip[None, :], beta=y[None, :])

    pairs = {
        "v": "alpha_rest", "v_slack": "alpha", "xi": "beta_rest", "xi_slack": "beta",
        "up_slack": "mu_up", "low_slack": "mu_low", "budget_slack": "lam",
    }  # fmt: skip
    return _solve_pairs(problem, primal, dual, pairs)


def _model_blocks(problem: TuningProblem) -> dict[str, tuple[int, float | Vector, float | Vector]]:
    """Columns of a box, a model in it, and its hinges on T (``ξ``) and V (``g``)."""
    n, m, p = problem.n_train, problem.n_val, problem.n_features
    return {
        "box": (p, problem.lower, problem.upper),
        "w": (p, -np.inf, np.inf),
        "b": (1, -np.inf, np.inf),
        "xi": (n, 0.0, np.inf),
        "xi_slack": (n, 0.0, np.inf),
        "g": (m, 0.0, np.inf),
        "g_slack": (m, 0.0, np.inf),
        "up_slack": (p, 0.0, np.inf),
        "low_slack": (p, 0.0, np.inf),
    }


def _add_model_rows(system: System, problem: TuningProblem) -> None:
    add_hinge_rows(system, problem.X_train, problem.y_train, "w", "b", "xi", "xi_slack")
    add_hinge_rows(system, problem.X_val, problem.y_val, "w", "b", "g", "g_slack")
    add_box_rows(system, problem.n_features, "w", "up_slack", "low_slack")


def _solve_pairs(
    problem: TuningProblem, primal: System, dual: System, pairs: Mapping[str, str]
) -> Optimum:
    """Minimise ``L_V`` over the primal system such that each pair of columns has a zero.

    Best first. At a node some primal and some dual columns are held at 0; its bound is the primal
    optimum. Minimising ``Σ primal_k·dual_k`` over the dual system, with the primal point fixed,
    tells whether that point satisfies every pair: then the bound is attained and, being the
    least of all open nodes, is the answer. Otherwise the most violated pair splits the node.
    """
    of_primal = np.concatenate([primal.columns[name] for name in pairs])
    of_dual = np.concatenate([dual.columns[name] for name in pairs.values()])
    loss = primal.cost(g=problem.val_weight)
    order = itertools.count()
    open_nodes: list[tuple[float, int, int, frozenset[int], frozenset[int], Vector]] = []

    def push(depth: int, primal_zero: frozenset[int], dual_zero: frozenset[int]) -> None:
        solved = primal.minimise(loss, primal_zero)
        if solved is not None:
            # Equal bounds are common (most are 0): among them the deepest node goes first.
            bound = round(solved[0], 9)
            node = (bound, -depth, next(order), primal_zero, dual_zero, solved[1])
            heapq.heappush(open_nodes, node)

    push(0, frozenset(), frozenset())
    while open_nodes:
        bound, minus_depth, _, primal_zero, dual_zero, x = heapq.heappop(open_nodes)
        slack = np.where(x[of_primal] > SLACK_IS_ZERO, x[of_primal], 0.0)
        cost = np.zeros(len(dual.lower))
        cost[of_dual] = slack
        solved = dual.minimise(cost, dual_zero)
        if solved is None:
            continue
        violation = slack * np.where(solved[1][of_dual] > SLACK_IS_ZERO, solved[1][of_dual], 0.0)
        worst = int(np.argmax(violation))
        if violation[worst] == 0.0:
            w, b, box = (x[primal.columns[name]] for name in ("w", "b", "box"))
            return Optimum(bound, w, float(b[0]), box)
        push(1 - minus_depth, primal_zero | {int(of_primal[worst])}, dual_zero)
        push(1 - minus_depth, primal_zero, dual_zero | {int(of_dual[worst])})
    raise RuntimeError("no pattern is feasible: the KKT system is wrong")
