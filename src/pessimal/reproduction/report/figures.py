"""The figures of the studies, after the paper's; what the paper published is hollow or dotted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from mpl_toolkits.mplot3d.axes3d import Axes3D  # type: ignore[import-untyped]
from numpy.typing import NDArray

from pessimal.problem import Matrix, Vector
from pessimal.reproduction.report.readings import DATA_NAMES, SYMBOLS, Reading
from pessimal.reproduction.transfer import decode

BLUE, LIGHT_BLUE, BLACK, GREY = "#0072B2", "#56B4E9", "#000000", "#777777"
_STYLES = ((BLACK, "o-"), (BLUE, "s-"), (LIGHT_BLUE, "D--"))
_SHEET, _GRID = "#999999", 16
_BAR_COLORS, _FLOOR_STEP = ("#444444", BLUE), 0.05
_RADIUS_STYLES = (("#009E73", "o"), ("#D55E00", "s"), (BLACK, "^"))

Panel = tuple[str, int]
"""The column that is fixed, ``"n_val"`` or ``"n_train"``, and its value."""

LOSSES = {
    "worst case by flipping": ("worst_flip", "objective"),
    "exact worst case": ("worst_exact", "worst_exact"),
}
"""What each row of panels shows: the column of the optimistic curve, that of the pessimistic."""

TOLERANCES = (("epsilon", "delta", "ε (δ = 0)"), ("delta", "epsilon", "δ (ε = 0)"))
"""What a panel varies, what it keeps at 0, and the name of its axis."""


def _panels(
    n_rows: int, n_columns: int, width: float, height: float, **options: Any
) -> tuple[Figure, NDArray[Any]]:
    """Make a figure of panels of one size, in inches."""
    figure = Figure(figsize=(width * n_columns, height * n_rows), layout="constrained")
    return figure, figure.subplots(n_rows, n_columns, squeeze=False, **options)


def _curves(
    axes: Axes,
    rows: pd.DataFrame,
    varied: str,
    readings: Sequence[Reading],
    bars: str,
    gap: float = 0.0,
) -> None:
    """Draw mean accuracies, one line per reading; a gap lets bars side by side be told apart."""
    for shift, (reading, (color, style)) in enumerate(zip(readings, _STYLES, strict=True)):
        found = reading.rows(rows).groupby(varied)["test_accuracy"].agg(["mean", bars])
        place = found.index.to_numpy() + gap * (shift - 1)
        axes.errorbar(
            place, found["mean"], found[bars], fmt=style, color=color, capsize=2, label=reading.name
        )


def quadratic_surface(total: Vector, ratio: Vector, height: Vector) -> Vector:
    """Fit ``c₀ + c₁s + c₂r + c₃s² + c₄sr + c₅r²`` by least squares.

    Examples
    --------
    >>> s, r = np.array([0.0, 0, 0, 1, 1, 2]), np.array([0.0, 1, 2, 0, 1, 0])
    >>> quadratic_surface(s, r, 1.0 + 2.0 * s * r).round(6) + 0.0
    array([1., 0., 0., 0., 2., 0.])
    """
    return np.asarray(np.linalg.lstsq(_terms(total, ratio), height)[0], dtype=np.float64)


def _terms(s: Vector, r: Vector) -> Matrix:
    return np.column_stack([np.ones_like(s), s, r, s**2, s * r, r**2])


def draw_surfaces(
    rows: pd.DataFrame, pessimistic: Reading, optimistic: Sequence[Reading]
) -> Figure:
    """Draw accuracy over total size and split ratio: panels by optimistic reading and data set."""
    data_sets = rows["data"].unique()
    solid = {"projection": "3d"}
    figure, axes = _panels(len(optimistic), len(data_sets), 6.0, 5.0, subplot_kw=solid)
    for reading, panels in zip(optimistic, axes, strict=True):
        for data, panel in zip(data_sets, panels, strict=True):
            here = rows[rows["data"] == data]
            _cloud(panel, reading.rows(here), BLUE, BLUE, reading.name)
            _cloud(panel, pessimistic.rows(here), BLACK, _SHEET, pessimistic.name)
            panel.set(xlabel="|T| + |V|", ylabel="|T| / |V|", zlabel="test accuracy")
            panel.set_title(DATA_NAMES[data])
            panel.legend(loc="upper left", fontsize="small", frameon=False)
            panel.view_init(elev=18, azim=-125)
    return figure


def _cloud(axes: Axes3D, rows: pd.DataFrame, dots: str, sheet: str, name: str) -> None:
    means = rows.groupby(["n_train", "n_val"])["test_accuracy"].mean().reset_index()
    n_train, n_val, height = means.to_numpy(dtype=float).T
    total, ratio = n_train + n_val, n_train / n_val
    axes.scatter(total, ratio, height, color=dots, depthshade=False, label=name)
    fit = quadratic_surface(total, ratio, height)
    # A grid of sizes ends where the data do; one of totals and ratios would go beyond.
    sizes = (np.linspace(size.min(), size.max(), _GRID) for size in (n_train, n_val))
    n_train, n_val = np.meshgrid(*sizes)
    s, r = n_train + n_val, n_train / n_val
    z = (_terms(s.ravel(), r.ravel()) @ fit).reshape(s.shape)
    axes.plot_surface(s, r, z, color=sheet, alpha=0.3, linewidth=0)


def draw_lines(
    rows: pd.DataFrame,
    paper: pd.DataFrame,
    data: str,
    panels: Sequence[Panel],
    readings: Sequence[Reading],
    baseline: str,
) -> Figure:
    """Draw accuracy against the size of one set, a panel for each fixed size of the other.

    Bars are standard deviations over the instances, as in the paper, whose own means, from its
    Table A1, are hollow markers.
    """
    n_columns = min(2, len(panels))
    figure, axes = _panels(-(-len(panels) // n_columns), n_columns, 5.2, 3.8, sharey=True)
    rows, paper = rows[rows["data"] == data], paper[paper["data"] == data]
    for panel, (fixed, size) in zip(axes.flat, panels, strict=True):
        varied = "n_train" if fixed == "n_val" else "n_val"
        here, published = rows[rows[fixed] == size], paper[paper[fixed] == size]
        _curves(panel, here, varied, readings, "std", gap=0.25)
        for column, color, marker in (("pessimistic", BLACK, "o:"), ("optimistic", BLUE, "s:")):
            label = f"{column}, paper"
            style = {"markerfacecolor": "none", "color": color, "label": label}
            panel.plot(published[varied], published[column], marker, **style)
        plain = here[here["model"] == baseline].groupby(varied)["test_accuracy"].mean()
        panel.plot(plain.index, plain, "^-.", color=GREY, linewidth=1.0, label=baseline)
        panel.set_xticks(sorted(here[varied].unique()))
        panel.set(xlabel=SYMBOLS[varied], ylabel="test accuracy")
        panel.set_title(f"{SYMBOLS[fixed]} = {size}", fontsize="medium")
    handles, labels = axes.flat[0].get_legend_handles_labels()
    figure.legend(handles, labels, frameon=False, loc="outside lower center", ncols=2)
    figure.suptitle(DATA_NAMES[data])
    return figure


def draw_bars(rows: pd.DataFrame, readings: Sequence[Reading]) -> Figure:
    """Draw one panel per data set: a bar per reading for each ε and ρ, on a raised floor."""
    data_sets = rows["data"].unique()
    figure, axes = _panels(1, len(data_sets), 6.4, 5.4, subplot_kw={"projection": "3d"})
    for panel, data in zip(axes.flat, data_sets, strict=True):
        here = rows[rows["data"] == data]
        heights = [
            reading.rows(here).groupby(["epsilon", "rho_test"])["test_accuracy"].mean().unstack()
            for reading in readings
        ]
        lowest = min(float(height.min().min()) for height in heights)
        floor = _FLOOR_STEP * (np.floor(lowest / _FLOOR_STEP) - 1.0)
        n_eps, n_rho = heights[0].shape
        kind, y, x = np.indices((len(heights), n_eps, n_rho)).reshape(3, -1)
        # All bars in one call: matplotlib sorts by depth within a call only.
        panel.bar3d(
            x - 0.4 + 0.4 * kind,
            y - 0.15,
            floor,
            0.36,
            0.3,
            np.concatenate([height.to_numpy().ravel() for height in heights]) - floor,
            color=[_BAR_COLORS[k] for k in kind],
            edgecolor="white",
            linewidth=0.3,
        )
        panel.set_zlim(bottom=floor)
        panel.set_xticks(range(n_rho), [f"{rho:g}" for rho in heights[0].columns])
        panel.set_yticks(range(n_eps), [f"{eps:g}" for eps in heights[0].index])
        panel.set(xlabel="ρ of the test rows", ylabel="ε", zlabel="test accuracy")
        panel.set_title(DATA_NAMES[data])
        panel.view_init(elev=32, azim=-70)
    named = zip(_BAR_COLORS, readings, strict=True)
    handles = [Patch(color=color, label=reading.name) for color, reading in named]
    figure.legend(handles=handles, loc="outside lower center", ncols=2, frameon=False)
    return figure


def draw_losses(optimistic: pd.DataFrame, pessimistic: pd.DataFrame) -> Figure:
    """Draw validation losses against ε, by flipping and exactly, a column per data set."""
    data_sets = optimistic.index.get_level_values("data").unique()
    optimistic, pessimistic = optimistic.sort_index(), pessimistic.sort_index()
    figure, axes = _panels(len(LOSSES), len(data_sets), 5.4, 3.8)
    for panels, (name, (dashed, solid)) in zip(axes, LOSSES.items(), strict=True):
        for panel, data in zip(panels, data_sets, strict=True):
            _radii(panel, optimistic.loc[data, dashed], "--", "optimistic")
            _radii(panel, pessimistic.loc[data, solid], "-", "pessimistic")
            panel.set(xlabel="ε", ylabel="validation loss (mean hinge)")
            panel.set_title(f"{DATA_NAMES[data]}, {name}", fontsize="medium")
            panel.set_ylim(bottom=0.0)
    axes[0, 0].legend(frameon=False, fontsize="small")
    return figure


def _radii(axes: Axes, losses: pd.Series, line: str, name: str) -> None:
    means = losses.groupby(["rho_val", "epsilon"]).mean().groupby("rho_val")
    for (rho, curve), (color, marker) in zip(means, _RADIUS_STYLES, strict=False):
        epsilons = curve.index.get_level_values("epsilon")
        axes.plot(epsilons, curve, line, marker=marker, color=color, label=f"{name}, ρ = {rho:g}")


def draw_accuracies(
    rows: pd.DataFrame,
    readings: Sequence[Reading],
    paper: Mapping[str, float],
    baseline: str,
    names: Mapping[str, str],
) -> Figure:
    """Draw a row of panels for each origin of T and V: against ε at δ = 0, against δ at ε = 0."""
    origins = rows["reading"].unique()
    figure, axes = _panels(len(origins), len(TOLERANCES), 5.2, 3.8, sharey="row")
    for panels, origin in zip(axes, origins, strict=True):
        here = rows[rows["reading"] == origin]
        plain = here[here["model"] == baseline]["test_accuracy"].mean()
        for panel, (varied, fixed, label) in zip(panels, TOLERANCES, strict=True):
            _curves(panel, here[here[fixed] == 0.0], varied, readings, "sem")
            panel.axhline(plain, color=GREY, linestyle="-.", linewidth=1.0, label=baseline)
            panel.set_xlabel(label)
            panel.set_title(f"T and V from {names[origin]}", fontsize="medium")
        for reading, (color, _) in zip(readings[:2], _STYLES, strict=False):
            level, name = paper[reading.published], f"{reading.published}, paper"
            panels[0].axhline(level, color=color, linestyle=":", linewidth=1.0, label=name)
        panels[0].set_ylabel("test accuracy on Fashion-MNIST")
    axes[0, 0].legend(frameon=False, fontsize="small")
    return figure


def draw_images(images: Sequence[dict[str, Any]]) -> Figure:
    """Draw images with their class above."""
    n_columns = min(6, len(images))
    figure, axes = _panels(-(-len(images) // n_columns), n_columns, 1.3, 1.6)
    for panel in axes.flat:
        panel.set_axis_off()
    for panel, image in zip(axes.flat, images, strict=False):
        panel.imshow(decode(image), cmap="gray_r", vmin=0, vmax=255)
        panel.set_title(str(image["label"]), fontsize="medium")
    return figure
