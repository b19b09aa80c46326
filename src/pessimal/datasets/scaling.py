"""Features with mean 0 and variance 1: over all rows (leaks), or fitted on the tuning rows only.

The paper normalises the whole table before it splits, so the mean and the variance of the test
rows reach the features that tuning sees. `standardize_all_rows` repeats that, because an instance
of the paper cannot be rebuilt otherwise. `standardize_on_tuning_rows` takes mean and variance from
T ∪ V alone; use it to estimate how a model does on data it has not seen.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pessimal.datasets.splits import Split, split
from pessimal.datasets.uci import Dataset
from pessimal.errors import InvalidInputError


def standardize_all_rows(X: ArrayLike) -> NDArray[np.float64]:
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


def _centre_and_scale(
    rows: NDArray[np.float64],
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    # Rounding gives a constant column a tiny variance instead of 0, hence the exact test.
    constant = (rows == rows[0]).all(axis=0)
    return (
        np.where(constant, rows[0], rows.mean(axis=0)),
        np.where(constant, 1.0, rows.std(axis=0)),
    )
