"""Every solver proves the certified optima of small draws of the paper's two data sets."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from milp import solve_milp

from pessimal.bilevel import SOLVERS
from pessimal.bilevel.backends import Effort, find_backend
from pessimal.bilevel.paper import pessimistic_program
from pessimal.certificate import certify
from pessimal.problem import Budget, TuningProblem
from pessimal.solvers.base import Result, Status

HERE = Path(__file__).parent
REFERENCE = json.loads((HERE / "reference.json").read_text())
TRAPS = json.loads((HERE / "traps.json").read_text())
MODULES = {"highs": "highspy", "scip": "pyscipopt", "gurobi": "gurobipy", "cplex": "cplex"}


def require(solver: str) -> None:
    if importlib.util.find_spec(MODULES[solver]) is None:
        pytest.skip(f"{MODULES[solver]} is not installed")


def name_of(case: dict[str, Any]) -> str:
    return " ".join(str(case[key]) for key in ("instance", "view", "epsilon", "cap") if key in case)


def assert_proved(
    problem: TuningProblem, budget: Budget, flipped: Any, outcome: Result, objective: float
) -> None:
    found = problem.val_loss(outcome.w, outcome.b)
    assert found == pytest.approx(objective, abs=1e-6)
    assert outcome.lower_bound == pytest.approx(objective, abs=1e-6)
    assert outcome.status is Status.OPTIMAL
    assert certify(problem, budget, flipped, outcome.box, outcome.w, outcome.b, found).ok


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("case", REFERENCE["cases"], ids=name_of)
def test_the_certified_optimum_is_proved(case: dict[str, Any], solver: str) -> None:
    require(solver)
    problem = TuningProblem(**REFERENCE["instances"][case["instance"]])
    if case["view"] == "optimistic":
        outcome = solve_milp(problem, solver=solver)
        assert_proved(problem, Budget(), None, outcome, case["objective"])
    else:
        budget, flipped = Budget(case["epsilon"]), np.ones(problem.n_val, dtype=np.bool_)
        outcome = solve_milp(problem, budget, flipped, solver)
        assert_proved(problem, budget, flipped, outcome, case["objective"])


def plain_objective(problem: TuningProblem, cap: float, solver: str) -> float:
    """Solve the capped program alone, as the paper does, and take the solver at its word."""
    program = pessimistic_program(
        problem, Budget(), np.ones(problem.n_val, dtype=np.bool_), (1.0, 1.0), (0.0, cap)
    ).program
    result = find_backend(solver).solve(program, Effort(float("inf")))
    assert result.status is Status.OPTIMAL
    assert result.x is not None
    return float(program.cost @ result.x)


@pytest.mark.parametrize("case", TRAPS["cases"], ids=name_of)
def test_a_multiplier_beyond_the_cap_is_found(case: dict[str, Any]) -> None:
    # The larger draws take HiGHS a minute, CPLEX a second.
    solver = "highs" if case["cap"] < 100.0 else "cplex"
    require(solver)
    problem = TuningProblem(**TRAPS["instances"][case["instance"]])
    plain = plain_objective(problem, case["cap"], solver)
    assert plain == pytest.approx(case["capped_objective"], abs=1e-6)
    assert plain > case["objective"] + 1e-4

    flipped = np.ones(problem.n_val, dtype=np.bool_)
    outcome = solve_milp(problem, Budget(), flipped, solver, multiplier_cap=case["cap"])
    assert_proved(problem, Budget(), flipped, outcome, case["objective"])
    assert any(f"{case['cap']:g}" in note for note in outcome.notes)


def test_what_leaks_through_a_huge_big_m_is_cut_off() -> None:
    case = TRAPS["cases"][0]
    problem = TuningProblem(**TRAPS["instances"][case["instance"]])
    assert plain_objective(problem, 1e7, "highs") < case["objective"] - 0.05

    flipped = np.ones(problem.n_val, dtype=np.bool_)
    outcome = solve_milp(problem, Budget(), flipped, multiplier_cap=1e7)
    assert_proved(problem, Budget(), flipped, outcome, case["objective"])
