"""All models that train as well, in a model file: what bounds them, and none of the rows.

Of a smooth training problem that is an ellipsoid around them and one inside, of a box ranges along
directions and some of the models. A matrix of an ellipsoid is written as its lower triangle.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np

from pessimal.errors import InvalidInputError, SolverError
from pessimal.near_optimal.pipeline import PipelineSet
from pessimal.near_optimal.polyhedral.enclosure import BoxEnclosure
from pessimal.near_optimal.smooth.ellipsoid_pair import EllipsoidPair
from pessimal.near_optimal.smooth.quadratic import Quadratic, certainly_positive
from pessimal.near_optimal.smooth.smooth_set import SmoothSet
from pessimal.problem import Matrix, Vector
from pessimal.workflows.checked import WrongContent, numbers

AnyEnclosure: TypeAlias = EllipsoidPair | BoxEnclosure

MOST_FEATURES = 300
"""With more there is no enclosure in a file: it would have 10⁵ numbers."""


ENCLOSURE_SECONDS, ENCLOSURE_SHARE = 0.5, 0.1
"""To make an enclosure: seconds, and at most this share of a time limit."""


def enclosing_seconds(time_limit: float) -> float:
    """Return how much of a time limit is kept for an enclosure."""
    return min(ENCLOSURE_SECONDS, ENCLOSURE_SHARE * time_limit)


def enclosure_of(members: Any) -> EllipsoidPair | None:
    """Return the enclosure of the set behind a StandardScaler, if it has one."""
    if not (isinstance(members, PipelineSet) and isinstance(members.inner, SmoothSet)):
        return None
    scaler = members.steps[0]
    if len(scaler.scale_) > MOST_FEATURES:
        return None
    try:
        enclosure = members.inner.enclosure()
    except (InvalidInputError, SolverError):  # a row of so much weight that no bound is of use
        return None
    return enclosure.after(scaler.mean_, scaler.scale_) if enclosure else None


def fields_of(enclosure: AnyEnclosure) -> dict[str, Any]:
    """Return what a file holds of an enclosure."""
    units = {"shift": enclosure.shift.tolist(), "scale": enclosure.scale.tolist()}
    if isinstance(enclosure, EllipsoidPair):
        ends = {"outer": enclosure.outer, "inner": enclosure.inner}
        return {
            **units,
            "trained": enclosure.trained.tolist(),
            **{name: _of_quadratic(quadratic) for name, quadratic in ends.items()},
        }
    names = ("directions", "low", "high", "members")
    return {**units, **{name: getattr(enclosure, name).tolist() for name in names}}


def read_enclosure(content: dict[str, Any], n_features: int) -> AnyEnclosure:
    """Read what a file holds of an enclosure, as the schema says, and refuse what is none."""

    def vector(name: str, length: int) -> Vector:
        return np.array(numbers(f"{name} of equally_good", content[name], length))

    def matrix(name: str, length: int) -> Matrix:
        return np.array([numbers(f"a row of {name}", row, length) for row in content[name]])

    shift, scale = (vector(name, n_features) for name in ("shift", "scale"))
    n = n_features + 1
    if "directions" not in content:
        if np.any(scale <= 0.0):
            raise WrongContent("scale of equally_good has a number that is not positive")
        trained = vector("trained", n)
        outer, inner = (_quadratic(name, content[name], n) for name in ("outer", "inner"))
        if outer.value > 0.0:
            raise WrongContent("outer of equally_good does not hold the trained model")
        return EllipsoidPair(shift, scale, trained, outer, inner)
    directions = matrix("directions", n)
    if not np.array_equal(directions[:n], np.eye(n)):
        raise WrongContent("directions of equally_good do not begin with the axes")
    low, high = (vector(name, len(directions)) for name in ("low", "high"))
    if np.any(low > high) or np.any(scale < 0.0):
        raise WrongContent("equally_good has a range that ends before it begins")
    return BoxEnclosure(shift, scale, directions, low, high, matrix("members", n))


def _of_quadratic(quadratic: Quadratic) -> dict[str, Any]:
    triangle = quadratic.curvature[np.tril_indices(len(quadratic.slope))]
    return {
        "value": quadratic.value,
        "slope": quadratic.slope.tolist(),
        "curvature": triangle.tolist(),
    }


def _quadratic(name: str, content: dict[str, Any], n: int) -> Quadratic:
    triangle = numbers(f"curvature of {name}", content["curvature"], n * (n + 1) // 2)
    matrix = np.zeros((n, n))
    matrix[np.tril_indices(n)] = triangle
    matrix = matrix + np.tril(matrix, -1).T
    if not certainly_positive(matrix):
        raise WrongContent(f"curvature of {name} is not that of an ellipsoid")
    slope = np.array(numbers(f"slope of {name}", content["slope"], n))
    return Quadratic(float(content["value"]), slope, matrix)
