"""Feature extractors, trained once and kept: a file in the cache for each set of digits and seed.

Several processes want the same extractor. A lock makes one of them train while the others
wait for the file, which appears whole or not at all. The lock belongs to the process, so it goes
when the process is killed. The files hold plain arrays; nothing is unpickled.
"""

from __future__ import annotations

import hashlib
import io
import logging
import os
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from pessimal.atomic import write_bytes
from pessimal.errors import import_extra
from pessimal.problem import Matrix, Vector
from pessimal.reproduction.transfer import network
from pessimal.reproduction.transfer.images import ImageSet, checksum

logger = logging.getLogger(__name__)

CACHE_VARIABLE = "PESSIMAL_CACHE"


@dataclass(frozen=True, eq=False)
class Extractor:
    """A trained network, used without its last layer."""

    weights: network.Weights

    def features(self, pixels: NDArray[np.uint8]) -> Matrix:
        """Return the 100 features of each image."""
        return network.features(self.weights, pixels)

    def direction(self, positive: int, negative: int) -> tuple[Vector, float]:
        """Return the network's own choice between two classes, as a linear model on features."""
        weight = self.weights[f"{network.HEAD}.weight"].astype(np.float64)
        bias = self.weights[f"{network.HEAD}.bias"].astype(np.float64)
        return weight[positive] - weight[negative], float(bias[positive] - bias[negative])

    def accuracy(self, digits: ImageSet) -> float:
        """Return the share of unseen digits that the whole network names."""
        weight, bias = (self.weights[f"{network.HEAD}.{part}"] for part in ("weight", "bias"))
        scores = self.features(digits.test.pixels) @ weight.T + bias
        return float(np.mean(scores.argmax(axis=1) == digits.test.labels))


def extractor(digits: ImageSet, seed: int) -> Extractor:
    """Return the extractor that the digits and a seed give, from the cache or trained now."""
    path = cache_folder() / f"extractor-{_fingerprint(digits, seed)}.npz"
    # Comes with PyTorch, which needs it itself.
    filelock = import_extra("filelock", "transfer")
    path.parent.mkdir(parents=True, exist_ok=True)
    with filelock.FileLock(path.with_suffix(".lock")):
        weights = _read(path)
        if weights is None:
            logger.info("training extractor %d; it is kept in %s", seed, path)
            weights = network.train(digits.train, seed)
            _write(path, weights)
    return Extractor(weights)


def cache_folder() -> Path:
    """Return where extractors are kept: `CACHE_VARIABLE`, else ``pessimal`` in the user's cache."""
    named = os.environ.get(CACHE_VARIABLE)
    if named:
        return Path(named)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "pessimal"


def _fingerprint(digits: ImageSet, seed: int) -> str:
    """Digest all that the weights depend on: the digits, the seed, PyTorch and how it is used."""
    torch = import_extra("torch", "transfer")
    parts = (checksum(digits.train), str(seed), str(torch.__version__))
    digest = hashlib.sha256("\0".join(parts).encode())
    digest.update(Path(network.__file__).read_bytes())
    return digest.hexdigest()[:16]


def _read(path: Path) -> network.Weights | None:
    if not path.exists():
        return None
    try:
        with np.load(path, allow_pickle=False) as stored:
            return dict(stored)
    except (ValueError, EOFError, zipfile.BadZipFile) as error:
        logger.warning("%s is damaged (%s) and will be made again", path, error)
        return None


def _write(path: Path, weights: network.Weights) -> None:
    archive = io.BytesIO()
    np.savez(archive, **cast(dict[str, Any], weights))
    write_bytes(path, archive.getvalue())
