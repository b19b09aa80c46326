"""How bad a model that trains as well as an estimator can be on other rows: one call.

The set of such models is the one with bounds where there is one, else that of refits.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone, is_classifier

from pessimal.errors import InvalidInputError, SolverError
from pessimal.limits import NEVER, Deadline, TimeLimit
from pessimal.losses import Loss, Step, find_loss
from pessimal.near_optimal.base import Extreme, NearOptimalSet
from pessimal.near_optimal.kinds import kind_of, only_step
from pessimal.near_optimal.pipeline import PipelineSet
from pessimal.near_optimal.retrained.judging import losses, own_loss, require_known
from pessimal.near_optimal.retrained.retrained_set import RetrainedSet
from pessimal.problem import Budget


def worst_case_of(
    estimator: Any,
    X_train: ArrayLike,
    y_train: ArrayLike,
    X_val: ArrayLike,
    y_val: ArrayLike,
    *,
    epsilon: float = 0.05,
    delta: float = 0.0,
    loss: str | Loss | None = None,
    sample_weight: ArrayLike | None = None,
    time_limit: TimeLimit = None,
    node_limit: int | None = None,
) -> Extreme:
    """Find how bad a model that trains about as well as an estimator can be on validation rows.

    A plain function of hyperparameters, for the objective of any optimiser.

    Parameters
    ----------
    estimator : classifier or regressor
        Fitted or not. The earlier steps of a pipeline are fitted on the training rows and frozen.
    X_train, y_train, X_val, y_val : array-like
    epsilon, delta : float, default=0.05, 0.0
        How much worse than the best a model may train: relative and absolute.
    loss : str or Loss, optional
        Of the validation rows: "zero_one", "log", "squared", …; by default that of training.
    sample_weight : array-like, optional
        Weights of the training rows.
    time_limit : float, optional
        Seconds after which what is known is returned.
    node_limit : int, optional
        Nodes of a branch and bound, or refits.

    Returns
    -------
    Extreme
        Its `value` was found, its `upper_bound` is proved. For ridge, lasso, logistic regression
        (two classes) and linear SVM they are close or the same. For any other estimator the
        upper bound says nothing: infinite, or 1 for errors.

    Examples
    --------
    >>> from sklearn.linear_model import Ridge
    >>> X, y = [[0.0], [1.0], [2.0]], [0.0, 1.0, 1.0]
    >>> worst = worst_case_of(Ridge(alpha=1.0), X, y, [[3.0]], [2.0], epsilon=0.1)
    >>> worst.proved, round(worst.value, 4)
    (True, 0.8143)
    """
    task = WorstCase(Budget(epsilon, delta), loss, node_limit)
    return task.of(estimator, X_train, y_train, X_val, y_val, sample_weight, time_limit)[0]


@dataclass(frozen=True)
class WorstCase:
    """What to ask the near-optimal set of an estimator."""

    budget: Budget
    loss: str | Loss | None
    node_limit: int | None

    def of(
        self,
        estimator: Any,
        X: Any,
        y: Any,
        X_val: Any,
        y_val: Any,
        sample_weight: Any = None,
        time_limit: TimeLimit = None,
    ) -> tuple[Extreme, NearOptimalSet]:
        """Return the worst case, and the set that it is of."""
        deadline = Deadline.read(time_limit)
        members = self.members(estimator, X, y, sample_weight, deadline)
        worst = members.worst(
            X_val, y_val, self.loss, time_limit=deadline, node_limit=self.node_limit
        )
        return worst, members

    def members(
        self, estimator: Any, X: Any, y: Any, sample_weight: Any, deadline: Deadline = NEVER
    ) -> NearOptimalSet:
        """Return the near-optimal set of an estimator, with bounds where there can be some."""
        estimator = only_step(estimator)
        bounded = self.bounded(estimator, X, y, sample_weight)
        if bounded is None:
            return self._refitted(estimator, X, y, sample_weight, deadline)
        return bounded

    @staticmethod
    def cut_short(members: NearOptimalSet, deadline: Deadline, n_val: int) -> bool:
        """Whether there was no time for another refit, where refits are what is known of a set."""
        refits = members.inner if isinstance(members, PipelineSet) else members
        seconds = refits.refit_seconds(n_val) if isinstance(refits, RetrainedSet) else 0.0
        return not deadline.affords(seconds)

    def score(self, loss: float, by_default: Loss) -> float:
        """Return a mean loss as a score: the share that is right, or the negative loss."""
        counts = isinstance(find_loss(self.loss or by_default), Step)
        return 1.0 - loss if counts else -loss

    def least_score(self, by_default: Loss) -> float:
        """Return what no model scores below, whatever it is."""
        return 0.0 if isinstance(find_loss(self.loss or by_default), Step) else -np.inf

    def score_of_fit(self, model: Any, X_val: Any, y_val: Any) -> float:
        """Return the score of a fitted estimator by the same loss."""
        y_val = np.asarray(y_val)
        if is_classifier(model):
            require_known(y_val, model.classes_)
        own = own_loss(model)
        loss = losses(model, X_val, y_val, find_loss(self.loss or own))
        return self.score(float(loss.mean()), own)

    def bounded(self, estimator: Any, X: Any, y: Any, sample_weight: Any) -> NearOptimalSet | None:
        """Return the set if its extremes have bounds."""
        if PipelineSet.accepts(estimator):
            if not kind_of(estimator[-1]).proves:
                return None
            steps = clone(estimator[:-1])
            inner = self.bounded(estimator[-1], steps.fit_transform(X, y), y, sample_weight)
            return None if inner is None else PipelineSet(steps, inner)
        kind = kind_of(estimator)
        if not kind.proves:
            return None
        try:
            return kind.of(estimator, X, y, self.budget, sample_weight)
        except (InvalidInputError, SolverError):
            # More than two classes, columns that depend on each other: no bounds.
            if not RetrainedSet.accepts(estimator):
                raise
            return None

    def _refitted(
        self, estimator: Any, X: Any, y: Any, sample_weight: Any, deadline: Deadline
    ) -> NearOptimalSet:
        if PipelineSet.accepts(estimator):
            steps = clone(estimator[:-1])
            rows = steps.fit_transform(X, y)
            last = self._refitted(estimator[-1], rows, y, sample_weight, deadline)
            return PipelineSet(steps, last)
        return RetrainedSet(estimator, X, y, self.budget, sample_weight, deadline=deadline)
