"""The figures of the study of transfer: accuracy against ε and δ, and test images."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from pessimal.experiments.transfer.gallery import decode
from pessimal.report.readings import Reading

READING_NAMES = {"fashion": "Fashion-MNIST", "mnist": "MNIST"}
MOST_IMAGES = 12
_STYLES = (("#000000", "o-"), ("#0072B2", "s-"), ("#56B4E9", "D--"))
_GREY = "#777777"
_AXES = (("epsilon", "delta", "ε (δ = 0)"), ("delta", "epsilon", "δ (ε = 0)"))


def draw_accuracies(
    rows: pd.DataFrame, kinds: Sequence[Reading], paper: Mapping[str, float], baseline: str
) -> Figure:
    """Draw a row of panels for each origin of T and V: against ε at δ = 0, against δ at ε = 0."""
    origins = list(dict.fromkeys(rows["reading"]))
    figure = Figure(figsize=(10.4, 3.8 * len(origins)), layout="constrained")
    axes = figure.subplots(len(origins), 2, squeeze=False, sharey="row")
    for panels, origin in zip(axes, origins, strict=True):
        here = rows[rows["reading"] == origin]
        for panel, (varied, fixed, label) in zip(panels, _AXES, strict=True):
            _curves(panel, here[here[fixed] == 0.0], varied, kinds)
            plain = here[here["model"] == baseline]["test_accuracy"].mean()
            panel.axhline(plain, color=_GREY, linestyle="-.", linewidth=1.0, label=baseline)
            panel.set_xlabel(label)
            panel.set_title(f"T and V from {READING_NAMES[origin]}", fontsize="medium")
        for kind, color in ((kinds[0], _STYLES[0][0]), (kinds[1], _STYLES[1][0])):
            level, name = paper[kind.published], f"{kind.published}, paper"
            panels[0].axhline(level, color=color, linestyle=":", linewidth=1.0, label=name)
        panels[0].set_ylabel("test accuracy on Fashion-MNIST")
    axes[0, 0].legend(frameon=False, fontsize="small")
    return figure


def _curves(axes: Axes, rows: pd.DataFrame, varied: str, kinds: Sequence[Reading]) -> None:
    for kind, (color, style) in zip(kinds, _STYLES, strict=True):
        groups = kind.rows(rows).groupby(varied)["test_accuracy"]
        mean, error = groups.mean(), groups.sem()
        axes.errorbar(mean.index, mean, error, fmt=style, color=color, capsize=2, label=kind.name)


def stored_images(rows: pd.DataFrame) -> list[dict[str, Any]]:
    """Return a few images stored with the rows, each once, one from each row in turn."""
    stored = [json.loads(text) for text in rows["images"]]
    found: dict[int, dict[str, Any]] = {}
    for place in range(max(map(len, stored), default=0)):
        for images in stored:
            if place < len(images):
                found.setdefault(images[place]["index"], images[place])
    return list(found.values())[:MOST_IMAGES]


def draw_images(images: Sequence[dict[str, Any]]) -> Figure:
    """Draw images with their class above."""
    n_columns = min(6, len(images))
    n_rows = -(-len(images) // n_columns)
    figure = Figure(figsize=(1.3 * n_columns, 1.6 * n_rows), layout="constrained")
    axes = figure.subplots(n_rows, n_columns, squeeze=False)
    for panel in axes.flat:
        panel.set_axis_off()
    for panel, image in zip(axes.flat, images, strict=False):
        panel.imshow(decode(image), cmap="gray_r", vmin=0, vmax=255)
        panel.set_title(str(image["label"]), fontsize="medium")
    return figure
