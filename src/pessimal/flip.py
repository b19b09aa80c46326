"""Which validation points are flipped: the set V_f of the paper.

The paper turns the inner maximum over V into a minimum by flipping labels. Flipping all of V is
exact for the 0-1 loss (Theorem 1); with the hinge it recommends to flip only the points with
``y·score < 1`` by the optimistic hyperplane.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from pessimal.errors import InvalidInputError
from pessimal.problem import Mask, TuningProblem, Vector
from pessimal.tolerances import AT_BREAKPOINT

RULES = ("all", "margin", "paper")

PAPER_TRAIN_SIZE = 20
PAPER_VAL_SIZE = 15
"""The appendix flips by the margin above both sizes, and all of V otherwise."""


def flip_mask(
    problem: TuningProblem,
    rule: str | ArrayLike,
    optimistic: Callable[[], tuple[Vector, float]],
) -> Mask:
    """Return which validation points are flipped by a rule; a mask is taken as it is.

    ``"all"`` flips V. ``"margin"`` flips the points that the optimistic hyperplane misclassifies or
    holds inside its margin, and V where there are none. ``"paper"`` is the appendix's choice: the
    margin rule when ``|T| > 20`` and ``|V| > 15``, otherwise all. The hyperplane ``(w, b)`` is
    asked for only by a rule that needs it.
    """
    if not isinstance(rule, str):
        return validation_mask(problem, rule, "flip")
    if rule not in RULES:
        raise InvalidInputError(
            f"flip is {rule!r}; pass one of {', '.join(map(repr, RULES))} or a mask over V"
        )
    by_margin = rule == "margin" or (
        rule == "paper" and problem.n_train > PAPER_TRAIN_SIZE and problem.n_val > PAPER_VAL_SIZE
    )
    if by_margin:
        w, b = optimistic()
        inside = problem.y_val * (problem.X_val @ w - b) < 1.0 - AT_BREAKPOINT
        # A point of weight 0 flips nothing: F would be a mean over no points.
        if problem.val_weight[inside].any():
            return np.asarray(inside)
    return np.ones(problem.n_val, dtype=np.bool_)


def validation_mask(problem: TuningProblem, value: ArrayLike, name: str) -> Mask:
    """Read an argument that selects validation points: booleans, or 0 and 1, one per point."""
    values = np.asarray(value)
    if values.shape != (problem.n_val,):
        raise InvalidInputError(
            f"{name} has shape {values.shape}; pass a mask of {problem.n_val} booleans, "
            "one per validation point"
        )
    if values.dtype != np.bool_ and not np.isin(values, (0, 1)).all():
        raise InvalidInputError(
            f"{name} holds {values.dtype} values other than 0 and 1; pass a mask of booleans, "
            "not indices"
        )
    mask = values.astype(np.bool_)
    if not problem.val_weight[mask].any():
        raise InvalidInputError(
            f"{name} selects no validation point of positive weight; flip at least one"
        )
    return mask
