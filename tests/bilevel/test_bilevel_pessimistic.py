"""The pessimistic view: against enumeration of bases, closed forms, and the exact worst case."""

from __future__ import annotations

from typing import Any

import cvxpy
import numpy as np
import pytest
from breakpoints import random_instance

from pessimal import TuningProblem, solve_pessimistic
from pessimal.bilevel import BilevelProblem, BilevelStatus, Follower, solve_program
from pessimal.errors import InvalidInputError
from pessimal.problem import Budget

cp: Any = cvxpy  # mypy does not find its functions

NOTHING = (BilevelStatus.INFEASIBLE, BilevelStatus.INNER_INFEASIBLE)


@pytest.mark.parametrize("tolerance", [(0.0, 0.0), (0.5, 0.0), (0.2, 0.1)], ids=str)
@pytest.mark.parametrize("seed", range(5))
def test_the_optimum_is_that_of_the_best_basis(seed: int, tolerance: tuple[float, float]) -> None:
    epsilon, delta = tolerance
    instance = random_instance(np.random.default_rng([2, seed]), coupled=seed % 2 == 1)
    expected = instance.least_pessimistic(epsilon, delta)
    solution = solve_program(instance.program(), pessimistic=True, epsilon=epsilon, delta=delta)
    if np.isinf(expected):
        assert solution.status in NOTHING
        return
    assert solution.status is BilevelStatus.OPTIMAL
    assert solution.value == pytest.approx(expected, abs=1e-6)
    assert solution.bound == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("seed", range(16))
def test_prices_may_keep_the_infimum_from_being_attained(seed: int) -> None:
    instance = random_instance(np.random.default_rng([3, seed]), priced=True)
    infimum, attained = instance.infimum()
    solution = solve_program(instance.program(), pessimistic=True)
    assert solution.bound == pytest.approx(infimum, abs=1e-6)
    assert (solution.status is BilevelStatus.OPTIMAL) == attained
    assert (solution.status is BilevelStatus.UNATTAINED) != attained


X, Y, Z = (cp.Variable(name=name, bounds=[0, 1]) for name in "xyz")


def test_a_decision_that_is_approached_and_not_taken() -> None:
    # Any x > 0 makes y = 0; at x = 0 the follower does not care, and y may be 1.
    follower = Follower(cp.Minimize(X * Y), variables=[Y])
    problem = BilevelProblem(cp.Minimize(X + Y), [], follower)
    problem.solve("pessimistic")
    assert problem.status is BilevelStatus.UNATTAINED
    assert problem.bound == pytest.approx(0.0, abs=1e-9)
    assert 0.0 < problem.value <= 1e-3  # type: ignore[operator]
    assert problem.value == pytest.approx(float(X.value + Y.value))


def test_a_quadratic_follower_may_leave_a_direction_open() -> None:
    # y = x; z is anything up to y. Worst for the leader: z = y, so x − 2x + 3x, least at 0.
    follower = Follower(cp.Minimize(cp.square(Y - X)), [Z <= Y], variables=[Y, Z])
    problem = BilevelProblem(cp.Minimize(X - 2 * Y + 3 * Z), [X >= 0.25], follower)
    assert problem.solve("pessimistic") == pytest.approx(0.5, abs=1e-6)
    assert problem.status is BilevelStatus.OPTIMAL
    assert problem.solve("optimistic") == pytest.approx(-1.0, abs=1e-6)  # z = 0, x = 1


def test_outer_constraints_hold_for_every_near_optimal_response() -> None:
    # y ≥ x and y ≤ 1.2·x: the constraint y ≤ 0.6 stops the leader at 0.5, not at 0.6.
    follower = Follower(cp.Minimize(Y), [Y >= X], variables=[Y])
    problem = BilevelProblem(cp.Maximize(X), [Y <= 0.6], follower)
    assert problem.solve("pessimistic", epsilon=0.2) == pytest.approx(0.5)
    assert problem.solve("optimistic") == pytest.approx(0.6)


@pytest.mark.parametrize("shift", [-2.0, 0.0])
def test_epsilon_is_a_share_of_the_size_of_the_optimum(shift: float) -> None:
    # f* = x + shift at y = x, so a response may be larger by a tenth of |x + shift|.
    follower = Follower(cp.Minimize(Y + shift), [Y >= X], variables=[Y])
    problem = BilevelProblem(cp.Minimize(Y), [X == 0.5], follower)
    expected = 0.5 + 0.1 * abs(0.5 + shift)
    assert problem.solve("pessimistic", epsilon=0.1) == pytest.approx(expected)


def test_unbounded_worst_responses_have_a_status() -> None:
    y, z = cp.Variable(), cp.Variable(nonneg=True)
    follower = Follower(cp.Minimize(y), [y >= X], variables=[y, z])
    problem = BilevelProblem(cp.Minimize(z), [], follower)
    problem.solve("pessimistic")
    assert problem.status is BilevelStatus.WORST_UNBOUNDED


def test_convex_outer_objectives_have_their_exact_worst_case() -> None:
    rng = np.random.default_rng(4)
    y = np.resize([1.0, -1.0], 10)
    X = rng.normal(size=(10, 2)) + 0.4 * y[:, None]
    data = TuningProblem(X[:5], y[:5], X[5:], y[5:])
    w, b = cp.Variable(2), cp.Variable()
    box = cp.Variable(2, bounds=[data.lower, data.upper])

    def hinge(X: Any, y: Any) -> Any:
        return cp.sum(cp.pos(1 - cp.multiply(y, X @ w - b))) / len(y)

    training = hinge(data.X_train, data.y_train)
    follower = Follower(cp.Minimize(training), [w <= box, -box <= w], variables=[w, b])
    problem = BilevelProblem(cp.Minimize(hinge(data.X_val, data.y_val)), [], follower)
    value = problem.solve("pessimistic", epsilon=0.2)
    assert problem.status is BilevelStatus.OPTIMAL
    expected = solve_pessimistic(data, Budget(epsilon=0.2), inner="exact")
    assert value == pytest.approx(expected.objective, abs=1e-5)


@pytest.mark.parametrize(("delta", "expected"), [(0.0, -0.25), (0.1, -0.15), (0.5, 0.0)])
def test_products_are_exact_if_no_decision_changes_the_near_optimal_responses(
    delta: float, expected: float
) -> None:
    # Responses are y in [0, δ], so the worst value is (δ − ¼)·x from 0 on, and −x/4 below.
    x, y = cp.Variable(bounds=[-1, 1]), cp.Variable(bounds=[0, 1])
    follower = Follower(cp.Minimize(y), variables=[y])
    problem = BilevelProblem(cp.Minimize(x * y - x / 4), [], follower)
    assert problem.solve("pessimistic", delta=delta) == pytest.approx(expected, abs=1e-6)
    assert problem.status is BilevelStatus.OPTIMAL


@pytest.mark.parametrize(
    ("sign", "infimum", "status"),
    [(1.0, 0.0, BilevelStatus.UNATTAINED), (-1.0, -1.0, BilevelStatus.OPTIMAL)],
)
def test_outer_constraints_hold_for_all_responses_to_a_price(
    sign: float, infimum: float, status: BilevelStatus
) -> None:
    # Any x > 0 makes y = 0; at x = 0 the response may be 1, which the constraint forbids.
    follower = Follower(cp.Minimize(X * Y), variables=[Y])
    problem = BilevelProblem(cp.Minimize(sign * X), [Y <= 0.5], follower)
    problem.solve("pessimistic")
    assert problem.status is status
    assert problem.bound == pytest.approx(infimum, abs=1e-6)


def test_whole_decisions_with_prices_are_looked_at_one_by_one() -> None:
    # x = (0, ·) leaves y₂ open up to 3, which the constraint forbids. After (1, 1) it is 2.5, where
    # at most 4/3 is allowed; after (1, 0) it is 1.
    x = cp.Variable(2, boolean=True)
    y = cp.Variable(2, bounds=[[0, -2], [4, 3]])
    goal = cp.Minimize(3 * y[0] + x[0] * y[1])
    follower = Follower(goal, [2 * x[0] + 3 * x[1] <= y[0] + 2 * y[1]], variables=[y])
    problem = BilevelProblem(cp.Minimize(y[1] - 3 * x[1]), [3 * y[1] <= 2 + 2 * x[0]], follower)
    assert problem.solve("pessimistic") == pytest.approx(1.0, abs=1e-6)
    assert problem.status is BilevelStatus.OPTIMAL
    assert x.value == pytest.approx([1.0, 0.0])


def test_a_square_that_is_least_where_responses_jump_is_not_attained() -> None:
    # At x = 0 the response may be 1; the least value of x² with y = 0 is only approached.
    x, y = cp.Variable(bounds=[0, 2]), cp.Variable(bounds=[0, 1])
    follower = Follower(cp.Minimize(x * y), variables=[y])
    problem = BilevelProblem(cp.Minimize(cp.square(x) + y), [], follower)
    problem.solve("pessimistic")
    assert problem.status is BilevelStatus.UNATTAINED
    assert problem.bound == pytest.approx(0.0, abs=1e-6)


@pytest.mark.parametrize("method", ["search", "milp highs"])
def test_unique_responses_leave_nothing_to_fear(method: str) -> None:
    x, y = cp.Variable(bounds=[0, 2]), cp.Variable(bounds=[0, 2])
    follower = Follower(cp.Minimize(cp.square(y - x)), variables=[y])
    problem = BilevelProblem(cp.Minimize(cp.square(y - 1) + cp.square(x)), [], follower)
    assert problem.solve("pessimistic", method=method) == pytest.approx(0.5, abs=1e-6)
    assert problem.status is BilevelStatus.OPTIMAL


@pytest.mark.parametrize(
    ("objective", "constraints", "inner", "options", "named"),
    [
        (cp.square(Y), [], Y, {}, "power|Power"),
        (cp.abs(Y - X), [], X * Y, {}, "abs"),
        (Y, [], X * Y, {"delta": 0.1}, r"x \* y"),
        (Y, [], cp.square(Y), {"epsilon": 0.1}, "power|Power"),
        (X, [cp.abs(Y - 0.5) <= X], Y, {}, "abs"),
        (X * Y, [], Y, {}, r"x \* y"),
        (X * Y, [], X * Y, {}, r"x \* y"),
        (X * Y + cp.abs(Y), [], Y, {}, "abs"),
        (Y, [], Y - 1, {"epsilon": 2.0}, "y"),
    ],
)
def test_what_cannot_be_exact_is_refused_and_named(
    objective: Any, constraints: list[Any], inner: Any, options: Any, named: str
) -> None:
    follower = Follower(cp.Minimize(inner), [Y >= 0.1 * X], variables=[Y])
    with pytest.raises(InvalidInputError, match=named):
        BilevelProblem(cp.Minimize(objective), constraints, follower).solve(
            "pessimistic", **options
        )
