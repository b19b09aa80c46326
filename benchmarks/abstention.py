"""Accuracy on the rows on which all models that train as well agree, on real tables.

    python benchmarks/abstention.py [--seeds 3]

A logistic regression (C = 1, standardised features) is fitted to one half of each table, at most
1,000 rows. Of the other half, at most 500 rows, those are answered on which all models within ε of
the least training objective predict one class. Beside it stands the same model that answers as
many rows, those with its largest scores. A table whose package is not installed is left out.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd
from matplotlib.figure import Figure
from measuring import command_line, measure, opened, render, write
from sklearn.linear_model import LogisticRegression

from pessimal.auditing import abstention_curve
from pessimal.near_optimal import near_optimal_set
from pessimal.reproduction import Study
from pessimal.reproduction.study import full_factorial
from pessimal.reproduction.tables import TABLES, halves

PAGE = "abstention"
EPSILONS = (0.01, 0.05, 0.1)
MOST_TRAIN, MOST_TEST = 1000, 500
FIRST_SEED = 2000
SECONDS = 20.0


def run(at: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Fit on a half, answer on the other, one row per epsilon."""
    X, y, X_test, y_test = halves(TABLES[at["data"]], at["seed"])
    members = near_optimal_set(LogisticRegression(), X[:MOST_TRAIN], y[:MOST_TRAIN])
    X_test, y_test = X_test[:MOST_TEST], y_test[:MOST_TEST]
    curve = abstention_curve(members, X_test, y_test, EPSILONS, time_limit=SECONDS)
    return [
        {
            "epsilon": epsilon,
            "n_train": min(len(y), MOST_TRAIN),
            "n_test": len(y_test),
            "n_features": X.shape[1],
            "majority": curve.majority,
            "all": curve.accuracy_of_all,
            "answered": float(curve.answered[k]),
            "accuracy": float(curve.accuracy[k]),
            "by_score": float(curve.accuracy_by_score[k]),
        }
        for k, epsilon in enumerate(curve.epsilons.tolist())
    ]


def by_table(rows: pd.DataFrame) -> pd.DataFrame:
    """Return means over the draws of each table and ε; NaN where no draw had an answer."""
    means = rows.groupby(["epsilon", "data"], sort=False).mean(numeric_only=True)
    return means.assign(
        gain=means["accuracy"] - means["all"], lead=means["accuracy"] - means["by_score"]
    )


def text(rows: pd.DataFrame) -> str:
    """Return the page in Markdown."""
    means = by_table(rows)
    here = means.loc[0.05]
    return render(
        PAGE,
        seeds=rows["seed"].nunique(),
        n_tables=rows["data"].nunique(),
        seconds=SECONDS,
        tables=here.sort_values("gain", ascending=False),
        medians=means.groupby("epsilon")[
            ["answered", "all", "accuracy", "by_score", "gain", "lead"]
        ].median(),
        better=means["gain"].ge(0.0).groupby("epsilon").sum(),
        ahead=means["lead"].gt(0.0).groupby("epsilon").sum(),
        behind=means["lead"].lt(0.0).groupby("epsilon").sum(),
    )


def draw(rows: pd.DataFrame) -> Figure:
    """Draw for each table the accuracy on all rows, on those answered, and on the surest."""
    here = by_table(rows).loc[0.05].sort_values("all")
    figure = Figure(figsize=(8.0, 0.3 * len(here) + 1.4), layout="constrained", label=PAGE)
    axes = figure.subplots()
    for place, row in enumerate(here.itertuples()):
        axes.plot([row.all, row.accuracy], [place, place], color="#666666", linewidth=1.0)
    places = range(len(here))
    axes.plot(here["all"], places, "o", color="#666666", label="all rows")
    axes.plot(here["by_score"], places, "^", color="#E69F00", label="as many, by its own score")
    axes.plot(
        here["accuracy"], places, "s", color="#0072B2", label="rows on which all models agree"
    )
    shares = here["answered"]
    axes.set_yticks(
        list(places), [f"{name} ({share:.0%} answered)" for name, share in shares.items()]
    )
    axes.set_xlabel("accuracy of logistic regression (ε = 0.05)")
    axes.legend(framealpha=0.8, edgecolor="none", fontsize="small")
    return figure


def main(words: list[str] | None = None) -> None:
    parser = command_line(__doc__, f"results/{PAGE}")
    parser.add_argument("--seeds", type=int, default=3, help="draws of halves")
    options = parser.parse_args(words)
    names = [name for name, table in TABLES.items() if table.missing() is None]
    for name, table in TABLES.items():
        if table.missing():
            print(f"left out: {name}: {table.missing()}", flush=True)
    names, seeds = (names[:2], 1) if options.quick else (names, options.seeds)
    asked = full_factorial({"seed": range(FIRST_SEED, FIRST_SEED + seeds), "data": names})
    with opened(options) as (store, docs):
        if not options.report:
            study = Study(PAGE, asked, run)
            measure(study, store, f"python benchmarks/abstention.py --seeds {seeds}")
        rows = store.frame(PAGE)
        write(docs, PAGE, text(rows), draw(rows))


if __name__ == "__main__":
    main()
