"""Compare the exact search with the paper's MILP on HiGHS, SCIP, Gurobi and CPLEX.

Rows are stored as they come, so a run that was stopped goes on where it was; the report is written
from the stored rows.

Examples
--------
::

    python benchmarks/solvers.py --quick
    python benchmarks/solvers.py --suite grid
    python benchmarks/solvers.py --report
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path

import page
from contenders import CONTENDERS, require
from grouping import split_by
from instances import SUITES, VIEWS, Instance, quick
from machine import Machine, StartUp, describe, start_up
from profile_plot import profile, save
from rows import OURS, Row, Store, by_instance
from workers import Worker

HERE = Path(__file__).parent
ONE_THREAD = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")

SEEDS = (100, 101)
SOLVERS = (OURS, "cplex", "gurobi", "highs", "scip")
TIME_LIMIT = 60.0
SOLVER_LIMITS = {"highs": 10.0, "scip": 10.0}
SOLVER_SEEDS = {"highs": 1, "scip": 1}
"""HiGHS and SCIP reach their limit so often that one draw shows it."""
QUICK_LIMIT = 2.0

Task = tuple[Instance, str, float]


def main(arguments: Sequence[str] | None = None) -> None:
    words = list(sys.argv[1:] if arguments is None else arguments)
    options = _parse(words)
    out: Path = options.out or HERE / "results" / ("quick" if options.quick else "")
    store = Store(out / "rows.jsonl")
    if not options.report:
        require(options.solvers)
        os.environ.update(dict.fromkeys(ONE_THREAD, "1"))
        _note_run(out, words)
        run(list(tasks(options, store.done())), store, options.jobs)
        _require_same_machine(out)
    report(store.rows(), out, options.page or (out if options.quick else HERE.parent / "docs"))


def tasks(options: argparse.Namespace, done: set[tuple[str, str]]) -> Iterator[Task]:
    """Yield what is left to solve; the solvers take turns on each instance."""
    limits = SOLVER_LIMITS | options.solver_limit
    n_seeds = SOLVER_SEEDS | options.solver_seeds
    if options.quick:
        limits = dict.fromkeys(CONTENDERS, min(QUICK_LIMIT, options.time_limit))
        instances = list(quick(options.seeds))
    else:
        suites = SUITES if options.suite == "all" else [options.suite]
        instances = [instance for suite in suites for instance in SUITES[suite](options.seeds)]
    for instance in instances:
        for solver in options.solvers:
            seeds = options.seeds[: n_seeds.get(solver, len(options.seeds))]
            if instance.seed in seeds and (instance.key, solver) not in done:
                yield instance, solver, limits.get(solver, options.time_limit)


def run(left: Sequence[Task], store: Store, jobs: int) -> None:
    """Solve the tasks, `jobs` at a time, each solver in a process of its own."""
    queue, lock, count = iter(left), threading.Lock(), iter(range(1, len(left) + 1))

    def strand() -> None:
        workers: dict[str, Worker] = {}
        with ExitStack() as stack:
            while True:
                with lock:
                    task = next(queue, None)
                if task is None:
                    return
                instance, solver, limit = task
                if solver not in workers:
                    workers[solver] = stack.enter_context(Worker(solver))
                row = workers[solver].solve(instance, limit)
                store.add(row)
                with lock:
                    print(f"{next(count)}/{len(left)} {_line(row)}", flush=True)

    others = [threading.Thread(target=strand, daemon=True) for _ in range(jobs - 1)]
    for thread in others:
        thread.start()
    strand()
    for thread in others:
        thread.join()


def report(rows: Sequence[Row], out: Path, docs: Path) -> None:
    """Write the page and its figure."""
    notes = json.loads((out / "run.json").read_text(encoding="utf-8"))
    evidence = page.Evidence(
        rows=rows,
        machine=Machine(**notes["machine"]),
        start_ups=[StartUp(**start) for start in notes["start_ups"]],
        commands=notes["commands"],
    )
    docs.mkdir(parents=True, exist_ok=True)
    (docs / "benchmarks.md").write_text(page.write(evidence), encoding="utf-8")
    grid = {inst: found for inst, found in by_instance(rows).items() if inst.suite == "grid"}
    if grid:
        save(profile(split_by(grid, page.view_of)), docs / "images", page.FIGURE)
    print(f"report: {os.path.relpath(docs / 'benchmarks.md')}")


def _note_run(out: Path, words: Sequence[str]) -> None:
    """Keep the command and the machine; rows of two machines are not to be mixed."""
    path = out / "run.json"
    machine = asdict(describe())
    command = " ".join(["python", "benchmarks/solvers.py", *_without_paths(words)])
    if path.exists():
        notes = json.loads(path.read_text(encoding="utf-8"))
        _require_same_machine(out)
    else:
        starts = [asdict(start_up(view, epsilon)) for view, epsilon in VIEWS]
        notes = {"machine": machine, "start_ups": starts, "commands": []}
    if command not in notes["commands"]:
        notes["commands"].append(command)
    new = path.with_suffix(".new")
    new.write_text(json.dumps(notes, indent=1), encoding="utf-8")
    new.replace(path)


def _require_same_machine(out: Path) -> None:
    """Refuse to add to, or to report, rows of another machine, version or build."""
    path = out / "run.json"
    if json.loads(path.read_text(encoding="utf-8"))["machine"] != asdict(describe()):
        raise SystemExit(
            f"the rows beside {path} were measured on another machine, with other versions or "
            "another build of pessimal, which may have changed during the run; pass another "
            "folder with --out"
        )


def _without_paths(words: Sequence[str]) -> Iterator[str]:
    paths = ("--out", "--page")
    for before, word in zip(["", *words], words, strict=False):
        if before not in paths and word.partition("=")[0] not in paths:
            yield word


def _line(row: Row) -> str:
    seconds = "" if row.seconds is None else f"{row.seconds:.3f} s"
    value = "" if row.objective is None else f"{row.objective:.6f}"
    return f"{row.instance.key}: {row.solver} {row.status} {value} {seconds} {row.message}".strip()


def _parse(words: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    add = parser.add_argument
    add("--suite", choices=[*SUITES, "all"], default="grid")
    add("--quick", action="store_true", help="a handful of instances, in a folder of their own")
    add("--seeds", type=_integers, default=SEEDS, metavar="N,N,...")
    add("--solvers", type=_solvers, default=SOLVERS, metavar="NAME,NAME,...")
    add("--time-limit", type=float, default=TIME_LIMIT, metavar="SECONDS")
    add(
        "--solver-limit",
        type=_limits,
        default={},
        metavar="NAME=SECONDS,...",
        help=f"for single solvers (default {SOLVER_LIMITS})",
    )
    add(
        "--solver-seeds",
        type=_counts,
        default={},
        metavar="NAME=N,...",
        help=f"only the first N seeds for single solvers (default {SOLVER_SEEDS})",
    )
    add("--jobs", type=int, default=1, help="instances at a time; more than 1 blurs the times")
    add("--out", type=Path, help="folder of the rows (default benchmarks/results)")
    add("--page", type=Path, help="folder of benchmarks.md and images/ (default docs)")
    add("--report", action="store_true", help="write the page from the stored rows, solve nothing")
    return parser.parse_args(words)


def _integers(text: str) -> tuple[int, ...]:
    return tuple(int(word) for word in text.split(","))


def _solvers(text: str) -> tuple[str, ...]:
    names = tuple(text.split(","))
    unknown = set(names) - set(CONTENDERS)
    if unknown:
        raise argparse.ArgumentTypeError(f"choose among {', '.join(CONTENDERS)}")
    return names


def _limits(text: str) -> dict[str, float]:
    return {name: float(value) for name, value in (word.split("=") for word in text.split(","))}


def _counts(text: str) -> dict[str, int]:
    return {name: int(value) for name, value in _limits(text).items()}


if __name__ == "__main__":
    main()
