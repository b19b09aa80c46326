"""Compare the exact search with the paper's MILP on HiGHS, SCIP, Gurobi and CPLEX.

    python benchmarks/solvers.py [--quick] [--suite grid] [--report]

Rows are stored as they come, so a run that was stopped goes on where it was; the report is written
from the stored rows.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Executor, Future
from dataclasses import asdict
from functools import partial
from itertools import chain
from typing import Any

import candidates
import pandas as pd
from instances import SUITES, VIEWS, Instance, instances, quick
from judging import CONFIGURATION, FAILED, OURS, table_of
from measuring import PATHS, command_line, measure, opened
from solver_page import START_UP, STUDY, write_page

from pessimal.bilevel.backends import SOLVERS as BACKENDS
from pessimal.bilevel.backends import find_backend
from pessimal.environment import measured_version
from pessimal.reproduction import Configuration, Store, Study
from pessimal.reproduction.executors import Processes
from pessimal.reproduction.store import encode

ONE_THREAD = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")

SEEDS = (100, 101)
SOLVERS = (OURS, *sorted(BACKENDS))
TIME_LIMIT = 60.0
SOLVER_LIMITS = {"highs": 10.0, "scip": 10.0}
SOLVER_SEEDS = {"highs": 1, "scip": 1}
"""HiGHS and SCIP reach their limit so often that one draw shows it."""
QUICK_LIMIT = 2.0

Task = tuple[Instance, str, float]


def main(arguments: Sequence[str] | None = None) -> None:
    words = list(sys.argv[1:] if arguments is None else arguments)
    options = _parse(words)
    with opened(options) as (store, docs):
        if not options.report:
            for name in set(options.solvers) - {OURS}:
                find_backend(name)  # which raises where one is not known or not installed
            os.environ.update(dict.fromkeys(ONE_THREAD, "1"))
            _, asked = PATHS.parse_known_args(words)
            command = " ".join(["python", "benchmarks/solvers.py", *asked])
            run(list(tasks(options, stored_rows(store))), store, options.jobs, command)
        write_page(store, stored_rows(store), docs)


def stored_rows(store: Store) -> pd.DataFrame:
    """Return the rows of all runs."""
    return table_of(store.records(STUDY, all_runs=True) if STUDY in store.studies() else ())


def tasks(options: argparse.Namespace, rows: pd.DataFrame) -> Iterator[Task]:
    """Yield what is left to solve, failures again; the solvers take turns on each instance."""
    solved = rows[rows["status"] != FAILED]
    done = set(zip(solved["key"], solved["solver"], strict=True))
    limits = SOLVER_LIMITS | options.solver_limit
    n_seeds = SOLVER_SEEDS | options.solver_seeds
    if options.quick:
        limits = dict.fromkeys(SOLVERS, min(QUICK_LIMIT, options.time_limit))
        asked = [quick(options.seeds)]
    else:
        suites = SUITES if options.suite == "all" else [options.suite]
        asked = [instances(suite, options.seeds) for suite in suites]
    for instance in chain.from_iterable(asked):
        for solver in options.solvers:
            seeds = options.seeds[: n_seeds.get(solver, len(options.seeds))]
            if instance.seed in seeds and (instance.key, solver) not in done:
                yield instance, solver, limits.get(solver, options.time_limit)


def run(left: Sequence[Task], store: Store, jobs: int, command: str) -> None:
    """Solve the tasks, `jobs` at a time, each solver in processes of its own; keep failures too."""
    views: tuple[Configuration, ...] = tuple({"view": v, "epsilon": e} for v, e in VIEWS)
    measure(Study(START_UP, views, start_up, measured_version), store, command)
    asked = tuple(
        {**asdict(instance), "solver": solver, "limit": limit} for instance, solver, limit in left
    )
    study = Study(STUDY, asked, candidates.run, measured_version)
    rows = stored_rows(store)
    failed = rows.loc[rows["status"] == FAILED, CONFIGURATION].to_dict("records")
    store.discard(STUDY, measured_version(), failed)
    with ProcessesBySolver(jobs) as executor:
        result = measure(study, store, command, executor, jobs)
    for failure in result.failures:
        row = encode([{"version": "", "status": FAILED, "message": failure.error}])
        store.add(result.number, failure.configuration, row, seconds=0.0, elapsed=0.0)


class ProcessesBySolver(Executor):
    """Processes that run one solver each, so that none inherits another's memory or threads."""

    def __init__(self, jobs: int) -> None:
        self._of = defaultdict[str, Executor](partial(Processes, jobs))

    def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Hand a call over to the processes of the solver that its configuration names."""
        return self._of[args[1]["solver"]].submit(fn, *args, **kwargs)

    def __exit__(self, *error: Any) -> None:
        for processes in self._of.values():
            processes.__exit__(*error)


_FRESH_PROCESS = """
import json, statistics, sys, time
began = time.process_time()
from pessimal import Budget, TuningProblem, solve_optimistic, solve_pessimistic
imported = time.process_time() - began
view, epsilon, arrays = json.load(sys.stdin)
problem, seconds = TuningProblem(*arrays), []
for _ in range(6):
    began = time.process_time()
    if view == "optimistic":
        solution = solve_optimistic(problem)
    else:
        solution = solve_pessimistic(problem, Budget(epsilon=epsilon))
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
    done = subprocess.run(
        [sys.executable, "-c", _FRESH_PROCESS],
        check=True,
        capture_output=True,
        text=True,
        input=json.dumps([view, epsilon, [array.tolist() for array in arrays]]),
    )
    return [json.loads(done.stdout)]


def _parse(words: Sequence[str]) -> argparse.Namespace:
    parser = command_line(__doc__, "results")
    add = parser.add_argument
    add("--suite", choices=[*SUITES, "all"], default="grid")
    add("--seeds", type=partial(_several, kind=int), default=SEEDS, metavar="N,N,...")
    add("--solvers", type=_several, default=SOLVERS, metavar="NAME,NAME,...")
    add("--time-limit", type=float, default=TIME_LIMIT, metavar="SECONDS")
    limits = f"for single solvers (default {SOLVER_LIMITS})"
    add("--solver-limit", type=_by_solver, default={}, metavar="NAME=SECONDS,...", help=limits)
    counts = f"only the first N seeds for single solvers (default {SOLVER_SEEDS})"
    whole = partial(_by_solver, kind=int)
    add("--solver-seeds", type=whole, default={}, metavar="NAME=N,...", help=counts)
    add("--jobs", type=int, default=1, help="instances at a time; more than 1 blurs the times")
    return parser.parse_args(words)


def _several(text: str, kind: type = str) -> tuple[Any, ...]:
    return tuple(kind(word) for word in text.split(","))


def _by_solver(text: str, kind: type = float) -> dict[str, Any]:
    return {name: kind(value) for name, value in (word.split("=") for word in text.split(","))}


if __name__ == "__main__":
    main()
