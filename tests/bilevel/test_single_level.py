"""Bilevel programs of the literature, by their KKT conditions, on every solver."""

from __future__ import annotations

import importlib.util

import numpy as np
import pytest

from pessimal.bilevel import SOLVERS
from pessimal.bilevel.backends import Effort, find_backend
from pessimal.bilevel.kkt import Affine, InnerProgram
from pessimal.bilevel.single_level import BigM, single_level
from pessimal.solvers.base import Status

MODULES = {"highs": "highspy", "scip": "pyscipopt", "gurobi": "gurobipy", "cplex": "cplex"}


@pytest.mark.parametrize("solver", SOLVERS)
def test_the_example_of_bard_has_its_published_optimum(solver: str) -> None:
    """Bard (1998), Practical Bilevel Optimization: min x − 4y over y in argmin y, at (4, 4)."""
    if importlib.util.find_spec(MODULES[solver]) is None:
        pytest.skip(f"{MODULES[solver]} is not installed")
    rows = Affine(
        {
            "x": np.array([[1.0], [2.0], [-2.0], [-3.0]]),
            "y": np.array([[1.0], [-1.0], [-1.0], [2.0]]),
        },
        np.array([-3.0, 0.0, 12.0, 4.0]),
    )
    # A vertex of the dual, π₁ − π₂ − π₃ + 2π₄ + r = 1, has no entry above 1; x ≤ 6 and y ≤ 12.
    dual, slack = "vertices of the dual", "0 ≤ x ≤ 6, 0 ≤ y ≤ 12"
    bilevel = single_level(
        cost={"x": np.array([1.0]), "y": np.array([-4.0])},
        limits={"x": (np.zeros(1), np.full(1, 6.0)), "y": (np.zeros(1), np.full(1, 12.0))},
        outer=[],
        inner=InnerProgram(free={}, nonnegative={"y": np.ones(1)}, rows={"pi": rows}),
        big_m={
            "pi": (BigM(np.ones(4), dual), BigM(np.array([15.0, 12.0, 12.0, 28.0]), slack)),
            "y": (BigM(np.ones(1), dual), BigM(np.full(1, 12.0), slack)),
        },
    )
    result = find_backend(solver).solve(bilevel.program, Effort(60.0))
    assert result.status is Status.OPTIMAL
    assert result.bound == pytest.approx(-12.0, abs=1e-5)
    assert result.x is not None
    found = [result.x[bilevel.columns[name]][0] for name in ("x", "y")]
    assert found == pytest.approx([4.0, 4.0], abs=1e-5)
