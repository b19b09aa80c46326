"""The page of an audit: the guarantee, how it moves with ε, every score, every coefficient."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from pessimal.auditing import AuditReport
from pessimal.auditing.plots import draw_losses, draw_ranges
from pessimal.auditing.text import findings, scope, table
from pessimal.environment import describe_environment
from pessimal.labels import spoken
from pessimal.report.answer import Answer, answer
from pessimal.report.directions import directions
from pessimal.report.disagreement import disagreement
from pessimal.report.page import Plot, Section, Standing, Table, render_in_notebook, write_page
from pessimal.tolerances import OPTIMAL_GAP

# In inches: a phone shows a figure of this width as a whole, and its letters can be read.
_WIDTH = 5.6

_LOSSES = {
    "hinge": "The hinge loss of a row is 0 when its score is on the right side of 0 by at least 1, "
    "it is 1 at a score of 0, and it grows from there on the wrong side.",
    "log": "The log loss of a row is minus the logarithm of the probability that the model gives "
    "its true class: near 0 when that is near 1, 0.69 at even odds, 2.3 at one in ten.",
    "squared hinge": "The squared hinge loss of a row is 0 when its score is on the right side of "
    "0 by at least 1, it is 1 at a score of 0 and 4 at a score of 1 on the wrong side.",
    "squared": "The squared loss of a row is the squared distance of its score from 1 or −1, which "
    "stand for the two classes; it is 1 at a score of 0.",
    "zero-one": "The zero-one loss of a row is 1 when its class is wrong, and 0 otherwise.",
}
"""What a loss says of a row."""

_SQUARED_ERROR = "The squared loss of a row is the square of what its prediction is off by."

TWO = 2

_HOW = {
    "box": "The least loss and the range of every score are linear programs. The worst loss and "
    "the numbers of errors are found by a branch and bound of the package; where time is limited, "
    "semidefinite programs bound them, too. All bounds are proved.",
    "training": "The equally good models are a convex set. The best of them is found by convex "
    "optimisation, the worst by ascent; what no model passes is bounded by ellipsoids that "
    "hold the set and by a branch and bound of the package. All bounds are proved.",
    "refits": "The models were found by training again, on rows weighted otherwise and with "
    "validation rows of wrong label added, each time as much as the training loss allows. Such a "
    "search finds models and proves nothing of those it does not find.",
}
"""How each kind of models was audited."""


def write_audit_page(
    report: AuditReport,
    path: Path,
    data: str,
    cells: pd.DataFrame | None = None,
    target: str | None = None,
) -> None:
    """Write the page of an audit to a file.

    Parameters
    ----------
    report : AuditReport
    path : Path
    data : str
        What to call the table; of a path the last part.
    cells : pandas.DataFrame, optional
        What is in the validation rows, by the names the report has for them.
    target : str, optional
        The column that is predicted.
    """
    reference, name = report.reference, named(data)
    sections = [
        *audit_sections(report, (scope(report),), cells),
        *directions(report, report.feature_names, reference.name, reference.coef),
        *notes(report.notes),
        computed(report, {"data": name}),
    ]
    shown = answer(report, reference.name, target=target)
    write_page(path, f"Audit of {name}", shown, sections)


def notebook(report: AuditReport, lead: Answer | None = None) -> str:
    """Return the first screen of an audit for a notebook, with its numbers folded below it."""
    chosen = report.reference
    sections = [
        _guaranteed(report, (report.guarantee, scope(report), *report.notes)),
        *disagreement(report, None),
        *directions(report, report.feature_names, chosen.name, chosen.coef),
    ]
    return render_in_notebook(lead or answer(report, chosen.name), sections)


def named(data: str) -> str:
    """Return what to call a table: the name of its file, without the folders."""
    return Path(data).name or data


def notes(told: Sequence[str]) -> list[Section]:
    """Fold away what was done to rows and columns, and what else there is to know."""
    return [Section("Notes", tuple(told), folded=True)] if told else []


def audit_sections(
    report: AuditReport, opening: Sequence[str], cells: pd.DataFrame | None = None
) -> list[Section]:
    """Return the sections that every page with an audit has.

    The opening says which models the guarantee is about.
    """
    guaranteed = _guaranteed(report, (report.guarantee, *opening))
    rows = disagreement(report, cells)
    return [guaranteed, *rows, _scores(report), _against_epsilon(report)]


def _guaranteed(report: AuditReport, opening: Sequence[str]) -> Section:
    # Turned on its side, the table fits a phone.
    header, *rows = zip(*table(report), strict=True)
    frame = pd.DataFrame(rows, columns=header).replace("chosen", report.reference.name)
    loss = _LOSSES[report.loss] if report.classes else _SQUARED_ERROR
    told = (
        "The equally good models, on the validation rows. Best and worst were found; none of them "
        f"is below “at least” or above “at most”. {loss}"
        if report.proves
        else f"The models that were found, on the validation rows. Nothing is proved. {loss}"
    )
    found: list[Standing] = ["found", "found", "found"]
    standings = ("proved", *found, "proved") if report.proves else found
    shown = Table("guarantee", told, frame, tuple(standings))
    paragraphs = (*opening, *([_how_exact(report)] if report.proves else []), *findings(report))
    title = "What is guaranteed" if report.proves else "What was found"
    return Section(title, paragraphs, (shown,))


def _how_exact(report: AuditReport) -> str:
    """Say whether the worst models of the guarantee were found, or only not ruled out."""
    n, loss, error = report.n_val, report.worst_loss, report.worst_error
    settled = not report.classes or round(error.value * n) == round(error.bound * n)
    if loss.bound - loss.value <= OPTIMAL_GAP and settled:
        wrong = ", and one has this many rows wrong" if report.classes else ""
        return (
            "The guarantee cannot be better: up to rounding, one of these models has this loss"
            f"{wrong}."
        )
    remedy = " A longer time limit narrows the gap, as a rule." if report.stopped else ""
    wrong = f" and {error.value * n:.0f} of {n} rows wrong" if report.classes else ""
    return (
        "The guarantee is what was proved, and may be too cautious: the worst that was found is a "
        f"mean {report.loss} loss of {loss.value:.4f}{wrong}, and the truth lies between.{remedy}"
    )


def _against_epsilon(report: AuditReport) -> Section:
    curve = report.curve

    def draw() -> Figure:
        figure = Figure(figsize=(_WIDTH, 3.8), layout="constrained")
        draw_losses(figure.subplots(), report)
        return figure

    text = [
        "The more a model may lose in training against the best, the more models are equally "
        "good, and the further their best and worst part."
    ]
    if report.stopped:
        text.append(
            "The audit ended early: best and worst are those of the models that were found."
        )
    shaded = (
        "; the green line is proved, and shading below it is what could not be excluded"
        f"{' in time' if report.stopped else ''}"
    )
    plot = Plot(
        "losses",
        "Validation loss of the best and the worst "
        f"{'equally good model' if report.proves else 'model found'}, against ε. The dotted line "
        f"is the ε asked for{shaded if report.proves else ''}.",
        draw,
    )
    columns: dict[str, Any] = {
        "ε": curve.epsilons,
        "best loss": curve.best_loss,
        "worst loss": curve.worst_loss,
    }
    if report.proves:
        columns["at most"] = curve.worst_loss_bound
    if report.classes:
        shares = np.stack([curve.worst_error, curve.worst_error_bound])
        wrong = np.rint(shares * report.n_val).astype(int)
        # A range where it is not settled.
        columns["most rows wrong"] = [
            str(a) if a == b or not report.proves else f"{a} to {b}"
            for a, b in zip(*wrong, strict=True)
        ]
    numbers = Table(
        "losses",
        "The same in numbers. Where a number of rows is a range, the upper end is proved and the "
        "lower end was found."
        if report.proves
        else "The same in numbers, all of models that were found.",
        pd.DataFrame(columns),
    )
    return Section("If training may be worse", tuple(text), (plot, numbers))


def _scores(report: AuditReport) -> Section:
    def draw() -> Figure:
        width = float(np.clip(0.07 * report.n_val, _WIDTH, 9.0))
        figure = Figure(figsize=(width, 4.2), layout="constrained")
        draw_ranges(figure.subplots(), report)
        return figure

    plot = Plot("scores", "Range of the score of every validation row.", draw)
    unknown = int(report.undecided.sum())
    every, some = "every score of an equally good model", "the scores of the models that were found"
    spans = every if report.reached.all() else some
    text = f"{_meaning(report)} The bar of a row spans {spans}."
    if report.classes:
        text += " Where equally good models disagree on the class, the row is ambiguous."
    if unknown:
        text += f" Of {unknown} rows it is not known whether they are."
    return Section("Every row", (text,), (plot,))


def _meaning(report: AuditReport) -> str:
    """Say what a score means."""
    if not report.classes:
        return "A score is a prediction."
    if len(report.classes) > TWO:
        return "A score says how far the true class is ahead of the others."
    negative, positive = spoken(report.classes)
    return f"A score above 0 says {positive!s}, one below 0 {negative!s}."


def computed(report: AuditReport | None, facts: Mapping[str, object]) -> Section:
    """Say how the numbers of a page were computed, and those of its audit if there is one."""
    rows = {**facts, **describe_environment()}
    frame = pd.DataFrame({"item": list(rows), "value": pd.Series(rows.values(), dtype=object)})
    text: tuple[str, ...] = ()
    if report is not None:
        text = (
            _HOW["refits" if not report.proves else "training" if report.box is None else "box"],
        )
    versions = Table("computed", "Settings and versions.", frame)
    return Section("How it was computed", text, (versions,), folded=True)
