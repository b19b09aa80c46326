"""Accuracy over total size and split ratio, with fitted quadratic surfaces: the paper's Fig. 2."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from mpl_toolkits.mplot3d.axes3d import Axes3D  # type: ignore[import-untyped]

from pessimal.problem import Matrix, Vector
from pessimal.report.readings import Reading
from pessimal.report.wording import DATA_NAMES

BLUE, BLACK, GREY = "#0072B2", "#000000", "#999999"
_GRID = 16


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
            _cloud(panel, pessimistic.rows(here), BLACK, GREY, pessimistic.name)
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
