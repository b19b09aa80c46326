"""Tune against the exact worst case: how much it gains, what it costs, whether it generalises.

    python benchmarks/true_pessimism.py [--quick] [--report]

Four measurements, stored as they come, so that a run that was stopped goes on where it was; the
page is written from the stored rows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import pessimism
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from measuring import COLOURS, command_line, measure_parts, opened, paired, panels, render, write
from pessimism import EACH, HIGHS, ONE, OPTIMISTIC, OURS, PAPER, PAPER_SVC, REFERENCE, TRUE

from pessimal.tolerances import AT_BREAKPOINT, OPTIMAL_GAP

PAGE = "true_pessimism"
COMMAND = "python benchmarks/true_pessimism.py"

_BARS = {
    OPTIMISTIC: ("the optimistic box", "#999999"),
    PAPER: ("the paper's box", COLOURS[6]),
    ONE: ("ours, one limit for all", COLOURS[5]),
    EACH: ("ours, one limit per feature", COLOURS[1]),
}
_WIDTH = 0.2


def text(found: Mapping[str, pd.DataFrame], measured: Mapping[str, Any]) -> str:
    """Return the page in Markdown; a part without rows is left out."""
    parts = {
        name: part(found[name]) if len(found.get(name, ())) else None
        for name, part in SECTIONS.items()
    }
    return render("true_pessimism", at=pessimism, command=COMMAND, **measured, **parts)


def boxes(rows: pd.DataFrame) -> dict[str, Any]:
    """Compare the exact worst cases of four boxes."""
    rows = rows.assign(budget=_budget(rows), weightless=rows["width"] < AT_BREAKPOINT)
    sizes = rows["n_train"].astype(str) + ", " + rows["n_val"].astype(str) + ", " + rows["budget"]
    one, each = rows[rows["method"] == ONE], rows[rows["method"] == EACH]
    tolerances = [one["delta"] > 0.0, one["epsilon"] > 0.0]
    kind = np.select(tolerances, ["δ > 0", "ε > 0 alone"], "no tolerance")
    proofs = one.groupby(kind, sort=False)["proved"].agg(proved="sum", count="size")
    values = _values(rows)
    gains = values[[OPTIMISTIC, PAPER]].min(axis=1) - values[EACH]
    return {
        "seeds": rows["seed"],
        "one": one,
        "each": each,
        "by_budget": _by_method(rows, rows["data"] + ", " + rows["budget"]),
        "by_size": [
            (data, _by_method(part, sizes[part.index]))
            for data, part in rows.groupby("data", sort=False)
        ],
        "above": {other: excess(rows, EACH, other) for other in (OPTIMISTIC, PAPER, ONE)},
        "below": _often(gains, lambda won: f"there by a median of {won.median():.2f}"),
        "proofs": proofs,
        "open": (rows["upper_bound"] > rows["value"] + OPTIMAL_GAP).sum(),
        "checks": pd.concat([one, each])["check_seconds"],
    }


def _budget(rows: pd.DataFrame) -> pd.Series:
    return rows.apply(lambda row: f"ε = {row['epsilon']:g}, δ = {row['delta']:g}", axis=1)


def _by_method(rows: pd.DataFrame, label: pd.Series) -> list[tuple[str, dict[str, Any]]]:
    statistics = {
        "value": ("value", "mean"),
        "bound": ("lower_bound", "mean"),
        "proved": ("proved", "mean"),
        "median": ("seconds", "median"),
        "longest": ("seconds", "max"),
    }
    return [
        (name, part.groupby("method").agg(**statistics).to_dict("index"))
        for name, part in rows.groupby(label, sort=False)
    ]


def excess(rows: pd.DataFrame, method: str, other: str) -> str:
    """Say how often a method's worst case is above another's by more than a proof allows."""
    values = _values(rows)
    return _often(values[method] - values[other], lambda gaps: f"by up to {gaps.max():.2g}")


def _values(rows: pd.DataFrame) -> pd.DataFrame:
    keys = ["data", "n_train", "n_val", "epsilon", "delta", "seed"]
    return rows.pivot(index=keys, columns="method", values="value")


def _often(gaps: pd.Series, size: Callable[[pd.Series], str]) -> str:
    some = gaps[gaps > OPTIMAL_GAP]
    if some.empty:
        return f"in none of {len(gaps):,} configurations"
    return f"in {len(some):,} of {len(gaps):,} configurations, {size(some)}"


def bars(rows: pd.DataFrame) -> Figure:
    """Draw mean exact worst cases by budget: a panel per data set, a bar per method, its bound."""
    parts = rows.assign(budget=_budget(rows)).groupby("data", sort=False)
    return panels(PAGE, parts, _bars_of_data, height=3.4)


def _bars_of_data(axes: Axes, data: str, rows: pd.DataFrame) -> str:
    means = rows.groupby(["method", "budget"], sort=False)[["value", "lower_bound"]].mean()
    budgets = list(dict.fromkeys(rows["budget"]))
    for place, (method, (label, colour)) in enumerate(_BARS.items()):
        at = [k + (place - 1.5) * _WIDTH for k in range(len(budgets))]
        axes.bar(at, means["value"][method][budgets], _WIDTH, color=colour, label=label)
    axes.plot(at, means["lower_bound"][EACH][budgets], "k_", markersize=9, label="its lower bound")
    axes.set_xticks(range(len(budgets)), [name.replace(", ", "\n") for name in budgets])
    axes.set_ylabel("mean exact worst case")
    axes.grid(axis="y", alpha=0.3)
    return data


def accuracy(rows: pd.DataFrame) -> dict[str, Any]:
    """Compare accuracies on rows as they are and attacked, paired over the same instances."""
    rows = rows.astype({"seconds": float, "proved": float})
    parts = rows.groupby(["data", "n_rows"], sort=False)
    return {
        "seeds": rows["seed"].nunique(),
        "lines": _scores(rows),
        "parts": [(*at, _scores(part)) for at, part in parts],
        "verdicts": [
            (method, other, _scores(rows, other).loc[method])
            for method in TRUE
            for other in (REFERENCE, PAPER_SVC)
        ],
    }


def _scores(rows: pd.DataFrame, other: str = REFERENCE) -> pd.DataFrame:
    lines = rows.groupby("method", sort=False).agg({"seconds": "median", "proved": "mean"})
    for score in ("accuracy", "attacked"):
        differences = paired(rows, ["data", "n_rows", "seed"], score, other)
        lines[score] = lines.index.map(differences.to_dict("index"))
    return lines


def reach(rows: pd.DataFrame) -> dict[str, Any]:
    """Say how many validation rows an exact worst case bears."""
    keys = ["n_val", "epsilon", "delta"]
    rows = rows.assign(exact=rows["upper_bound"] <= rows["value"] + OPTIMAL_GAP)
    rows = rows.set_index([*keys, "data", "seed"])
    highs = rows[rows["method"] == HIGHS].add_prefix("highs_")
    pairs = rows[rows["method"] == OURS].join(highs)
    pairs["ratio"] = pairs["highs_seconds"] / pairs["seconds"]
    lines = pairs.groupby(keys).agg(
        draws=("exact", "size"),
        exact=("exact", "mean"),
        median=("seconds", "median"),
        worst=("seconds", "max"),
        nodes=("nodes", "median"),
        most=("nodes", "max"),
        highs_exact=("highs_exact", "mean"),
        highs_median=("highs_seconds", "median"),
        ratio=("ratio", "median"),
    )
    both = pairs[pairs["exact"] & pairs["highs_exact"]]
    largest = (both["value"] - both["highs_value"]).abs().max() if len(both) else 0.0
    return {"lines": lines.reset_index(), "solved": len(both), "largest": largest}


def jumps(rows: pd.DataFrame) -> dict[str, Any]:
    """Say whether the worst case jumps as the box moves."""
    instances = rows.drop_duplicates(["n_rows", "data", "seed"])
    return {
        "breakpoints": instances["breakpoints"].sum(),
        "draws": len(instances),
        "changes": rows.groupby("step")["change"].max().sort_index(ascending=False).items(),
    }


SECTIONS = {"boxes": boxes, "accuracy": accuracy, "reach": reach, "jumps": jumps}


def main(arguments: Sequence[str] | None = None) -> None:
    options = command_line(__doc__, f"results/{PAGE}", SECTIONS).parse_args(arguments)
    measures = {part: getattr(pessimism, part) for part in SECTIONS}
    with opened(options) as (store, docs):
        found, measured = measure_parts(options, store, pessimism.factors, measures, COMMAND)
        figure = bars(found["boxes"]) if "boxes" in found else None
        write(docs, PAGE, text(found, measured), figure)


if __name__ == "__main__":
    main()
