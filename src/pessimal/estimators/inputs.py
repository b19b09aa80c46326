"""What users pass to `fit` and `predict`: read by scikit-learn's rules, refused in our words."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, column_or_1d, validate_data

from pessimal.errors import InvalidInputError
from pessimal.problem import Mask, Matrix, Vector

DENSE_LIMIT = 5_000_000
"""Most cells (rows × columns) of a sparse X that are written out as a dense table: 40 MB."""

ROW_LIMIT = 5_000
"""Most distinct rows; the linear programs are dense, with as many rows and columns."""

UNSCALED_LIMIT = 1e4
"""Largest entry of X without standardisation; the tolerances are for numbers around 1."""


def read_training(estimator: BaseEstimator, X: Any, y: Any) -> tuple[Matrix, NDArray[Any]]:
    """Validate the arguments of `fit`; return dense features and labels, remember the columns."""
    with _text_named():
        features, labels = validate_data(estimator, X, y, accept_sparse="csr", dtype=np.float64)
    return _dense(features), read_labels("y", labels)


def read_features(estimator: BaseEstimator, X: Any) -> Matrix:
    """Validate further rows, with the columns of `fit`; return them dense."""
    with _text_named():
        features = validate_data(estimator, X, reset=False, accept_sparse="csr", dtype=np.float64)
    return _dense(features)


@contextmanager
def _text_named() -> Iterator[None]:
    try:
        yield
    except ValueError as error:
        if "could not convert string" not in str(error):
            raise
        raise InvalidInputError(
            f"X holds text ({error}); encode such columns as numbers first, for example with "
            "OneHotEncoder in a ColumnTransformer"
        ) from None


def _dense(X: Any) -> Matrix:
    if not sparse.issparse(X):
        return np.asarray(X, dtype=np.float64)
    if X.shape[0] * X.shape[1] > DENSE_LIMIT:
        raise InvalidInputError(
            f"X is sparse with shape {X.shape}, and tuning needs it dense, at most {DENSE_LIMIT} "
            "cells; pass fewer rows, or reduce the columns, for example with TruncatedSVD"
        )
    return np.asarray(X.toarray())


def require_few(X: Matrix) -> None:
    """Refuse tables that would fill the memory."""
    if len(X) > ROW_LIMIT:
        raise InvalidInputError(
            f"X has {len(X)} distinct rows; exact tuning is made for tens to hundreds and takes "
            f"at most {ROW_LIMIT}, so pass a sample of the rows"
        )


def require_moderate(X: Matrix) -> None:
    """Refuse entries so large that the linear programs would be lost in rounding."""
    largest = float(np.abs(X).max())
    if largest > UNSCALED_LIMIT:
        raise InvalidInputError(
            f"X holds {largest:g} in absolute value and standardize is False; without "
            f"standardisation entries may not exceed {UNSCALED_LIMIT:g}, so scale X or pass "
            "standardize=True"
        )


def read_labels(name: str, y: Any) -> NDArray[Any]:
    """Return labels as one column of discrete classes."""
    labels = column_or_1d(y, warn=True)
    check_classification_targets(labels)
    if len(labels) == 0:
        raise InvalidInputError(f"{name} is empty; pass one label per row")
    return np.asarray(labels)


def read_weights(name: str, weight: Any, X: Matrix) -> Vector:
    """Return one non-negative weight a row, 1 by default."""
    values = np.asarray(_check_sample_weight(weight, X, dtype=np.float64))
    if (values < 0.0).any():
        raise InvalidInputError(f"{name} contains {values.min():g}; weights must not be negative")
    return values


def two_classes(labels: NDArray[Any], weight: Vector) -> NDArray[Any]:
    """Return the two classes in their order, or say why there are not two."""
    classes = np.unique(labels)
    if len(classes) > 2:
        raise InvalidInputError(
            "Only binary classification is supported. The type of the target is multiclass, with "
            f"{len(classes)} classes; wrap the estimator in "
            "sklearn.multiclass.OneVsRestClassifier"
        )
    weighty = np.unique(labels[weight > 0.0])
    if len(weighty) < 2:
        raise InvalidInputError(
            f"y holds {len(weighty)} class with positive weight, {weighty[:1].tolist()}; "
            "a classifier needs two classes"
        )
    return classes


def read_class_weight(
    class_weight: Mapping[Any, float] | str | None,
    classes: NDArray[Any],
    labels: NDArray[Any],
    weight: Vector,
) -> Vector:
    """Return the factor of each class's weights; "balanced" gives both classes the same total."""
    if class_weight == "balanced":
        totals = np.array([weight[labels == label].sum() for label in classes])
        return np.asarray(totals.sum() / (2.0 * totals))
    factors = compute_class_weight(class_weight, classes=classes, y=labels)
    if not (np.isfinite(factors).all() and (factors > 0.0).all()):
        raise InvalidInputError(
            f"class_weight is {class_weight!r}; pass a positive, finite number for each class"
        )
    return np.asarray(factors, dtype=np.float64)


def read_groups(groups: Any, names: NDArray[Any] | None) -> Any:
    """Return groups of features with column names turned into indices."""
    if isinstance(groups, str):
        return groups
    index = {} if names is None else {name: j for j, name in enumerate(names.tolist())}

    def column(member: Any) -> Any:
        if not isinstance(member, str):
            return member
        if member not in index:
            known = "X has no column names" if names is None else f"X has {', '.join(index)}"
            raise InvalidInputError(
                f"groups names the column {member!r}, but {known}; pass names of columns of a "
                "DataFrame, or indices"
            )
        return index[member]

    return [
        [column(member) for member in members]
        if isinstance(members, Iterable) and not isinstance(members, str)
        else members
        for members in groups
    ]


def read_validation(validation: ArrayLike, n_rows: int) -> Mask:
    """Return which rows validate, from a mask or from indices."""
    values = np.asarray(validation)
    chosen = np.zeros(n_rows, dtype=np.bool_)
    if values.dtype == np.bool_ and values.shape == (n_rows,):
        chosen |= values
    elif np.issubdtype(values.dtype, np.integer) and values.ndim == 1:
        outside = (values < 0) | (values >= n_rows)
        if outside.any():
            raise InvalidInputError(
                f"validation holds the index {values[outside][0]}, but X has rows 0 to "
                f"{n_rows - 1}; pass indices of rows, or a mask of booleans"
            )
        chosen[values] = True
    else:
        raise InvalidInputError(
            f"validation has type {values.dtype} and shape {values.shape}; pass a mask of "
            f"{n_rows} booleans, one per row, or the indices of the validation rows"
        )
    if not chosen.any():
        raise InvalidInputError("validation selects no row; select at least one")
    return chosen
