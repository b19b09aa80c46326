"""Study 4, solution quality: the worst case at the boxes of both views as ε grows.

The paper compares the pessimistic objective with the flipped worst case at the optimistic box, on
validation rows attacked with three radii. Both are stand-ins for the exact worst case, so every
row carries that too. The paper does not name its three radii, nor the number of rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from pessimal.problem import Budget
from pessimal.reproduction.candidates import candidates
from pessimal.reproduction.instances import draw, evasion
from pessimal.reproduction.perturbed import SIZE, attacked_configurations
from pessimal.reproduction.study import Configuration, Row, Study

RHOS_VAL = (0.0, 0.3, 0.6)
N_SEEDS_QUICK = 1


def study(*, quick: bool = False, size: int = SIZE) -> Study:
    """Declare the study; `quick` and `size` are those of the study of perturbed data.

    Examples
    --------
    >>> len(study().configurations), len(study(quick=True).configurations)
    (180, 12)
    """
    return Study("quality", attacked_configurations(size, RHOS_VAL, N_SEEDS_QUICK, quick), run)


def run(configuration: Configuration) -> Sequence[Row]:
    """Tune on one instance, and find the worst cases of the tuned boxes."""
    return _run(**cast(dict[str, Any], configuration))


def _run(*, rho_val: float, epsilon: float, node_limit: int, **instance: Any) -> Sequence[Row]:
    problem = evasion(draw(**instance), rho_val, node_limit).problem
    models = candidates(
        problem, Budget(epsilon=epsilon), flips=("margin",), node_limit=node_limit, exact=True
    )
    return [model.columns for model in models if "evaluated" not in str(model.columns["model"])]
