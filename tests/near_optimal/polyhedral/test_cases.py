"""Worst cases by branch and bound against enumeration by scipy and against HiGHS's program."""

from __future__ import annotations

import numpy as np
import pytest
from clocks import LeapingClock
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles import brute_force_worst_case, in_near_optimal_set, least_training_loss
from strategies import boxes, budgets, problems, uneven_problems

from pessimal.errors import SolverError
from pessimal.limits import NEVER, Deadline
from pessimal.losses import HINGE, OneBreakpoint, ZeroOne, find_loss
from pessimal.near_optimal.polyhedral.cases import Worst, WorstCases
from pessimal.near_optimal.polyhedral.linear_program import near_optimal
from pessimal.near_optimal.polyhedral.mixed_integer import largest_hinge
from pessimal.near_optimal.polyhedral.program import coarse_bound
from pessimal.problem import Budget, Mask, TuningProblem, Vector, hinge
from pessimal.tolerances import BUDGET_SLACK

TOLERANCE = 1e-6
BUDGETS = (Budget(), Budget(epsilon=0.3), Budget(delta=0.1), Budget(0.3, 0.1))


def random_problem(
    seed: int, n_train: int, n_val: int, p: int, scale: float = 1.0
) -> TuningProblem:
    """Two classes that overlap."""
    rng = np.random.default_rng(seed)
    y = np.where(np.arange(n_train + n_val) % 2 == 0, -1.0, 1.0)
    X = scale * (rng.normal(size=(len(y), p)) + 0.3 * y[:, None])
    return TuningProblem(X[:n_train], y[:n_train], X[n_train:], y[n_train:], upper=1.0 / scale)


def found(cases: WorstCases, box: Vector) -> Worst:
    return cases.worst(box, cases.limit(box))


def by_highs(problem: TuningProblem, box: Vector, budget: Budget) -> float:
    """Largest loss by the mixed-integer program."""
    return largest_hinge(near_optimal(problem, box, budget), NEVER)


def random_boxes(problem: TuningProblem, seed: int, n: int) -> list[Vector]:
    """Boxes with some features closed, and the widest."""
    rng = np.random.default_rng(seed)
    shares = rng.random((n - 1, problem.n_features)) * rng.integers(0, 2, (n - 1, 1))
    shares[::3] = np.round(shares[::3])
    return [problem.upper, *(share * problem.upper for share in shares)]


class TestEnumeration:
    @settings(max_examples=60)
    @given(problem=uneven_problems(), budget=budgets(), data=st.data())
    def test_weights_of_zero_and_closed_features(
        self, problem: TuningProblem, budget: Budget, data: st.DataObject
    ) -> None:
        box = data.draw(boxes(problem))
        worst = found(WorstCases(problem, budget), box)
        largest = brute_force_worst_case(problem, box, budget)
        assert worst.value == pytest.approx(largest, abs=TOLERANCE)
        assert worst.upper_bound == pytest.approx(largest, abs=TOLERANCE)
        w, b = worst.u[:-1], float(worst.u[-1])
        assert problem.val_loss(w, b) == pytest.approx(worst.value, abs=1e-8)
        assert in_near_optimal_set(problem, w, b, box, budget)

    @settings(max_examples=60)
    @given(problem=uneven_problems(), budget=budgets(), data=st.data())
    def test_ranges_found_again_in_every_node(
        self, problem: TuningProblem, budget: Budget, data: st.DataObject
    ) -> None:
        box = data.draw(boxes(problem))
        cases = WorstCases(problem, budget)
        cases._tree.plain_nodes = 0
        worst = found(cases, box)
        largest = brute_force_worst_case(problem, box, budget)
        assert worst.value == pytest.approx(largest, abs=TOLERANCE)
        assert worst.upper_bound == pytest.approx(largest, abs=TOLERANCE)

    @settings(max_examples=12)
    @given(problem=uneven_problems(), budget=budgets(), data=st.data())
    def test_box_after_box_on_warm_programs(
        self, problem: TuningProblem, budget: Budget, data: st.DataObject
    ) -> None:
        cases = WorstCases(problem, budget)
        for _ in range(5):
            box = data.draw(boxes(problem))
            largest = brute_force_worst_case(problem, box, budget)
            assert found(cases, box).value == pytest.approx(largest, abs=TOLERANCE)

    @settings(max_examples=40)
    @given(problem=uneven_problems(), budget=budgets(), data=st.data())
    def test_the_least_training_loss_and_a_line_below_it(
        self, problem: TuningProblem, budget: Budget, data: st.DataObject
    ) -> None:
        cases = WorstCases(problem, budget)
        box, other = data.draw(boxes(problem)), data.draw(boxes(problem))
        training = cases.train(box)
        least = least_training_loss(problem, box)
        assert training.loss == pytest.approx(least, abs=1e-8)
        assert cases.limit(box) == pytest.approx(budget.limit(least), abs=1e-7)
        # L_T* is convex, so its tangent plane lies below it everywhere.
        below = training.loss - float(training.rates @ (other - box))
        assert below <= least_training_loss(problem, other) + 1e-8


class TestMixedIntegerProgram:
    @pytest.mark.parametrize("budget", BUDGETS, ids=str)
    def test_ten_validation_points(self, budget: Budget) -> None:
        problem = random_problem(0, 12, 10, 4)
        cases = WorstCases(problem, budget)
        for box in random_boxes(problem, 0, 7):
            assert found(cases, box).value == pytest.approx(
                by_highs(problem, box, budget), abs=TOLERANCE
            )

    def test_many_features_and_few_points(self) -> None:
        problem = random_problem(1, 10, 6, 50)
        for budget in BUDGETS:
            cases = WorstCases(problem, budget)
            for box in random_boxes(problem, 1, 3):
                worst = found(cases, 0.05 * box)
                assert worst.value == pytest.approx(
                    by_highs(problem, 0.05 * box, budget), abs=TOLERANCE
                )

    @pytest.mark.parametrize("scale", [1e-3, 1e3])
    def test_other_units(self, scale: float) -> None:
        # The box moves with the features, so every loss stays what it is.
        plain, scaled = (random_problem(2, 10, 6, 3, unit) for unit in (1.0, scale))
        for budget in BUDGETS:
            cases, in_units = WorstCases(plain, budget), WorstCases(scaled, budget)
            for box in random_boxes(plain, 2, 4):
                expected = found(cases, box).value
                assert found(in_units, box / scale).value == pytest.approx(expected, abs=TOLERANCE)

    def test_a_class_of_next_to_no_weight(self) -> None:
        # The least loss is that of the light class alone, as small as its weight.
        rng = np.random.default_rng(4)
        y = np.tile([-1.0, 1.0], 12)
        X = rng.normal(size=(24, 2)) + 0.3 * y[:, None]
        weight = np.where(y > 0.0, 1e-7, 1.0)
        problem = TuningProblem(X, y, X[:8], y[:8], train_weight=weight)
        for budget in BUDGETS:
            cases = WorstCases(problem, budget)
            for box in (problem.upper, 0.1 * problem.upper, 1e-15 * problem.upper):
                least = least_training_loss(problem, box)
                assert cases.train(box).loss == pytest.approx(least, abs=1e-8)
                worst = found(cases, box)
                assert worst.upper_bound == pytest.approx(worst.value, abs=TOLERANCE)
                assert in_near_optimal_set(problem, worst.u[:-1], float(worst.u[-1]), box, budget)

    def test_a_set_as_thin_as_the_slack(self) -> None:
        # Separable data, no absolute part: L_T* is 0 in wide boxes and rises in narrow ones.
        rng = np.random.default_rng(3)
        y = np.tile([-1.0, 1.0], 8)
        X = rng.normal(size=(16, 3)) + 2.0 * y[:, None]
        problem = TuningProblem(X[:8], y[:8], X[8:], y[8:])
        cases = WorstCases(problem, Budget(epsilon=0.5))
        kinds = set()
        for share in np.linspace(0.1, 1.0, 19):
            box = share * problem.upper
            kinds.add(cases.train(box).loss > 1e-6)
            assert found(cases, box).value == pytest.approx(
                by_highs(problem, box, cases.budget), abs=TOLERANCE
            )
        assert kinds == {True, False}

    def test_repeated_columns_and_rows(self) -> None:
        drawn = random_problem(4, 8, 5, 2)
        twice = TuningProblem(
            np.tile(drawn.X_train, (2, 2)),
            np.tile(drawn.y_train, 2),
            np.tile(drawn.X_val, (2, 2)),
            np.tile(drawn.y_val, 2),
            upper=0.5,
        )
        for budget in BUDGETS:
            for share in (0.1, 0.4, 1.0):
                single = found(WorstCases(drawn, budget), np.full(2, share)).value
                double = found(WorstCases(twice, budget), np.full(4, share / 2)).value
                assert double == pytest.approx(single, abs=TOLERANCE)


class TestTree:
    def test_of_one_validation_point_the_loss_is_largest_at_its_least_margin(self) -> None:
        # T at ±1 in the box w̄ = 1 with L_T ≤ ½: the score at 3 is 3w − b with |b| ≤ w, w ≥ ½,
        # so it is least at w = ½, b = ½ and largest at w = 1, b = −1.
        for label, largest in ((1.0, 0.0), (-1.0, 5.0)):
            problem = TuningProblem([[-1.0], [1.0]], [-1, 1], [[3.0]], [label])
            worst = found(WorstCases(problem, Budget(delta=0.5)), np.ones(1))
            assert worst.value == pytest.approx(largest, abs=1e-8)

    def test_a_loss_that_is_enough_ends_it(self) -> None:
        problem, budget = random_problem(5, 16, 14, 6), Budget(0.3)
        cases = WorstCases(problem, budget)
        box = problem.upper
        limit = cases.limit(box)
        exact = cases.worst(box, limit)
        early = cases.worst(box, limit, enough=0.8 * exact.value)
        assert 0.8 * exact.value <= early.value <= exact.value + TOLERANCE
        assert early.nodes <= exact.nodes
        never = cases.worst(box, limit, enough=exact.value + 0.1)
        assert never.value == pytest.approx(exact.value, abs=TOLERANCE)
        assert never.upper_bound == pytest.approx(exact.value, abs=TOLERANCE)

    @pytest.mark.parametrize("plain_nodes", [0, 10, 10_000])
    def test_out_of_nodes_or_time_the_bounds_hold_and_tighten(self, plain_nodes: int) -> None:
        problem, budget = random_problem(6, 30, 30, 5), Budget(0.3, 0.1)
        cases = WorstCases(problem, budget)
        cases._tree.plain_nodes = plain_nodes
        box = 0.5 * problem.upper
        limit = cases.limit(box)
        exact = cases.worst(box, limit)
        assert exact.nodes > 20
        bounds = []
        # Which cuts are there from before decides how many nodes it takes, so ten times as many.
        for node_limit in (0, 1, 5, 20, 10 * exact.nodes):
            worst = cases.worst(box, limit, node_limit=node_limit)
            assert worst.nodes <= node_limit
            assert worst.value <= exact.value + TOLERANCE
            assert worst.upper_bound >= exact.value - TOLERANCE
            assert in_near_optimal_set(problem, worst.u[:-1], float(worst.u[-1]), box, budget)
            bounds.append(worst.upper_bound)
        assert np.isfinite(bounds).all()
        assert max(bounds) <= bounds[0] + TOLERANCE
        assert bounds[-1] == pytest.approx(exact.value, abs=TOLERANCE)
        assert (
            cases.worst(box, limit, deadline=Deadline(0.0)).upper_bound >= exact.value - TOLERANCE
        )

    def test_time_may_run_out_between_any_two_ranges(self, monkeypatch: pytest.MonkeyPatch) -> None:
        problem, budget = random_problem(6, 30, 30, 5), Budget(0.3, 0.1)
        cases = WorstCases(problem, budget)
        box = 0.5 * problem.upper
        limit = cases.limit(box)
        exact = cases.worst(box, limit)
        bounds = []
        for still_looks in (0, 1, 10, 29, 30, 31, 45, 100):
            with monkeypatch.context() as patch:
                LeapingClock(patch, still_looks)
                worst = cases.worst(box, limit, deadline=Deadline(1.0))
            assert worst.value <= exact.value + TOLERANCE
            assert worst.upper_bound >= exact.value - TOLERANCE
            assert in_near_optimal_set(problem, worst.u[:-1], float(worst.u[-1]), box, budget)
            bounds.append(worst.upper_bound)
            # What was left half done does not show in the next answer.
            again = cases.worst(box, limit)
            assert again.value == pytest.approx(exact.value, abs=TOLERANCE)
            assert again.upper_bound == pytest.approx(exact.value, abs=TOLERANCE)
        assert (np.diff(bounds) <= TOLERANCE).all()

    @pytest.mark.parametrize("name", ["hinge", "zero_one"])
    def test_what_was_stopped_anywhere_goes_on_to_the_same_end(
        self, monkeypatch: pytest.MonkeyPatch, name: str
    ) -> None:
        problem, budget = random_problem(1, 400, 16, 5), Budget(0.05)
        loss, box = find_loss(name), problem.upper
        assert isinstance(loss, OneBreakpoint)
        cases = WorstCases(problem, budget, loss)
        limit, inner = cases.limit(box), cases.train(box).u
        exact = cases.worst(box, limit)
        assert exact.upper_bound == pytest.approx(exact.value, abs=TOLERANCE)
        for still_looks in (1, 2, 3, 5, 8, 13, 21, 34):
            cases.begin(box, limit, inner)
            with monkeypatch.context() as patch:
                LeapingClock(patch, still_looks)
                cases.run(Deadline(1.0))
            stopped = cases.known()
            assert stopped.value <= exact.value + TOLERANCE
            assert stopped.upper_bound >= exact.value - TOLERANCE
            cases.run()
            assert cases.known().upper_bound == pytest.approx(exact.value, abs=TOLERANCE)

    def test_the_count_of_a_search_that_was_stopped_is_that_of_its_model(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        problem, budget = random_problem(1, 400, 200, 10), Budget(0.05)
        cases, box = WorstCases(problem, budget, ZeroOne()), problem.upper
        limit, inner = cases.limit(box), cases.train(box).u
        for still_looks in range(1, 120, 3):
            cases.begin(box, limit, inner)
            with monkeypatch.context() as patch:
                LeapingClock(patch, still_looks)
                cases.run(Deadline(1.0))
            stopped = cases.known()
            margins = problem.y_val * (problem.X_val @ stopped.u[:-1] - stopped.u[-1])
            assert stopped.value <= np.mean(margins <= TOLERANCE) + TOLERANCE

    def test_the_root_is_solved_with_the_ranges_there_are(self) -> None:
        problem, budget = random_problem(2, 40, 20, 3), Budget(0.1)
        cases, box = WorstCases(problem, budget), problem.upper
        limit, inner = cases.limit(box), cases.train(box).u
        exact = cases.worst(box, limit).value
        cases.begin(box, limit, inner)
        cases.solve_root(Deadline.after(-1.0), NEVER)
        root = cases.known()
        assert root.nodes == 1
        assert exact <= root.upper_bound < coarse_bound(problem, box, limit, HINGE)

    def test_the_same_question_has_the_same_answer(self) -> None:
        problem, budget = random_problem(7, 12, 12, 4), Budget(0.2)
        first, second = (found(WorstCases(problem, budget), problem.upper) for _ in range(2))
        assert first.value == second.value
        assert first.nodes == second.nodes
        assert np.array_equal(first.u, second.u)

    def test_where_no_model_trains_well_enough_there_is_no_worst_case(self) -> None:
        problem = random_problem(9, 12, 4, 2)
        cases = WorstCases(problem, Budget())
        for limit in (-0.1, 0.5 * cases.limit(problem.upper)):
            with pytest.raises(SolverError, match="no model was found"):
                cases.worst(problem.upper, limit)


class TestActiveSetLoss:
    @settings(max_examples=25)
    @given(problem=problems(), budget=budgets(), data=st.data())
    def test_the_largest_active_set_loss_is_the_worst_case(
        self, problem: TuningProblem, budget: Budget, data: st.DataObject
    ) -> None:
        box = data.draw(boxes(problem))
        cases = WorstCases(problem, budget)
        limit = cases.limit(box)
        worst = cases.worst(box, limit)
        of_worst = cases.active_set_loss(box, limit, cases.active(worst.u)).value
        assert of_worst == pytest.approx(worst.value, abs=TOLERANCE)
        n_val = problem.n_val
        active = np.array(data.draw(st.lists(st.booleans(), min_size=n_val, max_size=n_val)))
        assert cases.active_set_loss(box, limit, active).value <= worst.value + TOLERANCE

    def test_its_rates_are_those_of_finite_differences(self) -> None:
        problem, budget = random_problem(10, 12, 8, 3), Budget(0.2, 0.1)
        cases = WorstCases(problem, budget)
        box = np.array([0.3, 0.2, 0.25])
        limit = cases.limit(box)
        active = cases.active(cases.worst(box, limit).u)
        active_set = cases.active_set_loss(box, limit, active)
        step = 1e-4

        def change(box_step: Vector, limit_step: float) -> float:
            moved = cases.active_set_loss(box + box_step, limit + limit_step, active).value
            return (moved - active_set.value) / step

        assert change(np.zeros(3), step) == pytest.approx(active_set.limit_rate, rel=1e-4)
        for j, unit in enumerate(np.eye(3)):
            assert change(step * unit, 0.0) == pytest.approx(active_set.box_rates[j], abs=1e-4)

    def test_with_no_model_it_bounds_nothing(self) -> None:
        problem = random_problem(11, 12, 4, 2)
        everyone: Mask = np.ones(4, dtype=np.bool_)
        assert (
            WorstCases(problem, Budget()).active_set_loss(problem.upper, 0.01, everyone).value
            == -np.inf
        )


def test_the_active_hinges_are_those_with_a_loss() -> None:
    problem = random_problem(12, 8, 9, 3)
    u = np.array([0.3, -0.2, 0.1, 0.05])
    losses = hinge(problem.y_val * (problem.X_val @ u[:-1] - u[-1]))
    assert np.array_equal(WorstCases(problem, Budget()).active(u), losses > 0.0)


def test_the_limit_leaves_room_for_rounding_alone() -> None:
    problem = random_problem(13, 8, 3, 2)
    limit = WorstCases(problem, Budget(0.5, 0.25)).limit(problem.upper)
    least = least_training_loss(problem, problem.upper)
    assert limit == pytest.approx(1.5 * least + 0.25 + BUDGET_SLACK, abs=1e-8)


def test_training_ends_at_its_deadline() -> None:
    problem = random_problem(0, 400, 2, 30)
    over = WorstCases(problem, Budget(), deadline=Deadline.after(-1.0))
    with pytest.raises(SolverError, match="training stalled"):
        over.train(problem.upper)


@settings(max_examples=40)
@given(problem=problems(), budget=budgets(), data=st.data())
def test_the_bound_that_costs_nothing_holds(
    problem: TuningProblem, budget: Budget, data: st.DataObject
) -> None:
    box = data.draw(boxes(problem))
    limit = budget.limit(least_training_loss(problem, box))
    largest = brute_force_worst_case(problem, box, budget)
    assert coarse_bound(problem, box, limit + 1e-9) >= largest - TOLERANCE
    most = brute_force_worst_case(problem, box, budget, "zero_one")
    assert coarse_bound(problem, box, limit + 1e-9, find_loss("zero_one")) >= most - TOLERANCE
