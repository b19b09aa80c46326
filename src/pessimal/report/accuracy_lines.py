"""Accuracy against the size of one set, the other fixed: the paper's Figs. 1, 3 and A2.

Bars are standard deviations over the draws, as in the paper. The paper's own means, from its Table
A1, are hollow markers.
"""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from pessimal.report.readings import Reading
from pessimal.report.wording import DATA_NAMES, SYMBOLS

BLUE, LIGHT_BLUE, BLACK, GREY = "#0072B2", "#56B4E9", "#000000", "#777777"

Panel = tuple[str, int]
"""The column that is fixed, ``"n_val"`` or ``"n_train"``, and its value."""

_STYLES = ((BLACK, "o-"), (BLUE, "s-"), (LIGHT_BLUE, "D--"))


def draw_lines(
    rows: pd.DataFrame,
    paper: pd.DataFrame,
    data: str,
    panels: Sequence[Panel],
    readings: Sequence[Reading],
    baseline: str,
) -> Figure:
    """Draw one panel for each fixed size, with a line a reading and one for a baseline."""
    n_columns = min(2, len(panels))
    n_rows = -(-len(panels) // n_columns)
    figure = Figure(figsize=(5.2 * n_columns, 3.8 * n_rows), layout="constrained")
    axes = figure.subplots(n_rows, n_columns, squeeze=False, sharey=True)
    here, published = rows[rows["data"] == data], paper[paper["data"] == data]
    for axis, panel in zip(axes.flat, panels, strict=True):
        _panel(axis, here, published, panel, readings, baseline)
    handles, labels = axes.flat[0].get_legend_handles_labels()
    figure.legend(handles, labels, frameon=False, loc="outside lower center", ncols=2)
    figure.suptitle(DATA_NAMES[data])
    return figure


def _panel(
    axes: Axes,
    rows: pd.DataFrame,
    paper: pd.DataFrame,
    panel: Panel,
    readings: Sequence[Reading],
    baseline: str,
) -> None:
    fixed, size = panel
    varied = "n_train" if fixed == "n_val" else "n_val"
    here, published = rows[rows[fixed] == size], paper[paper[fixed] == size]
    for shift, (reading, (color, style)) in enumerate(zip(readings, _STYLES, strict=False)):
        groups = reading.rows(here).groupby(varied)["test_accuracy"]
        mean, deviation = groups.mean(), groups.std()
        # Bars side by side can be told apart.
        place = mean.index.to_numpy() + 0.25 * (shift - 1)
        axes.errorbar(place, mean, deviation, fmt=style, color=color, capsize=2, label=reading.name)
    for column, color, marker in (("pessimistic", BLACK, "o"), ("optimistic", BLUE, "s")):
        axes.plot(
            published[varied],
            published[column],
            linestyle=":",
            marker=marker,
            markerfacecolor="none",
            color=color,
            label=f"{column}, paper",
        )
    plain = here[here["model"] == baseline].groupby(varied)["test_accuracy"].mean()
    axes.plot(plain.index, plain, "^-.", color=GREY, linewidth=1.0, label=baseline)
    axes.set_xticks(sorted(here[varied].unique()))
    axes.set_xlabel(SYMBOLS[varied])
    axes.set_ylabel("test accuracy")
    axes.set_title(f"{SYMBOLS[fixed]} = {size}", fontsize="medium")
