"""The paper's convolutional network, in PyTorch: trained on digits, cut off before its last layer.

Three 3×3 convolutions with ReLU, 2×2 max pooling after the first and the last, a fully connected
layer of 100 features with ReLU and dropout 0.25, then ten classes. Adam with learning rate 1e-4, 15
epochs. The paper leaves open the channels (here 32, 64, 64), the padding (none), the batch size
(32) and the scale of the pixels (0 to 1).

Training runs on one thread, from a seed of its own: on one kind of processor and one version of
PyTorch the same images and seed give the same weights, bit for bit.

Trained networks, as feature extractors, are kept: a file in the cache for each set of digits and
seed. Several processes want the same one. A lock makes one of them train while the others wait for
the file, which appears whole or not at all. The lock belongs to the process, so it goes when the
process is killed. The files hold plain arrays; nothing is unpickled.
"""

from __future__ import annotations

import hashlib
import io
import logging
import os
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from pessimal.atomic import write_bytes
from pessimal.errors import import_extra
from pessimal.problem import Matrix, Vector
from pessimal.reproduction.transfer.images import Images, ImageSet, checksum

logger = logging.getLogger(__name__)

CACHE_VARIABLE = "PESSIMAL_CACHE"

N_FEATURES = 100
N_CLASSES = 10
EPOCHS = 15
BATCH = 32
LEARNING_RATE = 1e-4
DROPOUT = 0.25

HEAD = "12"
"""Name of the last layer, which turns features into classes, in the weights."""
_FEATURE_LAYERS = 11

Weights: TypeAlias = Mapping[str, NDArray[np.float32]]


def train(images: Images, seed: int) -> Weights:
    """Train the network and return its weights by PyTorch's names."""
    torch = import_extra("torch", "transfer")
    with _one_thread(torch), torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        network = _network(torch)
        inputs, classes = _inputs(torch, images.pixels), torch.from_numpy(images.labels.astype(int))
        optimizer = torch.optim.Adam(network.parameters(), lr=LEARNING_RATE)
        network.train()
        for _ in range(EPOCHS):
            for batch in torch.randperm(len(inputs)).split(BATCH):
                optimizer.zero_grad()
                scores = network(inputs[batch])
                torch.nn.functional.cross_entropy(scores, classes[batch]).backward()
                optimizer.step()
        return {name: values.numpy() for name, values in network.state_dict().items()}


@dataclass(frozen=True, eq=False)
class Extractor:
    """A trained network, used without its last layer."""

    weights: Weights

    def features(self, pixels: NDArray[np.uint8]) -> Matrix:
        """Return the 100 features of each image."""
        torch = import_extra("torch", "transfer")
        network = _network(torch)
        network.load_state_dict({name: torch.from_numpy(w) for name, w in self.weights.items()})
        network.eval()
        with _one_thread(torch), torch.no_grad():
            return np.asarray(network[:_FEATURE_LAYERS](_inputs(torch, pixels)), dtype=np.float64)

    def direction(self, positive: int, negative: int) -> tuple[Vector, float]:
        """Return the network's own choice between two classes, as a linear model on features."""
        weight = self.weights[f"{HEAD}.weight"].astype(np.float64)
        bias = self.weights[f"{HEAD}.bias"].astype(np.float64)
        return weight[positive] - weight[negative], float(bias[positive] - bias[negative])

    def accuracy(self, digits: ImageSet) -> float:
        """Return the share of unseen digits that the whole network names."""
        weight, bias = (self.weights[f"{HEAD}.{part}"] for part in ("weight", "bias"))
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
            weights = train(digits.train, seed)
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
    digest.update(Path(__file__).read_bytes())
    return digest.hexdigest()[:16]


def _read(path: Path) -> Weights | None:
    if not path.exists():
        return None
    try:
        with np.load(path, allow_pickle=False) as stored:
            return dict(stored)
    except (ValueError, EOFError, zipfile.BadZipFile) as error:
        logger.warning("%s is damaged (%s) and will be made again", path, error)
        return None


def _write(path: Path, weights: Weights) -> None:
    archive = io.BytesIO()
    np.savez(archive, **cast(dict[str, Any], weights))
    write_bytes(path, archive.getvalue())


def _network(torch: Any) -> Any:
    nn = torch.nn
    return nn.Sequential(
        nn.Conv2d(1, 32, 3),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(32, 64, 3),
        nn.ReLU(),
        nn.Conv2d(64, 64, 3),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Linear(64 * 4 * 4, N_FEATURES),
        nn.ReLU(),
        nn.Dropout(DROPOUT),
        nn.Linear(N_FEATURES, N_CLASSES),
    )


def _inputs(torch: Any, pixels: NDArray[np.uint8]) -> Any:
    return torch.from_numpy(pixels.astype(np.float32) / 255.0).unsqueeze(1)


@contextmanager
def _one_thread(torch: Any) -> Iterator[None]:
    """Hold PyTorch to one thread: the order of its sums depends on their number."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)
