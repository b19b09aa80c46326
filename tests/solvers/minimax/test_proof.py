"""A leaf proves no more than it can: wrong planes, sets and weights make its bound smaller."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from grids import enumerated_worst_case, random_problem

from pessimal.limits import Limits
from pessimal.near_optimal import least_loss
from pessimal.problem import Budget, TuningProblem
from pessimal.solvers.minimax.groups import GroupsSpec, groups_of
from pessimal.solvers.minimax.line import minimise_on_line
from pessimal.solvers.minimax.oracle import WorstCaseOracle
from pessimal.solvers.minimax.proof import Leaf, Plane, check_leaf, corners
from pessimal.solvers.minimax.regions import minimise_in_regions

BUDGET = Budget(0.2, 0.1)
GROUPS = [[0, 1], [2]]


def problem() -> TuningProblem:
    return random_problem(80, 8, 4, 3)


def solved(groups: GroupsSpec) -> tuple[WorstCaseOracle, list[Leaf]]:
    oracle = WorstCaseOracle(problem(), BUDGET, groups_of(problem(), groups), Limits())
    if groups == "one":
        return oracle, minimise_on_line(oracle)
    oracle.at(oracle.groups.upper)
    return oracle, minimise_in_regions(oracle)


def check(oracle: WorstCaseOracle, leaf: Leaf) -> float:
    return check_leaf(oracle.problem, oracle.budget, oracle.groups, leaf)


@pytest.mark.parametrize("groups", ["one", GROUPS], ids=str)
def test_the_leaves_cover_everything_and_prove_the_bound(groups: GroupsSpec) -> None:
    oracle, leaves = solved(groups)
    bounds = np.array([check(oracle, leaf) for leaf in leaves])
    assert bounds.min() == pytest.approx(oracle.best_value, abs=1e-6)
    rng = np.random.default_rng(0)
    low, high = oracle.groups.lower, oracle.groups.upper
    for h in rng.uniform(low, high, (40, len(low))):
        holding = [(leaf.low <= h).all() and (h <= leaf.high).all() for leaf in leaves]
        assert any(holding)
        worst = enumerated_worst_case(oracle.problem, oracle.groups.box(h), BUDGET)
        assert worst >= bounds[holding].max() - 1e-6


def test_a_plane_above_the_least_training_loss_is_lowered() -> None:
    oracle, leaves = solved("one")
    for leaf in leaves:
        plane = leaf.planes[0]
        raised = replace(leaf, planes=(replace(plane, value=plane.value + 0.3),))
        tilted = replace(leaf, planes=(replace(plane, slope=plane.slope - 5.0),))
        bound = check(oracle, leaf)
        assert check(oracle, raised) == pytest.approx(bound, abs=1e-6)
        assert check(oracle, tilted) <= bound + 1e-6


def test_a_plane_far_below_allows_no_model_and_proves_nothing() -> None:
    oracle, leaves = solved("one")
    plane = leaves[0].planes[0]
    sunk = replace(leaves[0], planes=(replace(plane, value=plane.value - 10.0),))
    assert check(oracle, sunk) == -np.inf


def test_other_sets_of_hinges_prove_no_more_than_is_true() -> None:
    oracle, leaves = solved("one")
    for leaf in leaves:
        ends = [
            enumerated_worst_case(oracle.problem, oracle.groups.box(h), BUDGET)
            for h in corners(leaf.low, leaf.high)
        ]
        for k in range(oracle.problem.n_val):
            active = leaf.sets[0].copy()
            active[k] = not active[k]
            assert check(oracle, replace(leaf, sets=(active,))) <= min(ends) + 1e-6


def test_a_leaf_that_claims_more_ground_proves_less() -> None:
    # Stretched over all h, neither the plane nor the set of one part suits the others.
    oracle, leaves = solved("one")
    low, high = oracle.groups.lower, oracle.groups.upper
    assert len(leaves) > 1
    for leaf in leaves:
        assert check(oracle, replace(leaf, low=low, high=high)) <= oracle.best_value + 1e-6


def test_no_hinges_prove_a_loss_of_zero() -> None:
    groups = groups_of(problem(), GROUPS)
    plane = Plane(groups.lower, 0.0, np.zeros(2))
    leaf = Leaf(groups.lower, groups.upper, (plane,), (), np.zeros((1, 0)))
    assert check_leaf(problem(), BUDGET, groups, leaf) == 0.0


def test_a_plane_is_where_its_slope_says() -> None:
    plane = Plane(np.array([1.0, 2.0]), 3.0, np.array([-1.0, 0.5]))
    assert plane(np.array([1.0, 2.0])) == 3.0
    assert plane(np.array([3.0, 4.0])) == pytest.approx(2.0)
    assert len(corners(np.zeros(3), np.ones(3))) == 8


def test_the_planes_of_a_proof_are_below_the_training_loss() -> None:
    oracle, leaves = solved(GROUPS)
    rng = np.random.default_rng(1)
    for leaf in leaves[:20]:
        h = rng.uniform(leaf.low, leaf.high)
        least = least_loss(oracle.problem, oracle.groups.box(h)).value
        for plane in leaf.planes:
            assert plane(h) <= least + 1e-8
