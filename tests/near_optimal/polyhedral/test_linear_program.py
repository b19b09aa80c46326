"""Training, best case and score ranges against linear programs built apart, by scipy."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles import (
    LP_TOLERANCE,
    brute_force_best_case,
    in_near_optimal_set,
    least_training_loss,
)
from scipy.optimize import linprog
from strategies import boxes, budgets, problems

from pessimal.errors import InvalidInputError
from pessimal.limits import Deadline
from pessimal.near_optimal import best_case, least_loss, score_range
from pessimal.near_optimal.polyhedral import linear_program
from pessimal.near_optimal.polyhedral.linear_program import BoxModels, near_optimal, row_ranges
from pessimal.problem import Budget, TuningProblem, Vector, margin_rows

TOLERANCE = 1e-7


def random_problem(seed: int) -> TuningProblem:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(30, 4))
    y = np.where(X[:, 0] + rng.normal(size=30) > 0.0, 1.0, -1.0)
    y[:2] = 1.0, -1.0
    return TuningProblem(X[:15], y[:15], X[15:], y[15:], train_weight=rng.random(15))


def extreme_score(
    problem: TuningProblem, box: Vector, budget: Budget, x: Vector, sign: float
) -> float:
    """Least value of ``sign·(x·w − b)`` over Ψ, by scipy."""
    n, p = problem.n_train, problem.n_features
    y = problem.y_train[:, None]
    limit = budget.limit(least_training_loss(problem, box)) + LP_TOLERANCE
    answer = linprog(
        np.concatenate([sign * x, [-sign], np.zeros(n)]),
        A_ub=np.vstack(
            [
                np.hstack([-y * problem.X_train, y, -np.eye(n)]),
                np.concatenate([np.zeros(p + 1), problem.train_weight])[None, :],
            ]
        ),
        b_ub=np.append(-np.ones(n), limit),
        bounds=[*zip(-box, box, strict=True), (None, None), *[(0.0, None)] * n],
        method="highs-ds",
    )
    assert answer.status == 0
    return float(answer.fun)


@settings(max_examples=60)
@given(problem=problems(), data=st.data())
def test_the_least_loss_is_scipys_and_attained_in_the_box(
    problem: TuningProblem, data: st.DataObject
) -> None:
    box = data.draw(boxes(problem))
    trained = least_loss(problem, box)
    assert trained.value == pytest.approx(least_training_loss(problem, box), abs=TOLERANCE)
    assert trained.value == problem.train_loss(trained.w, trained.b)
    assert (np.abs(trained.w) <= box).all()


@settings(max_examples=40)
@given(problem=problems(), budget=budgets(), data=st.data())
def test_the_best_case_is_scipys_and_attained(
    problem: TuningProblem, budget: Budget, data: st.DataObject
) -> None:
    box = data.draw(boxes(problem))
    best = best_case(problem, box, budget)
    assert best.value == pytest.approx(brute_force_best_case(problem, box, budget), abs=1e-6)
    assert best.value == problem.val_loss(best.coef, -best.intercept)
    assert in_near_optimal_set(problem, best.coef, -best.intercept, box, budget)


@pytest.mark.parametrize("budget", [Budget(), Budget(epsilon=0.3), Budget(delta=0.1)])
@pytest.mark.parametrize("seed", range(3))
def test_score_ranges_are_scipys(seed: int, budget: Budget) -> None:
    problem, box = random_problem(seed), np.array([1.0, 0.3, 0.0, 0.6])
    low, high = score_range(problem, box, budget)
    for x, least, largest in zip(problem.X_val, low, high, strict=True):
        assert least == pytest.approx(extreme_score(problem, box, budget, x, 1.0), abs=1e-6)
        assert largest == pytest.approx(-extreme_score(problem, box, budget, x, -1.0), abs=1e-6)


@pytest.mark.parametrize("seed", range(3))
def test_score_ranges_bracket_every_near_optimal_model_and_widen_with_the_budget(
    seed: int,
) -> None:
    problem, X = random_problem(seed), np.random.default_rng(seed).normal(size=(6, 4))
    trained = least_loss(problem, 0.7)
    narrow = score_range(problem, 0.7, X=X)
    wide = score_range(problem, 0.7, Budget(epsilon=0.5), X=X)
    score = X @ trained.w - trained.b
    assert (narrow[0] - TOLERANCE <= score).all()
    assert (score <= narrow[1] + TOLERANCE).all()
    assert (wide[0] <= narrow[0] + TOLERANCE).all()
    assert (narrow[1] <= wide[1] + TOLERANCE).all()


def test_points_of_no_weight_do_not_train() -> None:
    X, y = [[-1.0], [1.0], [5.0]], [-1, 1, -1]
    problem = TuningProblem(X, y, [[0.0]], [1], train_weight=[1.0, 1.0, 0.0])
    assert least_loss(problem, 1.0).value == pytest.approx(0.0, abs=TOLERANCE)
    low, high = score_range(problem, 1.0)
    assert low == pytest.approx([0.0], abs=1e-6)
    assert high == pytest.approx([0.0], abs=1e-6)


def test_a_box_outside_its_limits_is_refused() -> None:
    problem = random_problem(0)
    for call in (least_loss, best_case, score_range):
        with pytest.raises(InvalidInputError, match="box is 2 for feature 0"):
            call(problem, 2.0)


@pytest.mark.parametrize("X", [[[1.0, 2.0]], [1.0, 2.0, 3.0, 4.0], [[np.nan] * 4], [["a"] * 4]])
def test_points_that_cannot_be_scored_are_refused(X: list[object]) -> None:
    with pytest.raises(InvalidInputError, match="X "):
        score_range(random_problem(0), 1.0, X=X)  # type: ignore[arg-type]


@settings(max_examples=40)
@given(problem=problems(), budget=budgets(), data=st.data())
def test_ranges_that_time_cuts_short_hold_the_exact_ones(
    problem: TuningProblem, budget: Budget, data: st.DataObject
) -> None:
    models = near_optimal(problem, data.draw(boxes(problem)), budget)
    rows = margin_rows(problem.X_val, problem.y_val)
    low, high, ends = row_ranges(models, rows)
    coarse_low, coarse_high, first_ends = row_ranges(models, rows, deadline=Deadline.after(-1.0))
    assert (len(ends), len(first_ends)) == (2 * len(rows), 0)
    assert (coarse_low <= low + TOLERANCE).all()
    assert (coarse_high >= high - TOLERANCE).all()


def test_a_program_that_there_is_no_time_to_load_is_not_begun(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    problem = random_problem(0)
    monkeypatch.setattr(linear_program, "SECONDS_PER_CELL", 1000.0)
    monkeypatch.setattr(linear_program, "WarmProgram", None)  # not to be called
    models = BoxModels(problem, np.ones(4))
    trained = models.least_loss(Deadline.after(500.0), at_least=0.0)
    assert (trained.optimal, trained.lower_bound) == (False, 0.0)
    assert trained.value == problem.train_loss(trained.w, trained.b)
    models.limit_training(trained.value)
    assert models.least(np.ones(5), deadline=Deadline.after(500.0)) == (None, -np.inf)


def test_a_limit_set_before_the_first_solve_holds_in_it() -> None:
    problem, box = random_problem(1), np.ones(4)
    limit = 1.1 * least_training_loss(problem, box)
    models = BoxModels(problem, box)
    models.limit_training(limit)
    u = models.minimise(np.ones(5))
    assert problem.train_loss(u[:-1], float(u[-1])) <= limit + TOLERANCE
    late = near_optimal(problem, box, Budget(epsilon=0.1))
    assert np.ones(5) @ u == pytest.approx(np.ones(5) @ late.minimise(np.ones(5)), abs=TOLERANCE)
