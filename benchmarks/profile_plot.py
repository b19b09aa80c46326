"""The share of instances proved within a given time, a panel a view, a line a solver."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path

import matplotlib as mpl
from comparison import Group, proof_times, solvers_of, time_given
from matplotlib.figure import Figure
from rows import OURS

# Colours that the colour-blind tell apart (Okabe and Ito).
_COLOURS = ("#000000", "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00")


def profile(views: Mapping[str, Group]) -> Figure:
    """Draw the groups, each over the instances that every solver ran on.

    Examples
    --------
    >>> profile({"optimistic": {}}).axes[0].get_title()
    'optimistic (0)'
    """
    figure = Figure(figsize=(9.0, 3.2), layout="constrained")
    panels = figure.subplots(1, len(views), sharey=True, squeeze=False)[0]
    solvers = sorted({name for group in views.values() for name in solvers_of(group)})
    colour = dict(zip([OURS, *(name for name in solvers if name != OURS)], _COLOURS, strict=False))
    for panel, (view, group) in zip(panels, views.items(), strict=True):
        names = solvers_of(group)
        common = {inst: rows for inst, rows in group.items() if len(rows) == len(names)}
        for name in names:
            times = [t for t in proof_times(common, name) if math.isfinite(t)]
            # Beyond its limit nothing is known of a solver.
            end = max((time_given(rows[name]) for rows in common.values()), default=1.0)
            shares = [100.0 * k / len(common) for k in range(1, len(times) + 1)]
            last = shares[-1:] or [0.0]
            panel.step(
                [*times, end],
                [*shares, *last],
                where="post",
                color=colour[name],
                linewidth=2.2 if name == OURS else 1.2,
                label=name,
            )
        panel.set_xscale("log")
        panel.set_ylim(0.0, 102.0)
        panel.set_title(f"{view} ({len(common)})", fontsize=9)
        panel.set_xlabel("CPU seconds, one thread", fontsize=9)
        panel.tick_params(labelsize=8)
        panel.grid(alpha=0.3)
    panels[0].set_ylabel("instances proved, %", fontsize=9)
    handles, labels = panels[0].get_legend_handles_labels()
    if handles:
        figure.legend(handles, labels, fontsize=8, loc="outside lower center", ncols=len(labels))
    return figure


def save(figure: Figure, folder: Path, name: str) -> None:
    """Write a figure as PNG and SVG; the same figure gives the same files."""
    folder.mkdir(parents=True, exist_ok=True)
    figure.savefig(folder / f"{name}.png", dpi=110, metadata={"Software": None})
    with mpl.rc_context({"svg.hashsalt": name}):
        figure.savefig(folder / f"{name}.svg", metadata={"Date": None})
