"""What a search with a training budget knows of many rows, when, with cells of boxes or without.

Prints a line of a table per problem: the loss of the best model found, and the lower bound as the
callback was told it after so many seconds. Limits are counted in seconds of this process, so that
other work on the machine hardly matters.

Examples
--------
::

    python benchmarks/early_bounds.py --rows 60 100 --seeds 5201 5202 5203
"""

from __future__ import annotations

import argparse
import time
from functools import partial
from itertools import product

from pessimal import Budget, solve_pessimistic
from pessimal.limits import Progress
from pessimal.reproduction.instances import DATA_SETS, draw, tuning_problem
from pessimal.solvers.search import parts

MOMENTS = (1.0, 3.0, 10.0)
WAYS = {"tree": (0, 0), "with cells": (parts.CELLS_AHEAD, parts.CELLS_BEHIND)}
"""Cells that are halved in a turn, by whether they are ahead or behind."""


def cells(data: str, rows: int, budget: Budget, seed: int, seconds: float) -> list[str]:
    """Solve one problem; return what was found, the bounds at the moments, and whether it ended."""
    problem = tuning_problem(draw(data, rows, rows, seed))
    told: list[tuple[float, float]] = [(0.0, 0.0)]
    started = time.process_time()

    def listen(progress: Progress) -> None:
        told.append((time.process_time() - started, progress.bound))

    solve = partial(solve_pessimistic, flip="all", callback=listen, time_limit=seconds)
    solution = solve(problem, budget)
    bounds = [max(bound for at, bound in told if at <= moment) for moment in MOMENTS]
    found = f"{solution.objective:.4f}"
    return [found, *(f"{bound:.4f}" for bound in bounds), "yes" if solution.proved else "no"]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", nargs="+", choices=DATA_SETS, default=["diabetes"])
    parser.add_argument("--rows", nargs="+", type=int, default=[60])
    parser.add_argument("--epsilons", nargs="+", type=float, default=[0.2])
    parser.add_argument("--seeds", nargs="+", type=int, default=[1])
    parser.add_argument("--seconds", type=float, default=10.0)
    asked = parser.parse_args()
    time.perf_counter = time.process_time
    after = [f"after {moment:g} s" for moment in MOMENTS]
    columns = ["data", "rows", "ε", "seed", "search", "found", *after, "proved"]
    print("|", " | ".join(columns), "|")
    print("| --- " * len(columns) + "|")
    for data, rows, epsilon, seed in product(asked.data, asked.rows, asked.epsilons, asked.seeds):
        for way, (parts.CELLS_AHEAD, parts.CELLS_BEHIND) in WAYS.items():
            row = cells(data, rows, Budget(epsilon=epsilon), seed, asked.seconds)
            named = [data, f"{rows} + {rows}", f"{epsilon:g}", str(seed), way]
            print("|", " | ".join([*named, *row]), "|", flush=True)


if __name__ == "__main__":
    main()
