"""Which kind of near-optimal set an estimator has."""

from __future__ import annotations

import importlib
from typing import Any

from numpy.typing import ArrayLike

from pessimal.errors import InvalidInputError
from pessimal.near_optimal.base import NearOptimalSet
from pessimal.problem import Budget

KINDS = (
    "pessimal.near_optimal.polyhedral.box_set",
    "pessimal.near_optimal.smooth.smooth_set",
    "pessimal.near_optimal.pipeline",
    "pessimal.near_optimal.retrained.retrained_set",
)
"""Modules of the kinds of this package, in the order they are asked, not imported before."""


def near_optimal_set(
    estimator: Any,
    X: Any,
    y: Any = None,
    *,
    epsilon: float = 0.0,
    delta: float = 0.0,
    sample_weight: ArrayLike | None = None,
) -> NearOptimalSet:
    """Return the set of all models that train about as well as an estimator can.

    Parameters
    ----------
    estimator : estimator
        Of a type for which there is a kind of set: `Ridge`, `RidgeClassifier`,
        `LinearRegression`, `Lasso`, `ElasticNet`, `LogisticRegression` (two classes) or
        `LinearSVC` (squared hinge, l2) of scikit-learn, fitted or not; a fitted `OptimisticSVC`,
        `PessimisticSVC` or `PessimisticSVCCV`; a pipeline, whose earlier steps are frozen; or any
        other classifier or regressor, which is trained again and again, so that its extremes are
        found, not proved.
    X, y : array-like of shape (n, p), array-like of shape (n,)
        The training data. For scikit-learn's estimators they may also be sparse, arrays or data
        frames of Dask, or blocks: X anything that yields tuples (X, y) or (X, y, sample_weight)
        each time it is iterated over, and no y. Memory is then that of a block.
    epsilon, delta : float
        How much worse than the best a member may train: relative and absolute. What is minimised
        is divided by the sum of the weights of the rows, so that δ is in units of the mean loss:
        for `LogisticRegression` its own objective, divided by C and by the number of rows.
    sample_weight : array-like of shape (n,), optional
        Weights of the training rows, as in the estimator's `fit`.

    Returns
    -------
    NearOptimalSet

    Examples
    --------
    >>> from sklearn.linear_model import Ridge
    >>> X, y = [[0.0], [1.0], [2.0]], [0.0, 1.0, 1.0]
    >>> members = near_optimal_set(Ridge(alpha=1.0), X, y, epsilon=0.1)
    >>> worst = members.worst([[3.0]], [2.0])
    >>> worst.proved, round(worst.value, 4)
    (True, 0.8143)
    """
    estimator = only_step(estimator)
    return kind_of(estimator).of(estimator, X, y, Budget(epsilon, delta), sample_weight)


def only_step(estimator: Any) -> Any:
    """Return the step of a pipeline that has no other; else the estimator itself."""
    from sklearn.pipeline import Pipeline  # noqa: PLC0415 (slow to import)

    while isinstance(estimator, Pipeline) and len(estimator) == 1:
        estimator = estimator[0]
    return estimator


def kind_of(estimator: Any) -> type[NearOptimalSet]:
    """Return the kind of set that accepts an estimator."""
    for module in KINDS:
        importlib.import_module(module)
    for kind in sorted(NearOptimalSet.kinds, key=_place, reverse=True):
        if kind.accepts(estimator):
            return kind
    raise InvalidInputError(
        f"estimator is a {type(estimator).__name__}, for which no kind of near-optimal set is "
        "known; pass a classifier or regressor of scikit-learn, or define a subclass of "
        "NearOptimalSet"
    )


def _place(kind: type[NearOptimalSet]) -> tuple[int, int]:
    """Return how early a kind is asked: those of users first, of these the last defined."""
    ours = KINDS.index(kind.__module__) if kind.__module__ in KINDS else -1
    return -ours, NearOptimalSet.kinds.index(kind)
