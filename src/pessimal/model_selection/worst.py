"""How bad a model that trains as well as an estimator can be on other rows: one call.

The set of such models is the one with bounds where there is one, else that of refits.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from numpy.typing import ArrayLike
from sklearn.base import clone

from pessimal.errors import InvalidInputError, SolverError
from pessimal.limits import AT_ONCE, TimeLimit
from pessimal.losses import Loss, Step, find_loss
from pessimal.near_optimal.base import Extreme, NearOptimalSet, near_optimal_set
from pessimal.near_optimal.pipeline import PipelineSet
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
        *,
        coarse: bool = False,
    ) -> tuple[Extreme, NearOptimalSet]:
        """Return the worst case and the set; a coarse one with the bound that costs nothing."""
        members = self.members(estimator, X, y, sample_weight)
        seconds = AT_ONCE if coarse and members.proves else time_limit
        worst = members.worst(
            X_val, y_val, self.loss, time_limit=seconds, node_limit=self.node_limit
        )
        return worst, members

    def score(self, loss: float, members: NearOptimalSet) -> float:
        """Return a mean loss as a score: the share that is right, or the negative loss."""
        counts = isinstance(find_loss(self.loss or members.loss), Step)
        return 1.0 - loss if counts else -loss

    def members(self, estimator: Any, X: Any, y: Any, sample_weight: Any) -> NearOptimalSet:
        """Return the near-optimal set of an estimator, with bounds where there can be some."""
        if PipelineSet.accepts(estimator):
            steps = clone(estimator[:-1])
            rows = steps.fit_transform(X, y)
            return PipelineSet(steps, self.members(estimator[-1], rows, y, sample_weight))
        budget = self.budget
        try:
            return near_optimal_set(
                estimator,
                X,
                y,
                epsilon=budget.epsilon,
                delta=budget.delta,
                sample_weight=sample_weight,
            )
        except (InvalidInputError, SolverError):
            # More than two classes, an l1 penalty, columns that depend on each other: no bounds.
            if not RetrainedSet.accepts(estimator):
                raise
            return RetrainedSet.of(estimator, X, y, budget, sample_weight)
