"""The linear relaxation of a program with squares, which are bounded below by their tangents.

Tangents are added where a relaxation needs them and stay: they hold at every point.
"""

from __future__ import annotations

import math

import numpy as np

from pessimal.bilevel.complementarity import ComplementarityProgram, gap_of
from pessimal.bilevel.node_program import End, NodeProgram
from pessimal.limits import Deadline
from pessimal.problem import Vector

_ROUNDS = 60


class TangentProgram(NodeProgram):
    """The linear program of a node, with ``epigraph ≥ ½·weight·square²`` as tangents.

    `tangents` are those there are, each a row of coefficients and its lower limit.
    """

    def __init__(self, problem: ComplementarityProgram) -> None:
        super().__init__(problem.program)
        self._problem = problem
        self.tangents: list[tuple[Vector, float]] = []

    def relax(self, deadline: Deadline, target: float = math.inf) -> End:
        """Minimise, with tangents as far as they raise the value, and no further than a target."""
        problem, before = self._problem, -math.inf
        for _ in range(_ROUNDS):
            end = self.end(deadline)
            if end is End.UNBOUNDED and self._touch_along(self.ray()):
                continue
            if end is not End.OPTIMAL or len(problem.weight) == 0:
                return end
            z = self.point()
            value = float(problem.program.cost @ z)
            enough = 0.05 * gap_of(problem.value(z))
            if value >= target or value < before or not self.touch(z, enough):
                return end
            before = value
        return end

    def touch(self, z: Vector, enough: float) -> bool:
        """Add tangents at a point unless they miss no more than `enough`; return whether any."""
        problem = self._problem
        at = z[problem.squared]
        short = 0.5 * problem.weight * at**2 - z[problem.epigraph]
        if short.sum() <= enough:
            return False
        for k in np.flatnonzero(short > enough / len(short)).tolist():
            self._add(k, at[k])
        return True

    def _touch_along(self, ray: Vector) -> bool:
        """Add tangents steep enough to stop a ray; return whether any square grows along it."""
        problem = self._problem
        along = ray[problem.squared]
        curvature = float(problem.weight @ along**2)
        if len(along) == 0 or curvature <= 1e-12 * float(np.abs(ray).max()) ** 2:
            return False
        fall = -float(problem.program.cost @ ray) + 2.0 * float(ray[problem.epigraph].sum())
        far = 2.0 * max(1.0, fall / curvature)
        for k in np.flatnonzero(problem.weight * along**2 > 1e-6 * curvature).tolist():
            self._add(k, far * float(along[k]))
        return True

    def _add(self, k: int, at: float) -> None:
        """Add ``epigraph ≥ weight·at·square − ½·weight·at²``."""
        problem, row = self._problem, np.zeros(len(self._problem.program.cost))
        slope = float(problem.weight[k]) * at
        row[problem.epigraph[k]], row[problem.squared[k]] = 1.0, -slope
        lower = -0.5 * slope * at
        self.tangents.append((row, lower))
        self.add_row(row, lower)
