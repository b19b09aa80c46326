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
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from instances import VIEWS, Instance
from judging import FAILED, LIMIT, NOT_PROVED, OURS, PROVED, TOO_LARGE
from measuring import certificates_timed

from pessimal import solve_optimistic, solve_pessimistic
from pessimal.bilevel import MULTIPLIER_CAP, paper
from pessimal.bilevel.backends import Effort, find_backend
from pessimal.bilevel.single_level import SingleLevel
from pessimal.certificate import Certificate, certify
from pessimal.errors import SolverError
from pessimal.lp.highs import WarmProgram
from pessimal.problem import Mask, TuningProblem, Vector
from pessimal.solution import Status

DEFAULT = "-default"
CANDIDATES = (OURS, "cplex", "gurobi", "highs", "scip", "cplex" + DEFAULT, "gurobi" + DEFAULT)

GRACE = 120.0
"""Seconds beyond the limit, on the clock, after which a process that still solves ends itself."""

Found = dict[str, Any]


def require(candidates: Iterable[str]) -> None:
    """Raise `MissingExtraError` for a solver that is not installed, before anything is run."""
    for candidate in candidates:
        if candidate != OURS:
            find_backend(candidate.removesuffix(DEFAULT))


def run(configuration: Mapping[str, Any]) -> Sequence[Found]:
    """Solve an instance in a process that has warmed up, and say what memory it took."""
    own = dict(configuration)
    solver, limit = own.pop("solver"), own.pop("limit")
    _warm_up(solver)
    overshot = threading.Timer(limit + GRACE, os._exit, [1])
    overshot.start()
    before = None
    with suppress(OSError):  # Linux alone starts the peak anew
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
        before = _memory("VmRSS")
    try:
        found = solve(Instance(**own), solver, limit)
    finally:
        overshot.cancel()
    return [{**found, "memory_before": before, "memory_peak": _memory("VmHWM")}]


@cache
def _warm_up(solver: str) -> None:
    for view, epsilon in VIEWS:
        solve(Instance("warm-up", "cancer", 5, 5, 99, view, epsilon), solver, 10.0)


def _memory(field: str) -> float | None:
    """Return resident memory in MB or its peak, or None where Linux does not tell."""
    try:
        lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    except OSError:
        return None
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith(field))


def solve(instance: Instance, candidate: str, limit: float) -> Found:
    """Solve an instance; a failure is an answer too."""
    return _search(instance, limit) if candidate == OURS else _milp(instance, candidate, limit)


def _search(instance: Instance, limit: float) -> Found:
    problem = instance.problem()
    with certificates_timed() as checks:
        started = time.process_time()
        if instance.view == "optimistic":
            solution = solve_optimistic(problem, time_limit=limit)
        else:
            solution = solve_pessimistic(problem, instance.budget, flip="all", time_limit=limit)
        seconds = time.process_time() - started - sum(checks)
    return {
        "version": f"pessimal {version('pessimal')}",
        "status": PROVED if solution.proved else _unproved(solution.status),
        "seconds": seconds,
        "objective": solution.objective,
        "bound": solution.lower_bound,
        "certified": solution.objective if solution.certificate.ok else None,
        "inner_gap": solution.certificate.inner_gap,
        "certificate_seconds": sum(checks),
        "nodes": solution.nodes,
    }


def _unproved(status: Status) -> str:
    return LIMIT if status is Status.TIME_LIMIT else NOT_PROVED


@dataclass(frozen=True, eq=False)
class _Milp:
    """The paper's program of an instance."""

    instance: Instance
    problem: TuningProblem
    flipped: Mask | None
    bilevel: SingleLevel
    unproved_cap: float | None

    def certificate(self, x: Vector) -> Certificate:
        """Check a point of the program."""
        w_bar, w, b = (x[self.bilevel.columns[name]] for name in ("w_bar", "w", "b"))
        problem, offset = self.problem, float(b[0])
        box = np.clip(w_bar, problem.lower, problem.upper)
        w = np.clip(w, -box, box)
        loss = problem.val_loss(w, offset)
        return certify(problem, self.instance.budget, self.flipped, box, w, offset, loss)


def _write(instance: Instance) -> _Milp:
    problem = instance.problem()
    if instance.view == "optimistic":
        return _Milp(instance, problem, None, paper.optimistic_program(problem), None)
    flipped = np.ones(problem.n_val, dtype=np.bool_)
    proved = paper.proved_multiplier_cap(problem, instance.budget, flipped)
    lam = (0.0, min(proved, MULTIPLIER_CAP))
    program = paper.pessimistic_program(problem, instance.budget, flipped, (1.0, 1.0), lam)
    cap = None if proved <= MULTIPLIER_CAP else MULTIPLIER_CAP
    return _Milp(instance, problem, flipped, program, cap)


def _milp(instance: Instance, candidate: str, limit: float) -> Found:
    name = candidate.removesuffix(DEFAULT)
    solver = find_backend(name)
    started = time.process_time()
    milp = _write(instance)
    found: Found = {
        "version": solver.name,
        "build_seconds": time.process_time() - started,
        "multiplier_cap": milp.unproved_cap,
        "columns": len(milp.bilevel.program.cost),
    }
    try:
        handle = solver.prepare(milp.bilevel.program, Effort(limit))
        if candidate.endswith(DEFAULT):
            _reset_tolerances(name, handle.model)
        started = time.process_time()
        handle.run()
        seconds = time.process_time() - started
        answer = handle.read()
    except Exception as error:  # each solver raises its own
        text = " ".join(str(error).split())
        too_large = "size" in text and "limit" in text
        return {**found, "status": TOO_LARGE if too_large else FAILED, "message": text}
    found["seconds"] = seconds
    proved = answer.status is Status.OPTIMAL
    if answer.x is None and proved:
        # The bilevel problem always has a solution.
        message = "the solver calls the program infeasible"
        return {**found, "status": FAILED, "message": message}
    return {
        **found,
        "status": PROVED if proved else _unproved(answer.status),
        "bound": answer.bound if math.isfinite(answer.bound) else None,
        "nodes": answer.nodes,
        **({} if answer.x is None else _checked(milp, answer.x)),
    }


def _checked(milp: _Milp, x: Vector) -> Found:
    """Certify the solver's point as it is, and once more with its binaries rounded."""
    started = time.process_time()
    certificate = milp.certificate(x)
    certificate_seconds = time.process_time() - started
    accepted = certificate
    if not certificate.ok:
        try:
            polished = WarmProgram(milp.bilevel.program.with_integers_fixed(x)).minimise()
        except SolverError:
            pass  # the pattern of the binaries lives on leaks alone
        else:
            accepted = milp.certificate(polished)
    return {
        "objective": float(milp.bilevel.program.cost @ x),
        "certified": accepted.objective if accepted.ok else None,
        "inner_gap": max(certificate.inner_gap, certificate.budget_violation),
        "certificate_seconds": certificate_seconds,
    }


def _reset_tolerances(name: str, model: Any) -> None:
    if name == "gurobi":
        for option in ("IntFeasTol", "FeasibilityTol", "OptimalityTol", "MIPGapAbs"):
            model.setParam(option, model.getParamInfo(option)[5])
        model.setParam("MIPGap", 1e-6)
    else:
        mip, simplex = model.parameters.mip.tolerances, model.parameters.simplex.tolerances
        for tolerance in (mip.integrality, mip.absmipgap, simplex.feasibility, simplex.optimality):
            tolerance.reset()
        mip.mipgap.set(1e-6)
