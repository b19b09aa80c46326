"""How the members of a smooth near-optimal set score rows."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from pessimal.limits import Deadline
from pessimal.losses import Squared
from pessimal.near_optimal.smooth.enclosure import Enclosure
from pessimal.near_optimal.smooth.members import Members
from pessimal.near_optimal.smooth.objective import solve
from pessimal.problem import Mask, Matrix, Vector

ATTAINED, SAME = 1e-6, 1e-8
"""Shares of a range, and of the score, to which a member must attain its ends to be exact."""


def scored(
    Z: Matrix, enclosure: Enclosure, members: Members, deadline: Deadline
) -> tuple[Vector, Vector, Mask, Sequence[Vector]]:
    """Return bounds on the scores of rows, whether they are attained, and members met."""
    training, supports = enclosure.training, enclosure.supports
    scores = Z @ training.u
    low, high = enclosure.ellipsoids.reach(Z)
    if isinstance(training.problem.loss, Squared):
        directions = solve(training.smooth.curvature, Z.T).T
        ends = [
            [training.u if deadline.over else members.boundary(side * d) for d in directions]
            for side in (-1.0, 1.0)
        ]
        least, most = (np.einsum("ij,ij->i", Z, np.array(end) - training.u) for end in ends)
        met = [u for u in (*ends[0], *ends[1]) if u is not training.u]
    elif supports is None:
        return scores + low, scores + high, np.zeros(len(Z), np.bool_), [training.u]
    else:
        up, down = (
            supports.slowly(side * Z, supports.furthest(side * Z, deadline), deadline)
            for side in (1.0, -1.0)
        )
        low, high = np.maximum(low, -down.bound), np.minimum(high, up.bound)
        least, most = -down.found, up.found
        met = [training.u + d for d in np.vstack([up.models, down.models])]
    near = ATTAINED * (high - low) + SAME * np.abs(scores)
    attained = np.maximum(least - low, high - most) <= near
    return scores + low, scores + high, attained, met
