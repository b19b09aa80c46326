"""How far apart found and proved are in audits of many rows, in so many seconds of the processor.

    python benchmarks/audits.py --rows 400 --seconds 5
    python benchmarks/audits.py --rows 2000 --seconds 60 --data gaussian-10 --epsilons 0.02

Limits are counted in seconds of this process, so that other work on the machine hardly matters.
"""

from __future__ import annotations

import argparse
import time
from itertools import product

import numpy as np
from measuring import timed
from sklearn.preprocessing import StandardScaler

from pessimal.auditing import audit
from pessimal.problem import Matrix, Vector
from pessimal.reproduction.instances import LOADERS

MEASURES = ("worst_loss", "worst_error", "best_error", "discrepancy")


def draw(name: str, rows: int, seed: int) -> tuple[Matrix, Vector, Matrix, Vector]:
    """Return training and validation rows, scaled by the former."""
    rng = np.random.default_rng(seed)
    if name.startswith("gaussian-"):
        p = int(name.removeprefix("gaussian-"))
        X, w = rng.standard_normal((2 * rows, p)), rng.standard_normal(p)
        noise = 0.8 * np.linalg.norm(w) * rng.standard_normal(2 * rows)
        y = np.where(X @ w + noise > 0.0, 1.0, -1.0)
    else:
        data = LOADERS[name]()
        order = rng.permutation(len(data.y))
        X, y, rows = data.X[order], data.y[order], min(rows, len(order) // 2)
    train, val = slice(rows), slice(rows, 2 * rows)
    scaler = StandardScaler().fit(X[train])
    return scaler.transform(X[train]), y[train], scaler.transform(X[val]), y[val]


def main() -> None:
    """Write one line per audit: found and proved of each measure, and who is ambiguous."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=400)
    parser.add_argument("--seconds", type=float, default=5.0)
    parser.add_argument("--data", nargs="+", default=["diabetes", "cancer", "gaussian-10"])
    parser.add_argument("--epsilons", type=float, nargs="+", default=[0.02, 0.05, 0.2])
    parser.add_argument("--seeds", type=int, nargs="+", default=[0])
    chosen = parser.parse_args()
    time.perf_counter = time.process_time
    print("| data | ε | rows | CPU s |", " | ".join(MEASURES), "| ambiguous |")
    print("| --- " * (len(MEASURES) + 5) + "|")
    for name, seed, epsilon in product(chosen.data, chosen.seeds, chosen.epsilons):
        data = draw(name, chosen.rows, seed)
        limits = {"epsilons": [epsilon], "time_limit": chosen.seconds}
        report, seconds = timed(audit, *data, epsilon=epsilon, **limits)
        ends = [getattr(report, measure) for measure in MEASURES]
        bounds = [(end.lower_bound, end.upper_bound) for end in ends]
        bounds.append((report.ambiguity, report.ambiguity_bound))
        cells = [f"[{low:.4f}, {high:.4f}]" for low, high in bounds]
        row = [name, f"{epsilon:g}", str(len(data[1])), f"{seconds:.1f}", *cells]
        print("|", " | ".join(row), "|", flush=True)


if __name__ == "__main__":
    main()
