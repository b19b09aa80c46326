"""A solver is one class and one registration; what is common to all is in the base."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from pessimal import Budget, TuningProblem, solve_optimistic, solve_pessimistic
from pessimal.errors import InvalidInputError
from pessimal.limits import Limits
from pessimal.near_optimal import least_loss
from pessimal.solvers import base
from pessimal.solvers.base import BaseSolver, Result, Status, Task, find_solver

PROBLEM = TuningProblem([[-2.0], [0.0], [1.0]], [-1, -1, 1], [[0.5], [2.0]], [-1, 1])


@pytest.fixture
def toy(monkeypatch: pytest.MonkeyPatch) -> type[BaseSolver]:
    """A solver that trains in the widest box and is content; forgotten after the test."""
    monkeypatch.setattr(base, "_SOLVERS", dict(base._SOLVERS))

    @base.register_solver
    class Toy(BaseSolver):
        name = "toy"
        kinds = ("optimistic",)

        def _solve(self, task: Task, limits: Limits) -> Result:
            trained = least_loss(task.problem, task.problem.upper)
            return Result(trained.w, trained.b, task.problem.upper, 0.0, Status.OPTIMAL, 1)

    return Toy


@pytest.mark.usefixtures("toy")
def test_a_registered_solver_is_found_by_its_name() -> None:
    solution = solve_optimistic(PROBLEM, method="toy")
    assert solution.method == "toy"
    assert solution.certificate.ok
    assert solution.lower_bound == 0.0
    # It does not have the bound that the search has: 0.25, by hand the least loss of any box.
    assert solution.proved == (solution.objective <= 1e-6)
    assert solve_optimistic(PROBLEM).objective == pytest.approx(0.25, abs=1e-9)


@pytest.mark.usefixtures("toy")
def test_a_solver_is_refused_what_it_does_not_solve() -> None:
    with pytest.raises(InvalidInputError, match=r"method is 'toy'; pass one of 'search', 'milp'$"):
        solve_pessimistic(PROBLEM, method="toy")
    with pytest.raises(InvalidInputError, match=r"pass one of 'search', 'milp', 'toy'$"):
        solve_optimistic(PROBLEM, method="worst case")
    task = Task(PROBLEM, Budget(), np.array([True, True]))
    with pytest.raises(InvalidInputError, match="'toy', which solves no pessimistic problem"):
        find_solver("toy", "optimistic")().solve(task, Limits())
    with pytest.raises(InvalidInputError, match="solver is 'scip' but method is 'toy'"):
        solve_optimistic(PROBLEM, method="toy", solver="scip")


def test_weights_too_far_apart_leave_nothing_proved(toy: type[BaseSolver]) -> None:
    weight = [1.0, 1.0, 1e-8]
    spread = TuningProblem([[-2.0], [0.0], [1.0]], [-1, -1, 1], [[0.5]], [-1], train_weight=weight)
    result = toy().solve(Task(spread), Limits())
    assert (result.status, result.lower_bound) == (Status.NOT_PROVED, 0.0)
    assert "too much for a proof" in result.notes[-1]
    assert toy().solve(Task(PROBLEM), Limits()).status is Status.OPTIMAL


def test_importing_the_entry_points_loads_no_solver() -> None:
    code = (
        "import sys, pessimal.solve, pessimal.estimators\n"
        "heavy = {'cvxpy', 'pessimal.bilevel', 'pessimal.solvers.minimax.driver'}\n"
        "assert not heavy & set(sys.modules), heavy & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_solving_and_worst_cases_load_neither_scikit_learn_nor_what_it_brings() -> None:
    code = (
        "import sys\n"
        "from pessimal import TuningProblem, solve_optimistic, solve_pessimistic, worst_case\n"
        "problem = TuningProblem([[-1.0], [1.0]], [-1, 1], [[0.5], [2.0]], [-1, 1])\n"
        "worst_case(problem, 1.0), solve_optimistic(problem), solve_pessimistic(problem)\n"
        "heavy = {'sklearn', 'pandas', 'scipy.stats', 'scipy.special', 'scipy.optimize'}\n"
        "assert not heavy & set(sys.modules), heavy & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
