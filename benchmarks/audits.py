"""How far apart found and proved are in audits of many rows, in so many seconds of the processor.

    python benchmarks/audits.py --rows 400 --seconds 5
    python benchmarks/audits.py --rows 2000 --seconds 60 --data gaussian-10 --epsilons 0.02

Limits are counted in seconds of this process, so that other work on the machine hardly matters.
"""

from __future__ import annotations

import argparse
import time

import numpy as np

from pessimal.auditing import audit
from pessimal.datasets import load_cancer, load_diabetes
from pessimal.problem import Matrix, Vector

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
        data = {"diabetes": load_diabetes, "cancer": load_cancer}[name]()
        order = rng.permutation(len(data.y))
        X, y, rows = data.X[order], data.y[order], min(rows, len(order) // 2)
    train, val = X[:rows], X[rows : 2 * rows]
    scale = np.where(train.std(axis=0) > 0.0, train.std(axis=0), 1.0)
    mean = train.mean(axis=0)
    return (train - mean) / scale, y[:rows], (val - mean) / scale, y[rows : 2 * rows]


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
    for name in chosen.data:
        for seed in chosen.seeds:
            data = draw(name, chosen.rows, seed)
            for epsilon in chosen.epsilons:
                begun = time.process_time()
                report = audit(
                    *data, epsilon=epsilon, epsilons=[epsilon], time_limit=chosen.seconds
                )
                seconds = time.process_time() - begun
                ends = [getattr(report, measure) for measure in MEASURES]
                cells = [f"[{end.lower_bound:.4f}, {end.upper_bound:.4f}]" for end in ends]
                ambiguous = f"[{report.ambiguity:.4f}, {report.ambiguity_bound:.4f}]"
                row = [name, f"{epsilon:g}", str(len(data[1])), f"{seconds:.1f}", *cells, ambiguous]
                print("|", " | ".join(row), "|", flush=True)


if __name__ == "__main__":
    main()
