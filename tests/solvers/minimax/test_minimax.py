"""True pessimism: the answer against grids, hand-made cases and the other boxes there are."""

from __future__ import annotations

import numpy as np
import pytest
from grids import enumerated_worst_case, overlapping, random_problem, worst_cases_on_grid
from hypothesis import given, settings
from strategies import budgets, problems, uneven_problems

from pessimal import (
    Budget,
    TuningProblem,
    TuningSolution,
    solve_optimistic,
    solve_pessimistic,
    worst_case,
)
from pessimal.datasets import load_cancer, load_diabetes, paper_split
from pessimal.solvers.base import Status
from pessimal.solvers.minimax.groups import GroupsSpec

TOLERANCE = 1e-6


def solve(problem: TuningProblem, budget: Budget, groups: GroupsSpec) -> TuningSolution:
    return solve_pessimistic(problem, budget, inner="exact", groups=groups)


def assert_attained(solution: TuningSolution, worst: float) -> None:
    """The objective is the worst case of the box, attained by the model."""
    problem = solution.problem
    assert solution.objective == pytest.approx(worst, abs=TOLERANCE)
    assert problem.val_loss(solution.coef, -solution.intercept) == solution.objective
    assert solution.certificate.ok
    assert (problem.lower <= solution.box).all()
    assert (solution.box <= problem.upper).all()


class TestOne:
    @settings(max_examples=40)
    @given(problem=uneven_problems(), budget=budgets())
    def test_no_limit_of_a_grid_is_better(self, problem: TuningProblem, budget: Budget) -> None:
        solution = solve(problem, budget, "one")
        assert solution.proved
        assert_attained(solution, enumerated_worst_case(problem, solution.box, budget))
        on_grid = worst_cases_on_grid(problem, budget, "one", 25)
        assert solution.objective <= on_grid.min() + TOLERANCE
        assert solution.lower_bound <= on_grid.min() + TOLERANCE

    def test_a_crossing_of_two_losses_is_found_exactly(self) -> None:
        # T at ±1 is trained best by w = h and any |b| ≤ 1 − h. The two points of V, both at 3, with
        # weights .9 and .1, then lose most at either end of b: 1.8 − 3.2h at b = 1 − h for
        # h ≤ ½, and .2 + .2h at b = h − 1. These are equal at h = 8/17.
        problem = TuningProblem(
            [[-1.0], [1.0]], [-1, 1], [[3.0], [3.0]], [1, -1], val_weight=[9, 1]
        )
        solution = solve(problem, Budget(), "one")
        assert solution.proved
        assert solution.box[0] == pytest.approx(8 / 17, abs=1e-6)
        assert solution.objective == pytest.approx(5 / 17, abs=1e-6)
        assert solution.lower_bound == pytest.approx(5 / 17, abs=1e-6)

    def test_one_for_all_is_one_for_each_of_one(self) -> None:
        problem = random_problem(0, 8, 6, 1)
        one, each = (solve(problem, Budget(0.2), groups) for groups in ("one", "each"))
        assert one.objective == each.objective
        assert one.proved
        assert each.proved

    def test_limits_that_differ_cap_the_box(self) -> None:
        X, y = overlapping(1, 14, 3)
        problem = TuningProblem(X[:8], y[:8], X[8:], y[8:], lower=0.1, upper=[0.2, 0.5, 1.0])
        solution = solve(problem, Budget(0.2, 0.1), "one")
        assert solution.proved
        assert np.array_equal(solution.box, np.minimum(solution.box.max(), problem.upper))
        on_grid = worst_cases_on_grid(problem, Budget(0.2, 0.1), "one", 40)
        assert solution.objective <= on_grid.min() + TOLERANCE

    @pytest.mark.parametrize("budget", [Budget(), Budget(0.2), Budget(0.2, 0.1)], ids=str)
    @pytest.mark.parametrize("load", [load_cancer, load_diabetes])
    def test_the_paper_s_data(self, load: object, budget: Budget) -> None:
        assert callable(load)
        split = paper_split(load(), 10, 10, 901)
        problem = TuningProblem(split.X_train, split.y_train, split.X_val, split.y_val)
        solution = solve(problem, budget, "one")
        assert solution.proved
        for share in np.linspace(0.0, 1.0, 30):
            worst = worst_case(problem, share * problem.upper, budget)
            assert solution.objective <= worst.value + TOLERANCE

    def test_a_set_that_shrinks_to_a_needle(self) -> None:
        # Where the limit of the training loss reaches 0, all that is left is one model.
        problem = TuningProblem(
            [[-1.60645073, -1.99629109, -1.64441009], [-1.50304883, -0.80095958, 0.02484182]],
            [-1, 1],
            [
                [-0.35381335, -1.44399674, 0.86911832],
                [0.50812175, -0.14372251, 1.38364168],
                [-1.60645073, -1.99629109, -1.64441009],
            ],
            [1, -1, -1],
            lower=0.4,
            upper=[2.5, 1.0, 1.0],
        )
        solution = solve(problem, Budget(epsilon=1.0), "one")
        assert solution.proved
        on_grid = worst_cases_on_grid(problem, Budget(epsilon=1.0), "one", 60)
        assert solution.objective <= on_grid.min() + TOLERANCE

    def test_a_box_without_choice(self) -> None:
        X, y = overlapping(2, 12, 2)
        problem = TuningProblem(X[:7], y[:7], X[7:], y[7:], lower=0.5, upper=0.5)
        budget = Budget(0.2)
        worst = enumerated_worst_case(problem, problem.upper, budget)
        for groups in ("one", "each"):
            solution = solve(problem, budget, groups)
            assert solution.proved
            assert_attained(solution, worst)


class TestGroups:
    @pytest.mark.parametrize("seed", range(3))
    def test_two_groups_against_a_grid(self, seed: int) -> None:
        problem, budget = random_problem(20 + seed, 6, 3, 3), Budget(0.1, 0.1)
        groups = [[0, 2], [1]]
        solution = solve(problem, budget, groups)
        assert solution.proved
        assert solution.box[0] == solution.box[2]
        assert_attained(solution, enumerated_worst_case(problem, solution.box, budget))
        on_grid = worst_cases_on_grid(problem, budget, groups, 25)
        assert solution.objective <= on_grid.min() + TOLERANCE
        assert solution.lower_bound <= on_grid.min() + TOLERANCE

    def test_finer_groups_are_no_worse(self) -> None:
        problem, budget = random_problem(30, 8, 6, 3), Budget(0.2, 0.1)
        values = [
            solve(problem, budget, groups).objective
            for groups in ("one", [[0, 1], [2]], [[0], [1], [2]])
        ]
        assert values[2] <= values[1] + TOLERANCE
        assert values[1] <= values[0] + TOLERANCE

    def test_the_optimum_on_a_kink_of_the_training_loss_is_proved(self) -> None:
        split = paper_split(load_cancer(), 5, 5, 402)
        problem = TuningProblem(split.X_train, split.y_train, split.X_val, split.y_val)
        assert solve(problem, Budget(0.4, 0.1), [[0, 1, 2, 3], [4, 5, 6, 7, 8]]).proved

    def test_a_feature_whose_limit_is_fixed(self) -> None:
        X, y = overlapping(31, 12, 2)
        problem = TuningProblem(X[:7], y[:7], X[7:], y[7:], lower=[0.3, 0.0], upper=[0.3, 1.0])
        budget = Budget(0.2, 0.1)
        solution = solve(problem, budget, "each")
        assert solution.proved
        assert solution.box[0] == 0.3
        boxes = (np.array([0.3, h]) for h in np.linspace(0.0, 1.0, 40))
        least = min(enumerated_worst_case(problem, box, budget) for box in boxes)
        assert solution.objective <= least + TOLERANCE


class TestEach:
    @settings(max_examples=10)
    @given(problem=problems(n_features=2), budget=budgets())
    def test_no_box_of_a_grid_is_below_the_bound(
        self, problem: TuningProblem, budget: Budget
    ) -> None:
        solution = solve_pessimistic(problem, budget, inner="exact", node_limit=60)
        on_grid = worst_cases_on_grid(problem, budget, "each", 7)
        assert solution.lower_bound <= on_grid.min() + TOLERANCE
        assert solution.lower_bound <= solution.objective
        assert_attained(solution, enumerated_worst_case(problem, solution.box, budget))
        if solution.proved:
            assert solution.objective <= on_grid.min() + TOLERANCE

    @pytest.mark.parametrize("budget", [Budget(), Budget(0.2), Budget(0.2, 0.1)], ids=str)
    @pytest.mark.parametrize("load", [load_cancer, load_diabetes])
    def test_it_is_between_the_optimistic_optimum_and_every_box_there_is(
        self, load: object, budget: Budget
    ) -> None:
        assert callable(load)
        split = paper_split(load(), 5, 5, 902)
        problem = TuningProblem(split.X_train, split.y_train, split.X_val, split.y_val)
        solution = solve(problem, budget, "each")
        optimistic, paper = solve_optimistic(problem), solve_pessimistic(problem, budget)
        one = solve(problem, budget, "one")
        assert optimistic.objective <= solution.lower_bound + TOLERANCE
        assert solution.lower_bound <= solution.objective
        for box in (optimistic.box, paper.box, one.box, problem.upper):
            assert solution.objective <= worst_case(problem, box, budget).value + TOLERANCE
        assert_attained(solution, worst_case(problem, solution.box, budget).value)

    def test_many_features_and_few_points(self) -> None:
        problem = random_problem(40, 6, 4, 50, upper=0.1)
        budget = Budget(0.2, 0.1)
        solution = solve_pessimistic(problem, budget, inner="exact", node_limit=50)
        assert_attained(solution, enumerated_worst_case(problem, solution.box, budget))
        widest = enumerated_worst_case(problem, problem.upper, budget)
        assert solution.lower_bound <= solution.objective <= widest + TOLERANCE


@settings(max_examples=10)
@given(problem=uneven_problems())
def test_the_least_worst_case_grows_with_either_budget(problem: TuningProblem) -> None:
    # P_o* ≤ P_p*, and Ψ grows with ε and δ.
    least = solve_optimistic(problem).objective
    for kinds in (("epsilon", (0.0, 0.2, 1.0)), ("delta", (0.0, 0.1, 0.5))):
        previous = least
        for value in kinds[1]:
            solution = solve(problem, Budget(**{kinds[0]: value}), "one")
            assert previous <= solution.objective + TOLERANCE
            previous = solution.objective


@pytest.mark.parametrize("scale", [1e-3, 1e3])
def test_units_do_not_matter(scale: float) -> None:
    X, y = overlapping(50, 14, 2)
    for budget in (Budget(), Budget(0.2), Budget(0.2, 0.1)):
        plain = TuningProblem(X[:8], y[:8], X[8:], y[8:])
        scaled = TuningProblem(scale * X[:8], y[:8], scale * X[8:], y[8:], upper=1.0 / scale)
        expected, found = (solve(problem, budget, "one") for problem in (plain, scaled))
        assert expected.proved
        assert found.objective == pytest.approx(expected.objective, abs=1e-5)


def test_a_single_validation_point() -> None:
    for seed in range(3):
        problem, budget = random_problem(60 + seed, 8, 1, 2), Budget(0.3)
        solution = solve(problem, budget, "one")
        assert solution.status is Status.OPTIMAL
        on_grid = worst_cases_on_grid(problem, budget, "one", 50)
        assert solution.objective <= on_grid.min() + TOLERANCE


def test_repeated_columns_share_a_box() -> None:
    # Two copies of a column with half the limit are that column.
    X, y = overlapping(70, 13, 1)
    budget = Budget(0.2, 0.05)
    single = TuningProblem(X[:8], y[:8], X[8:], y[8:], upper=1.0)
    double = TuningProblem(np.tile(X[:8], 2), y[:8], np.tile(X[8:], 2), y[8:], upper=0.5)
    expected = solve(single, budget, "one").objective
    assert solve(double, budget, "one").objective == pytest.approx(expected, abs=TOLERANCE)
    assert solve(double, budget, "each").objective == pytest.approx(expected, abs=1e-5)
