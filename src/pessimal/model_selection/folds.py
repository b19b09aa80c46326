"""Candidates on folds: the ordinary fits and scores, and beside each the worst case."""

from __future__ import annotations

import time
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from scipy.stats import rankdata
from sklearn.base import clone
from sklearn.model_selection._validation import _fit_and_score
from sklearn.utils.metaestimators import _safe_split

from pessimal.limits import Deadline
from pessimal.model_selection.worst import WorstCase
from pessimal.problem import Matrix, Vector
from pessimal.tolerances import OPTIMAL_GAP


@dataclass(frozen=True)
class Found:
    """The worst score of one candidate on one fold.

    Whether time cut the search for refits, and the seconds that this took at least.
    """

    found: float = np.nan
    bound: float = np.nan
    proves: bool = True
    cut: bool = False
    seconds: float = 0.0


@dataclass(frozen=True, eq=False)
class Worst:
    """Worst scores of all candidates (rows) on all folds (columns)."""

    found: Matrix
    bound: Matrix
    proves: Any

    @classmethod
    def unknown(cls, n_candidates: int, n_splits: int) -> Worst:
        """Return the state before anything is known."""
        shape = n_candidates, n_splits
        return cls(np.full(shape, np.nan), np.full(shape, np.nan), np.ones(shape, np.bool_))

    def of_first(self, n_splits: int) -> Worst:
        """Return the first folds alone."""
        return Worst(self.found[:, :n_splits], self.bound[:, :n_splits], self.proves[:, :n_splits])

    def set(self, candidate: int, split: int, found: Found) -> None:
        """Write down what was found; of two answers the worst model and the better bound."""
        at = candidate, split
        self.found[at] = np.fmin(self.found[at], found.found)
        self.bound[at] = np.fmax(self.bound[at], found.bound)
        self.proves[at] = found.proves

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
        scores = self.scores()
        last = np.where(np.isnan(scores), -np.inf, scores)
        columns["rank_worst"] = rankdata(-last, method="min").astype(np.int32)
        return columns


@dataclass(frozen=True, eq=False)
class Folds:
    """What a worker needs to evaluate a candidate on a fold."""

    estimator: Any
    X: Any
    y: Any
    splits: Sequence[tuple[Any, Any]]
    candidates: Sequence[dict[str, Any]]
    worst_case: WorstCase
    weight: Any
    error_score: float | Literal["raise"]
    ordinary: dict[str, Any]

    def evaluate(self, candidate: int, split: int, seconds: float) -> tuple[dict[str, Any], Found]:
        """Fit and score as scikit-learn does, and find the worst case coarsely."""
        begun = time.perf_counter()
        train, test = self.splits[split]
        outcome = _fit_and_score(
            clone(self.estimator),
            self.X,
            self.y,
            train=train,
            test=test,
            parameters=self.candidates[candidate],
            split_progress=(split, len(self.splits)),
            candidate_progress=(candidate, len(self.candidates)),
            **self.ordinary,
        )
        if outcome["fit_error"] is not None:
            error = self.error_score
            return outcome, Found() if isinstance(error, str) else Found(error, error)
        found = self.worst(candidate, split, seconds, coarse=True)
        # Refits go on for as long as they may.
        spent = time.perf_counter() - begun if found.proves else outcome["fit_time"]
        return outcome, replace(found, seconds=spent)

    def worst(self, candidate: int, split: int, seconds: float, coarse: bool = False) -> Found:
        """Find the worst case of a candidate on a fold."""
        estimator = clone(self.estimator).set_params(
            **clone(self.candidates[candidate], safe=False)
        )
        train, test = self.splits[split]
        X, y = _safe_split(estimator, self.X, self.y, train)
        X_test, y_test = _safe_split(estimator, self.X, self.y, test, train)
        weight = None if self.weight is None else np.asarray(self.weight)[train]
        task = self.worst_case
        deadline = Deadline.after(seconds)
        try:
            worst, members = task.of(
                estimator, X, y, X_test, y_test, weight, deadline, coarse=coarse
            )
        except Exception as error:
            if self.error_score == "raise":
                raise
            warnings.warn(
                f"no worst case of {self.candidates[candidate]} on split {split}, which counts "
                f"as {self.error_score}: {error}",
                stacklevel=2,
            )
            return Found(self.error_score, self.error_score)
        bounds = task.score(worst.value, members), task.score(worst.upper_bound, members)
        return Found(*bounds, members.proves, cut=not members.proves and deadline.over)


def _std(values: Matrix) -> Vector:
    """Return standard deviations of rows, NaN for those that are not finite."""
    finite = np.where(np.isfinite(values), values, np.nan)
    return np.asarray(finite.std(axis=1))
