"""Hyperparameters in groups: one limit for several features.

A vector h, one number per group, stands for the box ``w̄_j = min(h_group(j), upper_j)``. The
features of a group have one lower limit, so that the box is a concave function of h: the bounds
need that.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from pessimal.errors import InvalidInputError
from pessimal.problem import TuningProblem, Vector

GroupsSpec = Literal["each", "one"] | Sequence[Sequence[int]]


@dataclass(frozen=True, eq=False)
class Groups:
    """Which group each feature belongs to, its upper limit, and the limits of the groups."""

    of_feature: NDArray[np.intp]
    feature_upper: Vector
    lower: Vector
    upper: Vector

    def __len__(self) -> int:
        return len(self.lower)

    def box(self, h: Vector) -> Vector:
        """Box that a vector of group limits stands for."""
        return np.minimum(h[self.of_feature], self.feature_upper)

    def around(self, box: Vector) -> Vector:
        """Group limits of the smallest box in groups that holds a box."""
        h = self.lower.copy()
        np.maximum.at(h, self.of_feature, box)
        return h

    def rates(self, h: Vector, feature_rates: Vector) -> Vector:
        """Turn rates per feature into rates per group."""
        moves = h[self.of_feature] <= self.feature_upper
        return np.asarray(np.bincount(self.of_feature, feature_rates * moves, len(self)), float)


def groups_of(problem: TuningProblem, groups: GroupsSpec) -> Groups:
    """Read the argument `groups`: "each", "one", or lists of feature indices.

    Examples
    --------
    >>> problem = TuningProblem([[0.0, 1.0], [2.0, 0.0]], [-1, 1], [[1.5, 1.0]], [1])
    >>> groups_of(problem, "one").box(np.array([0.5])).tolist()
    [0.5, 0.5]
    >>> len(groups_of(problem, [[1], [0]]))
    2
    """
    p = problem.n_features
    if isinstance(groups, str):
        if groups not in ("each", "one"):
            raise InvalidInputError(
                f"groups is {groups!r}; pass 'each', 'one', or lists of feature indices"
            )
        of_feature = np.arange(p) if groups == "each" else np.zeros(p, np.intp)
    else:
        of_feature = _from_lists(groups, p)
    n_groups = int(of_feature.max()) + 1
    lower, upper = np.zeros(n_groups), np.zeros(n_groups)
    np.maximum.at(lower, of_feature, problem.lower)
    np.maximum.at(upper, of_feature, problem.upper)
    if (problem.lower < lower[of_feature]).any():
        j = int(np.argmax(problem.lower < lower[of_feature]))
        raise InvalidInputError(
            f"lower is {problem.lower[j]:g} for feature {j} but larger for another of its group; "
            "give the features of a group one lower limit"
        )
    return Groups(of_feature, problem.upper, lower, upper)


def _from_lists(groups: Sequence[Sequence[int]], n_features: int) -> NDArray[np.intp]:
    of_feature = np.full(n_features, -1, np.intp)
    remedy = f"name each of the features 0 to {n_features - 1} in exactly one group"
    try:
        lists = [list(members) for members in groups]
    except TypeError:
        raise InvalidInputError(f"groups is {groups!r}; pass lists, and {remedy}") from None
    for number, members in enumerate(lists):
        if not members:
            raise InvalidInputError(f"groups[{number}] is empty; {remedy}")
        for j in members:
            whole = isinstance(j, Integral) and not isinstance(j, bool)
            if not (whole and 0 <= j < n_features):
                raise InvalidInputError(f"groups[{number}] names feature {j!r}; {remedy}")
            if of_feature[j] >= 0:
                raise InvalidInputError(f"groups names feature {j} twice; {remedy}")
            of_feature[j] = number
    if (of_feature < 0).any():
        missing = int(np.argmax(of_feature < 0))
        raise InvalidInputError(f"groups leaves out feature {missing}; {remedy}")
    return of_feature
