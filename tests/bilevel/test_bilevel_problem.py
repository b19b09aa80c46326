"""Bilevel problems in CVXPY: answers known in closed form, statuses, limits."""

from __future__ import annotations

import signal
from dataclasses import replace
from typing import Any

import cvxpy
import numpy as np
import pytest
from clocks import LeapingClock

from pessimal import TuningProblem, solve_optimistic, solve_pessimistic
from pessimal.bilevel import BilevelProblem, BilevelStatus, Follower
from pessimal.bilevel.node_program import End, NodeProgram
from pessimal.limits import Deadline
from pessimal.problem import Budget

cp: Any = cvxpy  # mypy does not find its functions


def solved(problem: BilevelProblem, **options: Any) -> float:
    """Solve, and want a proof and a certificate."""
    value = problem.solve(**options)
    assert problem.status is BilevelStatus.OPTIMAL
    assert problem.certificate is not None
    assert problem.certificate.ok
    return value


def test_tolls_are_as_high_as_the_detour_allows() -> None:
    toll, flow = cp.Variable(name="toll", nonneg=True), cp.Variable(2, name="flow", nonneg=True)
    costs = flow[0] + 5 * flow[1] + toll * flow[0]
    follower = Follower(cp.Minimize(costs), [cp.sum(flow) == 1], variables=[flow])
    problem = BilevelProblem(cp.Maximize(toll * flow[0]), [], follower)
    assert solved(problem) == pytest.approx(4.0)
    assert problem.bound is not None
    assert problem.bound == pytest.approx(4.0)
    assert problem.bound >= 4.0  # of a maximisation, an upper bound
    assert toll.value == pytest.approx(4.0)
    assert flow.value == pytest.approx([1.0, 0.0])


def test_outer_variables_may_be_boolean() -> None:
    # Interdiction: forbid one of three items, of which the follower takes the best two.
    gain = np.array([3.0, 2.0, 4.0])
    forbid, take = cp.Variable(3, boolean=True), cp.Variable(3, nonneg=True)
    follower = Follower(
        cp.Maximize(gain @ take), [take <= 1 - forbid, cp.sum(take) <= 2], variables=[take]
    )
    problem = BilevelProblem(cp.Minimize(gain @ take), [cp.sum(forbid) <= 1], follower)
    assert solved(problem) == pytest.approx(5.0)
    assert forbid.value == pytest.approx([0.0, 0.0, 1.0])


def test_integers_are_whole() -> None:
    x, y = cp.Variable(integer=True), cp.Variable()
    follower = Follower(cp.Minimize(y), [y >= x - 1.5, y >= 0.3 * x], variables=[y])
    problem = BilevelProblem(cp.Maximize(2 * y - 0.75 * x), [x >= 0, x <= 2.7], follower)
    assert solved(problem) == pytest.approx(0.0)  # at x = 0; −0.3 at 2, but 0.375 at 2.7
    assert x.value == pytest.approx(0.0)


def test_both_objectives_may_be_quadratic() -> None:
    # The follower answers u = min(2, 1 + a); of (u − 3)² + a² the least is at a = 1.
    a, u = cp.Variable(), cp.Variable()
    follower = Follower(cp.Minimize(cp.square(u - 1) - 2 * a * u), [u <= 2], variables=[u])
    problem = BilevelProblem(cp.Minimize(cp.square(u - 3) + cp.square(a)), [], follower)
    assert solved(problem) == pytest.approx(2.0, abs=1e-5)
    assert a.value == pytest.approx(1.0, abs=1e-3)


def test_squares_of_inner_variables_count() -> None:
    # y = x after every decision; y² − 3·x has its least value at 1.5.
    x, y = cp.Variable(), cp.Variable()
    follower = Follower(cp.Minimize(y), [y >= x], variables=[y])
    problem = BilevelProblem(cp.Minimize(cp.square(y) - 3 * x), [], follower)
    assert solved(problem) == pytest.approx(-2.25, abs=1e-5)


def test_followers_answer_each_for_themselves() -> None:
    # |y_k − a_k| is least at clip(a_k, −x, x); the leader wants Σ y_k = 5 with the least x.
    targets = [1.0, 3.0, 4.0]
    x, y = cp.Variable(nonneg=True), [cp.Variable(name=f"y{k}") for k in range(3)]
    followers = [
        Follower(cp.Minimize(cp.abs(v - a)), [cp.abs(v) <= x], variables=[v])
        for v, a in zip(y, targets, strict=True)
    ]
    problem = BilevelProblem(cp.Minimize(x), [sum(y) >= 5], followers)
    assert solved(problem) == pytest.approx(2.0)
    assert [float(v.value) for v in y] == pytest.approx([1.0, 2.0, 2.0])


def test_parameters_of_the_user_have_their_values() -> None:
    x, y, least = cp.Variable(), cp.Variable(), cp.Parameter(value=3.0)
    follower = Follower(cp.Minimize(y), [y >= least - x], variables=[y])
    problem = BilevelProblem(cp.Minimize(x + 2 * y), [x <= 1, x >= 0], follower)
    assert solved(problem) == pytest.approx(5.0)


X, Y = cp.Variable(name="x", nonneg=True), cp.Variable(name="y", nonneg=True)
UP = Follower(cp.Minimize(Y), [Y >= X], variables=[Y])
DOWN = Follower(cp.Minimize(Y), [Y <= -1 - X], variables=[Y])
AWAY = Follower(cp.Maximize(Y), [Y >= X], variables=[Y])


@pytest.mark.parametrize("view", ["optimistic", "pessimistic"])
@pytest.mark.parametrize(
    ("outer", "constraints", "follower", "status"),
    [
        (X, [X >= 2, X <= 1], UP, BilevelStatus.INFEASIBLE),
        (X, [Y <= 1, X >= 2], UP, BilevelStatus.INFEASIBLE),
        (X, [], DOWN, BilevelStatus.INNER_INFEASIBLE),
        (X, [], AWAY, BilevelStatus.INNER_UNBOUNDED),
        (-X, [], UP, BilevelStatus.UNBOUNDED),
    ],
)  # fmt: skip
def test_each_failure_has_a_status(
    outer: Any, constraints: list[Any], follower: Follower, status: BilevelStatus, view: str
) -> None:
    problem = BilevelProblem(cp.Minimize(outer), constraints, follower)
    problem.solve(view)
    assert problem.status is status


def hinge(X: Any, y: Any, w: Any, b: Any) -> Any:
    """Mean hinge loss in CVXPY."""
    return cp.sum(cp.pos(1 - cp.multiply(y, X @ w - b))) / len(y)


def tuning_problem(n: int = 6, n_features: int = 2, seed: int = 0) -> TuningProblem:
    """Return overlapping classes."""
    rng = np.random.default_rng(seed)
    y = np.resize([1.0, -1.0], 2 * n)
    X = rng.normal(size=(2 * n, n_features)) + 0.4 * y[:, None]
    return TuningProblem(X[:n], y[:n], X[n:], y[n:])


def test_the_support_vector_machine_in_ten_lines_has_the_optimum_of_the_search() -> None:
    data = tuning_problem()
    w, b = cp.Variable(2), cp.Variable()
    box = cp.Variable(2, bounds=[data.lower, data.upper])
    training = hinge(data.X_train, data.y_train, w, b)
    follower = Follower(cp.Minimize(training), [w <= box, -box <= w], variables=[w, b])
    problem = BilevelProblem(cp.Minimize(hinge(data.X_val, data.y_val, w, b)), [], follower)
    assert solved(problem) == pytest.approx(solve_optimistic(data).objective, abs=1e-6)


def test_the_paper_s_pessimistic_problem_in_cvxpy_has_the_optimum_of_the_search() -> None:
    data, budget = tuning_problem(), Budget(epsilon=0.2)
    flipped = np.ones(data.n_val, dtype=np.bool_)
    found = solve_pessimistic(data, budget, flip=flipped)
    w, b, copy, b_copy = cp.Variable(2), cp.Variable(), cp.Variable(2), cp.Variable()
    box, loss = cp.Variable(2, bounds=[data.lower, data.upper]), cp.Variable()
    train, val = (data.X_train, data.y_train), (data.X_val, data.y_val)
    follower = Follower(
        cp.Minimize(hinge(val[0], -val[1], w, b)),
        [cp.abs(w) <= box, hinge(*train, w, b) <= 1.2 * loss],
        variables=[w, b],
    )
    outer = [cp.abs(copy) <= box, hinge(*train, copy, b_copy) <= loss]
    problem = BilevelProblem(cp.Minimize(hinge(*val, w, b)), outer, follower)
    # A loss larger than the copy's is that of another copy, up to the largest in the box.
    assert problem.solve() == pytest.approx(found.objective, abs=1e-5)


@pytest.fixture
def hard() -> BilevelProblem:
    """A problem with more than a dozen nodes."""
    data = tuning_problem(n=10, n_features=3, seed=1)
    w, b = cp.Variable(3), cp.Variable()
    box = cp.Variable(3, bounds=[data.lower, data.upper])
    training = hinge(data.X_train, data.y_train, w, b)
    follower = Follower(cp.Minimize(training), [w <= box, -box <= w], variables=[w, b])
    return BilevelProblem(cp.Minimize(hinge(data.X_val, data.y_val, w, b)), [], follower)


def has_decision_and_bound(problem: BilevelProblem) -> bool:
    """Whether a search that was cut short tells what it has, and claims no more."""
    assert problem.value is not None
    assert problem.bound is not None
    assert problem.certificate is not None
    return problem.certificate.ok and -np.inf < problem.bound < problem.value < np.inf


def test_a_node_limit_leaves_a_decision_and_a_bound(hard: BilevelProblem) -> None:
    hard.solve(node_limit=5)
    assert hard.status is BilevelStatus.NODE_LIMIT
    assert has_decision_and_bound(hard)


def test_a_time_limit_leaves_a_decision_and_a_bound(
    hard: BilevelProblem, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = hard.program()
    monkeypatch.setattr(hard, "program", lambda: program)
    LeapingClock(monkeypatch, still_looks=60)
    hard.solve(time_limit=100.0)
    assert hard.status is BilevelStatus.TIME_LIMIT
    assert has_decision_and_bound(hard)


def test_ctrl_c_leaves_a_decision_and_a_bound(
    hard: BilevelProblem, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs, end = [], NodeProgram.end

    def interrupted(self: NodeProgram, deadline: Deadline) -> End:
        runs.append(1)
        if len(runs) == 12:
            signal.raise_signal(signal.SIGINT)
        return end(self, deadline)

    monkeypatch.setattr(NodeProgram, "end", interrupted)
    hard.solve()
    assert hard.status is BilevelStatus.INTERRUPTED
    assert has_decision_and_bound(hard)


def test_an_answer_that_its_expressions_contradict_is_not_proved(
    hard: BilevelProblem, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = hard.program()
    wrong = replace(program, outer_cost=2.0 * program.outer_cost)
    monkeypatch.setattr(hard, "program", lambda: wrong)
    hard.solve()
    assert hard.status is BilevelStatus.NOT_PROVED


def test_an_answer_that_fails_its_certificate_is_not_proved(
    hard: BilevelProblem, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pessimal.bilevel.certificate.least_objective", lambda *_: -1.0)
    hard.solve()
    assert hard.status is BilevelStatus.NOT_PROVED
