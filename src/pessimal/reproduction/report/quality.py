"""The report of the study of solution quality: Fig. A1, by flipping and exactly."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from pessimal.report.page import Plot, Section, Table
from pessimal.reproduction.report.readings import (
    DATA_NAMES,
    LARGEST,
    SMALLEST,
    SYMBOLS,
    by_data,
    share,
)
from pessimal.tolerances import CERTIFICATE, OPTIMAL_GAP

_COLORS = ("#009E73", "#D55E00", "#000000")
_MARKERS = "os^"
_SETTING = ["data", "rho_val", "epsilon"]
_DRAW = [*_SETTING, "seed"]

CURVES = {
    "flip": ("worst_flip", "objective", "worst case by flipping"),
    "exact": ("worst_exact", "worst_exact", "exact worst case"),
}
"""The optimistic and the pessimistic curve of each panel, and what it shows."""


def sections(rows: pd.DataFrame) -> Sequence[Section]:
    """Make the report from the rows of the study, each with the columns of its configuration."""
    optimistic, pessimistic = _view(rows, "optimistic", LARGEST), _view(rows, "pessimistic")
    smallest = _view(rows, "optimistic")
    table = pd.DataFrame(
        {
            "optimistic objective": optimistic["objective"],
            "optimistic, flipped, largest box": optimistic["worst_flip"],
            "optimistic, flipped, smallest box": smallest["worst_flip"],
            "optimistic, exact, largest box": optimistic["worst_exact"],
            "optimistic, exact, smallest box": smallest["worst_exact"],
            "pessimistic objective": pessimistic["objective"],
            "pessimistic, exact": pessimistic["worst_exact"],
            "share proved": pessimistic["proved"].astype(float),
        }
    )
    return (
        Section(
            "Solution quality",
            (*_claims(optimistic, pessimistic), _certified(rows, pessimistic)),
            (
                Plot(
                    "figure-a1",
                    "Fig. A1 of the paper, and the same with exact worst cases: mean validation "
                    "loss against ε. Dashed: optimistic box, the largest. Solid: pessimistic. "
                    "Colours: ρ of the validation rows.",
                    partial(_draw, optimistic, pessimistic),
                ),
                Table(
                    "losses",
                    "Mean validation loss over the draws: objective of each view, and worst case "
                    "of its box by flipping and exactly.",
                    table.groupby(_SETTING).mean().reset_index().rename(columns=SYMBOLS),
                ),
            ),
        ),
    )


def _view(rows: pd.DataFrame, model: str, tie_break: str = SMALLEST) -> pd.DataFrame:
    kept = rows[(rows["model"] == model) & (rows["tie_break"] == tie_break)]
    return kept.set_index(_DRAW)


def _claims(optimistic: pd.DataFrame, pessimistic: pd.DataFrame) -> tuple[str, str]:
    """Check what the paper reads from its figure, draw by draw."""

    def above(column: str, other: str) -> str:
        larger = optimistic[column] >= pessimistic[other] - CERTIFICATE
        return by_data((data, share(flags)) for data, flags in larger.groupby("data"))

    def excess(frame: pd.DataFrame, column: str) -> str:
        ratio = frame.groupby("data")["worst_exact"].mean() / frame.groupby("data")[column].mean()
        return by_data((data, f"{value:.2f} times") for data, value in ratio.items())

    below = pessimistic["objective"] < optimistic["objective"] - CERTIFICATE
    return (
        "The paper expects the worst case at the optimistic box to be the larger in every draw. By "
        f"flipping it is in {above('worst_flip', 'objective')}; exactly in "
        f"{above('worst_exact', 'worst_exact')}.",
        "Flipping stands in for the worst case and falls short of it: the mean exact worst case is "
        f"{excess(optimistic, 'worst_flip')} the flipped one at the optimistic box, and "
        f"{excess(pessimistic, 'objective')} the pessimistic objective at the pessimistic box. In "
        f"{share(below)} draws the pessimistic objective is below the optimistic optimum, which no "
        "true worst case can be: the relaxation lets the outer level widen the budget by a poor "
        "copy of the model.",
    )


def _certified(rows: pd.DataFrame, pessimistic: pd.DataFrame) -> str:
    met = rows["worst_exact_bound"] - rows["worst_exact"] <= OPTIMAL_GAP
    proved = by_data((data, share(flags)) for data, flags in pessimistic.groupby("data")["proved"])
    return (
        f"Pessimistic optima proved: {proved}; the others are the best after "
        f"{rows['node_limit'].max():,} nodes. Exact worst cases that meet their bound: "
        f"{share(met)}. {rows['n_train'].max()} rows to train and {rows['n_val'].max()} to "
        f"validate on, draws: {rows['seed'].nunique()}; the paper names neither its sizes nor its "
        "three radii."
    )


def _draw(optimistic: pd.DataFrame, pessimistic: pd.DataFrame) -> Figure:
    data_sets = list(dict.fromkeys(optimistic.index.get_level_values("data")))
    optimistic, pessimistic = optimistic.sort_index(), pessimistic.sort_index()
    figure = Figure(figsize=(5.4 * len(data_sets), 7.6), layout="constrained")
    axes = figure.subplots(len(CURVES), len(data_sets), squeeze=False)
    for i, (dashed, solid, name) in enumerate(CURVES.values()):
        for j, data in enumerate(data_sets):
            panel = axes[i, j]
            _curves(panel, optimistic.loc[data, dashed], "--", "optimistic")
            _curves(panel, pessimistic.loc[data, solid], "-", "pessimistic")
            panel.set_xlabel("ε")
            panel.set_ylabel("validation loss (mean hinge)")
            panel.set_title(f"{DATA_NAMES[data]}, {name}", fontsize="medium")
            panel.set_ylim(bottom=0.0)
    axes[0, 0].legend(frameon=False, fontsize="small")
    return figure


def _curves(axes: Axes, losses: pd.Series, line: str, name: str) -> None:
    means = losses.groupby(["rho_val", "epsilon"]).mean()
    for (rho, curve), color, marker in zip(
        means.groupby("rho_val"), _COLORS, _MARKERS, strict=False
    ):
        epsilons = curve.index.get_level_values("epsilon")
        axes.plot(epsilons, curve, line, marker=marker, color=color, label=f"{name}, ρ = {rho:g}")
