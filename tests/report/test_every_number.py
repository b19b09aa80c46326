"""Every number of the page of an audit, in text and picture, computed again without the package.

A number that nothing here has computed makes the test fail.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import page_checks
import pandas as pd
import pytest
from oracles.equally_good import BoxModels, EquallyGood, LogisticModels
from page_text import COLUMNS, N_ROWS, Page, patients
from sklearn.model_selection import train_test_split

from pessimal.report.audit_page import write_audit_page
from pessimal.tabular import Source, with_labels
from pessimal.workflows import audit_table

EPSILON = 0.05


@pytest.mark.parametrize("box", [None, 1.0], ids=["logistic", "box"])
def test_every_number_of_an_audit(box: float | None, tmp_path: Path) -> None:
    table = patients()
    labelled = with_labels(Source("patients.csv", table), "label")
    report = audit_table(labelled, box=box, epsilon=EPSILON, curve=True, time_limit=300.0)
    assert not report.stopped
    write_audit_page(report, tmp_path / "page.html", "patients.csv", labelled.columns, "label")
    page = Page((tmp_path / "page.html").read_text("utf-8"))

    table.index = pd.RangeIndex(1, N_ROWS + 1)
    y = np.where(table["label"] == 1, 1.0, -1.0)
    halves = train_test_split(table[COLUMNS], y, test_size=0.5, stratify=y, random_state=0)
    train, val, y_train, y_val = halves
    X_train, X_val = (
        ((part - train.mean()) / train.std(ddof=0)).to_numpy() for part in (train, val)
    )
    models: EquallyGood = LogisticModels(X_train, y_train, X_val, y_val, EPSILON)
    if box is not None:
        models = BoxModels(X_train, y_train, X_val, y_val, EPSILON, np.full(3, box))
    audited = page_checks.Audited(page, report, models, val)

    name = "the audited LogisticRegression" if box is None else "a training optimum"
    page_checks.rows_right(audited, name)
    right = int(np.sum((audited.scores > 0.0) == (y_val > 0.0)))
    page_checks.small_print(page, right, 30, "validation", name)
    page.read(
        rf"always saying “no” is right on {np.sum(y_val < 0.0)} of 30 validation rows, the model "
        rf"on {right}\."
    )
    limit, least = f"{models.limit:.4f}", f"{models.least:.4f}"
    if box is None:
        page.read("that fit the 30 training rows within 5 % of the best fit")
        page.read(
            rf"at most {limit}: 5 % above the least possible, {least}\. 30 training points, 30 "
            "validation points, 3 features"
        )
    else:
        page.read(rf"on the 30 training rows is at most {limit}, the least being {least}\.")
        page.read(
            rf"of at most {limit} in training \(least possible {least}, epsilon 0.05, delta 0\)\. "
            "30 training points, 30 validation points, 3 features"
        )
    page_checks.guarantee(audited)
    page_checks.disagreeing_rows(audited)
    page_checks.every_row(audited)
    page_checks.against_epsilon(audited)
    page_checks.directions(audited, audited.chosen, None if box is None else np.full(3, box))
    page.read(rf"Class 1 \(yes\) has {np.mean(y > 0.0):.1%} of the rows", "Notes")
    page_checks.how_it_was_computed(page, {})
    assert page.unread() == []
