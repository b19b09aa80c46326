"""The oracles themselves: problems solved by hand, and searches that must not beat them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles import (
    brute_force_best_case,
    brute_force_optimistic,
    brute_force_pessimistic,
    brute_force_worst_case,
    follower_value,
    grid_of_boxes,
    grid_pessimistic,
    in_near_optimal_set,
    is_pessimistic_answer,
    least_training_loss,
    optimistic_optimum,
    pessimistic_optimum,
    sign_patterns,
)
from strategies import boxes, budgets, flip_masks, problems

from pessimal.problem import Budget, TuningProblem

ALL = np.array([True])


def far_apart(x_val: float, y_val: int) -> TuningProblem:
    """Two training points at −2 (−) and +2 (+), one validation point, 0 ≤ w̄ ≤ 1.

    The training losses are 1 − 2w − b and 1 − 2w + b where positive. In a box with w̄ ≤ 1/2 the
    best model is w = w̄, |b| ≤ 1 − 2w̄, with loss 1 − 2w̄; from w̄ = 1/2 on the loss is 0, for every
    1/2 ≤ w ≤ w̄ and |b| ≤ 2w − 1.
    """
    return TuningProblem([[-2.0], [2.0]], [-1, 1], [[x_val]], [y_val])


class TestSolvedByHand:
    def test_optimistic_value_when_the_box_must_stay_small(self) -> None:
        # V is one point at x = 1 labelled −1: its loss is [1 + w − b]₊. For w̄ ≤ 1/2 the best b
        # is 1 − 2w̄ and the loss 3w̄, least (0) at w̄ = 0, where b = 1.
        problem = far_apart(1.0, -1)
        assert brute_force_optimistic(problem) == pytest.approx(0.0, abs=1e-9)

    def test_optimistic_value_with_a_lower_limit(self) -> None:
        # The same with w̄ ≥ 1/4: now 3·(1/4). For w̄ ≥ 1/2 it is 1 + w − (2w − 1) = 2 − w ≥ 1.
        problem = TuningProblem([[-2.0], [2.0]], [-1, 1], [[1.0]], [-1], lower=0.25)
        assert brute_force_optimistic(problem) == pytest.approx(0.75, abs=1e-9)
        assert optimistic_optimum(problem).box == pytest.approx([0.25])

    def test_optimistic_value_is_the_only_model_when_training_is_tight(self) -> None:
        # T at −1 (−) and +1 (+), upper = 1: the best model of a box is w = w̄, |b| ≤ 1 − w̄. V at
        # 0, once with each label: losses [1 − b]₊ and [1 + b]₊ of mean 1 for every |b| ≤ 1.
        problem = TuningProblem([[-1.0], [1.0]], [-1, 1], [[0.0], [0.0]], [-1, 1])
        assert brute_force_optimistic(problem) == pytest.approx(1.0, abs=1e-9)

    def test_validation_weights_count(self) -> None:
        # As above with weights 1/4 on label −1, 3/4 on +1: (1 − b)/4 + 3(1 + b)/4 = 1 + b/2,
        # least at b = −1, which needs w̄ = 0: 1/2.
        problem = TuningProblem(
            [[-1.0], [1.0]], [-1, 1], [[0.0], [0.0]], [-1, 1], val_weight=[1.0, 3.0]
        )
        assert brute_force_optimistic(problem) == pytest.approx(0.5, abs=1e-9)

    def test_worst_and_best_case_of_a_box(self) -> None:
        # In the box w̄ = 1 the near-optimal set is the triangle 1/2 ≤ w ≤ 1, |b| ≤ 2w − 1, with
        # corners (1/2, 0), (1, 1), (1, −1). V at x = 1, label +1: margin w − b is 1/2, 0 and 2
        # there, so the loss ranges over [0, 1]. No error is strict: the least margin is 0.
        problem, box = far_apart(1.0, 1), np.array([1.0])
        assert brute_force_worst_case(problem, box, Budget()) == pytest.approx(1.0, abs=1e-7)
        assert brute_force_best_case(problem, box, Budget()) == pytest.approx(0.0, abs=1e-7)
        assert brute_force_worst_case(problem, box, Budget(), "zero_one") == 0.0
        assert brute_force_worst_case(problem, box, Budget(), "margin") == 1.0

    def test_an_absolute_budget_widens_the_set_on_separable_data(self) -> None:
        # Same box, δ = 1/2: the losses h₋ + h₊ ≤ 1 on T. At w = 1 the upper b solves
        # (1 − 2 + b)/2 = 1/2, so b = 2 and the margin of the point at 1 is −1: loss 2.
        # Smaller w: (1 − 2w + b)/2 = 1/2 gives b = 2w, margin −w. So 2 is the largest.
        problem, box = far_apart(1.0, 1), np.array([1.0])
        budget = Budget(delta=0.5)
        assert brute_force_worst_case(problem, box, budget) == pytest.approx(2.0, abs=1e-7)
        assert brute_force_worst_case(problem, box, Budget(epsilon=1.0)) == pytest.approx(1.0)
        assert brute_force_worst_case(problem, box, budget, "zero_one") == 1.0

    def test_pessimistic_value_where_flipping_all_is_exact(self) -> None:
        # V at x = 1, label +1, one flipped point: F = [1 + w − b]₊ is small where b is large.
        # Box w̄ ≤ 1/2, ε = 0: w = w̄, b = 1 − 2w̄, L_V = 1 − (w − b) = 2 − 3w̄. Box w̄ ≥ 1/2: the
        # triangle; 1 + w − b is 3/2 at (1/2, 0), 1 + w̄ − (2w̄ − 1) = 2 − w̄ at (w̄, 2w̄ − 1): least
        # at the latter, where L_V = 1 − (1 − w̄) = w̄. Least of both at w̄ = 1/2: 1/2. The outer
        # level may also pick a poor copy, which widens the budget and lets b grow further:
        # L_V = 1 − w + b only grows. So 1/2, which is also the true P_p*.
        problem = far_apart(1.0, 1)
        assert brute_force_pessimistic(problem, Budget(), ALL) == pytest.approx(0.5, abs=1e-9)
        assert grid_pessimistic(problem, Budget(), n_boxes=41) == pytest.approx(0.5, abs=1e-7)

    def test_pessimistic_value_grows_with_the_absolute_budget(self) -> None:
        # The same with δ. Minimising F pushes b up until the point at +2 has loss 2(L* + δ) alone
        # or with the other point. Box w̄ ≤ 1/2: L* = 1 − 2w̄, and while both hinges are active
        # the mean does not move with b; beyond b = 1 − 2w̄ only h₊ = 1 − 2w + b counts, of
        # mean (1 − 2w + b)/2 ≤ 1 − 2w̄ + δ. At w = w̄: b = 1 − 2w̄ + 2δ and F = 3w̄ − 2δ (if
        # positive), L_V = 2 − 3w̄ + 2δ. A smaller w = w̄ − s costs s in b (b ≤ 1 − 2w̄ + 2δ − 2s)
        # and changes F by −s + 2s > 0. At w̄ = 1/2: L_V = 1/2 + 2δ. Beyond: L* = 0,
        # b = 2w − 1 + 2δ, F = 2 − w − 2δ, w = w̄, L_V = w̄ + 2δ. Hence 1/2 + 2δ.
        problem = far_apart(1.0, 1)
        budget = Budget(delta=0.1)
        assert brute_force_pessimistic(problem, budget, ALL) == pytest.approx(0.7, abs=1e-9)

    def test_sign_patterns_of_a_point_on_the_boundary(self) -> None:
        # In the triangle the margin of x = 1 ranges over [0, 2]: 0 is reached, −1 is not.
        patterns = sign_patterns(far_apart(1.0, 1), np.array([1.0]), Budget())
        assert patterns == [(0,), (1,)]


class TestAgainstSearch:
    @settings(max_examples=40)
    @given(problem=problems())
    def test_optimistic_point_is_feasible_and_has_the_value(self, problem: TuningProblem) -> None:
        found = optimistic_optimum(problem)
        assert problem.val_loss(found.w, found.b) == pytest.approx(found.value, abs=1e-7)
        assert (problem.lower - 1e-9 <= found.box).all()
        assert (found.box <= problem.upper + 1e-9).all()
        assert in_near_optimal_set(problem, found.w, found.b, found.box, Budget())

    @settings(max_examples=40)
    @given(problem=problems(), data=st.data())
    def test_no_box_has_an_optimistic_value_below_the_oracle(
        self, problem: TuningProblem, data: st.DataObject
    ) -> None:
        box = data.draw(boxes(problem))
        least = brute_force_optimistic(problem)
        assert brute_force_best_case(problem, box, Budget()) >= least - 1e-6

    @settings(max_examples=10)
    @given(problem=problems(n_features=1))
    def test_a_fine_grid_of_boxes_is_never_below_the_optimistic_oracle(
        self, problem: TuningProblem
    ) -> None:
        least = brute_force_optimistic(problem)
        for box in grid_of_boxes(problem, 21):
            assert brute_force_best_case(problem, box, Budget()) >= least - 1e-6

    @settings(max_examples=30)
    @given(problem=problems(), budget=budgets(), data=st.data())
    def test_pessimistic_point_is_feasible_and_has_the_value(
        self, problem: TuningProblem, budget: Budget, data: st.DataObject
    ) -> None:
        flipped = data.draw(flip_masks(problem))
        found = pessimistic_optimum(problem, budget, flipped)
        assert problem.val_loss(found.w, found.b) == pytest.approx(found.value, abs=1e-7)
        assert (problem.lower - 1e-9 <= found.box).all()
        assert (found.box <= problem.upper + 1e-9).all()
        assert is_pessimistic_answer(problem, found.w, found.b, found.box, budget, flipped)
        limit = budget.limit(least_training_loss(problem, found.box))
        limit = max(limit, problem.train_loss(found.w, found.b))
        value = follower_value(problem, found.box, limit + 1e-9, flipped)
        assert value == pytest.approx(found.value, abs=1e-6)

    @settings(max_examples=20)
    @given(problem=problems(), budget=budgets(), data=st.data())
    def test_no_choice_of_the_outer_level_is_below_the_pessimistic_oracle(
        self, problem: TuningProblem, budget: Budget, data: st.DataObject
    ) -> None:
        flipped = data.draw(flip_masks(problem))
        box = data.draw(boxes(problem))
        least = brute_force_pessimistic(problem, budget, flipped)
        # A limit below the optimum by a rounding error would leave no model at all.
        limit = budget.limit(least_training_loss(problem, box)) + 1e-9
        for widened in (0.0, 0.05, 0.3, 1.0):
            assert follower_value(problem, box, limit + widened, flipped) >= least - 1e-6

    @settings(max_examples=8)
    @given(problem=problems(n_features=1), budget=budgets())
    def test_a_fine_grid_of_outer_choices_is_never_below_the_pessimistic_oracle(
        self, problem: TuningProblem, budget: Budget
    ) -> None:
        flipped = np.ones(problem.n_val, dtype=np.bool_)
        least = brute_force_pessimistic(problem, budget, flipped)
        for box in grid_of_boxes(problem, 11):
            limit = budget.limit(least_training_loss(problem, box)) + 1e-9
            for widened in np.linspace(0.0, 1.0, 6):
                assert follower_value(problem, box, limit + widened, flipped) >= least - 1e-6
