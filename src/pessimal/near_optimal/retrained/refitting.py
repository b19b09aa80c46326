"""Training again: on weighted rows, with rows added, from another seed.

Where an estimator takes a row of weight 2 for two rows, weights are used. Where it does not, or
takes none, rows are repeated: their numbers are the weights, rounded so that sums are kept.

A fit that is begun cannot be cut short, so those that there were tell how long the next one takes.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.sparse import issparse, vstack
from sklearn import config_context
from sklearn.base import clone, is_classifier
from sklearn.pipeline import Pipeline
from sklearn.utils import _safe_indexing, get_tags
from sklearn.utils.validation import _num_samples, has_fit_parameter
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from pessimal.errors import InvalidInputError
from pessimal.problem import Vector

SMALL = 100_000
"""Entries of a table on which threads of histogram boosting take longer to meet than they save."""

CHECKED_ROWS = 120
"""On which it is seen whether weights are numbers of rows."""

SAME = 0.02
"""Differences of predictions, in units of their spread, that training to a tolerance may leave."""

FIRST_WEIGHTED = 6.0
"""Plain fits that the first one to weighted rows may take, with those that tell how weights are
read, but without the bins of histogram boosting."""


@dataclass(frozen=True, eq=False)
class Extra:
    """Rows to train on besides, with their weights."""

    X: Any
    y: Any
    weight: Vector


@dataclass
class Duration:
    """How long fits to some rows take.

    Attributes
    ----------
    plain : float
        Seconds of a fit to the rows as they are.
    rows : int
    weighted : float or None
        Seconds of the slowest fit to weighted rows, with none added; None before the first.
    """

    plain: float
    rows: int
    weighted: float | None = None

    def expected(self, added: int = 0) -> float:
        """Return the seconds that a refit with so many rows added is given."""
        if self.weighted is None:
            return self.plain * (FIRST_WEIGHTED + added / self.rows)
        return max(self.plain, self.weighted) * (1.0 + added / self.rows)

    @contextmanager
    def refit(self, added: int = 0) -> Iterator[None]:
        """Measure a refit to weighted rows."""
        begun = time.perf_counter()
        yield
        took = (time.perf_counter() - begun) / (1.0 + added / self.rows)
        self.weighted = max(took, self.weighted or 0.0)


@dataclass(frozen=True, eq=False)
class Refitting:
    """An estimator and its training data.

    Attributes
    ----------
    estimator : estimator
        Never fitted itself.
    X, y : the training data
    weight : ndarray of shape (n,)
    given : bool
        Whether the weights are the user's, which the estimator has to take as it does.
    """

    estimator: Any
    X: Any
    y: Any
    weight: Vector
    given: bool = False

    @classmethod
    def of(cls, estimator: Any, X: Any, y: Any, sample_weight: Any = None) -> Refitting:
        """Read the training data; refuse what refits cannot be made of."""
        if get_tags(estimator).input_tags.pairwise:
            raise InvalidInputError(
                f"{type(estimator).__name__} takes distances or kernels between training rows, to "
                "which refits cannot add rows; pass features, and the kernel or metric by its name"
            )
        X = X if hasattr(X, "shape") else np.asarray(X)
        y = np.asarray(y)
        takes = has_fit_parameter(estimator, "sample_weight")
        if sample_weight is None:
            return cls(estimator, X, y, np.ones(_num_samples(X)))
        if not takes:
            raise InvalidInputError(
                f"sample_weight is given, and {type(estimator).__name__} takes none in fit; leave "
                "it out"
            )
        weight = np.asarray(sample_weight, np.float64)
        if weight.shape != (_num_samples(X),):
            raise InvalidInputError(
                f"sample_weight has shape {weight.shape}; pass one number per row"
            )
        return cls(estimator, X, y, weight, given=True)

    @cached_property
    def weighted(self) -> bool:
        """Whether weights are handed to the estimator, or rows repeated: two fits tell.

        They are made when it is first asked, for training as the estimator does needs no weights.
        """
        if self.given:
            return True
        with config_context(skip_parameter_validation=True):  # as in other refits
            return self.takes_weights and _weights_are_rows(self.estimator, self.X, self.y)

    @property
    def takes_weights(self) -> bool:
        """Whether there can be weights in training."""
        return bool(has_fit_parameter(self.estimator, "sample_weight"))

    @cached_property
    def _boosting(self) -> Any:
        """The histogram boosting that is trained, behind steps or not; None for others."""
        from sklearn.ensemble import (  # noqa: PLC0415 (slow to import)
            HistGradientBoostingClassifier,
            HistGradientBoostingRegressor,
        )

        last = self.estimator[-1] if isinstance(self.estimator, Pipeline) else self.estimator
        kinds = (HistGradientBoostingClassifier, HistGradientBoostingRegressor)
        return last if isinstance(last, kinds) else None

    @cached_property
    def binning_seconds(self) -> float:
        """How long histogram boosting looks for the bins of weighted rows; 0 for other estimators.

        It looks for every bin of every column that has more values than bins, which can take many
        times as long as the rest of a fit. The bins of one such column tell how long.
        """
        import pandas as pd  # noqa: PLC0415
        from sklearn.ensemble import HistGradientBoostingRegressor  # noqa: PLC0415

        last = self._boosting
        if last is None:
            return 0.0
        column = np.arange(float(len(self.weight)))
        one = HistGradientBoostingRegressor(
            max_iter=1, max_bins=last.max_bins, early_stopping=False
        )
        begun = time.perf_counter()
        one.fit(column[:, None], column, sample_weight=1.0 + column % 2.0)
        seconds = time.perf_counter() - begun
        if issparse(self.X):  # what the steps before make of it is not known
            return seconds * int(self.X.shape[1])
        return seconds * int(np.sum(pd.DataFrame(self.X).nunique() > last.max_bins))

    @property
    def seeds(self) -> list[str]:
        """Parameters that are seeds."""
        names = self.estimator.get_params(deep=True)
        return [name for name in names if name.rpartition("__")[-1] == "random_state"]

    def fit(
        self,
        extra: Extra | None = None,
        factor: Vector | None = None,
        seed: int = 0,
        y: Any = None,
    ) -> Any:
        """Train on the rows, their weights times a factor, with rows added or other labels.

        Seed 0 is that of the estimator itself, if it has one.
        """
        labels = self.y if y is None else y
        weight = self.weight if factor is None else self.weight * factor
        X = self.X
        if extra is not None:
            X, labels = _stacked(X, extra.X), np.concatenate([labels, extra.y])
            weight = np.append(weight, extra.weight)
        alike = bool(np.all(weight == 1.0))
        # The first fit has looked at the parameters; boosting would do so for each tree.
        again = bool(seed) or any(given is not None for given in (extra, factor, y))
        small = self._boosting is not None and np.prod(np.shape(self.X)) <= SMALL
        with (
            config_context(skip_parameter_validation=True if again else None),
            threadpool_limits(1, user_api="openmp") if small else nullcontext(),
        ):
            return _fit(self._seeded(seed), X, labels, weight, alike or self.weighted)

    def _seeded(self, seed: int) -> Any:
        estimator = clone(self.estimator)
        given = estimator.get_params(deep=True)
        fresh = {name: seed for name in self.seeds if seed or given[name] is None}
        return estimator.set_params(**fresh)


def _fit(estimator: Any, X: Any, y: Any, weight: Vector, weighted: bool) -> Any:
    with warnings.catch_warnings():
        # Hundreds of fits would each say what the first one, the user's own, has said.
        warnings.simplefilter("ignore")
        if not weighted:
            counts = np.diff(np.floor(np.append(0.0, np.cumsum(weight)) + 0.5)).astype(int)
            rows = np.repeat(np.arange(len(weight)), counts)
            return estimator.fit(_safe_indexing(X, rows), y[rows])
        if np.all(weight == 1.0):
            return estimator.fit(X, y)
        return estimator.fit(X, y, sample_weight=weight)


def _weights_are_rows(estimator: Any, X: Any, y: Any) -> bool:
    """Return whether weight 2 and a row twice make the same model, on some of the rows."""
    order = np.argsort(y, kind="stable")
    some = order[np.linspace(0, len(order) - 1, min(len(order), CHECKED_ROWS)).astype(int)]
    if is_classifier(estimator):
        some = np.union1d(some, np.unique(y, return_index=True)[1])
    X, y = _safe_indexing(X, some), y[some]
    weight = np.where(np.arange(len(some)) % 3 == 0, 2.0, 1.0)
    refit = Refitting(estimator, X, y, weight)
    try:
        models = [_fit(refit._seeded(0), X, y, weight, weighted) for weighted in (True, False)]
        first, second = (_outputs(model, X) for model in models)
    except Exception:
        return False
    return bool(np.abs(first - second).max() <= SAME * max(float(np.std(second)), 1e-12))


def _outputs(model: Any, X: Any) -> Vector:
    for name in ("predict_proba", "decision_function"):
        if hasattr(model, name):
            return np.asarray(getattr(model, name)(X), np.float64)
    if is_classifier(model):
        return np.asarray(np.searchsorted(model.classes_, model.predict(X)), np.float64)
    return np.asarray(model.predict(X), np.float64)


def _stacked(first: Any, second: Any) -> Any:
    """Return the rows of both."""
    if hasattr(first, "iloc"):
        import pandas as pd  # noqa: PLC0415

        return pd.concat([first, pd.DataFrame(second, columns=first.columns)], ignore_index=True)
    if issparse(first):
        return vstack([first, second], format="csr")
    return np.concatenate([first, np.asarray(second)])
