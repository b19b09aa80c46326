"""The near-optimal set of a pipeline: that of its last step, the steps before frozen.

What the earlier steps learnt from the training rows is kept; members differ in the last step only.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone
from sklearn.pipeline import Pipeline

from pessimal.limits import Deadline, TimeLimit
from pessimal.losses import Loss
from pessimal.near_optimal.base import Extreme, NearOptimalSet, ScoreRange
from pessimal.near_optimal.kinds import near_optimal_set
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
        other = super().with_budget(budget)
        other.inner = self.inner.with_budget(budget)
        return other

    def _worst(
        self, X: Any, y: Any, loss: Loss, deadline: Deadline, node_limit: int | None
    ) -> Extreme:
        """Find a member of large mean loss."""
        rows = self.steps.transform(X)
        return self._piped(self.inner._worst(rows, y, loss, deadline, node_limit))

    def _best(self, X: Any, y: Any, loss: Loss, deadline: Deadline) -> Extreme:
        """Find a member of small mean loss."""
        return self._piped(self.inner._best(self.steps.transform(X), y, loss, deadline))

    def _score_range(self, X: ArrayLike, deadline: Deadline) -> ScoreRange:
        """Bound the scores that members give to rows."""
        return self._piped_range(self.inner._score_range(self.steps.transform(X), deadline))

    def _coarse_score_range(self, X: ArrayLike, deadline: Deadline) -> ScoreRange:
        """Bound the scores that members give to rows, quickly."""
        return self._piped_range(self.inner._coarse_score_range(self.steps.transform(X), deadline))

    def _piped_range(self, found: ScoreRange) -> ScoreRange:
        return replace(found, models=[Piped(self.steps, model) for model in found.models])

    def predict_range(
        self, X: Any, kind: Kind = "score", *, time_limit: TimeLimit = None
    ) -> PredictionRange:
        """Bound what members say of new rows; see `NearOptimalSet.predict_range`."""
        return self.inner.predict_range(self.steps.transform(X), kind, time_limit=time_limit)

    def agreement(self, X: Any, *, time_limit: TimeLimit = None) -> PredictionRange:
        """Tell where members all say the same class."""
        return self.inner.agreement(self.steps.transform(X), time_limit=time_limit)

    def _sample(self, n: int, rng: np.random.Generator, deadline: Deadline) -> list[Piped]:
        """Return members, spread out."""
        return [Piped(self.steps, model) for model in self.inner._sample(n, rng, deadline)]

    def _piped(self, extreme: Extreme) -> Extreme:
        return replace(extreme, model=Piped(self.steps, extreme.model))
