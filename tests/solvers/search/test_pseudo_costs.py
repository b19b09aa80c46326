"""Estimates take the place of bounds that would cost much and decide little."""

from __future__ import annotations

import numpy as np
import pytest

from pessimal.lp.watch import Watch
from pessimal.problem import TuningProblem
from pessimal.solvers.search.complementarities import optimistic_conditions
from pessimal.solvers.search.heuristic import Heuristic
from pessimal.solvers.search.tree import Tree


class Looks:
    """Counts how often the search asks whether to stop: once per so many multiplications."""

    def __init__(self) -> None:
        self.number = 0

    def __call__(self) -> bool:
        self.number += 1
        return False


def problem() -> TuningProblem:
    """Return 45 + 45 points of two Gaussian classes; five of the 15 features tell them apart."""
    rng = np.random.default_rng([301, 15])
    y = np.where(np.arange(90) % 2 == 0, 1.0, -1.0)
    X = rng.standard_normal((90, 15))
    X[:, :5] += 0.5 * y[:, None]
    return TuningProblem(X[:45], y[:45], X[45:], y[45:])


def test_a_proof_does_without_most_of_strong_branching() -> None:
    tuning, looks = problem(), Looks()
    conditions = optimistic_conditions(tuning)
    tree = Tree(conditions, None, Watch(looks))
    heuristic = Heuristic(tree.incumbent, conditions, tuning, 0)
    heuristic.try_initial_boxes(tree.open_bound())
    for _ in range(200):
        heuristic.improve(0.0)
    before = looks.number
    while tree.advance(1000):
        pass
    # Strong branching on every pair of every node finds this optimum too, with 381 looks.
    assert tree.incumbent.best == pytest.approx(0.13208482336877692, abs=1e-7)
    assert looks.number - before < 290
