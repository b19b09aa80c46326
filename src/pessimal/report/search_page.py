"""The page of a search over candidates: what holds on held-out rows, then how it was chosen."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
from matplotlib.figure import Figure

from pessimal.auditing.text import scope
from pessimal.report.audit_page import audit_sections, coefficients, computed
from pessimal.report.page import Plot, Section, Table, write_page
from pessimal.report.tuning import comparison
from pessimal.workflows import SearchRun, search_words
from pessimal.workflows.search import facts


def write_search_page(run: SearchRun, path: Path, data: str) -> None:
    """Write the page of a search to a file; `data` is what to call the table."""
    report = run.audit
    guaranteed: list[Section] = []
    others: list[Section] = []
    if report is not None:
        opening = (scope(report), "The validation rows are the held-out ones.", *report.notes)
        first, *others = audit_sections(report, opening)
        guaranteed = [first]
        if run.model is not None:
            weights = report.reference.coef
            names = run.model.encoder.feature_names
            others += coefficients(report, names, "the model that predicts", weights)
    sections = [
        *guaranteed,
        _candidates(run),
        *comparison(run.comparison, " ".join(search_words.majority(run))),
        *others,
        Section("Rows and columns", (search_words.rows_used(run), *run.notes)),
        computed(report, {"data": data, **facts(run)}),
    ]
    title = f"{run.kind.title.capitalize()} tuned on {data}"
    proved = report.proves if report else run.chosen.worst_bound is not None
    write_page(path, title, run.guarantee, sections, "proved" if proved else "found")


def _candidates(run: SearchRun) -> Section:
    def draw() -> Figure:
        figure = Figure(figsize=(5.6, 4.2), layout="constrained")
        run.search.plot(figure.subplots())
        return figure

    header, *rows = search_words.candidates_table(run)
    table = Table(
        "candidates",
        f"{search_words.candidates_title(run)}.",
        pd.DataFrame(rows, columns=header),
    )
    plot = Plot(
        "candidates",
        "Each candidate: the score, minus the loss, of the model that training gives and of the "
        "worst one that trains as well. Up and to the right is better.",
        draw,
    )
    text = (*search_words.choice(run), run.over_folds, *search_words.search_ended(run))
    return Section("Which candidate", text, (table, plot))
