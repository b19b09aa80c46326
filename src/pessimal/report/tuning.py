"""The page of a tuning run: guarantee first, then the limits, the proof and the comparison."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from pessimal.report.audit_page import audit_sections, coefficients, computed
from pessimal.report.page import Section, Table, write_page
from pessimal.tolerances import CERTIFICATE
from pessimal.workflows import Comparison, TuningRun, words


def write_tuning_page(run: TuningRun, path: Path, data: str) -> None:
    """Write the page of a tuning run to a file; `data` is what to call the table."""
    opening = (words.trains_well(run), words.search_ended(run), *run.audit.notes)
    guaranteed, *others = audit_sections(run.audit, opening)
    sections = [
        guaranteed,
        *comparison(run.comparison),
        *others,
        *_limits(run),
        _certificate(run),
        Section("Rows and columns", (words.rows_used(run), *run.notes)),
        computed(run.audit, {"data": data, **run.model.facts}),
    ]
    title = f"{run.settings.view.capitalize()} tuning on {data}"
    write_page(path, title, run.model.guarantee, sections, "proved")


def _limits(run: TuningRun) -> list[Section]:
    note = (
        "The tuned box limits the weight of every standardised feature. Inside it lie the model "
        "that predicts, trained on all rows that were not held out, and the best and the worst on "
        "the validation rows of the models that train well."
    )
    names = run.model.encoder.feature_names
    return coefficients(run.audit, names, "the model that predicts", run.weights, note)


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
        "Logistic regression, fitted to the same rows, standardised.",
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
    return Section("Certificate", text, (table,))
