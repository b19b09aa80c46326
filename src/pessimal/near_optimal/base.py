"""The near-optimal set: all models that train within a budget of the best.

Everything the package says is a statement about such a set. There are several kinds, for several
ways of training; what can be asked of them is the same, and so is what an answer holds: what a
member attains, and what no member passes.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import dataclass, field
from functools import cache
from numbers import Integral
from typing import Any, ClassVar, Protocol, Self

import numpy as np
from numpy.typing import ArrayLike

from pessimal.errors import InvalidInputError
from pessimal.limits import Deadline, TimeLimit, is_number, read_node_limit
from pessimal.losses import Logistic, Loss, find_loss
from pessimal.near_optimal.prediction import (
    Kind,
    PredictionRange,
    batched,
    of_scores,
    require_kind,
    rows_of,
)
from pessimal.problem import Budget, Matrix, Vector
from pessimal.tolerances import OPTIMAL_GAP

ROWS_AT_ONCE = 256
"""Of which predictions are bounded together: the members met for one are asked about the others."""

SAMPLED = 20
"""Members that are asked as well where a range is not exact."""


def read_budget(budget: Budget) -> Budget:
    """Return a budget given by the user."""
    if not isinstance(budget, Budget):
        raise InvalidInputError(f"budget is {budget!r}; pass a Budget(epsilon=, delta=)")
    return budget


def read_size(n: int) -> int:
    """Return a number of members asked for by the user."""
    if not (is_number(n, Integral) and n > 0):
        raise InvalidInputError(f"n is {n!r}; pass a positive whole number")
    return int(n)


class Model(Protocol):
    """What scores points; the sign of a score is the predicted class."""

    def decision_function(self, X: Matrix, /) -> Vector:
        """Return the score of each row."""


@dataclass(frozen=True, eq=False)
class Linear:
    """The model with score ``X @ coef + intercept``."""

    coef: Vector
    intercept: float

    @classmethod
    def read(cls, model: Any) -> Linear:
        """Return a linear model given by the user: one of these, or a fitted one."""
        if isinstance(model, Linear):
            return model
        if not (hasattr(model, "coef_") and hasattr(model, "intercept_")):
            raise InvalidInputError(
                f"model is a {type(model).__name__}; pass a Linear, or a fitted linear model with "
                "coef_ and intercept_"
            )
        return cls(np.ravel(model.coef_), float(np.ravel(model.intercept_)[0]))

    def decision_function(self, X: Matrix) -> Vector:
        """Return the score of each row."""
        return np.asarray(X @ self.coef + self.intercept)


@dataclass(frozen=True, eq=False)
class Extreme:
    """The best or the worst of a set of models, as far as is known.

    Attributes
    ----------
    value : float
        What the model attains, recomputed from the data.
    lower_bound, upper_bound : float
        The extreme lies between them. One of both is `value`, since a member attains it; for a
        model that may train too badly, because time ran out before the least training loss was
        known, it is what is certain without.
    model : Model
        In scikit-learn's sign: a positive score is the positive class.
    """

    value: float
    lower_bound: float
    upper_bound: float
    model: Any = field(repr=False)

    @property
    def proved(self) -> bool:
        """Whether the bounds have met, relative to their size where that is above 1."""
        return self.upper_bound - self.lower_bound <= OPTIMAL_GAP * max(1.0, abs(self.value))

    @property
    def bound(self) -> float:
        """The proved bound: no member goes beyond."""
        above = self.upper_bound - self.value >= self.value - self.lower_bound
        return self.upper_bound if above else self.lower_bound

    @property
    def coef(self) -> Vector:
        """Coefficients of a linear model."""
        coef: Vector = self.model.coef
        return coef

    @property
    def intercept(self) -> float:
        """Intercept of a linear model."""
        return float(self.model.intercept)


@dataclass(frozen=True, eq=False)
class ScoreRange:
    """How the members of a near-optimal set score each of some rows.

    Attributes
    ----------
    low, high : ndarray of shape (n,)
        No member gives a row a score beyond.
    exact : ndarray of bool of shape (n,)
        Rows for which members attain both, up to rounding.
    models : sequence of Model
        The members that were met.
    """

    low: Vector
    high: Vector
    exact: Any
    models: Sequence[Model] = field(repr=False)


class NearOptimalSet(ABC):
    """All models with a training loss of at most ``(1 + ε)·least + δ``.

    A kind of set is a subclass, which answers `_worst`, `_best`, `_score_range` and `_sample`. One
    that `accepts` an estimator is what `near_optimal_set` makes of it; of several, the one defined
    last, and kinds of this package after all others.

    Attributes
    ----------
    budget : Budget
        ε and δ.
    trained : Extreme
        The least training loss, and a member that has it.
    loss : Loss
        What training minimises, and by default what members are judged by.
    proves : bool
        Whether extremes come with bounds, or are only found.
    classes : tuple
        Labels of the classes, that of negative scores first; none for a regression.
    """

    proves: bool = True
    classes: tuple[Any, ...] = ()
    kinds: ClassVar[list[type[NearOptimalSet]]] = []
    budget: Budget
    trained: Extreme
    loss: Loss
    step_seconds: float = 0.0
    """What a step takes that no deadline ends sooner, at least: with less time none begins."""
    _of_budget: ClassVar[tuple[str, ...]] = ()
    """Names of what is kept once it is known, and depends on the budget."""

    def __init_subclass__(cls) -> None:
        NearOptimalSet.kinds.append(cls)

    @classmethod
    def accepts(cls, estimator: Any) -> bool:
        """Return whether this is the kind of set for an estimator."""
        del estimator
        return False

    @classmethod
    @abstractmethod
    def of(
        cls,
        estimator: Any,
        X: Any,
        y: Any,
        budget: Budget,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Make the set of the models that train on (X, y) about as well as an estimator can."""

    @property
    def limit(self) -> float:
        """Largest training loss of a member."""
        return self.budget.limit(self.trained.value)

    @abstractmethod
    def train_loss(self, model: Any) -> float:
        """Return what training minimises, for any model."""

    @abstractmethod
    def contains(self, model: Any) -> bool:
        """Return whether a model is a member, up to rounding."""

    def with_budget(self, budget: Budget) -> Self:
        """Return the set of another budget, without training again."""
        other = copy(self)
        other.budget = read_budget(budget)
        for known in self._of_budget:
            other.__dict__.pop(known, None)
        return other

    def worst(
        self,
        X: Any,
        y: Any,
        loss: str | Loss | None = None,
        *,
        time_limit: TimeLimit = None,
        node_limit: int | None = None,
    ) -> Extreme:
        """Find the member of largest mean loss on points with the labels of training."""
        judge, deadline = find_loss(loss or self.loss), Deadline.read(time_limit)
        return self._worst(X, y, judge, deadline, read_node_limit(node_limit))

    def best(
        self,
        X: Any,
        y: Any,
        loss: str | Loss | None = None,
        *,
        time_limit: TimeLimit = None,
    ) -> Extreme:
        """Find the member of least mean loss on points with the labels of training."""
        return self._best(X, y, find_loss(loss or self.loss), Deadline.read(time_limit))

    def score_range(self, X: ArrayLike, *, time_limit: TimeLimit = None) -> ScoreRange:
        """Bound the scores that members give to rows; when time is up, coarsely."""
        return self._score_range(X, Deadline.read(time_limit))

    def rough_score_range(self, X: ArrayLike, *, time_limit: TimeLimit = None) -> ScoreRange:
        """Bound the scores of many rows quickly: no member passes, but none need attain them."""
        return self.coarse_score_range(X, time_limit=time_limit)

    def coarse_score_range(self, X: ArrayLike, *, time_limit: TimeLimit = None) -> ScoreRange:
        """Bound the score of each row of X by what is known of the set, with no program solved."""
        return self._coarse_score_range(X, Deadline.read(time_limit))

    def prepare(self, X: ArrayLike, y: ArrayLike, *, time_limit: TimeLimit = None) -> None:
        """Do ahead what several searches for extremes on the same rows share; here it is nothing.

        No answer depends on it, only how good a bound is found in a limited time.
        """
        del X, y, time_limit

    def sample(
        self, n: int, random_state: int | None = None, *, time_limit: TimeLimit = None
    ) -> list[Any]:
        """Return members, spread out; when time is up fewer, but one."""
        rng = np.random.default_rng(random_state)
        return self._sample(read_size(n), rng, Deadline.read(time_limit))

    def predict_range(
        self, X: Any, kind: Kind = "score", *, time_limit: TimeLimit = None
    ) -> PredictionRange:
        """Bound what members say of new rows, and tell where they all say the same class.

        Parameters
        ----------
        X : array-like of shape (n, p)
        kind : {"score", "probability"}, default="score"
            The probability is that of the positive class, for models that have one.
        time_limit : float, optional
            Seconds after which bounds are coarse, and some rows may be "not known".

        Returns
        -------
        PredictionRange
        """
        require_kind(kind, isinstance(self.loss, Logistic) and bool(self.classes))
        deadline = Deadline.read(time_limit)
        return self._said(X, kind, self._score_range, deadline)

    def agreement(self, X: Any, *, time_limit: TimeLimit = None) -> PredictionRange:
        """Tell where members all say the same class, with ranges no narrower than that takes.

        It is quicker than `predict_range`: most rows are decided by coarse bounds.
        """
        deadline = Deadline.read(time_limit)
        X = X if hasattr(X, "shape") else np.asarray(X)
        coarse = self._said(X, "score", self._coarse_score_range, deadline)
        rows = np.flatnonzero(~(coarse.agree | coarse.disagree))
        if not (len(rows) and self.classes):
            return coarse
        return coarse.updated(
            rows, self._said(rows_of(X, rows), "score", self._score_range, deadline)
        )

    # What a kind of set answers; the arguments have been read.

    @abstractmethod
    def _worst(
        self, X: Any, y: Any, loss: Loss, deadline: Deadline, node_limit: int | None
    ) -> Extreme:
        """Find a member of large mean loss, and an upper bound."""

    @abstractmethod
    def _best(self, X: Any, y: Any, loss: Loss, deadline: Deadline) -> Extreme:
        """Find a member of small mean loss, and a lower bound."""

    @abstractmethod
    def _score_range(self, X: ArrayLike, deadline: Deadline) -> ScoreRange:
        """Bound scores, and name the members met."""

    def _coarse_score_range(self, X: ArrayLike, deadline: Deadline) -> ScoreRange:
        """Bound scores quickly: as it is done when there is no time."""
        del deadline
        return self._score_range(X, Deadline.after(-1.0))

    @abstractmethod
    def _sample(self, n: int, rng: np.random.Generator, deadline: Deadline) -> list[Any]:
        """Return at most n members, and one whatever the time."""

    def _said(
        self,
        X: Any,
        kind: Kind,
        ranging: Callable[[Any, Deadline], ScoreRange],
        deadline: Deadline,
    ) -> PredictionRange:
        """Bound scores in some way, and ask members that are sampled."""

        @cache
        def sampled() -> list[Any]:
            return [self.trained.model, *self.sample(SAMPLED, 0, time_limit=deadline)]

        def ask(rows: Any) -> PredictionRange:
            known = ranging(rows, deadline)
            models = known.models if known.exact.all() else [*known.models, *sampled()]
            scores = [model.decision_function(rows) for model in models]
            ends = np.min(scores, axis=0), np.max(scores, axis=0)
            return of_scores(known.low, known.high, *ends, bool(self.classes), kind)

        return batched(X, ROWS_AT_ONCE, ask)
