"""Which candidate is chosen, whatever their order: the best score, and then a rule for ties."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from numbers import Real
from typing import Any

import numpy as np

from pessimal.problem import Vector

TIE = 1e-9
"""Scores closer than this, relative to their size where that is above 1, are tied."""

SIMPLER_IF_LARGER = (
    "alpha",
    "ccp_alpha",
    "l2_regularization",
    "min_child_weight",
    "min_samples_leaf",
    "min_samples_split",
    "min_weight_fraction_leaf",
    "reg_alpha",
    "reg_lambda",
    "var_smoothing",
)
"""Hyperparameters of which more is a stronger penalty; of other numbers less is."""


def slack(score: float) -> float:
    """Return how far below a score another is tied with it."""
    return TIE * max(1.0, abs(score))


def choose(scores: Vector, ties: Sequence[Vector], candidates: Sequence[Mapping[str, Any]]) -> int:
    """Return the candidate of largest score.

    Of several, the one that is largest in the first of `ties`, then in the second, and so on; at
    last the one with the strongest penalty, parameter by parameter in the order of their names.

    Examples
    --------
    >>> scores = np.array([-0.5, -0.4, -0.4])
    >>> choose(scores, [], [{"C": 1.0}, {"C": 3.0}, {"C": 2.0}])
    2
    """
    left = np.arange(len(candidates))
    for values in (scores, *ties):
        known = np.where(np.isnan(values[left]), -np.inf, values[left])
        best = known.max()
        left = left[known >= (best - slack(best) if np.isfinite(best) else best)]
    return min(left.tolist(), key=lambda k: simplicity(candidates[k]))


def simplicity(parameters: Mapping[str, Any]) -> list[tuple[str, float, str]]:
    """Return a key by which the strongest penalty sorts first."""
    return [(name, _size(name, value), repr(value)) for name, value in sorted(parameters.items())]


def _size(name: str, value: Any) -> float:
    if not isinstance(value, Real) or isinstance(value, bool):
        return np.inf if value is None else 0.0  # None is no limit, of depth for one
    return -float(value) if name.rpartition("__")[-1] in SIMPLER_IF_LARGER else float(value)
