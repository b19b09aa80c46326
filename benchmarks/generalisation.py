"""Accuracy of the tuned models on rows they have not seen.

    python benchmarks/generalisation.py [--seeds 30] [--out docs/generalisation.md]

Every final model of `PessimisticSVC` (epsilon 0.2) and `OptimisticSVC` beside logistic regression
and a linear SVM, on four data sets with 10, 20 and 40 rows to tune on and all others to test on.
Features are scaled by the tuning rows alone. A seed draws the same rows for every method, so
differences to plain `LogisticRegression()` are paired. Writes a Markdown page, and beside it the
single measurements as CSV; both anew after each data set and size.
"""

from __future__ import annotations

import argparse
import csv
import os
import time
import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, fields
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
from joblib import Parallel, delayed  # type: ignore[import-untyped]
from numpy.typing import NDArray
from rich.console import Console
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, StratifiedKFold, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from pessimal.datasets import load_cancer, load_diabetes
from pessimal.estimators import OptimisticSVC, PessimisticSVC

SIZES = (10, 20, 40)
REFERENCE = "LogisticRegression()"
C_GRID = {"C": np.logspace(-3, 3, 13)}
FIRST_SEED = 1000

Table = tuple[NDArray[np.float64], NDArray[Any]]


@dataclass(frozen=True)
class Measurement:
    """One method on one draw of rows."""

    data: str
    n: int
    seed: int
    method: str
    accuracy: float
    seconds: float
    proved: bool | None


def digits_1_and_7() -> Table:
    X, y = load_digits(return_X_y=True)
    kept = np.isin(y, (1, 7))
    return X[kept], y[kept]


def data_sets() -> dict[str, Callable[[], Table]]:
    return {
        "Cancer": lambda: (load_cancer().X, load_cancer().y),
        "Diabetes": lambda: (load_diabetes().X, load_diabetes().y),
        "breast_cancer": lambda: load_breast_cancer(return_X_y=True),
        "digits 1 and 7": digits_1_and_7,
    }


def methods(n_folds: int, seed: int, time_limit: float) -> dict[str, Any]:
    folds = StratifiedKFold(n_folds, shuffle=True, random_state=seed)

    def searched(classifier: Any) -> Any:
        step = type(classifier).__name__.lower()
        grid = {f"{step}__{name}": values for name, values in C_GRID.items()}
        return GridSearchCV(make_pipeline(StandardScaler(), classifier), grid, cv=folds)

    tuned = {
        f"{kind.__name__}, {final}": kind(
            epsilon=0.2, final=final, time_limit=time_limit, random_state=seed
        )
        for kind, own in ((PessimisticSVC, "worst_case"), (OptimisticSVC, "best_case"))
        for final in ("mean", "centre", "refit", own)
    }
    return {
        REFERENCE: make_pipeline(StandardScaler(), LogisticRegression()),
        "LogisticRegression, C by CV": searched(LogisticRegression(max_iter=10_000)),
        "LinearSVC, C by CV": searched(LinearSVC(max_iter=10_000, random_state=seed)),
        **tuned,
    }


def measure(data: str, table: Table, n: int, seed: int, time_limit: float) -> list[Measurement]:
    """Draw n tuning rows, fit every method on them, test on all other rows."""
    X, y = table
    X_tune, X_test, y_tune, y_test = train_test_split(
        X, y, train_size=n, stratify=y, random_state=seed
    )
    n_folds = min(5, int(np.unique(y_tune, return_counts=True)[1].min()))
    results = []
    for name, method in methods(n_folds, seed, time_limit).items():
        started = time.perf_counter()
        # On so few rows the threads of a linear algebra library cost more than they save.
        with warnings.catch_warnings(), threadpool_limits(1):
            warnings.simplefilter("ignore", ConvergenceWarning)
            method.fit(X_tune, y_tune)
        seconds = time.perf_counter() - started
        result = getattr(method, "result_", None)
        proved = None if result is None else bool(result.proved)
        accuracy = float(method.score(X_test, y_test))
        results.append(Measurement(data, n, seed, name, accuracy, seconds, proved))
    return results


def markdown(measurements: Sequence[Measurement], seeds: int, time_limit: float) -> str:
    lines = [
        "# Accuracy on unseen rows",
        "",
        f"Mean test accuracy in per cent over {seeds} draws of n tuning rows; difference to plain "
        f"`{REFERENCE}` on the same draws, in points, with its standard error; seconds to fit, "
        f"tuning included (limit {time_limit:g} s); share of draws with a proved optimum. "
        f"Made by `python benchmarks/generalisation.py --seeds {seeds} "
        f"--time-limit {time_limit:g}`.",
        "",
        "## All data sets and sizes",
        "",
        *_rows("method", [("", measurements)]),
    ]
    for data in dict.fromkeys(m.data for m in measurements):
        here = [m for m in measurements if m.data == data]
        sizes = sorted({m.n for m in here})
        lines += ["", f"## {data}", ""]
        lines += _rows("n, method", [(f"{n}, ", [m for m in here if m.n == n]) for n in sizes])
    return "\n".join(lines) + "\n"


def _rows(heading: str, groups: Iterable[tuple[str, Sequence[Measurement]]]) -> list[str]:
    lines = [
        f"| {heading} | accuracy | difference ± s.e. | seconds | proved |",
        "| --- | ---: | ---: | ---: | ---: |",
    ]
    for prefix, group in groups:
        reference = {(m.data, m.n, m.seed): m.accuracy for m in group if m.method == REFERENCE}
        for name in dict.fromkeys(m.method for m in group):
            own = [m for m in group if m.method == name]
            differences = 100.0 * np.array(
                [m.accuracy - reference[m.data, m.n, m.seed] for m in own]
            )
            error = differences.std(ddof=1) / np.sqrt(len(own)) if len(own) > 1 else np.nan
            proofs = [m.proved for m in own if m.proved is not None]
            lines.append(
                f"| {prefix}{name} | {100.0 * np.mean([m.accuracy for m in own]):.1f} | "
                f"{differences.mean():+.1f} ± {error:.1f} | "
                f"{np.mean([m.seconds for m in own]):.2f} | "
                f"{f'{np.mean(proofs):.0%}' if proofs else ''} |"
            )
    return lines


def write(path: Path, text: str) -> None:
    """Replace a file in one step, so that no reader finds half of it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    draft.write_text(text, encoding="utf-8")
    draft.replace(path)


def csv_text(measurements: Sequence[Measurement]) -> str:
    buffer = StringIO()
    writer = csv.DictWriter(buffer, [f.name for f in fields(Measurement)], lineterminator="\n")
    writer.writeheader()
    writer.writerows(asdict(m) for m in measurements)
    return buffer.getvalue()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--seeds", type=int, default=30, help="draws of tuning rows")
    parser.add_argument("--out", type=Path, default=Path("docs/generalisation.md"))
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument("--time-limit", type=float, default=2.0, help="seconds to tune")
    options = parser.parse_args()
    console = Console(stderr=True, highlight=False)
    measurements: list[Measurement] = []
    for data, load in data_sets().items():
        table = load()
        for n in SIZES:
            started = time.perf_counter()
            draws = Parallel(n_jobs=options.jobs)(
                delayed(measure)(data, table, n, FIRST_SEED + k, options.time_limit)
                for k in range(options.seeds)
            )
            measurements += [m for draw in draws for m in draw]
            write(options.out.with_suffix(".csv"), csv_text(measurements))
            write(options.out, markdown(measurements, options.seeds, options.time_limit))
            console.print(f"{data}, n = {n}: {time.perf_counter() - started:.0f} s")


if __name__ == "__main__":
    main()
