"""Ours and the MILP solvers, each from an instance to a row.

The MILP solvers get the paper's single-level program as it is: no start, no cut, no tail, no second
solve. Only the solver's own run is timed. The page says what else is the same for all.
"""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cache, partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

from instances import VIEWS, Instance
from judging import FAILED, LIMIT, NOT_PROVED, OURS, PROVED, TOO_LARGE
from measuring import memory, timed, timed_apart

from pessimal import solve_optimistic, solve_pessimistic
from pessimal.bilevel import MULTIPLIER_CAP, paper
from pessimal.bilevel.backends import Effort, find_backend
from pessimal.bilevel.single_level import SingleLevel
from pessimal.certificate import Certificate, certify
from pessimal.errors import SolverError
from pessimal.lp.highs import WarmProgram
from pessimal.problem import Vector
from pessimal.solvers.base import Status, Task

GRACE = 120.0
"""Seconds beyond the limit, on the clock, after which a process that still solves ends itself."""

Found = dict[str, Any]


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
        before = memory("VmRSS")
    try:
        found = solve(Instance(**own), solver, limit)
    finally:
        overshot.cancel()
    return [{**found, "memory_before": before, "memory_peak": memory("VmHWM")}]


@cache
def _warm_up(solver: str) -> None:
    for view, epsilon in VIEWS:
        solve(Instance("warm-up", "cancer", 5, 5, 99, view, epsilon), solver, 10.0)


def solve(instance: Instance, solver: str, limit: float) -> Found:
    """Solve an instance; a failure is an answer too."""
    return _search(instance, limit) if solver == OURS else _milp(instance, solver, limit)


def _search(instance: Instance, limit: float) -> Found:
    task = instance.task()
    view = solve_optimistic
    if task.flipped is not None:
        view = partial(solve_pessimistic, budget=task.budget, flip="all")
    solution, seconds, check_seconds = timed_apart(view, task.problem, time_limit=limit)
    return {
        "version": f"pessimal {version('pessimal')}",
        "status": _ended(solution.proved, solution.status),
        "seconds": seconds,
        "objective": solution.objective,
        "bound": solution.lower_bound,
        "certified": solution.objective if solution.certificate.ok else None,
        "inner_gap": solution.certificate.inner_gap,
        "certificate_seconds": check_seconds,
    }


def _ended(proved: bool, status: Status) -> str:
    if proved:
        return PROVED
    return LIMIT if status is Status.TIME_LIMIT else NOT_PROVED


def _milp(instance: Instance, name: str, limit: float) -> Found:
    solver = find_backend(name)
    task = instance.task()
    (bilevel, cap), seconds = timed(_program, task)
    found: Found = {"version": solver.name, "build_seconds": seconds, "multiplier_cap": cap}
    try:
        handle = solver.prepare(bilevel.program, Effort(limit))
        _, seconds = timed(handle.run)
        answer = handle.read()
    except Exception as error:  # each solver raises its own
        text = " ".join(str(error).split())
        too_large = "size" in text and "limit" in text
        return {**found, "status": TOO_LARGE if too_large else FAILED, "message": text}
    found["seconds"], proved = seconds, answer.status is Status.OPTIMAL
    if answer.x is None and proved:
        # The bilevel problem always has a solution.
        message = "the solver calls the program infeasible"
        return {**found, "status": FAILED, "message": message}
    return {
        **found,
        "status": _ended(proved, answer.status),
        "bound": answer.bound if math.isfinite(answer.bound) else None,
        **({} if answer.x is None else _checked(task, bilevel, answer.x)),
    }


def _program(task: Task) -> tuple[SingleLevel, float | None]:
    """Write the paper's program; the cap on λ is returned if it is not proved to suffice."""
    problem, budget, flipped = task.problem, task.budget, task.flipped
    if flipped is None:
        return paper.optimistic_program(problem), None
    proved = paper.proved_multiplier_cap(problem, budget, flipped)
    lam = (0.0, min(proved, MULTIPLIER_CAP))
    program = paper.pessimistic_program(problem, budget, flipped, (1.0, 1.0), lam)
    return program, None if proved <= MULTIPLIER_CAP else MULTIPLIER_CAP


def _checked(task: Task, bilevel: SingleLevel, x: Vector) -> Found:
    """Certify the solver's point as it is, and once more with its binaries rounded."""
    certificate, certificate_seconds = timed(_certificate, task, bilevel, x)
    accepted = certificate
    if not certificate.ok:
        # Without a solution the pattern of the binaries lives on leaks alone.
        with suppress(SolverError):
            polished = WarmProgram(bilevel.program.with_integers_fixed(x)).minimise()
            accepted = _certificate(task, bilevel, polished)
    return {
        "objective": float(bilevel.program.cost @ x),
        "certified": accepted.objective if accepted.ok else None,
        "inner_gap": max(certificate.inner_gap, certificate.budget_violation),
        "certificate_seconds": certificate_seconds,
    }


def _certificate(task: Task, bilevel: SingleLevel, x: Vector) -> Certificate:
    problem, (box, w, b) = task.problem, paper.model_at(task.problem, bilevel, x)
    return certify(problem, task.budget, task.flipped, box, w, b, problem.val_loss(w, b))


_FRESH_PROCESS = """
import json, statistics, sys, time
began = time.process_time()
from pessimal import Budget, TuningProblem, solve_optimistic, solve_pessimistic
imported = time.process_time() - began
view, epsilon, arrays = json.load(sys.stdin)
problem, budget, seconds = TuningProblem(*arrays), Budget(epsilon=epsilon), []
solve = solve_optimistic if view == "optimistic" else lambda of: solve_pessimistic(of, budget)
for _ in range(6):
    began = time.process_time()
    solve(problem)
    seconds.append(time.process_time() - began)
import resource  # only now, so that nothing of it counts
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
times = {"first_seconds": seconds[0], "later_seconds": statistics.median(seconds[1:])}
print(json.dumps({"import_seconds": imported, **times, "memory_peak": peak}))
"""


def start_up(configuration: Mapping[str, Any]) -> list[dict[str, float]]:
    """Solve the same instance six times, checks included, in a process that imports no more."""
    view, epsilon = configuration["view"], configuration["epsilon"]
    problem = Instance("start-up", "cancer", 20, 20, 99, view, epsilon).problem()
    arrays = (problem.X_train, problem.y_train, problem.X_val, problem.y_val)
    words = json.dumps([view, epsilon, [array.tolist() for array in arrays]])
    done = subprocess.check_output([sys.executable, "-c", _FRESH_PROCESS], input=words, text=True)
    return [json.loads(done)]
