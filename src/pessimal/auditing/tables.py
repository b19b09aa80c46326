"""What users hand in: tables with names, labels of any two classes, pipelines.

A `Study` is the same data as a `TuningProblem` together with the names that a report needs.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.pipeline import Pipeline

from pessimal.errors import InvalidInputError
from pessimal.labels import Classes, column, signs
from pessimal.problem import TuningProblem, Vector, feature_vector


@dataclass(frozen=True, eq=False)
class Study:
    """Data with the names of classes, features and validation points; labels are −1 and +1."""

    problem: TuningProblem
    classes: Classes
    labels: NDArray[Any]
    feature_names: tuple[str, ...]
    index: pd.Index

    def boxed(self, box: ArrayLike) -> tuple[Study, Vector]:
        """Return the study of the models of a box, and the box."""
        limits = feature_vector("box", box, self.problem.n_features)
        # A tuned box can be 0 everywhere, which leaves the constant models; a problem's cannot.
        problem = replace(self.problem, upper=limits if limits.any() else np.ones_like(limits))
        return replace(self, problem=problem), limits


def read_study(
    X_train: ArrayLike,
    y_train: ArrayLike,
    X_val: ArrayLike,
    y_val: ArrayLike,
    classes: Classes,
) -> Study:
    """Validate data; keep the names of a pandas table."""
    _require_same_columns(X_train, X_val)
    problem = TuningProblem(
        X_train, signs("y_train", y_train, classes), X_val, signs("y_val", y_val, classes)
    )
    numbered = [f"x{j}" for j in range(problem.n_features)]
    names = X_train.columns if isinstance(X_train, pd.DataFrame) else numbered
    return Study(
        problem=problem,
        classes=classes,
        labels=column("y_val", y_val),
        feature_names=tuple(map(str, names)),
        index=X_val.index if isinstance(X_val, pd.DataFrame) else pd.RangeIndex(problem.n_val),
    )


def through_steps(pipeline: Pipeline, X: ArrayLike) -> Any:
    """Transform a table by all steps of a pipeline but the last; keep its index."""
    if len(pipeline) == 1:
        return X
    steps = pipeline[:-1]
    values = steps.transform(X)
    if isinstance(values, pd.DataFrame):
        return values
    if sparse.issparse(values):
        values = values.toarray()
    try:
        names = steps.get_feature_names_out()
    except (AttributeError, ValueError):
        # A step that cannot name its columns leaves them numbered.
        names = [f"x{j}" for j in range(values.shape[1])]
    index = X.index if isinstance(X, pd.DataFrame) else None
    return pd.DataFrame(values, index=index, columns=names)


def _require_same_columns(X_train: ArrayLike, X_val: ArrayLike) -> None:
    train, val = (list(X.columns) if isinstance(X, pd.DataFrame) else [] for X in (X_train, X_val))
    if len(train) == len(val) and train != val:
        first = next(k for k, names in enumerate(zip(train, val, strict=True)) if len({*names}) > 1)
        raise InvalidInputError(
            f"X_val has column {val[first]!r} where X_train has {train[first]!r}; "
            "pass the same columns in the same order"
        )
