"""Study 1, limited data: the two views on five to twenty rows each of T and V, without tolerance.

Ten instances of each size, as in the paper; its flip rule; ε = 0. Every row is a model and its
accuracy on the test half.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Any, cast

from pessimal.problem import Budget
from pessimal.reproduction.candidates import baselines, candidates
from pessimal.reproduction.instances import DATA_SETS, draw, tuning_problem
from pessimal.reproduction.study import Configuration, Row, Study

SIZES = (5, 10, 15, 20)
N_SEEDS, N_SEEDS_QUICK = 10, 2
NODE_LIMIT = 100_000
"""Thirty times what the hardest of the 320 instances takes: a stop for the unforeseen."""


def study(*, quick: bool = False) -> Study:
    """Declare the study.

    Parameters
    ----------
    quick : bool, default=False
        Two instances of each size instead of ten.

    Returns
    -------
    Study

    Examples
    --------
    >>> len(study().configurations), len(study(quick=True).configurations)
    (320, 64)
    """
    seeds = range(N_SEEDS_QUICK if quick else N_SEEDS)
    return Study(
        name="limited-data",
        configurations=tuple(
            {"data": data, "n_train": n_train, "n_val": n_val, "seed": seed}
            for data, n_val, n_train, seed in product(DATA_SETS, SIZES, SIZES, seeds)
        ),
        run=run,
    )


def run(configuration: Configuration) -> Sequence[Row]:
    """Tune, evaluate and test on one instance."""
    split = draw(**cast(dict[str, Any], configuration))
    problem = tuning_problem(split)
    models = candidates(problem, Budget(), flips=("paper",), node_limit=NODE_LIMIT, exact=True)
    return [
        {**model.columns, "test_accuracy": model.accuracy(split.X_test, split.y_test)}
        for model in (*models, *baselines(problem))
    ]
