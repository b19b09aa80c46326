"""Study 2, perturbed data: the test rows evade, and the validation rows may do so already.

Five instances; validation rows clean or attacked with ρ = 0.3; ε from 0 to 0.6. Every row is a
model and its accuracy on the test rows attacked with one ρ. The paper does not say how many rows T
and V have: `size` is a guess.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Any, cast

from pessimal.problem import Budget
from pessimal.reproduction.candidates import baselines, candidates
from pessimal.reproduction.instances import DATA_SETS, draw, evasion
from pessimal.reproduction.study import Configuration, Row, Study

SIZE = 40
N_SEEDS, N_SEEDS_QUICK = 5, 2
EPSILONS, EPSILONS_QUICK = (0.0, 0.1, 0.2, 0.3, 0.4, 0.6), (0.0, 0.2)
RHOS_VAL = (0.0, 0.3)
RHOS_TEST = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6)
FLIPS = ("margin", "all")

NODE_LIMIT, NODE_LIMIT_QUICK = 100_000, 10_000
"""A node limit stops at the same place on every machine; a limit in seconds would not."""


def study(*, quick: bool = False, size: int = SIZE) -> Study:
    """Declare the study.

    Parameters
    ----------
    quick : bool, default=False
        Two instances, ε of 0 and 0.2, and a tenth of the nodes.
    size : int, default=40
        Rows of T and of V.

    Returns
    -------
    Study

    Examples
    --------
    >>> len(study().configurations), len(study(quick=True).configurations)
    (120, 16)
    """
    return Study("perturbed", attacked_configurations(size, RHOS_VAL, N_SEEDS_QUICK, quick), run)


def attacked_configurations(
    size: int, rhos: Sequence[float], n_seeds_quick: int, quick: bool
) -> tuple[Configuration, ...]:
    """Return all combinations of instances, radii of the validation rows and ε."""
    n_seeds = n_seeds_quick if quick else N_SEEDS
    epsilons = EPSILONS_QUICK if quick else EPSILONS
    node_limit = NODE_LIMIT_QUICK if quick else NODE_LIMIT
    return tuple(
        {
            "data": data,
            "n_train": size,
            "n_val": size,
            "seed": seed,
            "rho_val": rho,
            "epsilon": epsilon,
            "node_limit": node_limit,
        }
        for data, seed, rho, epsilon in product(DATA_SETS, range(n_seeds), rhos, epsilons)
    )


def run(configuration: Configuration) -> Sequence[Row]:
    """Tune on one instance, attack its test rows at every radius, and test."""
    return _run(**cast(dict[str, Any], configuration))


def _run(*, rho_val: float, epsilon: float, node_limit: int, **instance: Any) -> Sequence[Row]:
    attack = evasion(draw(**instance), rho_val, node_limit)
    problem = attack.problem
    tuned = candidates(
        problem, Budget(epsilon=epsilon), flips=FLIPS, node_limit=node_limit, exact=False
    )
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
