"""The page and the figure of the benchmark of solvers, made from the stored rows alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from judging import FAILED, LIMIT, NOT_PROVED, OURS, TOO_LARGE, judge, losses, summarise
from matplotlib.figure import Figure
from measuring import COLOURS, legend_below, machine, panels, render, write

from pessimal.reproduction import Store

STUDY, START_UP = "solvers", "start-up"
LOSSES_LISTED = 15

_SUITES = {
    "grid": "The paper's sizes: |T| and |V| from 5 to 20",
    "large": "More rows: |T| = |V| = 30, 50, 100",
    "wide": "More features: 20, 50, 100, with |T| = |V| = 50",
}


def write_page(store: Store, rows: pd.DataFrame, docs: Path) -> None:
    """Write the page and its figure."""
    starts = store.records(START_UP) if START_UP in store.studies() else []
    measured = machine(store, STUDY)
    measured["versions"] += sorted(set(rows.loc[rows["solver"] != OURS, "version"]) - {""})
    runs = store.summary(STUDY, all_runs=True).runs
    measured["commands"] = dict.fromkeys(run.command for run in runs)
    grid = judge(rows[rows["suite"] == "grid"])
    figure = profile(grid) if len(grid) else None
    write(docs, "benchmarks", text(rows, starts, measured), figure)


def text(
    rows: pd.DataFrame, starts: Sequence[Mapping[str, Any]], measured: Mapping[str, Any]
) -> str:
    """Return the page in Markdown."""
    judged = judge(rows)
    judged = judged.assign(view=[*map(_view, judged["view"], judged["epsilon"])])
    slower = losses(judged)
    failed = judged[judged["status"].isin((FAILED, NOT_PROVED))]
    failed = failed.assign(message=failed["message"].replace("", "stopped without a proof"))
    return render(
        "benchmarks",
        **measured,
        seeds=sorted(set(rows["seed"])),
        suites={
            title: _summary(suite, judged[judged["suite"] == suite])
            for suite, title in _SUITES.items()
            if suite in set(judged["suite"])
        },
        figure="grid" in set(judged["suite"]),
        losses=slower,
        slower=sorted(slower["solver"].value_counts().loc[lambda n: n > 0].items()),
        listed=LOSSES_LISTED,
        wrong=judged[judged["wrong"]],
        failures=failed[["key", "solver", "status", "message"]].to_numpy().tolist(),
        starts=[{**start, "view": _view(start["view"], start["epsilon"])} for start in starts],
        overheads=_overheads(judged),
        names={"ours": OURS, "limit": LIMIT, "too_large": TOO_LARGE},
    )


def _view(view: str, epsilon: float) -> str:
    return view if view == "optimistic" else f"{view}, ε = {epsilon:g}"


def _summary(suite: str, rows: pd.DataFrame) -> pd.DataFrame:
    label = rows["data"]
    if suite == "large":
        label = label + ", " + rows["n_train"].astype(str)
    rows = rows.assign(label=label)
    if suite == "grid" and label.nunique() > 1:
        rows = pd.concat([rows, rows.assign(label="both data sets")], ignore_index=True)
    rows["label"] = pd.Categorical(rows["label"], rows["label"].unique())
    return summarise(rows, ["view", "label", "solver"]).reset_index()


def _overheads(rows: pd.DataFrame) -> pd.DataFrame:
    on_grid = rows["certificate_seconds"].where(rows["suite"] == "grid")
    growth = rows["memory_peak"] - rows["memory_before"]
    by_solver = rows.assign(on_grid=on_grid, growth=growth).groupby("solver", observed=True)
    return by_solver.agg(
        check=("certificate_seconds", "median"),
        longest=("on_grid", "max"),
        build=("build_seconds", "median"),
        peak=("memory_peak", "max"),
        growth=("growth", "max"),
    )


def profile(judged: pd.DataFrame) -> Figure:
    """Draw by view the share of instances proved in a given time, of those every solver ran on."""
    views = list(judged.groupby(["view", "epsilon"]))
    figure, axes = panels("solvers", len(views), height=3.2, sharey=True)
    colour = dict(zip(judged["solver"].cat.categories, COLOURS, strict=False))
    for panel, (view, rows) in zip(axes, views, strict=True):
        names = rows["solver"].cat.remove_unused_categories().cat.categories
        common = rows[rows.groupby("key")["solver"].transform("size") == len(names)]
        count = common["key"].nunique()
        for name in names:
            own = common[common["solver"] == name]
            proofs = np.sort(own.loc[~own["wrong"] & np.isfinite(own["proof"]), "proof"])
            # Beyond its limit nothing is known of a solver.
            end = own["given"].max() if count else 1.0
            proved = np.minimum(np.arange(1, len(proofs) + 2), len(proofs))
            panel.step(
                [*proofs, end],
                100.0 * proved / max(count, 1),
                where="post",
                color=colour[name],
                linewidth=2.2 if name == OURS else 1.2,
                label=name,
            )
        panel.set(xscale="log", ylim=(0.0, 102.0), xlabel="CPU seconds, one thread")
        panel.set_title(f"{_view(*view)} ({count})", fontsize=9)
        panel.grid(alpha=0.3)
    axes[0].set_ylabel("instances proved, %")
    legend_below(figure)
    return figure
