"""The optimistic and the pessimistic view against brute force and the paper's propositions."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any, get_args

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles import (
    brute_force_best_case,
    brute_force_optimistic,
    brute_force_pessimistic,
    brute_force_worst_case,
    grid_of_boxes,
    in_near_optimal_set,
    is_pessimistic_answer,
    sign_patterns,
)
from strategies import boxes, budgets, flip_masks, problems

from pessimal import (
    Budget,
    TuningProblem,
    TuningSolution,
    best_case,
    solve_optimistic,
    solve_pessimistic,
    worst_case,
)
from pessimal import solve as solving
from pessimal.bilevel import SOLVERS
from pessimal.certificate import Certificate, certify
from pessimal.errors import InvalidInputError
from pessimal.limits import Limits, Progress
from pessimal.problem import hinge
from pessimal.solve import Solver
from pessimal.solvers.base import Result, Status, Task
from pessimal.solvers.minimax.groups import GroupsSpec
from pessimal.solvers.search.driver import SearchSolver
from pessimal.tolerances import CERTIFICATE

TOLERANCE = 1e-6


def assert_limits_hold(solution: TuningSolution) -> None:
    """The box is within its limits and holds the model, with no tolerance at all."""
    problem = solution.problem
    assert (problem.lower <= solution.box).all()
    assert (solution.box <= problem.upper).all()
    assert (np.abs(solution.coef) <= solution.box).all()


class TestSearchEqualsBruteForce:
    @settings(max_examples=80)
    @given(problem=problems())
    def test_optimistic(self, problem: TuningProblem) -> None:
        solution = solve_optimistic(problem)
        assert solution.objective == pytest.approx(brute_force_optimistic(problem), abs=TOLERANCE)
        assert solution.proved
        assert solution.certificate.ok
        assert solution.certificate.inner_gap <= 1e-8
        assert_limits_hold(solution)
        assert in_near_optimal_set(
            problem, solution.coef, -solution.intercept, solution.box, Budget()
        )

    @settings(max_examples=60)
    @given(problem=problems(), budget=budgets(), data=st.data())
    def test_pessimistic(self, problem: TuningProblem, budget: Budget, data: st.DataObject) -> None:
        flipped = data.draw(flip_masks(problem))
        solution = solve_pessimistic(problem, budget, flip=flipped)
        least = brute_force_pessimistic(problem, budget, flipped)
        assert solution.objective == pytest.approx(least, abs=TOLERANCE)
        assert solution.proved
        assert solution.certificate.ok
        assert solution.certificate.inner_gap <= 1e-8
        assert_limits_hold(solution)
        assert is_pessimistic_answer(
            problem, solution.coef, -solution.intercept, solution.box, budget, flipped
        )

    @settings(max_examples=15)
    @given(problem=problems())
    def test_flip_all_flips_every_validation_point(self, problem: TuningProblem) -> None:
        solution = solve_pessimistic(problem, flip="all")
        assert solution.flipped is not None
        assert solution.flipped.all()
        least = brute_force_pessimistic(problem, Budget(), solution.flipped)
        assert solution.objective == pytest.approx(least, abs=TOLERANCE)


class TestMilpEqualsBruteForceOrSaysNotProved:
    @settings(max_examples=12)
    @given(problem=problems())
    def test_optimistic(self, problem: TuningProblem) -> None:
        solution = solve_optimistic(problem, method="milp", solver="highs")
        assert_right_or_not_proved(solution, brute_force_optimistic(problem))

    @settings(max_examples=12)
    @given(problem=problems(), budget=budgets(), data=st.data())
    def test_pessimistic(self, problem: TuningProblem, budget: Budget, data: st.DataObject) -> None:
        flipped = data.draw(flip_masks(problem))
        solution = solve_pessimistic(problem, budget, flip=flipped, method="milp", solver="highs")
        assert_right_or_not_proved(solution, brute_force_pessimistic(problem, budget, flipped))


def assert_right_or_not_proved(solution: TuningSolution, least: float) -> None:
    assert solution.lower_bound <= least + TOLERANCE
    if solution.proved:
        assert solution.objective == pytest.approx(least, abs=TOLERANCE)
    if solution.certificate.ok:
        assert solution.objective >= least - TOLERANCE


class TestWorstAndBestCase:
    @settings(max_examples=30)
    @given(problem=problems(), budget=budgets(), data=st.data())
    def test_equal_brute_force(
        self, problem: TuningProblem, budget: Budget, data: st.DataObject
    ) -> None:
        box = data.draw(boxes(problem))
        worst = worst_case(problem, box, budget)
        largest = brute_force_worst_case(problem, box, budget)
        assert worst.value == pytest.approx(largest, abs=TOLERANCE)
        best = best_case(problem, box, budget).value
        assert best == pytest.approx(brute_force_best_case(problem, box, budget), abs=TOLERANCE)
        assert best <= worst.value + TOLERANCE

    @settings(max_examples=30)
    @given(problem=problems(), budget=budgets(), data=st.data())
    def test_flip_is_below_exact_and_exact_within_all_bounds(
        self, problem: TuningProblem, budget: Budget, data: st.DataObject
    ) -> None:
        box = data.draw(boxes(problem))
        exact = worst_case(problem, box, budget)
        flip = worst_case(problem, box, budget, inner="flip")
        assert flip.value <= exact.value + TOLERANCE
        for case in (exact, flip):
            assert case.lower_bound <= exact.value + TOLERANCE
            assert exact.value <= case.upper_bound + TOLERANCE

    @settings(max_examples=20)
    @given(problem=problems(), data=st.data())
    def test_worst_case_grows_with_either_budget(
        self, problem: TuningProblem, data: st.DataObject
    ) -> None:
        box = data.draw(boxes(problem))
        by_epsilon = [worst_case(problem, box, Budget(epsilon=e)).value for e in (0.0, 0.2, 1.0)]
        by_delta = [worst_case(problem, box, Budget(delta=d)).value for d in (0.0, 0.1, 0.5)]
        for values in (by_epsilon, by_delta):
            assert (np.diff(values) >= -TOLERANCE).all()

    @settings(max_examples=20)
    @given(problem=problems(), budget=budgets(), data=st.data())
    def test_no_model_of_the_set_is_worse(
        self, problem: TuningProblem, budget: Budget, data: st.DataObject
    ) -> None:
        box = data.draw(boxes(problem))
        worst = worst_case(problem, box, budget)
        assert in_near_optimal_set(problem, worst.coef, -worst.intercept, box, budget)
        rng = np.random.default_rng(0)
        for _ in range(20):
            w, b = box * rng.uniform(-1.0, 1.0, len(box)), float(rng.normal())
            if in_near_optimal_set(problem, w, b, box, budget, slack=0.0):
                assert problem.val_loss(w, b) <= worst.value + TOLERANCE


class TestPropositions:
    @settings(max_examples=20)
    @given(problem=problems(), budget=budgets(), data=st.data())
    def test_optimistic_optimum_is_below_the_worst_case_of_any_box(
        self, problem: TuningProblem, budget: Budget, data: st.DataObject
    ) -> None:
        # Proposition 1: P_o* ≤ P_p(w̄) for every w̄, the optimistic and the pessimistic included.
        optimistic = solve_optimistic(problem)
        pessimistic = solve_pessimistic(problem, budget)
        tried = (data.draw(boxes(problem)), optimistic.box, pessimistic.box)
        for box in tried:
            assert optimistic.objective <= worst_case(problem, box, budget).value + TOLERANCE
        assert pessimistic.exact_worst_case.value == pytest.approx(
            worst_case(problem, pessimistic.box, budget).value, abs=TOLERANCE
        )

    @settings(max_examples=5)
    @given(problem=problems(n_features=1))
    def test_pessimistic_value_grows_with_epsilon(self, problem: TuningProblem) -> None:
        # Proposition 5, on the true P_p: P_o* ≤ P_p⁰ ≤ P_p^ε ≤ P_p^ε(w̄_o). The least worst case
        # over any set of boxes obeys it too, if the set holds w̄_o.
        optimistic = solve_optimistic(problem)
        tried = [*grid_of_boxes(problem, 11), optimistic.box]
        previous = optimistic.objective
        for epsilon in (0.0, 0.2, 1.0):
            budget = Budget(epsilon=epsilon)
            least = min(worst_case(problem, box, budget).value for box in tried)
            assert previous <= least + TOLERANCE
            assert least <= worst_case(problem, optimistic.box, budget).value + TOLERANCE
            previous = least

    @settings(max_examples=20)
    @given(problem=problems(), budget=budgets(), data=st.data())
    def test_flipping_all_labels_is_exact_for_the_zero_one_loss(
        self, problem: TuningProblem, budget: Budget, data: st.DataObject
    ) -> None:
        # Theorem 1. Its proof uses I(y·f < 0) = 1 − I(ȳ·f < 0), which fails where f = 0: both
        # sides count no error there. What holds is I(y·f < 0) = 1 − I(ȳ·f ≤ 0), hence
        #     max #{y·f < 0} = |V| − min #{ȳ·f ≤ 0},
        # that is, a score of 0 counts as an error against the flipped label. With the strict
        # count on the right the equality becomes "≤" (see the next test for a gap).
        box = data.draw(boxes(problem))
        worst = worst_case(problem, box, budget, loss="zero_one").value
        signs = np.array(sign_patterns(problem, box, budget))
        closed = ((-signs <= 0) @ problem.val_weight).min()
        strict = ((-signs < 0) @ problem.val_weight).min()
        assert worst == pytest.approx(1.0 - closed, abs=TOLERANCE)
        assert worst <= 1.0 - strict + TOLERANCE

    def test_a_score_of_zero_breaks_the_strict_form_of_theorem_1(self) -> None:
        # T at −1 and +1 in the box w̄ = 1 leaves one model, w = 1 and b = 0, which scores the only
        # validation point 0: no error, whichever label it has. The strict form would say 1.
        problem = TuningProblem([[-1.0], [1.0]], [-1, 1], [[0.0]], [1])
        assert worst_case(problem, 1.0, loss="zero_one").value == 0.0
        assert sign_patterns(problem, np.array([1.0]), Budget()) == [(0,)]


def test_the_exact_worst_case_keeps_to_the_time_limit_of_its_solution() -> None:
    rng = np.random.default_rng(0)
    y = np.tile([-1.0, 1.0], 20)
    X = rng.normal(size=(40, 4)) + 0.3 * y[:, None]
    problem, budget = TuningProblem(X[:20], y[:20], X[20:], y[20:]), Budget(0.3, 0.1)
    # With no time at all, a search may answer with a box so narrow that its worst case is plain.
    solution = replace(solve_pessimistic(problem, budget, node_limit=20), time_limit=1e-9)
    cut_short, exact = solution.exact_worst_case, worst_case(problem, solution.box, budget)
    assert exact.upper_bound == pytest.approx(exact.value, abs=TOLERANCE)
    assert cut_short.value <= exact.value + TOLERANCE
    assert exact.value + TOLERANCE < cut_short.upper_bound


class TestTruePessimism:
    """``inner="exact"``; what it finds is tested in `minimax`."""

    @settings(max_examples=15)
    @given(problem=problems(), budget=budgets())
    def test_it_lies_between_the_optimistic_optimum_and_the_paper_s_worst_case(
        self, problem: TuningProblem, budget: Budget
    ) -> None:
        # P_o* ≤ P_p* ≤ P_p(w̄) for every w̄; the paper's objective itself may be below P_o*.
        solution = solve_pessimistic(problem, budget, inner="exact", node_limit=60)
        optimistic, paper = solve_optimistic(problem), solve_pessimistic(problem, budget)
        assert optimistic.objective <= solution.objective + TOLERANCE
        assert solution.lower_bound >= optimistic.lower_bound - TOLERANCE
        assert solution.objective <= paper.exact_worst_case.value + TOLERANCE
        assert solution.objective <= worst_case(problem, optimistic.box, budget).value + TOLERANCE
        assert_limits_hold(solution)

    @settings(max_examples=15)
    @given(problem=problems(n_features=1), budget=budgets())
    def test_its_model_is_the_worst_of_its_box(
        self, problem: TuningProblem, budget: Budget
    ) -> None:
        solution = solve_pessimistic(problem, budget, inner="exact")
        assert solution.proved
        largest = brute_force_worst_case(problem, solution.box, budget)
        assert solution.objective == pytest.approx(largest, abs=TOLERANCE)
        assert solution.exact_worst_case.value == pytest.approx(largest, abs=TOLERANCE)
        margins = problem.y_val * (problem.X_val @ solution.coef + solution.intercept)
        assert problem.val_weight @ hinge(margins) == pytest.approx(solution.objective, abs=1e-9)
        assert solution.flipped is None
        assert solution.method == "worst case"

    def test_the_same_problem_gives_the_same_answer(self) -> None:
        problem = TuningProblem(
            [[-2.0, 0.5], [0.0, 1.0], [1.0, -0.5]], [-1, -1, 1], [[0.5, 0.0], [2.0, 1.0]], [-1, 1]
        )
        first, second = (
            solve_pessimistic(problem, Budget(0.2), inner="exact", node_limit=50, seed=seed)
            for seed in (3, 3)
        )
        assert np.array_equal(first.box, second.box)
        assert first.objective == second.objective
        assert first.lower_bound == second.lower_bound
        assert first.nodes == second.nodes

    def test_unusable_arguments_are_named_with_what_is_accepted(self) -> None:
        problem = TuningProblem([[-1.0], [1.0]], [-1, 1], [[0.5]], [1])
        with pytest.raises(InvalidInputError, match="inner is 'milp'; pass 'flip' or 'exact'"):
            solve_pessimistic(problem, inner="milp")  # type: ignore[arg-type]
        for groups in ("one", [[0]]):
            with pytest.raises(InvalidInputError, match=r"groups is .* it can only be 'each'"):
                solve_pessimistic(problem, groups=groups)
        for limit in ("time_limit", "node_limit"):
            with pytest.raises(InvalidInputError, match=f"{limit} is 0; pass a positive"):
                solve_pessimistic(problem, inner="exact", **{limit: 0})  # type: ignore[arg-type]


class TestArguments:
    """What a call has no use for is refused, never ignored."""

    problem = TuningProblem([[-1.0], [1.0]], [-1, 1], [[0.5], [2.0]], [1, 1])

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ({"method": "simplex"}, "method is 'simplex'; pass one of 'search', 'milp'"),
            ({"solver": "nope"}, "solver is 'nope'; pass one of 'highs'"),
            ({"solver": "scip"}, "solver is 'scip' but method is 'search'"),
            ({"solver": None}, "solver is None; pass one of"),
            ({"tie_break": "none"}, "tie_break is 'none'; pass one of 'smallest_box'"),
            ({"time_limit": -1.0}, "time_limit is -1.0; pass a positive number"),
            ({"time_limit": np.nan}, "time_limit is nan; pass a positive number"),
            ({"time_limit": "long"}, "time_limit is 'long'; pass a positive number"),
            ({"time_limit": True}, "time_limit is True; pass a positive number"),
            ({"node_limit": 1.5}, "node_limit is 1.5; pass a positive whole number"),
            ({"node_limit": -1}, "node_limit is -1; pass a positive whole number"),
            ({"seed": -1}, "seed is -1; pass a whole number"),
            ({"seed": None}, "seed is None; pass a whole number"),
            ({"callback": 3}, "callback is 3; pass a function"),
            ({"method": "milp", "callback": print}, "callback is given but method is 'milp'"),
        ],
        ids=str,
    )
    def test_of_both_views(self, options: dict[str, Any], message: str) -> None:
        for solve in (solve_optimistic, solve_pessimistic):
            with pytest.raises(InvalidInputError, match=message):
                solve(self.problem, **options)

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ({"budget": 0.2}, r"budget is 0.2; pass a Budget, such as Budget\(epsilon=0.2\)"),
            ({"multiplier_cap": 5.0}, "multiplier_cap is 5.0 but only method='milp'"),
            ({"method": "milp", "multiplier_cap": -5}, "multiplier_cap is -5; pass a positive"),
            (
                {"method": "milp", "multiplier_cap": np.inf},
                "multiplier_cap is inf; pass a positive",
            ),
            ({"inner": "exact", "multiplier_cap": 5.0}, "multiplier_cap is 5.0 but only"),
            ({"inner": "exact", "flip": "nonsense"}, "flip is 'nonsense' but inner is 'exact'"),
            ({"inner": "exact", "flip": [1, 0]}, r"flip is \[1, 0\] but inner is 'exact'"),
            ({"inner": "exact", "method": "milp"}, "method is 'milp' but inner is 'exact'"),
            ({"inner": "exact", "solver": "nope"}, "solver is 'nope'; pass one of"),
            (
                {"inner": "exact", "tie_break": "largest_box"},
                "tie_break is 'largest_box' but inner",
            ),
        ],
        ids=str,
    )
    def test_of_the_pessimistic_view(self, options: dict[str, Any], message: str) -> None:
        with pytest.raises(InvalidInputError, match=message):
            solve_pessimistic(self.problem, **options)

    def test_the_solvers_named_are_those_of_the_programs(self) -> None:
        assert set(get_args(Solver)) == set(SOLVERS)

    def test_limits_without_end_are_none(self) -> None:
        assert solve_optimistic(self.problem, time_limit=np.inf).time_limit is None


class TestFlipByMargin:
    """The optimistic search that the rule needs is part of the call, limits and Ctrl-C included."""

    @staticmethod
    def problem() -> TuningProblem:
        rng = np.random.default_rng(0)
        y = np.tile([-1.0, 1.0], 30)
        X = rng.normal(size=(60, 4)) + 0.3 * y[:, None]
        return TuningProblem(X[:30], y[:30], X[30:], y[30:])

    @pytest.mark.parametrize("node_limit", [1, 7, 100])
    def test_one_node_limit_holds_for_both_searches(self, node_limit: int) -> None:
        solution = solve_pessimistic(
            self.problem(), Budget(0.2), flip="margin", node_limit=node_limit
        )
        assert solution.nodes <= node_limit
        assert solution.status is Status.NODE_LIMIT

    def test_a_solver_has_its_root_and_no_more(self) -> None:
        solution = solve_pessimistic(
            self.problem(), Budget(0.2), flip="margin", method="milp", node_limit=1
        )
        assert not solution.proved
        assert solution.nodes <= 2

    def test_one_time_limit_holds_for_both_searches(self, monkeypatch: pytest.MonkeyPatch) -> None:
        given: list[float | None] = []
        now = 0.0
        monkeypatch.setattr(time, "perf_counter", lambda: now)

        solve = SearchSolver._solve

        def timed(self: SearchSolver, task: Task, limits: Limits) -> Result:
            nonlocal now
            given.append(limits.time_limit)
            now += 3.0 if task.kind == "optimistic" else 0.0
            return solve(self, task, replace(limits, node_limit=1))

        monkeypatch.setattr(SearchSolver, "_solve", timed)
        solve_pessimistic(self.problem(), flip="margin", time_limit=10.0)
        assert given == [5.0, 7.0]

    @pytest.mark.parametrize("flip", ["margin", "paper"])
    def test_an_interrupt_of_the_first_search_ends_the_call(self, flip: str) -> None:
        told: list[Progress] = []

        def interrupt(progress: Progress) -> None:
            told.append(progress)
            if progress.nodes >= 5:
                raise KeyboardInterrupt

        solution = solve_pessimistic(self.problem(), Budget(0.2), flip=flip, callback=interrupt)
        assert solution.status is Status.INTERRUPTED
        assert not solution.proved
        assert len(told) < 100
        assert solution.certificate.ok
        assert any("interrupted" in note for note in solution.notes)
        assert solution.flipped is not None
        exact = solve_pessimistic(
            self.problem(), Budget(0.2), flip=solution.flipped, node_limit=500
        )
        assert solution.lower_bound <= exact.objective + TOLERANCE


def test_an_interrupt_of_the_certificate_keeps_the_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    problem, calls = TestArguments.problem, []

    def interrupted_once(*arguments: Any) -> Certificate:
        calls.append(arguments)
        if len(calls) == 1:
            raise KeyboardInterrupt
        return certify(*arguments)

    monkeypatch.setattr(solving, "certify", interrupted_once)
    solution = solve_optimistic(problem)
    assert solution.status is Status.INTERRUPTED
    assert solution.certificate.ok
    assert solution.objective == pytest.approx(brute_force_optimistic(problem), abs=TOLERANCE)


class TestTieBreak:
    @settings(max_examples=30)
    @given(problem=problems())
    def test_smallest_and_largest_box_frame_the_optimum(self, problem: TuningProblem) -> None:
        smallest = solve_optimistic(problem, tie_break="smallest_box")
        largest = solve_optimistic(problem, tie_break="largest_box")
        assert smallest.certificate.ok
        assert largest.certificate.ok
        assert (smallest.box <= largest.box).all()
        assert smallest.objective == pytest.approx(largest.objective, abs=1e-12)
        for solution in (smallest, largest):
            assert_limits_hold(solution)
            assert in_near_optimal_set(
                problem, solution.coef, -solution.intercept, solution.box, Budget()
            )

    @settings(max_examples=15)
    @given(problem=problems(), budget=budgets())
    def test_smallest_and_largest_box_frame_the_pessimistic_optimum(
        self, problem: TuningProblem, budget: Budget
    ) -> None:
        smallest = solve_pessimistic(problem, budget, tie_break="smallest_box")
        largest = solve_pessimistic(problem, budget, tie_break="largest_box")
        assert smallest.certificate.ok
        assert largest.certificate.ok
        assert (smallest.box <= largest.box).all()
        assert smallest.objective == pytest.approx(largest.objective, abs=1e-12)
        for solution in (smallest, largest):
            assert_limits_hold(solution)

    def test_a_feature_without_multiplier_is_closed_in_one_and_open_in_the_other(self) -> None:
        # The second feature is 0 on T, so training leaves w₂ free and its multiplier 0. On V the
        # hinges are [1 − s − w₂]₊ and [1 − s + w₂]₊ with s = w₁ − b ≤ 1 for every trained model:
        # their sum is 0 at s = 1 and w₂ = 0 alone.
        problem = TuningProblem(
            [[-1.0, 0.0], [1.0, 0.0]], [-1, 1], [[1.0, 1.0], [1.0, -1.0]], [1, 1]
        )
        smallest = solve_optimistic(problem, tie_break="smallest_box")
        largest = solve_optimistic(problem, tie_break="largest_box")
        assert smallest.objective == pytest.approx(0.0, abs=1e-9)
        assert smallest.box[1] == pytest.approx(0.0, abs=1e-9)
        assert largest.box[1] == 1.0

    @settings(max_examples=10)
    @given(problem=problems(), budget=budgets())
    def test_the_same_problem_gives_the_same_answer(
        self, problem: TuningProblem, budget: Budget
    ) -> None:
        for first, second in (
            (solve_optimistic(problem), solve_optimistic(problem)),
            (solve_pessimistic(problem, budget), solve_pessimistic(problem, budget)),
        ):
            assert np.array_equal(first.box, second.box)
            assert np.array_equal(first.coef, second.coef)
            assert first.intercept == second.intercept
            assert first.objective == second.objective


class TestSigns:
    @settings(max_examples=20)
    @given(problem=problems(), budget=budgets(), data=st.data())
    def test_models_have_the_sign_of_scikit_learn(
        self, problem: TuningProblem, budget: Budget, data: st.DataObject
    ) -> None:
        box = data.draw(boxes(problem))
        answers = [
            (solution.coef, solution.intercept, solution.objective)
            for solution in (solve_optimistic(problem), solve_pessimistic(problem, budget))
        ] + [
            (case.coef, case.intercept, case.value)
            for case in (worst_case(problem, box, budget), best_case(problem, box, budget))
        ]
        for coef, intercept, value in answers:
            margins = problem.y_val * (problem.X_val @ coef + intercept)
            assert problem.val_weight @ hinge(margins) == pytest.approx(value, abs=1e-9)


class TestEveryView:
    """Limits of nodes hold, and units of measurement change nothing."""

    @staticmethod
    def solved(
        problem: TuningProblem, budget: Budget, one: bool, node_limit: int
    ) -> list[TuningSolution]:
        """Solve by every view; features that differ in units or limits cannot share `one`."""
        groups: list[GroupsSpec] = ["each", "one"] if one else ["each"]
        return [
            solve_optimistic(problem, node_limit=node_limit),
            solve_pessimistic(problem, budget, node_limit=node_limit),
            solve_pessimistic(problem, budget, flip="margin", node_limit=node_limit),
            *(
                solve_pessimistic(
                    problem, budget, inner="exact", groups=each_or_one, node_limit=node_limit
                )
                for each_or_one in groups
            ),
        ]

    @settings(max_examples=12)
    @given(problem=problems(), budget=budgets(), node_limit=st.integers(1, 12))
    def test_keeps_to_its_limit_of_nodes(
        self, problem: TuningProblem, budget: Budget, node_limit: int
    ) -> None:
        one = bool(np.ptp(problem.lower) == 0.0)
        for solution in self.solved(problem, budget, one, node_limit):
            # Two regions, or two children, are looked at before the limit is.
            assert solution.nodes <= node_limit + 2
            assert solution.lower_bound <= solution.objective

    @settings(max_examples=12)
    @given(data=st.data(), problem=problems(), budget=budgets())
    def test_has_the_same_answer_in_other_units(
        self, data: st.DataObject, problem: TuningProblem, budget: Budget
    ) -> None:
        powers = st.lists(
            st.sampled_from((-6, -3, 0, 3, 6)),
            min_size=problem.n_features,
            max_size=problem.n_features,
        )
        unit = 10.0 ** np.array(data.draw(powers))
        other = replace(
            problem,
            X_train=problem.X_train * unit,
            X_val=problem.X_val * unit,
            lower=problem.lower / unit,
            upper=problem.upper / unit,
        )
        one = bool(np.ptp(problem.lower) == 0.0 == np.ptp(unit))
        answers = (self.solved(tuning, budget, one, 100) for tuning in (problem, other))
        for here, there in zip(*answers, strict=True):
            assert_limits_hold(there)
            assert there.lower_bound <= here.objective + TOLERANCE or not here.certificate.ok
            if here.proved and there.proved:
                assert there.objective == pytest.approx(here.objective, abs=TOLERANCE)


def test_a_large_epsilon_does_not_let_the_worst_model_train_worse_than_it_may() -> None:
    # The least loss is about 1e-8, and rounding of it, times ε, was taken for budget.
    problem = TuningProblem(
        [[1.5, 0.0], [-2.0, 2.0], [-2.0, 0.0]],
        [-1, 1, -1],
        [[-0.5, -2.0], [1.0, 1.5], [0.0, 0.0]],
        [1, 1, 1],
        upper=2.5,
    )
    budget = Budget(epsilon=1e5)
    solution = solve_pessimistic(problem, budget, inner="exact", node_limit=200, time_limit=60.0)
    worst = worst_case(problem, solution.box, budget)
    assert solution.objective <= worst.value + 1e-6
    assert solution.certificate.budget_violation <= CERTIFICATE


def test_cuts_hold_where_the_intercept_has_one_sign() -> None:
    # The largest value of a cut must hold for all intercepts, however they are bounded.
    problem = TuningProblem(
        [[-2.25, -1.11], [0.29, -0.76], [0.89, 0.29], [0.35, 1.85], [0.16, -0.48]],
        [-1, 1, -1, 1, 1],
        [
            [-0.61, 0.72],
            [-0.2, 0.67],
            [1.88, -1.02],
            [-0.63, -1.37],
            [-1.78, 0.125],
            [0.53, -0.09],
            [-0.83, -0.2],
            [-0.7, -0.85],
        ],
        [1, -1, -1, -1, -1, -1, -1, 1],
        upper=[0.5, 1.0],
    )
    found = solve_pessimistic(problem, Budget(delta=0.1), flip="all")
    rival = solve_pessimistic(problem, Budget(delta=0.1), flip="all", method="milp")
    assert found.proved
    assert found.objective == pytest.approx(rival.objective, abs=TOLERANCE)


def test_bounds_and_cuts_do_not_sharpen_each_other_for_ever() -> None:
    X = np.array([-2, 0, 0, 0, 1, 1, -1, 0, 0, 1, 0, 0, 0, -1, 1, 0, -1, -1], dtype=float)[:, None]
    y = np.array([-1, 1, -1, 1, -1, 1, -1, 1, -1, 1, -1, 1, -1, 1, 1, -1, -1, -1], dtype=float)
    problem = TuningProblem(X[:9], y[:9], X[9:], y[9:], upper=0.5)
    found = solve_pessimistic(problem, Budget(delta=0.1), flip="all", time_limit=60.0)
    assert found.status == Status.OPTIMAL
    assert found.objective == pytest.approx(14.0 / 15.0, abs=TOLERANCE)
