"""Several hyperparameters: descent on the exact worst case, from several starts.

The worst case is the largest of the losses ``φ_S(h)`` over sets S of active hinges (see `line`),
each a smooth function almost everywhere whose gradient its linear program gives away. So a step
minimises the largest of their linear models, over the sets met so far, within a radius. A step that
fails because a set was missing has now met it. Before a candidate is evaluated, one linear program
a set says whether it is worse already, which is how most of them end.

Where descent ends, moves of one hyperparameter to a limit, to half, to double may go on.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from pessimal.lp.highs import LinearProgram, WarmProgram
from pessimal.lp.sparse_rows import SparseRows
from pessimal.problem import Vector
from pessimal.solvers.minimax.active_sets import ActiveSets
from pessimal.solvers.minimax.oracle import Point, WorstCaseOracle
from pessimal.tolerances import CUTOFF

MOST_SETS = 30
"""Sets of active hinges remembered, the latest."""

FIRST_RADIUS, LAST_RADIUS = 0.25, 1e-5
"""Of a step, as shares of the widths of the limits."""

MOST_MISSES = 4
"""Steps that only met new sets before the radius shrinks."""

MOST_STEPS = 100
"""Of one descent: along a narrow valley it could creep for thousands, to no avail."""


class Descent:
    """Local search; what it finds is the best point of the oracle."""

    def __init__(self, oracle: WorstCaseOracle) -> None:
        self.oracle = oracle
        self._width = oracle.groups.upper - oracle.groups.lower
        self.sets = ActiveSets(most=MOST_SETS)

    def improve(self, start: Vector) -> None:
        """Descend from h, then move on while moves help."""
        point = self.oracle.at(start)
        self.sets.add(point.active)
        point = self._descend(point)
        while True:
            for candidate in self._moves(point.h):
                found = self._try(candidate, point.bound)
                if found is not None:
                    point = self._descend(found)
                    break
            else:
                return

    def _try(self, h: Vector, enough: float) -> Point | None:
        """Evaluate h unless a known set proves it no better than `enough`; None if it is not.

        Better is what has a smaller bound: a worst case that might be smaller is no guarantee.
        """
        self.oracle.check()
        limit = self.oracle.limit(h)
        for active in self.sets:
            if self.oracle.active_set_loss(h, limit, active) >= enough - CUTOFF:
                return None
        point = self.oracle.at(h, enough - CUTOFF)
        self.sets.add(point.active)
        return point if point.bound < enough - CUTOFF else None

    def _descend(self, point: Point) -> Point:
        radius, misses = FIRST_RADIUS, 0
        for _ in range(MOST_STEPS):
            candidate, promised = self._step(point.h, radius)
            if promised > point.value - CUTOFF or radius < LAST_RADIUS:
                break
            n_sets = len(self.sets)
            found = self._try(candidate, point.bound)
            if found is not None:
                point, radius, misses = found, 2.0 * radius, 0
            elif len(self.sets) > n_sets and misses < MOST_MISSES:
                misses += 1
            else:
                radius, misses = 0.5 * radius, 0
        return point

    def _step(self, h: Vector, radius: float) -> tuple[Vector, float]:
        """Minimise the largest linear model within the radius; return where, and its value."""
        groups = self.oracle.groups
        models = [self.oracle.slope(h, active) for active in self.sets]
        models = [model for model in models if np.isfinite(model[0])]
        if not models:
            return h, np.inf
        values = np.array([value for value, _ in models])
        gradients = np.array([gradient for _, gradient in models])
        reach = radius * self._width
        low, high = np.maximum(groups.lower, h - reach), np.minimum(groups.upper, h + reach)
        program = LinearProgram(
            cost=np.append(np.zeros(len(h)), 1.0),
            matrix=SparseRows.of(np.column_stack([gradients, -np.ones(len(values))])),
            row_lower=np.full(len(values), -np.inf),
            row_upper=gradients @ h - values,
            lower=np.append(low, -np.inf),
            upper=np.append(high, np.inf),
        )
        step = WarmProgram(program).minimise()
        return np.clip(step[:-1], low, high), float(step[-1])

    def _moves(self, h: Vector) -> Iterator[Vector]:
        """Move one hyperparameter, then all at once."""
        groups = self.oracle.groups
        for j in range(len(h)):
            for value in (groups.lower[j], groups.upper[j], 0.5 * h[j], 2.0 * h[j]):
                moved = h.copy()
                moved[j] = min(max(value, groups.lower[j]), groups.upper[j])
                if moved[j] != h[j]:
                    yield moved
        for factor in (0.8, 1.25):
            yield np.clip(factor * h, groups.lower, groups.upper)
