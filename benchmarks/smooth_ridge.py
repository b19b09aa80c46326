"""Worst cases of ridge regression: random problems against other methods, and many rows.

The oracle shares nothing with the package. A QR factorisation of the training rows turns the
training objective into ``least + ‖t‖²`` and the validation loss into ``‖Ct + r‖²``; with the
singular values of C the worst case is a secular equation in one unknown, whose solution attains one
value and proves another. For some of the problems Clarabel solves the semidefinite program too.
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import cvxpy as cp
import dask.array as da
import numpy as np
from measuring import memory, timed
from scipy.linalg import qr, solve_triangular
from scipy.optimize import brentq
from sklearn.linear_model import Ridge

from pessimal import near_optimal_set
from pessimal.near_optimal.base import Extreme
from pessimal.problem import Matrix, Vector

Found = list[dict[str, Any]]

PLAIN, HARD, NEARLY_HARD, WIDE, COLLINEAR, WEIGHTED, UNITS, FAR = KINDS = (
    "plain",
    "hard case",
    "nearly hard case",
    "more columns than rows",
    "collinear columns",
    "row weights, some 0",
    "columns in units from 1e-4 to 1e4",
    "validation far from training",
)
SDP_EVERY = 5
"""Of so many seeds one is also solved as a semidefinite program."""

EPSILON = 0.01
REPEATS = 3


@dataclass(frozen=True, eq=False)
class Problem:
    """Training and validation rows, the penalty and the budget."""

    X: Matrix
    y: Vector
    weight: Vector
    alpha: float
    X_val: Matrix
    y_val: Vector
    epsilon: float
    delta: float


def problems(at: Mapping[str, Any]) -> Found:
    """Compare the worst case of one problem of every kind with the oracle's."""
    return [{"kind": kind, **_compared(draw(kind, at["seed"]), at["seed"])} for kind in KINDS]


def draw(kind: str, seed: int) -> Problem:
    """Draw a problem of a kind."""
    rng = np.random.default_rng([seed, KINDS.index(kind)])
    p = int(rng.integers(2, 13))
    n = max(2, p // 2) if kind == WIDE else p + int(rng.integers(3, 30))
    X = rng.standard_normal((n, p))
    if kind == COLLINEAR:
        X[:, -1] = X[:, 0] if seed % 2 else X[:, :-1].sum(axis=1)
    weight = rng.exponential(size=n) if kind == WEIGHTED else np.ones(n)
    if kind == WEIGHTED:
        weight[0] = 0.0
    y = X @ rng.standard_normal(p) + 10 ** rng.uniform(-1, 1) * rng.standard_normal(n)
    X_val = rng.standard_normal((int(rng.integers(1, 40)), p))
    if kind == UNITS:
        units = 10 ** rng.uniform(-4, 4, size=p)
        X, X_val = X * units, X_val * units
    if kind == FAR:
        X_val = 100.0 * X_val + 1000.0
    y_val = rng.standard_normal(len(X_val))
    alpha = 0.0 if kind == PLAIN and seed % 2 else 10 ** rng.uniform(-3, 1)
    epsilon, delta = 10 ** rng.uniform(-4, 1), float(rng.choice([0.0, 0.1]))
    problem = Problem(X, y, weight, alpha, X_val, y_val, epsilon, delta)
    if kind not in (HARD, NEARLY_HARD):
        return problem
    # The hard case: residuals without a part along the direction in which the loss grows fastest.
    white = Whitened.of(problem)
    lead = np.linalg.svd(white.C)[0][:, 0]
    left = 0.0 if kind == HARD else 1e-9
    change = (1.0 - left) * (lead @ white.r) * lead
    return replace(problem, y_val=y_val + np.sqrt(len(y_val)) * change)


@dataclass(frozen=True, eq=False)
class Whitened:
    """The training objective as ``least + ‖t‖²``, the validation loss as ``‖Ct + r‖²``."""

    rows: Matrix
    target: Vector
    least: float
    C: Matrix
    r: Vector

    @classmethod
    def of(cls, problem: Problem) -> Whitened:
        """Factorise the training rows, the penalty as rows of their own."""
        p, total = problem.X.shape[1], problem.weight.sum()
        root = np.sqrt(problem.weight / total)
        penalty = np.sqrt(problem.alpha / total) * np.eye(p, p + 1)
        rows = np.vstack([root[:, None] * _with_ones(problem.X), penalty])
        target = np.concatenate([root * problem.y, np.zeros(p)])
        Q, R = qr(rows, mode="economic")
        u = solve_triangular(R, Q.T @ target)
        Z, m = _with_ones(problem.X_val), len(problem.y_val)
        C = solve_triangular(R, Z.T, trans="T").T / np.sqrt(m)
        r = (Z @ u - problem.y_val) / np.sqrt(m)
        return cls(rows, target, float(np.sum((rows @ u - target) ** 2)), C, r)

    def train(self, u: Vector) -> float:
        """Return the training objective."""
        return float(np.sum((self.rows @ u - self.target) ** 2))

    def worst(self, radius2: float) -> tuple[float, float]:
        """Return the largest validation loss, as a point attains it and as a multiplier proves."""
        U, s, _ = np.linalg.svd(self.C, full_matrices=False)
        b = U.T @ self.r
        rest = float(self.r @ self.r - b @ b)
        lead, pull = s[0] ** 2, s * b

        def t(x: float) -> Vector:  # x is how far the multiplier is above its pole
            return np.asarray(pull / (x + (lead - s**2)))

        low, high = np.log(lead) - 36.0, np.log(np.linalg.norm(pull) / np.sqrt(radius2) + lead)
        if t(np.exp(low)) @ t(np.exp(low)) <= radius2:  # the hard case
            x, found = np.exp(low), t(np.exp(low))
            side = np.copysign(1.0, found[0] + 0.0)
            found[0] = side * np.sqrt(radius2 - found[1:] @ found[1:])
        else:
            x = np.exp(brentq(lambda v: t(np.exp(v)) @ t(np.exp(v)) - radius2, low, high + 1.0))
            found = t(x)
            found *= np.sqrt(radius2 / (found @ found))
        multiplier = lead + x
        dual = multiplier * radius2 + np.sum(multiplier * b**2 / (x + (lead - s**2)))
        return float(np.sum((s * found + b) ** 2) + rest), float(dual + rest)

    def semidefinite(self, radius2: float) -> float:
        """Return the largest validation loss by the semidefinite program, which is exact."""
        k = self.C.shape[1]
        lifted = np.zeros((k + 1, k + 1))
        lifted[:k, :k] = radius2 * self.C.T @ self.C
        lifted[:k, k] = lifted[k, :k] = np.sqrt(radius2) * self.C.T @ self.r
        lifted[k, k] = self.r @ self.r
        scale = np.abs(lifted).max()
        moments: Any = cp.Variable((k + 1, k + 1), PSD=True)
        limits = [moments.trace() <= 2.0, moments[k, k] == 1.0]
        program: Any = cp.Problem(cp.Maximize((lifted / scale @ moments).trace()), limits)
        program.solve(solver=cp.CLARABEL)
        return float(program.value * scale)


def _with_ones(X: Matrix) -> Matrix:
    return np.hstack([X, np.ones((len(X), 1))])


def _compared(problem: Problem, seed: int) -> dict[str, Any]:
    budget = {"epsilon": problem.epsilon, "delta": problem.delta}
    members = near_optimal_set(
        Ridge(problem.alpha), problem.X, problem.y, **budget, sample_weight=problem.weight
    )
    worst = members.worst(problem.X_val, problem.y_val)
    white = Whitened.of(problem)
    radius2 = problem.epsilon * white.least + problem.delta
    attained, proved = white.worst(radius2)
    limit = white.least + radius2
    trained = white.train(np.append(worst.coef, worst.intercept))
    return {
        "value": worst.value,
        "gap": (worst.upper_bound - worst.value) / worst.value,
        "attained_above_bound": (attained - worst.upper_bound) / attained,
        "value_above_proved": (worst.value - proved) / proved,
        "oracle_gap": (proved - attained) / proved,
        "train_above_limit": (trained - limit) / limit,
        "sdp": white.semidefinite(radius2) / worst.value - 1.0 if seed % SDP_EVERY == 0 else None,
    }


def rows(at: Mapping[str, Any]) -> Found:
    """Time the fit of scikit-learn and our worst case in turn, on the same rows."""
    rng = np.random.default_rng(at["seed"])
    n, p = at["n_rows"], at["n_columns"]
    X, X_val = rng.standard_normal((n, p)), rng.standard_normal((at["n_val"], p))
    weights = rng.standard_normal(p)
    y, y_val = (A @ weights + rng.standard_normal(len(A)) for A in (X, X_val))
    estimator = Ridge(solver="cholesky")
    found = []
    for repeat in range(REPEATS):
        _, fit = timed(estimator.fit, X, y)
        worst, ours = timed(_worst, estimator, (X, y), (X_val, y_val))
        found.append({"repeat": repeat, "fit_seconds": fit, "seconds": ours, **bounds(worst)})
    return found


def lazy(at: Mapping[str, Any]) -> Found:
    """Find the worst case of rows that are made as they are read, and the peak of memory."""
    random: Any = da.random  # which has no types
    rng, p = random.default_rng(at["seed"]), at["n_columns"]
    weights = np.random.default_rng(at["seed"]).standard_normal(p)
    before = memory("VmHWM")

    def made(n: int) -> tuple[Any, Any]:
        X = rng.standard_normal((n, p), chunks=(at["chunk"], p))
        return X, X @ weights + rng.standard_normal(n, chunks=at["chunk"])

    training, validation = made(at["n_rows"]), made(at["n_val"])
    started = time.perf_counter()
    worst, seconds = timed(_worst, Ridge(), training, validation)
    clock = time.perf_counter() - started
    peaks = {"before_megabytes": before, "peak_megabytes": memory("VmHWM")}
    return [{"seconds": seconds, "clock": clock, **peaks, **bounds(worst)}]


def _worst(estimator: Ridge, training: tuple[Any, Any], validation: tuple[Any, Any]) -> Extreme:
    return near_optimal_set(estimator, *training, epsilon=EPSILON).worst(*validation)


def bounds(worst: Extreme) -> dict[str, Any]:
    """Return what is stored of a worst case."""
    return {"value": worst.value, "upper_bound": worst.upper_bound, "proved": worst.proved}


def too_large(at: Mapping[str, Any]) -> str | None:
    """Say why a configuration does not fit into memory, if it does not: the rows, three times."""
    needed = 3 * 8 * at["n_rows"] * at["n_columns"] / 2**30
    present = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    if needed <= 0.8 * present:
        return None
    return f"needs {needed:.1f} GB of memory, and this machine has {present:.1f}"
