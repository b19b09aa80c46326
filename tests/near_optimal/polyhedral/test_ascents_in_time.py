"""Ascents from models met before end with the time, and keep the model they began with."""

from __future__ import annotations

import numpy as np
import pytest

from pessimal import Budget
from pessimal.limits import NEVER, Deadline
from pessimal.losses import Hinge
from pessimal.near_optimal.polyhedral.cases import WorstCases
from pessimal.problem import TuningProblem

RNG = np.random.default_rng(0)
N, P = 200, 10
X = RNG.standard_normal((2 * N, P))
Y = np.where(X[:, 0] + RNG.standard_normal(2 * N) > 0.0, 1.0, -1.0)
PROBLEM = TuningProblem(X[:N], Y[:N], X[N:], Y[N:])
MODEL = np.append(0.4, np.zeros(P))  # of weights, then b
"""Trains well, by the first feature alone."""


def hinge(X: np.ndarray, y: np.ndarray) -> float:
    return float(np.maximum(0.0, 1.0 - y * (X @ MODEL[:-1] - MODEL[-1])).mean())


@pytest.mark.parametrize("deadline", [Deadline(0.0), NEVER])
def test_an_ascent_ends_with_the_time(deadline: Deadline) -> None:
    cases = WorstCases(PROBLEM, Budget(), Hinge())
    cases.begin(np.ones(P), 1.2 * hinge(X[:N], Y[:N]), MODEL)
    cases.ascend_from(MODEL[None, :], deadline)
    begun = hinge(X[N:], Y[N:])
    found = cases.known()
    if deadline.over:
        assert found.value == pytest.approx(begun)
    else:
        assert found.value > 1.2 * begun
    assert found.upper_bound >= found.value
