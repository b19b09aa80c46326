"""The largest value of a quadratic over an ellipsoid, against semidefinite programs and points."""

from typing import Any

import cvxpy
import numpy as np
import pytest
from scipy.linalg import eigh

from pessimal.near_optimal.smooth.quadratic import Quadratic, dual_value, largest, reach

cp: Any = cvxpy
CASES = ("general", "hard", "flat", "thin", "indefinite")


def draw(case: str, seed: int) -> tuple[Quadratic, Quadratic]:
    """An objective and a region; *hard*: no slope along the leading direction."""
    rng = np.random.default_rng(seed)
    p = int(rng.integers(1, 7))
    root, other = rng.normal(size=(p, p)), rng.normal(size=(p, p))
    A = root @ root.T + 0.01 * np.eye(p)
    K = other @ other.T
    a, r = rng.normal(size=p), 0.1 * rng.normal(size=p)
    if case == "indefinite":
        K = other + other.T
    if case == "thin":
        K = np.outer(other[0], other[0])
    if case == "flat":
        a, r = np.zeros(p), np.zeros(p)
    if case == "hard":
        lead = eigh(K, A)[1][:, -1]
        a, r = a - A @ lead * (lead @ a), r - A @ lead * (lead @ r)
    return Quadratic(1.0, a, K), Quadratic(-rng.random() - 0.01, r, A)


def into(region: Quadratic, d: np.ndarray) -> np.ndarray:
    """The last point of the region on the way from 0 to d."""
    inside, outside = 0.0, 1.0
    if region.at(d) <= 0.0:
        return d
    for _ in range(80):
        middle = 0.5 * (inside + outside)
        inside, outside = (middle, outside) if region.at(middle * d) <= 0.0 else (inside, middle)
    return inside * d


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("seed", range(40))
def test_point_and_bound_meet(case: str, seed: int) -> None:
    objective, region = draw(case, seed)
    found = largest(objective, region)
    value = objective.at(into(region, found.point))
    assert value <= found.bound
    assert found.bound - value <= 1e-8 * abs(found.bound)


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("seed", range(10))
def test_no_point_of_the_region_is_above_the_bound(case: str, seed: int) -> None:
    objective, region = draw(case, seed)
    bound = largest(objective, region).bound
    rng = np.random.default_rng(seed)
    factor = np.linalg.cholesky(region.curvature)
    for direction in rng.normal(size=(300, len(region.slope))):
        d = into(region, 10.0 * np.linalg.solve(factor.T, direction))
        assert objective.at(d) <= bound


@pytest.mark.parametrize("case", ["general", "hard", "indefinite"])
@pytest.mark.parametrize("seed", range(3))
def test_the_bound_is_the_value_of_the_semidefinite_program(case: str, seed: int) -> None:
    objective, region = draw(case, 100 + seed)
    p = len(region.slope)
    multiplier, value = cp.Variable(nonneg=True), cp.Variable()
    h = objective.slope - multiplier * region.slope
    corner = cp.reshape(2.0 * (value + multiplier * region.value), (1, 1), order="C")
    column = cp.reshape(h, (p, 1), order="C")
    inner = multiplier * region.curvature - objective.curvature
    matrix = cp.bmat([[inner, column], [column.T, corner]])
    program = cp.Problem(cp.Minimize(value), [matrix >> 0])
    program.solve(solver="CLARABEL")
    found = largest(objective, region).bound
    assert found == pytest.approx(objective.value + program.value, rel=1e-6, abs=1e-6)


def test_a_dual_value_needs_a_matrix_that_is_certainly_positive() -> None:
    h = np.ones(2)
    assert dual_value(np.diag([2.0, 4.0]), h, 1.0) == pytest.approx(1.0 + 0.5 * 0.75)
    assert dual_value(np.diag([1.0, 0.0]), h, 0.0) == np.inf
    assert dual_value(np.diag([1.0, -1e-9]), h, 0.0) == np.inf


def test_rows_reach_as_far_as_the_ellipsoid() -> None:
    # ½d₁² + 2d₂² ≤ 2 around (1, 0): the first ranges over 1 ± 2, the second over ± 1.
    region = Quadratic(-1.5, np.array([-1.0, 0.0]), np.diag([1.0, 4.0]))
    low, high = reach(np.eye(2), region)
    assert low == pytest.approx([-1.0, -1.0])
    assert high == pytest.approx([3.0, 1.0])
