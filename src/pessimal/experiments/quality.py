"""Study 4, solution quality: the worst case at the boxes of both views as ε grows.

The paper compares the pessimistic objective with the flipped worst case at the optimistic box, on
validation rows attacked with three radii. Both are stand-ins for the exact worst case, so every
row carries that too. The paper does not name its three radii, nor the number of rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from pessimal.experiments.contenders import contenders
from pessimal.experiments.draws import draw
from pessimal.experiments.evasion import evasion
from pessimal.experiments.perturbed import SIZE, attacked_cells
from pessimal.experiments.study import Cell, Row, Study
from pessimal.problem import Budget

RHOS_VAL = (0.0, 0.3, 0.6)
N_SEEDS_QUICK = 1


def study(*, quick: bool = False, size: int = SIZE) -> Study:
    """Declare the study; `quick` and `size` are those of the study of perturbed data.

    Examples
    --------
    >>> len(study().cells), len(study(quick=True).cells)
    (180, 12)
    """
    return Study("quality", attacked_cells(size, RHOS_VAL, N_SEEDS_QUICK, quick), run)


def run(cell: Cell) -> Sequence[Row]:
    """Tune on one draw, and find the worst cases of the tuned boxes."""
    return _run(**cast(dict[str, Any], cell))


def _run(*, rho_val: float, epsilon: float, node_limit: int, **name_of_draw: Any) -> Sequence[Row]:
    problem = evasion(draw(**name_of_draw), rho_val, node_limit).problem
    models = contenders(
        problem, Budget(relative=epsilon), flips=("margin",), node_limit=node_limit, exact=True
    )
    return [model.columns for model in models if "evaluated" not in str(model.columns["model"])]
