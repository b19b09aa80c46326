"""The page of a tuning run: guarantee first, then the limits, the proof and the comparison."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pandas as pd

from pessimal.report.answer import Answer, answer
from pessimal.report.audit_page import audit_sections, computed, named, notebook, notes
from pessimal.report.bars import Bar, Group
from pessimal.report.directions import directions
from pessimal.report.page import Section, Table, write_page
from pessimal.tolerances import CERTIFICATE
from pessimal.workflows import Comparison, TuningRun, words


def write_tuning_page(run: TuningRun, path: Path, data: str) -> None:
    """Write the page of a tuning run to a file; `data` is what to call the table."""
    name, report = named(data), run.audit
    names = run.model.encoder.feature_names
    sections = [
        *_before_and_after(run),
        *audit_sections(report, (words.trains_well(run), words.search_ended(run)), run.cells),
        *directions(report, names, "the model that predicts", run.weights, _LIMITS),
        *comparison(run.comparison),
        _certificate(run),
        *notes((words.rows_used(run), *run.notes, *report.notes)),
        computed(report, {"data": name, **run.model.facts}),
    ]
    write_page(path, f"Linear SVM tuned on {name}", first_screen(run), sections)


def first_screen(run: TuningRun) -> Answer:
    """Return what a reader must know first: of the validation rows, then of the held-out ones."""
    compared = run.comparison
    shown = answer(
        run.audit,
        "the tuned model, trained on the other half",
        held_out=compared,
        target=run.model.target,
    )
    if compared is None:
        return shown
    n = compared.n_rows
    counts = {
        "the tuned model, trained on both halves": compared.n_right,
        "plain logistic regression": compared.n_right_logistic,
        "always the more frequent class": compared.n_majority,
    }
    bars = tuple(
        Bar(name, right / n, f"{right} of {n}", "other" if k else "model")
        for k, (name, right) in enumerate(counts.items())
    )
    held_out = Group(f"Rows right, of {n} other rows, held out from tuning", bars)
    return replace(shown, groups=(*shown.groups, held_out))


def notebook_of_tuning(run: TuningRun) -> str:
    """Return the first screen of a tuning run for a notebook."""
    return notebook(run.audit, first_screen(run))


_LIMITS = (
    "The tuned limits bound the size of each coefficient of the standardised columns. The model "
    "that predicts is a mean of models that keep to them and train well on all rows that were not "
    "held out. It need not lie in the ranges, which are of models trained on half of these rows."
)


def _before_and_after(run: TuningRun) -> list[Section]:
    """Put what ordinary tuning takes beside what was tuned, each with its worst case."""
    if run.ordinary is None:
        return []
    header, *rows = words.before_and_after(run)
    table = Table(
        "before-and-after",
        f"Mean hinge loss on the {run.audit.n_val} validation rows, of the best and of the worst "
        "model that trains well; smaller is better.",
        pd.DataFrame(rows, columns=header),
    )
    return [Section("Ordinary and pessimistic tuning", words.what_changed(run), (table,))]


def comparison(
    compared: Comparison | None,
    more: str = "The guarantee above is about the validation rows; it says nothing about these.",
) -> list[Section]:
    """Show the tuned model beside logistic regression, on held-out rows."""
    if compared is None:
        return []
    header, *rows = words.comparison_table(compared)
    text = f"Accuracy on rows that neither model has seen. {more}"
    table = Table(
        "comparison",
        "Logistic regression, fitted to the same rows, standardised"
        f"{', with classes that weigh the same' if compared.balanced else ''}.",
        pd.DataFrame(rows, columns=header),
    )
    return [Section("Beside logistic regression", (text,), (table,))]


def _certificate(run: TuningRun) -> Section:
    check = run.solution.certificate
    checks = {
        "how much the model could still improve the inner objective": check.inner_gap,
        "how far its training loss is off the budget": check.budget_violation,
        "how far its weights leave the box": check.box_violation,
        "how far the objective is from the one recomputed": check.objective_error,
    }
    found = pd.DataFrame({"check": checks.keys(), "found": [f"{v:.1e}" for v in checks.values()]})
    text = (
        words.search_ended(run),
        f"The answer was checked by solving its inner problem again with HiGHS: "
        f"{'it holds' if check.ok else 'it does not hold'} to within {CERTIFICATE:g}.",
        *run.solution.notes,
    )
    table = Table("certificate", "What the check found; 0 is perfect.", found)
    return Section("Certificate", text, (table,), folded=True)
