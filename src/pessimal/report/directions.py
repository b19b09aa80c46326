"""What the columns of a table mean to equally good linear models: which way each of them points."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from pessimal.auditing import AuditReport
from pessimal.auditing.coefficients import CoefficientRange
from pessimal.auditing.plots import BLUE, GREY, ORANGE, literal
from pessimal.labels import spoken
from pessimal.problem import Vector
from pessimal.report.page import Plot, Section, Table

MOST_DRAWN = 40
"""Features of the picture, those that matter most; the table has them all."""

LONGEST_NAME = 32


def directions(
    report: AuditReport, names: Sequence[str], chosen: str, coef: Vector, note: str = ""
) -> list[Section]:
    """Show the range of every coefficient, beside that of a chosen linear model."""
    if not coef.size:
        return []
    ranges = report.coefficients
    columns: dict[str, object] = {"column": list(names), chosen: coef}
    if ranges is not None:
        columns["found from"], columns["to"] = ranges.found_low, ranges.found_high
        columns["so"] = [_so(report, ranges, k) for k in range(len(names))]
    if report.box is not None:
        columns["limit"] = report.box
    frame = pd.DataFrame(columns)
    told = [
        "A coefficient says how much a column speaks for "
        f"{_positive(report)}, or against it where it is negative."
    ]
    if ranges is not None:
        undetermined = int(ranges.undetermined.sum())
        told.append(
            f"Of {len(names)} columns, {undetermined} {'points' if undetermined == 1 else 'point'} "
            "one way in one equally good model and the other way in another: do not read a cause "
            f"into {'it' if undetermined == 1 else 'them'}."
            if undetermined
            else "No equally good model was found in which a column points the other way."
        )
    plot = Plot(
        "directions",
        "From the lowest to the highest coefficient found among equally good models, and that of "
        f"{chosen}. Orange: the direction is not determined.",
        lambda: _draw(report, names, chosen, coef),
    )
    table = Table("directions", "The same in numbers and words.", frame)
    paragraphs = (*told, note) if note else tuple(told)
    title = "Which way each column points"
    return [Section(title, paragraphs, (table, plot) if ranges is not None else (table,))]


def _positive(report: AuditReport) -> str:
    return f"“{spoken(report.classes)[1]}”" if report.classes else "a larger prediction"


def _so(report: AuditReport, ranges: CoefficientRange, k: int) -> str:
    """Say what the range of a coefficient means."""
    if report.box is not None and report.box[k] == 0.0:
        return "not used"
    if ranges.undetermined[k]:
        return "its direction is not determined by your data"
    if ranges.low[k] > 0.0 or ranges.high[k] < 0.0:
        way = "for" if ranges.low[k] > 0.0 else "against"
        return f"speaks {way} {_positive(report)} in every equally good model"
    if ranges.low[k] == ranges.high[k] == 0.0:
        return "not used"
    return "no equally good model was found that points the other way; none is ruled out"


def _draw(report: AuditReport, names: Sequence[str], chosen: str, coef: Vector) -> Figure:
    ranges = report.coefficients
    assert ranges is not None
    sizes = np.maximum(np.abs(ranges.found_low), np.abs(ranges.found_high))
    drawn = np.sort(np.argsort(-sizes, kind="stable")[:MOST_DRAWN])
    figure = Figure(figsize=(5.6, 1.4 + 0.26 * len(drawn)), layout="constrained")
    axes = figure.subplots()
    axes.margins(y=0.5 / len(drawn))
    place = np.arange(len(drawn))
    for crossing, color, name in (
        (False, BLUE, "points one way in the models found"),
        (True, ORANGE, "direction not determined"),
    ):
        shown = ranges.undetermined[drawn] == crossing
        if shown.any():
            ends = ranges.found_low[drawn][shown], ranges.found_high[drawn][shown]
            axes.hlines(place[shown], *ends, color=color, linewidth=5.0, label=name)
    axes.plot(coef[drawn], place, "D", color="black", markersize=4.5, label=literal(chosen))
    axes.axvline(0.0, color=GREY, linewidth=1.0)
    short = [names[k] if len(names[k]) <= LONGEST_NAME else f"{names[k][:31]}…" for k in drawn]
    axes.set_yticks(place, [literal(name) for name in short])
    axes.invert_yaxis()
    axes.locator_params(axis="x", nbins=5)
    axes.set_xlabel("coefficient")
    figure.legend(loc="outside upper center", ncols=2, frameon=False, fontsize="small")
    return figure
