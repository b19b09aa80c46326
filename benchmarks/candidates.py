"""Ours and the MILP solvers, each from an instance to a row.

The MILP solvers get the paper's single-level program as it is: every M proved, the multiplier λ of
the training budget at most 1000 where the data prove no smaller bound; no start, no cut, no tail,
no second solve. Only the solver's own run is timed, in CPU seconds of its process, which has solved
three small instances before.

The package's adaptors ask Gurobi and CPLEX for tolerances of 1e-9, for with their own the
integrality tolerance leaks through the Ms; HiGHS and SCIP keep theirs. ``gurobi-default`` and
``cplex-default`` take the solvers' own tolerances and a relative gap of 1e-6, to show what that
changes.
"""

from __future__ import annotations

import math
import os
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from instances import VIEWS, Instance
from judging import FAILED, LIMIT, NOT_PROVED, OURS, PROVED, TOO_LARGE, Row
from measuring import certificates_timed

from pessimal import solve_optimistic, solve_pessimistic
from pessimal.bilevel import MULTIPLIER_CAP, paper
from pessimal.bilevel.backends import Effort, SolverResult, find_backend
from pessimal.bilevel.single_level import SingleLevel
from pessimal.certificate import Certificate, certify
from pessimal.errors import SolverError
from pessimal.lp.highs import WarmProgram
from pessimal.problem import Mask, TuningProblem, Vector
from pessimal.solution import Status

DEFAULT = "-default"
CANDIDATES = (OURS, "cplex", "gurobi", "highs", "scip", "cplex" + DEFAULT, "gurobi" + DEFAULT)

_CLAIMS = {Status.OPTIMAL: PROVED, Status.TIME_LIMIT: LIMIT}
_INSTANCE = tuple(field.name for field in fields(Instance))

GRACE = 120.0
"""Seconds beyond the limit, on the clock, after which a process that still solves ends itself."""


def require(candidates: Iterable[str]) -> None:
    """Raise `MissingExtraError` for a solver that is not installed, before anything is run."""
    for candidate in candidates:
        if candidate != OURS:
            find_backend(candidate.removesuffix(DEFAULT))


def run(configuration: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    """Solve an instance in a process that has warmed up, and say what memory it took."""
    solver, limit, *own = (configuration[name] for name in ("solver", "limit", *_INSTANCE))
    _warm_up(solver)
    overshot = threading.Timer(limit + GRACE, os._exit, [1])
    overshot.start()
    before = _reset_peak()
    try:
        row = solve(Instance(*own), solver, limit)
    finally:
        overshot.cancel()
    found = replace(row, memory_before=before, memory_peak=peak_memory()).record
    return [{name: value for name, value in found.items() if name not in configuration}]


@cache
def _warm_up(solver: str) -> None:
    for view, epsilon in VIEWS:
        solve(Instance("warm-up", "cancer", 5, 5, 99, view, epsilon), solver, 10.0)


def solve(instance: Instance, candidate: str, limit: float) -> Row:
    """Solve an instance; a failure is a row too."""
    return _search(instance, limit) if candidate == OURS else _milp(instance, candidate, limit)


def _reset_peak() -> float | None:
    """Start the peak anew; return the memory in use in MB, or None where Linux does not tell."""
    try:
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
    except OSError:
        return None
    return peak_memory("VmRSS")


def peak_memory(field: str = "VmHWM") -> float | None:
    """Return the peak of resident memory in MB since it was reset, or since the process began."""
    try:
        lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    except OSError:
        return None
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith(field))


def _search(instance: Instance, limit: float) -> Row:
    problem = instance.problem()
    with certificates_timed() as checks:
        started = time.process_time()
        if instance.view == "optimistic":
            solution = solve_optimistic(problem, time_limit=limit)
        else:
            solution = solve_pessimistic(problem, instance.budget, flip="all", time_limit=limit)
        seconds = time.process_time() - started - sum(checks)
    limited = solution.status is Status.TIME_LIMIT
    return Row(
        instance=instance,
        solver=OURS,
        version=f"pessimal {version('pessimal')}",
        limit=limit,
        status=PROVED if solution.proved else LIMIT if limited else NOT_PROVED,
        seconds=seconds,
        objective=solution.objective,
        bound=solution.lower_bound,
        certified=solution.objective if solution.certificate.ok else None,
        inner_gap=solution.certificate.inner_gap,
        certificate_seconds=sum(checks),
        nodes=solution.nodes,
    )


@dataclass(frozen=True, eq=False)
class _Milp:
    """The paper's program of an instance."""

    problem: TuningProblem
    flipped: Mask | None
    bilevel: SingleLevel
    unproved_cap: float | None


def _write(instance: Instance) -> _Milp:
    problem = instance.problem()
    if instance.view == "optimistic":
        return _Milp(problem, None, paper.optimistic_program(problem), None)
    flipped = np.ones(problem.n_val, dtype=np.bool_)
    proved = paper.proved_multiplier_cap(problem, instance.budget, flipped)
    lam = (0.0, min(proved, MULTIPLIER_CAP))
    program = paper.pessimistic_program(problem, instance.budget, flipped, (1.0, 1.0), lam)
    cap = None if proved <= MULTIPLIER_CAP else MULTIPLIER_CAP
    return _Milp(problem, flipped, program, cap)


def _milp(instance: Instance, candidate: str, limit: float) -> Row:
    solver = find_backend(candidate.removesuffix(DEFAULT))
    started = time.process_time()
    milp = _write(instance)
    build_seconds = time.process_time() - started

    def row(status: str, **found: Any) -> Row:
        return Row(
            instance=instance,
            solver=candidate,
            version=solver.name,
            limit=limit,
            status=status,
            build_seconds=build_seconds,
            multiplier_cap=milp.unproved_cap,
            columns=len(milp.bilevel.program.cost),
            **found,
        )

    try:
        handle = solver.prepare(milp.bilevel.program, Effort(limit))
        if candidate.endswith(DEFAULT):
            _DEFAULT_TOLERANCES[candidate.removesuffix(DEFAULT)](handle.model)
        started = time.process_time()
        handle.run()
        seconds = time.process_time() - started
        answer = handle.read()
    except Exception as error:  # each solver raises its own
        text = " ".join(str(error).split())
        return row(TOO_LARGE if "size" in text and "limit" in text else FAILED, message=text)
    claim = _CLAIMS.get(answer.status, NOT_PROVED)
    if answer.x is None and claim == PROVED:
        # The bilevel problem always has a solution.
        return row(FAILED, seconds=seconds, message="the solver calls the program infeasible")
    return row(
        claim,
        seconds=seconds,
        bound=answer.bound if math.isfinite(answer.bound) else None,
        nodes=answer.nodes,
        **_checked(instance, milp, answer),
    )


def _checked(instance: Instance, milp: _Milp, answer: SolverResult) -> dict[str, float | None]:
    """Certify the solver's point as it is, and once more with its binaries rounded."""
    if answer.x is None:
        return {}
    claimed = float(milp.bilevel.program.cost @ answer.x)
    started = time.process_time()
    certificate = _certificate(instance, milp, answer.x)
    certificate_seconds = time.process_time() - started
    accepted = certificate
    if not certificate.ok:
        try:
            polished = WarmProgram(milp.bilevel.program.with_integers_fixed(answer.x)).minimise()
        except SolverError:
            pass  # the pattern of the binaries lives on leaks alone
        else:
            accepted = _certificate(instance, milp, polished)
    return {
        "objective": claimed,
        "certified": accepted.objective if accepted.ok else None,
        "inner_gap": max(certificate.inner_gap, certificate.budget_violation),
        "certificate_seconds": certificate_seconds,
    }


def _certificate(instance: Instance, milp: _Milp, x: Vector) -> Certificate:
    part = {name: x[milp.bilevel.columns[name]] for name in _POINT}
    problem = milp.problem
    box = np.clip(part["w_bar"], problem.lower, problem.upper)
    w, b = np.clip(part["w"], -box, box), float(part["b"][0])
    return certify(problem, instance.budget, milp.flipped, box, w, b, problem.val_loss(w, b))


_POINT = ("w_bar", "w", "b")


def _gurobi_default(model: Any) -> None:
    for name in ("IntFeasTol", "FeasibilityTol", "OptimalityTol", "MIPGapAbs"):
        model.setParam(name, model.getParamInfo(name)[5])
    model.setParam("MIPGap", 1e-6)


def _cplex_default(model: Any) -> None:
    option = model.parameters
    for tolerance in (
        option.mip.tolerances.integrality,
        option.mip.tolerances.absmipgap,
        option.simplex.tolerances.feasibility,
        option.simplex.tolerances.optimality,
    ):
        tolerance.reset()
    option.mip.tolerances.mipgap.set(1e-6)


_DEFAULT_TOLERANCES: dict[str, Callable[[Any], None]] = {
    "gurobi": _gurobi_default,
    "cplex": _cplex_default,
}
