"""Evasion of a linear classifier: move each point so that it is misclassified, as far as allowed.

Against a score ``X @ coef + intercept`` the strongest attack within a radius has a closed form.
With ``w = coef``, a point with label ``y`` moves by the Δ that minimises ``y·Δ·w`` over
``‖Δ‖ ≤ radius``; every coordinate moves against the sign of ``y·w``, by

* ``radius·|w| / ‖w‖₂`` in the 2-norm,
* ``radius`` in the maximum norm,
* ``radius`` in one coordinate of largest ``|w|`` and 0 elsewhere in the 1-norm.

Limits on the features cap the step ``a_j ≤ c_j`` of a coordinate. What remains, the largest
``Σ|w_j|·a_j``, is solved exactly: by capping (maximum norm), by filling the coordinates in the
order of ``|w|`` (1-norm), and by ``a_j = min(c_j, t·|w_j|)`` with ``t`` such that the radius is
used up (2-norm).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from pessimal.errors import InvalidInputError
from pessimal.fitted import linear_model, read_linear_model
from pessimal.labels import signs
from pessimal.problem import Mask, Matrix, Vector, feature_rows, non_negative_number


def evade(
    model: Any,
    X: ArrayLike,
    y: ArrayLike,
    radius: float,
    norm: float = 2,
    limits: tuple[ArrayLike, ArrayLike] | None = None,
    where: ArrayLike | None = None,
) -> Matrix:
    """Move points against their labels: the strongest attack on a linear model within a radius.

    Parameters
    ----------
    model : estimator or (coef, intercept)
        A fitted linear classifier of two classes, or its coefficients of shape (p,) and intercept.
    X : array-like of shape (n, p)
        Points to attack; finite numbers, in the units in which `radius` is meant.
    y : array-like of shape (n,)
        Their labels: classes of the model, or −1 and +1 with a pair of coef and intercept.
    radius : float
        Largest norm of the step of a point.
    norm : {1, 2, inf}, default=2
        The norm.
    limits : (lower, upper), optional
        Least and largest value of each feature of an attacked point; numbers or arrays of shape
        (p,), infinite where there is none.
    where : array-like of bool of shape (n,), optional
        Which points to attack; by default all.

    Returns
    -------
    ndarray of shape (n, p)
        The attacked points. Where all coefficients are 0, nothing helps and X is returned.

    Examples
    --------
    >>> evade(([3.0, 4.0], 0.0), [[1.0, 1.0]], [1], radius=5.0)
    array([[-2., -3.]])
    >>> evade(([3.0, 4.0], 0.0), [[1.0, 1.0]], [1], radius=5.0, norm=1)
    array([[ 1., -4.]])
    >>> evade(([3.0, 4.0], 0.0), [[1.0, 1.0]], [1], radius=5.0, limits=(0.0, 10.0))
    array([[0., 0.]])
    """
    if not isinstance(model, tuple):
        linear = read_linear_model(model)
    elif len(model) == 2:
        linear = linear_model(*model, (-1, 1), "pair")
    else:
        raise InvalidInputError(f"model is a tuple of {len(model)}; pass a pair (coef, intercept)")
    points = feature_rows("X", X, len(linear.coef))
    y_sign = signs("y", y, linear.classes)
    if len(y_sign) != len(points):
        raise InvalidInputError(f"y has {len(y_sign)} labels but X has {len(points)} rows")
    size = non_negative_number("radius", radius)
    if norm not in _STEPS:
        raise InvalidInputError(f"norm is {norm!r}; pass 1, 2 or inf")
    attacked = _attacked(where, len(points))
    lower, upper = _limits(limits, points[attacked])

    if size == 0.0 or not linear.coef.any():
        return points

    here = points[attacked]
    direction = -np.sign(np.outer(y_sign[attacked], linear.coef))
    cap = np.where(direction > 0.0, upper - here, here - lower)
    # Only the ratios matter; scaled, no square overflows.
    slope = np.abs(linear.coef) / np.abs(linear.coef).max()
    step = size * direction * _STEPS[norm](slope, cap / size)
    points[attacked] = np.clip(here + step, lower, upper)
    return points


def _steps_max(slope: Vector, cap: Matrix) -> Matrix:
    """Maximum norm, radius 1: every coordinate as far as it may."""
    return np.where(slope > 0.0, np.minimum(cap, 1.0), 0.0)


def _steps_1(slope: Vector, cap: Matrix) -> Matrix:
    """1-norm, radius 1: fill the coordinates in the order of their slope."""
    steps = np.zeros_like(cap)
    left = np.ones(len(cap))
    for j in np.argsort(-slope, kind="stable"):
        if slope[j] > 0.0:
            steps[:, j] = np.minimum(cap[:, j], left)
            left -= steps[:, j]
    return steps


def _steps_2(slope: Vector, cap: Matrix) -> Matrix:
    """2-norm, radius 1: ``min(cap, t·slope)`` with the t that uses it up, or all caps.

    Coordinates beyond their cap are put on it and the rest is shared anew. A coordinate put on its
    cap stays there, since t only grows: after at most p rounds none is beyond.
    """
    capped = np.zeros(cap.shape, dtype=bool)
    while True:
        used = np.sum(np.where(capped, cap, 0.0) ** 2, axis=1)
        free = np.sum(np.where(capped, 0.0, slope) ** 2, axis=1)
        left = np.sqrt(np.maximum(1.0 - used, 0.0))
        t = np.divide(left, np.sqrt(free), out=np.zeros(len(cap)), where=free > 0.0)
        steps = np.where(capped, cap, t[:, None] * slope)
        beyond = ~capped & (steps > cap)
        if not beyond.any():
            return steps
        capped |= beyond


_STEPS = {1: _steps_1, 2: _steps_2, np.inf: _steps_max}


def _attacked(where: ArrayLike | None, n_points: int) -> Mask:
    if where is None:
        return np.ones(n_points, dtype=bool)
    mask = np.asarray(where)
    if mask.dtype != np.bool_ or mask.shape != (n_points,):
        raise InvalidInputError(
            f"where has type {mask.dtype} and shape {mask.shape}; pass {n_points} booleans, "
            "one per point"
        )
    return mask


def _limits(limits: tuple[ArrayLike, ArrayLike] | None, points: Matrix) -> tuple[Vector, Vector]:
    try:
        low, high = (
            np.broadcast_to(np.asarray(limit, dtype=np.float64), points.shape[1:])
            for limit in ((-np.inf, np.inf) if limits is None else limits)
        )
    except (TypeError, ValueError):
        raise InvalidInputError(
            f"limits do not fit {points.shape[1]} features; pass a pair (lower, upper) of numbers "
            "or of arrays with one number per feature"
        ) from None
    outside = ~((points >= low) & (points <= high))
    if outside.any():
        i, j = np.argwhere(outside)[0]
        raise InvalidInputError(
            f"limits are [{low[j]:g}, {high[j]:g}] for feature {j}, but an attacked point has "
            f"{points[i, j]:g} there; pass limits that hold the points as they are"
        )
    return low, high
