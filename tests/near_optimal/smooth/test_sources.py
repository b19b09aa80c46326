"""The same rows from arrays, sparse matrices, blocks and Dask give the same answers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_matrix
from sklearn.linear_model import LogisticRegression, Ridge, RidgeClassifier

from pessimal import near_optimal_set
from pessimal.errors import InvalidInputError

ESTIMATORS = (Ridge(0.5), RidgeClassifier(0.5, class_weight="balanced"), LogisticRegression(C=0.5))


def draw(estimator: Any, n: int = 90) -> tuple[Any, Any, Any]:
    rng = np.random.default_rng(3)
    X = rng.normal(size=(n, 3)) * [1.0, 30.0, 0.01] + [0.0, 500.0, 1.0]
    score = (X - X.mean(0)) / X.std(0) @ [1.0, -1.0, 0.5] + rng.normal(size=n)
    y = score if isinstance(estimator, Ridge) else np.where(score > 0.3, "yes", "no")
    return X, y, rng.integers(1, 4, n).astype(float)


class Again:
    """Blocks that can be read any number of times."""

    def __init__(self, X: Any, y: Any, weight: Any) -> None:
        self.parts = X, y, weight

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        for rows in np.array_split(np.arange(len(self.parts[1])), 4):
            yield tuple(part[rows] for part in self.parts)


def as_dask(X: Any, y: Any, weight: Any) -> tuple[Any, Any, Any]:
    da = pytest.importorskip("dask.array")
    return tuple(da.from_array(part, chunks=(25, *part.shape[1:])) for part in (X, y, weight))


def as_dask_frame(X: Any, y: Any, weight: Any) -> tuple[Any, Any, Any]:
    dd = pytest.importorskip("dask.dataframe")
    table = dd.from_pandas(pd.DataFrame(X).assign(y=y, w=weight), npartitions=3)
    return table[[0, 1, 2]], table["y"], table["w"]


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=str)
@pytest.mark.parametrize(
    "made",
    [
        lambda X, y, w: (csr_matrix(X), y, w),
        lambda X, y, w: (pd.DataFrame(X), pd.Series(y), pd.Series(w)),
        lambda X, y, w: (Again(X, y, w), None, None),
        as_dask,
        as_dask_frame,
    ],
    ids=["sparse", "frame", "blocks", "dask array", "dask frame"],
)
def test_every_source_has_the_same_worst_case(
    estimator: Any, made: Callable[..., tuple[Any, Any, Any]]
) -> None:
    X, y, weight = draw(estimator)
    T, V = slice(0, 60), slice(60, 90)
    usual = near_optimal_set(estimator, X[T], y[T], epsilon=0.01, sample_weight=weight[T])
    rows, labels, weights = made(X[T], y[T], weight[T])
    other = near_optimal_set(estimator, rows, labels, epsilon=0.01, sample_weight=weights)
    assert other.trained.value == pytest.approx(usual.trained.value, rel=1e-10)
    points, targets, _ = made(X[V], y[V], np.ones(30))
    worst, again = usual.worst(X[V], y[V]), other.worst(points, targets)
    assert worst.proved
    assert again.value == pytest.approx(worst.value, rel=1e-8)
    assert again.upper_bound == pytest.approx(worst.upper_bound, rel=1e-6)
    assert other.best(points, targets).value == pytest.approx(
        usual.best(X[V], y[V]).value, rel=1e-6
    )


def test_single_precision_is_worked_on_in_double() -> None:
    X, y, _ = draw(LogisticRegression())
    X = X.astype(np.float32)
    single = near_optimal_set(LogisticRegression(), X, y, epsilon=0.05)
    double = near_optimal_set(LogisticRegression(), X.astype(np.float64), y, epsilon=0.05)
    assert single.trained.value == pytest.approx(double.trained.value, rel=1e-12)


def test_what_cannot_be_read_again_or_is_no_block_is_refused() -> None:
    X, y, weight = draw(Ridge())
    blocks = Again(X, y, weight)
    for source, words in (
        (iter(blocks), "can be read once"),
        ([X], "something other than blocks"),
        ([], "yields no blocks"),
        (X, "y is None"),
        ([(X, y), (X[:, :2], y)], "blocks of 3 and of 2 columns"),
        ([(X, y[:4])], "90 rows, 4 labels"),
        ([(X, y, -weight)], "minimum -3"),
    ):
        with pytest.raises(InvalidInputError, match=words):
            near_optimal_set(Ridge(), source, None)
    with pytest.raises(ValueError, match="NaN"):
        near_optimal_set(Ridge(), [(X, y), (X * np.nan, y)], None)


@pytest.mark.parametrize("factor", [1e-8, 1e8])
def test_units_of_columns_do_not_matter_without_a_penalty(factor: float) -> None:
    X, y, _ = draw(LogisticRegression())
    plain, scaled = (
        near_optimal_set(LogisticRegression(C=np.inf), X * [1.0, unit, 1.0], y, epsilon=0.01)
        for unit in (1.0, factor)
    )
    worst, again = (
        members.worst(X * [1.0, unit, 1.0], y, node_limit=1)
        for members, unit in ((plain, 1.0), (scaled, factor))
    )
    assert again.value == pytest.approx(worst.value, rel=1e-7)
    assert again.upper_bound == pytest.approx(worst.upper_bound, rel=1e-3)
