"""The units of a column do not matter to what the mixed-integer programs prove."""

from __future__ import annotations

import importlib.util

import numpy as np
import pytest
from milp import solve_milp

from pessimal.bilevel import SOLVERS
from pessimal.datasets import load_diabetes, paper_split
from pessimal.problem import Budget, TuningProblem
from pessimal.solvers.base import Result, Status

MODULES = {"highs": "highspy", "scip": "pyscipopt", "gurobi": "gurobipy", "cplex": "cplex"}
SPLIT = paper_split(load_diabetes(), 5, 5, 1)


def rescaled(factor: float) -> TuningProblem:
    """Take a column in other units, its limit with it."""
    unit = np.ones(SPLIT.X_train.shape[1])
    unit[2] = factor
    return TuningProblem(
        SPLIT.X_train * unit, SPLIT.y_train, SPLIT.X_val * unit, SPLIT.y_val, upper=1.0 / unit
    )


def assert_proved(problem: TuningProblem, outcome: Result, optimum: float) -> None:
    assert outcome.status is Status.OPTIMAL
    assert problem.val_loss(outcome.w, outcome.b) == pytest.approx(optimum, abs=2e-6)
    assert outcome.lower_bound == pytest.approx(optimum, abs=2e-6)
    assert (outcome.box <= problem.upper).all()


@pytest.mark.parametrize("factor", [1e-10, 1e-6, 1e5, 1e10])
@pytest.mark.parametrize("solver", SOLVERS)
def test_the_optimistic_optimum_is_the_same_in_other_units(solver: str, factor: float) -> None:
    if importlib.util.find_spec(MODULES[solver]) is None:
        pytest.skip(f"{MODULES[solver]} is not installed")
    problem = rescaled(factor)
    # Here and below: optima certified by two solvers, in units of order one.
    assert_proved(problem, solve_milp(problem, solver=solver), 0.069099192)


@pytest.mark.parametrize("factor", [1e-10])
def test_the_pessimistic_optimum_is_the_same_in_other_units(factor: float) -> None:
    problem, flipped = rescaled(factor), np.ones(5, dtype=np.bool_)
    assert_proved(problem, solve_milp(problem, Budget(0.2), flipped), 0.340606033)


def test_a_column_a_million_times_too_large_for_its_limit_misleads_nobody() -> None:
    """Its limit allows scores of ten million, and the big Ms with them."""
    split = paper_split(load_diabetes(), 10, 10, 0)
    unit = np.ones(split.X_train.shape[1])
    unit[2] = 1e7
    problem = TuningProblem(split.X_train * unit, split.y_train, split.X_val * unit, split.y_val)
    outcome = solve_milp(problem, time_limit=20.0)
    # A model that SCIP and the search found, feasible to the certificate.
    assert outcome.lower_bound <= 0.520245 + 2e-6
