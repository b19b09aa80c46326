"""Candidates of a search: ordinary score against worst score."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from pessimal.tolerances import OPTIMAL_GAP

BLUE, ORANGE, VERMILION, GREY = "#0072B2", "#E69F00", "#D55E00", "#666666"


def draw(results: dict[str, Any], metric: str, chosen: int, axes: Axes | None = None) -> Axes:
    """Draw candidates with their spread over folds, the chosen one and the usual winner."""
    if axes is None:
        axes = Figure(figsize=(6.4, 4.8), layout="constrained").subplots()
    usual, found = results[f"mean_test_{metric}"], results["mean_worst_found"]
    axes.errorbar(
        usual,
        found,
        xerr=results[f"std_test_{metric}"],
        yerr=results["std_worst_found"],
        fmt="o",
        color=GREY,
        elinewidth=0.8,
        label="candidates (mean ± deviation over folds)",
    )
    bound = results["mean_worst_bound"]
    bounded = np.isfinite(bound) & (found - bound > OPTIMAL_GAP * np.maximum(1.0, np.abs(found)))
    if bounded.any():
        axes.vlines(
            usual[bounded],
            bound[bounded],
            found[bounded],
            color=VERMILION,
            linewidth=3.0,
            alpha=0.4,
            label="not ruled out",
        )
    winner = int(np.nanargmax(usual))
    for place, marker, color, size, name in (
        (winner, "s", ORANGE, 11, "usual winner"),
        (chosen, "*", BLUE, 13, "chosen"),
    ):
        at = usual[place], found[place]
        axes.plot(*at, marker, color=color, markersize=size, label=name, zorder=3, linestyle="")
    axes.set_xlabel(f"test score ({metric})" if metric != "score" else "test score")
    axes.set_ylabel("score of the worst equally good model")
    axes.legend(framealpha=0.8, edgecolor="none", fontsize="small")
    return axes
