"""The dual simplex against `scipy.optimize.linprog`: programs with ties, bounds that move.

A dictionary needs a dual feasible start, which the search always gives it: variables and rows with
finite bounds (P and the training problem), or non-negative variables with positive costs (D).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import pytest
from scipy.optimize import linprog

from pessimal.lp.codes import CUT_OFF, INFEASIBLE, OPTIMAL
from pessimal.lp.program import KinkedProgram
from pessimal.lp.simplex import Simplex
from pessimal.problem import Matrix, Vector

TOLERANCE = 1e-8
N_PROGRAMS = 60


@dataclass(frozen=True)
class Program:
    """Minimise ``Σ h_k(z_k)`` over ``z = [I; A] u`` with ``low ≤ z ≤ high``."""

    A: Matrix
    low: Vector
    high: Vector
    slope_left: Vector
    slope_right: Vector
    kink: Vector

    @property
    def rows(self) -> Matrix:
        """``[I; A]``."""
        return np.vstack([np.eye(self.A.shape[1]), self.A])

    def dictionary(self) -> Simplex:
        """Return a fresh dictionary, with arrays of its own."""
        slopes = self.slope_left.copy(), self.slope_right.copy()
        return Simplex(KinkedProgram(self.A.copy(), self.low, self.high, *slopes, self.kink))

    def with_bounds(self, k: int, low: float, high: float) -> Program:
        """Return the program with other bounds on row `k`."""
        lows, highs = self.low.copy(), self.high.copy()
        lows[k], highs[k] = low, high
        return replace(self, low=lows, high=highs)

    def value(self, z: Vector) -> float:
        """``Σ h_k(z_k)``."""
        off = z - self.kink
        return float(np.where(off < 0.0, self.slope_left * off, self.slope_right * off).sum())

    def least(self) -> float | None:
        """Least value by HiGHS, each ``h_k`` written as its epigraph; None if infeasible."""
        z, n = self.rows, len(self.low)
        answer = linprog(
            np.concatenate([np.zeros(z.shape[1]), np.ones(n)]),
            A_ub=np.vstack(
                [
                    np.hstack([self.slope_left[:, None] * z, -np.eye(n)]),
                    np.hstack([self.slope_right[:, None] * z, -np.eye(n)]),
                    np.hstack([z, np.zeros((n, n))])[self.high < np.inf],
                    np.hstack([-z, np.zeros((n, n))])[self.low > -np.inf],
                ]
            ),
            b_ub=np.concatenate(
                [
                    self.slope_left * self.kink,
                    self.slope_right * self.kink,
                    self.high[self.high < np.inf],
                    -self.low[self.low > -np.inf],
                ]
            ),
            bounds=(None, None),
            options={"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10},
        )
        assert answer.status in (0, 2)
        return None if answer.status == 2 else float(answer.fun)


def bounded_program(rng: np.random.Generator) -> Program:
    """Draw a program like P: finite bounds everywhere, hinges on some rows, ties half the time."""
    m, q = int(rng.integers(1, 25)), int(rng.integers(1, 8))
    tied = rng.random() < 0.5
    A = np.round(rng.normal(size=(m, q))) if tied else rng.normal(size=(m, q))
    if rng.random() < 0.3:
        A[-1] = A[0]
    if rng.random() < 0.3:
        A[:, -1] = A[:, 0]
    box = rng.choice((0.5, 1.0, 2.5), q)
    reach = np.abs(A) @ box
    low, high = np.concatenate([-box, -reach - 1.0]), np.concatenate([box, reach + 1.0])
    kind = rng.integers(0, 4, m)  # nothing, a hinge, a flipped hinge, a linear cost
    weight = np.ones(m) / m if tied else rng.random(m)
    slope_left, slope_right, kink = np.zeros((3, q + m))
    slope_left[q:] = np.select([kind == 1, kind == 3], [-weight, weight], 0.0)
    slope_right[q:] = np.select([kind == 2, kind == 3], [weight, weight], 0.0)
    kink[q:] = np.select([kind == 1, kind == 2], [1.0, -1.0], 0.0)
    program = Program(A, low, high, slope_left, slope_right, kink)
    for _ in range(int(rng.integers(0, 3))):
        program = program.with_bounds(*random_bounds(rng, program))
    return program


def multiplier_program(rng: np.random.Generator) -> Program:
    """Draw a program like D: positive costs on variables ``≥ 0``, some rows fixed, some free."""
    m, q = int(rng.integers(1, 10)), int(rng.integers(1, 20))
    tied = rng.random() < 0.5
    A = np.round(rng.normal(size=(m, q))) if tied else rng.normal(size=(m, q))
    low = np.concatenate([np.zeros(q), np.full(m, -np.inf)])
    high = np.concatenate([rng.choice((0.25, 1.0, np.inf), q), np.full(m, np.inf)])
    low[-1] = high[-1] = 0.5
    for k in q + np.arange(m - 1):
        end = 0.0 if tied else rng.normal()
        low[k], high[k] = ((-np.inf, end), (end, np.inf), (end, end))[rng.integers(3)]
    slope = np.zeros(q + m)
    slope[:q] = rng.uniform(0.5, 1.5, q)
    return Program(A, low, high, slope, slope, np.zeros(q + m))


def random_bounds(rng: np.random.Generator, program: Program) -> tuple[int, float, float]:
    """Draw a row and finite bounds for it: tighter, wider, one-sided or fixed; halves tie."""
    k = int(rng.integers(len(program.low)))
    reach = np.abs(program.rows[k]) @ np.full(program.A.shape[1], 2.5) + 1.0
    ends = np.round(2.0 * rng.uniform(-1.5, 1.5, 2)) / 2.0
    match rng.integers(4):
        case 0:
            return k, float(min(ends)), float(max(ends))
        case 1:
            return k, -float(reach), float(ends[0])
        case 2:
            return k, float(ends[0]), float(reach)
        case _:
            return k, float(ends[0]), float(ends[0])


def programs(draw: str) -> Iterator[tuple[np.random.Generator, Program]]:
    for seed in range(N_PROGRAMS):
        rng = np.random.default_rng(seed)
        yield rng, bounded_program(rng) if draw == "bounded" else multiplier_program(rng)


def assert_solved(program: Program, dictionary: Simplex, status: int) -> None:
    """The status is right, and an optimum is feasible, attained and equal to the oracle's."""
    least = program.least()
    if least is None:
        assert status == INFEASIBLE
        return
    assert status == OPTIMAL
    assert dictionary.objective == pytest.approx(least, abs=TOLERANCE)
    z = dictionary.values()
    assert program.rows @ z[: program.A.shape[1]] == pytest.approx(z, abs=TOLERANCE)
    assert (z >= program.low - TOLERANCE).all()
    assert (z <= program.high + TOLERANCE).all()
    assert program.value(z) == pytest.approx(least, abs=TOLERANCE)


@pytest.mark.parametrize("draw", ["bounded", "multipliers"])
def test_optimum_and_infeasibility_agree_with_linprog(draw: str) -> None:
    statuses = []
    for _, program in programs(draw):
        dictionary = program.dictionary()
        statuses.append(dictionary.solve(np.inf))
        assert_solved(program, dictionary, statuses[-1])
    assert {OPTIMAL, INFEASIBLE} == set(statuses)


def test_a_warm_start_solves_what_a_fresh_start_would() -> None:
    for rng, drawn in programs("bounded"):
        program, dictionary = drawn, drawn.dictionary()
        for _ in range(8):
            for _ in range(int(rng.integers(1, 3))):
                change = random_bounds(rng, program)
                program = program.with_bounds(*change)
                dictionary.set_bounds(*change)
            assert_solved(program, dictionary, dictionary.solve(np.inf))


def test_tightened_multiplier_programs_agree_with_linprog() -> None:
    for rng, drawn in programs("multipliers"):
        program, dictionary = drawn, drawn.dictionary()
        for k in rng.permutation(len(program.low))[:6]:
            end = float(np.clip(0.0, program.low[k], program.high[k]))
            side = rng.integers(2)
            change = (int(k), program.low[k], end) if side else (int(k), end, program.high[k])
            program = program.with_bounds(*change)
            dictionary.set_bounds(*change)
            assert_solved(program, dictionary, dictionary.solve(np.inf))


def test_a_copy_goes_its_own_way() -> None:
    for rng, program in programs("bounded"):
        dictionary, copy = program.dictionary(), program.dictionary()
        dictionary.solve(np.inf)
        copy.copy_from(dictionary)
        change = random_bounds(rng, program)
        copy.set_bounds(*change)
        assert_solved(program.with_bounds(*change), copy, copy.solve(np.inf))
        assert_solved(program, dictionary, dictionary.solve(np.inf))


@pytest.mark.parametrize("draw", ["bounded", "multipliers"])
def test_refactoring_changes_nothing(draw: str) -> None:
    for _, program in programs(draw):
        dictionary = program.dictionary()
        if dictionary.solve(np.inf) == OPTIMAL:
            z, y = dictionary.values().copy(), dictionary.multipliers().copy()
            dictionary.refactor()
            assert dictionary.values() == pytest.approx(z, abs=TOLERANCE)
            assert dictionary.multipliers() == pytest.approx(y, abs=TOLERANCE)
            pivots = dictionary.pivots
            assert_solved(program, dictionary, dictionary.solve(np.inf))
            assert dictionary.pivots == pivots


def test_a_run_is_cut_off_only_at_a_bound_the_optimum_has_reached() -> None:
    cut_off = 0
    for rng, drawn in programs("bounded"):
        program, dictionary = drawn, drawn.dictionary()
        for _ in range(6):
            change = random_bounds(rng, program)
            program = program.with_bounds(*change)
            dictionary.set_bounds(*change)
            least = program.least()
            cutoff = float(rng.normal(scale=0.3)) + (0.0 if least is None else least)
            status = dictionary.solve(cutoff)
            if status == CUT_OFF:
                cut_off += 1
                assert least is None or least >= cutoff - TOLERANCE
                assert dictionary.objective >= cutoff
            elif status == OPTIMAL:
                assert dictionary.objective < cutoff
            if least is not None:
                assert dictionary.objective <= least + TOLERANCE
            if status != CUT_OFF:
                assert_solved(program, dictionary, status)
    assert cut_off > N_PROGRAMS


def test_what_was_cut_off_can_be_solved_to_the_end() -> None:
    for _, program in programs("bounded"):
        dictionary = program.dictionary()
        least = program.least()
        if least is not None and dictionary.solve(least - 0.1) == CUT_OFF:
            assert_solved(program, dictionary, dictionary.solve(np.inf))


def hinge_fit(n: int, p: int, box: float, seed: int) -> Program:
    """Training on shares that have little of their own, rounded, as surveys have them."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3)) @ rng.normal(size=(3, p)) + 0.3 * rng.normal(size=(n, p))
    y = np.where(X[:, 0] + rng.normal(size=n) > 0.5, 1.0, -1.0)
    X = np.round((X - X.min(axis=0)) / np.ptp(X, axis=0), 2)
    A = np.column_stack((y[:, None] * X, -y))
    limit = np.append(np.full(p, box), p * box + 2.0)
    high = np.append(limit, np.abs(A) @ limit)
    slope = np.append(np.zeros(p + 1), np.full(n, -1.0 / n))
    return Program(A, -high, high, slope, np.zeros(n + p + 1), np.repeat((0.0, 1.0), (p + 1, n)))


@pytest.mark.parametrize("seed", range(3))
def test_long_solves_come_to_an_end(seed: int) -> None:
    # The row furthest off its segment, or random costs as large as the weights of the rows: stalls.
    program = hinge_fit(300, 60, 20.0, seed)
    dictionary = program.dictionary()
    assert dictionary.solve(np.inf) == OPTIMAL
    assert dictionary.objective == pytest.approx(program.least(), abs=TOLERANCE)


def test_the_bound_after_a_change_is_never_above_the_new_optimum() -> None:
    moved = 0
    for rng, program in programs("bounded"):
        dictionary = program.dictionary()
        if dictionary.solve(np.inf) != OPTIMAL:
            continue
        before, z = dictionary.objective, dictionary.values().copy()
        for _ in range(6):
            k, low, high = random_bounds(rng, program)
            # The search only tightens; what a wider bound would gain, one dual step cannot see.
            low, high = max(low, program.low[k]), min(high, program.high[k])
            if low > high:
                continue
            bound = dictionary.bound_after(k, low, high)
            least = program.with_bounds(k, low, high).least()
            if bound == np.inf:
                assert least is None
            elif least is not None:
                assert bound <= least + TOLERANCE
            moved += bound > before + TOLERANCE
        assert dictionary.objective == before
        assert np.array_equal(dictionary.values(), z)
    assert moved > N_PROGRAMS


def test_no_row_gets_further_while_the_objective_stays_within_a_gap() -> None:
    limited = 0
    for rng, program in programs("bounded"):
        dictionary = program.dictionary()
        if dictionary.solve(np.inf) != OPTIMAL:
            continue
        gap = rng.uniform(0.01, 0.5)
        for k, at in enumerate(dictionary.values().copy()):
            for direction, end in ((1, program.high[k]), (-1, program.low[k])):
                beyond = at + direction * (dictionary.reach(k, direction, gap) + 1e-6)
                if direction * (end - beyond) <= 0.0:
                    continue
                limited += 1
                low, high = sorted((beyond, end))
                least = program.with_bounds(k, low, high).least()
                assert least is None or least >= dictionary.objective + gap - TOLERANCE
    assert limited > N_PROGRAMS


def test_multipliers_prove_the_optimum() -> None:
    # y is orthogonal to every z = [I; A] u and lies in the subdifferential of h_k on (low, high).
    for _, program in programs("bounded"):
        dictionary = program.dictionary()
        if dictionary.solve(np.inf) != OPTIMAL:
            continue
        y, z = dictionary.multipliers(), dictionary.values()
        assert program.rows.T @ y == pytest.approx(np.zeros(program.A.shape[1]), abs=TOLERANCE)
        smallest = np.where(z < program.kink + TOLERANCE, program.slope_left, program.slope_right)
        largest = np.where(z < program.kink - TOLERANCE, program.slope_left, program.slope_right)
        assert (y >= np.where(z <= program.low + TOLERANCE, -np.inf, smallest) - TOLERANCE).all()
        assert (y <= np.where(z >= program.high - TOLERANCE, np.inf, largest) + TOLERANCE).all()


def test_rows_that_are_almost_parallel_leave_no_rounding_behind() -> None:
    # A dictionary in which both are nonbasic is next to singular; those after it need not suffer.
    for rng, drawn in programs("bounded"):
        rows = np.append(np.arange(len(drawn.A)), np.arange(len(drawn.A))[:3])
        A = drawn.A[rows]
        A[len(drawn.A) :] += 1e-8 * rng.normal(size=A[len(drawn.A) :].shape)
        each = np.append(np.arange(A.shape[1]), A.shape[1] + rows)
        ends, costs = (drawn.low, drawn.high), (drawn.slope_left, drawn.slope_right, drawn.kink)
        program = Program(A, *(of[each] for of in ends + costs))
        dictionary = program.dictionary()
        for _ in range(20):
            dictionary.set_bounds(*random_bounds(rng, program))
            dictionary.solve(np.inf)
            z = dictionary.values()
            rounding = 4.0 * np.finfo(float).eps * np.abs(z).max()
            assert program.rows @ z[: A.shape[1]] == pytest.approx(z, abs=max(1e-6, rounding))
