"""Search and worst cases give the same answer, bit by bit, compiled and as plain Python."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import pessimal
from pessimal import Budget, TuningProblem, TuningSolution, solve_optimistic, solve_pessimistic
from pessimal.datasets import load_cancer, load_diabetes, paper_split
from pessimal.near_optimal.polyhedral.cases import WorstCases
from pessimal.solvers.search import tree

# Solves what `answers` solves below, in a process that finds the copy without compiled modules.
SCRIPT = """
import json
import sys

import pessimal.solvers.search.tree
import pessimal.near_optimal.polyhedral.tree

sys.path.append(sys.argv[1])
from test_uncompiled import answers

files = [pessimal.solvers.search.tree.__file__, pessimal.near_optimal.polyhedral.tree.__file__]
json.dump({"files": files, "answers": answers()}, sys.stdout)
"""

# Finds the optima again in other ways: only plain Python lets its constants be set.
OTHER_ORDERS = """
import json
import sys

from pessimal.solvers.search import node

sys.path.append(sys.argv[1])
from test_uncompiled import optima

node.FIRST_DIVE, node.DIVE = 0.0, 0
best_first = optima()
node.BEST_FIRST_SHARE = 1e-5
crowded = optima()
json.dump([best_first, crowded], sys.stdout)
"""

OTHER_ESTIMATES = """
import json
import sys

from pessimal.solvers.search import conflicts, pseudo_costs

sys.path.append(sys.argv[1])
from test_uncompiled import optima

written = conflicts.ConflictFinder.write_children


def write_children(self, node):
    size = written(self, node)
    bounds = node.bound[: max(size, 0)]
    assert all(bounds[:-1] >= bounds[1:]), "the last child must have the lowest bound"
    return size


conflicts.ConflictFinder.write_children = write_children
pseudo_costs.RELIABLE = 1
rash = optima()
pseudo_costs.RELIABLE = 10**9
strong_branching = optima()
json.dump([rash, strong_branching], sys.stdout)
"""


def optima() -> list[tuple[float, bool, int]]:
    """Solve a small instance in all views: objective, whether it is proved, number of nodes."""
    split = paper_split(load_diabetes(), 8, 8, 1)
    problem = TuningProblem(split.X_train, split.y_train, split.X_val, split.y_val)
    budgets = Budget(0.0), Budget(0.2)
    solutions = [solve_optimistic(problem), *(solve_pessimistic(problem, b) for b in budgets)]
    return [(solution.objective, solution.proved, solution.nodes) for solution in solutions]


def answers() -> dict[str, dict[str, object]]:
    """Solve two small instances in both views; floats as text that loses no bit."""
    found = {}
    for dataset, n_train, n_val, seed in ((load_diabetes(), 5, 5, 0), (load_cancer(), 10, 10, 0)):
        split = paper_split(dataset, n_train, n_val, seed)
        problem = TuningProblem(split.X_train, split.y_train, split.X_val, split.y_val)
        name = f"{dataset.name} {n_train}/{n_val}"
        found[f"{name} optimistic"] = _exact(solve_optimistic(problem))
        for epsilon in (0.0, 0.2):
            solution = solve_pessimistic(problem, Budget(epsilon))
            found[f"{name} pessimistic {epsilon}"] = _exact(solution)
        one = solve_pessimistic(problem, Budget(0.2, 0.1), inner="exact", groups="one")
        found[f"{name} exact"] = _exact(one)
        found[f"{name} worst case"] = _exact_worst_case(problem)
    return found


def _exact(solution: TuningSolution) -> dict[str, object]:
    return {
        "objective": solution.objective.hex(),
        "lower_bound": solution.lower_bound.hex(),
        "box": [float(value).hex() for value in solution.box],
        "coef": [float(value).hex() for value in solution.coef],
        "intercept": solution.intercept.hex(),
        "nodes": solution.nodes,
        "proved": solution.proved,
    }


def _exact_worst_case(problem: TuningProblem) -> dict[str, object]:
    cases = WorstCases(problem, Budget(0.4, 0.1))
    worst = cases.worst(0.5 * problem.upper, cases.limit(0.5 * problem.upper))
    return {
        "value": worst.value.hex(),
        "upper_bound": worst.upper_bound.hex(),
        "u": [float(value).hex() for value in worst.u],
        "nodes": worst.nodes,
    }


@pytest.fixture
def plain_path(tmp_path: Path) -> Path:
    """Return where a copy of the package without compiled modules is found."""
    if tree.__file__.endswith(".py"):
        pytest.skip("the search is not compiled")
    shutil.copytree(
        Path(pessimal.__file__).parent,
        tmp_path / "pessimal",
        ignore=shutil.ignore_patterns("*.so", "*.pyd", "__pycache__"),
    )
    return tmp_path


def _run(script: str, path: Path) -> Any:
    run = subprocess.run(
        [sys.executable, "-c", script, str(Path(__file__).parent)],
        env={**os.environ, "PYTHONPATH": str(path)},
        capture_output=True,
        text=True,
        check=True,
    )
    return json.loads(run.stdout)


def test_plain_python_gives_the_same_answers(plain_path: Path) -> None:
    plain = _run(SCRIPT, plain_path)
    places = "solvers/search", "near_optimal/polyhedral"
    assert plain["files"] == [str(plain_path / "pessimal" / place / "tree.py") for place in places]
    expected = answers()
    assert plain["answers"] == expected
    assert sum(int(str(answer["nodes"])) for answer in expected.values()) > 20


def test_the_order_of_nodes_does_not_change_the_optimum(plain_path: Path) -> None:
    assert_same_optima(_run(OTHER_ORDERS, plain_path))


def test_pseudo_costs_do_not_change_the_optimum(plain_path: Path) -> None:
    assert_same_optima(_run(OTHER_ESTIMATES, plain_path))


def assert_same_optima(others: list[list[tuple[float, bool, int]]]) -> None:
    """Hold the optima that two other searches prove, each by its own nodes, against the usual."""
    usual = optima()
    assert all(proved for _, proved, _ in usual)
    assert max(nodes for _, _, nodes in usual) > 50
    for rows in others:
        assert [row[1] for row in rows] == [True, True, True]
        assert [row[0] for row in rows] == pytest.approx([row[0] for row in usual], abs=2e-7)
    nodes = [[row[2] for row in rows] for rows in (usual, *others)]
    assert nodes[0] != nodes[1] != nodes[2]
