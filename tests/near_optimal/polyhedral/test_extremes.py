"""The worst case against the enumeration of all active sets, by scipy."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from clocks import LeapingClock
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles import brute_force_worst_case, in_near_optimal_set, least_flipped_loss
from oracles.boxes import Loss
from strategies import boxes, budgets, flip_masks, problems

from pessimal.errors import InvalidInputError
from pessimal.limits import NEVER, Deadline
from pessimal.lp.highs import WarmProgram
from pessimal.near_optimal import best_case, least_loss, worst_case
from pessimal.problem import Budget, TuningProblem

TOLERANCE = 1e-6


def random_problem(seed: int, n_val: int = 5, p: int = 3) -> TuningProblem:
    """Integer features, so rows repeat; one constant column; random weights."""
    rng = np.random.default_rng(seed)
    X = rng.integers(-2, 3, size=(8 + n_val, p)).astype(float)
    X[:, -1] = 1.0
    y = rng.choice([-1.0, 1.0], 8 + n_val)
    y[:2] = 1.0, -1.0
    return TuningProblem(
        X[:8], y[:8], X[8:], y[8:], train_weight=rng.random(8) + 0.1, val_weight=rng.random(n_val)
    )


@settings(max_examples=60)
@given(problem=problems(), budget=budgets(), data=st.data())
def test_the_exact_hinge_worst_case_is_the_enumerated_one(
    problem: TuningProblem, budget: Budget, data: st.DataObject
) -> None:
    box = data.draw(boxes(problem))
    worst = worst_case(problem, box, budget)
    largest = brute_force_worst_case(problem, box, budget)
    assert worst.value == pytest.approx(largest, abs=TOLERANCE)
    assert worst.upper_bound == pytest.approx(largest, abs=TOLERANCE)
    assert worst.value == problem.val_loss(worst.coef, -worst.intercept)
    assert in_near_optimal_set(problem, worst.coef, -worst.intercept, box, budget)


@settings(max_examples=60)
@given(
    problem=problems(),
    budget=budgets(),
    loss=st.sampled_from(["zero_one", "margin"]),
    data=st.data(),
)
def test_the_exact_counting_worst_case_is_the_enumerated_one(
    problem: TuningProblem, budget: Budget, loss: Loss, data: st.DataObject
) -> None:
    box = data.draw(boxes(problem))
    worst = worst_case(problem, box, budget, loss=loss)
    largest = brute_force_worst_case(problem, box, budget, loss)
    assert worst.value == pytest.approx(largest, abs=TOLERANCE)
    assert worst.upper_bound >= largest - TOLERANCE
    margins = problem.y_val * (problem.X_val @ worst.coef + worst.intercept)
    below = margins < {"zero_one": 0.0, "margin": 1.0}[loss]
    assert problem.val_weight[below].sum() >= worst.value - TOLERANCE
    assert in_near_optimal_set(problem, worst.coef, -worst.intercept, box, budget)


@pytest.mark.parametrize("loss", ["hinge", "zero_one", "margin"])
@pytest.mark.parametrize("budget", [Budget(), Budget(epsilon=0.2), Budget(delta=0.3)])
@pytest.mark.parametrize("seed", range(3))
def test_repeated_rows_and_weights_change_nothing(seed: int, budget: Budget, loss: Loss) -> None:
    problem = random_problem(seed)
    box = np.array([1.0, 0.5, 0.2])
    worst = worst_case(problem, box, budget, loss=loss)
    largest = brute_force_worst_case(problem, box, budget, loss)
    assert worst.value == pytest.approx(largest, abs=TOLERANCE)
    assert worst.upper_bound >= worst.value == worst.lower_bound


@pytest.mark.parametrize("loss", ["hinge", "zero_one", "margin"])
@pytest.mark.parametrize("seed", range(2))
def test_the_worst_case_grows_with_either_budget(seed: int, loss: Loss) -> None:
    problem = random_problem(seed, n_val=8)
    steps = (0.0, 0.1, 0.4)
    for growing in ([Budget(epsilon=s) for s in steps], [Budget(delta=s) for s in steps]):
        values = [worst_case(problem, 0.5, budget, loss=loss).value for budget in growing]
        assert (np.diff(values) >= -TOLERANCE).all()


@settings(max_examples=40)
@given(problem=problems(), budget=budgets(), data=st.data())
def test_flip_minimises_the_flipped_loss_and_lies_between_best_and_worst(
    problem: TuningProblem, budget: Budget, data: st.DataObject
) -> None:
    box, flipped = data.draw(boxes(problem)), data.draw(flip_masks(problem))
    flip = worst_case(problem, box, budget, inner="flip", flip=flipped)
    w, b = flip.coef, -flip.intercept
    limit = budget.limit(least_loss(problem, box).value)
    least = least_flipped_loss(problem, box, limit, flipped)
    assert problem.flipped_loss(w, b, flipped) == pytest.approx(least, abs=TOLERANCE)
    assert in_near_optimal_set(problem, w, b, box, budget)
    exact = worst_case(problem, box, budget)
    assert best_case(problem, box, budget).value <= flip.value + TOLERANCE
    assert flip.value <= exact.value + TOLERANCE
    assert exact.value <= flip.upper_bound + TOLERANCE


@settings(max_examples=30)
@given(
    problem=problems(),
    budget=budgets(),
    loss=st.sampled_from(["zero_one", "margin"]),
    data=st.data(),
)
def test_flip_bounds_the_counting_losses_too(
    problem: TuningProblem, budget: Budget, loss: Loss, data: st.DataObject
) -> None:
    box = data.draw(boxes(problem))
    flip = worst_case(problem, box, budget, inner="flip", loss=loss)
    largest = brute_force_worst_case(problem, box, budget, loss)
    assert flip.value <= largest + TOLERANCE
    assert largest <= flip.upper_bound + TOLERANCE


def test_a_margin_on_the_threshold_is_not_counted() -> None:
    # The only model is w = 1, b = 0: both validation margins are 0, none is below.
    problem = TuningProblem([[-1.0], [1.0]], [-1, 1], [[0.0], [0.0]], [1, -1])
    worst = worst_case(problem, 1.0, loss="zero_one")
    assert worst.value == worst.upper_bound == 0.0
    # With a budget b moves either way: one of the two goes wrong, never both.
    worst = worst_case(problem, 1.0, Budget(delta=0.2), loss="zero_one")
    assert worst.value == pytest.approx(0.5)
    assert worst.upper_bound == pytest.approx(0.5)


def test_the_zero_model_in_the_set_is_not_overcounted() -> None:
    # (0, 0) is near-optimal and touches every threshold; no model puts x and -x both wrong.
    problem = TuningProblem([[-1.0], [1.0]], [-1, 1], [[2.0], [2.0]], [1, -1])
    worst = worst_case(problem, 1.0, Budget(delta=1.0), loss="zero_one")
    assert worst.value == pytest.approx(0.5)


@pytest.mark.parametrize("loss", ["hinge", "zero_one", "margin"])
def test_out_of_time_the_bounds_still_hold(loss: Loss) -> None:
    problem, budget = random_problem(1, n_val=8), Budget(epsilon=0.3)
    exact = worst_case(problem, 0.5, budget, loss=loss)
    limited = worst_case(problem, 0.5, budget, loss=loss, time_limit=1e-9)
    assert limited.value <= exact.value + TOLERANCE
    assert exact.value <= limited.upper_bound + TOLERANCE


def test_out_of_nodes_the_bounds_hold_and_are_the_same_again() -> None:
    problem, budget = random_problem(1, n_val=12), Budget(epsilon=0.3, delta=0.2)
    exact = worst_case(problem, 0.5, budget)
    limited, again = (worst_case(problem, 0.5, budget, node_limit=1) for _ in range(2))
    assert limited.value <= exact.value + TOLERANCE
    assert exact.value <= limited.upper_bound + TOLERANCE
    assert exact.upper_bound == pytest.approx(exact.value, abs=TOLERANCE)
    assert (limited.value, limited.upper_bound) == (again.value, again.upper_bound)


def test_unusable_arguments_are_named_with_what_is_accepted() -> None:
    problem = random_problem(0)
    with pytest.raises(InvalidInputError, match="inner is 'fast'; pass 'exact' or 'flip'"):
        worst_case(problem, 1.0, inner="fast")  # type: ignore[arg-type]
    with pytest.raises(InvalidInputError, match="loss is 'lag'; pass one of 'hinge', 'zero"):
        worst_case(problem, 1.0, loss="lag")
    with pytest.raises(InvalidInputError, match="box has shape"):
        worst_case(problem, [1.0, 1.0])
    with pytest.raises(InvalidInputError, match="time_limit is 0"):
        worst_case(problem, 1.0, time_limit=0)
    with pytest.raises(InvalidInputError, match="node_limit is 0"):
        worst_case(problem, 1.0, node_limit=0)
    with pytest.raises(InvalidInputError, match="flip has shape"):
        worst_case(problem, 1.0, inner="flip", flip=[0, 1])
    with pytest.raises(InvalidInputError, match="flip selects no validation point"):
        worst_case(problem, 1.0, inner="flip", flip=[False] * 5)


class TestWhatAFeasibleModelContradicts:
    """Answers that were once proved and wrong, each beside a model that says so."""

    def test_a_count_over_integer_columns_is_the_largest(self) -> None:
        problem = TuningProblem(
            [[0.0, 1.0, 1.0], [0.0, 1.0, 1.0]],
            [1, -1],
            [[0.0, 1.0, 1.0], [0.0, 1.0, 1.0], [1.0, 0.0, 0.0], [1.0, 1.0, 1.0]],
            [1, -1, -1, -1],
        )
        w, b = np.array([0.0, -1.0, -1.0]), -2.0
        assert problem.train_loss(w, b) == least_loss(problem, 1.0).value == 1.0
        assert (problem.y_val * (problem.X_val @ w - b) < 1.0).all()
        worst = worst_case(problem, 1.0, loss="margin")
        assert worst.value == worst.upper_bound == 1.0

    def test_a_count_is_what_some_model_of_the_set_attains(self) -> None:
        X, y = [[1.0], [0.0], [2.0], [-2.0]], [1, -1, 1, -1]
        problem = TuningProblem(X, y, [[0.0], [0.0], [0.0], [1.0]], [-1, 1, 1, -1])
        budget = Budget(epsilon=10.0)
        assert in_near_optimal_set(problem, np.array([0.27]), 0.1, np.array([0.27]), budget)
        worst = worst_case(problem, 0.27, budget, loss="zero_one")
        assert worst.value == worst.upper_bound == 0.75

    def test_a_point_of_small_weight_does_not_amplify_the_slack_of_the_budget(self) -> None:
        # The heavy point fixes the score at -1; (1 + 1)·2e-8 lets the light one push it to -3.
        problem = TuningProblem(
            [[1.0], [1.0]], [-1, 1], [[1.0], [1.0]], [-1, 1], train_weight=[1.0, 1e-8]
        )
        worst = worst_case(problem, 1.0, Budget(epsilon=1.0))
        assert worst.value == pytest.approx(2.0, abs=1e-6)
        assert worst.upper_bound == pytest.approx(2.0, abs=1e-6)

    @pytest.mark.parametrize("seed", range(2))
    def test_a_bound_is_there_where_the_cuts_of_the_budget_are_too_few(self, seed: int) -> None:
        rng = np.random.default_rng(seed)
        X, y = rng.normal(size=(260, 20)), rng.choice([-1.0, 1.0], 260)
        problem, budget = TuningProblem(X[:130], y[:130], X[130:], y[130:]), Budget(0.2)
        worst = worst_case(problem, 0.75, budget, node_limit=1)
        assert best_case(problem, 0.75, budget).value <= worst.value <= worst.upper_bound
        assert np.isfinite(worst.upper_bound)
        assert in_near_optimal_set(problem, worst.coef, -worst.intercept, np.full(20, 0.75), budget)


@pytest.mark.parametrize("budget", [Budget(), Budget(0.2), Budget(0.1, 0.05)])
@pytest.mark.parametrize("seed", range(4))
def test_the_worst_case_is_the_same_whichever_simplex_trains(
    seed: int, budget: Budget, monkeypatch: pytest.MonkeyPatch
) -> None:
    problem = random_problem(seed)
    few = worst_case(problem, 0.8, budget)
    monkeypatch.setattr("pessimal.near_optimal.polyhedral.extremes.FEW_CELLS", 0)
    many = worst_case(problem, 0.8, budget)
    assert few.value == pytest.approx(many.value, abs=TOLERANCE)
    assert few.upper_bound == pytest.approx(many.upper_bound, abs=TOLERANCE)
    assert few.lower_bound == few.value  # training is proved


@settings(max_examples=40)
@given(problem=problems(), budget=budgets(), data=st.data())
def test_light_points_train_as_light_points(
    problem: TuningProblem, budget: Budget, data: st.DataObject
) -> None:
    box = data.draw(boxes(problem))
    light = data.draw(st.integers(2, max(2, problem.n_train - 1)))
    weight = problem.train_weight.copy()
    weight[light:] *= 1e-7
    light_problem = replace(problem, train_weight=weight)
    worst = worst_case(light_problem, box, budget)
    trained = least_loss(light_problem, box)
    limit = budget.limit(trained.value)
    loss = light_problem.train_loss(worst.coef, -worst.intercept)
    assert loss <= limit + 1e-8 * light_problem.loss_unit(limit)
    assert worst.upper_bound >= worst.value
    assert trained.lower_bound <= trained.value <= trained.lower_bound + 1e-8


def test_a_count_over_margins_of_any_size_is_bounded() -> None:
    # The only positive training points weigh a millionth, so that b and all scores range to 1e5.
    problem = TuningProblem(
        [[-2, 0.5, 0], [0, -0.5, 1], [0.5, 1, 2], [0.5, 0.5, 0], [1.5, -1.5, 2], [1.5, 0.5, -1]],
        [-1, 1, -1, -1, -1, -1],
        [
            [-0.5, -0.5, 0.0],
            [-0.5, -0.5, 1.0],
            [-0.5, -2.0, -1.5],
            [-2.0, -1.0, -2.0],
            [-0.5, 1.5, -0.5],
        ],
        [-1, 1, -1, 1, 1],
        upper=[0.5, 1.0, 2.5],
        train_weight=[1.0, 0.001, 10.0, 0.001, 0.1, 1000.0],
        val_weight=[0.1, 0.001, 10.0, 100.0, 10000.0],
    )
    box, budget = [0.5, 1.0, 0.75], Budget(0.2, 0.1)
    # By enumeration in fractions: all points can be wrong at once but the second.
    worst = worst_case(problem, box, budget, loss="zero_one")
    assert worst.value == pytest.approx(1.0 - 0.001 / 10110.101, abs=1e-9)
    assert worst.upper_bound >= worst.value
    assert worst_case(problem, box, budget, loss="margin").value == pytest.approx(1.0)


@settings(max_examples=30)
@given(
    problem=problems(),
    budget=budgets(),
    loss=st.sampled_from(["hinge", "zero_one"]),
    still_looks=st.integers(1, 8),
    data=st.data(),
)
def test_a_flipped_worst_case_that_is_cut_short_has_valid_bounds(
    problem: TuningProblem, budget: Budget, loss: Loss, still_looks: int, data: st.DataObject
) -> None:
    box = data.draw(boxes(problem))
    with pytest.MonkeyPatch.context() as patch:
        LeapingClock(patch, still_looks)
        worst = worst_case(problem, box, budget, inner="flip", loss=loss, time_limit=1.0)
    largest = brute_force_worst_case(problem, box, budget, loss)
    assert worst.lower_bound <= largest + TOLERANCE
    assert worst.upper_bound >= largest - TOLERANCE
    assert worst.value <= worst.upper_bound
    assert (np.abs(worst.coef) <= box).all()


def test_a_flipped_worst_case_keeps_to_its_time_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = TuningProblem([[-1.0], [1.0]], [-1, 1], [[0.5], [-2.0]], [1, -1])
    deadlines: list[float] = []
    real = WarmProgram.solve

    def solve(program: WarmProgram, deadline: Deadline = NEVER) -> bool:
        deadlines.append(deadline.moment)
        return real(program, deadline)

    monkeypatch.setattr(WarmProgram, "solve", solve)
    worst_case(problem, 1.0, Budget(delta=0.5), inner="flip", time_limit=1000.0)
    assert len(deadlines) > 1
    assert max(deadlines) < np.inf
