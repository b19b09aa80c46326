"""Time limits of smooth sets: bounds hold whenever time runs out, and no long step begins late."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from clocks import LeapingClock, WorkClock
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.svm import LinearSVC

from pessimal import audit_estimator, near_optimal_set
from pessimal.limits import Deadline
from pessimal.near_optimal.smooth.ellipsoids import Narrowed
from pessimal.near_optimal.smooth.rows import Block
from pessimal.near_optimal.smooth.smooth_set import SmoothSet
from pessimal.near_optimal.smooth.training import Training
from pessimal.problem import Matrix, Vector
from pessimal.workflows.overrun import Laps, overrun_notes

HOUR = 3600.0

ESTIMATORS = [
    LogisticRegression(C=0.5),
    LogisticRegression(C=0.5, l1_ratio=0.5, solver="saga"),
    LinearSVC(C=0.5),
    Ridge(),
]


def table() -> tuple[Matrix, Vector, Matrix, Vector]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(90, 4))
    y = np.where(X[:, 0] + rng.normal(size=90) > 0.0, 1.0, -1.0)
    return X[:60], y[:60], X[60:], y[60:]


def smooth_set(estimator: Any) -> SmoothSet:
    X, y, *_ = table()
    members = near_optimal_set(estimator, X, y, epsilon=0.1)
    assert isinstance(members, SmoothSet)
    return members


def fail(*_: Any) -> None:
    raise AssertionError("a step began for which there was no time")


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda e: type(e).__name__)
@pytest.mark.parametrize("still_looks", [0, 2, 4, 7, 11, 16, 25, 40, 80])
def test_bounds_hold_and_models_are_members_whenever_time_runs_out(
    estimator: Any, still_looks: int
) -> None:
    *_, X, y = table()
    whole = smooth_set(estimator)
    worst, best = whole.worst(X, y), whole.best(X, y)
    scores = np.array([m.decision_function(X) for m in whole.sample(30, 0)])
    with pytest.MonkeyPatch.context() as patch:
        members = smooth_set(estimator)
        LeapingClock(patch, still_looks)
        cut = members.worst(X, y, time_limit=1.0)
        assert cut.upper_bound >= worst.value
        assert members.contains(cut.model)
        low = smooth_set(estimator).best(X, y, time_limit=1.0)
        assert low.lower_bound <= best.value
        assert members.contains(low.model)
        ranging = smooth_set(estimator)
        for ranges in (
            ranging.coarse_score_range(X, time_limit=1.0),
            ranging.score_range(X, time_limit=1.0),
        ):
            assert (ranges.low <= scores.min(axis=0) + 1e-9).all()
            assert (ranges.high >= scores.max(axis=0) - 1e-9).all()
            assert all(members.contains(model) for model in ranges.models)  # type: ignore[arg-type]


@pytest.mark.parametrize("estimator", ESTIMATORS[:3], ids=lambda e: type(e).__name__)
def test_no_step_begins_that_there_is_no_time_for(
    estimator: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    *_, X, y = table()
    worst, members = smooth_set(estimator).worst(X, y), smooth_set(estimator)
    WorkClock(monkeypatch)
    monkeypatch.setattr(Training, "step_seconds", HOUR)
    monkeypatch.setattr(Block, "gram", fail)
    cut = members.worst(X, y, time_limit=10.0)
    assert members.trained.value <= members.train_loss(cut.model) <= members.limit
    assert cut.value <= worst.value * (1.0 + 1e-6) <= cut.upper_bound
    assert not members.score_range(X, time_limit=10.0).exact.any()


def test_what_holds_the_set_is_found_once_and_goes_on_where_time_ended_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    *_, X, y = table()
    exact = smooth_set(ESTIMATORS[0]).coarse_score_range(X)
    members = smooth_set(ESTIMATORS[0])
    with monkeypatch.context() as patch:
        LeapingClock(patch, 3)
        first = members.coarse_score_range(X, time_limit=1.0)
    assert (first.high > exact.high).all()
    again = members.coarse_score_range(X)
    assert again.high == pytest.approx(exact.high)
    monkeypatch.setattr(Narrowed, "narrower", fail)
    members.worst(X, y)
    members.score_range(X)


def test_an_audit_without_time_for_a_step_has_bounds_and_says_that_time_ran_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    X, y, X_val, y_val = table()
    model = LogisticRegression(C=0.5).fit(X, y)
    whole = audit_estimator(model, X, y, X_val, y_val, epsilons=())
    WorkClock(monkeypatch)
    monkeypatch.setattr(Training, "step_seconds", HOUR)
    report = audit_estimator(model, X, y, X_val, y_val, epsilons=(), time_limit=10.0)
    assert report.stopped
    assert any("Time ran out" in note for note in report.notes)
    assert report.worst_loss.upper_bound >= whole.worst_loss.value
    assert (report.score_low <= whole.found_low).all()
    assert report.coefficients is not None
    assert whole.coefficients is not None
    assert (report.coefficients.low <= whole.coefficients.found_low).all()
    assert (report.coefficients.high >= whole.coefficients.found_high).all()


def test_a_run_that_passed_its_limit_says_what_took_the_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clock = WorkClock(monkeypatch)
    deadline, laps = Deadline.after(10.0), Laps()
    clock.work(0.8)
    assert laps.lap("the fit") == pytest.approx(0.8)
    clock.work(25.0)
    laps.lap("the audit")
    (note,) = overrun_notes(deadline, 10.0, laps.parts)
    assert note.endswith("all took 25.8 s, of which the fit 0.8 s, the audit 25.0 s.")
    assert overrun_notes(Deadline.after(-1.9), 10.0, laps.parts) == ()
