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

from pessimal.auditing.text import percent
from pessimal.labels import spoken
from pessimal.problem import Mask, Vector
from pessimal.tolerances import OPTIMAL_GAP

if TYPE_CHECKING:
    from pessimal.auditing.abstention import AbstentionCurve
    from pessimal.auditing.report import AuditReport

BLUE, ORANGE, VERMILION, GREY = "#0072B2", "#E69F00", "#D55E00", "#666666"

PROVED = "#009E73"
"""Green is what was proved, here and on pages; everything else was found."""

TWO = 2


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
    if report.proves:
        if np.any(curve.worst_loss_bound > curve.worst_loss + OPTIMAL_GAP):
            ends = (curve.worst_loss, curve.worst_loss_bound)
            unproved = axes.fill_between(curve.epsilons, *ends, color=VERMILION, alpha=0.25)
            unproved.set_label("not ruled out in time" if report.stopped else "not ruled out")
        bound = axes.plot(curve.epsilons, curve.worst_loss_bound, "-.", color=PROVED)
        bound[0].set_label("proved: none is above")
    how = "" if report.proves else " found"
    axes.plot(curve.epsilons, curve.worst_loss, "s-", color=VERMILION, label=f"worst model{how}")
    axes.plot(curve.epsilons, curve.best_loss, "o-", color=BLUE, label=f"best model{how}")
    axes.axhline(chosen.loss, color="black", linestyle="--", linewidth=1.0, label=chosen.name)
    axes.axvline(report.budget.epsilon, color=GREY, linestyle=":", linewidth=1.0)
    axes.set_ylim(bottom=0.0)
    trained = "objective" if report.proves and report.box is None else "loss"
    axes.set_xlabel(f"ε (share of the least training {trained})")
    axes.set_ylabel(f"validation loss (mean {report.loss})")
    axes.set_title("Equally good in training")
    axes.legend(framealpha=0.8, edgecolor="none")


def draw_ranges(axes: Axes, report: AuditReport) -> None:
    """Draw the range of every validation score, as far as models were found."""
    low, high, scores = (
        _shown(report, values)
        for values in (report.found_low, report.found_high, report.reference.scores)
    )
    order = np.argsort(low + high, kind="stable")
    place = np.empty(report.n_val)
    place[order] = np.arange(report.n_val)
    # Points of paper for each row: hundreds of bars must not run into one another.
    slot = 72.0 * axes.bbox.width / axes.figure.dpi / report.n_val
    thin, thick = min(1.5, 0.4 * slot), min(4.0, 0.8 * slot)
    for mask, color, width, name in _bars(report):
        if mask.any():
            bars = (place[mask], low[mask], high[mask])
            line = thick if width else thin
            axes.vlines(*bars, color=color, linewidth=line, label=name)
    size = min(5.0, max(2.0, 1.2 * slot))
    for mask, marker, name in _marks(report):
        axes.plot(place[mask], scores[mask], marker, color="black", markersize=size, label=name)
    if len(report.classes) == TWO:
        axes.axhline(0.5 if _is_probability(report) else 0.0, color=GREY, linewidth=1.0)
    axes.set_xlabel("validation points, by the middle of their range")
    axes.set_ylabel(_score_name(report))
    axes.set_title(f"{_ambiguity(report)}marks: {report.reference.name}")
    axes.set_xticks([])
    axes.legend(framealpha=0.8, edgecolor="none", fontsize="small", loc="upper left")


def _bars(report: AuditReport) -> list[tuple[Mask, str, bool, str]]:
    """Return which points have bars of which colour, whether thick ones, and what they mean."""
    every = np.ones(report.n_val, dtype=np.bool_)
    if not report.classes:
        return [(every, BLUE, False, "predictions of the models found")]
    ambiguous, undecided = report.ambiguous, report.undecided
    disagree = (ambiguous, ORANGE, True, "models disagree (ambiguous)")
    if not report.proves:
        return [(~ambiguous, BLUE, False, "none found to disagree"), disagree]
    agree = (~ambiguous & ~undecided, BLUE, False, "all agree")
    return [(undecided, GREY, False, "not known"), agree, disagree]


def _marks(report: AuditReport) -> list[tuple[Mask, str, str]]:
    """Return which points have which mark, and what it means."""
    if len(report.classes) != TWO:
        return [(np.ones(report.n_val, dtype=np.bool_), "_", "the chosen model")]
    return [
        (report.labels == label, marker, literal(f"true class {name}"))
        for label, name, marker in zip(report.classes, spoken(report.classes), "v^", strict=True)
    ]


def _is_probability(report: AuditReport) -> bool:
    """Whether scores are log odds of refits, which are shown as probabilities."""
    return not report.proves and report.loss == "log"


def _shown(report: AuditReport, scores: Vector) -> Vector:
    return 1.0 / (1.0 + np.exp(-scores)) if _is_probability(report) else scores


def _score_name(report: AuditReport) -> str:
    if not report.classes:
        return "prediction"
    if len(report.classes) > TWO:
        return "probability of the true class" if _is_probability(report) else "lead of true class"
    if _is_probability(report):
        return literal(f"probability of {report.classes[1]!s}")
    return "score (its sign is the predicted class)"


def _ambiguity(report: AuditReport) -> str:
    if not report.classes:
        return ""
    if not report.proves:
        return f"Ambiguity at least {percent(report.ambiguity)}, "
    most = f" to {percent(report.ambiguity_bound)}" if report.undecided.any() else ""
    return f"Ambiguity {percent(report.ambiguity)}{most}, "


def draw_abstention(curve: AbstentionCurve, axes: Axes | None = None) -> Axes:
    """Draw accuracy against the share of rows answered, beside a model that judges itself."""
    if axes is None:
        axes = Figure(figsize=(6.0, 4.2), layout="constrained").subplots()
    axes.axhline(curve.accuracy_of_all, color=GREY, linestyle="--", linewidth=1.0)
    axes.text(0.01, curve.accuracy_of_all, "all rows", transform=axes.get_yaxis_transform())
    alone = "the same number of rows, by the size of the model's own score"
    axes.plot(curve.answered, curve.accuracy_by_score, "o:", color=ORANGE, label=alone)
    agree = "rows on which all models that train as well agree"
    axes.plot(curve.answered, curve.accuracy, "s-", color=BLUE, label=agree)
    for epsilon, x, y in zip(curve.epsilons, curve.answered, curve.accuracy, strict=True):
        if np.isfinite(y):
            axes.annotate(
                f"ε = {epsilon:g}",
                (x, y),
                xytext=(0, 6),
                textcoords="offset points",
                ha="center",
                fontsize="small",
            )
    axes.set_xlim(right=1.02)
    axes.set_xlabel("share of rows answered")
    axes.set_ylabel("accuracy on them")
    axes.legend(framealpha=0.8, edgecolor="none", fontsize="small", loc="lower left")
    return axes
