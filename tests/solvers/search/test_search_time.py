"""A search heeds its time limit inside long linear programs and nodes, and still has an answer."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from clocks import LeapingClock

from pessimal.certificate import certify
from pessimal.limits import Limits
from pessimal.problem import Budget, TuningProblem
from pessimal.solvers.base import Result, Status, Task
from pessimal.solvers.search import driver, parts
from pessimal.solvers.search.complementarities import optimistic_conditions
from pessimal.solvers.search.driver import SearchSolver
from pessimal.solvers.search.tree import Tree


@pytest.fixture(scope="module")
def large() -> TuningProblem:
    """So large that one linear program checks the clock several times."""
    rng = np.random.default_rng(0)
    y = np.tile([-1.0, 1.0], 300)
    X = 0.1 * y[:, None] + rng.normal(size=(600, 40))
    return TuningProblem(X[:300], y[:300], X[300:], y[300:])


def search(problem: TuningProblem, epsilon: float | None) -> Result:
    task = Task(problem)
    if epsilon is not None:
        task = Task(problem, Budget(epsilon), np.ones(problem.n_val, dtype=np.bool_))
    return SearchSolver().solve(task, Limits(time_limit=1.0))


@pytest.mark.parametrize("epsilon", [None, 0.0, 0.2])
def test_time_that_ends_in_the_first_linear_program_leaves_the_narrowest_box(
    large: TuningProblem, epsilon: float | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = LeapingClock(monkeypatch, 2)
    outcome = search(large, epsilon)
    assert clock.looks < 10
    assert outcome.status is Status.TIME_LIMIT
    assert outcome.nodes == 0
    assert outcome.box.tolist() == large.lower.tolist()
    flipped = None if epsilon is None else np.ones(large.n_val, dtype=np.bool_)
    loss = large.val_loss(outcome.w, outcome.b)
    budget = Budget(epsilon or 0.0)
    assert certify(large, budget, flipped, outcome.box, outcome.w, outcome.b, loss).ok
    assert 0.0 <= outcome.lower_bound <= loss


@pytest.mark.parametrize("epsilon", [None, 0.0])
def test_time_that_ends_inside_a_node_keeps_its_bound(
    large: TuningProblem, epsilon: float | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(driver, "SCHEDULE", ((0, np.inf),))
    clock = LeapingClock(monkeypatch, np.inf)

    class LateTree(Tree):
        def advance(self, n_nodes: int) -> bool:
            clock.still_looks = clock.looks + 3
            return bool(super().advance(n_nodes))

    monkeypatch.setattr(parts, "Tree", LateTree)
    outcome = search(large, epsilon)
    assert outcome.status is Status.TIME_LIMIT
    assert outcome.nodes == 1
    assert clock.looks <= clock.still_looks + 3
    # The root's linear program is the least validation loss of any model.
    assert 0.0 < outcome.lower_bound < large.val_loss(outcome.w, outcome.b)


def test_ctrl_c_inside_a_node_ends_it(
    large: TuningProblem, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever a signal handler raises while compiled code checks the clock comes out whole."""
    monkeypatch.setattr(driver, "SCHEDULE", ((0, np.inf),))
    clock = LeapingClock(monkeypatch, np.inf)
    armed: list[str] = []

    def look() -> float:
        if armed and armed.pop() == "now":
            raise KeyboardInterrupt
        return clock()

    class InterruptedTree(Tree):
        def advance(self, n_nodes: int) -> bool:
            armed[:] = ["now", "later", "later"]
            return bool(super().advance(n_nodes))

    monkeypatch.setattr("time.perf_counter", look)
    monkeypatch.setattr(parts, "Tree", InterruptedTree)
    outcome = search(large, None)
    assert outcome.status is Status.INTERRUPTED
    assert outcome.nodes == 1
    assert 0.0 < outcome.lower_bound < large.val_loss(outcome.w, outcome.b)


def test_a_tree_that_would_not_fit_into_memory_leaves_its_root_open() -> None:
    small = TuningProblem([[-2.0], [0.0], [1.0]], [-1, -1, 1], [[0.5], [2.0]], [-1, 1])
    conditions = optimistic_conditions(small)
    two_gigabytes = np.broadcast_to(0.0, (2**14, 2**14))
    tree = Tree(replace(conditions, dual=conditions.dual._replace(A=two_gigabytes)))
    root = tree.open_bound()
    assert not tree.advance(1)
    assert (tree.nodes, tree.unresolved, tree.open_bound()) == (1, 1, root)
