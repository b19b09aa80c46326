"""Bilevel programs with one continuous outer variable, solved by enumerating bases.

Between two values of x at which some basis of the inner problem becomes feasible, infeasible,
optimal or not optimal, everything is linear in x. So it is enough to look at those breakpoints,
and, where the outer objective may jump in them, at the limits from both sides. Plain linear
programs, by scipy, give the best and the worst response there.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np
from scipy.optimize import linprog
from scipy.sparse import csr_array

from pessimal.bilevel import BilevelProgram, FollowerProgram, Rows
from pessimal.problem import Matrix, Vector


@dataclass(frozen=True, eq=False)
class Instance:
    """``min cx·x + d·y``, ``g·x + H·y ≤ h``, y minimises ``(c + p·x)·y``, ``A·y ≤ r − b·x``."""

    cx: float
    d: Vector
    G: Vector
    H: Matrix
    h: Vector
    c: Vector
    p: Vector
    A: Matrix
    b: Vector
    r: Vector
    low: float
    high: float

    def breakpoints(self, epsilon: float, delta: float) -> Vector:
        """Values of x at which a basis changes what it is."""
        m = len(self.c)
        # Rows a·y ≤ r − b·x; the outer ones and the budget, for each linear piece of f*, too.
        A, b, r = np.vstack([self.A, self.H]), np.append(self.b, self.G), np.append(self.r, self.h)
        found = [self.low, self.high]
        budgets: list[tuple[float, float]] = []
        for rows in itertools.combinations(range(len(self.A)), m):
            basis = self.A[list(rows)]
            if abs(np.linalg.det(basis)) < 1e-9:
                continue
            y0 = np.linalg.solve(basis, self.r[list(rows)])
            y1 = np.linalg.solve(basis, -self.b[list(rows)])
            if not self.p.any():
                budgets += [
                    (share * float(self.c @ y0) + delta, share * float(self.c @ y1))
                    for share in (1.0 + epsilon, 1.0 - epsilon)
                ]
                if abs(self.c @ y1) > 1e-12:
                    found.append(-float(self.c @ y0) / float(self.c @ y1))
            dual0, dual1 = np.linalg.solve(basis.T, self.c), np.linalg.solve(basis.T, self.p)
            moving = np.abs(dual1) > 1e-12
            found += (-dual0[moving] / dual1[moving]).tolist()
        everything = [(A, b, r)]
        if not self.p.any():
            everything += [
                (np.vstack([A, self.c]), np.append(b, -slope), np.append(r, at))
                for at, slope in budgets
            ]
        for rows_A, rows_b, rows_r in everything:
            for rows in itertools.combinations(range(len(rows_A)), m):
                basis = rows_A[list(rows)]
                if abs(np.linalg.det(basis)) < 1e-9:
                    continue
                y0 = np.linalg.solve(basis, rows_r[list(rows)])
                y1 = np.linalg.solve(basis, -rows_b[list(rows)])
                rate = rows_A @ y1 + rows_b
                moving = np.abs(rate) > 1e-10
                found += ((rows_r - rows_A @ y0)[moving] / rate[moving]).tolist()
        inside = np.array(sorted({round(x, 11) for x in found}))
        return inside[(inside >= self.low) & (inside <= self.high)]

    def least_optimistic(self) -> float:
        """Optimum of the optimistic view, which is attained at a breakpoint."""
        return min(self.optimistic(x) for x in self.breakpoints(0.0, 0.0))

    def least_pessimistic(self, epsilon: float, delta: float) -> float:
        """Optimum of the pessimistic view without prices, which is continuous in x."""
        points = self.breakpoints(epsilon, delta)
        return min(self.pessimistic(x, epsilon, delta) for x in points)

    def infimum(self) -> tuple[float, bool]:
        """Infimum of the pessimistic view with prices, and whether it is attained."""
        points = self.breakpoints(0.0, 0.0)
        attained = [self.pessimistic(x, 0.0, 0.0) for x in points]
        limits = []
        for a, b in itertools.pairwise(points):
            if b - a > 1e-6:
                first, second = (
                    self.pessimistic(a + part * (b - a), 0.0, 0.0) for part in (1 / 3, 2 / 3)
                )
                attained += [first, second]
                if np.isfinite(first) and np.isfinite(second):
                    limits += [2.0 * first - second, 2.0 * second - first]
        infimum = min([*attained, *limits])
        return infimum, min(attained) <= infimum + 1e-6

    def program(self) -> BilevelProgram:
        """Return the instance as the package takes it; the last rows are limits of y."""
        m, n = len(self.c), len(self.A) - 2 * len(self.c)
        free = np.full(n, -np.inf)
        follower = FollowerProgram(
            cost=self.c,
            price=csr_array(self.p[:, None]),
            curvature=csr_array((m, m)),
            rows=Rows(csr_array(self.b[:n, None]), csr_array(self.A[:n]), free, self.r[:n]),
            lower=-self.r[n + m :],
            upper=self.r[n : n + m],
            columns=slice(0, m),
        )
        return BilevelProgram(
            outer_cost=np.array([self.cx]),
            inner_cost=self.d,
            outer_curvature=csr_array((1, 1)),
            inner_curvature=csr_array((m, m)),
            price=csr_array((m, 1)),
            constant=0.0,
            rows=Rows(
                csr_array(self.G[:, None]),
                csr_array(self.H.reshape(-1, m)),
                np.full(len(self.h), -np.inf),
                self.h,
            ),
            lower=np.array([self.low]),
            upper=np.array([self.high]),
            integer=np.zeros(1, dtype=np.bool_),
            followers=(follower,),
        )

    def least(self, x: float) -> tuple[float, Vector] | None:
        """Optimum of the follower after a decision."""
        return _solve(self.c + self.p * x, self.A, self.r - self.b * x)

    def optimistic(self, x: float) -> float:
        """Best outer objective after a decision; infinite if no response meets the constraints."""
        least = self.least(x)
        if least is None:
            return np.inf
        A = np.vstack([self.A, self.H, self.c + self.p * x])
        r = np.concatenate([self.r - self.b * x, self.h - self.G * x, [least[0] + 1e-9]])
        best = _solve(self.d, A, r)
        return np.inf if best is None else self.cx * x + best[0]

    def pessimistic(self, x: float, epsilon: float, delta: float) -> float:
        """Worst outer objective after a decision; infinite if a constraint may fail."""
        least = self.least(x)
        if least is None:
            return np.inf
        budget = least[0] + epsilon * abs(least[0]) + delta + 1e-9
        A, r = np.vstack([self.A, self.c + self.p * x]), np.append(self.r - self.b * x, budget)
        for G, row, h in zip(self.G, self.H, self.h, strict=True):
            worst = _solve(-row, A, r)
            if worst is None or G * x - worst[0] > h + 1e-6:
                return np.inf
        worst = _solve(-self.d, A, r)
        return np.inf if worst is None else self.cx * x - worst[0]


def _solve(cost: Vector, A: Matrix, r: Vector) -> tuple[float, Vector] | None:
    found = linprog(cost, A_ub=A, b_ub=r, bounds=(None, None), method="highs-ds")
    return (found.fun, found.x) if found.status == 0 else None


def random_instance(
    rng: np.random.Generator, largest: int = 2, coupled: bool = False, priced: bool = False
) -> Instance:
    """Draw small whole numbers, so that ties and degenerate responses are common."""
    m = int(rng.integers(1, largest + 1))
    n_rows = int(rng.integers(1, 4))
    A = np.vstack([rng.integers(-3, 4, (n_rows, m)), np.eye(m), -np.eye(m)]).astype(float)
    r = np.concatenate([rng.integers(0, 8, n_rows), np.full(m, 4), np.full(m, 2)]).astype(float)
    b = np.concatenate([rng.integers(-3, 4, n_rows), np.zeros(2 * m)]).astype(float)
    n_outer = int(rng.integers(0, 3)) if coupled else 0
    return Instance(
        cx=float(rng.integers(-3, 4)),
        d=rng.integers(-4, 5, m).astype(float),
        G=rng.integers(-2, 3, n_outer).astype(float),
        H=rng.integers(-2, 3, (n_outer, m)).astype(float),
        h=rng.integers(0, 6, n_outer).astype(float),
        c=rng.integers(-2, 3, m).astype(float),
        p=(rng.integers(-1, 2, m) if priced else np.zeros(m)).astype(float),
        A=A,
        b=b,
        r=r,
        low=-1.0,
        high=3.0,
    )
