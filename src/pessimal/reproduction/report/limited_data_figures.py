"""The figures of the study of limited data, after the paper's Figs. 1, 2, 3 and A2.

Fig. 2 shows accuracy over total size and split ratio, with fitted quadratic surfaces. The others
show it against the size of one set, the other fixed. There bars are standard deviations over the
instances, as in the paper, whose own means, from its Table A1, are hollow markers.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from mpl_toolkits.mplot3d.axes3d import Axes3D  # type: ignore[import-untyped]

from pessimal.problem import Matrix, Vector
from pessimal.reproduction.report.readings import DATA_NAMES, SYMBOLS, Reading

BLUE, LIGHT_BLUE, BLACK, GREY = "#0072B2", "#56B4E9", "#000000", "#777777"
_SHEET = "#999999"
_GRID = 16
Panel = tuple[str, int]
"""The column that is fixed, ``"n_val"`` or ``"n_train"``, and its value."""
_STYLES = ((BLACK, "o-"), (BLUE, "s-"), (LIGHT_BLUE, "D--"))


def quadratic_surface(total: Vector, ratio: Vector, height: Vector) -> Vector:
    """Fit ``c₀ + c₁s + c₂r + c₃s² + c₄sr + c₅r²`` by least squares.

    Examples
    --------
    >>> s, r = np.array([0.0, 0, 0, 1, 1, 2]), np.array([0.0, 1, 2, 0, 1, 0])
    >>> quadratic_surface(s, r, 1.0 + 2.0 * s * r).round(6) + 0.0
    array([1., 0., 0., 0., 2., 0.])
    """
    return np.asarray(np.linalg.lstsq(_terms(total, ratio), height)[0], dtype=np.float64)


def draw_surfaces(
    rows: pd.DataFrame, pessimistic: Reading, optimistic: Sequence[Reading]
) -> Figure:
    """Draw a row of panels for each optimistic reading, and a column for each data set."""
    data_sets = list(dict.fromkeys(rows["data"]))
    shape = (len(optimistic), len(data_sets))
    figure = Figure(figsize=(6.0 * shape[1], 5.0 * shape[0]), layout="constrained")
    axes = figure.subplots(*shape, squeeze=False, subplot_kw={"projection": "3d"})
    for i, reading in enumerate(optimistic):
        for j, data in enumerate(data_sets):
            here = rows[rows["data"] == data]
            panel = axes[i, j]
            _cloud(panel, reading.rows(here), BLUE, BLUE, reading.name)
            _cloud(panel, pessimistic.rows(here), BLACK, _SHEET, pessimistic.name)
            panel.set_xlabel("|T| + |V|")
            panel.set_ylabel("|T| / |V|")
            panel.set_zlabel("test accuracy")
            panel.set_title(DATA_NAMES[data])
            panel.legend(loc="upper left", fontsize="small", frameon=False)
            panel.view_init(elev=18, azim=-125)
    return figure


def _cloud(axes: Axes3D, rows: pd.DataFrame, dots: str, sheet: str, name: str) -> None:
    means = rows.groupby(["n_train", "n_val"])["test_accuracy"].mean().reset_index()
    total = (means["n_train"] + means["n_val"]).to_numpy(dtype=float)
    ratio = (means["n_train"] / means["n_val"]).to_numpy(dtype=float)
    height = means["test_accuracy"].to_numpy(dtype=float)
    axes.scatter(total, ratio, height, color=dots, depthshade=False, label=name)
    fit = quadratic_surface(total, ratio, height)
    # A grid of sizes ends where the data do; one of totals and ratios would go beyond.
    n_train, n_val = np.meshgrid(
        *(np.linspace(means[name].min(), means[name].max(), _GRID) for name in ("n_train", "n_val"))
    )
    s, r = n_train + n_val, n_train / n_val
    z = (_terms(s.ravel(), r.ravel()) @ fit).reshape(s.shape)
    axes.plot_surface(s, r, z, color=sheet, alpha=0.3, linewidth=0)


def _terms(s: Vector, r: Vector) -> Matrix:
    return np.column_stack([np.ones_like(s), s, r, s**2, s * r, r**2])


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
