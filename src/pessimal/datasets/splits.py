"""Training, validation and test sets, drawn and scaled the way the paper does it, or without leaks.

Half of the rows (rounded up) are the test set; the training set T and the validation set V are
drawn from the other half. Every draw is stratified, so each set keeps the share of the two
classes, and uses the same seed.

The paper normalises the whole table before it splits, so the mean and the variance of the test
rows reach the features that tuning sees. `standardize_all_rows` repeats that, because an instance
of the paper cannot be rebuilt otherwise. `standardize_on_tuning_rows` takes mean and variance from
T ∪ V alone; use it to estimate how a model does on data it has not seen.
"""

from __future__ import annotations

import operator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.model_selection import train_test_split

from pessimal.datasets.uci import Dataset
from pessimal.errors import InvalidInputError
from pessimal.problem import Matrix, Vector


@dataclass(frozen=True, eq=False)
class Split:
    """Features and labels of a training set T, a validation set V and a test set."""

    X_train: Matrix
    y_train: Vector
    X_val: Matrix
    y_val: Vector
    X_test: Matrix
    y_test: Vector

    def __repr__(self) -> str:
        return (
            f"Split(n_train={len(self.y_train)}, n_val={len(self.y_val)}, "
            f"n_test={len(self.y_test)}, n_features={self.X_train.shape[1]})"
        )


def split(X: ArrayLike, y: ArrayLike, n_train: int, n_val: int, seed: int) -> Split:
    """Draw a training, a validation and a test set, stratified by label.

    Parameters
    ----------
    X : array-like of shape (n_rows, p)
        Features.
    y : array-like of shape (n_rows,)
        Labels of two classes.
    n_train, n_val : int
        Sizes of T and V, at least 2 each. Together they must leave at least two rows of the half
        that is not the test set.
    seed : int
        Seed of all three draws, from 0 to 2**32 - 1.

    Returns
    -------
    Split
        The test set is half of the rows, rounded up.

    Examples
    --------
    >>> from pessimal.datasets import load_cancer
    >>> cancer = load_cancer()
    >>> split(cancer.X, cancer.y, n_train=20, n_val=10, seed=0)
    Split(n_train=20, n_val=10, n_test=225, n_features=9)
    """
    features = np.asarray(X, dtype=np.float64)
    labels = np.asarray(y, dtype=np.float64)
    if features.ndim != 2 or labels.shape != features.shape[:1]:
        raise InvalidInputError(
            f"X has shape {features.shape} and y has shape {labels.shape}; "
            "pass a table of shape (rows, features) and one label per row"
        )
    seed = _integer("seed", seed)
    if not 0 <= seed < 2**32:
        raise InvalidInputError(f"seed is {seed}; pass a whole number from 0 to 2**32 - 1")
    _check_sizes(labels, n_train, n_val)
    pool, test = _draw(np.arange(len(labels)), labels, len(labels) // 2, seed, "tuning half")
    train, pool = _draw(pool, labels, n_train, seed, "training set")
    val, _ = _draw(pool, labels, n_val, seed, "validation set")
    return Split(
        features[train], labels[train], features[val], labels[val], features[test], labels[test]
    )


def standardize_all_rows(X: ArrayLike) -> Matrix:
    """Scale every column to mean 0 and variance 1 over all rows, as the paper does.

    Test rows take part, so an accuracy measured on them afterwards is slightly too kind.

    Parameters
    ----------
    X : array-like of shape (n_rows, p)
        Features. A constant column becomes 0.

    Returns
    -------
    ndarray of shape (n_rows, p)

    Examples
    --------
    >>> standardize_all_rows([[1.0, 5.0], [3.0, 5.0]])
    array([[-1.,  0.],
           [ 1.,  0.]])
    """
    rows = np.asarray(X, dtype=np.float64)
    if rows.ndim != 2 or 0 in rows.shape:
        raise InvalidInputError(
            f"X has shape {rows.shape}; pass a table of shape (rows, features), not empty"
        )
    centre, scale = _centre_and_scale(rows)
    return (rows - centre) / scale


def standardize_on_tuning_rows(split: Split) -> Split:
    """Scale a split by the means and variances of T ∪ V; test rows are only transformed.

    Parameters
    ----------
    split : Split
        Raw features. A column that is constant on T ∪ V is shifted but not stretched.

    Returns
    -------
    Split
        The same rows and labels with scaled features.

    Examples
    --------
    >>> from pessimal.datasets import load_cancer, split
    >>> cancer = load_cancer()
    >>> scaled = standardize_on_tuning_rows(split(cancer.X, cancer.y, 20, 20, seed=0))
    >>> tuning_rows = np.vstack([scaled.X_train, scaled.X_val])
    >>> bool(np.allclose(tuning_rows.mean(axis=0), 0.0))
    True
    """
    centre, scale = _centre_and_scale(np.vstack([split.X_train, split.X_val]))
    return replace(
        split,
        X_train=(split.X_train - centre) / scale,
        X_val=(split.X_val - centre) / scale,
        X_test=(split.X_test - centre) / scale,
    )


def paper_split(dataset: Dataset, n_train: int, n_val: int, seed: int) -> Split:
    """Draw an instance of the paper: all rows scaled together, then split.

    ``(dataset.name, n_train, n_val, seed)`` names the instance: the same four, the same rows.

    Parameters
    ----------
    dataset : Dataset
        Raw features, from `load_cancer` or `load_diabetes`.
    n_train, n_val, seed : int
        Sizes of T and V and the seed of the draw, as in `split`.

    Returns
    -------
    Split

    Examples
    --------
    >>> from pessimal.datasets import load_diabetes
    >>> paper_split(load_diabetes(), n_train=20, n_val=20, seed=0)
    Split(n_train=20, n_val=20, n_test=384, n_features=8)
    """
    return split(standardize_all_rows(dataset.X), dataset.y, n_train, n_val, seed)


def _draw(
    rows: NDArray[np.intp], labels: Vector, size: int, seed: int, name: str
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Draw `size` of the rows, stratified; return them and the rows left over."""
    classes, counts = np.unique(labels[rows], return_counts=True)
    if len(classes) < 2 or counts.min() < 2:
        rarest = classes[counts.argmin()]
        raise InvalidInputError(
            f"y has too few rows of its rarer class to draw the {name}: {counts.min()} of class "
            f"{rarest:g} left of {len(rows)}; pass more rows of that class or ask for fewer"
        )
    drawn: NDArray[np.intp]
    drawn, left = train_test_split(rows, train_size=size, stratify=labels[rows], random_state=seed)
    if len(np.unique(labels[drawn])) < 2:
        raise InvalidInputError(
            f"the {name} of {size} rows would hold one class only, for the other is "
            f"{counts.min()} of {len(rows)} rows; ask for a larger {name}"
        )
    return drawn, left


def _check_sizes(labels: Vector, n_train: int, n_val: int) -> None:
    n_classes = len(np.unique(labels))
    if n_classes != 2:
        raise InvalidInputError(
            f"y holds {n_classes} distinct label(s); pass labels of two classes"
        )
    for name, size in (("n_train", n_train), ("n_val", n_val)):
        if _integer(name, size) < 2:
            raise InvalidInputError(
                f"{name} is {size}; a stratified draw needs one row of each class, so pass at "
                "least 2"
            )
    # The last draw leaves a remainder, in which stratification wants both classes as well.
    available = len(labels) // 2 - 2
    if n_train + n_val > available:
        raise InvalidInputError(
            f"n_train + n_val is {n_train} + {n_val} = {n_train + n_val}, but half of the "
            f"{len(labels)} rows is the test set and at most {max(available, 0)} of the others "
            "can be drawn; ask for fewer rows"
        )


def _integer(name: str, value: int) -> int:
    try:
        return operator.index(value)
    except TypeError:
        raise InvalidInputError(f"{name} is {value!r}; pass a whole number") from None


def _centre_and_scale(rows: Matrix) -> tuple[Matrix, Matrix]:
    # Rounding gives a constant column a tiny variance instead of 0, hence the exact test.
    constant = (rows == rows[0]).all(axis=0)
    centre = np.where(constant, rows[0], rows.mean(axis=0))
    return centre, np.where(constant, 1.0, rows.std(axis=0))
