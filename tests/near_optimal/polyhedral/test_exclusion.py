"""Worst cases by exclusion, sought and checked, against the mixed-integer program."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import pytest
from clocks import LeapingClock

from pessimal.limits import NEVER, Deadline
from pessimal.lp.codes import INFEASIBLE
from pessimal.near_optimal import worst_case
from pessimal.near_optimal.polyhedral import loss_search, mixed_integer, part
from pessimal.near_optimal.polyhedral.cases import WorstCases
from pessimal.near_optimal.polyhedral.exclusion import largest_hinge
from pessimal.near_optimal.polyhedral.linear_program import BoxModels
from pessimal.near_optimal.polyhedral.program import pulled_back
from pessimal.near_optimal.polyhedral.traced_models import TracedModels
from pessimal.problem import Budget, Matrix, TuningProblem, Vector
from pessimal.tolerances import CERTIFICATE


class Claim(NamedTuple):
    """A box of a problem, its training limit, a model of it, and the largest loss by HiGHS."""

    problem: TuningProblem
    box: Vector
    limit: float
    inner: Vector
    largest: float

    def checked(self, known: float, deadline: Deadline = NEVER) -> float:
        """Bound the loss of all models, of which one is said to lose `known`."""
        return largest_hinge(
            self.problem, self.box, self.limit, self.inner, lambda _: known, deadline
        )


def claim(problem: TuningProblem, budget: Budget) -> Claim:
    """Train in half of the largest box and find the worst case."""
    box = 0.5 * problem.upper
    models = BoxModels(problem, box)
    trained = models.least_loss()
    limit = problem.training_limit(budget, trained.value)
    models.limit_training(limit)
    largest = mixed_integer.largest_hinge(models, NEVER)
    return Claim(problem, box, limit, np.append(trained.w, trained.b), largest)


def overlapping(seed: int, n: int = 14) -> TuningProblem:
    """Two classes that overlap."""
    rng = np.random.default_rng(seed)
    y = np.tile([-1.0, 1.0], n)
    X = rng.normal(size=(2 * n, 4)) + 0.3 * y[:, None]
    return TuningProblem(X[:n], y[:n], X[n:], y[n:])


def repeated(seed: int) -> TuningProblem:
    """Points that occur several times."""
    problem = overlapping(seed)
    again = np.random.default_rng(seed).integers(2, 8, 6)
    rows = np.append(np.arange(8), again)
    return TuningProblem(
        problem.X_train[rows], problem.y_train[rows], problem.X_val[rows], problem.y_val[rows]
    )


def weighted(seed: int) -> TuningProblem:
    """Points of weights that differ, some of weight 0."""
    train, val = np.random.default_rng(seed).integers(0, 4, (2, 14)).astype(float)
    problem = overlapping(seed)
    data = problem.X_train, problem.y_train, problem.X_val, problem.y_val
    train[:2] = 0.1
    return TuningProblem(*data, train_weight=train, val_weight=val)


def of_integers(seed: int) -> TuningProblem:
    """Whole numbers, which make many ties."""
    problem = overlapping(seed)
    return replace_rows(problem, np.round(problem.X_train), np.round(problem.X_val))


def separable(seed: int) -> TuningProblem:
    """Training points that some models have on the right sides of all margins."""
    problem = overlapping(seed)
    X = problem.X_train.copy()
    X[:, 0] += 5.0 * problem.y_train
    return replace_rows(problem, X, problem.X_val)


def in_odd_units(seed: int) -> TuningProblem:
    """Columns of sizes far apart."""
    problem = overlapping(seed)
    unit = np.array([1e-4, 1.0, 30.0, 1e3])
    scaled = replace_rows(problem, unit * problem.X_train, unit * problem.X_val)
    return replace(scaled, upper=1.0 / unit)


def replace_rows(problem: TuningProblem, X_train: Vector, X_val: Vector) -> TuningProblem:
    return replace(problem, X_train=X_train, X_val=X_val)


@pytest.mark.parametrize("budget", [Budget(), Budget(0.1), Budget(0.0, 0.02), Budget(0.3, 0.1)])
@pytest.mark.parametrize(
    "kind", [overlapping, repeated, weighted, of_integers, separable, in_odd_units]
)
def test_only_the_truth_is_confirmed(kind: Callable[[int], TuningProblem], budget: Budget) -> None:
    true = claim(kind(1), budget)
    assert true.checked(true.largest) <= true.largest + CERTIFICATE
    for too_small in (0.0, 0.9 * true.largest, true.largest - 1e-5):
        assert true.checked(too_small) == pytest.approx(true.largest, abs=1e-6)


@pytest.mark.parametrize("kind", [overlapping, weighted, of_integers, in_odd_units])
def test_worse_models_that_are_met_count(kind: Callable[[int], TuningProblem]) -> None:
    true = claim(kind(2), Budget(0.2))
    found = [true.problem.val_loss(true.inner[:-1], float(true.inner[-1]))]

    def best(u: Vector | None) -> float:
        if u is not None:
            u = pulled_back(true.problem, u, true.inner, true.limit)
            found.append(true.problem.val_loss(u[:-1], float(u[-1])))
        return max(found)

    place = true.problem, true.box, true.limit, true.inner
    assert largest_hinge(*place, best, NEVER) == pytest.approx(true.largest, abs=1e-6)
    assert found[0] < max(found) <= true.largest + 1e-6


@pytest.mark.parametrize("time_limit", [None, 1e6])
@pytest.mark.parametrize("kind", [overlapping, repeated, weighted, separable])
def test_what_branching_on_points_leaves_open_is_excluded(
    kind: Callable[[int], TuningProblem],
    time_limit: float | None,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(loss_search, "FIRST_NODES", 1)
    monkeypatch.setattr(WorstCases, "run", lambda *_: None)
    true = claim(kind(3), Budget(0.2))
    worst = worst_case(true.problem, true.box, Budget(0.2), time_limit=time_limit)
    assert worst.value == pytest.approx(true.largest, abs=1e-6)
    assert worst.upper_bound == pytest.approx(true.largest, abs=1e-6)


def test_splits_may_be_many() -> None:
    rng = np.random.default_rng(3)
    y = np.tile([-1.0, 1.0], 40)
    X = rng.normal(size=(80, 6))
    problem = TuningProblem(X[:20], y[:20], X[20:], y[20:])
    true = claim(problem, Budget(0.1, 0.1))
    assert true.checked(true.largest) <= true.largest + CERTIFICATE


class Erring(TracedModels):
    """A solver whose multipliers, models and ends are wrong now and then."""

    rng = np.random.default_rng(0)

    def minimise(self, A: Matrix, row: int, sign: float) -> int:
        end = super().minimise(A, row, sign)
        return INFEASIBLE if self.rng.random() < 0.1 else end

    def write_multipliers(self, of_hinges: Vector, of_rows: Vector) -> None:
        super().write_multipliers(of_hinges, of_rows)
        for multipliers in (of_hinges, of_rows):
            if self.rng.random() < 0.5:
                multipliers[:] *= self.rng.choice([-1.0, 0.0, 0.9, 1.1, 2.0], len(multipliers))

    def blame(self) -> None:
        """Blame whatever ended last."""

    def model(self) -> Vector:
        error: Vector = self.rng.choice([0.0, 9.0]) * self.rng.normal(size=self.q)
        return super().model() + error


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_a_solver_that_errs_confirms_nothing_false(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    true = claim(overlapping(seed), Budget(0.1, 0.05))
    monkeypatch.setattr(part, "TracedModels", Erring)
    for too_small in (0.9 * true.largest, true.largest - 1e-5):
        assert true.checked(too_small) >= true.largest - 1e-6


def test_time_may_run_out_anywhere(monkeypatch: pytest.MonkeyPatch) -> None:
    true = claim(overlapping(3), Budget(0.3, 0.1))
    bounds = []
    for still_looks in (0, 1, 10, 30, 100, 300):
        with monkeypatch.context() as patch:
            LeapingClock(patch, still_looks)
            bounds.append(true.checked(0.9 * true.largest, Deadline(1.0)))
    assert min(bounds) >= true.largest - 1e-6
    assert bounds[0] > true.largest + 1e-3
