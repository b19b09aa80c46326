"""The same problem in other units has the same answers, and is proved as well."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles import brute_force_worst_case, in_near_optimal_set, optimistic_optimum
from oracles.boxes import Loss
from strategies import boxes, budgets, problems

from pessimal import (
    Budget,
    TuningProblem,
    TuningSolution,
    audit,
    best_case,
    solve_optimistic,
    solve_pessimistic,
    worst_case,
)
from pessimal.certificate import certify_worst_case
from pessimal.near_optimal import least_loss, score_range
from pessimal.near_optimal.polyhedral.cases import WorstCases
from pessimal.problem import Vector
from pessimal.units import equilibrate

TOLERANCE = 1e-6
UNITS = (1e-6, 2.0**-10, 1.0, 1000.0, 1e6)


def in_units(problem: TuningProblem, units: Vector) -> TuningProblem:
    """Columns times `units`, so that weights and limits are divided by them."""
    return replace(
        problem,
        X_train=problem.X_train * units,
        X_val=problem.X_val * units,
        lower=problem.lower / units,
        upper=problem.upper / units,
    )


def wide_problem(seed: int, n: int = 16, p: int = 20, upper: float = 0.3) -> TuningProblem:
    """Two classes that overlap."""
    rng = np.random.default_rng(seed)
    y = np.tile([-1.0, 1.0], n)
    X = rng.normal(size=(2 * n, p)) + 0.3 * y[:, None]
    return TuningProblem(X[:n], y[:n], X[n:], y[n:], upper=upper)


def mixed_units(seed: int, p: int) -> Vector:
    """Units from a millionth to a million."""
    return np.asarray(10.0 ** np.random.default_rng(seed).uniform(-6.0, 6.0, p))


@given(problem=problems(), data=st.data())
def test_balancing_changes_no_loss(problem: TuningProblem, data: st.DataObject) -> None:
    units = np.array([data.draw(st.sampled_from(UNITS)) for _ in problem.upper])
    other = in_units(problem, units)
    balanced = equilibrate(other)
    w, b = np.linspace(-1.0, 2.0, len(units)) / units, 0.3
    in_balance = w * balanced.factor, b
    assert balanced.problem.train_loss(*in_balance) == pytest.approx(other.train_loss(w, b))
    assert balanced.problem.val_loss(*in_balance) == pytest.approx(other.val_loss(w, b))
    # Not a digit is lost on the way there and back.
    assert np.array_equal(balanced.problem.X_train * balanced.factor, other.X_train)
    assert np.array_equal(balanced.problem.upper / balanced.factor, other.upper)
    largest = np.abs(np.vstack([balanced.problem.X_train, balanced.problem.X_val])).max(axis=0)
    assert ((largest <= 16.0) & (largest >= 1 / 16) | (largest == 0.0)).all()


def test_features_of_usual_size_are_left_as_they_are() -> None:
    problem = in_units(wide_problem(0), np.geomspace(0.1, 4.0, 20))
    assert equilibrate(problem).problem is problem


@settings(max_examples=60)
@given(problem=problems(), budget=budgets(), data=st.data())
def test_the_worst_case_is_the_enumerated_one_in_any_units(
    problem: TuningProblem, budget: Budget, data: st.DataObject
) -> None:
    box = data.draw(boxes(problem))
    units = np.array([data.draw(st.sampled_from(UNITS)) for _ in box])
    other = in_units(problem, units)
    worst = worst_case(other, np.clip(box / units, other.lower, other.upper), budget)
    largest = brute_force_worst_case(problem, box, budget)
    assert worst.value == pytest.approx(largest, abs=TOLERANCE)
    assert worst.upper_bound == pytest.approx(largest, abs=TOLERANCE)
    assert in_near_optimal_set(problem, worst.coef * units, -worst.intercept, box, budget)


@pytest.mark.parametrize("loss", ["zero_one", "margin"])
@pytest.mark.parametrize("seed", range(6))
def test_errors_are_counted_alike_in_any_units(seed: int, loss: Loss) -> None:
    problem, budget = wide_problem(seed, n=12, p=8, upper=1.0), Budget(0.2, 0.05)
    other = in_units(problem, mixed_units(seed, 8))
    plain = worst_case(problem, problem.upper, budget, loss=loss)
    mixed = worst_case(other, other.upper, budget, loss=loss)
    assert mixed.value == pytest.approx(plain.value)
    assert mixed.upper_bound == pytest.approx(plain.upper_bound)


@pytest.mark.parametrize("seed", range(6))
def test_the_certificate_finds_the_same_gap_in_any_units(seed: int) -> None:
    problem, budget = wide_problem(seed, n=12, p=8, upper=1.0), Budget(0.2, 0.05)
    units = mixed_units(seed, 8)
    worst, best = (case(problem, problem.upper, budget) for case in (worst_case, best_case))
    other = in_units(problem, units)
    for model in (worst, best):
        w, b = model.coef / units, -model.intercept
        gap = certify_worst_case(other, budget, other.upper, w, b, model.value).inner_gap
        assert gap == pytest.approx(worst.value - model.value, abs=TOLERANCE)


@pytest.mark.parametrize("budget", [Budget(0.3), Budget(0.0, 0.05)], ids=str)
@pytest.mark.parametrize("seed", range(6))
def test_a_worst_case_of_many_features_is_proved_in_any_units(seed: int, budget: Budget) -> None:
    problem = wide_problem(seed)
    units = mixed_units(seed, problem.n_features)
    plain = worst_case(problem, problem.upper, budget, node_limit=3000)
    other = in_units(problem, units)
    mixed = worst_case(other, other.upper, budget, node_limit=3000)
    assert plain.upper_bound == pytest.approx(plain.value, abs=TOLERANCE)
    assert mixed.upper_bound == pytest.approx(mixed.value, abs=TOLERANCE)
    assert mixed.value == pytest.approx(plain.value, abs=TOLERANCE)


def test_rates_are_those_of_the_units_given() -> None:
    problem, budget = wide_problem(1, p=4, upper=1.0), Budget(0.3, 0.1)
    units = np.array([1e-5, 1.0, 300.0, 1e5])
    other = in_units(problem, units)
    box, active = 0.5 * problem.upper, np.ones(problem.n_val, dtype=np.bool_)
    plain, mixed = WorstCases(problem, budget), WorstCases(other, budget)
    assert mixed.train(box / units).rates / units == pytest.approx(
        plain.train(box).rates, abs=TOLERANCE
    )
    limit = plain.limit(box)
    one, two = (
        plain.active_set_loss(box, limit, active),
        mixed.active_set_loss(box / units, limit, active),
    )
    assert two.value == pytest.approx(one.value, abs=TOLERANCE)
    assert two.box_rates / units == pytest.approx(one.box_rates, abs=TOLERANCE)
    assert two.limit_rate == pytest.approx(one.limit_rate, abs=TOLERANCE)


@settings(max_examples=25)
@given(problem=problems(), data=st.data())
def test_the_optimistic_optimum_is_the_enumerated_one_in_any_units(
    problem: TuningProblem, data: st.DataObject
) -> None:
    units = np.array([data.draw(st.sampled_from(UNITS)) for _ in problem.upper])
    solution = solve_optimistic(in_units(problem, units))
    assert solution.proved
    assert solution.objective == pytest.approx(optimistic_optimum(problem).value, abs=TOLERANCE)


def assert_alike(plain: TuningSolution, mixed: TuningSolution) -> None:
    assert plain.certificate.ok
    assert mixed.certificate.ok
    assert mixed.proved == plain.proved
    assert (mixed.box <= mixed.problem.upper).all()
    # Neither bound contradicts the other's answer.
    assert plain.lower_bound <= mixed.objective + TOLERANCE
    assert mixed.lower_bound <= plain.objective + TOLERANCE


@pytest.mark.parametrize("seed", range(3))
def test_both_views_are_solved_as_well_in_any_units(seed: int) -> None:
    problem = wide_problem(seed, n=10, p=6, upper=1.0)
    other = in_units(problem, mixed_units(seed, 6))
    for budget in (Budget(), Budget(0.2, 0.05)):
        assert_alike(
            solve_pessimistic(problem, budget, node_limit=2000),
            solve_pessimistic(other, budget, node_limit=2000),
        )
    plain, mixed = solve_optimistic(problem), solve_optimistic(other)
    assert_alike(plain, mixed)
    assert mixed.objective == pytest.approx(plain.objective, abs=TOLERANCE)


@pytest.mark.parametrize("seed", range(3))
def test_true_pessimism_is_as_good_in_any_units(seed: int) -> None:
    problem, budget = wide_problem(seed, n=10, p=4, upper=1.0), Budget(0.2, 0.05)
    other = in_units(problem, mixed_units(seed, 4))
    assert_alike(
        solve_pessimistic(problem, budget, inner="exact", node_limit=300),
        solve_pessimistic(other, budget, inner="exact", node_limit=300),
    )


@pytest.mark.parametrize("exponent", [-10, -7, 7, 10])
@pytest.mark.parametrize("seed", range(2))
def test_training_ranges_and_audit_are_the_same_in_the_oddest_units(
    seed: int, exponent: int
) -> None:
    problem, budget = wide_problem(seed, n=12, p=3, upper=0.7), Budget(0.2, 0.01)
    other = in_units(problem, np.array([1.0, 10.0**exponent, 1.0]))

    def numbers(problem: TuningProblem) -> Vector:
        data = problem.X_train, problem.y_train, problem.X_val, problem.y_val
        report = audit(*data, box=problem.upper, epsilon=0.2, delta=0.01, epsilons=())
        counts = report.worst_error.bound, report.discrepancy.bound, report.ambiguity
        flip = worst_case(problem, problem.upper, budget, inner="flip").value
        losses = least_loss(problem, problem.upper).value, report.worst_loss.bound, flip
        ranges = np.concatenate(score_range(problem, problem.upper, budget))
        best = best_case(problem, problem.upper, budget).value
        return np.concatenate([counts, losses, ranges, [best]])

    assert numbers(other) == pytest.approx(numbers(problem), abs=TOLERANCE)
