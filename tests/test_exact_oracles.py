"""The oracles in fractions: polytopes and near-optimal sets found by hand."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from oracles import (
    brute_force_best_case,
    brute_force_worst_case,
    optimistic_optimum,
    pessimistic_optimum,
)
from oracles.exact import (
    Hinges,
    NearOptimalSet,
    exact,
    follower_loss,
    least_loss,
    optimistic_value,
    pessimistic_value,
)
from oracles.polytope import Polytope
from strategies import problems

from pessimal.problem import Budget, TuningProblem

HALF = Fraction(1, 2)

FAR_APART = Hinges([[-2.0], [2.0]], [-1, 1])
"""Trains to 0 for w ≥ 1/2 and |b| ≤ 2w − 1: in the box of 1 a triangle."""


def unit_box(dimensions: int) -> Polytope:
    return Polytope.box([(Fraction(-1), Fraction(1))] * dimensions)


class TestPolytope:
    def test_a_corner_cut_off_a_square_leaves_two_new_vertices(self) -> None:
        pentagon = unit_box(2).clip(exact([1, 1]), Fraction(1))
        assert set(pentagon.vertices) == {
            exact(x) for x in ([-1, -1], [-1, 1], [1, -1], [0, 1], [1, 0])
        }

    def test_a_plane_through_a_vertex_adds_none(self) -> None:
        triangle = unit_box(2).clip(exact([1, 1]), Fraction(0))
        assert set(triangle.vertices) == {exact(x) for x in ([-1, -1], [-1, 1], [1, -1])}

    def test_two_opposite_cuts_leave_a_flat_polytope_that_can_be_cut_again(self) -> None:
        square = (
            unit_box(3).clip(exact([0, 0, 1]), Fraction(0)).clip(exact([0, 0, -1]), Fraction(0))
        )
        assert len(square.vertices) == 4
        assert set(square.clip(exact([1, 1, 0]), Fraction(-2)).vertices) == {exact([-1, -1, 0])}

    def test_nothing_is_left_beyond_the_last_vertex(self) -> None:
        assert not unit_box(2).clip(exact([1, 1]), Fraction(-3)).vertices

    def test_the_octahedron_has_six_vertices(self) -> None:
        octahedron = unit_box(3)
        for signs in np.ndindex(2, 2, 2):
            octahedron = octahedron.clip(exact(2 * np.array(signs) - 1), Fraction(1))
        assert set(octahedron.vertices) == {
            exact(side * np.eye(3)[j]) for side in (-1, 1) for j in range(3)
        }


class TestNearOptimalSet:
    def test_the_triangle_of_two_points_far_apart(self) -> None:
        members = NearOptimalSet(FAR_APART, exact([1.0]), 0.0, 0.0)
        assert members.least == 0
        assert set(members.models.vertices) == {exact(u) for u in ([0.5, 0], [1, 1], [1, -1])}

    def test_a_box_too_small_trains_to_one_edge(self) -> None:
        # The losses 1 − 2w ∓ b have the mean 1 − 2w for every |b| ≤ 1 − 2w: here 1/2.
        members = NearOptimalSet(FAR_APART, exact([0.25]), 0.0, 0.0)
        assert members.least == HALF
        assert set(members.models.vertices) == {exact(u) for u in ([0.25, 0.5], [0.25, -0.5])}

    def test_extremes_over_the_triangle(self) -> None:
        # The margin w − b of a point at 1 is 1/2, 0 and 2 at the three vertices.
        members, val = NearOptimalSet(FAR_APART, exact([1.0]), 0.0, 0.0), Hinges([[1.0]], [1])
        assert members.worst_hinge(val) == 1
        assert members.best_hinge(val) == 0
        assert members.score_range([1.0]) == (0.0, 2.0)

    def test_a_margin_that_touches_the_threshold_is_a_tie(self) -> None:
        members, val = NearOptimalSet(FAR_APART, exact([1.0]), 0.0, 0.0), Hinges([[1.0]], [1])
        assert members.most_below(val, 0.0) == 1
        assert members.most_below(val, -1e-9) == 0

    def test_points_are_counted_by_weight_and_only_together(self) -> None:
        # Scores of 0 are −b. No b gives both labels at 0 an error; the heavier one counts.
        val = Hinges([[0.0], [0.0]], [1, -1], [1.0, 3.0])
        members = NearOptimalSet(FAR_APART, exact([1.0]), 0.0, 0.0)
        assert members.most_below(val, -0.5) == Fraction(3, 4)
        assert members.most_above(val, 0.5) == Fraction(3, 4)

    def test_tiny_weights_and_units_lose_nothing(self) -> None:
        # Two points at 1 with opposite labels: the loss is that of b − w alone, and a weight of
        # 1e-8 against 1 makes y·score = 1 for the heavy one: least loss 2 × 1e-8 / (1 + 1e-8).
        train = Hinges([[2.0**-33], [2.0**-33]], [-1, 1], [1.0, 1e-8])
        light = Fraction(1e-8)
        assert least_loss(train, exact([2.0**33])) == 2 * light / (1 + light)


class TestViews:
    def test_the_best_box_stays_small(self) -> None:
        # A point at 1 labelled −1 with w̄ ≥ 1/4 has at best 3/4, with w = 1/4 and b = 1/2.
        val = Hinges([[1.0]], [-1])
        assert optimistic_value(FAR_APART, val, exact([0.25]), exact([1.0])) == Fraction(3, 4)

    def test_the_follower_takes_the_worst_end_of_an_edge(self) -> None:
        # In the box of 1/4, |b| ≤ 1/2 trains best; flipped, the point at 1 wants b large.
        val = Hinges([[1.0]], [1])
        found = follower_loss(FAR_APART, val, val.flipped([True]), exact([0.25]), HALF)
        assert found == Fraction(5, 4)

    @settings(max_examples=15, deadline=None)
    @given(problems(n_features=1))
    def test_both_views_agree_with_branching_on_complementarities(
        self, problem: TuningProblem
    ) -> None:
        # Weights that were normalised in floats no longer tie.
        points = problem.X_train, problem.y_train, problem.X_val, problem.y_val
        problem = TuningProblem(*points, lower=problem.lower, upper=problem.upper)
        train = Hinges(problem.X_train, problem.y_train)
        val = Hinges(problem.X_val, problem.y_val)
        limits = exact(problem.lower), exact(problem.upper)
        everything = np.ones(problem.n_val, dtype=np.bool_)
        assert float(optimistic_value(train, val, *limits)) == pytest.approx(
            optimistic_optimum(problem).value, abs=1e-6
        )
        flipped = val.flipped(everything.tolist())
        assert float(pessimistic_value(train, val, flipped, *limits)) == pytest.approx(
            pessimistic_optimum(problem, Budget(), everything).value, abs=1e-6
        )

    @settings(max_examples=25, deadline=None)
    @given(problems())
    def test_worst_and_best_cases_agree_with_linear_programs(self, problem: TuningProblem) -> None:
        train = Hinges(problem.X_train, problem.y_train, problem.train_weight)
        val = Hinges(problem.X_val, problem.y_val, problem.val_weight)
        members = NearOptimalSet(train, exact(problem.upper), 0.5, 0.0)
        of = problem, problem.upper, Budget(0.5)
        assert float(members.worst_hinge(val)) == pytest.approx(
            brute_force_worst_case(*of), abs=1e-6
        )
        assert float(members.best_hinge(val)) == pytest.approx(brute_force_best_case(*of), abs=1e-6)
