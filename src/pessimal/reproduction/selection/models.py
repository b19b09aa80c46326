"""The four models of the study of selection: what is searched, and how training is repeated."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC

from pessimal.reproduction.selection.remembering import Boosting, Forest

CANDIDATES_OF_C = (0.01, 0.1, 1.0, 10.0, 100.0)


@dataclass(frozen=True)
class Kind:
    """A kind of model.

    Attributes
    ----------
    make : callable
        From a seed to an estimator.
    grid : mapping
        The candidates.
    linear : bool
        Whether it can be attacked itself; trees only by way of a linear model.
    other_solver : mapping
        Parameters that train the same model by other means. Empty where a seed does that.
    """

    make: Callable[[int], Any]
    grid: Mapping[str, Sequence[float]]
    linear: bool = False
    other_solver: Mapping[str, Any] = field(default_factory=dict)

    def trained(self, parameters: Mapping[str, Any], X: Any, y: Any, seed: int) -> Any:
        """Fit a candidate."""
        return self.make(seed).set_params(**parameters).fit(X, y)

    def trained_again(self, parameters: Mapping[str, Any], X: Any, y: Any, seed: int) -> Any:
        """Fit it on the same rows, by another solver and from another seed."""
        return self.trained({**parameters, **self.other_solver}, X, y, seed + 1)


def _logistic(_: int) -> Any:
    return LogisticRegression(max_iter=10_000)


def _svm(seed: int) -> Any:
    return LinearSVC(dual=False, random_state=seed)


def _forest(seed: int) -> Any:
    return Forest(6, random_state=seed)


def _boosting(seed: int) -> Any:
    return Boosting(n_estimators=10, max_depth=2, max_features=0.5, random_state=seed)


KINDS: Mapping[str, Kind] = {
    "logistic": Kind(_logistic, {"C": CANDIDATES_OF_C}, True, {"solver": "newton-cholesky"}),
    "svm": Kind(_svm, {"C": CANDIDATES_OF_C}, True, {"dual": True}),
    "forest": Kind(_forest, {"min_samples_leaf": (1, 5)}),
    "boosting": Kind(_boosting, {"learning_rate": (0.1, 0.5)}),
}
