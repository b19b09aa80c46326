"""Worst cases of logistic regression: many rows, and real tables beside an approximation.

The approximation is the usual one: where training loss and validation loss are replaced by their
second-order expansions at the fit, the near-optimal set is the ellipsoid of the Hessian, and the
worst case a trust-region problem, solved exactly. It proves nothing.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any
from unittest import mock

import numpy as np
from measuring import timed
from scipy.special import expit
from sklearn.linear_model import LogisticRegression
from smooth_ridge import REPEATS, Found, bounds

from pessimal import near_optimal_set
from pessimal.errors import SolverError
from pessimal.near_optimal.smooth.quadratic import Quadratic, largest
from pessimal.problem import Matrix, Vector
from pessimal.reproduction.tables import TABLES, Labels, halves

GOAL, TIMES_THE_FIT, LONG, NODES = 10.0, 8.0, 20.0, 10_000
"""Times the fit that set and worst case may take; the limits, in fits, in seconds, in nodes."""

TIME_LIMIT = 2.0
"""Seconds for a worst case on a real table."""

# Time limits too count what this process computes: it has one thread, and others use the machine.
in_cpu_seconds = mock.patch("time.perf_counter", time.process_time)


@in_cpu_seconds
def rows(at: Mapping[str, Any]) -> Found:
    """Time fit and worst case in turn: within a few times the fit, and once with a long limit."""
    rng = np.random.default_rng(at["seed"])
    n, p = at["n_rows"], at["n_columns"]
    X, X_val = rng.standard_normal((n, p)), rng.standard_normal((at["n_val"], p))
    weights = 2.0 * rng.standard_normal(p) / np.sqrt(p)
    y, y_val = (rng.random(len(A)) < expit(A @ weights) for A in (X, X_val))
    estimator = LogisticRegression(C=at["C"])
    found = []
    for repeat in range(REPEATS):
        for limited in (True, False) if repeat == 0 else (True,):
            _, fit = timed(estimator.fit, X, y)
            members, training = timed(near_optimal_set, estimator, X, y, epsilon=at["epsilon"])
            limit = max(1e-9, TIMES_THE_FIT * fit - training) if limited else LONG
            worst, ours = timed(members.worst, X_val, y_val, time_limit=limit, node_limit=NODES)
            seconds = {"fit_seconds": fit, "set_seconds": training, "seconds": training + ours}
            found.append({"repeat": repeat, "limited": limited, **seconds, **bounds(worst)})
    return found


@in_cpu_seconds
def tables(at: Mapping[str, Any]) -> Found:
    """Find the worst case on the other half of a real table, and what the ellipsoid says."""
    X, y, X_val, y_val = halves(TABLES[at["data"]], at["seed"])
    estimator, epsilon = LogisticRegression(C=at["C"]), at["epsilon"]
    shape = {"n_train": len(y), "n_val": len(y_val), "n_columns": X.shape[1]}
    started = time.process_time()
    members = near_optimal_set(estimator, X, y, epsilon=epsilon)
    try:
        worst = members.worst(X_val, y_val, time_limit=TIME_LIMIT)
    except SolverError as error:
        return [{**shape, "refused": str(error), "seconds": time.process_time() - started}]
    seconds = time.process_time() - started
    fitted = members.trained
    u = np.append(fitted.coef, fitted.intercept)
    training = _expansion(_signed(X, y), u) + _penalty(u, 1.0 / (at["C"] * len(y)))
    validation = _expansion(_signed(X_val, y_val), u)
    budget = members.limit - fitted.value
    step = largest(validation, Quadratic(-budget, np.zeros(len(u)), training.curvature)).point
    spent = _mean(_signed(X, y), u + step) + _penalty(u + step, 1.0 / (at["C"] * len(y))).value
    ellipsoid = {
        "ellipsoid": validation.at(step),
        "ellipsoid_loss": _mean(_signed(X_val, y_val), u + step),
        "ellipsoid_spent": (spent - training.value) / budget,
    }
    loss = {"trained": validation.value, "seconds": seconds, "refused": None}
    return [{**shape, **loss, **bounds(worst), **ellipsoid}]


def _signed(X: Matrix, y: Labels) -> Matrix:
    return np.where(y, 1.0, -1.0)[:, None] * np.hstack([X, np.ones((len(X), 1))])


def _mean(Z: Matrix, u: Vector) -> float:
    return float(np.logaddexp(0.0, -Z @ u).mean())


def _expansion(Z: Matrix, u: Vector) -> Quadratic:
    wrong = expit(-Z @ u)
    curvature = (Z.T * (wrong * (1.0 - wrong))) @ Z / len(Z)
    return Quadratic(_mean(Z, u), -Z.T @ wrong / len(Z), curvature)


def _penalty(u: Vector, strength: float) -> Quadratic:
    pull = strength * np.append(u[:-1], 0.0)
    matrix = strength * np.diag(np.append(np.ones(len(u) - 1), 0.0))
    return Quadratic(0.5 * float(u @ pull), pull, matrix)
