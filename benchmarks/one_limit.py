"""One limit for all features against the exact worst case, on many rows: what is proved, and when.

Prints a line of a table per problem: the worst model found in the best box, what no model of the
box exceeds, the bound below which no limit's worst case lies, and what the callback had been told
of it after so many seconds. Limits are counted in seconds of this process, so that other work on
the machine hardly matters.

Examples
--------
::

    python benchmarks/one_limit.py --seconds 60 --seeds 8401
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from functools import partial

from measuring import timed_apart

from pessimal import Budget, solve_pessimistic
from pessimal.limits import Progress
from pessimal.reproduction.instances import DATA_SETS, draw, tuning_problem

ROWS = {"cancer": (50, 110), "diabetes": (50, 100, 150, 190)}
"""Rows to train on, and as many to validate on: there are no more in half of the data."""

BUDGETS = (Budget(), Budget(0.05), Budget(0.2), Budget(0.0, 0.01))
MOMENTS = (2.0, 5.0, 20.0)
COLUMNS = (
    *("data", "rows", "ε", "δ", "proved", "found", "guaranteed", "bound"),
    *(f"after {moment:g} s" for moment in MOMENTS),
    *("search, s", "check, s"),
)


def line(data: str, rows: int, budget: Budget, seed: int, seconds: float) -> list[str]:
    """Solve one problem; return its line of the table."""
    problem = tuning_problem(draw(data, rows, rows, seed))
    told: list[tuple[float, float]] = [(0.0, 0.0)]
    started = time.process_time()

    def listen(progress: Progress) -> None:
        told.append((time.process_time() - started, progress.bound))

    solve = partial(solve_pessimistic, inner="exact", groups="one", callback=listen)
    solution, took, checked = timed_apart(solve, problem, budget, time_limit=seconds)
    told.append((took, solution.lower_bound))
    bounds = [max(bound for at, bound in told if at <= moment) for moment in MOMENTS]
    guaranteed = max(solution.objective, solution.worst_case_bound)
    losses = (solution.objective, guaranteed, solution.lower_bound, *bounds)
    return [
        *(data, f"{rows} + {rows}", f"{budget.epsilon:g}", f"{budget.delta:g}"),
        *("yes" if solution.proved else "no", *(f"{loss:.4f}" for loss in losses)),
        *(f"{took:.1f}", f"{checked:.1f}"),
    ]


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--data", nargs="+", choices=DATA_SETS, default=list(DATA_SETS))
    parser.add_argument("--rows", nargs="+", type=int, help="by default the table's")
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--seeds", nargs="+", type=int, default=[8401])
    options = parser.parse_args(arguments)
    time.perf_counter = time.process_time
    for cells in (COLUMNS, ["---"] * len(COLUMNS)):
        print(f"| {' | '.join(cells)} |")
    for seed in options.seeds:
        for data in options.data:
            for rows in options.rows or ROWS[data]:
                for budget in BUDGETS:
                    cells = line(data, rows, budget, seed, options.seconds)
                    print(f"| {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
