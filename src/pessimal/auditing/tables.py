"""What users hand in: tables with names, labels of any two classes, pipelines, budgets.

`Names` are what a report calls things. A `Study` has them, and the same data as a `TuningProblem`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from pessimal.errors import InvalidInputError
from pessimal.labels import Classes, column, listed, signs
from pessimal.problem import Budget, Matrix, TuningProblem, Vector, feature_vector
from pessimal.tolerances import LARGEST_ENTRY

if TYPE_CHECKING:
    from sklearn.pipeline import Pipeline


@dataclass(frozen=True, eq=False)
class Names:
    """Names of classes, features and validation points; a regression has no classes."""

    classes: tuple[Any, ...]
    labels: NDArray[Any]
    feature_names: tuple[str, ...]
    index: pd.Index
    n_train: int

    @classmethod
    def of(cls, classes: tuple[Any, ...], X_train: Any, X_val: Any, y_val: ArrayLike) -> Names:
        """Keep the names of a pandas table, number columns and rows otherwise."""
        shape = np.shape(X_train)
        numbered = [f"x{j}" for j in range(shape[1] if len(shape) > 1 else 0)]
        columns = X_train.columns if isinstance(X_train, pd.DataFrame) else numbered
        labels = column("y_val", y_val)
        index = X_val.index if isinstance(X_val, pd.DataFrame) else pd.RangeIndex(len(labels))
        return cls(classes, labels, tuple(map(str, columns)), index, shape[0])


@dataclass(frozen=True, eq=False)
class Study(Names):
    """Two classes in numbers; labels are −1 and +1."""

    problem: TuningProblem

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
    require_same_columns(X_train, X_val)
    problem = TuningProblem(
        X_train, signs("y_train", y_train, classes), X_val, signs("y_val", y_val, classes)
    )
    names = Names.of(classes, X_train, X_val, y_val)
    _require_moderate("X_train", problem.X_train, names)
    _require_moderate("X_val", problem.X_val, names)
    return Study(**vars(names), problem=problem)


def _require_moderate(name: str, X: Matrix, names: Names) -> None:
    """Refuse entries whose squares overflow, by their column."""
    largest = np.abs(X).max(axis=0)
    for k in np.flatnonzero(largest > LARGEST_ENTRY):
        raise InvalidInputError(
            f"{name} holds {largest[k]:g} in absolute value in column {names.feature_names[k]!r}; "
            f"entries may not exceed {LARGEST_ENTRY:g}, so give the column in a larger unit, or "
            "leave it out"
        )


def read_rows(
    X_train: Any, y_train: ArrayLike, X_val: Any, y_val: ArrayLike, classes: tuple[Any, ...]
) -> tuple[Names, NDArray[Any], NDArray[Any]]:
    """Validate what can be of rows of any kind; return names, and labels or numbers to predict."""
    require_same_columns(X_train, X_val)
    targets = [column(*named) for named in (("y_train", y_train), ("y_val", y_val))]
    for name, X, y in zip(("train", "val"), (X_train, X_val), targets, strict=True):
        if len(np.shape(X)) != 2 or np.shape(X)[0] != len(y) or not len(y):
            raise InvalidInputError(
                f"X_{name} has shape {np.shape(X)} and y_{name} {len(y)} entries; pass a table "
                "with one row per entry, and one at least"
            )
        unknown = [label for label in y.tolist() if classes and label not in classes]
        if unknown:
            raise InvalidInputError(
                f"y_{name} contains the label {unknown[0]!r}; the classes are {listed(classes)}"
            )
    return Names.of(classes, X_train, X_val, y_val), targets[0], targets[1]


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


def require_same_columns(X_train: ArrayLike, X_val: ArrayLike) -> None:
    """Refuse tables whose columns have other names, or stand in another order."""
    train, val = (list(X.columns) if isinstance(X, pd.DataFrame) else [] for X in (X_train, X_val))
    if len(train) == len(val) and train != val:
        first = next(k for k, names in enumerate(zip(train, val, strict=True)) if len({*names}) > 1)
        raise InvalidInputError(
            f"X_val has column {val[first]!r} where X_train has {train[first]!r}; "
            "pass the same columns in the same order"
        )


def read_budget(epsilon: float, delta: float) -> Budget:
    """Build the budget under the names the user knows."""
    for name, value in (("epsilon", epsilon), ("delta", delta)):
        require_non_negative(name, value)
    return Budget(epsilon=epsilon, delta=delta)


def read_epsilons(epsilons: Iterable[float], epsilon: float) -> list[float]:
    """Return the budgets of the curves, `epsilon` among them, in order."""
    try:
        given = tuple(epsilons)
    except TypeError:
        raise InvalidInputError(f"epsilons is {epsilons!r}; pass a list of numbers") from None
    for value in given:
        require_non_negative("an entry of epsilons", value)
    return sorted({float(value) for value in given} | {epsilon})


def require_non_negative(name: str, value: float) -> None:
    """Refuse what is no size of a budget."""
    try:
        usable = 0.0 <= float(value) < np.inf
    except (TypeError, ValueError):
        usable = False
    if not usable:
        raise InvalidInputError(f"{name} is {value!r}; pass a finite number that is not negative")
