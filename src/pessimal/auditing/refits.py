"""The extremes of an estimator that is known by its refits alone: all found, nothing proved.

Models are fitted estimators, judged by what they predict. The score of a point is how far a class
is ahead, in log odds where there are probabilities: the positive one of two, the true one of more;
for a regressor it is the prediction.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import is_classifier

from pessimal.auditing.extremes import ERROR, Extremes, Judged
from pessimal.errors import LearntByHeartWarning
from pessimal.limits import NEVER, Deadline
from pessimal.near_optimal.base import Extreme
from pessimal.near_optimal.retrained.judging import losses, margins
from pessimal.near_optimal.retrained.retrained_set import RetrainedSet
from pessimal.problem import Vector
from pessimal.tolerances import STRICT

TWO = 2

TIE = 2.0 * STRICT
"""Least size of a score, whose sign says what is predicted where classes are even."""

MEASURES = {
    "best_loss": "loss",
    "worst_loss": "loss",
    "best_error": "error",
    "worst_error": "error",
    "discrepancy": "changed",
}
"""What each end is an end of."""

ATTAINED = 1e-9
"""Relative difference up to which a model attains on all points what a search reports."""


class RefitExtremes(Extremes):
    """What refits were found to do on validation data; see `Extremes` and the module."""

    @property
    def members(self) -> RetrainedSet:
        """The set at the ε that was asked for."""
        members: RetrainedSet = self.sets[self.here]  # type: ignore[assignment]
        return members

    def __init__(
        self,
        members: RetrainedSet,
        X: Any,
        y: NDArray[Any],
        grid: list[float],
        reference: Any,
        deadline: Deadline,
    ) -> None:
        self.classes = reference.classes_ if is_classifier(reference) else np.array([])
        self._found: list[_Found] = []
        self._least = math.inf
        self._asked: tuple[Any, Any] = (None, None)
        super().__init__(members, X, y, grid, reference, deadline)

    @property
    def labels(self) -> tuple[Any, ...]:
        """The classes in `y`, the positive one of two last; none for a regression."""
        return tuple(self.classes.tolist())

    def _begin(self) -> None:
        """Know of the reference alone; what one question meets serves the others."""
        for members in self.sets:
            members.met = self.members.met  # type: ignore[attr-defined]
        self._least = self.members.trained.value
        self.said = np.zeros((len(self.y), len(self.classes)), dtype=np.bool_)
        super()._begin()

    def _bound_at_once(self, deadline: Deadline) -> None:
        """Bound nothing but what is so by definition."""
        del deadline
        for end in self.best_loss:
            end.limit(0.0)
        for end in (*self.worst_error, self.discrepancy):
            end.limit(1.0)
        self.best_error.limit(0.0)

    def scores(self, model: Any) -> Vector:
        """Return how far a class is ahead; of two, the sign agrees with what is predicted."""
        if not len(self.classes):
            return np.ravel(np.asarray(model.predict(self.X), np.float64))
        if len(self.classes) > TWO:
            return margins(model, self.X, self.y, self.members.loss)
        positive = np.full(len(self.y), self.classes[1])
        ahead = margins(model, self.X, positive, self.members.loss)
        is_said = self._predicted(model) == positive
        return np.where(is_said, np.maximum(ahead, TIE), np.minimum(ahead, -TIE))

    def _predicted(self, model: Any) -> Any:
        """Return what a model says; the last one asked is not asked again."""
        if self._asked[0] is not model:
            self._asked = model, np.asarray(model.predict(self.X))
        return self._asked[1]

    def judge(self, model: Any) -> Judged:
        """Return what a model attains, by what it predicts."""
        loss = float(losses(model, self.X, self.y, self.members.loss).mean())
        predicted = self._predicted(model)
        return Judged(
            self.scores(model),
            loss,
            float(np.mean(predicted != self.y)),
            float(np.mean(predicted != self.predicted)),
            self._in_class(np.asarray(predicted != self.y, np.float64)),
        )

    def _meet(self, k: int, model: Any) -> None:
        super()._meet(k, model)
        if model is not self.reference:
            self._found.append(_Found(k, model))
        if k <= self.here:
            self.said |= self._predicted(model)[:, None] == self.classes

    def find_best_loss(self, k: int, deadline: Deadline) -> None:
        """Search for the least validation loss at an ε of the grid."""
        self._ask("best_loss", k, partial(self.sets[k].best, self.X, self.y), deadline)

    def find_worst_loss(self, k: int, deadline: Deadline) -> None:
        """Search for the largest validation loss at an ε of the grid."""
        self._ask("worst_loss", k, partial(self.sets[k].worst, self.X, self.y), deadline)

    def find_worst_error(self, k: int, deadline: Deadline) -> None:
        """Search for the largest error at an ε of the grid."""
        self._ask("worst_error", k, partial(self.sets[k].worst, self.X, self.y, ERROR), deadline)

    def find_best_error(self, deadline: Deadline) -> None:
        """Search for the least error."""
        self._ask(
            "best_error", self.here, partial(self.members.best, self.X, self.y, ERROR), deadline
        )

    def find_worst_in_class(self, place: int, deadline: Deadline) -> None:
        """Search no more: of each class the worst of the models met is told."""

    def find_discrepancy(self, deadline: Deadline) -> None:
        """Search for the largest error when the reference's predictions are the labels."""
        question = partial(self.members.worst, self.X, self.predicted, ERROR)
        self._ask("discrepancy", self.here, question, deadline)

    def find_rough_ranges(self, deadline: Deadline) -> None:
        """Find nothing: no range has a bound, rough or not."""

    def find_ranges(
        self, running: Callable[[str], bool], deadline: Deadline, *, all_points: bool
    ) -> None:
        """Meet refits from other seeds and on bootstrap weights; no range has a bound."""
        del all_points
        if running("other seeds") and not self.asked.all():
            for model in self.members.score_range(self.X, time_limit=deadline).models:
                self._meet(self.here, model)
        self.asked[:] = True

    def _ask(self, name: str, k: int, question: Callable[..., Extreme], deadline: Deadline) -> None:
        """Judge the model that a search finds, on all points if it may have seen none of them.

        An estimator that memorises points is judged by those that were not attacked, and
        on all points its model would look far worse than it is.
        """
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            found = question(time_limit=deadline)
        told = [f"{w.message}." for w in caught if w.category is LearntByHeartWarning]
        self.warned = tuple(dict.fromkeys((*self.warned, *told)))
        attained = getattr(self.judge(found.model), MEASURES[name])
        if math.isclose(attained, found.value, rel_tol=ATTAINED, abs_tol=ATTAINED):
            self._meet(k, found.model)
        else:
            self._keep(_Found(k, found.model, name, found.value))

    def out_of_time(self, deadline: Deadline) -> bool:
        """Whether there is no time for another refit."""
        return not deadline.affords(self.members.refit_seconds(len(self.y)))

    def _keep(self, found: _Found) -> None:
        """Take note of what was attained on points that were not attacked."""
        self._found.append(found)
        ends = getattr(self, found.name)
        for end in ends[found.k :] if isinstance(ends, list) else [ends]:
            end.meet(found.value, found.model)

    def finish(self) -> None:
        """Forget models that train too badly for the least training loss, if a better one came."""
        if self.members.trained.value == self._least:
            return
        met, self._found = self._found, []
        self._begin()
        self._bound_at_once(NEVER)
        for found in met:
            if self.sets[found.k].contains(found.model):
                self._keep(found) if found.name else self._meet(found.k, found.model)


@dataclass(frozen=True, eq=False)
class _Found:
    """A member of the k-th set; with a name, what was attained without the points attacked."""

    k: int
    model: Any
    name: str = ""
    value: float = math.nan
