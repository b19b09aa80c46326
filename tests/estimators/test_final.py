"""The models that predict: each where its definition says it is."""

from __future__ import annotations

import signal
from typing import Any

import numpy as np
import pytest
from clocks import LeapingClock
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles import in_near_optimal_set
from oracles.boxes import least_training_loss
from sklearn.exceptions import ConvergenceWarning
from strategies import boxes, budgets, problems

from pessimal import PessimisticSVC
from pessimal.estimators.final import FINALS, FinalModelWarning, centre, mean, refit
from pessimal.limits import NEVER, Deadline
from pessimal.near_optimal.polyhedral.linear_program import BoxModels
from pessimal.problem import Budget, TuningProblem


def seeded() -> np.random.RandomState:
    return np.random.RandomState(0)


@settings(max_examples=60)
@given(problem=problems(), budget=budgets(), data=st.data())
def test_every_final_model_is_near_optimal(
    problem: TuningProblem, budget: Budget, data: st.DataObject
) -> None:
    box = data.draw(boxes(problem))
    for final in FINALS.values():
        w, b, _ = final(problem, box, budget, seeded(), NEVER)
        assert in_near_optimal_set(problem, w, b, box, budget)


@settings(max_examples=30)
@given(problem=problems(), data=st.data())
def test_refit_has_the_least_loss(problem: TuningProblem, data: st.DataObject) -> None:
    box = data.draw(boxes(problem))
    w, b, _ = refit(problem, box, Budget(), seeded())
    least = least_training_loss(problem, box)
    assert problem.train_loss(w, b) == pytest.approx(least, abs=1e-6)


def test_the_mean_follows_its_seed() -> None:
    problem = TuningProblem([[-1.0, 0.0], [1.0, 0.5]], [-1, 1], [[0.0, 0.0]], [-1])
    draws = [
        mean(problem, np.ones(2), Budget(delta=0.3), np.random.RandomState(seed))[0]
        for seed in (0, 0, 1)
    ]
    np.testing.assert_array_equal(draws[0], draws[1])
    assert (draws[0] != draws[2]).any()


def test_the_centre_of_a_separable_problem_is_chebyshev_s() -> None:
    # Ψ is {(w, b): 4w − |b| ≥ 1, w ≤ 1}: a triangle with inscribed circle on the axis b = 0,
    # at distance r from w = 1 and from 4w ∓ b = 1, whose normals have length √17.
    problem = TuningProblem([[-4.0], [4.0]], [-1, 1], [[0.0]], [-1])
    w, b, _ = centre(problem, np.ones(1), Budget(), seeded())
    radius = 3.0 / (4.0 + np.sqrt(17.0))
    assert w[0] == pytest.approx(1.0 - radius, abs=1e-6)
    assert b == pytest.approx(0.0, abs=1e-6)


def test_past_the_deadline_the_mean_is_of_fewer_models_and_says_so() -> None:
    problem = TuningProblem([[-1.0, 0.0], [1.0, 0.5]], [-1, 1], [[0.0, 0.0]], [-1])
    budget, box = Budget(delta=0.3), np.ones(2)
    with pytest.warns(ConvergenceWarning, match="mean of 1 near-optimal models instead of 60"):
        w, b, _ = mean(problem, box, budget, seeded(), deadline=Deadline.after(-1.0))
    assert in_near_optimal_set(problem, w, b, box, budget)


def test_ctrl_c_keeps_the_models_that_the_mean_has(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = TuningProblem([[-1.0, 0.0], [1.0, 0.5]], [-1, 1], [[0.0, 0.0]], [-1])
    budget, box, calls = Budget(delta=0.3), np.ones(2), 0
    real = BoxModels.least

    def interrupted(*arguments: Any, **options: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls == 6:
            raise KeyboardInterrupt
        return real(*arguments, **options)

    monkeypatch.setattr(BoxModels, "least", interrupted)
    with pytest.warns(FinalModelWarning, match="mean of 5 near-optimal models .* Ctrl-C came"):
        w, b, _ = mean(problem, box, budget, seeded())
    assert in_near_optimal_set(problem, w, b, box, budget)


@pytest.mark.parametrize("final", ["refit", "mean", "centre"])
def test_a_final_model_that_time_was_too_short_for_says_so(
    final: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    X, y = seeded().standard_normal((200, 9)), np.where(np.arange(200) % 2 == 0, -1.0, 1.0)
    problem = TuningProblem(X, y, X, y)
    LeapingClock(monkeypatch, 0)
    with pytest.warns(ConvergenceWarning, match="The final model .* no time for more, so raise"):
        w, b, _ = FINALS[final](problem, np.ones(9), Budget(), seeded(), Deadline(1.0))
    assert (np.abs(w) <= 1.0).all()
    assert problem.train_loss(w, b) <= 1.0 + 1e-12  # as without weights


def test_ctrl_c_before_the_final_model_is_trained_keeps_the_tuned_box(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    X, y = seeded().standard_normal((24, 2)), np.arange(24) % 2
    left_alone = PessimisticSVC(final="refit", random_state=0).fit(X, y)
    calls = 0

    def interrupted(*arguments: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls == 1:
            signal.raise_signal(signal.SIGINT)
        return refit(*arguments)

    monkeypatch.setitem(FINALS, "refit", interrupted)
    model = PessimisticSVC(final="refit", random_state=0).fit(X, y)
    assert calls == 2
    np.testing.assert_array_equal(model.box_, left_alone.box_)
    np.testing.assert_allclose(model.coef_, left_alone.coef_)
