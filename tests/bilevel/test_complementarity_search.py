"""The optimistic view, by the search and by every other route, against enumeration of bases."""

from __future__ import annotations

import importlib.util
from dataclasses import replace
from typing import Any

import cvxpy
import numpy as np
import pytest
from breakpoints import random_instance
from scipy.sparse import csr_array, diags_array

from pessimal.bilevel import (
    BilevelProblem,
    BilevelProgram,
    BilevelStatus,
    Follower,
    FollowerProgram,
    Rows,
    complementarity_search,
    dual_vertices,
    routes,
    solve_program,
)
from pessimal.bilevel.backends.base import Effort, SolverResult
from pessimal.bilevel.backends.highs import Highs
from pessimal.bilevel.dual_vertices import vertex_bounds
from pessimal.bilevel.node_program import End, NodeProgram
from pessimal.bilevel.routes import METHODS
from pessimal.errors import InvalidInputError
from pessimal.limits import NEVER
from pessimal.lp.highs import LinearProgram

cp: Any = cvxpy

NOTHING = (BilevelStatus.INFEASIBLE, BilevelStatus.INNER_INFEASIBLE)
PACKAGES = {"highs": "highspy", "scip": "pyscipopt", "gurobi": "gurobipy", "cplex": "cplex"}


def available(method: str) -> bool:
    """Whether the solver of a route is installed."""
    solver = method.partition(" ")[2] or "highs"
    return importlib.util.find_spec(PACKAGES[solver]) is not None


@pytest.mark.parametrize("priced", [False, True], ids=["plain", "priced"])
@pytest.mark.parametrize("seed", range(12))
def test_the_optimum_is_that_of_the_best_basis(seed: int, priced: bool) -> None:
    instance = random_instance(np.random.default_rng(seed), coupled=seed % 2 == 1, priced=priced)
    expected = instance.least_optimistic()
    solution = solve_program(instance.program())
    if np.isinf(expected):
        assert solution.status in NOTHING
        return
    assert solution.status is BilevelStatus.OPTIMAL
    assert solution.value == pytest.approx(expected, abs=1e-6)
    assert solution.bound == pytest.approx(expected, abs=1e-6)
    assert solution.certificate is not None
    assert solution.certificate.ok


@pytest.mark.parametrize("method", METHODS[1:])
def test_every_route_has_the_same_optimum(method: str) -> None:
    if not available(method):
        pytest.skip("the solver is not installed")
    for seed in range(4):
        program = random_instance(np.random.default_rng([9, seed]), coupled=True).program()
        for options in ({}, {"pessimistic": True, "epsilon": 0.2, "delta": 0.1}):
            search = solve_program(program, **options)  # type: ignore[arg-type]
            other = solve_program(program, method=method, **options)  # type: ignore[arg-type]
            assert other.status is search.status
            assert other.value == pytest.approx(search.value, abs=1e-6)


def in_other_units(program: BilevelProgram, rng: np.random.Generator) -> BilevelProgram:
    """Write y in units from 1e-4 to 1e4, and rows and the inner objective in others."""
    (follower,) = program.followers
    unit = 10.0 ** rng.integers(-4, 5, len(follower))
    row = 10.0 ** rng.integers(-3, 4, len(follower.rows))
    rows = follower.rows
    follower = replace(
        follower,
        cost=100.0 * unit * follower.cost,
        price=csr_array(100.0 * (diags_array(unit) @ follower.price)),
        rows=Rows(
            csr_array(diags_array(row) @ rows.outer),
            csr_array(diags_array(row) @ rows.inner @ diags_array(unit)),
            row * rows.lower,
            row * rows.upper,
        ),
        lower=follower.lower / unit,
        upper=follower.upper / unit,
    )
    inner = csr_array(program.rows.inner @ diags_array(unit))
    return replace(
        program,
        inner_cost=program.inner_cost * unit,
        rows=replace(program.rows, inner=inner),
        followers=(follower,),
    )


@pytest.mark.parametrize("seed", range(8))
def test_units_do_not_matter(seed: int) -> None:
    rng = np.random.default_rng([1, seed])
    program = random_instance(rng, 3, coupled=True, priced=seed % 2 == 1).program()
    first, second = solve_program(program), solve_program(in_other_units(program, rng))
    assert first.status is second.status
    assert first.value == pytest.approx(second.value, abs=1e-6)


def unlimited(price: float) -> BilevelProgram:
    """Return ``min −y``, where y minimises ``price·y ≥ 0``: any y ≥ 0 for a price of 0."""
    one = csr_array((1, 1))
    follower = FollowerProgram(
        cost=np.array([price]),
        price=one,
        curvature=one,
        rows=Rows(csr_array((0, 1)), csr_array((0, 1)), np.zeros(0), np.zeros(0)),
        lower=np.zeros(1),
        upper=np.full(1, np.inf),
        columns=slice(0, 1),
    )
    return BilevelProgram(
        outer_cost=np.zeros(1),
        inner_cost=-np.ones(1),
        outer_curvature=one,
        inner_curvature=one,
        price=one,
        constant=0.0,
        rows=Rows(csr_array((0, 1)), csr_array((0, 1)), np.zeros(0), np.zeros(0)),
        lower=np.zeros(1),
        upper=np.ones(1),
        integer=np.zeros(1, dtype=np.bool_),
        followers=(follower,),
    )


def test_an_unbounded_relaxation_is_not_an_unbounded_problem() -> None:
    assert solve_program(unlimited(1.0)).value == pytest.approx(0.0)
    assert solve_program(unlimited(0.0)).status is BilevelStatus.UNBOUNDED


def test_no_m_is_taken_without_a_proof() -> None:
    # After a price of 1 the response is 0, which the search proves and a relaxation does not.
    assert solve_program(unlimited(1.0), method="milp highs").value == pytest.approx(0.0)
    with pytest.raises(InvalidInputError, match="no M can be proved"):
        solve_program(unlimited(0.0), method="milp highs")


def test_multipliers_at_vertices_are_bounded_by_the_bases() -> None:
    normals = csr_array([[1.0, 0.0], [0.0, 1.0], [1.0, 1e-3]])
    # (0, 1) from rows 0 and 2: π₂ = 1000, π₀ = −1000.
    assert vertex_bounds(normals, np.array([0.0, 1.0])) == pytest.approx([1e3, 1.0, 1e3])
    assert np.isinf(vertex_bounds(normals[[0]], np.ones(2))).all()


def test_whole_numbers_without_limits_do_not_search_for_ever(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(complementarity_search, "NODES_WITHOUT_LIMITS", 100)
    x, y = cp.Variable(2, integer=True), cp.Variable(nonneg=True)
    odd = 2 * x[0] - 2 * x[1] - 1
    follower = Follower(cp.Minimize(y), [y >= odd, y >= -odd], variables=[y])
    problem = BilevelProblem(cp.Minimize(x[0]), [y <= 0], follower)
    problem.solve()
    assert problem.status is BilevelStatus.NODE_LIMIT
    # A row of whole numbers alone is seen to have no solution.
    problem = BilevelProblem(cp.Minimize(x[0]), [odd == 0], follower)
    problem.solve()
    assert problem.status is BilevelStatus.INFEASIBLE
    # A bound that grows with the numbers ends the search.
    problem = BilevelProblem(cp.Minimize(x[0] + y), [x[1] >= 2.5, x[0] >= x[1] - 7.5], follower)
    assert problem.solve() == pytest.approx(4.0)


def test_an_empty_program_is_proved_empty_without_a_ray(monkeypatch: pytest.MonkeyPatch) -> None:
    program = LinearProgram(
        cost=np.zeros(2),
        matrix=csr_array([[1.0, 1.0], [1.0, -1.0]]),
        row_lower=np.array([3.0, 0.0]),
        row_upper=np.array([np.inf, 0.0]),
        lower=np.zeros(2),
        upper=np.array([1.0, np.inf]),
    )
    monkeypatch.setattr(NodeProgram, "_checked", lambda *_: End.UNKNOWN)
    assert NodeProgram(program).end(NEVER) is End.INFEASIBLE
    possible = replace(program, row_lower=np.array([2.0, 0.0]))
    assert NodeProgram(possible).end(NEVER) is End.UNKNOWN


def test_determinants_bound_multipliers_where_bases_are_too_many(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    normals, gradient = csr_array([[1.0, -1.0], [0.0, 1.0], [2.0, 1.0]]), np.array([1.0, 3.0])
    at_vertices = vertex_bounds(normals, gradient)
    monkeypatch.setattr(dual_vertices, "LARGEST_NUMBER_OF_BASES", 0)
    assert np.all(vertex_bounds(normals, gradient) >= at_vertices)
    assert np.all(np.isfinite(vertex_bounds(normals, gradient)))
    assert np.all(np.isinf(vertex_bounds(0.3 * normals, gradient)))


def test_a_follower_without_an_interest_or_constraints_may_leave_the_leader_unbounded() -> None:
    x, y = cp.Variable(bounds=[0, 3]), cp.Variable()
    follower = Follower(cp.Minimize(0 * y), variables=[y])
    problem = BilevelProblem(cp.Minimize(y - 3 * x), [], follower)
    problem.solve()
    assert problem.status is BilevelStatus.UNBOUNDED
    # And where the leader does not care either, there is nothing to branch on.
    problem = BilevelProblem(cp.Minimize(-x), [2 * x <= 1], follower)
    for method in ("search", "milp highs"):
        assert problem.solve(method=method) == pytest.approx(-0.5)
        assert problem.status is BilevelStatus.OPTIMAL


class Mistaken(Highs):
    """A solver that overlooks all decisions below 2."""

    def solve(self, program: LinearProgram, effort: Effort) -> SolverResult:
        lower = program.lower.copy()
        lower[0] = 2.0
        return super().solve(replace(program, lower=lower), effort)


def test_a_claim_of_a_solver_that_the_search_contradicts_is_no_proof(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    x, y = cp.Variable(bounds=[0, 2]), cp.Variable(bounds=[0, 5])
    follower = Follower(cp.Minimize(y), [y >= 1 - x], variables=[y])
    problem = BilevelProblem(cp.Minimize(x + 3 * y), [], follower)
    assert problem.solve() == pytest.approx(1.0)
    monkeypatch.setattr(routes, "find_backend", lambda _: Mistaken())
    problem.solve(method="milp highs")
    assert problem.status is BilevelStatus.NOT_PROVED
    assert problem.bound is not None
    assert problem.bound <= 1.0 + 1e-6
