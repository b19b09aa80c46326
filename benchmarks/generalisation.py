"""Accuracy of the tuned models on rows they have not seen.

    python benchmarks/generalisation.py [--seeds 30] [--time-limit 2]

Every final model of `PessimisticSVC` (epsilon 0.2) and `OptimisticSVC` beside logistic regression
and a linear SVM, on four data sets with 10, 20 and 40 rows to tune on and all others to test on.
Features are scaled by the tuning rows alone. A seed draws the same rows for every method, so
differences to plain `LogisticRegression()` are paired.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from measuring import command_line, measure, opened, paired, render, write
from sklearn.datasets import load_digits
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, StratifiedKFold, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from pessimal.estimators import OptimisticSVC, PessimisticSVC
from pessimal.reproduction import Study
from pessimal.reproduction.study import full_factorial
from pessimal.reproduction.tables import TABLES

PAGE = "generalisation"
SIZES = (10, 20, 40)
REFERENCE = "LogisticRegression()"
C_GRID = np.logspace(-3, 3, 13)
FIRST_SEED = 1000


def digits_1_and_7() -> tuple[Any, Any]:
    X, y = load_digits(return_X_y=True)
    kept = np.isin(y, (1, 7))
    return X[kept], y[kept]


DATA_SETS = {
    "Cancer": TABLES["cancer"].load,
    "Diabetes": TABLES["diabetes"].load,
    "breast_cancer": TABLES["breast cancer"].load,
    "digits 1 and 7": digits_1_and_7,
}


def methods(n_folds: int, seed: int, time_limit: float) -> dict[str, Any]:
    folds = StratifiedKFold(n_folds, shuffle=True, random_state=seed)

    def searched(classifier: Any) -> Any:
        grid = {f"{type(classifier).__name__.lower()}__C": C_GRID}
        return GridSearchCV(make_pipeline(StandardScaler(), classifier), grid, cv=folds)

    common: dict[str, Any] = {"epsilon": 0.2, "time_limit": time_limit, "random_state": seed}
    tuned = {
        f"{kind.__name__}, {final}": kind(final=final, **common)
        for kind, own in ((PessimisticSVC, "worst_case"), (OptimisticSVC, "best_case"))
        for final in ("mean", "centre", "refit", own)
    }
    return {
        REFERENCE: make_pipeline(StandardScaler(), LogisticRegression()),
        "LogisticRegression, C by CV": searched(LogisticRegression(max_iter=10_000)),
        "LinearSVC, C by CV": searched(LinearSVC(max_iter=10_000, random_state=seed)),
        **tuned,
    }


def run(at: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Draw n tuning rows, fit every method on them, test on all other rows."""
    X, y = DATA_SETS[at["data"]]()
    X_tune, X_test, y_tune, y_test = train_test_split(
        X, y, train_size=at["n"], stratify=y, random_state=at["seed"]
    )
    n_folds = min(5, int(np.unique(y_tune, return_counts=True)[1].min()))
    rows = []
    for name, method in methods(n_folds, at["seed"], at["time_limit"]).items():
        started = time.perf_counter()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            method.fit(X_tune, y_tune)
        found = {"method": name, "seconds": time.perf_counter() - started}
        found["accuracy"] = float(method.score(X_test, y_test))
        found["proved"] = bool(method.result_.proved) if hasattr(method, "result_") else None
        rows.append(found)
    return rows


def text(rows: pd.DataFrame) -> str:
    """Return the page in Markdown."""
    rows = rows.astype({"proved": float})
    return render(
        PAGE,
        seeds=rows["seed"].nunique(),
        time_limit=rows["time_limit"].iloc[0],
        reference=REFERENCE,
        all=_by_method(rows),
        by_data=[
            (data, [(f"{n}, ", _by_method(part)) for n, part in here.groupby("n")])
            for data, here in rows.groupby("data", sort=False)
        ],
    )


def _by_method(rows: pd.DataFrame) -> pd.DataFrame:
    means = rows.groupby("method", sort=False)[["seconds", "proved"]].mean()
    return means.join(paired(rows, ["data", "n", "seed"], "accuracy", REFERENCE))


def main() -> None:
    parser = command_line(__doc__, f"results/{PAGE}")
    parser.add_argument("--seeds", type=int, default=30, help="draws of tuning rows")
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument("--time-limit", type=float, default=2.0, help="seconds to tune")
    options = parser.parse_args()
    sizes, seeds = (SIZES[:1], 1) if options.quick else (SIZES, options.seeds)
    factors = {"data": DATA_SETS, "n": sizes, "seed": range(FIRST_SEED, FIRST_SEED + seeds)}
    asked = full_factorial({**factors, "time_limit": [options.time_limit]})
    with opened(options) as (store, docs):
        if not options.report:
            study = Study(PAGE, asked, run)
            measure(study, store, "python benchmarks/generalisation.py", jobs=options.jobs)
        write(docs, PAGE, text(store.frame(PAGE)))


if __name__ == "__main__":
    main()
