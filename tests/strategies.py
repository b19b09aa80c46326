"""Hypothesis strategies: tuning problems of a few points, rich in the cases that break code.

Features lie on a coarse grid half of the time, so that margins, weights and optima tie; rows and
columns repeat, columns are constant, and validation points sit on training points. Sizes stay
within what `oracles` can enumerate.
"""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from pessimal.problem import Budget, Mask, Matrix, TuningProblem, Vector

MAX_POINTS = 4


@st.composite
def problems(draw: st.DrawFn, n_features: int | None = None) -> TuningProblem:
    """Draw a problem with at most two features and four points in each set."""
    p = n_features if n_features is not None else draw(st.integers(1, 2))
    n_train, n_val = draw(st.integers(2, MAX_POINTS)), draw(st.integers(1, MAX_POINTS))
    table = _features(draw, n_train + n_val, p)
    y_train = _two_classes(draw, n_train)
    y_val = draw(_array(st.sampled_from((-1.0, 1.0)), n_val))
    upper = draw(_array(st.sampled_from((0.5, 1.0, 2.5)), p))
    lower = upper * draw(st.sampled_from((0.0, 0.0, 0.4)))
    return TuningProblem(
        table[:n_train],
        y_train,
        table[n_train:],
        y_val,
        lower=lower,
        upper=upper,
        train_weight=draw(st.none() | _array(st.sampled_from((1.0, 2.0, 5.0)), n_train)),
        val_weight=draw(st.none() | _array(st.sampled_from((1.0, 2.0, 5.0)), n_val)),
    )


@st.composite
def uneven_problems(draw: st.DrawFn) -> TuningProblem:
    """Draw a problem with points of weight 0, one lower limit, and perhaps a closed feature."""
    problem = draw(problems())
    upper = problem.upper.copy()
    if len(upper) > 1 and draw(st.booleans()):
        upper[draw(st.integers(0, 1))] = 0.0
    lower = 0.0 if draw(st.booleans()) else float(min(upper.min(), problem.lower.min()))
    train_weight = draw(_array(st.sampled_from((0.0, 1.0, 5.0)), problem.n_train))
    for label in (-1.0, 1.0):
        train_weight[np.argmax(problem.y_train == label)] = 2.0
    val_weight = draw(_array(st.sampled_from((0.0, 1.0, 5.0)), problem.n_val))
    val_weight[0] += 0.5
    return TuningProblem(
        problem.X_train,
        problem.y_train,
        problem.X_val,
        problem.y_val,
        lower=lower,
        upper=upper,
        train_weight=train_weight,
        val_weight=val_weight,
    )


def budgets() -> st.SearchStrategy[Budget]:
    """Draw a budget, the paper's (ε, δ) = (0, 0) first."""
    return st.builds(Budget, st.sampled_from((0.0, 0.2, 1.0)), st.sampled_from((0.0, 0.1)))


@st.composite
def flip_masks(draw: st.DrawFn, problem: TuningProblem) -> Mask:
    """Draw the flipped points V_f: all of V half of the time, never none."""
    everything = np.ones(problem.n_val, dtype=np.bool_)
    if draw(st.booleans()):
        return everything
    mask = draw(_array(st.booleans(), problem.n_val)).astype(np.bool_)
    return mask if mask.any() else everything


@st.composite
def boxes(draw: st.DrawFn, problem: TuningProblem) -> Vector:
    """Draw a box within the limits, corners included."""
    share = draw(_array(st.sampled_from((0.0, 0.3, 0.5, 1.0)), problem.n_features))
    # The end points are taken as they are: lower + (upper − lower) may round past upper.
    between = problem.lower + share * (problem.upper - problem.lower)
    return np.where(share == 1.0, problem.upper, between)


def _features(draw: st.DrawFn, n_rows: int, p: int) -> Matrix:
    """Draw T and V as one table, then make some of its rows or columns repeat."""
    steps, unit = draw(st.sampled_from(((4, 0.5), (2000, 0.001))))
    table = unit * draw(_array(st.integers(-steps, steps), n_rows * p)).reshape(n_rows, p)
    # The first and the last row lie in different sets: repeating them puts a V point on a T point.
    match draw(st.sampled_from(("plain", "same row", "V on T", "same column", "constant column"))):
        case "same row":
            table[1] = table[0]
        case "V on T":
            table[-1] = table[0]
        case "same column":
            table[:, -1] = table[:, 0]
        case "constant column":
            table[:, -1] = table[0, -1]
        case _:
            pass
    return table


def _two_classes(draw: st.DrawFn, n_rows: int) -> Vector:
    labels = draw(_array(st.sampled_from((-1.0, 1.0)), n_rows))
    if abs(labels.sum()) == n_rows:
        labels[-1] *= -1.0
    return labels


def _array(
    elements: st.SearchStrategy[float] | st.SearchStrategy[bool], size: int
) -> st.SearchStrategy[Vector]:
    values = st.lists(elements, min_size=size, max_size=size)
    return values.map(lambda drawn: np.array(drawn, dtype=np.float64))
