"""Smallest and largest boxes: hand-made answers, certificates, and brute force over corners."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles import least_training_loss, optimistic_optimum, pessimistic_optimum
from strategies import boxes, budgets, flip_masks, problems

from pessimal.certificate import certify
from pessimal.near_optimal import least_loss, worst_case
from pessimal.problem import Budget, Mask, TuningProblem, Vector
from pessimal.solvers.base import Task
from pessimal.ties import largest_box, smallest_box

TOLERANCE = 1e-6


def certified(
    problem: TuningProblem, budget: Budget, flipped: Mask | None, w: Vector, b: float, box: Vector
) -> bool:
    return certify(problem, budget, flipped, box, w, b, problem.val_loss(w, b)).ok


def assert_ordered_and_certified(
    problem: TuningProblem, budget: Budget, flipped: Mask | None, w: Vector, b: float, box: Vector
) -> None:
    assert certified(problem, budget, flipped, w, b, box)
    smallest = smallest_box(Task(problem, budget, flipped), w, b, box)
    largest = largest_box(Task(problem, budget, flipped), w, b, box)
    assert (problem.lower <= smallest).all()
    assert (smallest <= box).all()
    assert (box <= largest).all()
    assert (largest <= problem.upper).all()
    for found in (smallest, largest):
        assert certified(problem, budget, flipped, w, b, found)
    if flipped is None:
        assert smallest == pytest.approx(np.maximum(np.abs(w), problem.lower))


@settings(max_examples=40)
@given(problem=problems(), data=st.data())
def test_optimistic_boxes_are_ordered_and_certified(
    problem: TuningProblem, data: st.DataObject
) -> None:
    box = data.draw(boxes(problem))
    trained = least_loss(problem, box)
    assert_ordered_and_certified(problem, Budget(), None, trained.w, trained.b, box)


@settings(max_examples=60)
@given(problem=problems(), budget=budgets(), data=st.data())
def test_pessimistic_boxes_are_ordered_and_certified(
    problem: TuningProblem, budget: Budget, data: st.DataObject
) -> None:
    box, flipped = data.draw(boxes(problem)), data.draw(flip_masks(problem))
    flip = worst_case(problem, box, budget, inner="flip", flip=flipped)
    assert_ordered_and_certified(problem, budget, flipped, flip.coef, -flip.intercept, box)


@settings(max_examples=20)
@given(problem=problems(), budget=budgets(), data=st.data())
def test_the_boxes_of_a_brute_force_optimum_are_ordered_and_certified(
    problem: TuningProblem, budget: Budget, data: st.DataObject
) -> None:
    flipped = data.draw(flip_masks(problem))
    for mask, best in (
        (None, optimistic_optimum(problem)),
        (flipped, pessimistic_optimum(problem, budget, flipped)),
    ):
        box = np.clip(best.box, problem.lower, problem.upper)
        assert_ordered_and_certified(problem, budget, mask, best.w, best.b, box)


@settings(max_examples=40)
@given(problem=problems(), data=st.data())
def test_no_further_feature_of_the_largest_box_can_be_enlarged(
    problem: TuningProblem, data: st.DataObject
) -> None:
    # u stays optimal in a box iff no box-feasible model trains better: scipy decides. A feature
    # that the greedy rule left out must not be able to join those it let in.
    box = data.draw(boxes(problem))
    trained = least_loss(problem, box)
    held = smallest_box(Task(problem), trained.w, trained.b, box)
    largest = largest_box(Task(problem), trained.w, trained.b, held)
    for j in np.flatnonzero(largest < problem.upper):
        larger = largest.copy()
        larger[j] = problem.upper[j]
        assert least_training_loss(problem, larger) < trained.value - 1e-9


@settings(max_examples=40)
@given(problem=problems(), budget=budgets(), data=st.data())
def test_the_smallest_box_of_a_budget_cannot_be_halved_towards_the_model(
    problem: TuningProblem, budget: Budget, data: st.DataObject
) -> None:
    box, flipped = data.draw(boxes(problem)), data.draw(flip_masks(problem))
    flip = worst_case(problem, box, budget, inner="flip", flip=flipped)
    w, b = flip.coef, -flip.intercept
    smallest = smallest_box(Task(problem, budget, flipped), w, b, box)
    held = np.maximum(np.abs(w), problem.lower)
    if (smallest > held + 1e-4).any():
        between = (smallest + held) / 2.0
        assert problem.train_loss(w, b) < budget.limit(least_training_loss(problem, between))


def test_a_feature_that_does_not_help_training_is_enlarged_and_one_that_does_is_not() -> None:
    # Feature 0 separates but needs w = 1; feature 1 is the same for both classes.
    X = [[-1.0, 1.0], [1.0, 1.0]]
    problem = TuningProblem(X, [-1, 1], [[0.5, 0.0]], [1], upper=[1.0, 2.0])
    w, b = np.array([0.5, 0.0]), 0.0
    box = np.array([0.5, 1.0])
    assert smallest_box(Task(problem), w, b, box).tolist() == [0.5, 0.0]
    assert largest_box(Task(problem), w, b, box).tolist() == [0.5, 2.0]


def test_of_two_equal_features_neither_can_grow_while_training_can_improve() -> None:
    X = [[-1.0, -1.0], [1.0, 1.0]]
    problem = TuningProblem(X, [-1, 1], [[0.5, 0.0]], [1])
    w, b, box = np.array([0.25, 0.25]), 0.0, np.array([0.25, 0.25])
    assert largest_box(Task(problem), w, b, box).tolist() == [0.25, 0.25]
    # Once the loss is 0 nothing pulls.
    w = box = np.array([0.5, 0.5])
    assert largest_box(Task(problem), w, b, box).tolist() == [1.0, 1.0]


def test_a_budget_stops_the_shrinking_where_the_copy_needs_room() -> None:
    # One feature, T at ±1: in a box r ≤ 1, L_T* = 1 − r. The flipped point at 0 wants b large.
    # δ = 0.2 and r = 0.8 allow L_T = 0.4, all of it used.
    problem = TuningProblem([[-1.0], [1.0]], [-1, 1], [[0.0]], [1])
    budget, flipped, box = Budget(delta=0.2), np.array([True]), np.array([0.8])
    flip = worst_case(problem, box, budget, inner="flip", flip=flipped)
    w, b = flip.coef, -flip.intercept
    assert problem.train_loss(w, b) == pytest.approx(0.4, abs=1e-7)
    # The copy needs L_T*(r) ≤ 0.4 − 0.2, so r ≥ 0.8 = |w|: nothing to shrink.
    assert smallest_box(Task(problem, budget, flipped), w, b, box) == pytest.approx([0.8], abs=1e-6)


def test_shrinking_stops_between_the_model_and_the_given_box() -> None:
    # Two equal features separate T: in a box (r, s) with r + s ≤ 1, L_T* = 1 − r − s. The copy
    # may be a poor one, so u = (0.1, 0.4), b = 0.5 with L_T = 0.5 is allowed, and is the only
    # model with L_T ≤ 0.5 of least score at (2, 0). δ = 0.2 asks for r + s ≥ 0.7.
    X = [[-1.0, -1.0], [1.0, 1.0]]
    problem = TuningProblem(X, [-1, 1], [[2.0, 0.0]], [1])
    budget, flipped, box = Budget(delta=0.2), np.array([True]), np.array([0.4, 0.4])
    w, b = np.array([0.1, 0.4]), 0.5
    assert certified(problem, budget, flipped, w, b, box)
    assert smallest_box(Task(problem, budget, flipped), w, b, box) == pytest.approx([0.3, 0.4])


def test_a_box_that_was_never_valid_is_not_enlarged() -> None:
    # w = 0.5 is not optimal where 0.9 is allowed, nor is any box that holds it more than tightly.
    problem = TuningProblem([[-1.0], [1.0]], [-1, 1], [[0.0]], [1], lower=0.7)
    w, b, box = np.array([0.5]), 0.0, np.array([0.9])
    assert largest_box(Task(problem), w, b, box).tolist() == [0.9]


def test_where_one_feature_of_two_can_grow_it_is_the_first() -> None:
    # The training points of class +1 want w_0 or w_1 larger, and the multipliers can put all of
    # that pull on either point, hence on either feature, but must put it somewhere.
    X = [[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]]
    problem = TuningProblem(X, [-1, 1, 1], [[1.0, 1.0]], [1], train_weight=[1.0, 1.0, 1.0])
    # w = (1/2, 1/2), b = −1/2: the hinges are 3/2, 0, 0.
    w, b, box = np.array([0.5, 0.5]), -0.5, np.array([0.5, 0.5])
    assert certified(problem, Budget(), None, w, b, box)
    assert largest_box(Task(problem), w, b, box).tolist() == [1.0, 0.5]
