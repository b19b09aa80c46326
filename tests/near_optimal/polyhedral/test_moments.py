"""Bounds from moments against enumeration, the search on points and sampled models."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import clarabel
import numpy as np
import pytest
from clocks import LeapingClock
from oracles import brute_force_worst_case

from pessimal.limits import NEVER, Deadline
from pessimal.losses import HINGE, OneBreakpoint, ZeroOne
from pessimal.near_optimal.polyhedral.box_set import BoxSet
from pessimal.near_optimal.polyhedral.cells import Cells, Coordinates
from pessimal.near_optimal.polyhedral.directions import DirectionSearch
from pessimal.near_optimal.polyhedral.moments import MomentProgram
from pessimal.near_optimal.polyhedral.parabolas import Parabolas, Points
from pessimal.problem import Budget, TuningProblem, Vector


def random_problem(seed: int, n_train: int, n_val: int, p: int) -> TuningProblem:
    """Two classes that overlap."""
    rng = np.random.default_rng(seed)
    y = np.where(np.arange(n_train + n_val) % 2 == 0, -1.0, 1.0)
    X = rng.normal(size=(len(y), p)) + 0.3 * y[:, None]
    return TuningProblem(X[:n_train], y[:n_train], X[n_train:], y[n_train:], upper=1.0)


def searched(
    problem: TuningProblem, budget: Budget, loss: OneBreakpoint
) -> tuple[DirectionSearch, Cells, BoxSet]:
    """Return a search, with the cells it cuts a set into."""
    members = BoxSet(problem, problem.upper, budget)
    ranges = members._ranges
    ranges.find_loosely(problem.X_val, NEVER)
    ranges.find_loosely(problem.X_train, NEVER)
    coordinates = Coordinates.of(np.array(ranges.members), ranges, NEVER)
    assert coordinates is not None
    cells = Cells(coordinates, ranges)
    search = DirectionSearch(problem, members.box, members.training_limit, loss, cells)
    return search, cells, members


@pytest.mark.parametrize("budget", [Budget(epsilon=0.1), Budget(delta=0.1), Budget(1.0, 0.1)])
@pytest.mark.parametrize("seed", range(4))
def test_branching_on_directions_ends_at_the_worst_case_of_enumeration(
    seed: int, budget: Budget
) -> None:
    problem = random_problem(seed, 8, 6, 2)
    worst = brute_force_worst_case(problem, problem.upper, budget)
    search, _, _ = searched(problem, budget, HINGE)
    bound = search.bound(lambda _: worst, 0.01, NEVER)
    assert worst - 1e-6 <= bound <= worst + 0.011


@pytest.mark.parametrize("loss", [HINGE, ZeroOne()])
@pytest.mark.parametrize("seed", range(3))
def test_moments_bound_less_than_chords_and_more_than_any_member(
    seed: int, loss: OneBreakpoint
) -> None:
    problem = random_problem(seed, 60, 60, 8)
    search, _, members = searched(problem, Budget(epsilon=0.05), loss)
    by_chords = members.worst_on(problem, loss, NEVER, 1)
    bound = search.bound(lambda _: 0.0, np.inf, NEVER)  # the root is closed at once
    whole_point = 1.0 / problem.n_val if loss.counts else 0.0  # counts are rounded down
    assert by_chords.value < bound < by_chords.upper_bound + whole_point


@pytest.mark.parametrize("seed", range(3))
def test_multipliers_of_a_solve_that_was_stopped_bound_every_model(
    monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    problem, budget = random_problem(seed, 8, 6, 2), Budget(epsilon=0.1)
    worst = brute_force_worst_case(problem, problem.upper, budget)
    search, cells, _ = searched(problem, budget, HINGE)
    solved = search.bound_in(cells.root, NEVER).bound
    bounds = []
    for still_looks in range(40):
        with monkeypatch.context() as patch:
            LeapingClock(patch, still_looks)
            bounds.append(search.bound_in(cells.root, Deadline(1.0)).bound)
    assert min(bounds) >= worst - 1e-6
    assert bounds[0] > solved + 0.1
    assert bounds[-1] == solved
    assert sum(bound < solved + 0.01 for bound in bounds[:-1]) > bounds.count(solved)


def test_a_cell_outside_the_set_is_known_to_be_empty() -> None:
    problem = random_problem(0, 20, 10, 3)
    search, cells, _ = searched(problem, Budget(epsilon=0.1), HINGE)
    point = problem.X_val[0]
    highest = cells.known(cells.root, point[None, :])[1][0]
    outside = cells.root.split(point, highest + 0.1)[1]
    assert search.bound_in(outside, NEVER).bound == -np.inf


def test_a_sum_of_parabolas_is_nowhere_larger_than_said() -> None:
    rng = np.random.default_rng(0)
    for _ in range(50):
        points = Points(rng.normal(size=(6, 3)), *rng.normal(size=(4, 6)))
        constant, slope, curvature = rng.normal(size=(3, 6))
        reach = rng.uniform(0.5, 2.0, 3)
        most = Parabolas(points, constant, slope, curvature).most(reach, rng.normal(size=3))
        v = rng.uniform(-reach, reach, (500, 3))
        t = points.offset - v @ points.rows.T
        assert (constant + slope * t + curvature * t**2).sum(axis=1).max() <= most


@pytest.mark.parametrize("size", [1e300, 1e306, 1e308])
def test_parabolas_too_large_for_arithmetic_bound_nothing(size: float) -> None:
    rng = np.random.default_rng(0)
    points = Points(rng.normal(size=(6, 3)), *rng.normal(size=(4, 6)))
    steep = Parabolas(points, *(size * rng.uniform(0.5, 1.0, size=(3, 6))))
    assert steep.most(np.full(3, 1e3), np.array([1e6, -1e6, 1e6])) == np.inf
    assert not steep.is_negative(np.full(3, 1e3))


@pytest.mark.parametrize("loss", [HINGE, ZeroOne()])
def test_units_of_features_do_not_spoil_the_bound(loss: OneBreakpoint) -> None:
    usual = random_problem(0, 60, 60, 4)
    units = np.array([1e-6, 1.0, 1e6, 1e3])
    other = replace(
        usual,
        X_train=usual.X_train * units,
        X_val=usual.X_val * units,
        lower=usual.lower / units,
        upper=usual.upper / units,
    )
    bounds = []
    for problem in (usual, other):
        search, _, _ = searched(problem, Budget(epsilon=0.1), loss)
        bounds.append(search.bound(lambda _: 0.0, np.inf, NEVER))  # of the root
    assert bounds[1] == pytest.approx(bounds[0], rel=0.02)


class PanicException(BaseException):
    """What a panic of a solver written in Rust is in Python, by name and base."""


class Panicking:
    """A solver that finds no eigenvalues."""

    def __init__(self, *_: object) -> None:
        pass

    def set_termination_callback(self, _: object) -> None:
        pass

    def solve(self) -> SimpleNamespace:
        raise PanicException("Eigval error")


class Lost(Panicking):
    """A solver whose point has left all bounds."""

    def __init__(self, _: object, cost: Vector, __: object, b: Vector, *___: object) -> None:
        self.x, self.z = np.full(len(cost), 1e155), np.zeros(len(b))

    def solve(self) -> SimpleNamespace:
        return SimpleNamespace(x=self.x, z=self.z, status="InsufficientProgress")


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("solver", [Panicking, Lost])
def test_a_solver_that_breaks_down_proves_nothing(
    solver: type, monkeypatch: pytest.MonkeyPatch
) -> None:
    problem = random_problem(0, 20, 10, 3)
    search, _, _ = searched(problem, Budget(epsilon=0.1), HINGE)
    monkeypatch.setattr(clarabel, "DefaultSolver", solver)
    assert search.bound(lambda _: 0.0, 0.01, NEVER) == np.inf


def test_where_there_is_no_model_the_solver_does_not_go_on_until_numbers_overflow(
    capfd: pytest.CaptureFixture[str],
) -> None:
    # Ranges of almost no width that contradict one another: multipliers grew until there was a
    # panic, which Clarabel tells on standard error, and nothing was known.
    judged = Points(
        np.array([[0.9805, -0.0279, -0.2063]]), *np.array([[-0.235, 1.028, 1.0282, 1]]).T
    )
    rows = np.array([[-1.5459, 0.7495, 0.3108], [-0.084, -0.0312, -0.3673], [0, -1, 0], [0, 0, -1]])
    offset = np.array([0.6379, -9.8786, 0.0, 0.0])
    low, high = (
        np.array([-1.4553, -10.0, 0.1428, -0.0471]),
        np.array([-1.4549, -10.0, 0.1428, -0.047]),
    )
    others = Points(rows, offset, low, high, np.zeros(4))
    program = MomentProgram(judged, judged[:0], others, False, 0.4451, np.array([1.3, 0.2, 0.1]))
    assert program.solve(NEVER).bound == -np.inf
    assert capfd.readouterr().err == ""
