"""All models that train within ε of the best, from the definition, by SciPy and CVXPY.

A model is ``u = (w, b)`` with score ``x·w + b``; labels are −1 and +1. Rows that a model is judged
by come as ``Z``, with a last column for ``b``: margins, if they are multiplied by the labels.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import cvxpy
import numpy as np
from scipy.optimize import LinearConstraint, milp, minimize
from sklearn.linear_model import LogisticRegression

cp: Any = cvxpy

ON_A_SIDE = 1e-6
"""How far from 0 a score must be for its sign to count."""


def with_ones(rows: np.ndarray) -> np.ndarray:
    return np.column_stack([rows, np.ones(len(rows))])


@dataclass(frozen=True)
class EquallyGood(ABC):
    """Training rows, rows to judge by, and how much worse than the best a model may train."""

    X: np.ndarray
    y: np.ndarray
    V: np.ndarray
    labels: np.ndarray
    epsilon: float

    @property
    def limit(self) -> float:
        """What training minimises is at most this."""
        return (1.0 + self.epsilon) * self.least

    @property
    def margins(self) -> np.ndarray:
        return np.asarray(self.labels[:, None] * with_ones(self.V))

    @property
    @abstractmethod
    def least(self) -> float:
        """The least of what training minimises."""

    @abstractmethod
    def trained(self, u: np.ndarray) -> float:
        """Return what training minimises; infinite where a model is not allowed."""

    @abstractmethod
    def loss(self, u: np.ndarray) -> float:
        """Return the mean loss on the rows to judge by."""

    @abstractmethod
    def ends(self, Z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the least and the largest of each product of ``Z @ u``."""

    @abstractmethod
    def extreme_loss(self, side: float) -> float:
        """Return the largest mean loss (side 1) or the least (side −1)."""

    @abstractmethod
    def most_below(self, Z: np.ndarray, at: float = -ON_A_SIDE) -> tuple[int, int]:
        """Return how many products of ``Z @ u`` are below a number at once: at least, at most."""

    def at(self, epsilon: float) -> EquallyGood:
        return replace(self, epsilon=epsilon)


@dataclass(frozen=True)
class LogisticModels(EquallyGood):
    """Logistic regression with a squared penalty: convex programs, and search for the rest."""

    C: float = 1.0

    @cached_property
    def fitted(self) -> np.ndarray:
        model = LogisticRegression(C=self.C, tol=1e-10, max_iter=10_000).fit(self.X, self.y)
        return np.append(model.coef_, model.intercept_)

    @property
    def least(self) -> float:
        return self.trained(self.fitted)

    def trained(self, u: np.ndarray) -> float:
        margins = self.y * (self.X @ u[:-1] + u[-1])
        n = len(margins)
        return float(np.logaddexp(0.0, -margins).mean() + u[:-1] @ u[:-1] / (2 * n * self.C))

    def loss(self, u: np.ndarray) -> float:
        return float(np.logaddexp(0.0, -self.margins @ u).mean())

    def ends(self, Z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        u, direction = cp.Variable(Z.shape[1]), cp.Parameter(Z.shape[1])
        training = self.y[:, None] * with_ones(self.X)
        n = len(training)
        objective = cp.sum(cp.logistic(-training @ u)) / n
        objective += cp.sum_squares(u[:-1]) / (2 * n * self.C)
        program = cp.Problem(cp.Minimize(direction @ u), [objective <= self.limit])
        found = np.empty((2, len(Z)))
        for k, row in enumerate(Z):
            for place, side in enumerate((1.0, -1.0)):
                direction.value = side * row
                found[place, k] = side * program.solve(solver=cp.CLARABEL)
        return found[0], found[1]

    def extreme_loss(self, side: float) -> float:
        """Search from many starts; what is found may be short of it."""
        rng, best = np.random.default_rng(0), side * self.loss(self.fitted)
        within = {"type": "ineq", "fun": lambda u: self.limit - self.trained(u)}
        for start in rng.normal(0.0, 0.3, (6, len(self.fitted))) + self.fitted:
            found = minimize(lambda u: -side * self.loss(u), start, constraints=[within], tol=1e-10)
            if self.trained(found.x) <= self.limit * (1.0 + 1e-7):
                best = max(best, -found.fun)
        return side * best

    def most_below(self, Z: np.ndarray, at: float = -ON_A_SIDE) -> tuple[int, int]:
        """Search among members, and take each row alone for an upper bound."""
        counts = [int(np.sum(Z @ u < at)) for u in self.members]
        # None below −1e-5 by a convex program, whose own error is far smaller.
        return max(counts), int(np.sum(self.ends(Z)[0] < at + 1e-5))

    @cached_property
    def members(self) -> list[np.ndarray]:
        """The best model, and some on the boundary, in random directions from it."""
        found = [self.fitted]
        for direction in np.random.default_rng(0).normal(size=(2000, len(self.fitted))):
            low, high = 0.0, 10.0
            for _ in range(30):
                middle = (low + high) / 2.0
                within = self.trained(self.fitted + middle * direction) <= self.limit
                low, high = (middle, high) if within else (low, middle)
            found.append(self.fitted + low * direction)
        return found


@dataclass(frozen=True)
class BoxModels(EquallyGood):
    """Hinge loss, weights within limits: linear programs, with binaries for what is not convex."""

    box: np.ndarray

    @cached_property
    def least(self) -> float:
        return self._solve(np.zeros(len(self.box) + 1), slack_cost=1.0 / len(self.y))[1]

    def trained(self, u: np.ndarray) -> float:
        if np.any(np.abs(u[:-1]) > self.box + 1e-9):
            return np.inf
        return float(np.maximum(0.0, 1.0 - self.y * (self.X @ u[:-1] + u[-1])).mean())

    def loss(self, u: np.ndarray) -> float:
        return float(np.maximum(0.0, 1.0 - self.margins @ u).mean())

    def ends(self, Z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        least, most = ([side * self._within(side * row) for row in Z] for side in (1.0, -1.0))
        return np.array(least), np.array(most)

    def extreme_loss(self, side: float) -> float:
        Z = self.margins
        n, p = Z.shape
        if side < 0.0:  # ξ ≥ 1 − margin
            cost = np.concatenate([np.zeros(p), np.full(n, 1.0 / n)])
            return self._within(cost, np.column_stack([Z, np.eye(n)]), np.ones(n))
        low, high = self.ends(Z)
        most, slack = np.maximum(0.0, 1.0 - low) + 1.0, np.maximum(0.0, high - 1.0) + 1.0
        # A binary of each row: its loss is at most `most` times it, and 1 − margin where it is 1.
        rows = np.block([[np.zeros((n, p)), -np.eye(n), np.diag(most)]])
        more = np.block([[-Z, -np.eye(n), -np.diag(slack)]])
        cost = np.concatenate([np.zeros(p), np.full(n, -1.0 / n), np.zeros(n)])
        lowest = np.concatenate([np.zeros(n), -1.0 - slack])
        return -self._within(cost, np.vstack([rows, more]), lowest, n_binary=n)

    def most_below(self, Z: np.ndarray, at: float = -ON_A_SIDE) -> tuple[int, int]:
        n, p = Z.shape
        far = np.maximum(0.0, self.ends(Z)[1] - at) + 1.0
        cost = np.concatenate([np.zeros(p), -np.ones(n)])
        rows = np.column_stack([-Z, -np.diag(far)])
        found = -round(self._within(cost, rows, -at - far, n_binary=n))
        return found, found

    def _within(
        self, cost: np.ndarray, rows: Any = None, lowest: Any = None, n_binary: int = 0
    ) -> float:
        """Minimise a cost of (u, more) over the members, ``rows @ (u, more)`` being at least."""
        return self._solve(cost, rows, lowest, n_binary, self.limit + 1e-9)[1]

    def flipped_loss(self, u: np.ndarray) -> float:
        """Return the mean hinge loss on the rows to judge by, each label flipped."""
        return float(np.maximum(0.0, 1.0 + self.margins @ u).mean())

    def flipped_fit(self, limit: float) -> np.ndarray:
        """Return the model that fits flipped labels best, of those that train within a limit."""
        Z = self.margins
        n, p = Z.shape
        cost = np.concatenate([np.zeros(p), np.full(n, 1.0 / n)])
        rows = np.column_stack([-Z, np.eye(n)])
        return self._solve(cost, rows, np.ones(n), limit=limit + 1e-9)[0]

    def _solve(
        self,
        cost: np.ndarray,
        rows: Any = None,
        lowest: Any = None,
        n_binary: int = 0,
        limit: float = np.inf,
        slack_cost: float = 0.0,
    ) -> tuple[np.ndarray, float]:
        n, p = len(self.y), len(self.box) + 1
        more = len(cost) - p
        A = [np.column_stack([self.y[:, None] * with_ones(self.X), np.eye(n), np.zeros((n, more))])]
        A.append(np.concatenate([np.zeros(p), np.full(n, -1.0 / n), np.zeros(more)])[None])
        low = [np.ones(n), np.array([-limit])]
        if rows is not None:
            A.append(np.column_stack([rows[:, :p], np.zeros((len(rows), n)), rows[:, p:]]))
            low.append(lowest)
        least, most = np.zeros(p + n + more), np.full(p + n + more, np.inf)
        least[: p - 1], most[: p - 1], least[p - 1] = -self.box, self.box, -np.inf
        most[len(most) - n_binary :] = 1.0
        found = milp(
            np.concatenate([cost[:p], np.full(n, slack_cost), cost[p:]]),
            constraints=LinearConstraint(np.vstack(A), np.concatenate(low)),
            bounds=(least, most),
            integrality=np.arange(p + n + more) >= p + n + more - n_binary,
            options={"mip_rel_gap": 0.0},
        )
        assert found.success, found.message
        return found.x[:p], float(found.fun)
