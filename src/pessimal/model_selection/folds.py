"""Candidates on folds: the ordinary fits and scores, and beside each the worst case."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Literal

import numpy as np
from scipy.stats import rankdata
from sklearn.base import clone
from sklearn.model_selection._validation import _fit_and_score
from sklearn.utils.metaestimators import _safe_split

from pessimal.limits import AT_ONCE, Deadline
from pessimal.model_selection.ranges import End, trained_on
from pessimal.model_selection.worst import WorstCase
from pessimal.near_optimal.base import Extreme, NearOptimalSet
from pessimal.near_optimal.retrained.judging import own_loss
from pessimal.problem import Matrix, Vector
from pessimal.tolerances import OPTIMAL_GAP

HOPELESS = 0.05
"""Share of the loss that a bound may be off before branching; a few nodes do not close more."""


@dataclass(frozen=True)
class Found:
    """The worst score of one candidate on one fold.

    Attributes
    ----------
    found, bound : float
        That of the worst model found, and below which no equally good model scores.
    proves : bool
        Whether the bound means something.
    looked : bool
        Whether equally good models were looked for; otherwise `found` is that of the fit itself.
    cut : bool
        Whether time cut the search short.
    hopeless : bool
        Whether the bound stays so far from what was found that it will decide nothing.
    end : End, optional
        What a range needs to know of it.
    seconds : float
        That this took, with the fit if that was made.
    """

    found: float = np.nan
    bound: float = np.nan
    proves: bool = True
    looked: bool = True
    cut: bool = False
    hopeless: bool = False
    end: End | None = None
    seconds: float = 0.0


@dataclass(frozen=True, eq=False)
class Worst:
    """Worst scores of all candidates (rows) on all folds (columns).

    Attributes
    ----------
    found, bound, proves, looked : ndarray
        As in `Found`.
    sharp : ndarray of bool
        Where the bound is the best that was to be had.
    """

    found: Matrix
    bound: Matrix
    proves: Any
    looked: Any
    sharp: Any

    @classmethod
    def unknown(cls, n_candidates: int, n_splits: int) -> Worst:
        """Return the state before anything is known."""
        shape = n_candidates, n_splits
        found, bound = np.full(shape, np.nan), np.full(shape, np.nan)
        proves, looked, sharp = (np.full(shape, start) for start in (True, False, False))
        return cls(found, bound, proves, looked, sharp)

    def followed_by(self, more: Worst) -> Worst:
        """Return both, one below the other."""
        parts = zip(vars(self).values(), vars(more).values(), strict=True)
        return Worst(*map(np.concatenate, parts))

    def of_first(self, n_splits: int) -> Worst:
        """Return the first folds alone."""
        return Worst(*(values[:, :n_splits] for values in vars(self).values()))

    def set(self, candidate: int, split: int, found: Found) -> None:
        """Write down what was found; of two answers the worst model and the better bound."""
        at = candidate, split
        self.found[at] = np.fmin(self.found[at], found.found)
        self.bound[at] = np.fmax(self.bound[at], found.bound)
        self.proves[at], self.looked[at] = found.proves, found.looked

    def forget(self, candidate: int) -> None:
        """Take for unknown what is not known on all folds."""
        self.found[candidate] = self.bound[candidate] = np.nan

    @property
    def of_two_kinds(self) -> bool:
        """Whether some candidates have bounds and others have not."""
        bounded = self.proves.all(axis=1)[np.isfinite(self.found).all(axis=1)]
        return bool(bounded.any() and not bounded.all())

    def scores(self) -> Vector:
        """Return by what candidates are compared: mean bounds, or what was found without."""
        bounded = self.proves.all(axis=1)
        scores: Vector = np.where(bounded, self.bound.mean(axis=1), self.found.mean(axis=1))
        return scores

    def spreads(self) -> Vector:
        """Return the standard deviation over folds of what candidates are compared by."""
        bounded = self.proves.all(axis=1) & np.isfinite(self.bound).all(axis=1)
        spreads: Vector = np.where(bounded, _std(self.bound), _std(self.found))
        return spreads

    def open(self) -> Any:
        """Return where bound and worst model have not met, though they might."""
        gap = self.found - self.bound
        return self.proves & (gap > OPTIMAL_GAP * np.maximum(1.0, np.abs(self.found)))

    def columns(self) -> dict[str, Any]:
        """Return the columns of cv_results_."""
        columns: dict[str, Any] = {}
        for name, values in (("worst_found", self.found), ("worst_bound", self.bound)):
            columns |= {f"split{k}_{name}": column for k, column in enumerate(values.T)}
            columns[f"mean_{name}"] = values.mean(axis=1)
            columns[f"std_{name}"] = _std(values)
        known = self.proves & np.isfinite(self.bound)
        columns["worst_proved"] = (known & ~self.open()).all(axis=1)
        columns["worst_dropped"] = (np.isfinite(self.found) & ~self.looked).any(axis=1)
        scores = self.scores()
        last = np.where(np.isnan(scores), -np.inf, scores)
        columns["rank_worst"] = rankdata(-last, method="min").astype(np.int32)
        return columns


@dataclass(frozen=True, eq=False)
class Folds:
    """What a worker needs to evaluate a candidate on a fold; `failed` is a worst score, too.

    The last near-optimal set of each fold is `kept`, with its candidate: it may be asked for more.
    """

    estimator: Any
    X: Any
    y: Any
    splits: Sequence[tuple[Any, Any]]
    worst_case: WorstCase
    weight: Any
    error_score: float | Literal["raise"]
    failed: float
    ordinary: dict[str, Any]
    kept: dict[int, tuple[Any, NearOptimalSet]] = field(default_factory=dict)

    def __getstate__(self) -> dict[str, Any]:
        """Leave to other processes to make their own sets."""
        return vars(self) | {"kept": {}}

    def evaluate(
        self, parameters: dict[str, Any], split: int, candidate: tuple[int, int], ended: bool
    ) -> tuple[dict[str, Any], Found]:
        """Fit and score as scikit-learn does, and find of the worst case what costs little.

        That is a bound without branching where there are bounds, and elsewhere the fit itself. Of
        a range it is the trained model, too: most values are far from the best.
        """
        begun = time.perf_counter()
        train, test = self.splits[split]
        outcome = _fit_and_score(
            clone(self.estimator),
            self.X,
            self.y,
            train=train,
            test=test,
            parameters=parameters,
            split_progress=(split, len(self.splits)),
            candidate_progress=candidate,
            return_estimator=True,
            **self.ordinary,
        )
        fit = outcome.pop("estimator")
        if outcome["fit_error"] is not None:
            return outcome, Found(self.failed, self.failed)

        def coarse(X: Any, y: Any, weight: Any, X_test: Any, y_test: Any) -> Found:
            task = self.worst_case
            members = task.bounded(self.with_parameters(parameters), X, y, weight)
            if members is None:
                found = task.score_of_fit(fit, X_test, y_test)
                return Found(found, task.least_score(own_loss(fit)), proves=False, looked=False)
            if not ended:
                worst = members.worst(X_test, y_test, task.loss, time_limit=AT_ONCE)
                return self._scored(worst, members)
            self.kept[split] = parameters, members
            loss = trained_on(members, task, X_test, y_test)
            trained = self._scored(Extreme(loss, loss, np.inf, None), members)
            return replace(trained, looked=False, end=End.of(members))

        found = self._on(parameters, split, coarse)
        return outcome, replace(found, seconds=time.perf_counter() - begun)

    def climbed(self, parameters: dict[str, Any], split: int, *_: float) -> Found:
        """Find the worst case of a value of a range on a fold, with a bound without branching."""

        def coarse(X: Any, y: Any, weight: Any, X_test: Any, y_test: Any) -> Found:
            task, (known, members) = self.worst_case, self.kept.get(split, (None, None))
            if known is not parameters:
                members = task.bounded(self.with_parameters(parameters), X, y, weight)
            assert members is not None
            worst = members.worst(X_test, y_test, task.loss, time_limit=AT_ONCE)
            return replace(self._scored(worst, members), end=End.of(members, worst.model))

        begun = time.perf_counter()
        found = self._on(parameters, split, coarse)
        return replace(found, seconds=time.perf_counter() - begun)

    def worst(self, parameters: dict[str, Any], split: int, seconds: float, whole: float) -> Found:
        """Find the worst case of a candidate on a fold, in its share of the whole time."""
        estimator = self.with_parameters(parameters)
        end = Deadline.after(whole).moment

        def full(X: Any, y: Any, weight: Any, X_test: Any, y_test: Any) -> Found:
            deadline, task = replace(Deadline.after(seconds), end=end), self.worst_case
            members = task.bounded(estimator, X, y, weight)
            if members is None:
                worst, members = task.of(estimator, X, y, X_test, y_test, weight, deadline)
                return replace(
                    self._scored(worst, members), cut=task.cut_short(members, deadline, len(y_test))
                )
            ask = partial(members.worst, X_test, y_test, task.loss, time_limit=deadline)
            worst = ask(node_limit=1)
            hopeless = worst.upper_bound - worst.value > HOPELESS * abs(worst.value)
            if not (hopeless or worst.proved):
                worst = ask(node_limit=task.node_limit)
            cut = deadline.over and not worst.proved
            return replace(self._scored(worst, members), hopeless=hopeless, cut=cut)

        return self._on(parameters, split, full)

    def with_parameters(self, parameters: dict[str, Any]) -> Any:
        """Return the estimator of a candidate."""
        return clone(self.estimator).set_params(**clone(parameters, safe=False))

    def rows(self, estimator: Any, split: int) -> tuple[Any, Any, Any, Any, Any]:
        """Return the training fold with its weights, and the test fold."""
        train, test = self.splits[split]
        X, y = _safe_split(estimator, self.X, self.y, train)
        X_test, y_test = _safe_split(estimator, self.X, self.y, test, train)
        weight = None if self.weight is None else np.asarray(self.weight)[train]
        return X, y, weight, X_test, y_test

    def _scored(self, worst: Extreme, members: NearOptimalSet) -> Found:
        score = partial(self.worst_case.score, by_default=members.loss)
        return Found(score(worst.value), score(worst.upper_bound), members.proves)

    def _on(self, parameters: dict[str, Any], split: int, find: Callable[..., Found]) -> Found:
        """Find something on a fold; where that fails it counts as `error_score`."""
        try:
            return find(*self.rows(self.with_parameters(parameters), split))
        except Exception as error:
            if self.error_score == "raise":
                raise
            warnings.warn(
                f"no worst case of {parameters} on split {split}, which counts as {self.failed}: "
                f"{error}",
                stacklevel=2,
            )
            return Found(self.failed, self.failed)


def _std(values: Matrix) -> Vector:
    """Return standard deviations of rows, NaN for those that are not finite."""
    finite = np.where(np.isfinite(values), values, np.nan)
    return np.asarray(finite.std(axis=1))
