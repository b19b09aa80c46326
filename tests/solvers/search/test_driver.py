"""The search on the paper's data: certified optima, limits, callbacks, determinism, symmetries."""

from __future__ import annotations

import json
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

from pessimal import Budget, TuningProblem, TuningSolution, solve_optimistic, solve_pessimistic
from pessimal.datasets import load_cancer, load_diabetes, paper_split
from pessimal.limits import Progress
from pessimal.problem import Mask
from pessimal.solution import Status

LOADERS = {"cancer": load_cancer, "diabetes": load_diabetes}


class Case(NamedTuple):
    """An instance of the paper, a view of it, and the optimum two other solvers certified."""

    data: str
    n_train: int
    n_val: int
    seed: int
    view: str
    epsilon: float
    objective: float

    def __str__(self) -> str:
        return (
            f"{self.data} {self.n_train}/{self.n_val} seed {self.seed} {self.view} {self.epsilon}"
        )

    @property
    def problem(self) -> TuningProblem:
        return drawn(self.data, self.n_train, self.n_val, self.seed)


@cache
def drawn(data: str, n_train: int, n_val: int, seed: int) -> TuningProblem:
    split = paper_split(LOADERS[data](), n_train, n_val, seed)
    return TuningProblem(split.X_train, split.y_train, split.X_val, split.y_val)


REFERENCE = [
    Case(*row) for row in json.loads((Path(__file__).parent / "reference.json").read_text())["rows"]
]

# Proved like the others, but in seconds where the others take milliseconds.
SLOW = {
    ("cancer", 15, 20, 0),
    ("cancer", 20, 10, 0),
    ("cancer", 20, 15, 0),
    ("cancer", 20, 15, 1),
    ("diabetes", 20, 10, 1),
    ("diabetes", 20, 15, 1),
    ("diabetes", 20, 20, 1),
}

# One slow case, to be stopped half way.
HARD = next(case for case in REFERENCE if case[:6] == ("diabetes", 20, 10, 1, "pessimistic", 0.2))

# Cases with a tree of some size, for each kind of search.
BRANCHING = [
    case
    for case in REFERENCE
    if case[:6]
    in (
        ("diabetes", 20, 20, 1, "optimistic", 0.0),
        ("diabetes", 20, 20, 1, "pessimistic", 0.0),
        ("diabetes", 15, 5, 0, "pessimistic", 0.2),
    )
]


def solve(
    case: Case,
    *,
    time_limit: float | None = None,
    node_limit: int | None = None,
    callback: Recorder | None = None,
    seed: int = 0,
) -> TuningSolution:
    if case.view == "optimistic":
        return solve_optimistic(
            case.problem,
            time_limit=time_limit,
            node_limit=node_limit,
            callback=callback,
            seed=seed,
        )
    return solve_pessimistic(
        case.problem,
        Budget(case.epsilon),
        time_limit=time_limit,
        node_limit=node_limit,
        callback=callback,
        seed=seed,
    )


class Recorder:
    """A callback that remembers what it was told and interrupts at the call numbered `stop_at`."""

    def __init__(self, stop_at: int | None = None) -> None:
        self.stop_at = stop_at
        self.told: list[Progress] = []

    def __call__(self, progress: Progress) -> None:
        self.told.append(progress)
        if len(self.told) == self.stop_at:
            raise KeyboardInterrupt


def assert_same(first: TuningSolution, second: TuningSolution) -> None:
    assert first.nodes == second.nodes
    assert first.objective == second.objective
    assert first.lower_bound == second.lower_bound
    assert first.intercept == second.intercept
    assert np.array_equal(first.coef, second.coef)
    assert np.array_equal(first.box, second.box)


class TestCertifiedOptima:
    @pytest.mark.parametrize(
        "case",
        [case for case in REFERENCE if case.epsilon == 0.0 or case[:4] not in SLOW],
        ids=str,
    )
    def test_the_certified_optimum_is_proved(self, case: Case) -> None:
        solution = solve(case)
        assert solution.objective == pytest.approx(case.objective, abs=1e-7)
        assert solution.lower_bound <= case.objective + 1e-9
        assert solution.proved
        assert solution.notes == ()

    def test_the_cases_that_branch_do(self) -> None:
        assert len(BRANCHING) == 3
        assert all(solve(case).nodes > 10 for case in BRANCHING)


class TestLimits:
    """A search that is stopped returns a certified model and a bound that holds."""

    def assert_stopped(self, solution: TuningSolution, status: Status) -> None:
        assert solution.status is status
        assert not solution.proved
        assert solution.certificate.ok
        assert solution.lower_bound <= HARD.objective + 1e-9
        assert solution.objective >= HARD.objective - 1e-7
        assert solution.gap > 1e-3

    def test_time(self) -> None:
        self.assert_stopped(solve(HARD, time_limit=1e-9), Status.TIME_LIMIT)

    @pytest.mark.parametrize("node_limit", [1, 5, 150])
    def test_nodes(self, node_limit: int) -> None:
        solution = solve(HARD, node_limit=node_limit)
        self.assert_stopped(solution, Status.NODE_LIMIT)
        assert solution.nodes == node_limit
        assert_same(solution, solve(HARD, node_limit=node_limit))

    @pytest.mark.parametrize("stop_at", [1, 60])
    def test_interrupt(self, stop_at: int) -> None:
        recorder = Recorder(stop_at)
        solution = solve(HARD, callback=recorder)
        self.assert_stopped(solution, Status.INTERRUPTED)
        last = recorder.told[-1]
        assert len(recorder.told) == stop_at
        assert solution.objective == pytest.approx(last.incumbent, abs=1e-9)
        assert (solution.lower_bound, solution.nodes) == (last.bound, last.nodes)

    def test_limits_out_of_reach_change_nothing(self) -> None:
        case = BRANCHING[-1]
        solution = solve(case, time_limit=1e6, node_limit=10**6)
        assert solution.proved
        assert_same(solution, solve(case))


class TestCallback:
    @pytest.mark.parametrize("case", [*BRANCHING, HARD], ids=str)
    def test_progress_frames_the_optimum(self, case: Case) -> None:
        recorder = Recorder()
        solution = solve(case, callback=recorder, node_limit=2000)
        told = recorder.told
        assert len(told) > 3
        for earlier, later in pairwise(told):
            assert later.incumbent <= earlier.incumbent
            assert later.nodes >= earlier.nodes
            assert later.seconds >= earlier.seconds
        for progress in told:
            assert 0.0 <= progress.bound <= progress.incumbent
            assert progress.bound <= case.objective + 1e-9
            assert progress.incumbent >= case.objective - 1e-7
        assert told[-1].nodes == solution.nodes
        assert told[-1].incumbent == pytest.approx(solution.objective, abs=1e-9)

    def test_an_error_in_the_callback_reaches_the_caller(self) -> None:
        def fail(progress: Progress) -> None:
            raise ZeroDivisionError(progress.nodes)

        with pytest.raises(ZeroDivisionError):
            solve_optimistic(BRANCHING[0].problem, callback=fail)


class TestDeterminism:
    @pytest.mark.parametrize("case", BRANCHING, ids=str)
    def test_two_runs_are_identical_whoever_watches(self, case: Case) -> None:
        first = solve(case)
        assert_same(first, solve(case))
        assert_same(first, solve(case, callback=Recorder()))
        assert_same(first, solve(case, time_limit=1e6))

    @pytest.mark.parametrize("case", BRANCHING, ids=str)
    def test_the_seed_does_not_matter_to_the_optimum(self, case: Case) -> None:
        for seed in range(1, 5):
            solution = solve(case, seed=seed)
            assert solution.proved
            assert solution.objective == pytest.approx(case.objective, abs=1e-7)


@cache
def overlapping(number: int) -> TuningProblem:
    """Two classes that overlap: eight training and eight validation points, four features."""
    rng = np.random.default_rng(number)
    y = np.tile([-1.0, 1.0], 8)
    X = 0.4 * y[:, None] + rng.normal(size=(16, 4))
    if number % 2:
        X = np.round(2.0 * X) / 2.0  # ties
    return TuningProblem(X[:8], y[:8], X[8:], y[8:])


BUDGETS = [None, Budget(), Budget(epsilon=0.2), Budget(epsilon=0.2, delta=0.1)]


def optimum(problem: TuningProblem, budget: Budget | None, flipped: Mask) -> float:
    """Proved optimum of the pessimistic view, or of the optimistic one for no budget."""
    if budget is None:
        solution = solve_optimistic(problem)
    else:
        solution = solve_pessimistic(problem, budget, flip=flipped)
    assert solution.proved
    return solution.objective


@pytest.mark.parametrize("number", range(4))
@pytest.mark.parametrize("budget", BUDGETS, ids=["optimistic", "ε=0", "ε=0.2", "ε=0.2 δ=0.1"])
class TestSymmetries:
    """Changes of the data that leave the optimum where it is."""

    flipped = np.array([True, True, False, True, True, True, False, True])

    def assert_unchanged(
        self,
        number: int,
        budget: Budget | None,
        changed: TuningProblem,
        flipped: Mask | None = None,
    ) -> None:
        before = optimum(overlapping(number), budget, self.flipped)
        after = optimum(changed, budget, self.flipped if flipped is None else flipped)
        assert after == pytest.approx(before, abs=2e-7)

    def test_order_of_rows(self, number: int, budget: Budget | None) -> None:
        problem, rng = overlapping(number), np.random.default_rng(number)
        train, val = rng.permutation(8), rng.permutation(8)
        changed = TuningProblem(
            problem.X_train[train], problem.y_train[train], problem.X_val[val], problem.y_val[val]
        )
        self.assert_unchanged(number, budget, changed, self.flipped[val])

    def test_order_and_sign_of_features(self, number: int, budget: Budget | None) -> None:
        problem, rng = overlapping(number), np.random.default_rng(number)
        columns, sign = rng.permutation(4), rng.choice((-1.0, 1.0), 4)
        changed = TuningProblem(
            problem.X_train[:, columns] * sign,
            problem.y_train,
            problem.X_val[:, columns] * sign,
            problem.y_val,
        )
        self.assert_unchanged(number, budget, changed)

    def test_names_of_the_classes(self, number: int, budget: Budget | None) -> None:
        problem = overlapping(number)
        changed = TuningProblem(problem.X_train, -problem.y_train, problem.X_val, -problem.y_val)
        self.assert_unchanged(number, budget, changed)

    def test_origin_and_unit_of_features(self, number: int, budget: Budget | None) -> None:
        problem = overlapping(number)
        unit = np.array([0.5, 1.0, 2.0, 4.0])
        changed = TuningProblem(
            problem.X_train / unit + 1.0,
            problem.y_train,
            problem.X_val / unit + 1.0,
            problem.y_val,
            upper=unit,
        )
        self.assert_unchanged(number, budget, changed)

    def test_whole_weights_are_repeated_rows(self, number: int, budget: Budget | None) -> None:
        problem, rng = overlapping(number), np.random.default_rng(number)
        train, val = rng.integers(1, 3, 8), rng.integers(0, 3, 8)
        val[2] = 1
        weighted = TuningProblem(
            problem.X_train,
            problem.y_train,
            problem.X_val,
            problem.y_val,
            train_weight=train,
            val_weight=val,
        )
        repeated = TuningProblem(
            np.repeat(problem.X_train, train, axis=0),
            np.repeat(problem.y_train, train),
            np.repeat(problem.X_val, val, axis=0),
            np.repeat(problem.y_val, val),
        )
        by_weight = optimum(weighted, budget, self.flipped)
        by_rows = optimum(repeated, budget, np.repeat(self.flipped, val))
        assert by_weight == pytest.approx(by_rows, abs=2e-7)
