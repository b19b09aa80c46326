"""Columns in similar units, whatever those of the data.

The simplex method of `lp` has absolute tolerances, made for features of order one. A column divided
by a factor, the limits on its weight multiplied by it, is the same problem with the same losses; a
power of two as factor rounds nothing. Columns of usual size are left as they are, so that a problem
of standardised features is solved as it stands.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

from pessimal.problem import TuningProblem, Vector


class Equilibrated(NamedTuple):
    """A problem with columns of similar size, and what they were divided by.

    A weight or limit in its units is one in the user's, times its column's factor.
    """

    problem: TuningProblem
    factor: Vector


def equilibrate(problem: TuningProblem) -> Equilibrated:
    """Divide the columns of unusual size by powers of two, which brings them below 1.

    Examples
    --------
    >>> problem = TuningProblem([[-1000.0, 1.0], [3000.0, 2.0]], [-1, 1], [[0.0, 3.0]], [1])
    >>> scaled = equilibrate(problem)
    >>> scaled.factor.tolist(), scaled.problem.upper.tolist()
    ([4096.0, 1.0], [4096.0, 1.0])
    """
    factor = problem.column_units
    if (factor == 1.0).all():
        return Equilibrated(problem, factor)
    scaled = replace(
        problem,
        X_train=problem.X_train / factor,
        X_val=problem.X_val / factor,
        lower=problem.lower * factor,
        upper=problem.upper * factor,
    )
    return Equilibrated(scaled, factor)
