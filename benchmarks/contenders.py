"""Ours and the MILP solvers, each from an instance to a row.

The MILP solvers get the paper's single-level program as it is: every M proved, the multiplier λ of
the training budget at most 1000 where the data prove no smaller bound; no start, no cut, no tail,
no second solve. Only the solver's own run is timed.

Times are CPU seconds of the process.

The package's adaptors ask Gurobi and CPLEX for tolerances of 1e-9, for with their own the
integrality tolerance leaks through the Ms; HiGHS and SCIP keep theirs. ``gurobi-default`` and
``cplex-default`` take the solvers' own tolerances and a relative gap of 1e-6, to show what that
changes.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any

import numpy as np
from instances import Instance
from rows import FAILED, LIMIT, NOT_PROVED, OURS, PROVED, TOO_LARGE, Row
from timing import certificates_timed

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
CONTENDERS = (OURS, "cplex", "gurobi", "highs", "scip", "cplex" + DEFAULT, "gurobi" + DEFAULT)

_CLAIMS = {Status.OPTIMAL: PROVED, Status.TIME_LIMIT: LIMIT}


def require(contenders: Iterable[str]) -> None:
    """Raise `MissingExtraError` for a solver that is not installed, before anything is run."""
    for contender in contenders:
        if contender != OURS:
            find_backend(contender.removesuffix(DEFAULT))


def run(instance: Instance, contender: str, limit: float) -> Row:
    """Solve an instance; a failure is a row too."""
    if contender == OURS:
        return _search(instance, limit)
    return _milp(instance, contender, limit)


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


def _milp(instance: Instance, contender: str, limit: float) -> Row:
    solver = find_backend(contender.removesuffix(DEFAULT))
    started = time.process_time()
    milp = _write(instance)
    build_seconds = time.process_time() - started

    def row(status: str, **found: Any) -> Row:
        return Row(
            instance=instance,
            solver=contender,
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
        if contender.endswith(DEFAULT):
            _DEFAULT_TOLERANCES[contender.removesuffix(DEFAULT)](handle.model)
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
