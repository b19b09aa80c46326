"""The audit report as a figure: losses against ε, and the range of every validation score.

Colours are those of Okabe and Ito, which colour-blind readers tell apart; every one of them comes
with a shape or a line style of its own. The figure is made without pyplot, so nothing global
changes and nothing stays open.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from pessimal.tolerances import OPTIMAL_GAP

if TYPE_CHECKING:
    from pessimal.auditing.report import AuditReport

BLUE, ORANGE, VERMILION, GREY = "#0072B2", "#E69F00", "#D55E00", "#666666"


def literal(text: str) -> str:
    """Return text for a figure: dollar signs make no formula, a "?" is what does not print."""
    shown = (letter if letter.isprintable() else "?" for letter in text)
    return "".join(shown).replace("$", r"\$")


def draw(report: AuditReport) -> Figure:
    """Draw both panels."""
    figure = Figure(figsize=(11.0, 4.4), layout="constrained")
    left, right = figure.subplots(1, 2, width_ratios=(2, 3))
    draw_losses(left, report)
    draw_ranges(right, report)
    return figure


def draw_losses(axes: Axes, report: AuditReport) -> None:
    """Draw the best and the worst loss against ε, with what is proved and the model chosen."""
    curve, chosen = report.curve, report.reference
    # The margin above becomes a share of the whole height, and the highest mark is drawn whole.
    axes.update_datalim([(curve.epsilons[0], 0.0)])
    axes.fill_between(curve.epsilons, curve.best_loss, curve.worst_loss, color=GREY, alpha=0.12)
    if np.any(curve.worst_loss_bound > curve.worst_loss + OPTIMAL_GAP):
        ends = (curve.worst_loss, curve.worst_loss_bound)
        unproved = axes.fill_between(curve.epsilons, *ends, color=VERMILION, alpha=0.25)
        unproved.set_label("not ruled out in time" if report.stopped else "not ruled out")
    axes.plot(curve.epsilons, curve.worst_loss, "s-", color=VERMILION, label="worst model")
    axes.plot(curve.epsilons, curve.best_loss, "o-", color=BLUE, label="best model")
    axes.axhline(chosen.loss, color="black", linestyle="--", linewidth=1.0, label=chosen.name)
    axes.axvline(report.budget.epsilon, color=GREY, linestyle=":", linewidth=1.0)
    axes.set_ylim(bottom=0.0)
    trained = "loss" if report.box is not None else "objective"
    axes.set_xlabel(f"ε (share of the least training {trained})")
    axes.set_ylabel(f"validation loss (mean {report.loss})")
    axes.set_title("Equally good in training")
    axes.legend(framealpha=0.8, edgecolor="none")


def draw_ranges(axes: Axes, report: AuditReport) -> None:
    """Draw the range of every validation score, as far as models were found."""
    order = np.argsort(report.found_low + report.found_high, kind="stable")
    low, high = report.found_low[order], report.found_high[order]
    ambiguous, undecided = report.ambiguous[order], report.undecided[order]
    place = np.arange(report.n_val)
    # Points of paper for each row: hundreds of bars must not run into one another.
    slot = 72.0 * axes.bbox.width / axes.figure.dpi / report.n_val
    for mask, color, width, name in (
        (undecided, GREY, min(1.5, 0.4 * slot), "not known"),
        (~ambiguous & ~undecided, BLUE, min(1.5, 0.4 * slot), "all agree"),
        (ambiguous, ORANGE, min(4.0, 0.8 * slot), "models disagree (ambiguous)"),
    ):
        if mask.any():
            bars = (place[mask], low[mask], high[mask])
            axes.vlines(*bars, color=color, linewidth=width, label=name)
    scores, labels = report.reference.scores[order], report.labels[order]
    size = min(5.0, max(2.0, 1.2 * slot))
    for label, marker in zip(report.classes, "v^", strict=True):
        mask, name = labels == label, literal(f"true class {label!s}")
        axes.plot(place[mask], scores[mask], marker, color="black", markersize=size, label=name)
    axes.axhline(0.0, color=GREY, linewidth=1.0)
    axes.set_xlabel("validation points, by the middle of their range")
    axes.set_ylabel("score (its sign is the predicted class)")
    most = f" to {report.ambiguity_bound:.0%}" if undecided.any() else ""
    axes.set_title(f"Ambiguity {report.ambiguity:.0%}{most}, marks: {report.reference.name}")
    axes.set_xticks([])
    axes.legend(framealpha=0.8, edgecolor="none", fontsize="small", loc="upper left")
