"""Tiny problems against brute force: ties, repeated rows, weights, lower limits, δ, part flips."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from milp import solve_milp
from oracles import brute_force_optimistic, brute_force_pessimistic
from strategies import budgets, flip_masks, problems

from pessimal.certificate import certify
from pessimal.problem import Budget, TuningProblem
from pessimal.solvers.base import Status

TOLERANCE = 2e-6


@settings(max_examples=40)
@given(problems())
def test_optimistic_agrees_with_brute_force(problem: TuningProblem) -> None:
    outcome = solve_milp(problem)
    found = problem.val_loss(outcome.w, outcome.b)
    assert outcome.status is Status.OPTIMAL
    assert abs(found - brute_force_optimistic(problem)) <= TOLERANCE
    assert certify(problem, Budget(), None, outcome.box, outcome.w, outcome.b, found).ok


@settings(max_examples=40)
@given(st.data(), problems(), budgets(), st.sampled_from((1.0, 1000.0)))
def test_pessimistic_agrees_with_brute_force_for_any_cap(
    data: st.DataObject, problem: TuningProblem, budget: Budget, cap: float
) -> None:
    flipped = data.draw(flip_masks(problem))
    outcome = solve_milp(problem, budget, flipped, multiplier_cap=cap)
    found = problem.val_loss(outcome.w, outcome.b)
    truth = brute_force_pessimistic(problem, budget, flipped)
    assert outcome.status is Status.OPTIMAL
    assert abs(found - truth) <= TOLERANCE
    assert outcome.lower_bound <= truth + TOLERANCE
    assert certify(problem, budget, flipped, outcome.box, outcome.w, outcome.b, found).ok


def test_points_without_weight_change_nothing() -> None:
    X_train, y_train = np.array([[-1.0, 0.3], [0.5, 1.0], [2.0, -1.0]]), np.array([-1, 1, 1])
    X_val, y_val = np.array([[0.2, -0.4], [-0.3, 0.8], [5.0, 5.0]]), np.array([1, -1, -1])
    padded = TuningProblem(
        np.vstack([X_train, [[3.0, 3.0]]]), np.append(y_train, -1), X_val, y_val,
        train_weight=[1.0, 1.0, 1.0, 0.0], val_weight=[1.0, 1.0, 0.0],
    )  # fmt: skip
    bare = TuningProblem(X_train, y_train, X_val[:2], y_val[:2])
    for budget in (Budget(), Budget(0.2, 0.05)):
        with_padding = solve_milp(padded, budget, np.array([True, True, True]))
        without = solve_milp(bare, budget, np.array([True, True]))
        assert with_padding.status is without.status is Status.OPTIMAL
        assert (
            abs(
                padded.val_loss(with_padding.w, with_padding.b)
                - bare.val_loss(without.w, without.b)
            )
            <= TOLERANCE
        )


@pytest.mark.filterwarnings("error")
def test_without_flipped_points_any_near_optimal_model_will_do() -> None:
    problem = TuningProblem([[-1.0], [0.5], [1.0]], [-1, -1, 1], [[0.2], [-0.3]], [1, -1])
    nobody, budget = np.zeros(2, dtype=np.bool_), Budget(0.1)
    outcome = solve_milp(problem, budget, nobody)
    assert outcome.status is Status.OPTIMAL
    truth = brute_force_pessimistic(problem, budget, nobody)
    assert abs(problem.val_loss(outcome.w, outcome.b) - truth) <= TOLERANCE
