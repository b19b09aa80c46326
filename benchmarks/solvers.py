"""Compare the exact search with the paper's MILP on HiGHS, SCIP, Gurobi and CPLEX.

    python benchmarks/solvers.py [--quick] [--suite grid] [--report]

Rows are stored as they come, so a run that was stopped goes on where it was; the report is written
from the stored rows.
"""

from __future__ import annotations

import argparse
import os
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor, Future
from dataclasses import asdict
from functools import partial
from typing import Any

import candidates
import judging
import numpy as np
import pandas as pd
from instances import SUITES, VIEWS, instances
from judging import FAILED, OURS, judge
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from measuring import COLOURS, PATHS, command_line, machine, measure, opened, panels, render, write

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

STUDY, START_UP = "solvers", "start-up"
LOSSES_LISTED = 15

_SUITES = {
    "grid": "The paper's sizes: |T| and |V| from 5 to 20",
    "large": "More rows: |T| = |V| = 30, 40, 60, 100",
    "wide": "More features: 20, 50, 100, with |T| = |V| = 50",
    "both": "30 features, with |T| = |V| = 100",
}


def stored_rows(store: Store) -> pd.DataFrame:
    """Return the rows of all runs."""
    return judging.table_of(store.records(STUDY, all_runs=True) if STUDY in store.studies() else ())


def tasks(options: argparse.Namespace, rows: pd.DataFrame) -> Iterator[Configuration]:
    """Yield what is left to solve, failures again; the solvers take turns on each instance."""
    solved = rows[rows["status"] != FAILED]
    done = set(zip(solved["key"], solved["solver"], strict=True))
    limits = SOLVER_LIMITS | options.solver_limit
    n_seeds = SOLVER_SEEDS | options.solver_seeds
    suites = SUITES if options.suite == "all" else [options.suite]
    asked = [one for suite in suites for one in instances(suite, options.seeds)]
    if options.quick:  # a handful of the grid: the first seed, |T| = |V|
        limits = dict.fromkeys(SOLVERS, min(QUICK_LIMIT, options.time_limit))
        grid = instances("grid", options.seeds[:1])
        asked = [one for one in grid if one.n_train == one.n_val != 15]
    for instance in asked:
        for solver in options.solvers:
            seeds = options.seeds[: n_seeds.get(solver, len(options.seeds))]
            if instance.seed in seeds and (instance.key, solver) not in done:
                limit = limits.get(solver, options.time_limit)
                yield {**asdict(instance), "solver": solver, "limit": limit}


def run(left: Iterable[Configuration], store: Store, jobs: int, command: str) -> None:
    """Solve the tasks, `jobs` at a time, each solver in processes of its own; keep failures too."""
    views: tuple[Configuration, ...] = tuple({"view": v, "epsilon": e} for v, e in VIEWS)
    measure(Study(START_UP, views, candidates.start_up), store, command)
    study = Study(STUDY, tuple(left), candidates.run)
    rows = stored_rows(store)
    failed = rows.loc[rows["status"] == FAILED, judging.CONFIGURATION].to_dict("records")
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


def text(
    rows: pd.DataFrame, starts: Sequence[Mapping[str, Any]], measured: Mapping[str, Any]
) -> str:
    """Return the page in Markdown."""
    judged = judge(rows)
    judged = judged.assign(view=[*map(_view, judged["view"], judged["epsilon"])])
    slower = judging.losses(judged)
    failed = judged[judged["status"].isin((FAILED, judging.NOT_PROVED))]
    failed = failed.assign(message=failed["message"].replace("", "stopped without a proof"))
    return render(
        "benchmarks",
        **measured,
        seeds=sorted(set(rows["seed"])),
        suites={
            title: _summary(suite, judged[judged["suite"] == suite])
            for suite, title in _SUITES.items()
            if suite in set(judged["suite"])
        },
        figure="grid" in set(judged["suite"]),
        losses=slower,
        slower=sorted(slower["solver"].value_counts().loc[lambda n: n > 0].items()),
        listed=LOSSES_LISTED,
        wrong=judged[judged["wrong"]],
        failures=failed[["key", "solver", "status", "message"]].to_numpy().tolist(),
        starts=[{**start, "view": _view(start["view"], start["epsilon"])} for start in starts],
        overheads=_overheads(judged),
        names={"ours": OURS, "limit": judging.LIMIT, "too_large": judging.TOO_LARGE},
    )


def _view(view: str, epsilon: float) -> str:
    return view if view == "optimistic" else f"{view}, ε = {epsilon:g}"


def _summary(suite: str, rows: pd.DataFrame) -> pd.DataFrame:
    label = rows["data"]
    if suite == "large":
        label = label + ", " + rows["n_train"].astype(str)
    rows = rows.assign(label=label)
    if suite == "grid" and label.nunique() > 1:
        rows = pd.concat([rows, rows.assign(label="both data sets")], ignore_index=True)
    rows["label"] = pd.Categorical(rows["label"], rows["label"].unique())
    return judging.summarise(rows, ["view", "label", "solver"]).reset_index()


def _overheads(rows: pd.DataFrame) -> pd.DataFrame:
    on_grid = rows["certificate_seconds"].where(rows["suite"] == "grid")
    growth = rows["memory_peak"] - rows["memory_before"]
    by_solver = rows.assign(on_grid=on_grid, growth=growth).groupby("solver", observed=True)
    return by_solver.agg(
        check=("certificate_seconds", "median"),
        longest=("on_grid", "max"),
        build=("build_seconds", "median"),
        peak=("memory_peak", "max"),
        growth=("growth", "max"),
    )


def profile(judged: pd.DataFrame) -> Figure:
    """Draw by view the share of instances proved in a given time, of those every solver ran on."""
    colour = dict(zip(judged["solver"].cat.categories, COLOURS, strict=False))

    def draw(panel: Axes, view: tuple[str, float], rows: pd.DataFrame) -> str:
        names = rows["solver"].cat.remove_unused_categories().cat.categories
        common = rows[rows.groupby("key")["solver"].transform("size") == len(names)]
        count = common["key"].nunique()
        for name in names:
            own = common[common["solver"] == name]
            proofs = np.sort(own.loc[~own["wrong"] & np.isfinite(own["proof"]), "proof"])
            # Beyond its limit nothing is known of a solver.
            end = own["given"].max() if count else 1.0
            proved = np.minimum(np.arange(1, len(proofs) + 2), len(proofs))
            panel.step(
                [*proofs, end],
                100.0 * proved / max(count, 1),
                where="post",
                color=colour[name],
                linewidth=2.2 if name == OURS else 1.2,
                label=name,
            )
        panel.set(xscale="log", ylim=(0.0, 102.0), xlabel="CPU seconds, one thread")
        panel.grid(alpha=0.3)
        return f"{_view(*view)} ({count})"

    views = judged.groupby(["view", "epsilon"])
    figure = panels("solvers", views, draw, height=3.2, sharey=True)
    figure.axes[0].set_ylabel("instances proved, %")
    return figure


def _parse(arguments: Sequence[str] | None) -> argparse.Namespace:
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
    return parser.parse_args(arguments)


def _several(text: str, kind: type = str) -> tuple[Any, ...]:
    return tuple(kind(word) for word in text.split(","))


def _by_solver(text: str, kind: type = float) -> dict[str, Any]:
    return {name: kind(value) for name, value in (word.split("=") for word in text.split(","))}


def main(arguments: Sequence[str] | None = None) -> None:
    options = _parse(arguments)
    with opened(options) as (store, docs):
        if not options.report:
            for name in set(options.solvers) - {OURS}:
                find_backend(name)  # which raises where one is not known or not installed
            os.environ.update(dict.fromkeys(ONE_THREAD, "1"))
            _, asked = PATHS.parse_known_args(arguments)
            command = " ".join(["python", "benchmarks/solvers.py", *asked])
            run(tasks(options, stored_rows(store)), store, options.jobs, command)
        rows = stored_rows(store)
        starts = store.records(START_UP) if START_UP in store.studies() else []
        measured = machine(store, STUDY)
        measured["versions"] += sorted(set(rows.loc[rows["solver"] != OURS, "version"]) - {""})
        runs = store.summary(STUDY, all_runs=True).runs
        measured["commands"] = dict.fromkeys(run.command for run in runs)
        grid = judge(rows[rows["suite"] == "grid"])
        figure = profile(grid) if len(grid) else None
        write(docs, "benchmarks", text(rows, starts, measured), figure)


if __name__ == "__main__":
    main()
