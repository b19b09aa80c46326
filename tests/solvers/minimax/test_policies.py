"""Bounds of policies against worst cases that are enumerated, whatever the solver hands over."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from grids import enumerated_worst_case, random_problem
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import budgets, problems

from pessimal import Budget, TuningProblem
from pessimal.limits import NEVER, Deadline, Limits
from pessimal.lp.highs import LinearProgram, Solved, solve_large
from pessimal.problem import Mask, Vector
from pessimal.solvers.minimax import policies as policies_module
from pessimal.solvers.minimax.active_sets import ActiveSets
from pessimal.solvers.minimax.groups import groups_of
from pessimal.solvers.minimax.oracle import WorstCaseOracle
from pessimal.solvers.minimax.policies import Policies, PolicyBound
from pessimal.solvers.minimax.proof import Plane
from pessimal.solvers.minimax.refining import Cell, Refinement

TOLERANCE = 1e-7


class Around:
    """Policies of a random cell, with the sets and planes of some of its boxes."""

    def __init__(
        self, problem: TuningProblem, budget: Budget, seed: int, groups: str = "each"
    ) -> None:
        self.problem, self.budget = problem, budget
        self.groups = groups_of(problem, groups)  # type: ignore[arg-type]
        self.oracle = WorstCaseOracle(problem, budget, self.groups, Limits())
        self.rng = np.random.default_rng(seed)
        ends = self.rng.uniform(self.groups.lower, self.groups.upper, (2, len(self.groups)))
        middle = ends.mean(axis=0)
        size = self.rng.choice([0.01, 0.1, 0.5, 1.0])
        self.low, self.high = (
            middle + size * (end(ends, axis=0) - middle) for end in (np.min, np.max)
        )
        boxes = self.drawn(4)
        self.sets: list[Mask] = list(ActiveSets(self.oracle.at(h).active for h in boxes))
        self.planes: list[Plane] = [self.oracle.tangent(h) for h in boxes]

    def drawn(self, n: int) -> list[Vector]:
        """Return boxes of the cell, its corners among them."""
        inside = self.rng.uniform(self.low, self.high, (n, len(self.low)))
        return [self.low, self.high, *inside]

    def bound(self) -> PolicyBound | None:
        """Solve the program."""
        most_loss = self.oracle.cases.train(self.groups.box(self.low)).loss
        program = Policies(self.problem, self.budget, self.groups, self.low, self.high, most_loss)
        return program.bound(self.sets, self.planes, NEVER)

    def least(self, n: int) -> float:
        """Return the least worst case of boxes drawn."""
        boxes = (self.groups.box(h) for h in self.drawn(n))
        return min(enumerated_worst_case(self.problem, box, self.budget) for box in boxes)


@settings(max_examples=25)
@given(
    problem=problems(n_features=2),
    budget=budgets(),
    seed=st.integers(0, 1000),
    groups=st.sampled_from(["each", "one"]),
)
def test_no_box_of_a_cell_is_below_its_bound(
    problem: TuningProblem, budget: Budget, seed: int, groups: str
) -> None:
    if groups == "one":  # which takes one lower limit
        problem = replace(problem, lower=np.zeros(2))
    around = Around(problem, budget, seed, groups)
    found = around.bound()
    if found is not None:
        assert found.bound <= around.least(6) + TOLERANCE
        assert (around.low <= found.h).all()
        assert (found.h <= around.high).all()


@pytest.mark.parametrize("noise", [1e-14, 1e-10, 1e-8, 1e-4, 1.0])
@pytest.mark.parametrize("seed", range(4))
def test_a_point_that_is_no_solution_bounds_nothing_too_high(
    monkeypatch: pytest.MonkeyPatch, noise: float, seed: int
) -> None:
    around = Around(random_problem(seed, 6, 5, 2), Budget(0.1, 0.1), seed)
    least, rng = around.least(10), np.random.default_rng(seed)

    def shaken(program: LinearProgram, deadline: Deadline) -> Solved:
        solved = solve_large(program, deadline)
        assert solved is not None
        x = solved.x + noise * rng.standard_normal(len(solved.x))
        bound = int(np.flatnonzero(program.cost)[0])
        x[bound] += 10.0 * noise  # as an optimist would
        return replace(solved, x=x)

    monkeypatch.setattr(policies_module, "solve_large", shaken)
    found = around.bound()
    assert found is not None
    assert found.bound <= least + TOLERANCE
    if noise > 1e-4:
        assert found.bound == -np.inf


@pytest.mark.parametrize("seed", range(6))
def test_a_feature_may_have_a_lower_limit_than_its_group(seed: int) -> None:
    problem = random_problem(seed, 6, 5, 2)
    problem = replace(problem, upper=np.array([1.0, 0.3]))
    around = Around(problem, Budget(0.0, 0.1), seed, "one")
    found = around.bound()
    assert found is not None
    assert found.bound <= around.least(10) + TOLERANCE


@pytest.mark.parametrize("seed", range(6))
def test_around_a_best_box_the_bound_is_its_worst_case(seed: int) -> None:
    problem, budget = random_problem(seed, 6, 5, 3), Budget(0.1, 0.1)
    groups = groups_of(problem, "each")
    oracle = WorstCaseOracle(problem, budget, groups, Limits())
    start = oracle.at(0.5 * problem.upper)
    sets = ActiveSets([start.active])
    refinement = Refinement(oracle, sets)
    refinement.polish()
    best = oracle.best
    assert best is not None
    assert best.bound <= start.bound
    low, high = np.maximum(0.0, best.h - 1e-4), np.minimum(problem.upper, best.h + 1e-4)
    cell = refinement.bounded(Cell(low, high, 0.0, best.active, best.h))
    assert cell.bound == pytest.approx(oracle.best_value, abs=1e-6)


@settings(max_examples=25)
@given(problem=problems(n_features=2), seed=st.integers(0, 1000))
def test_a_plane_of_training_is_nowhere_above_the_least_loss(
    problem: TuningProblem, seed: int
) -> None:
    groups = groups_of(problem, "each")
    oracle = WorstCaseOracle(problem, Budget(), groups, Limits())
    boxes = np.random.default_rng(seed).uniform(groups.lower, groups.upper, (5, len(groups)))
    for h in boxes:
        plane = oracle.tangent(h)
        losses = np.array([oracle.cases.train(groups.box(other)).loss for other in boxes])
        heights = np.array([plane(other) for other in boxes])
        assert (heights <= losses + 1e-12).all()
        assert plane(h) == pytest.approx(oracle.cases.train(groups.box(h)).loss, abs=1e-9)
