"""The model that trains best without looking at the features: what any other one has to beat.

It says the same of every row: the score of least mean loss on the training labels. Its validation
loss depends on how frequent the classes are: on rows of 9 to 1 the mean hinge loss is 0.2, not 1.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from pessimal.losses import Logistic, Loss, Squared, SquaredHinge, Step
from pessimal.problem import Vector


@dataclass(frozen=True)
class ConstantModel:
    """The constant of least training loss, on the validation data.

    Attributes
    ----------
    label : object
        The most frequent class in training, which it predicts; for a regression the mean.
    loss : float
        Its mean loss; NaN where training has no loss that a constant could have.
    error : float
        Share of points of other classes; NaN for a regression.
    """

    label: Any
    loss: float
    error: float


def constant_model(
    loss: Loss, y_train: Any, y_val: Any, classes: tuple[Any, ...], names: tuple[Any, ...]
) -> ConstantModel:
    """Find the constant that trains best, and judge it by validation labels.

    Parameters
    ----------
    loss : Loss
    y_train, y_val : ndarray
    classes : tuple
        Of these labels, the positive one last; none for a regression.
    names : tuple
        What the classes are called.
    """
    y_train, y_val = np.asarray(y_train), np.asarray(y_val)
    if not classes:
        mean = float(np.mean(y_train))
        return ConstantModel(mean, float(np.mean(np.square(y_val - mean))), np.nan)
    counts = np.array([np.sum(y_train == label) for label in classes])
    most = int(counts.argmax())
    error = float(np.mean(y_val != classes[most]))
    return ConstantModel(names[most], _loss(loss, counts / counts.sum(), y_val, classes), error)


def _loss(loss: Loss, shares: Vector, y: Any, classes: tuple[Any, ...]) -> float:
    if len(classes) == 2:
        signs = np.where(y == classes[1], 1.0, -1.0)
        return float(loss.of_scores(signs, np.full(len(y), _score(loss, float(shares[1])))).mean())
    if isinstance(loss, Step):
        return float(np.mean(y != classes[int(shares.argmax())]))
    if isinstance(loss, Logistic):
        of_class = dict(zip(classes, shares.tolist(), strict=True))
        return float(-np.mean(np.log([of_class[label] for label in y.tolist()])))
    return np.nan


def _score(loss: Loss, share: float) -> float:
    """Return the score of least mean loss where a share of the labels is positive."""
    if isinstance(loss, Logistic):
        return float(np.log(share) - np.log1p(-share))
    if isinstance(loss, Squared | SquaredHinge):
        return 2.0 * share - 1.0
    return 1.0 if share > 0.5 else -1.0
