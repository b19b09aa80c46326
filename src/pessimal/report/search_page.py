"""The page of a search over candidates: what holds on held-out rows, then how it was chosen."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from pessimal.auditing.plots import BLUE, GREY, PROVED, VERMILION
from pessimal.auditing.text import scope
from pessimal.report.answer import Answer, answer
from pessimal.report.audit_page import audit_sections, computed, named, notes
from pessimal.report.directions import directions
from pessimal.report.page import Plot, Section, Table, render_in_notebook, write_page
from pessimal.report.tuning import comparison
from pessimal.workflows import SearchRun, search_words
from pessimal.workflows.search_run import facts

STANDARDISED = "Coefficients are those of standardised columns: per standard deviation."


def write_search_page(run: SearchRun, path: Path, data: str) -> None:
    """Write the page of a search to a file; `data` is what to call the table."""
    report, name = run.audit, named(data)
    audited: list[Section] = []
    notes_of_audit: tuple[str, ...] = ()
    if report is not None:
        opening = (scope(report), "The validation rows are the held-out ones.")
        audited = audit_sections(report, opening, run.cells)
        notes_of_audit = report.notes
        if run.model is not None:
            coef, names = report.reference.coef, run.model.encoder.feature_names
            audited += directions(report, names, "the tuned model", coef, STANDARDISED)
    sections = [
        _before_and_after(run),
        *audited,
        _candidates(run),
        *comparison(run.comparison, " ".join(search_words.majority(run))),
        *notes((search_words.rows_used(run), *run.notes, *notes_of_audit)),
        computed(report, {"data": name, **facts(run)}),
    ]
    title = f"{run.kind.title.capitalize()} tuned on {name}"
    write_page(path, title, first_screen(run), sections)


def first_screen(run: SearchRun) -> Answer:
    """Return what a reader must know first."""
    if run.audit is None:
        return Answer(search_words.without_rows(run), (), run.over_folds)
    return answer(run.audit, "the tuned model", "held-out", run.comparison, target=run.target)


def notebook_of_search(run: SearchRun) -> str:
    """Return the first screen of a search for a notebook, its candidates folded below it."""
    return render_in_notebook(first_screen(run), [_before_and_after(run), _candidates(run)])


def _before_and_after(run: SearchRun) -> Section:
    """Put what ordinary tuning takes beside what was chosen, each with its worst case."""
    header, *rows = search_words.before_and_after(run)
    table = Table(
        "before-and-after",
        f"Mean {run.loss_name} on the rows left out of {run.search.n_splits_} folds; smaller is "
        "better.",
        pd.DataFrame(rows, columns=header),
    )
    text = search_words.what_changed(run)
    return Section("Ordinary and pessimistic tuning", text, (table,))


def _candidates(run: SearchRun) -> Section:
    header, *rows = search_words.candidates_table(run)
    table = Table(
        "candidates",
        f"{search_words.candidates_title(run)}.",
        pd.DataFrame(rows, columns=header),
    )
    bound = "; no equally good model is beyond the green line" if _proves(run) else ""
    plot = Plot(
        "candidates",
        f"Mean {run.loss_name} of each candidate: of the model that training gives, and of the "
        f"worst one found that trains as well{bound}. Further left is better.",
        lambda: _draw(run),
    )
    text = (*search_words.choice(run), run.over_folds, *search_words.search_ended(run))
    return Section("Every candidate", text, (plot, table))


def _proves(run: SearchRun) -> bool:
    return run.chosen.worst_bound is not None


def _draw(run: SearchRun) -> Figure:
    """Draw a line for each candidate that was reached, from its trained to its worst model."""
    reached = [c for c in run.candidates if not math.isnan(c.loss)]
    candidates = sorted(reached, key=lambda candidate: candidate.value)
    place = np.arange(len(candidates))
    trained, found = np.array([(c.loss, c.worst_found) for c in candidates]).T
    figure = Figure(figsize=(5.6, 1.4 + 0.32 * len(candidates)), layout="constrained")
    axes = figure.subplots()
    axes.hlines(place, trained, found, color=GREY, linewidth=1.5)
    axes.plot(trained, place, "o", color=BLUE, label="trained")
    axes.plot(found, place, "s", color=VERMILION, label="worst equally good, found")
    if _proves(run):
        bound = np.array([np.nan if c.worst_bound is None else c.worst_bound for c in candidates])
        axes.plot(bound, place, "|", color=PROVED, markersize=14, markeredgewidth=3, label="proved")
    roles = {id(run.usual): " (ordinary)", id(run.chosen): " (chosen)"}
    axes.set_yticks(place, [f"{c.value:g}{roles.get(id(c), '')}" for c in candidates])
    axes.set_ylabel(run.kind.parameter)
    axes.set_xlabel(f"mean {run.loss_name}")
    axes.locator_params(axis="x", nbins=5)
    axes.invert_yaxis()
    figure.legend(loc="outside upper center", ncols=3, frameon=False, fontsize="small")
    return figure
