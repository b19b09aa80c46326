"""The near-optimal set of a pipeline: that of its last step, the steps before frozen.

What the earlier steps learnt from the training rows is kept; members differ in the last step only.
"""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass, replace
from typing import Any, Self

from numpy.typing import ArrayLike
from sklearn.base import clone
from sklearn.pipeline import Pipeline

from pessimal.limits import TimeLimit
from pessimal.losses import Loss
from pessimal.near_optimal.base import Extreme, NearOptimalSet, ScoreRange, near_optimal_set
from pessimal.near_optimal.prediction import Kind, PredictionRange
from pessimal.problem import Budget


@dataclass(frozen=True, eq=False)
class Piped:
    """A model of transformed rows, as one of the rows as they come."""

    steps: Pipeline
    model: Any

    def __getattr__(self, name: str) -> Any:
        if name in ("decision_function", "predict", "predict_proba"):
            method = getattr(self.model, name)
            return lambda X: method(self.steps.transform(X))
        raise AttributeError(name)


class PipelineSet(NearOptimalSet):
    """Members of a set behind fitted steps; see the module.

    Parameters
    ----------
    steps : Pipeline
        The fitted steps before the last.
    inner : NearOptimalSet
        Of the last step, on transformed rows.
    """

    def __init__(self, steps: Pipeline, inner: NearOptimalSet) -> None:
        self.steps, self.inner = steps, inner
        self.budget, self.loss, self.proves = inner.budget, inner.loss, inner.proves
        self.classes = inner.classes

    @classmethod
    def accepts(cls, estimator: Any) -> bool:
        """Return whether it is a pipeline of more than one step."""
        return isinstance(estimator, Pipeline) and len(estimator) > 1

    @classmethod
    def of(
        cls,
        estimator: Pipeline,
        X: ArrayLike,
        y: ArrayLike,
        budget: Budget,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Fit the steps before the last, and make the set of the last one."""
        steps = clone(estimator[:-1])
        inner = near_optimal_set(
            estimator[-1],
            steps.fit_transform(X, y),
            y,
            epsilon=budget.epsilon,
            delta=budget.delta,
            sample_weight=sample_weight,
        )
        return cls(steps, inner)

    @property
    def trained(self) -> Extreme:  # type: ignore[override]
        """The least training loss, and a member that has it."""
        return self._piped(self.inner.trained)

    def train_loss(self, model: Piped) -> float:
        """Return what training of the last step minimises."""
        return self.inner.train_loss(model.model)

    def contains(self, model: Piped) -> bool:
        """Return whether the last step of a model is a member."""
        return self.inner.contains(model.model)

    def with_budget(self, budget: Budget) -> Self:
        """Return the set of another budget, without training again."""
        other = copy(self)
        other.budget, other.inner = budget, self.inner.with_budget(budget)
        return other

    def worst(
        self,
        X: ArrayLike,
        y: ArrayLike,
        loss: str | Loss | None = None,
        *,
        time_limit: TimeLimit = None,
        node_limit: int | None = None,
    ) -> Extreme:
        """Find a member of large mean loss."""
        rows = self.steps.transform(X)
        return self._piped(
            self.inner.worst(rows, y, loss, time_limit=time_limit, node_limit=node_limit)
        )

    def best(
        self,
        X: ArrayLike,
        y: ArrayLike,
        loss: str | Loss | None = None,
        *,
        time_limit: TimeLimit = None,
    ) -> Extreme:
        """Find a member of small mean loss."""
        return self._piped(self.inner.best(self.steps.transform(X), y, loss, time_limit=time_limit))

    def score_range(self, X: ArrayLike, *, time_limit: TimeLimit = None) -> ScoreRange:
        """Bound the scores that members give to rows."""
        found = self.inner.score_range(self.steps.transform(X), time_limit=time_limit)
        return replace(found, models=[Piped(self.steps, model) for model in found.models])

    def predict_range(
        self, X: Any, kind: Kind = "score", *, time_limit: TimeLimit = None
    ) -> PredictionRange:
        """Bound what members say of new rows; see `NearOptimalSet.predict_range`."""
        return self.inner.predict_range(self.steps.transform(X), kind, time_limit=time_limit)

    def agreement(self, X: Any, *, time_limit: TimeLimit = None) -> PredictionRange:
        """Tell where members all say the same class."""
        return self.inner.agreement(self.steps.transform(X), time_limit=time_limit)

    def sample(
        self, n: int, random_state: int | None = None, *, time_limit: TimeLimit = None
    ) -> list[Piped]:
        """Return members, spread out."""
        models = self.inner.sample(n, random_state, time_limit=time_limit)
        return [Piped(self.steps, model) for model in models]

    def _piped(self, extreme: Extreme) -> Extreme:
        return replace(extreme, model=Piped(self.steps, extreme.model))
