"""The tuning problem: training set T, validation set V, limits on the hyperparameters.

A model is a pair ``(w, b)`` with score ``x·w − b``. Both losses are weighted means of the hinge
``[1 − y·score]₊``. The hyperparameters are a box ``|w_j| ≤ w̄_j`` with ``lower ≤ w̄ ≤ upper``.

Everything is validated here, once; the rest of the package trusts it.
"""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass, fields
from functools import cached_property
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pessimal.errors import InvalidInputError
from pessimal.losses import HINGE
from pessimal.tolerances import BUDGET_SLACK, LARGEST_WEIGHT_RATIO

Vector: TypeAlias = NDArray[np.float64]
Matrix: TypeAlias = NDArray[np.float64]
Mask: TypeAlias = NDArray[np.bool_]

USUAL = 16.0
"""Numbers between this and its inverse are of usual size, and left as they are."""


@dataclass(frozen=True, init=False)
class Budget:
    """How much worse than the best a model may train and still count as near-optimal.

    A model is near-optimal in a box when ``L_T ≤ (1 + ε)·L_T* + δ``.

    Parameters
    ----------
    epsilon : float, default=0.0
        The paper's ε, a share of the least training loss. It does nothing on separable data,
        where that loss is 0.
    delta : float, default=0.0
        δ, in units of the mean hinge loss.
    relative, absolute : float, optional
        The former names of `epsilon` and `delta`, which warn.

    Examples
    --------
    >>> Budget(epsilon=0.2).limit(0.5)
    0.6
    """

    epsilon: float
    delta: float

    def __init__(
        self,
        epsilon: float = 0.0,
        delta: float = 0.0,
        *,
        relative: float | None = None,
        absolute: float | None = None,
    ) -> None:
        if relative is not None:
            epsilon = _renamed("relative", "epsilon", relative)
        if absolute is not None:
            delta = _renamed("absolute", "delta", absolute)
        for name, value in (("epsilon", epsilon), ("delta", delta)):
            object.__setattr__(self, name, non_negative_number(name, value))

    @property
    def relative(self) -> float:
        """The former name of `epsilon`, which warns."""
        return _renamed("relative", "epsilon", self.epsilon)

    @property
    def absolute(self) -> float:
        """The former name of `delta`, which warns."""
        return _renamed("absolute", "delta", self.delta)

    def limit(self, least_loss: float) -> float:
        """Return the largest training loss allowed when the least one is `least_loss`."""
        return (1.0 + self.epsilon) * least_loss + self.delta


def _renamed(old: str, new: str, value: float) -> float:
    warnings.warn(f"{old} of a Budget is now {new}", FutureWarning, stacklevel=3)
    return value


@dataclass(frozen=True, eq=False, init=False)
class TuningProblem:
    """Data and limits of one hyperparameter-tuning problem, validated and frozen.

    Parameters
    ----------
    X_train, X_val : array-like of shape (n_train, p), (n_val, p)
        Features of the training set T and the validation set V; finite numbers.
    y_train, y_val : array-like of shape (n_train,), (n_val,)
        Labels −1 and +1. T must hold both: with one class the intercept is unbounded.
    lower, upper : float or array-like of shape (p,), default=0.0, 1.0
        Limits on the hyperparameters w̄, ``0 ≤ lower ≤ upper``, ``upper > 0`` somewhere.
    train_weight, val_weight : array-like, optional
        Non-negative point weights in the two losses; normalised to sum to one.

    Examples
    --------
    >>> problem = TuningProblem([[0.0], [2.0]], [-1, 1], [[1.5]], [1])
    >>> problem.n_features
    1
    >>> float(problem.train_loss(np.array([1.0]), 1.0))
    0.0
    """

    X_train: Matrix
    y_train: Vector
    X_val: Matrix
    y_val: Vector
    lower: Vector
    upper: Vector
    train_weight: Vector
    val_weight: Vector

    def __init__(
        self,
        X_train: ArrayLike,
        y_train: ArrayLike,
        X_val: ArrayLike,
        y_val: ArrayLike,
        lower: ArrayLike = 0.0,
        upper: ArrayLike = 1.0,
        train_weight: ArrayLike | None = None,
        val_weight: ArrayLike | None = None,
    ) -> None:
        train = _matrix("X_train", X_train)
        val = _matrix("X_val", X_val)
        n_features = train.shape[1]
        if val.shape[1] != n_features:
            raise InvalidInputError(
                f"X_val has {val.shape[1]} features but X_train has {n_features}; "
                "pass the same columns in both"
            )
        y_t = _labels("y_train", y_train, len(train))
        y_v = _labels("y_val", y_val, len(val))
        weight_t = _weights("train_weight", train_weight, len(train))
        weight_v = _weights("val_weight", val_weight, len(val))
        counting = weight_t[weight_t > 0.0]
        if counting.max() > LARGEST_WEIGHT_RATIO * counting.min():
            raise InvalidInputError(
                f"train_weight spans a factor of {counting.max() / counting.min():.0e}; weights "
                f"further apart than {LARGEST_WEIGHT_RATIO:.0e} cannot be told from 0, so set the "
                "small ones to 0"
            )
        for label in (-1.0, 1.0):
            if not weight_t[y_t == label].sum() > 0.0:
                raise InvalidInputError(
                    f"y_train has no point of class {label:+.0f} with positive weight; training "
                    "needs both classes, so draw a stratified split"
                )
        low = feature_vector("lower", lower, n_features)
        high = feature_vector("upper", upper, n_features)
        if (low > high).any():
            j = int(np.argmax(low > high))
            raise InvalidInputError(
                f"lower exceeds upper for feature {j} ({low[j]:g} > {high[j]:g}); "
                "pass limits with 0 <= lower <= upper"
            )
        if not high.any():
            raise InvalidInputError("upper is 0 for every feature; let at least one weight move")
        for name, value in (
            ("X_train", train),
            ("y_train", y_t),
            ("X_val", val),
            ("y_val", y_v),
            ("lower", low),
            ("upper", high),
            ("train_weight", weight_t),
            ("val_weight", weight_v),
        ):
            value.setflags(write=False)
            object.__setattr__(self, name, value)

    def __getstate__(self) -> dict[str, Vector]:
        """Leave out what follows from the data."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def __setstate__(self, state: dict[str, Vector]) -> None:
        """Freeze the arrays again, which pickling thaws."""
        for name, value in state.items():
            value.setflags(write=False)
            object.__setattr__(self, name, value)

    def __repr__(self) -> str:
        return (
            f"TuningProblem(n_train={self.n_train}, n_val={self.n_val}, "
            f"n_features={self.n_features})"
        )

    @property
    def n_train(self) -> int:
        """Number of training points, ``|T|``."""
        return len(self.y_train)

    @property
    def n_val(self) -> int:
        """Number of validation points, ``|V|``."""
        return len(self.y_val)

    @property
    def n_features(self) -> int:
        """Number of features, ``p``."""
        return int(self.X_train.shape[1])

    def train_loss(self, w: Vector, b: float) -> float:
        """``L_T``: weighted mean hinge loss on the training set."""
        return HINGE.mean(self.y_train * (self.X_train @ w - b), self.train_weight)

    def val_loss(self, w: Vector, b: float) -> float:
        """``L_V``: weighted mean hinge loss on the validation set."""
        return HINGE.mean(self.y_val * (self.X_val @ w - b), self.val_weight)

    def flipped_loss(self, w: Vector, b: float, flipped: Mask) -> float:
        """``F``: weighted mean hinge loss on the flipped points V_f, labels flipped."""
        margins = -self.y_val[flipped] * (self.X_val[flipped] @ w - b)
        return HINGE.mean(margins, self.flipped_weight(flipped))

    def flipped_weight(self, flipped: Mask) -> Vector:
        """Weights of the flipped points, normalised over V_f."""
        weight = self.val_weight[flipped]
        return np.asarray(weight / weight.sum())

    def training_limit(self, budget: Budget, least_loss: float) -> float:
        """Largest training loss of a near-optimal model, and the slack that solvers need."""
        limit = budget.limit(least_loss)
        return limit + BUDGET_SLACK * self.loss_unit(limit)

    def loss_unit(self, loss: float) -> float:
        """Return the unit of tolerances of a training loss: a power of two, 1 as a rule.

        A hundred times the least weight of a point, or the loss itself where that is less. Numbers
        from 1/16 to 16 count as 1, so a tolerance moves a hinge by up to 1,600 times itself.
        """
        size = min(max(loss, self._least_weight), 100.0 * self._least_weight)
        usual = 1.0 / USUAL <= size <= USUAL
        return 1.0 if usual else math.ldexp(1.0, math.frexp(size)[1])

    @cached_property
    def _least_weight(self) -> float:
        """Least training weight that counts."""
        return float(self.train_weight[self.train_weight > 0.0].min())

    @cached_property
    def column_units(self) -> Vector:
        """Powers of two that bring columns of unusual size below 1 by division."""
        units = power_of_two(np.abs(np.vstack([self.X_train, self.X_val])).max(axis=0))
        units.setflags(write=False)
        return units

    @cached_property
    def by_class(self) -> list[tuple[Matrix, Vector]]:
        """Training points of either class that count, with weights, and the mean of all as one."""
        seen, classes = self.train_weight > 0.0, []
        for label in (-1.0, 1.0):
            of_class = seen & (self.y_train == label)
            rows, weight = self.X_train[of_class], self.train_weight[of_class]
            total = weight.sum()
            classes.append((np.vstack([rows, weight / total @ rows]), np.append(weight, total)))
        return classes

    def box(self, box: ArrayLike) -> Vector:
        """Validate a box given by the user: scalar or per feature, within the limits."""
        values = feature_vector("box", box, self.n_features)
        outside = (values < self.lower) | (values > self.upper)
        if outside.any():
            j = int(np.argmax(outside))
            raise InvalidInputError(
                f"box is {values[j]:g} for feature {j}, outside its limits "
                f"[{self.lower[j]:g}, {self.upper[j]:g}]; pass a box within lower and upper"
            )
        return values


hinge = HINGE.value
"""Hinge loss of each margin ``y·score``."""


def margin_rows(X: Matrix, y: Vector) -> Matrix:
    """Rows R with ``R·(w, b) = y·(x·w − b)``."""
    return np.concatenate([y[:, None] * X, -y[:, None]], axis=1)


def distinct_rows(rows: Matrix) -> tuple[Matrix, NDArray[np.intp]]:
    """Return the distinct rows, sorted, and which of them each row is.

    By hand, because Ctrl-C within ``np.unique`` over an axis comes out as a TypeError.

    Examples
    --------
    >>> rows, which = distinct_rows(np.array([[2.0], [1.0], [2.0]]))
    >>> rows.tolist(), which.tolist()
    ([[1.0], [2.0]], [1, 0, 1])
    """
    order = np.lexsort(rows.T[::-1])
    in_order = rows[order]
    first = np.ones(len(rows), np.bool_)
    first[1:] = (in_order[1:] != in_order[:-1]).any(axis=1)
    which = np.empty(len(rows), np.intp)
    which[order] = np.cumsum(first) - 1
    return in_order[first], which


def power_of_two(size: Vector) -> Vector:
    """Factors that bring sizes below 1 by division; 1 where a size is usual, or 0.

    Examples
    --------
    >>> power_of_two(np.array([0.0, 0.3, 1e-3, 1000.0])).tolist()
    [1.0, 1.0, 0.001953125, 1024.0]
    """
    usual = (size >= 1.0 / USUAL) & (size <= USUAL) | (size == 0.0)
    return np.where(usual, 1.0, np.ldexp(1.0, np.frexp(size)[1]))


def feature_vector(name: str, value: ArrayLike, n_features: int) -> Vector:
    """Broadcast a scalar or per-feature argument to p finite, non-negative numbers."""
    values = _floats(name, value)
    if values.ndim == 0:
        values = np.full(n_features, float(values))
    if values.shape != (n_features,):
        raise InvalidInputError(
            f"{name} has shape {values.shape}; pass a number or {n_features} numbers, one per "
            "feature"
        )
    _require_finite(name, values)
    if (values < 0.0).any():
        raise InvalidInputError(
            f"{name} contains {values.min():g}; limits on |w| must not be negative"
        )
    return values


def feature_rows(name: str, value: ArrayLike, n_features: int) -> Matrix:
    """Read a table of finite numbers with one column per feature."""
    values = _matrix(name, value)
    if values.shape[1] != n_features:
        raise InvalidInputError(
            f"{name} has {values.shape[1]} columns; pass {n_features}, one for each feature"
        )
    return values


def _floats(name: str, value: ArrayLike) -> Vector:
    if hasattr(value, "tocsr"):
        raise InvalidInputError(
            f"{name} is a sparse table, which is not supported here; pass {name}.toarray()"
        )
    try:
        return np.array(value, dtype=np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise InvalidInputError(
            f"{name} cannot be read as numbers ({error}); encode text and missing values first"
        ) from None


def _require_finite(name: str, values: Vector) -> None:
    finite = np.isfinite(values)
    if not finite.all():
        where = tuple(int(k) for k in np.argwhere(~finite)[0])
        raise InvalidInputError(
            f"{name} contains {values[where]} at position {where}; "
            "impute or drop missing and infinite values first"
        )


def _matrix(name: str, value: ArrayLike) -> Matrix:
    values = _floats(name, value)
    if values.ndim != 2:
        raise InvalidInputError(
            f"{name} has {values.ndim} dimension(s); pass a table of shape (rows, features)"
        )
    if 0 in values.shape:
        raise InvalidInputError(
            f"{name} has shape {values.shape}; pass at least one row and column"
        )
    _require_finite(name, values)
    return np.ascontiguousarray(values)


def _labels(name: str, value: ArrayLike, n_rows: int) -> Vector:
    values = _floats(name, value)
    if values.shape != (n_rows,):
        raise InvalidInputError(
            f"{name} has shape {values.shape}; pass {n_rows} labels, one per row"
        )
    wrong = ~np.isin(values, (-1.0, 1.0))
    if wrong.any():
        raise InvalidInputError(
            f"{name} contains the label {values[wrong][0]:g}; recode the two classes as -1 and +1"
        )
    return values


def _weights(name: str, value: ArrayLike | None, n_rows: int) -> Vector:
    if value is None:
        return np.full(n_rows, 1.0 / n_rows)
    values = _floats(name, value)
    if values.shape != (n_rows,):
        raise InvalidInputError(
            f"{name} has shape {values.shape}; pass {n_rows} weights, one per row"
        )
    _require_finite(name, values)
    if (values < 0.0).any() or not values.sum() > 0.0:
        raise InvalidInputError(
            f"{name} has minimum {values.min():g} and sum {values.sum():g}; "
            "pass non-negative weights, not all zero"
        )
    return np.asarray(values / values.sum())


def non_negative_number(name: str, value: float) -> float:
    """Read a finite number that is not negative."""
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        number = np.nan
    if not 0.0 <= number < np.inf:
        raise InvalidInputError(f"{name} is {value!r}; pass a finite number that is not negative")
    return number
