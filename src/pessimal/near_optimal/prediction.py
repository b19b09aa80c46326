"""What all members of a near-optimal set say of each of some rows.

A member predicts the positive class where its score is above 0. So where no member has a score of
0 or less, or none has one above 0, all of them agree, and that is proved; where members were found
on both sides, they disagree; else it is not known.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from pessimal.errors import InvalidInputError
from pessimal.limits import TimeLimit
from pessimal.problem import Mask, Vector
from pessimal.tolerances import STRICT

if TYPE_CHECKING:
    from pessimal.near_optimal.base import NearOptimalSet

Kind: TypeAlias = Literal["score", "probability"]
"""What is said of a row: a score, or the probability of the positive class."""

DISAGREE = "models disagree"
"""The label of a row that is not answered, unless another one is asked for."""

_AGREEMENT = np.array(["not known", "yes", "no"], dtype=object)


@dataclass(frozen=True, eq=False)
class PredictionRange:
    """What the members of a near-optimal set say of each of some rows.

    Attributes
    ----------
    low, high : ndarray of shape (n,)
        No member says less or more; where nothing is proved, infinite, or 0 and 1. A regression
        says a number, a classifier a score or the probability of the positive class; of more than
        two classes there is a column for each.
    found_low, found_high : ndarray of shape (n,)
        The least and the most that members were found to say.
    agree : ndarray of bool of shape (n,)
        Rows of which all members are proved to say the same class; none for a regression.
    disagree : ndarray of bool of shape (n,)
        Rows of which members were found that say different classes.
    proves : bool
        Whether anything can be proved: of a set that is known by refits alone, nothing can.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> from pessimal import near_optimal_set
    >>> X, y = [[-2.0], [-1.0], [1.0], [2.0]], ["no", "no", "yes", "yes"]
    >>> members = near_optimal_set(LogisticRegression(), X, y, epsilon=0.1)
    >>> said = members.predict_range([[0.1], [3.0]], kind="probability")
    >>> said.agreement.tolist(), said.low.round(2).tolist(), said.high.round(2).tolist()
    (['no', 'yes'], [0.36, 0.86], [0.69, 0.99])
    """

    low: Vector
    high: Vector
    found_low: Vector
    found_high: Vector
    agree: Mask = field(repr=False)
    disagree: Mask = field(repr=False)
    proves: bool = True

    @property
    def answered(self) -> Mask:
        """Rows with one answer: all members agree, or, of refits, none was found that does not."""
        return self.agree if self.proves else ~self.disagree

    @property
    def agreement(self) -> NDArray[Any]:
        """Whether members agree on the class of each row: "yes", "no" or "not known"."""
        return np.asarray(_AGREEMENT[np.where(self.agree, 1, np.where(self.disagree, 2, 0))])

    def updated(self, rows: Any, better: PredictionRange) -> PredictionRange:
        """Return the same with other knowledge of some rows."""
        parts = {name: getattr(self, name).copy() for name in _PARTS}
        for name, part in parts.items():
            part[rows] = getattr(better, name)
        return replace(self, **parts)


_PARTS = ("low", "high", "found_low", "found_high", "agree", "disagree")


def of_scores(
    low: Vector, high: Vector, found_low: Vector, found_high: Vector, classifies: bool, kind: Kind
) -> PredictionRange:
    """Return what ranges of scores mean, as scores or by the logistic link as probabilities."""
    # Rounding may put a bound short of a member that was found.
    low, high = np.minimum(low, found_low), np.maximum(high, found_high)
    agree = ((low > 0.0) | (high <= 0.0)) & classifies
    disagree = (found_low < -STRICT) & (found_high > STRICT) & classifies
    if kind == "probability":
        from scipy.special import expit  # noqa: PLC0415 (slow to import)

        found_low, found_high = expit(found_low), expit(found_high)
        # One step outwards is more than the rounding of the link.
        low = np.maximum(0.0, np.nextafter(expit(low), -1.0))
        high = np.minimum(1.0, np.nextafter(expit(high), 2.0))
    return PredictionRange(low, high, found_low, found_high, agree, disagree)


def require_kind(kind: str, probabilities: bool) -> None:
    """Refuse a kind that there is not, or that models do not have."""
    if kind not in ("score", "probability"):
        raise InvalidInputError(f"kind is {kind!r}; pass 'score' or 'probability'")
    if kind == "probability" and not probabilities:
        raise InvalidInputError(
            "kind is 'probability', and models that train like this have none; pass 'score'"
        )


def batched(X: Any, size: int, ask: Callable[[Any], PredictionRange]) -> PredictionRange:
    """Ask for some rows at a time: the members met for one row are asked about the others."""
    from sklearn.utils import gen_batches  # noqa: PLC0415 (slow to import)
    from sklearn.utils.validation import _num_samples  # noqa: PLC0415 (slow to import)

    X = X if hasattr(X, "shape") else np.asarray(X)
    parts = [ask(rows_of(X, rows)) for rows in gen_batches(_num_samples(X), size)]
    parts = parts or [ask(X)]  # which refuses an empty table in its own words
    whole: dict[str, Any] = {
        name: np.concatenate([getattr(part, name) for part in parts]) for name in _PARTS
    }
    return replace(parts[0], **whole)


def rows_of(X: Any, rows: Any) -> Any:
    """Return some rows of a table of any kind."""
    from sklearn.utils import _safe_indexing  # noqa: PLC0415 (slow to import)

    return _safe_indexing(X, rows)


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
