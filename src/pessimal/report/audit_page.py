"""The page of an audit: the guarantee, how it moves with ε, every score, every coefficient."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from pessimal.auditing import AuditReport
from pessimal.auditing.plots import (
    BLUE,
    GREY,
    VERMILION,
    draw_losses,
    draw_ranges,
    literal,
)
from pessimal.auditing.text import findings, scope, table
from pessimal.experiments.environment import describe_environment
from pessimal.problem import Vector
from pessimal.report.page import write_page
from pessimal.report.parts import Plot, Section, Table

_LONGEST_NAME = 32


def write_audit_page(report: AuditReport, path: Path, data: str) -> None:
    """Write the page of an audit.

    Parameters
    ----------
    report : AuditReport
    path : Path
        The file to write.
    data : str
        What to call the table that was audited.
    """
    sections = [*audit_sections(report), computed({"data": data})]
    write_figures_page(path, f"Audit of {data}", report.guarantee, sections)


def write_figures_page(path: Path, title: str, lead: str, sections: Sequence[Section]) -> None:
    """Write a page whose figures hold names in any script."""
    with warnings.catch_warnings():
        # The font of the figures lacks some scripts; the names are in the tables as well.
        warnings.filterwarnings("ignore", message="Glyph .* missing from")
        write_page(path, title, lead, sections)


def audit_sections(report: AuditReport) -> list[Section]:
    """Return the sections that every page with an audit has.

    Examples
    --------
    >>> from pessimal import audit
    >>> report = audit([[-1.0], [1.0]], ["no", "yes"], [[0.5], [-2.0]], ["yes", "no"], delta=0.5)
    >>> [section.title for section in audit_sections(report)]
    ['What is guaranteed', 'If training may be worse', 'Every validation row', 'Coefficients']
    """
    return [
        _guaranteed(report),
        _against_epsilon(report),
        _scores(report),
        coefficients(
            report.feature_names,
            report.box,
            {
                "best loss": report.best_loss.coef,
                report.reference.name: report.reference.coef,
                "worst loss": report.worst_loss.coef,
            },
        ),
    ]


def _guaranteed(report: AuditReport) -> Section:
    header, *rows = table(report)
    return Section(
        "What is guaranteed",
        (scope(report), *findings(report), *report.notes),
        (
            Table(
                "guarantee",
                "The models that count, on the validation rows. Best and worst were found; no "
                "model that counts is below “at least” or above “at most”.",
                pd.DataFrame(rows, columns=header),
            ),
        ),
    )


def _against_epsilon(report: AuditReport) -> Section:
    curve = report.curve

    def draw() -> Figure:
        figure = Figure(figsize=(7.5, 4.2), layout="constrained")
        draw_losses(figure.subplots(), report)
        return figure

    return Section(
        "If training may be worse",
        (
            "The more a model may lose in training against the best, the more models count, and "
            "the further their best and worst part.",
        ),
        (
            Plot(
                "losses",
                "Validation loss of the best and the worst model that counts, against ε. The "
                "dotted line is the ε asked for; shading above the worst model is what time did "
                "not allow to exclude.",
                draw,
            ),
            Table(
                "losses",
                "The same in numbers.",
                pd.DataFrame(
                    {
                        "ε": curve.epsilons,
                        "best loss": curve.best_loss,
                        "worst loss": curve.worst_loss,
                        "at most": curve.worst_loss_bound,
                        "most rows wrong": np.rint(curve.worst_error * report.n_val).astype(int),
                    }
                ),
            ),
        ),
    )


def _scores(report: AuditReport) -> Section:
    def draw() -> Figure:
        figure = Figure(figsize=(9.0, 4.6), layout="constrained")
        draw_ranges(figure.subplots(), report)
        return figure

    points = report.to_frame().rename_axis("row")
    ambiguous = Table(
        "ambiguous",
        "The ambiguous rows, counted as in the data, with their lowest and highest score.",
        points.loc[points["ambiguous"], ["label", "low", "high"]],
    )
    plot = Plot("scores", "Range of the score of every validation row.", draw)
    return Section(
        "Every validation row",
        (
            "The bar of a row spans all scores that models that count give it. Where it crosses "
            "0, equally good models disagree on the class, and the row is ambiguous.",
        ),
        (plot, ambiguous) if len(ambiguous.frame) else (plot,),
    )


def coefficients(
    names: Sequence[str], box: Vector, models: Mapping[str, Vector], note: str = ""
) -> Section:
    """Show the coefficients of some models inside their box."""

    def draw() -> Figure:
        figure = Figure(figsize=(7.5, 1.2 + 0.34 * len(names)), layout="constrained")
        axes = figure.subplots()
        place = np.arange(len(names))
        axes.barh(place, 2 * box, left=-box, color=GREY, alpha=0.2, height=0.7, label="box")
        marks = zip(models.items(), "o|s", (BLUE, "black", VERMILION), strict=False)
        for (name, coef), mark, color in marks:
            size = 14 if mark == "|" else 6
            axes.plot(coef, place, mark, color=color, markersize=size, label=literal(name))
        axes.axvline(0.0, color=GREY, linewidth=1.0)
        axes.set_yticks(place, [literal(_shortened(name)) for name in names])
        axes.invert_yaxis()
        axes.set_xlabel("weight of the standardised feature")
        figure.legend(loc="outside upper center", ncols=4, frameon=False)
        return figure

    return Section(
        "Coefficients",
        (note,) if note else (),
        (
            Plot("coefficients", "Coefficients inside their box.", draw),
            Table(
                "coefficients",
                "The same in numbers; the box limits the size of a coefficient.",
                pd.DataFrame({"feature": names, "box": box, **models}),
            ),
        ),
    )


def computed(facts: Mapping[str, object]) -> Section:
    """Say how the numbers of a page were computed."""
    rows = {**facts, **describe_environment()}
    frame = pd.DataFrame({"item": list(rows), "value": [str(value) for value in rows.values()]})
    return Section(
        "How it was computed",
        (
            "The least loss and the range of every score are linear programs, the number of "
            "errors is a mixed-integer program; HiGHS solves them. The worst loss is found by a "
            "branch and bound of the package. All bounds are proved.",
        ),
        (Table("computed", "Settings and versions.", frame),),
    )


def _shortened(name: str) -> str:
    return name if len(name) <= _LONGEST_NAME else name[: _LONGEST_NAME - 1] + "…"
