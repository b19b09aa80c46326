"""The instances of the benchmark of solvers: which data, of which sizes, under which view."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np

from pessimal import Budget, TuningProblem
from pessimal.reproduction.instances import DATA_SETS, draw, tuning_problem
from pessimal.reproduction.transfer import UPPER
from pessimal.solvers.base import Task

VIEWS = (("optimistic", 0.0), ("pessimistic", 0.0), ("pessimistic", 0.2))
"""View and ε; the pessimistic ones flip all of V."""

SUITES = {
    "grid": (tuple(product((5, 10, 15, 20), repeat=2)), DATA_SETS),
    "large": (((30, 30), (40, 40), (60, 60), (100, 100)), DATA_SETS),
    "wide": (((50, 50),), ("synthetic-20", "synthetic-50", "synthetic-100")),
    "both": (((100, 100),), ("synthetic-30",)),
}
"""Sizes of T and V, and data: the paper's sizes, more rows, more features, more of both."""

INFORMATIVE = 5
"""Features of the synthetic data whose mean depends on the class, by ±½."""


@dataclass(frozen=True)
class Instance:
    """One problem to solve; `data` is a UCI data set or ``synthetic-<number of features>``."""

    suite: str
    data: str
    n_train: int
    n_val: int
    seed: int
    view: str
    epsilon: float

    @property
    def key(self) -> str:
        """Name of the instance, the same in every run."""
        sizes = f"T={self.n_train} V={self.n_val}"
        return f"{self.data} {sizes} seed={self.seed} {self.view} eps={self.epsilon:g}"

    def task(self) -> Task:
        """Draw the data, and say what is asked of a solver."""
        problem = self.problem()
        flipped = None if self.view == "optimistic" else np.ones(problem.n_val, dtype=np.bool_)
        return Task(problem, Budget(epsilon=self.epsilon), flipped)

    def problem(self) -> TuningProblem:
        """Draw the data."""
        if self.data.startswith("synthetic-"):
            return _synthetic(self, int(self.data.removeprefix("synthetic-")))
        return tuning_problem(draw(self.data, self.n_train, self.n_val, self.seed))


def instances(suite: str, seeds: Sequence[int]) -> Iterator[Instance]:
    """Yield every size, data set and view of a suite once per seed."""
    for seed, (n_train, n_val), data, view in product(seeds, *SUITES[suite], VIEWS):
        yield Instance(suite, data, n_train, n_val, seed, *view)


def _synthetic(instance: Instance, p: int) -> TuningProblem:
    """Two Gaussian classes of equal size that differ in the means of a few features."""
    rng = np.random.default_rng([instance.seed, p])
    n = instance.n_train + instance.n_val
    y = np.where(np.arange(n) % 2 == 0, 1.0, -1.0)
    X = rng.standard_normal((n, p))
    X[:, :INFORMATIVE] += 0.5 * y[:, None]
    train, val = slice(None, instance.n_train), slice(instance.n_train, None)
    upper = UPPER if p == 100 else 1.0  # as in the paper's transfer experiment
    return TuningProblem(X[train], y[train], X[val], y[val], upper=upper)
