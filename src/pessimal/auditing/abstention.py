"""To answer only where all models that train as well agree: how often, and how well.

The larger ε, the more models have a say and the fewer rows are answered. A model alone can abstain,
too, where its own score is small: at the same share of rows answered, that is the comparison.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from pessimal.errors import InvalidInputError
from pessimal.labels import column
from pessimal.limits import Deadline, TimeLimit
from pessimal.near_optimal.base import NearOptimalSet
from pessimal.problem import Vector

if TYPE_CHECKING:
    from matplotlib.axes import Axes

EPSILONS = (0.0, 0.01, 0.02, 0.05, 0.1, 0.2)


@dataclass(frozen=True, eq=False)
class AbstentionCurve:
    """Accuracy on the rows that are answered, as more models have a say.

    Attributes
    ----------
    epsilons : ndarray of shape (n,)
        Increasing.
    answered : ndarray of shape (n,)
        Share of the rows on which all models agree; of refits, on which none was found that
        disagrees.
    accuracy : ndarray of shape (n,)
        Of the trained model on these rows; NaN where there are none.
    accuracy_by_score : ndarray of shape (n,)
        Of the trained model on as many rows, those of which it is surest itself.
    accuracy_of_all : float
        Of the trained model on all rows.
    majority : float
        Share of the most frequent class.
    """

    epsilons: Vector
    answered: Vector
    accuracy: Vector
    accuracy_by_score: Vector
    accuracy_of_all: float
    majority: float

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw accuracy against the share of rows answered.

        Parameters
        ----------
        ax : Axes, optional
            Where to draw; by default on a figure of its own.

        Returns
        -------
        Axes
        """
        from pessimal.auditing.plots import draw_abstention  # noqa: PLC0415  # matplotlib is slow

        return draw_abstention(self, ax)


def abstention_curve(
    members: NearOptimalSet,
    X: Any,
    y: Any,
    epsilons: Sequence[float] = EPSILONS,
    *,
    time_limit: TimeLimit = None,
) -> AbstentionCurve:
    """Measure how well a model does on the rows on which all models that train as well agree.

    Parameters
    ----------
    members : NearOptimalSet
        Of a classifier; its trained model is the one that answers, and its ε is of no matter.
    X, y : array-like
        Rows that training has not seen, and their labels.
    epsilons : sequence of float, default=(0, 0.01, 0.02, 0.05, 0.1, 0.2)
        How much worse than the best a model may train to have a say.
    time_limit : float, optional
        Seconds; a row of which is not known by then whether models agree is not answered.

    Returns
    -------
    AbstentionCurve

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.linear_model import RidgeClassifier
    >>> from pessimal import near_optimal_set
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> members = near_optimal_set(RidgeClassifier(alpha=10.0), X[::2], y[::2])
    >>> curve = abstention_curve(members, X[1::2], y[1::2], [0.0, 0.01])
    >>> curve.answered.round(2).tolist(), curve.accuracy.round(3).tolist()
    ([1.0, 0.93], [0.923, 0.951])
    """
    labels = column("y", y)
    if not members.classes:
        raise InvalidInputError("members are regressions, which have no classes; pass classifiers")
    if not len(epsilons):
        raise InvalidInputError("epsilons is empty; pass one at least")
    deadline = Deadline.read(time_limit)
    X = X if hasattr(X, "shape") else np.asarray(X)
    model, grid = members.trained.model, np.unique(np.asarray(epsilons, np.float64))
    right = np.asarray(_predicted(members, model, X) == labels)
    surest = np.argsort(-_certainty(model, X), kind="stable")
    answered, accuracy, by_score = np.zeros((3, len(grid)))
    for k, epsilon in enumerate(grid.tolist()):
        larger = members.with_budget(replace(members.budget, epsilon=epsilon))
        said = larger.agreement(X, time_limit=deadline.share(1.0 / (len(grid) - k)))
        n = int(said.answered.sum())
        answered[k] = n / len(labels)
        accuracy[k] = right[said.answered].mean() if n else np.nan
        by_score[k] = right[surest[:n]].mean() if n else np.nan
    _, counts = np.unique(labels, return_counts=True)
    return AbstentionCurve(
        grid, answered, accuracy, by_score, float(right.mean()), float(counts.max() / len(labels))
    )


def _predicted(members: NearOptimalSet, model: Any, X: Any) -> Any:
    if hasattr(model, "predict"):
        return np.asarray(model.predict(X))
    return np.array(members.classes)[(model.decision_function(X) > 0.0).astype(np.intp)]


def _certainty(model: Any, X: Any) -> Vector:
    """Return how sure a model is of each row, by its own account."""
    if hasattr(model, "predict_proba"):
        return np.asarray(model.predict_proba(X).max(axis=1))
    scores = np.asarray(model.decision_function(X))
    if scores.ndim == 1:
        return np.asarray(np.abs(scores))
    first, second = np.sort(scores, axis=1)[:, :-3:-1].T
    return np.asarray(first - second)
