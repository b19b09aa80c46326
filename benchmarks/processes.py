"""What it costs to search in several processes, and what it saves, to the same proof.

Prints a line of a table per problem: nodes, seconds of the processor, of this process and of its
workers, which other work on the machine hardly changes, and seconds on the clock, which tell
something only on a machine with idle cores.

Examples
--------
::

    python benchmarks/processes.py --rows 30 --seeds 7301 7302 7303
"""

from __future__ import annotations

import argparse
import os
import time
from itertools import product

from pessimal import Budget, TuningSolution, solve_pessimistic
from pessimal.reproduction.instances import DATA_SETS, draw, tuning_problem


def timed(
    data: str, rows: int, budget: Budget, seed: int, n_jobs: int
) -> tuple[TuningSolution, float, float, float]:
    """Solve one problem; return the answer, seconds of process and workers, and on the clock."""
    problem = tuning_problem(draw(data, rows, rows, seed))
    before, started = os.times(), time.perf_counter()
    solution = solve_pessimistic(problem, budget, n_jobs=n_jobs)
    clock = time.perf_counter() - started
    own, own_system, workers, workers_system, _ = (
        after - at for after, at in zip(os.times(), before, strict=True)
    )
    return solution, own + own_system, workers + workers_system, clock


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", nargs="+", choices=DATA_SETS, default=["diabetes"])
    parser.add_argument("--rows", nargs="+", type=int, default=[30])
    parser.add_argument("--epsilons", nargs="+", type=float, default=[0.2])
    parser.add_argument("--seeds", nargs="+", type=int, default=[1])
    parser.add_argument("--jobs", type=int, default=2)
    asked = parser.parse_args()
    columns = ["data", "rows", "ε", "seed", "nodes, alone", "CPU s", "clock s"]
    columns += [f"nodes, {asked.jobs} jobs", "CPU s", "in workers", "clock s", "same optimum"]
    print("|", " | ".join(columns), "|")
    print("| --- " * len(columns) + "|")
    for data, rows, epsilon, seed in product(asked.data, asked.rows, asked.epsilons, asked.seeds):
        alone, seconds, _, clock = timed(data, rows, Budget(epsilon), seed, 1)
        shared, own, workers, sooner = timed(data, rows, Budget(epsilon), seed, asked.jobs)
        same = alone.proved and shared.proved
        same = same and abs(alone.objective - shared.objective) < 2e-7
        row = [data, f"{rows} + {rows}", f"{epsilon:g}", str(seed)]
        row += [f"{alone.nodes:,}", f"{seconds:.1f}", f"{clock:.1f}"]
        row += [f"{shared.nodes:,}", f"{own + workers:.1f}", f"{workers:.1f}", f"{sooner:.1f}"]
        row += ["yes" if same else "no"]
        print("|", " | ".join(row), "|", flush=True)


if __name__ == "__main__":
    main()
