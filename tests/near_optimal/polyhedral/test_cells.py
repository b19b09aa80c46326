"""Cells of a near-optimal set: no member of a cell passes what is said of the cell."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from oracles import brute_force_worst_case
from scipy.optimize import linprog
from strategies import budgets, problems, uneven_problems

from pessimal.limits import NEVER
from pessimal.losses import HINGE, OneBreakpoint, ZeroOne
from pessimal.near_optimal.polyhedral.box_set import BoxSet
from pessimal.near_optimal.polyhedral.cells import Cell, Cells, Coordinates
from pessimal.near_optimal.polyhedral.directions import DirectionSearch
from pessimal.problem import Budget, TuningProblem, Vector


def drawn_members(
    problem: TuningProblem, limit: float, rng: np.random.Generator, n: int
) -> NDArray[np.float64]:
    """Return vertices of the set in random directions, by HiGHS, and points between them."""
    p, m = problem.n_features, problem.n_train
    y = problem.y_train
    hinges = np.hstack([-y[:, None] * problem.X_train, y[:, None], -np.eye(m)])
    training = np.append(np.zeros(p + 1), problem.train_weight)
    bounds = [(-w, w) for w in problem.upper] + [(None, None)] + [(0.0, None)] * m
    vertices = []
    for _ in range(n):
        direction = rng.standard_normal(p + 1) / np.append(1.0 / problem.upper, 1.0)
        solved = linprog(
            np.append(direction, np.zeros(m)),
            A_ub=np.vstack([hinges, training]),
            b_ub=np.append(-np.ones(m), limit),
            bounds=bounds,
        )
        vertices.append(solved.x[: p + 1])
    shares = rng.dirichlet(np.full(3, 0.3), size=20 * n)
    at = rng.integers(n, size=(20 * n, 3))
    return np.vstack([vertices, np.einsum("ij,ijk->ik", shares, np.array(vertices)[at])])


@pytest.mark.parametrize("loss", [HINGE, ZeroOne()])
@pytest.mark.parametrize("seed", range(4))
def test_no_member_of_a_cell_passes_its_ranges_or_its_bound(seed: int, loss: OneBreakpoint) -> None:
    rng = np.random.default_rng(seed)
    p, m, n = int(rng.integers(1, 5)), int(rng.integers(8, 40)), int(rng.integers(4, 40))
    y = np.where(np.arange(m + n) % 2 == 0, -1.0, 1.0)
    units = 10.0 ** rng.integers(-2, 3, size=p)
    X = (rng.normal(size=(m + n, p)) + 0.4 * y[:, None]) * units
    problem = TuningProblem(
        X[:m],
        y[:m],
        X[m:],
        y[m:],
        upper=rng.uniform(0.3, 2.0, p) / units,
        train_weight=rng.dirichlet(np.full(m, 2.0)),
    )
    members = BoxSet(problem, problem.upper, Budget(epsilon=float(rng.uniform(0.0, 0.3)) + 0.02))
    ranges = members._ranges
    ranges.find_loosely(problem.X_val, NEVER)
    ranges.find_loosely(problem.X_train, NEVER)
    coordinates = Coordinates.of(np.array(ranges.members), ranges, NEVER)
    assert coordinates is not None
    cells = Cells(coordinates, ranges)
    search = DirectionSearch(problem, members.box, members.training_limit, loss, cells)

    u = drawn_members(problem, members.training_limit, rng, 60)
    scores = u[:, :-1] @ problem.X_val.T - u[:, -1:]
    losses = loss.value(problem.y_val * scores) @ problem.val_weight
    waiting = [cells.root]
    for _ in range(6):
        cell = waiting.pop(0)
        inside = np.ones(len(u), dtype=np.bool_)
        for cut in (around.cut for around in cell.line if around.cut is not None):
            score = u[:, :-1] @ cut.point - u[:, -1]
            inside &= (cut.low <= score) & (score <= cut.high)
        low, high = cells.known(cell, problem.X_val)
        node = search.bound_in(cell, NEVER)
        if inside.any():
            assert (scores[inside] >= low - 1e-6).all()
            assert (scores[inside] <= high + 1e-6).all()
            assert node.bound >= losses[inside].max() - 1e-6
        if np.isfinite(node.bound):
            waiting += search._halves(cell, node, NEVER)


def test_a_cell_is_cut_once_and_its_halves_cover_it() -> None:
    cell, point = Cell(), np.array([1.0, -2.0])
    below, above = cell.split(point, 0.5)
    assert cell.split(-point, 0.0) == (below, above)
    assert [half.parent for half in (below, above)] == [cell, cell]
    assert below.cut is not None
    assert above.cut is not None
    assert below.cut.point is above.cut.point is point
    assert [*below.cut[1:], *above.cut[1:]] == [-np.inf, 0.5, 0.5, np.inf]


@pytest.mark.parametrize("loss", [HINGE, ZeroOne()])
@given(data=st.data())
def test_no_bound_is_below_the_worst_case_of_enumeration(
    loss: OneBreakpoint, data: st.DataObject
) -> None:
    problem, budget = data.draw(problems() | uneven_problems()), data.draw(budgets())
    box = data.draw(st.sampled_from((problem.lower, problem.upper)))
    members = BoxSet(problem, box, budget)
    ranges = members._ranges
    ranges.find_loosely(problem.X_val, NEVER)
    ranges.find_loosely(problem.X_train, NEVER)
    coordinates = Coordinates.of(np.array(ranges.members), ranges, NEVER)
    if coordinates is None:  # the set is all but a point
        return
    worst = brute_force_worst_case(problem, box, budget, "hinge" if loss is HINGE else "zero_one")
    looks = 0

    def best(_: Vector | None) -> float:
        nonlocal looks
        looks += 1
        return worst if looks < 25 else np.inf  # then the search is over

    search = DirectionSearch(problem, box, members.training_limit, loss, Cells(coordinates, ranges))
    assert search.bound(best, 1e-7, NEVER) >= worst - 1e-6
