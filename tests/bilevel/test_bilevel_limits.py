"""Time limits, Ctrl-C, absent packages, licences: an honest status or a plain sentence."""

from __future__ import annotations

import _thread
import importlib.util
import json
import sys
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from milp import solve_milp

from pessimal.bilevel import SOLVERS, solve
from pessimal.bilevel.backends import Backend, Effort, Handle, SolverResult, find_backend
from pessimal.bilevel.paper import optimistic_program, pessimistic_program, proved_multiplier_cap
from pessimal.certificate import certify
from pessimal.datasets import load_diabetes, paper_split
from pessimal.errors import InvalidInputError, MissingExtraError, SolverError
from pessimal.lp.highs import LinearProgram
from pessimal.problem import Budget, TuningProblem
from pessimal.solvers.base import Status

TRAPS = json.loads((Path(__file__).parent / "traps.json").read_text())
LARGE = TRAPS["cases"][1]
"""A draw that no solver finishes within a tenth of a second."""

MODULES = {"highs": "highspy", "scip": "pyscipopt", "gurobi": "gurobipy", "cplex": "cplex"}


@pytest.fixture
def small() -> TuningProblem:
    return TuningProblem([[-1.0], [0.5], [1.0]], [-1, -1, 1], [[0.2], [-0.3]], [1, -1])


@pytest.fixture
def large() -> TuningProblem:
    return TuningProblem(**TRAPS["instances"][LARGE["instance"]])


class Fake(Backend):
    """A solver that answers what a test makes it answer."""

    name = "Fake 1.0"

    def __init__(self, prepare: Callable[[LinearProgram, Effort], Handle]) -> None:
        self._prepare = prepare

    def prepare(self, program: LinearProgram, effort: Effort) -> Handle:
        return self._prepare(program, effort)


def use(
    monkeypatch: pytest.MonkeyPatch, prepare: Callable[[LinearProgram, Effort], Handle]
) -> None:
    monkeypatch.setattr(solve, "find_backend", lambda _: Fake(prepare))


def answering(result: SolverResult) -> Callable[[LinearProgram, Effort], Handle]:
    return lambda _program, _effort: Handle(lambda: None, lambda: None, lambda: result)


@pytest.mark.parametrize("solver", SOLVERS)
def test_a_tiny_time_limit_leaves_a_certified_point_and_a_valid_bound(
    solver: str, large: TuningProblem
) -> None:
    if importlib.util.find_spec(MODULES[solver]) is None:
        pytest.skip(f"{MODULES[solver]} is not installed")
    flipped = np.ones(large.n_val, dtype=np.bool_)
    outcome = solve_milp(large, Budget(), flipped, solver, time_limit=0.02)
    found = large.val_loss(outcome.w, outcome.b)
    assert outcome.status is Status.TIME_LIMIT
    assert 0.0 <= outcome.lower_bound <= LARGE["objective"] + 1e-6 <= found + 2e-6
    assert certify(large, Budget(), flipped, outcome.box, outcome.w, outcome.b, found).ok


def test_a_tiny_time_limit_on_the_optimistic_program_too(small: TuningProblem) -> None:
    outcome = solve_milp(small, time_limit=1e-6)
    found = small.val_loss(outcome.w, outcome.b)
    assert outcome.status is Status.TIME_LIMIT
    assert outcome.lower_bound == 0.0
    assert certify(small, Budget(), None, outcome.box, outcome.w, outcome.b, found).ok


@pytest.mark.parametrize("solver", SOLVERS)
def test_ctrl_c_stops_the_solver_and_keeps_the_best_point(
    solver: str, large: TuningProblem, monkeypatch: pytest.MonkeyPatch
) -> None:
    if importlib.util.find_spec(MODULES[solver]) is None:
        pytest.skip(f"{MODULES[solver]} is not installed")
    real = find_backend(solver)

    def prepare(program: LinearProgram, effort: Effort) -> Handle:
        handle = real.prepare(program, effort)

        def run() -> object:
            _thread.interrupt_main()
            return handle.run()

        return replace(handle, run=run)

    use(monkeypatch, prepare)
    flipped = np.ones(large.n_val, dtype=np.bool_)
    outcome = solve_milp(large, Budget(), flipped, solver)
    found = large.val_loss(outcome.w, outcome.b)
    assert outcome.status is Status.INTERRUPTED
    # The tail was never looked at, so that nothing but 0 bounds it.
    assert outcome.lower_bound == 0.0
    assert certify(large, Budget(), flipped, outcome.box, outcome.w, outcome.b, found).ok


def test_ctrl_c_keeps_the_bound_of_a_single_program(
    small: TuningProblem, monkeypatch: pytest.MonkeyPatch
) -> None:
    stopped = threading.Event()

    def run() -> object:
        _thread.interrupt_main()
        return stopped.wait()

    result = SolverResult(None, 0.001, Status.OPTIMAL, 7)
    use(monkeypatch, lambda _program, _effort: Handle(run, stopped.set, lambda: result))
    outcome = solve_milp(small)
    assert stopped.is_set()
    assert (outcome.status, outcome.lower_bound, outcome.nodes) == (Status.INTERRUPTED, 0.001, 7)


def test_an_end_the_adaptor_does_not_know_proves_nothing(
    small: TuningProblem, monkeypatch: pytest.MonkeyPatch
) -> None:
    use(monkeypatch, answering(SolverResult(None, 99.0, Status.NOT_PROVED, 0)))
    outcome = solve_milp(small)
    assert outcome.status is Status.NOT_PROVED
    assert outcome.lower_bound == 0.0
    assert any("not proved" in note for note in outcome.notes)


def test_an_answer_that_fails_the_certificate_is_not_reported(
    small: TuningProblem, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A solver that claims objective 0 at w = 0, b = 0 in the full box."""

    def prepare(program: LinearProgram, effort: Effort) -> Handle:
        x = np.where(np.isinf(program.lower), 0.0, np.maximum(program.lower, 0.0))
        return answering(SolverResult(x, 0.0, Status.OPTIMAL, 1))(program, effort)

    use(monkeypatch, prepare)
    outcome = solve_milp(small)
    found = small.val_loss(outcome.w, outcome.b)
    assert outcome.status is Status.NOT_PROVED
    assert outcome.lower_bound == 0.0
    assert certify(small, Budget(), None, outcome.box, outcome.w, outcome.b, found).ok


def test_an_unknown_solver_is_refused_with_the_four_that_exist(small: TuningProblem) -> None:
    with pytest.raises(InvalidInputError, match="'highs', 'scip', 'gurobi', 'cplex'"):
        solve_milp(small, solver="glpk")


@pytest.mark.parametrize("solver", ["scip", "gurobi", "cplex"])
def test_an_absent_package_is_named_with_its_extra(
    solver: str, small: TuningProblem, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, MODULES[solver], None)
    with pytest.raises(MissingExtraError, match=rf"{MODULES[solver]}.*pessimal\[solvers\]"):
        solve_milp(small, solver=solver)


@pytest.mark.parametrize(
    "complaint",
    [
        "Model too large for size-limited license; visit https://example.org",
        "CPLEX Error  1016: Community Edition. Problem size limits exceeded.",
    ],
)
def test_a_licence_that_is_too_small_is_said_in_one_plain_sentence(
    complaint: str, small: TuningProblem, monkeypatch: pytest.MonkeyPatch
) -> None:
    def prepare(_program: LinearProgram, _effort: Effort) -> Handle:
        raise RuntimeError(complaint)

    use(monkeypatch, prepare)
    with pytest.raises(SolverError, match="solver='highs' or solver='scip'") as caught:
        solve_milp(small)
    assert caught.value.__suppress_context__


def test_a_failure_of_a_solver_in_its_thread_is_reported(
    small: TuningProblem, monkeypatch: pytest.MonkeyPatch
) -> None:
    def explode() -> None:
        raise OSError("out of\nluck")

    result: Any = None
    use(monkeypatch, lambda _program, _effort: Handle(explode, explode, lambda: result))
    with pytest.raises(SolverError, match=r"Fake 1.0 failed \(out of luck\)"):
        solve_milp(small)


@pytest.mark.parametrize("time_limit", [0.0, -1.0, float("nan")])
def test_a_time_limit_must_be_positive(time_limit: float, small: TuningProblem) -> None:
    with pytest.raises(InvalidInputError, match="time_limit"):
        solve_milp(small, time_limit=time_limit)


@pytest.mark.parametrize("cap", [0.0, -1.0, float("inf"), float("nan")])
def test_a_multiplier_cap_must_be_positive_and_finite(cap: float, small: TuningProblem) -> None:
    flipped = np.ones(small.n_val, dtype=np.bool_)
    with pytest.raises(InvalidInputError, match="multiplier_cap"):
        solve_milp(small, Budget(), flipped, multiplier_cap=cap)


def test_every_big_m_states_its_reason_and_no_multiplier_is_unbounded(small: TuningProblem) -> None:
    flipped = np.ones(small.n_val, dtype=np.bool_)
    for program in (
        optimistic_program(small),
        pessimistic_program(small, Budget(0.2), flipped, (0.0, 0.01), (1.0, 1.0)),
    ):
        big_ms = [m for pair in program.big_m.values() for m in pair]
        assert all(m.reason and np.isfinite(m.value).all() for m in big_ms)
        # Only g, the validation losses, may be as large as it takes.
        assert np.isinf(program.program.upper).sum() == small.n_val


def test_the_slack_of_the_budget_caps_its_multiplier() -> None:
    problem = TuningProblem([[-1.0], [1.0], [0.0]], [-1, 1, 1], [[1.0]], [1])
    everyone = np.array([True])
    assert proved_multiplier_cap(problem, Budget(), everyone) == np.inf
    # |x·w| ≤ 1 and |b| ≤ 2, so that a hinge is at most 4; the slack is 0.5.
    assert proved_multiplier_cap(problem, Budget(delta=0.5), everyone) == 8.0


@pytest.mark.parametrize("solver", SOLVERS)
def test_a_node_limit_is_heeded(solver: str, large: TuningProblem) -> None:
    if importlib.util.find_spec(MODULES[solver]) is None:
        pytest.skip(f"{MODULES[solver]} is not installed")
    flipped = np.ones(large.n_val, dtype=np.bool_)
    outcome = solve_milp(large, Budget(), flipped, solver, node_limit=4)
    assert outcome.status is Status.NODE_LIMIT
    assert outcome.nodes <= 8  # a solver may finish the node it is at
    assert 0.0 <= outcome.lower_bound <= LARGE["objective"] + 1e-6


@pytest.mark.parametrize("node_limit", [0, -1, float("nan")])
def test_a_node_limit_must_be_positive(node_limit: int, small: TuningProblem) -> None:
    with pytest.raises(InvalidInputError, match="node_limit"):
        solve_milp(small, node_limit=node_limit)


@pytest.mark.parametrize(("epsilon", "optimum"), [(0.0, 0.232862133), (0.2, 0.238649953)])
def test_a_bound_that_a_model_contradicts_is_no_proof(
    epsilon: float, optimum: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    use(monkeypatch, answering(SolverResult.infeasible(nodes=1)))  # no point beats the first one
    split = paper_split(load_diabetes(), 15, 15, 1)
    problem = TuningProblem(split.X_train, split.y_train, split.X_val, split.y_val)
    flipped = np.ones(problem.n_val, dtype=np.bool_)
    outcome = solve_milp(problem, Budget(epsilon), flipped)
    assert problem.val_loss(outcome.w, outcome.b) > optimum + 1e-3
    assert outcome.status is Status.NOT_PROVED
    assert outcome.lower_bound <= optimum + 1e-9
    assert "below the bound" in outcome.notes[-1]
