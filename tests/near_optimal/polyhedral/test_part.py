"""Parts of the near-optimal set against `scipy.optimize.linprog`, with a variable per hinge."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import linprog

from pessimal.lp.watch import Watch
from pessimal.near_optimal.polyhedral.linear_program import least_loss
from pessimal.near_optimal.polyhedral.part import ROOM, NearOptimal, Part, WarmPrograms
from pessimal.problem import TuningProblem, Vector, margin_rows

ROUNDS = 100


class Case:
    """Near-optimal models of 20 points, programs over parts of them, and random directions."""

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)
        y = np.tile([-1.0, 1.0], 10)
        X = self.rng.normal(size=(20, 3)) + 0.3 * y[:, None]
        weight = self.rng.integers(0, 4, 20) + 0.5 * (np.arange(20) < 2)
        self.problem = TuningProblem(X, y, X, y, train_weight=weight)
        trained = least_loss(self.problem, 1.0)
        self.inner = np.append(trained.w, trained.b)
        self.limit = 1.1 * trained.value
        self.set = NearOptimal(self.problem, self.problem.upper, self.limit)
        self.whole = Part(self.set, np.zeros((0, 4)), np.zeros(0))
        self.programs = WarmPrograms(self.problem, self.set, self.inner, Watch())

    def part(self, n_rows: int) -> Part:
        """Cut the set by half-spaces that hold the trained model."""
        part = self.whole
        for row in self.rng.normal(size=(n_rows, 4)):
            part = part.cut(row, float(row @ self.inner) + 0.01)
        return part

    def least(self, part: Part, cost: Vector) -> Vector | None:
        """Return the model of least cost by another program."""
        problem, n = self.problem, self.problem.n_train
        margins = margin_rows(problem.X_train, problem.y_train)
        rows = [
            np.column_stack([-margins, -np.eye(n)]),
            np.append(np.zeros(4), problem.train_weight)[None, :],
            np.column_stack([part.rows, np.zeros((len(part.rows), n))]),
        ]
        found = linprog(
            np.append(cost, np.zeros(n)),
            A_ub=np.vstack(rows),
            b_ub=np.concatenate([-np.ones(n), [self.limit], part.at_most]),
            bounds=[(-1.0, 1.0)] * 3 + [(None, None)] + [(0.0, None)] * n,
        )
        return found.x[:4] if found.status == 0 else None


@pytest.mark.parametrize("n_rows", [0, 3, ROOM + 1, 3 * ROOM])
def test_the_bound_is_the_least_of_all_models(n_rows: int) -> None:
    case = Case(n_rows)
    for part in (case.whole, case.part(n_rows)):
        for place, cost in enumerate(case.rng.normal(size=(5, 4))):
            expected = case.least(part, cost)
            assert expected is not None
            u, bound = case.programs.least(part, cost, place % 2, ROUNDS)
            assert u is not None
            assert cost @ u == pytest.approx(cost @ expected, abs=1e-7)
            assert bound == pytest.approx(cost @ expected, abs=1e-7)
            assert bound <= cost @ expected + 1e-9


def test_whatever_the_multipliers_no_model_is_below_the_bound() -> None:
    case = Case(1)
    part, n = case.part(3), len(case.set.weight)
    for trial in range(200):
        of_hinges = case.set.weight * case.rng.random(n) ** 9
        of_hinges *= case.rng.choice([-1.0, 0.0, 1.0], n, p=[0.1, 0.85, 0.05])
        of_rows = case.rng.choice([-1.0, 0.0, 1.0], 3)
        # Those that leave nothing of a function make the largest claims.
        rest = case.rng.normal(size=4) * (trial % 2)
        cost = of_hinges @ case.set.rows - of_rows @ part.rows + rest
        u = case.least(part, cost)
        assert u is not None
        assert part.bound(cost, of_hinges, of_rows) <= cost @ u + 1e-9


def test_an_empty_part_is_known_for_one() -> None:
    case = Case(2)
    row = case.rng.normal(size=4)
    least = case.least(case.whole, row)
    assert least is not None
    for short_of in (1.0, 1e-6):
        empty = case.whole.cut(row, float(row @ least) - short_of)
        assert case.programs.least(empty, case.rng.normal(size=4), 0, ROUNDS) == (None, np.inf)


def test_a_bound_holds_however_few_cuts_were_made() -> None:
    case = Case(4)
    cost = case.rng.normal(size=4)
    expected = case.least(case.whole, cost)
    assert expected is not None
    bounds = [case.programs.least(case.whole, cost, 0, rounds)[1] for rounds in (1, 1, 1, ROUNDS)]
    assert bounds == sorted(bounds)
    assert bounds[0] < bounds[-1] == pytest.approx(cost @ expected, abs=1e-7)
