"""The near-optimal set of any estimator: members are fitted estimators, and are found by training.

A member is an estimator fitted to whatever rows and weights, whose loss on the training data is
within the budget of the least seen. A bad one on other rows comes from training on these as well,
with the wrong labels (`pushing`), as far as the budget goes (`ascent`). Refits from other seeds and
on bootstrap weights are members, too.

All this finds members. It proves nothing of those it did not find.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property, partial
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import is_classifier, is_regressor
from sklearn.utils.validation import _num_samples

from pessimal.errors import LearntByHeartWarning
from pessimal.limits import NEVER, Deadline, TimeLimit
from pessimal.losses import Loss, Step
from pessimal.near_optimal.base import Extreme, NearOptimalSet, ScoreRange
from pessimal.near_optimal.prediction import Kind, PredictionRange, require_kind
from pessimal.near_optimal.retrained.ascent import LARGEST_SHARE, Allowance, Ascent, Fit
from pessimal.near_optimal.retrained.judging import (
    constant_loss,
    losses,
    own_loss,
    predictions,
    require_known,
)
from pessimal.near_optimal.retrained.pushing import Push
from pessimal.near_optimal.retrained.refitting import Duration, Extra, Refitting
from pessimal.problem import Budget, Vector

REFITS = 60
"""Of one search, unless another limit is given."""

SEEDS, BOOTSTRAPS = 2, 2
"""Other seeds and draws of bootstrap weights that are tried."""

MIXTURES = 3
"""Of bootstrap weights with the true ones that are tried for a draw."""

PREDICTING = 10
"""Members that are asked what they say of new rows."""

MEMORISES = 0.5
"""Share of the loss of a guess, or of the fit, below which wrong labels have been learnt."""

ROUNDING = 1e-9
"""Relative error of a training loss that counts for nothing."""


class RetrainedSet(NearOptimalSet):
    """Fitted estimators that train about as well as the best one seen; see the module.

    Parameters
    ----------
    estimator : classifier or regressor
    X, y : the training data
    budget : Budget
    sample_weight : array-like, optional
    training_loss : callable, optional
        What training minimises, of a fitted estimator; by default the mean on the training data of
        the log loss, where there are probabilities, else of the hinge loss of the scores, else of
        errors; of the squared error for a regressor.
    deadline : Deadline, optional
        When to leave other seeds alone.
    fitted : classifier or regressor, optional
        A fit to these rows, which stands for the first one if there is no time for that.
    fit_seconds : float, optional
        How long it took.

    Attributes
    ----------
    duration : Duration
        How long a fit and its training loss take; the sets of other budgets learn it, too.
    """

    proves = False

    def __init__(
        self,
        estimator: Any,
        X: Any,
        y: Any,
        budget: Budget,
        sample_weight: Any = None,
        training_loss: Any = None,
        deadline: Deadline = NEVER,
        fitted: Any = None,
        fit_seconds: float = 0.0,
    ) -> None:
        self.budget = budget
        self.refitting = Refitting.of(estimator, X, y, sample_weight)
        self._training_loss = training_loss
        begun = time.perf_counter()
        late = fitted is not None and not deadline.affords(fit_seconds)
        model = fitted if late else self.refitting.fit()
        self.loss = own_loss(model)
        self.classes = tuple(model.classes_.tolist()) if is_classifier(model) else ()
        self.met: list[Fit] = []
        self._mixed = 1.0  # the share of bootstrap weights that the budget affords, for all we know
        self._meet(model)
        seconds = time.perf_counter() - begun + (fit_seconds if late else 0.0)
        known = None if self.refitting.takes_weights and not self.refitting.given else seconds
        self.duration = Duration(seconds, len(self.refitting.weight), known)
        for seed in range(1, SEEDS + 1) if self.refitting.seeds else ():
            if not deadline.affords(self.duration.plain):
                break
            if self._meet(self.refitting.fit(seed=seed)).train_loss == self.met[0].train_loss:
                break  # the seed makes no difference

    @classmethod
    def accepts(cls, estimator: Any) -> bool:
        """Return whether it is an estimator that classifies or predicts numbers."""
        return hasattr(estimator, "fit") and (is_classifier(estimator) or is_regressor(estimator))

    @classmethod
    def of(
        cls,
        estimator: Any,
        X: ArrayLike,
        y: ArrayLike,
        budget: Budget,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Make the set of the fits that train on (X, y) about as well as the best seen."""
        return cls(estimator, X, y, budget, sample_weight)

    def refit_seconds(self, added: int = 0) -> float:
        """Return what a refit takes with rows added; with less time left none is begun."""
        seconds = self.duration.expected(added)
        if self.duration.weighted is None:
            seconds += self.refitting.binning_seconds * (1.0 + added / self.duration.rows)
        return seconds

    @property
    def trained(self) -> Extreme:  # type: ignore[override]
        """The least training loss seen; nothing is known of the least there is."""
        best = min(self.met, key=lambda fit: fit.train_loss)
        return Extreme(best.train_loss, 0.0, best.train_loss, best.model)

    @property
    def members(self) -> list[Any]:
        """The members met so far."""
        return [fit.model for fit in self.met if self._affords(fit)]

    @cached_property
    def memorises(self) -> bool:
        """Whether the estimator memorises its training rows: it fits labels that mean nothing."""
        refit, rng = self.refitting, np.random.default_rng(0)
        guess = constant_loss(self.loss, refit.y, refit.weight)
        if self.trained.value <= ROUNDING * guess:
            return True
        permuted = rng.permutation(refit.y)
        model = refit.fit(y=permuted)
        return self._mean(model, refit.X, permuted, self.loss, refit.weight) < MEMORISES * guess

    def train_loss(self, model: Any) -> float:
        """Return the mean loss of a fitted estimator on the training data."""
        if self._training_loss is not None:
            return float(self._training_loss(model))
        refit = self.refitting
        return self._mean(model, refit.X, refit.y, self.loss, refit.weight)

    def contains(self, model: Any) -> bool:
        """Return whether a fitted estimator trains within the budget of the least loss seen."""
        return self._affords(Fit(model, self.train_loss(model)))

    def with_budget(self, budget: Budget) -> Self:
        """Return the set of another budget, with what was met so far."""
        other = super().with_budget(budget)
        other.met, other._mixed = list(self.met), 1.0
        return other

    def _worst(
        self, X: Any, y: Any, loss: Loss, deadline: Deadline, node_limit: int | None
    ) -> Extreme:
        """Find a member of large mean loss by at most `node_limit` refits.

        The upper bound is what is certain without looking: 1 for errors, infinite otherwise. If
        the estimator memorises rows, a half of the rows is attacked and the other judged, in
        turn; the value is then the mean of both halves, each for the worst model that did not see
        it, or that of a member that saw neither if it is larger.
        """
        allowance = self._allowance(node_limit or REFITS, deadline, _num_samples(X))
        value, model = self._extreme(X, self._labels(y), loss, 1.0, allowance)
        ceiling = 1.0 if isinstance(loss, Step) else np.inf
        return Extreme(value, value, ceiling, model)

    def _best(self, X: Any, y: Any, loss: Loss, deadline: Deadline) -> Extreme:
        """Find a member of small mean loss, by training on the rows as well."""
        allowance = self._allowance(REFITS, deadline, _num_samples(X))
        value, model = self._extreme(X, self._labels(y), loss, -1.0, allowance)
        return Extreme(value, 0.0, value, model)

    def _score_range(self, X: ArrayLike, deadline: Deadline) -> ScoreRange:
        """Return the members met, and no bounds: there are none."""
        models = self.sample(SEEDS + BOOTSTRAPS, time_limit=deadline)
        endless = np.full(_num_samples(X), np.inf)
        return ScoreRange(-endless, endless, np.zeros(len(endless), np.bool_), models)

    def predict_range(
        self, X: Any, kind: Kind = "score", *, time_limit: TimeLimit = None
    ) -> PredictionRange:
        """Return what the members met say of new rows, and no bounds: there are none.

        The score of two classes is the log odds where there are probabilities; of more classes
        there is one column each.
        """
        require_kind(kind, hasattr(self.trained.model, "predict_proba"))
        X = X if hasattr(X, "shape") else np.asarray(X)
        self.sample(PREDICTING, time_limit=time_limit)
        models = self.members or [self.trained.model]
        said = np.array([predictions(model, X, kind, self.loss) for model in models])
        labels = np.array([model.predict(X) for model in models])
        disagree = np.any(labels != labels[0], axis=0) & bool(self.classes)
        ends = (0.0, 1.0) if kind == "probability" else (-np.inf, np.inf)
        low, high = (np.full(said.shape[1:], end) for end in ends)
        never = np.zeros(len(disagree), np.bool_)
        return PredictionRange(
            low, high, said.min(axis=0), said.max(axis=0), never, disagree, proves=False
        )

    def agreement(self, X: Any, *, time_limit: TimeLimit = None) -> PredictionRange:
        """Tell where members met say different classes."""
        return self.predict_range(X, time_limit=time_limit)

    def _sample(self, n: int, rng: np.random.Generator, deadline: Deadline) -> list[Any]:
        """Return members: refits from other seeds, on bootstrap weights as far as these go."""
        members = self.members[:n]
        while len(members) < n and deadline.affords(self.refit_seconds()):
            members.append(self._bootstrapped(rng, self._allowance(REFITS, deadline)))
        return members

    # What is found by training.

    def _extreme(
        self, X: Any, y: Any, judge: Loss, side: float, allowance: Allowance
    ) -> tuple[float, Any]:
        """Find the largest (side 1) or least (−1) mean loss on rows, and a member that has it."""
        X = X if hasattr(X, "shape") else np.asarray(X)
        push = Push(X, y, judge, side)
        if self._slack() <= 0.0:
            return self._judged(self.met, push)
        rng = np.random.default_rng(0)
        for _ in range(BOOTSTRAPS):
            self._bootstrapped(rng, allowance)
        if len(y) > 1 and allowance.in_time and self._learns_by_heart(push, allowance):
            warnings.warn(
                f"{type(self.refitting.estimator).__name__} learns rows by heart: it fits wrong "
                "labels at no cost. Its worst case is of rows that were not attacked, one half at "
                "a time; regularise it for a training loss that means something",
                LearntByHeartWarning,
                stacklevel=4,
            )
            return self._held_out(push, allowance)
        least = np.inf
        # A fit that trains better than all before moves the whole set: then begin again there.
        while self.trained.value < least and allowance.fits > 0 and allowance.in_time:
            least = self.trained.value
            self.met += self._pushed(push, allowance)
        return self._judged(self.met, push)

    def _learns_by_heart(self, push: Push, allowance: Allowance) -> bool:
        """Whether wrong labels, of as much weight as they may get, are learnt within the budget."""
        if self.memorises:
            return True
        if not allowance.in_time:  # no rows will be attacked
            return False
        trained = self.trained.model
        wrong = replace(push, side=1.0).rows(trained, alike=True)
        each = LARGEST_SHARE * float(self.refitting.weight.sum()) / len(wrong.y)
        fit = self._refit(replace(wrong, weight=each * wrong.weight))
        before, after = (
            self._mean(model, wrong.X, wrong.y, self.loss) for model in (trained, fit.model)
        )
        return self._affords(fit) and after < MEMORISES * before

    def _held_out(self, push: Push, allowance: Allowance) -> tuple[float, Any]:
        """Attack one half of the rows and judge by the other, in turn."""
        first, second = (push.some(rows) for rows in _halves(push.y))
        found: list[tuple[float, Any]] = []
        for attacked, judging in ((first, second), (second, first)):
            deadline = allowance.deadline.share(0.5) if not found else allowance.deadline
            fits = self._pushed(
                attacked, replace(allowance, fits=allowance.fits // 2, deadline=deadline)
            )
            found.append(self._judged(fits, judging))
        sizes = [len(second.y), len(first.y)]
        value = float(np.average([loss for loss, _ in found], weights=sizes))
        unseen = self._judged(self.met, push)
        if push.side * unseen[0] >= push.side * value:
            return unseen
        return value, max(found, key=lambda pair: push.side * pair[0])[1]

    def _judged(self, fits: Sequence[Fit], push: Push) -> tuple[float, Any]:
        """Return the extreme mean loss of members among fits, and which has it."""
        # The trained model is a member whatever happens.
        models = [fit.model for fit in fits if self._affords(fit)] or [self.trained.model]
        judged = [(self._mean(model, push.X, push.y, push.judge), model) for model in models]
        return max(judged, key=lambda pair: push.side * pair[0])

    def _pushed(self, push: Push, allowance: Allowance) -> list[Fit]:
        """Train on pushed rows again and again, each time weighted by the model before."""
        start = max(self.members, key=push.reached)
        # Training ascends to a local maximum: there may be another one behind rows all alike.
        weighted, alike = push.rows(start), push.rows(start, alike=True)
        ascent = Ascent(self._with_rows, self.trained.value, self._largest(), allowance)
        found = ascent.climb(push, start, weighted)
        if np.ptp(weighted.weight) > 0.0:
            found += ascent.climb(push, start, alike)
        return found

    def _with_rows(self, extra: Extra, share: float) -> Fit:
        """Train with rows added, whose weight is a share of that of the training rows."""
        weight = self.refitting.weight
        # A penalty that training does not show must not lose weight by the rows added.
        scale = 1.0 if self._training_loss or not self.refitting.weighted else 1.0 + share
        added = share * float(weight.sum() / extra.weight.sum()) / scale
        rows = replace(extra, weight=added * extra.weight)
        return self._refit(rows, np.full(len(weight), 1.0 / scale))

    def _bootstrapped(self, rng: np.random.Generator, allowance: Allowance) -> Any:
        """Return a member fitted to bootstrap weights, mixed with the true ones as need be."""
        n = len(self.refitting.weight)
        draw = rng.multinomial(n, np.full(n, 1.0 / n))
        for _ in range(MIXTURES):
            if not allowance.take():
                break
            factor: Vector = 1.0 + self._mixed * (np.asarray(draw, np.float64) - 1.0)
            if is_classifier(self.refitting.estimator) and _lost(self.refitting.y, factor):
                self._mixed *= 0.5
                continue
            fit = self._refit(factor=factor)
            self.met.append(fit)
            if self._affords(fit):
                return fit.model
            # Near the true weights the excess is a parabola; other draws will need as much.
            excess = fit.train_loss - self.trained.value
            self._mixed *= float(np.clip(0.8 * np.sqrt(self._slack() / excess), 0.1, 0.5))
        return self.trained.model

    def _allowance(self, fits: int, deadline: Deadline, added: int = 0) -> Allowance:
        return Allowance(fits, deadline, partial(self.refit_seconds, added))

    def _refit(self, extra: Extra | None = None, factor: Vector | None = None) -> Fit:
        """Train with weights or rows added, and learn how long that takes."""
        _ = self.refitting.weighted  # found out once, which is no part of a fit
        with self.duration.refit(0 if extra is None else len(extra.y)):
            return self._fit(self.refitting.fit(extra, factor))

    # Losses.

    def _meet(self, model: Any) -> Fit:
        self.met.append(self._fit(model))
        return self.met[-1]

    def _fit(self, model: Any) -> Fit:
        return Fit(model, self.train_loss(model))

    def _affords(self, fit: Fit) -> bool:
        return fit.train_loss <= self._largest()

    def _largest(self) -> float:
        return self.limit * (1.0 + ROUNDING)

    def _slack(self) -> float:
        return self.limit - self.trained.value

    @staticmethod
    def _mean(model: Any, X: Any, y: Any, loss: Loss, weight: Vector | None = None) -> float:
        return float(np.average(losses(model, X, y, loss), weights=weight))

    def _labels(self, y: Any) -> Any:
        y = np.asarray(y)
        if is_classifier(self.refitting.estimator):
            require_known(y, self.met[0].model.classes_)
        return y


def _halves(y: Any) -> list[Any]:
    """Divide rows into two halves alike in their labels."""
    order = np.argsort(y, kind="stable")
    return [np.sort(order[::2]), np.sort(order[1::2])]


def _lost(y: Any, factor: Vector) -> bool:
    """Whether a class has no weight left."""
    return len(np.unique(y[factor > 0.0])) < len(np.unique(y))
