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
from pessimal.certificate import Certificate, certify
from pessimal.errors import SolverError
from pessimal.milp import MULTIPLIER_CAP
from pessimal.milp.bounds import proved_multiplier_cap
from pessimal.milp.native import Answer, Effort, Job
from pessimal.milp.programs import Program, Range, optimistic_program, pessimistic_program
from pessimal.milp.solvers import find_solver
from pessimal.milp.standard_form import StandardForm, standard_form
from pessimal.problem import Mask, TuningProblem, Vector
from pessimal.solution import Status
from pessimal.training.linear import WarmProgram

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
            find_solver(candidate.removesuffix(DEFAULT))


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
    """The paper's program of an instance, in words and in matrices."""

    problem: TuningProblem
    flipped: Mask | None
    program: Program
    form: StandardForm
    unproved_cap: float | None


def _write(instance: Instance) -> _Milp:
    problem = instance.problem()
    if instance.view == "optimistic":
        program = optimistic_program(problem)
        return _Milp(problem, None, program, standard_form(program), None)
    flipped = np.ones(problem.n_val, dtype=np.bool_)
    proved = proved_multiplier_cap(problem, instance.budget, flipped)
    multipliers = Range(kappa=(1.0, 1.0), lam=(0.0, min(proved, MULTIPLIER_CAP)))
    program = pessimistic_program(problem, instance.budget, flipped, multipliers)
    cap = None if proved <= MULTIPLIER_CAP else MULTIPLIER_CAP
    return _Milp(problem, flipped, program, standard_form(program), cap)


def _milp(instance: Instance, candidate: str, limit: float) -> Row:
    solver = find_solver(candidate.removesuffix(DEFAULT))
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
            columns=len(milp.form.integer),
            **found,
        )

    try:
        job = solver.prepare(milp.form.matrices, Effort(limit))
        if candidate.endswith(DEFAULT):
            _DEFAULT_TOLERANCES[candidate.removesuffix(DEFAULT)](job)
        started = time.process_time()
        job.run()
        seconds = time.process_time() - started
        answer = job.read()
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


def _checked(instance: Instance, milp: _Milp, answer: Answer) -> dict[str, float | None]:
    """Certify the solver's point as it is, and once more with its binaries rounded."""
    if answer.x is None:
        return {}
    claimed = float(milp.form.matrices.cost @ answer.x)
    started = time.process_time()
    certificate = _certificate(instance, milp, answer.x)
    certificate_seconds = time.process_time() - started
    accepted = certificate
    if not certificate.ok:
        try:
            polished = WarmProgram(milp.form.with_binaries_fixed(answer.x)).minimise()
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
    part = {
        name: x[milp.form.columns(milp.program.variables[name])] for name in ("w_bar", "w", "b")
    }
    problem = milp.problem
    box = np.clip(part["w_bar"], problem.lower, problem.upper)
    w, b = np.clip(part["w"], -box, box), float(part["b"][0])
    return certify(problem, instance.budget, milp.flipped, box, w, b, problem.val_loss(w, b))


def _gurobi_default(job: Job) -> None:
    model = _model(job)
    for name in ("IntFeasTol", "FeasibilityTol", "OptimalityTol", "MIPGapAbs"):
        model.setParam(name, model.getParamInfo(name)[5])
    model.setParam("MIPGap", 1e-6)


def _cplex_default(job: Job) -> None:
    option = _model(job).parameters
    for tolerance in (
        option.mip.tolerances.integrality,
        option.mip.tolerances.absmipgap,
        option.simplex.tolerances.feasibility,
        option.simplex.tolerances.optimality,
    ):
        tolerance.reset()
    option.mip.tolerances.mipgap.set(1e-6)


def _model(job: Job) -> Any:
    """Return the solver's own model, whose method a job runs."""
    return job.run.__self__  # type: ignore[attr-defined]


_DEFAULT_TOLERANCES: dict[str, Callable[[Job], None]] = {
    "gurobi": _gurobi_default,
    "cplex": _cplex_default,
}
