"""What an estimator with a near-optimal set of its own can say of new rows."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

from numpy.typing import NDArray

from pessimal.errors import InvalidInputError
from pessimal.limits import TimeLimit
from pessimal.near_optimal.base import NearOptimalSet
from pessimal.near_optimal.prediction import Kind, PredictionRange


class RangePredictor:
    """Mixin of estimators that keep the rows they were fitted to."""

    @abstractmethod
    def near_optimal_set(self) -> NearOptimalSet:
        """Return all models that train about as well as this one, on all rows of `fit`."""

    def predict_range(
        self, X: Any, kind: Kind = "score", *, time_limit: TimeLimit = None
    ) -> PredictionRange:
        """Bound what models that train as well say of new rows.

        Parameters
        ----------
        X : array-like of shape (n_rows, p)
        kind : {"score", "probability"}, default="score"
            The probability is that of the positive class, for models that have one.
        time_limit : float, optional
            Seconds after which bounds are coarse, and agreement may not be known.

        Returns
        -------
        PredictionRange
            ``low`` and ``high``, which no model of `near_optimal_set` passes, and ``agreement``.
        """
        return self.near_optimal_set().predict_range(X, kind, time_limit=time_limit)

    def _abstaining(self, labels: NDArray[Any], X: Any, abstain_label: Any) -> NDArray[Any]:
        """Return labels as objects, with one of its own where models may disagree."""
        members = self.near_optimal_set()
        if not members.classes:
            raise InvalidInputError(
                "abstain is True, and a regressor has no classes to disagree on; see predict_range"
            )
        labels = labels.astype(object)
        labels[~members.agreement(X).answered] = abstain_label
        return labels
