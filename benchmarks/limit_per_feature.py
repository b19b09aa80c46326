"""One limit per feature against the exact worst case: what is found, and how often it is proved.

Prints a line of a table for each number of training rows and kind of budget, over all numbers of
validation rows and budgets of the page on true pessimism. Limits are counted in seconds of this
process, so that other work on the machine hardly matters.

Examples
--------
::

    python benchmarks/limit_per_feature.py --seconds 30 --seeds 971
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from itertools import product

import numpy as np
from measuring import timed
from pessimism import DELTAS, EPSILONS, SIZES

from pessimal import Budget, solve_pessimistic
from pessimal.reproduction.instances import DATA_SETS, draw, tuning_problem

COLUMNS = ("data", "T", "δ", "proved", "found", "bound", "median s")


def line(data: str, n_train: int, delta: float, seeds: Sequence[int], seconds: float) -> list[str]:
    """Solve the problems of a line; return it."""
    found = []
    for seed, n_val, epsilon in product(seeds, SIZES, EPSILONS):
        problem, budget = tuning_problem(draw(data, n_train, n_val, seed)), Budget(epsilon, delta)
        solution, took = timed(
            solve_pessimistic, problem, budget, inner="exact", groups="each", time_limit=seconds
        )
        found.append((solution.proved, solution.objective, solution.lower_bound, took))
    proved, objective, bound, took = np.array(found).T
    means = f"{objective.mean():.4f}", f"{bound.mean():.4f}"
    share = f"{proved.sum():.0f} of {len(proved)}"
    return [data, str(n_train), f"{delta:g}", share, *means, f"{np.median(took):.1f}"]


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--data", nargs="+", choices=DATA_SETS, default=list(DATA_SETS))
    parser.add_argument("--seconds", type=float, default=30.0)
    parser.add_argument("--seeds", nargs="+", type=int, default=[971])
    options = parser.parse_args(arguments)
    time.perf_counter = time.process_time
    for cells in (COLUMNS, ["---"] * len(COLUMNS)):
        print(f"| {' | '.join(cells)} |")
    for data, n_train, delta in product(options.data, SIZES, DELTAS):
        cells = line(data, n_train, delta, options.seeds, options.seconds)
        print(f"| {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
