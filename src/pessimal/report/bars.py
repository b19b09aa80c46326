"""Accuracy as bars over ε and the radius of the attack: the paper's Figs. 4 and 5."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from pessimal.report.readings import Reading
from pessimal.report.wording import DATA_NAMES

_COLORS = ("#444444", "#0072B2")
_STEP = 0.05


def draw_bars(rows: pd.DataFrame, pessimistic: Reading, optimistic: Reading) -> Figure:
    """Draw one panel a data set: two bars for each ε and ρ, standing on a raised floor."""
    data_sets = list(dict.fromkeys(rows["data"]))
    figure = Figure(figsize=(6.4 * len(data_sets), 5.4), layout="constrained")
    panels = figure.subplots(1, len(data_sets), squeeze=False, subplot_kw={"projection": "3d"})[0]
    readings = (pessimistic, optimistic)
    for panel, data in zip(panels, data_sets, strict=True):
        here = rows[rows["data"] == data]
        heights = [
            reading.rows(here).groupby(["epsilon", "rho_test"])["test_accuracy"].mean().unstack()
            for reading in readings
        ]
        lowest = min(float(height.min().min()) for height in heights)
        floor = _STEP * (np.floor(lowest / _STEP) - 1.0)
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
            color=[_COLORS[k] for k in kind],
            edgecolor="white",
            linewidth=0.3,
        )
        panel.set_zlim(bottom=floor)
        panel.set_xticks(range(n_rho), [f"{rho:g}" for rho in heights[0].columns])
        panel.set_yticks(range(n_eps), [f"{eps:g}" for eps in heights[0].index])
        panel.set_xlabel("ρ of the test rows")
        panel.set_ylabel("ε")
        panel.set_zlabel("test accuracy")
        panel.set_title(DATA_NAMES[data])
        panel.view_init(elev=32, azim=-70)
    names = (pessimistic.name, optimistic.name)
    figure.legend(
        handles=[Patch(color=c, label=name) for c, name in zip(_COLORS, names, strict=True)],
        loc="outside lower center",
        ncols=2,
        frameon=False,
    )
    return figure
