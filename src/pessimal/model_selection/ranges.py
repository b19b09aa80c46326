"""A whole range of a penalty instead of a list of values, with a proved gap.

The objective of training is linear in the penalty: ``R_t(u) = mean loss + t·penalty(u)``. Its least
value ``R_t*`` is then concave in t, and ``R_t(u) − (1 + ε)·R_t* − δ`` convex. So a model that is
near-optimal at both ends of a cell of values is near-optimal in all of it, and no value of the
cell has a worst case below that model's loss: it is a witness of the cell. The mean of worst cases
over folds has a witness on every fold. Branch on cells; what was proved for the best value so far
prunes those that cannot beat it.
"""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline

from pessimal.errors import InvalidInputError
from pessimal.limits import is_number
from pessimal.losses import Loss, SmoothLoss, find_loss
from pessimal.model_selection.worst import WorstCase
from pessimal.near_optimal.base import NearOptimalSet
from pessimal.near_optimal.pipeline import PipelineSet
from pessimal.near_optimal.smooth.estimators import known_name
from pessimal.near_optimal.smooth.objective import MeanLoss
from pessimal.near_optimal.smooth.smooth_set import SmoothSet
from pessimal.near_optimal.smooth.training import ROUNDING
from pessimal.problem import Matrix, Vector

LINEAR = ("alpha", "C", "l1_ratio")
"""Parameters in which, or in whose inverse, the objective of training is linear."""

FIRST_VALUES = 7
"""Of a range, looked at before it is divided."""

BETWEEN = (0.5, 0.25, 0.75, 0.0, 1.0)
"""Where, between the trained models of both ends, one is looked for that both ends afford."""

NEAR = 1e-6
"""Share of the way to a bad model up to which the last one that both ends afford is looked for."""


@dataclass(frozen=True)
class Range:
    """All values from `low` to `high` of a penalty: ``C``, ``alpha`` or ``l1_ratio``.

    In the `param_grid` of a `PessimisticSearchCV` it stands for a list of values. The search
    then proves how far the value that it chooses can be from the best of all.

    Parameters
    ----------
    low, high : float
        Both above 0; `low` may be 0 for ``l1_ratio``.

    Examples
    --------
    >>> Range(1e-3, 1e3)
    Range(low=0.001, high=1000.0)
    """

    low: float
    high: float

    def __post_init__(self) -> None:
        numbers = is_number(self.low, Real) and is_number(self.high, Real)
        if not (numbers and 0 <= self.low < self.high < np.inf):
            raise InvalidInputError(
                f"Range has low={self.low!r} and high={self.high!r}; pass 0 < low < high"
            )

    def values(self, name: str) -> list[float]:
        """Return the values to begin with, evenly spaced as the parameter's name wants it."""
        spaced = np.linspace if _is_share(name) else np.geomspace
        values = spaced(self.low, self.high, FIRST_VALUES)
        return [float(self.low), *map(float, values[1:-1]), float(self.high)]

    def require_linear(self, name: str, estimator: Any) -> None:
        """Refuse a parameter in which training is not known to be linear."""
        last, prefix = estimator, ""
        while isinstance(last, Pipeline):
            prefix, last = f"{prefix}{last.steps[-1][0]}__", last.steps[-1][1]
        allowed = [f"{prefix}{each}" for each in LINEAR if each in last.get_params(deep=False)]
        if known_name(last) is None or name not in allowed:
            raise InvalidInputError(
                f"param_grid has a Range for {name!r} of {type(last).__name__}; a Range is for C, "
                "alpha or l1_ratio of Ridge, RidgeClassifier, Lasso, ElasticNet, "
                "LogisticRegression or LinearSVC, so pass a list of values"
            )
        if self.low == 0.0 and not _is_share(name):
            raise InvalidInputError(f"param_grid has {self!r} for {name!r}; pass 0 < low < high")


def middle(name: str, low: float, high: float) -> float:
    """Return the value in the middle of a cell."""
    return 0.5 * (low + high) if _is_share(name) else float(np.sqrt(low) * np.sqrt(high))


def _is_share(name: str) -> bool:
    """Whether a parameter goes from 0 to 1 evenly, and not over orders of magnitude."""
    return name.rpartition("__")[-1] == "l1_ratio"


@dataclass(frozen=True, eq=False)
class End:
    """An end of a cell on a fold: what its near-optimal set affords, and two models of it."""

    trained: Vector
    worst: Vector
    limit: float
    penalty: Matrix
    l1: Vector

    @classmethod
    def of(cls, members: NearOptimalSet, worst: Any = None) -> End | None:
        """Keep of a set and a bad model of it, or the trained one, what a cell needs.

        Nothing is kept if it is none of these sets.
        """
        while isinstance(members, PipelineSet):
            members, worst = members.inner, worst and worst.model
        if not isinstance(members, SmoothSet):
            return None
        problem = members.problem
        return cls(
            members.u,
            members.u if worst is None else problem.coordinates.variables(worst),
            members.inner_limit,
            problem.penalty,
            problem.l1,
        )

    def affords(self, u: Vector, mean_loss: float) -> bool:
        """Whether a model with a mean training loss is near-optimal here, for certain."""
        penalty = 0.5 * float(u @ self.penalty @ u) + float(self.l1 @ np.abs(u))
        return mean_loss + penalty <= self.limit


@dataclass(frozen=True, eq=False)
class Losses:
    """The losses of models on a training fold and on its test fold, whatever the penalty."""

    train: MeanLoss
    test: MeanLoss

    @classmethod
    def of(cls, task: WorstCase, members: Any, X_test: Any, y_test: Any) -> Losses:
        """Read the rows of a set and those that it is judged by."""
        while isinstance(members, PipelineSet):
            members, X_test = members.inner, members.steps.transform(X_test)
        problem = members.problem
        judge = smooth_loss(task.loss or members.loss)
        rows = problem.encoded(problem.points(X_test, y_test), judge)
        return cls(MeanLoss(problem.rows, problem.loss), MeanLoss(rows, judge))

    def witness(self, left: End, right: End) -> float:
        """Return the largest test loss found of models that are near-optimal in a whole cell.

        That is 0, which no loss is below, if no such model is met.
        """

        def both_afford(u: Vector) -> bool:
            mean = self.train.value(u)
            return left.affords(u, mean) and right.affords(u, mean)

        step = right.trained - left.trained
        starts = (left.trained + part * step for part in BETWEEN)
        start = next(filter(both_afford, starts), None)
        reached = [0.0] if start is None else [self.test.value(start)]
        for end in (left.worst, right.worst, 0.5 * (left.worst + right.worst)):
            near, far = (1.0, 1.0) if both_afford(end) else (0.0, 1.0)
            if start is None:
                reached += [self.test.value(end)] if near else []
                continue
            while far - near > NEAR:
                half = 0.5 * (near + far)
                inside = both_afford(start + half * (end - start))
                near, far = (half, far) if inside else (near, half)
            reached.append(self.test.value(start + near * (end - start)))
        return max(reached) * (1.0 - ROUNDING)


def smooth_loss(loss: str | Loss) -> SmoothLoss:
    """Return the loss that a range is searched by, if it can be."""
    judge = find_loss(loss)
    if not isinstance(judge, SmoothLoss):
        raise InvalidInputError(
            f"loss is {type(judge).__name__}; with a Range pass a smooth one, such as "
            "loss='log' or scoring='neg_log_loss'"
        )
    return judge


def trained_on(members: NearOptimalSet, task: WorstCase, X_test: Any, y_test: Any) -> float:
    """Return the test loss of the trained model of a set that a range can have."""
    losses = Losses.of(task, members, X_test, y_test)
    while isinstance(members, PipelineSet):
        members = members.inner
    assert isinstance(members, SmoothSet)
    return losses.test.value(members.u)
