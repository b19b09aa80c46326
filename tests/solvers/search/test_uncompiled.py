"""Search and worst cases give the same answer, bit by bit, compiled and as plain Python."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import pessimal
from pessimal import Budget, TuningProblem, TuningSolution, solve_optimistic, solve_pessimistic
from pessimal.datasets import load_cancer, load_diabetes, paper_split
from pessimal.near_optimal.polyhedral.cases import WorstCases

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


def test_plain_python_gives_the_same_answers(tmp_path: Path) -> None:
    compiled = pessimal.solvers.search.tree.__file__
    if compiled.endswith(".py"):
        pytest.skip("the search is not compiled")
    shutil.copytree(
        Path(pessimal.__file__).parent,
        tmp_path / "pessimal",
        ignore=shutil.ignore_patterns("*.so", "*.pyd", "__pycache__"),
    )
    run = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(Path(__file__).parent)],
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=True,
    )
    plain = json.loads(run.stdout)
    places = "solvers/search", "near_optimal/polyhedral"
    assert plain["files"] == [str(tmp_path / "pessimal" / place / "tree.py") for place in places]
    expected = answers()
    assert plain["answers"] == expected
    assert sum(int(str(answer["nodes"])) for answer in expected.values()) > 20
