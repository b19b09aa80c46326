"""The second opinion on a worst case against the mixed-integer program and found models."""

from __future__ import annotations

import numpy as np
import pytest
from clocks import LeapingClock

from pessimal.limits import NEVER, Deadline
from pessimal.near_optimal.polyhedral import mixed_integer
from pessimal.near_optimal.polyhedral.linear_program import BoxModels, near_optimal
from pessimal.near_optimal.polyhedral.second_opinion import largest_hinge
from pessimal.problem import Budget, TuningProblem


def members(seed: int, n: int, budget: Budget) -> BoxModels:
    """Near-optimal models of a box, two classes that overlap."""
    rng = np.random.default_rng(seed)
    y = np.tile([-1.0, 1.0], n)
    X = rng.normal(size=(2 * n, 4)) + 0.3 * y[:, None]
    problem = TuningProblem(X[:n], y[:n], X[n:], y[n:])
    return near_optimal(problem, 0.5 * problem.upper, budget)


@pytest.mark.parametrize("budget", [Budget(), Budget(0.1), Budget(0.3, 0.1)], ids=str)
@pytest.mark.parametrize("seed", [1, 2])
def test_whatever_is_known_it_is_the_largest_loss(seed: int, budget: Budget) -> None:
    models = members(seed, 14, budget)
    largest = mixed_integer.largest_hinge(models, NEVER)
    for share in (0.0, 0.9, 1.0):
        assert largest_hinge(models, share * largest, NEVER) == pytest.approx(largest, abs=1e-6)


def test_time_may_run_out_anywhere(monkeypatch: pytest.MonkeyPatch) -> None:
    models = members(3, 14, Budget(0.3, 0.1))
    largest = mixed_integer.largest_hinge(models, NEVER)
    bounds = []
    for still_looks in (0, 1, 10, 30, 100, 300):
        with monkeypatch.context() as patch:
            LeapingClock(patch, still_looks)
            bounds.append(largest_hinge(models, 0.9 * largest, Deadline(1.0)))
    assert min(bounds) >= largest - 1e-6
    assert bounds[0] > largest + 1e-3


@pytest.mark.parametrize("n_known", [0, 1, 10])
def test_a_relaxed_set_is_larger_and_no_larger_for_its_members(n_known: int) -> None:
    models = members(4, 14, Budget(0.2, 0.05))
    directions = np.random.default_rng(5).normal(size=(10, 5))
    ends = [models.least(direction) for direction in directions]
    known = np.array([u for u, _ in ends[:n_known] if u is not None]).reshape(-1, 5)
    relaxed = models.relaxed(known)
    assert relaxed.n_columns < models.n_columns
    for direction, (_, least) in zip(directions, ends, strict=True):
        assert relaxed.least(direction)[1] <= least + 1e-8
    for u in known:
        cost = relaxed.restricted(np.vstack([np.eye(5), -np.eye(5)]), np.append(u, -u) + 1e-7)
        assert cost.least(np.ones(5))[0] is not None
