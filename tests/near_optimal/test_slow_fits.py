"""An estimator that trains slowly: a fit cannot be cut short, so it is not begun too late."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import pytest
from clocks import WorkClock
from sklearn.datasets import make_classification
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.ensemble._hist_gradient_boosting.gradient_boosting import BaseHistGradientBoosting
from sklearn.tree import DecisionTreeClassifier
from threadpoolctl import threadpool_info, threadpool_limits  # type: ignore[import-untyped]

from pessimal import Budget, PessimisticSearchCV, audit_estimator
from pessimal.limits import Deadline
from pessimal.near_optimal.retrained import refitting
from pessimal.near_optimal.retrained.retrained_set import RetrainedSet

SECONDS = 10.0
"""Of a fit."""

X, Y = make_classification(120, 5, flip_y=0.2, random_state=0)
TRAIN, VAL = slice(0, 60), slice(60, 120)

pytestmark = pytest.mark.filterwarnings("ignore")


class SlowTree(DecisionTreeClassifier):  # type: ignore[misc]
    """A tree that takes ten seconds to train."""

    clock: ClassVar[WorkClock]
    fits: ClassVar[int] = 0

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        SlowTree.clock.work(SECONDS)
        SlowTree.fits += 1
        return super().fit(X, y, sample_weight)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> WorkClock:
    SlowTree.clock, SlowTree.fits = WorkClock(monkeypatch), 0
    return SlowTree.clock


def tree(**options: Any) -> SlowTree:
    return SlowTree(max_depth=2, random_state=0, **options)


@pytest.mark.parametrize("seconds", [5.0, 25.0, 45.0, 120.0])
def test_no_question_passes_its_limit(clock: WorkClock, seconds: float) -> None:
    members = RetrainedSet(tree(), X[TRAIN], Y[TRAIN], Budget(0.5), deadline=Deadline(0.0))
    for ask in (members.worst, members.best):
        begun = clock.now
        ask(X[VAL], Y[VAL], time_limit=seconds)
        assert clock.now <= begun + seconds
    begun = clock.now
    members.sample(20, time_limit=seconds)
    assert clock.now <= begun + seconds


@pytest.mark.usefixtures("clock")
def test_with_time_for_them_there_are_refits() -> None:
    members = RetrainedSet(tree(), X[TRAIN], Y[TRAIN], Budget(0.5), deadline=Deadline(0.0))
    members.worst(X[VAL], Y[VAL], time_limit=120.0)
    assert SlowTree.fits > 4


@pytest.mark.usefixtures("clock")
def test_a_fit_that_is_there_stands_for_the_first_if_there_is_no_time() -> None:
    fitted = tree().fit(X[TRAIN], Y[TRAIN])
    late = Deadline.after(SECONDS / 2)
    options: dict[str, Any] = {"fitted": fitted, "fit_seconds": SECONDS}
    members = RetrainedSet(tree(), X[TRAIN], Y[TRAIN], Budget(0.5), deadline=late, **options)
    assert members.trained.model is fitted
    assert members.refit_seconds() >= SECONDS
    RetrainedSet(
        tree(), X[TRAIN], Y[TRAIN], Budget(0.5), deadline=Deadline.after(SECONDS), **options
    )
    assert SlowTree.fits == 2


@pytest.mark.parametrize("seconds", [25.0, 65.0, 200.0])
def test_an_audit_ends_within_its_limit_and_says_that_it_was_cut_short(
    clock: WorkClock, seconds: float
) -> None:
    fitted = tree().fit(X[TRAIN], Y[TRAIN])
    begun = clock.now
    report = audit_estimator(fitted, X[TRAIN], Y[TRAIN], X[VAL], Y[VAL], time_limit=seconds)
    assert clock.now <= begun + seconds
    assert report.stopped


@pytest.mark.parametrize("seconds", [25.0, 45.0, 105.0, 205.0])
def test_a_search_keeps_time_for_its_last_fit(clock: WorkClock, seconds: float) -> None:
    grid = {"min_samples_leaf": [1, 5]}
    search = PessimisticSearchCV(tree(), grid, cv=3, time_limit=seconds).fit(X, Y)
    assert clock.now <= seconds
    assert np.isfinite(search.best_score_)
    assert search.stopped_ == "time_limit"


class SlowByWeights(SlowTree):
    """Takes four times as long where many rows have weights, as histogram boosting does."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        if sample_weight is not None and len(X) >= 340:
            SlowTree.clock.work(3.0 * SECONDS)
        return super().fit(X, y, sample_weight)


MANY, MANY_Y = make_classification(400, 5, flip_y=0.2, random_state=0)


@pytest.mark.parametrize("seconds", [35.0, 65.0, 95.0, 125.0, 155.0, 400.0])
def test_how_long_weighted_fits_take_is_learnt(clock: WorkClock, seconds: float) -> None:
    estimator = SlowByWeights(max_depth=2, random_state=0)
    members = RetrainedSet(estimator, MANY[:340], MANY_Y[:340], Budget(0.5), deadline=Deadline(0.0))
    other = members.with_budget(Budget(0.2))
    for ask in (members.worst, other.best):
        begun = clock.now
        ask(MANY[340:], MANY_Y[340:], time_limit=seconds)
        assert clock.now <= begun + seconds
    assert other.refit_seconds() == members.refit_seconds()


BIN_SECONDS = 100.0
"""That histogram boosting takes for the bins of a column of many values, if rows have weights."""


@pytest.fixture
def slow_bins(clock: WorkClock, monkeypatch: pytest.MonkeyPatch) -> WorkClock:
    fit = BaseHistGradientBoosting.fit

    def slowly(self: Any, X: Any, y: Any, sample_weight: Any = None) -> Any:
        values = [len(np.unique(column)) for column in np.asarray(X).T]
        if sample_weight is not None:
            clock.work(BIN_SECONDS * sum(n > self.max_bins for n in values))
        clock.work(1.0)
        return fit(self, X, y, sample_weight)

    monkeypatch.setattr(BaseHistGradientBoosting, "fit", slowly)
    return clock


@pytest.mark.parametrize("seconds", [20.0, 300.0, 500.0, 2000.0])
def test_the_bins_of_weighted_rows_are_counted_before_there_were_any(
    slow_bins: WorkClock, seconds: float
) -> None:
    boosting = HistGradientBoostingClassifier(max_iter=2, max_bins=100, random_state=0)
    members = RetrainedSet(boosting, MANY[:340], MANY_Y[:340], Budget(0.5), deadline=Deadline(0.0))
    begun = slow_bins.now
    members.worst(MANY[340:], MANY_Y[340:], time_limit=seconds)
    # One column may be tried to know how long all of them take.
    assert slow_bins.now <= begun + max(seconds, BIN_SECONDS + 1.0)
    assert (members.duration.weighted is not None) == (seconds > 1000.0)


@pytest.mark.usefixtures("slow_bins")
@pytest.mark.parametrize(
    "boosting", [HistGradientBoostingClassifier, HistGradientBoostingRegressor]
)
def test_columns_of_few_values_have_no_bins_to_look_for(boosting: Any) -> None:
    few = np.round(MANY[:, :2])
    members = RetrainedSet(boosting(max_iter=2), few, MANY_Y, Budget(0.5), deadline=Deadline(0.0))
    assert members.refit_seconds() < BIN_SECONDS


class Threaded(HistGradientBoostingClassifier):  # type: ignore[misc]
    """Notes with how many threads it is trained."""

    threads: ClassVar[list[int]] = []

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        type(self).threads += [
            int(library["num_threads"])
            for library in threadpool_info()
            if library["user_api"] == "openmp"
        ]
        return super().fit(X, y, sample_weight)


@pytest.mark.parametrize(("small", "threads"), [(600, {1}), (599, {2})])
def test_small_refits_of_boosting_take_one_thread(
    small: int, threads: set[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(refitting, "SMALL", small)
    monkeypatch.setattr(Threaded, "threads", [])
    X, y = make_classification(200, 3, n_informative=2, n_redundant=0, random_state=0)
    with threadpool_limits(2, user_api="openmp"):
        refitting.Refitting.of(Threaded(max_iter=2), X, y).fit()
    assert set(Threaded.threads) == threads
