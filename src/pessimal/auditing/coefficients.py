"""How far the coefficients of equally good linear models can differ.

A near-optimal set knows scores. The score of a row that is 0 but for one feature is that feature's
coefficient, times its value, plus the intercept; the score of the row of zeros is the intercept
alone. Where the value is large the intercept hardly matters, and what it matters is subtracted.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pessimal.limits import Deadline
from pessimal.near_optimal.base import Linear, NearOptimalSet
from pessimal.problem import Matrix, Vector

FAR = 1e3
"""How often the largest value of a feature goes into the value that it is asked for at."""


@dataclass(frozen=True, eq=False)
class CoefficientRange:
    """Ranges of the coefficients of all models that train this well.

    Attributes
    ----------
    low, high : ndarray of shape (p,)
        No such model has a coefficient beyond these.
    found_low, found_high : ndarray of shape (p,)
        Least and largest among the models that were found.
    """

    low: Vector
    high: Vector
    found_low: Vector
    found_high: Vector

    @property
    def undetermined(self) -> Vector:
        """Which coefficients were found positive in one model and negative in another."""
        return np.asarray((self.found_low < 0.0) & (self.found_high > 0.0))


def coefficient_range(
    members: NearOptimalSet, X: Matrix, known: list[Linear], deadline: Deadline
) -> CoefficientRange:
    """Bound the coefficients of all members; when time is up, coarsely.

    Parameters
    ----------
    members : NearOptimalSet
        Of linear models.
    X : ndarray of shape (n, p)
        Rows that show the size of each feature.
    known : list of Linear
        Members that were found already.
    deadline : Deadline
    """
    size = np.abs(X).max(axis=0)
    value = FAR * np.where(size > 0.0, size, 1.0)
    scored = members.score_range(
        np.vstack([np.zeros(len(value)), np.diag(value)]), time_limit=deadline
    )
    coefs = np.array([model.coef for model in (*known, *scored.models)])  # type: ignore[attr-defined]
    found_low, found_high = coefs.min(axis=0), coefs.max(axis=0)
    low = (scored.low[1:] - scored.high[0]) / value
    high = (scored.high[1:] - scored.low[0]) / value
    # Rounding may put a bound short of a model that was found.
    return CoefficientRange(
        np.minimum(low, found_low), np.maximum(high, found_high), found_low, found_high
    )
