"""Test images on which two classifiers differ, small enough to be stored with the rows.

A report is made from stored rows alone, so the few images it shows travel in them as text: JSON
with the place in Fashion-MNIST's test set, the class, and the 28·28 bytes in base 64.
"""

from __future__ import annotations

import base64
import json
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pessimal.experiments.contenders import Contender
from pessimal.experiments.study import Row
from pessimal.experiments.transfer.bank import Bank, signs
from pessimal.problem import Mask

MOST_IMAGES = 6


def differences(bank: Bank, better: Contender, worse: Contender) -> Row:
    """Count the test images that one of two classifiers gets right, and keep a few.

    Returns
    -------
    Row
        ``rescued``, the number of images that only `better` classifies correctly; ``lost``, the
        number that only `worse` does; ``images``, the first few of the rescued.
    """
    one, other = _correct(bank, better), _correct(bank, worse)
    rescued = np.flatnonzero(one & ~other)
    shown = [
        {
            "index": int(bank.test_index[row]),
            "label": int(bank.test.labels[row]),
            "pixels": base64.b64encode(bank.test.pixels[row].tobytes()).decode("ascii"),
        }
        for row in rescued[:MOST_IMAGES].tolist()
    ]
    return {
        "rescued": len(rescued),
        "lost": int((other & ~one).sum()),
        "images": json.dumps(shown),
    }


def decode(image: dict[str, Any]) -> NDArray[np.uint8]:
    """Return the pixels of a stored image.

    Examples
    --------
    >>> decode({"pixels": base64.b64encode(bytes(784)).decode()}).shape
    (28, 28)
    """
    return np.frombuffer(base64.b64decode(image["pixels"]), np.uint8).reshape(28, 28)


def _correct(bank: Bank, model: Contender) -> Mask:
    scores = bank.test_features @ model.coef + model.intercept
    return np.asarray((scores > 0.0) == (signs(bank.test.labels) > 0.0))
