"""The HiGHS layer against `scipy.optimize.linprog` and hand-made programs."""

from __future__ import annotations

import highspy
import numpy as np
import pytest
from scipy.optimize import linprog

from pessimal.errors import SolverError
from pessimal.lp.highs import LinearProgram, WarmProgram, solve_integer
from pessimal.lp.sparse_rows import SparseRows


def random_program(seed: int) -> LinearProgram:
    rng = np.random.default_rng(seed)
    matrix = rng.normal(size=(6, 8)) * (rng.random((6, 8)) < 0.7)
    inside = rng.uniform(-1.0, 1.0, 8)
    return LinearProgram(
        cost=rng.normal(size=8),
        matrix=SparseRows.of(matrix),
        row_lower=matrix @ inside - rng.random(6),
        row_upper=matrix @ inside + rng.random(6),
        lower=np.full(8, -2.0),
        upper=np.full(8, 2.0),
    )


def scipy_value(program: LinearProgram, cost: np.ndarray, row_upper: np.ndarray) -> float:
    matrix = program.matrix.csr.toarray()
    answer = linprog(
        cost,
        A_ub=np.vstack([matrix, -matrix]),
        b_ub=np.concatenate([row_upper, -program.row_lower]),
        bounds=np.column_stack([program.lower, program.upper]),
        method="highs-ds",
    )
    assert answer.status == 0
    return float(answer.fun)


@pytest.mark.parametrize("seed", range(5))
def test_the_least_cost_is_scipys_also_after_changes(seed: int) -> None:
    program = random_program(seed)
    simplex = WarmProgram(program)
    expected = scipy_value(program, program.cost, program.row_upper)
    assert program.cost @ simplex.minimise() == pytest.approx(expected, abs=1e-8)

    cost = np.random.default_rng(100 + seed).normal(size=8)
    simplex.set_cost(cost)
    expected = scipy_value(program, cost, program.row_upper)
    assert cost @ simplex.minimise() == pytest.approx(expected, abs=1e-8)

    tighter = program.row_upper.copy()
    tighter[2] = (program.row_lower[2] + program.row_upper[2]) / 2.0
    simplex.set_row(2, program.row_lower[2], tighter[2])
    assert cost @ simplex.minimise() == pytest.approx(scipy_value(program, cost, tighter), abs=1e-8)


def one_row(cost: list[float], lower: float, upper: float, integer: bool = False) -> LinearProgram:
    n = len(cost)
    return LinearProgram(
        cost=np.array(cost),
        matrix=SparseRows.of(np.ones((1, n))),
        row_lower=np.array([lower]),
        row_upper=np.array([upper]),
        lower=np.zeros(n),
        upper=np.full(n, np.inf),
        integer=np.full(n, integer),
    )


def test_a_program_without_optimum_raises() -> None:
    infeasible = WarmProgram(one_row([1.0, 1.0], -np.inf, -1.0))
    assert not infeasible.feasible()
    with pytest.raises(SolverError, match="Infeasible"):
        infeasible.minimise()
    with pytest.raises(SolverError, match="instead of optimal"):
        WarmProgram(one_row([-1.0, 0.0], 0.0, np.inf)).minimise()


def test_an_infeasible_row_can_be_restored() -> None:
    simplex = WarmProgram(one_row([1.0, 1.0], 1.0, 2.0))
    assert simplex.feasible()
    simplex.set_row(0, -2.0, -1.0)
    assert not simplex.feasible()
    simplex.set_row(0, 1.0, 2.0)
    assert simplex.minimise().sum() == pytest.approx(1.0)


def test_an_integer_program_meets_its_bound() -> None:
    answer = solve_integer(one_row([1.0, 3.0], 1.5, 9.0, integer=True), np.inf)
    assert answer.x is not None
    assert answer.x == pytest.approx([2.0, 0.0])
    assert answer.bound == pytest.approx(2.0)


def test_no_time_leaves_no_wrong_bound() -> None:
    answer = solve_integer(one_row([1.0, 3.0], 1.5, 9.0, integer=True), -1.0)
    assert answer.bound <= 2.0


def test_a_scheduler_started_with_more_threads_does_no_harm() -> None:
    highspy.Highs.resetGlobalScheduler(True)
    try:
        other = highspy.Highs()  # type: ignore[no-untyped-call]
        other.setOptionValue("output_flag", False)
        other.setOptionValue("threads", 2)
        other.addVar(0.0, 1.0)
        other.run()
        assert WarmProgram(one_row([1.0, 1.0], 1.0, 2.0)).minimise().sum() == pytest.approx(1.0)
    finally:
        highspy.Highs.resetGlobalScheduler(True)


@pytest.mark.parametrize("seed", range(5))
def test_the_bound_from_the_multipliers_is_the_least_cost(seed: int) -> None:
    program = random_program(seed)
    simplex = WarmProgram(program)
    simplex.minimise()
    expected = scipy_value(program, program.cost, program.row_upper)
    bound = simplex.lower_bound(program.lower, program.upper)
    assert expected - 1e-8 <= bound <= expected


@pytest.mark.parametrize("exponent", [-10, -6, 6, 10])
def test_programs_in_odd_units_have_the_same_optimum(exponent: int) -> None:
    program = random_program(7)
    units = np.where(np.arange(8) % 3 == 0, 10.0**exponent, 1.0)
    scaled = LinearProgram(
        cost=program.cost * units,
        matrix=program.matrix.csr * units,
        row_lower=program.row_lower,
        row_upper=program.row_upper,
        lower=program.lower / units,
        upper=program.upper / units,
    )
    x = WarmProgram(scaled).minimise()
    expected = scipy_value(program, program.cost, program.row_upper)
    assert scaled.cost @ x == pytest.approx(expected, abs=1e-8)
