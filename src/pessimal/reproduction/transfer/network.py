"""The paper's convolutional network, in PyTorch: trained on digits, cut off before its last layer.

Three 3×3 convolutions with ReLU, 2×2 max pooling after the first and the last, a fully connected
layer of 100 features with ReLU and dropout 0.25, then ten classes. Adam with learning rate 1e-4, 15
epochs. The paper leaves open the channels (here 32, 64, 64), the padding (none), the batch size
(32) and the scale of the pixels (0 to 1).

Training runs on one thread, from a seed of its own: on one kind of processor and one version of
PyTorch the same images and seed give the same weights, bit for bit.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from pessimal.errors import import_extra
from pessimal.problem import Matrix
from pessimal.reproduction.transfer.images import Images

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


def features(weights: Weights, pixels: NDArray[np.uint8]) -> Matrix:
    """Return the 100 features of each image."""
    torch = import_extra("torch", "transfer")
    network = _network(torch)
    network.load_state_dict({name: torch.from_numpy(values) for name, values in weights.items()})
    network.eval()
    with _one_thread(torch), torch.no_grad():
        return np.asarray(network[:_FEATURE_LAYERS](_inputs(torch, pixels)), dtype=np.float64)


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
