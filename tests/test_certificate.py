"""The certificate accepts what brute force found and rejects what has been tampered with."""

from __future__ import annotations

import cProfile
import dataclasses
import pstats
from pathlib import Path

import numpy as np
import pytest
from clocks import LeapingClock
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles import (
    brute_force_worst_case,
    least_flipped_loss,
    least_training_loss,
    optimistic_optimum,
    pessimistic_optimum,
)
from strategies import boxes, budgets, flip_masks, problems

from pessimal.certificate import Certificate, certify, certify_worst_case
from pessimal.limits import Deadline
from pessimal.near_optimal import best_case, worst_case
from pessimal.problem import Budget, Mask, TuningProblem

ALL = np.array([True])


def line(distance: float = 1.0, label: int = -1) -> TuningProblem:
    """Training points at ±`distance`, labelled by their sign; one validation point at 3."""
    return TuningProblem([[-distance], [distance]], [-1, 1], [[3.0]], [label])


@settings(max_examples=30)
@given(problem=problems())
def test_an_optimistic_optimum_is_accepted(problem: TuningProblem) -> None:
    best = optimistic_optimum(problem)
    assert certify(problem, Budget(), None, best.box, best.w, best.b, best.value).ok


@settings(max_examples=15)
@given(problem=problems(), budget=budgets(), data=st.data())
def test_a_pessimistic_optimum_is_accepted(
    problem: TuningProblem, budget: Budget, data: st.DataObject
) -> None:
    flipped = data.draw(flip_masks(problem))
    best = pessimistic_optimum(problem, budget, flipped)
    assert certify(problem, budget, flipped, best.box, best.w, best.b, best.value).ok


@settings(max_examples=40)
@given(problem=problems(), budget=budgets(), data=st.data())
def test_gap_and_violation_are_those_of_scipy(
    problem: TuningProblem, budget: Budget, data: st.DataObject
) -> None:
    box, flipped = data.draw(boxes(problem)), data.draw(flip_masks(problem))
    rng = np.random.default_rng(data.draw(st.integers(0, 99)))
    w, b = rng.uniform(-box, box), float(rng.normal())
    trained, attained = problem.train_loss(w, b), problem.flipped_loss(w, b, flipped)
    least = least_training_loss(problem, box)

    answer = certify(problem, budget, None, box, w, b, 0.0)
    assert answer.inner_gap == pytest.approx(trained - least, abs=1e-7)
    assert answer.budget_violation == 0.0
    assert answer.objective == answer.objective_error == problem.val_loss(w, b)

    answer = certify(problem, budget, flipped, box, w, b, 0.0)
    in_budget = least_flipped_loss(problem, box, trained, flipped)
    in_box = least_flipped_loss(problem, box, np.inf, flipped)
    assert answer.inner_gap == pytest.approx(attained - in_budget, abs=1e-6)
    if attained > in_box + 1e-6:
        expected = max(0.0, budget.limit(least) - trained)
        assert answer.budget_violation == pytest.approx(expected, abs=1e-7)


@settings(max_examples=30)
@given(problem=problems(), budget=budgets(), data=st.data())
def test_the_flipping_program_of_any_budget_above_the_least_is_accepted(
    problem: TuningProblem, budget: Budget, data: st.DataObject
) -> None:
    # The outer level may pick a poor copy, which is a larger budget.
    box, flipped = data.draw(boxes(problem)), data.draw(flip_masks(problem))
    larger = Budget(budget.epsilon, budget.delta + data.draw(st.sampled_from((0.0, 0.3))))
    flip = worst_case(problem, box, larger, inner="flip", flip=flipped)
    assert certify(problem, budget, flipped, box, flip.coef, -flip.intercept, flip.value).ok


def test_a_perturbed_model_is_rejected() -> None:
    # w = 0.9 trains at 0.1; at that price b = 0.1 fits the flipped point better by 0.1.
    problem, w = line(label=1), np.array([0.9])
    for flipped in (None, ALL):
        answer = certify(problem, Budget(), flipped, np.ones(1), w, 0.0, problem.val_loss(w, 0.0))
        assert answer.inner_gap == pytest.approx(0.1)
        assert not answer.ok


def test_a_box_too_small_or_outside_its_limits_is_rejected() -> None:
    problem, w = line(), np.ones(1)
    assert certify(problem, Budget(), None, np.ones(1), w, 0.0, 4.0).ok
    small = certify(problem, Budget(), None, np.array([0.9]), w, 0.0, 4.0)
    assert small.box_violation == pytest.approx(0.1)
    assert not small.ok
    outside = certify(problem, Budget(), None, np.array([1.1]), w, 0.0, 4.0)
    assert outside.box_violation == pytest.approx(0.1)
    assert not outside.ok


def test_a_wrong_claim_is_rejected() -> None:
    answer = certify(line(), Budget(), None, np.ones(1), np.ones(1), 0.0, 3.9)
    assert answer.objective == pytest.approx(4.0)
    assert answer.objective_error == pytest.approx(0.1)
    assert not answer.ok


def test_a_model_that_trains_better_than_the_budget_is_rejected_unless_it_need_not() -> None:
    # w = 1/2, b = 0 separates x = ±2. Flipped, the point at 3 wants a score of 1 and has 3/2: the
    # least flipped loss of the whole box, so no budget binds.
    box, w, budget = np.ones(1), np.array([0.5]), Budget(delta=0.3)
    assert certify(line(2.0), budget, ALL, box, w, 0.0, 2.5).ok
    # Flipped the other way it wants −1; among the models with L_T = 0 the score 3/2 is least.
    assert certify(line(2.0, label=1), Budget(), ALL, box, w, 0.0, 0.0).ok
    answer = certify(line(2.0, label=1), budget, ALL, box, w, 0.0, 0.0)
    assert answer.inner_gap == pytest.approx(0.0, abs=1e-7)
    assert answer.budget_violation == pytest.approx(0.3)
    assert not answer.ok


def test_an_error_that_is_not_a_number_is_not_accepted() -> None:
    good = certify(line(), Budget(), None, np.ones(1), np.ones(1), 0.0, 4.0)
    assert good.ok
    for field in ("inner_gap", "budget_violation", "box_violation", "objective_error"):
        broken: Certificate = dataclasses.replace(good, **{field: np.nan})
        assert not broken.ok


class TestWorstCase:
    """Two training points at ±1 in the box w̄ = 1: w = 1 and b = 0 without a budget."""

    @settings(max_examples=20)
    @given(problem=problems(), budget=budgets(), data=st.data())
    def test_what_enumeration_finds_is_accepted_and_all_below_has_a_gap(
        self, problem: TuningProblem, budget: Budget, data: st.DataObject
    ) -> None:
        box = data.draw(boxes(problem))
        worst, best = worst_case(problem, box, budget), best_case(problem, box, budget)
        largest = brute_force_worst_case(problem, box, budget)
        w, b = worst.coef, -worst.intercept
        assert certify_worst_case(problem, budget, box, w, b, largest).ok
        answer = certify_worst_case(problem, budget, box, best.coef, -best.intercept, best.value)
        assert answer.inner_gap == pytest.approx(largest - best.value, abs=1e-6)
        assert answer.ok == (answer.inner_gap <= 1e-6)

    def test_a_model_that_trains_worse_than_the_budget_is_rejected(self) -> None:
        # At w = ½, b = −½ the training loss is ½; the validation loss, 1 + 3w − b, is 3.
        problem, w, box = line(), np.array([0.5]), np.ones(1)
        answer = certify_worst_case(problem, Budget(delta=0.2), box, w, -0.5, 3.0)
        assert answer.budget_violation == pytest.approx(0.3)
        assert not answer.ok
        within = certify_worst_case(problem, Budget(delta=0.5), box, w, -0.5, 3.0)
        assert within.budget_violation == pytest.approx(0.0, abs=1e-9)

    def test_a_wrong_claim_or_box_is_rejected(self) -> None:
        problem, w = line(), np.ones(1)
        assert certify_worst_case(problem, Budget(), np.ones(1), w, 0.0, 4.0).ok
        assert not certify_worst_case(problem, Budget(), np.ones(1), w, 0.0, 3.9).ok
        assert not certify_worst_case(problem, Budget(), np.array([0.9]), w, 0.0, 4.0).ok
        assert not certify_worst_case(problem, Budget(), np.array([1.1]), w, 0.0, 4.0).ok

    def test_what_could_not_be_excluded_in_time_is_a_gap(self) -> None:
        rng = np.random.default_rng(0)
        y = np.tile([-1.0, 1.0], 20)
        X = rng.normal(size=(40, 4)) + 0.3 * y[:, None]
        problem, budget = TuningProblem(X[:20], y[:20], X[20:], y[20:]), Budget(0.3, 0.1)
        box = 0.5 * problem.upper
        worst = worst_case(problem, box, budget)
        w, b = worst.coef, -worst.intercept
        limited = certify_worst_case(problem, budget, box, w, b, worst.value, time_limit=1e-9)
        assert limited.inner_gap > 1e-3
        assert not limited.ok


def test_past_the_deadline_what_is_not_checked_is_a_gap() -> None:
    # Both models are optimal, with a training loss of 0.1 and a flipped loss of 1.1 + 3·0.9.
    problem, box, over = line(label=1), np.array([0.9]), Deadline.after(-1.0)
    assert certify(problem, Budget(), None, box, box, 0.0, 0.0).ok
    unchecked = certify(problem, Budget(), None, box, box, 0.0, 0.0, over)
    assert unchecked.inner_gap == pytest.approx(0.1)
    assert not unchecked.ok
    unchecked = certify(problem, Budget(), ALL, box, box, 0.0, 0.0, over)
    assert unchecked.inner_gap == pytest.approx(1.0 + 3 * 0.9)
    assert not unchecked.ok


@settings(max_examples=30)
@given(problem=problems(), flip=st.booleans(), still_looks=st.integers(1, 8))
def test_no_bad_model_passes_because_time_ran_out(
    problem: TuningProblem, flip: bool, still_looks: int
) -> None:
    w, box = np.zeros(problem.n_features), problem.upper
    flipped = np.ones(problem.n_val, dtype=np.bool_) if flip else None
    claim = problem.val_loss(w, 0.0)
    with pytest.MonkeyPatch.context() as patch:
        LeapingClock(patch, still_looks)
        limited = certify(problem, Budget(), flipped, box, w, 0.0, claim, Deadline(1.0))
    if limited.ok:
        assert certify(problem, Budget(), flipped, box, w, 0.0, claim).ok


@pytest.mark.parametrize("flipped", [None, ALL])
def test_a_check_calls_nothing_that_joins_sparse_matrices(flipped: Mask | None) -> None:
    # On a few rows that took four fifths of the time.
    problem, profile = line(), cProfile.Profile()
    profile.runcall(certify, problem, Budget(), flipped, np.ones(1), np.ones(1), 0.0, 0.0)
    called = {Path(code[0]).name for code in pstats.Stats(profile).stats}  # type: ignore[attr-defined]
    assert "highs.py" in called
    assert not called & {"_construct.py", "_coo.py", "_dia.py"}
