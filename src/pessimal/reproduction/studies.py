"""The studies of limited data, perturbed data and solution quality, as declarations.

Limited data: the two views on five to twenty rows each of T and V, without tolerance; ten instances
of each size, as in the paper, and its flip rule. Every row is a model and its accuracy on the test
half.

Perturbed data: the test rows evade, and the validation rows may do so already. Five instances;
validation rows clean or attacked with ρ = 0.3; ε from 0 to 0.6. Every row is a model and its
accuracy on the test rows attacked with one ρ. The paper does not say how many rows T and V have:
`SIZE` is a guess.

Solution quality: the worst case at the boxes of both views as ε grows. The paper compares the
pessimistic objective with the flipped worst case at the optimistic box, on validation rows attacked
with three radii, which it does not name. Both are stand-ins for the exact worst case, so every row
carries that too.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Any

from pessimal.problem import Budget
from pessimal.reproduction.candidates import baselines, candidates
from pessimal.reproduction.instances import DATA_SETS, draw, evasion, tuning_problem
from pessimal.reproduction.study import Configuration, Row, Study, full_factorial, of_factors

SIZES = (5, 10, 15, 20)
LIMITED_DATA_NODES = 100_000
"""Thirty times what the hardest of the 320 instances takes: a stop for the unforeseen."""

SIZE = 40
EPSILONS, EPSILONS_QUICK = (0.0, 0.1, 0.2, 0.3, 0.4, 0.6), (0.0, 0.2)
RHOS_TEST = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6)
FLIPS = ("margin", "all")
NODE_LIMIT, NODE_LIMIT_QUICK = 200_000, 10_000
"""A node limit stops at the same place on every machine; a limit in seconds would not."""


def limited_data(*, quick: bool = False) -> Study:
    """Declare the study of limited data; `quick` has two instances of each size, not ten."""
    seeds = range(2 if quick else 10)
    configurations: tuple[Configuration, ...] = tuple(
        {"data": data, "n_train": n_train, "n_val": n_val, "seed": seed}
        for data, n_val, n_train, seed in product(DATA_SETS, SIZES, SIZES, seeds)
    )
    return Study("limited-data", configurations, run_limited_data)


@of_factors
def run_limited_data(**instance: Any) -> Sequence[Row]:
    """Tune, evaluate and test on one instance."""
    split = draw(**instance)
    problem = tuning_problem(split)
    models = candidates(
        problem, Budget(), flips=("paper",), node_limit=LIMITED_DATA_NODES, exact=True
    )
    return [
        {**model.columns, "test_accuracy": model.accuracy(split.X_test, split.y_test)}
        for model in (*models, *baselines(problem))
    ]


def perturbed(*, quick: bool = False, size: int = SIZE) -> Study:
    """Declare the study of perturbed data, with `size` rows of T and of V.

    `quick` has two instances, ε of 0 and 0.2, and a twentieth of the nodes.
    """
    seeds = range(2 if quick else 5)
    return Study("perturbed", _attacked(size, seeds, (0.0, 0.3), quick), run_perturbed)


@of_factors
def run_perturbed(
    *, rho_val: float, epsilon: float, node_limit: int, **instance: Any
) -> Sequence[Row]:
    """Tune on one instance, attack its test rows at every radius, and test."""
    attack = evasion(draw(**instance), rho_val, node_limit)
    problem, budget = attack.problem, Budget(epsilon=epsilon)
    tuned = candidates(problem, budget, flips=FLIPS, node_limit=node_limit, exact=False)
    # The first candidate is the optimistic model itself. Baselines know no ε: once is enough.
    models = tuned if epsilon > 0.0 else [*tuned, *baselines(problem)]
    attacked = {rho: attack.test_rows(tuned[0], rho) for rho in RHOS_TEST}
    return [
        {
            **model.columns,
            "rho_test": rho,
            "test_accuracy": model.accuracy(X_test, attack.split.y_test),
        }
        for model in models
        for rho, X_test in attacked.items()
    ]


def quality(*, quick: bool = False, size: int = SIZE) -> Study:
    """Declare the study of solution quality; `quick` and `size` are those of perturbed data."""
    seeds = range(1 if quick else 5)
    return Study("quality", _attacked(size, seeds, (0.0, 0.3, 0.6), quick), run_quality)


@of_factors
def run_quality(
    *, rho_val: float, epsilon: float, node_limit: int, **instance: Any
) -> Sequence[Row]:
    """Tune on one instance, and find the worst cases of the tuned boxes."""
    problem = evasion(draw(**instance), rho_val, node_limit).problem
    budget = Budget(epsilon=epsilon)
    models = candidates(problem, budget, flips=("margin",), node_limit=node_limit, exact=True)
    return [model.columns for model in models if "evaluated" not in str(model.columns["model"])]


def _attacked(
    size: int, seeds: Sequence[int], rhos: Sequence[float], quick: bool
) -> tuple[Configuration, ...]:
    """Return all combinations of instances, radii of the validation rows and ε."""
    epsilons = EPSILONS_QUICK if quick else EPSILONS
    sizes = {"n_train": [size], "n_val": [size]}
    node_limit = NODE_LIMIT_QUICK if quick else NODE_LIMIT
    factors = {"data": DATA_SETS, **sizes, "seed": seeds, "rho_val": rhos, "epsilon": epsilons}
    return full_factorial({**factors, "node_limit": [node_limit]})
