"""What it costs to search in several processes: nodes and processor time to the same proof.

Prints a line of a table per problem. Times are seconds of the processor, of this process and of
its workers, so that other work on the machine hardly matters; how much sooner the proof is there
depends on how many cores are idle.

Examples
--------
::

    python benchmarks/processes.py --rows 30 --seeds 7301 7302 7303
"""

from __future__ import annotations

import argparse
import os
from itertools import product

from pessimal import Budget, TuningSolution, solve_pessimistic
from pessimal.reproduction.instances import DATA_SETS, draw, tuning_problem


def timed(
    data: str, rows: int, budget: Budget, seed: int, n_jobs: int
) -> tuple[TuningSolution, float, float]:
    """Solve one problem; return the answer, seconds of this process, and of its workers."""
    problem = tuning_problem(draw(data, rows, rows, seed))
    before = os.times()
    solution = solve_pessimistic(problem, budget, n_jobs=n_jobs)
    own, own_system, workers, workers_system, _ = (
        after - at for after, at in zip(os.times(), before, strict=True)
    )
    return solution, own + own_system, workers + workers_system


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", nargs="+", choices=DATA_SETS, default=["diabetes"])
    parser.add_argument("--rows", nargs="+", type=int, default=[30])
    parser.add_argument("--epsilons", nargs="+", type=float, default=[0.2])
    parser.add_argument("--seeds", nargs="+", type=int, default=[1])
    parser.add_argument("--jobs", type=int, default=2)
    asked = parser.parse_args()
    columns = ["data", "rows", "ε", "seed", "nodes, alone", "s", f"nodes, {asked.jobs} jobs", "s"]
    columns += ["of it in workers", "same optimum"]
    print("|", " | ".join(columns), "|")
    print("| --- " * len(columns) + "|")
    for data, rows, epsilon, seed in product(asked.data, asked.rows, asked.epsilons, asked.seeds):
        alone, seconds, _ = timed(data, rows, Budget(epsilon), seed, 1)
        shared, own, workers = timed(data, rows, Budget(epsilon), seed, asked.jobs)
        same = alone.proved and shared.proved
        same = same and abs(alone.objective - shared.objective) < 2e-7
        row = [data, f"{rows} + {rows}", f"{epsilon:g}", str(seed)]
        row += [f"{alone.nodes:,}", f"{seconds:.1f}", f"{shared.nodes:,}", f"{own + workers:.1f}"]
        row += [f"{workers:.1f}", "yes" if same else "no"]
        print("|", " | ".join(row), "|", flush=True)


if __name__ == "__main__":
    main()
