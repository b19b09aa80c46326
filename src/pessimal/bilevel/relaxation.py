"""A pessimistic problem as an optimistic one, by the paper's Proposition 2.

A response y to x is near-optimal when it is feasible and ``f(x, y) ≤ f*(x) + ε·|f*(x)| + δ``. The
leader minimises the largest outer objective over all of them, and outer constraints that hold y
have to hold for all of them.

The leader also picks a copy ŷ, feasible but not necessarily optimal, and a budget
``τ ≥ f(x, ŷ) + ε·|f(x, ŷ)| + δ``. A new follower maximises the outer objective over the feasible y
with ``f(x, y) ≤ τ``. A larger budget admits more responses and does the leader no good, so the best
copy is an optimal response. That is true as long as the budget grows with f: for ε ≤ 1, or where f
cannot be negative.

Each outer constraint with y has a new follower of its own, who maximises its left-hand side: it
holds for all near-optimal responses if and only if it holds for the worst. Rows and objective being
linear, the new followers are too, and everything is exact.

Products ``x·y`` in the outer objective are prices of the new follower. Strong duality makes them
linear if no outer variable, and so no budget, stands in its constraints: for a follower whose
problem does not depend on the decision, whose near-optimal responses are then computed once.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.sparse import csr_array, vstack

from pessimal.bilevel.near_optimal import Tolerance, near_optimal_responses
from pessimal.bilevel.node_program import End, NodeProgram
from pessimal.bilevel.optimality import Assembly
from pessimal.bilevel.program import BilevelProgram, FollowerProgram, Rows
from pessimal.bilevel.response import respond
from pessimal.limits import NEVER
from pessimal.problem import Vector
from pessimal.tolerances import LP_FEASIBILITY


@dataclass(frozen=True, eq=False)
class LinearFunction:
    """``outer·x + inner·y + constant``."""

    outer: Vector
    inner: Vector
    constant: float = 0.0


@dataclass(frozen=True, eq=False)
class Relaxation:
    """The optimistic problem that stands for a pessimistic one.

    Its outer variables are x, the copies ŷ, the budgets τ and, with pieces, their largest value θ.
    """

    original: BilevelProgram
    tolerance: Tolerance
    program: BilevelProgram

    def complete(self, outer: Vector) -> Vector | None:
        """Return the outer variables with the best copies and budgets for their decision."""
        original = self.original
        x, outer = outer[: original.n_outer], outer.copy()
        for k, follower in enumerate(original.followers):
            response = respond(follower, x)
            if response is None:
                return None
            columns = original.n_outer + np.arange(original.n_inner)[follower.columns]
            outer[columns] = response.y
            budget = response.value + self.tolerance.above(response.value)
            outer[original.n_outer + original.n_inner + k] = budget
        return outer


def relaxation(
    original: BilevelProgram,
    tolerance: Tolerance,
    pieces: Sequence[LinearFunction] | None = None,
    least: float = -math.inf,
) -> Relaxation:
    """Write Proposition 2.

    With pieces, the largest of them replaces the inner part of the objective, which is then at
    least `least`.
    """
    build = _Builder(original, tolerance, with_theta=pieces is not None)
    rows = original.rows
    for g, h, low, high in rows_of(rows):
        if not h.any():
            build.add(g, low=low, high=high)
            continue
        if np.isfinite(high):
            build.add(g, fears=build.fear(h), high=high)
        if np.isfinite(low):
            build.add(-g, fears=build.fear(-h), high=-low)
    for k, follower in enumerate(original.followers):
        for g, h, low, high in rows_of(follower.rows):
            build.add(g, copy=(follower.columns, h), low=low, high=high)
        # τ ≥ f(ŷ) + ε·|f(ŷ)| + δ is two rows, or one equation where f has no absolute value.
        shares = [1.0 + tolerance.epsilon]
        if tolerance.epsilon > 0.0:
            low, high = range_of(original, follower)
            if low < 0.0:
                shares.append(1.0 - tolerance.epsilon)
                # More than any copy needs: without an end, no M of the budget could be proved.
                largest = max(value + tolerance.above(value) for value in (low, high))
                build.add(np.zeros(original.n_outer), extra=k, high=largest)
        for share in shares:
            offset = share * follower.constant + tolerance.delta
            build.add(
                -share * follower.outer_cost,
                copy=(follower.columns, -share * follower.cost),
                extra=k,
                low=offset,
                high=offset if len(shares) == 1 else math.inf,
            )
    if pieces is None:
        return build.finish(build.fear(original.inner_cost, original.price))
    for piece in pieces:
        fears = [(columns, -h) for columns, h in build.fear(piece.inner)]
        build.add(-piece.outer, fears=fears, extra=-1, low=piece.constant)
    build.add(original.outer_cost, extra=-1, low=least)
    return build.finish([])


def rows_of(rows: Rows) -> Iterator[tuple[Vector, Vector, float, float]]:
    """Yield each row: coefficients of x and of y, and limits."""
    return zip(rows.outer.toarray(), rows.inner.toarray(), rows.lower, rows.upper, strict=True)


Fears = list[tuple[slice, Vector]]
"""Where adversaries respond, and what they maximise there."""


class _Builder:
    """The relaxation in the making: outer variables (x, ŷ, τ, θ), rows, and adversaries."""

    def __init__(self, original: BilevelProgram, tolerance: Tolerance, with_theta: bool) -> None:
        self.original, self.tolerance, self.n_theta = original, tolerance, int(with_theta)
        self.n_extra = len(original.followers) + self.n_theta
        self.n_outer = original.n_outer + original.n_inner + self.n_extra
        self.adversaries: list[FollowerProgram] = []
        self.prices: list[csr_array] = []
        self.rows: list[tuple[Vector, Fears, float, float]] = []

    def fear(self, direction: Vector, price: csr_array | None = None) -> Fears:
        """Add followers that maximise ``(direction + price·x)·y``."""
        fears = []
        for k, follower in enumerate(self.original.followers):
            own, prices = direction[follower.columns], csr_array((len(follower), self.n_outer))
            if price is not None:
                prices = csr_array(price[follower.columns])
                prices.resize(len(follower), self.n_outer)
            if own.any() or abs(prices).sum() > 0.0:
                start = self._n_inner
                columns = slice(start, start + len(follower))
                tau = self.n_outer - self.n_extra + k
                adversary = self._fixed(follower) or _adversary(follower, self.n_outer, tau)
                self.adversaries.append(
                    replace(adversary, cost=-own, price=-prices, columns=columns)
                )
                self.prices.append(prices)
                fears.append((columns, own))
        return fears

    def _fixed(self, follower: FollowerProgram) -> FollowerProgram | None:
        """Return the adversary of a follower whose near-optimal responses no decision changes."""
        tolerated = self.tolerance.epsilon > 0.0 and follower.outer_cost.any()
        if tolerated or abs(follower.rows.outer).sum() > 0.0:
            return None
        responses = near_optimal_responses(
            follower, np.zeros(self.original.n_outer), self.tolerance
        )
        if responses is None:
            return None
        n, matrix = len(follower), responses.matrix.csr
        return FollowerProgram(
            cost=np.zeros(n),
            price=csr_array((n, self.n_outer)),
            curvature=csr_array((n, n)),
            rows=Rows(
                csr_array((matrix.shape[0], self.n_outer)),
                matrix,
                responses.row_lower,
                responses.row_upper,
            ),
            lower=responses.lower,
            upper=responses.upper,
            columns=slice(0, n),
        )

    def add(
        self,
        of_x: Vector,
        copy: tuple[slice, Vector] | None = None,
        extra: int | None = None,
        fears: Sequence[tuple[slice, Vector]] = (),
        low: float = -math.inf,
        high: float = math.inf,
    ) -> None:
        """Add a row in x, copies ŷ, one of (τ, θ), and what adversaries do."""
        row = np.zeros(self.n_outer)
        row[: len(of_x)] = of_x
        if copy is not None:
            columns, h = copy
            row[len(of_x) : self.n_outer - self.n_extra][columns] = h
        if extra is not None:
            row[self.n_outer - self.n_extra :][extra] = 1.0
        self.rows.append((row, list(fears), low, high))

    def finish(self, objective: Fears) -> Relaxation:
        """Return the relaxation, whose objective holds what some adversaries do."""
        original, n_extra, n_inner = self.original, self.n_extra, self._n_inner
        outer, fears, lower, upper = zip(*self.rows, strict=True)
        inner = np.zeros((len(fears) + 1, n_inner))
        for row, parts in zip(inner, [*fears, objective], strict=True):
            for columns, h in parts:
                row[columns] = h
        free = np.full(n_extra, np.inf)
        square = original.outer_curvature.tocoo()
        n = self.n_outer
        program = BilevelProgram(
            outer_cost=np.concatenate(
                [
                    original.outer_cost,
                    np.zeros(n - original.n_outer - self.n_theta),
                    np.ones(self.n_theta),
                ]
            ),
            inner_cost=inner[-1],
            outer_curvature=csr_array((square.data, (square.row, square.col)), shape=(n, n)),
            inner_curvature=csr_array((n_inner, n_inner)),
            price=csr_array(vstack([csr_array((0, n)), *self.prices])),
            constant=original.constant,
            rows=Rows(
                csr_array(np.array(outer)),
                csr_array(inner[:-1]),
                np.array(lower),
                np.array(upper),
            ),
            lower=np.concatenate([original.lower, *(f.lower for f in original.followers), -free]),
            upper=np.concatenate([original.upper, *(f.upper for f in original.followers), free]),
            integer=np.append(original.integer, np.zeros(n - original.n_outer, dtype=np.bool_)),
            followers=tuple(self.adversaries),
        )
        return Relaxation(original, self.tolerance, program)

    @property
    def _n_inner(self) -> int:
        return sum(len(adversary) for adversary in self.adversaries)


def _adversary(follower: FollowerProgram, n_outer: int, tau: int) -> FollowerProgram:
    """Return the follower who responds within the budget τ, as yet without an objective."""
    n = follower.price.shape[1]
    outer = np.zeros((len(follower.rows) + 1, n_outer))
    outer[:-1, :n] = follower.rows.outer.toarray()
    outer[-1, :n], outer[-1, tau] = follower.outer_cost, -1.0
    return FollowerProgram(
        cost=np.zeros(len(follower)),
        price=csr_array((len(follower), n_outer)),
        curvature=csr_array((len(follower), len(follower))),
        rows=Rows(
            csr_array(outer),
            csr_array(vstack([follower.rows.inner, csr_array(follower.cost[None, :])])),
            np.append(follower.rows.lower, -np.inf),
            np.append(follower.rows.upper, -follower.constant),
        ),
        lower=follower.lower,
        upper=follower.upper,
        columns=follower.columns,
    )


def range_of(program: BilevelProgram, follower: FollowerProgram) -> tuple[float, float]:
    """Return proved limits on a linear inner objective; what is 0 up to rounding is 0."""
    assembly = Assembly()
    x = assembly.add_columns(program.lower, program.upper)
    y = assembly.add_columns(follower.lower, follower.upper)
    rows = follower.rows
    assembly.add_rows([(x, rows.outer), (y, rows.inner)], rows.lower, rows.upper)
    cost = np.concatenate([follower.outer_cost, follower.cost])
    lp = NodeProgram(assembly.build(cost).program)
    low = lp.bound() if lp.end(NEVER) is End.OPTIMAL else -math.inf
    lp.set_cost(-cost)
    high = -lp.bound() if lp.end(NEVER) is End.OPTIMAL else math.inf
    low, high = low + follower.constant, high + follower.constant
    return (0.0 if -LP_FEASIBILITY <= low < 0.0 else low), high
