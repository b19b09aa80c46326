"""Audit on a table from end to end, as the command line does.

The rows are split in two halves, one to train and one to validate, and standardised by the first.
Audited are all models that train about as well as a logistic regression, or all models of a box.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

from pessimal.auditing import AuditReport, audit, audit_estimator
from pessimal.tabular import (
    Labelled,
    Missing,
    Text,
    complete_rows,
    make_column_encoder,
    require_both_classes,
)


def audit_table(
    table: Labelled,
    *,
    box: float | None = None,
    epsilon: float | None = None,
    delta: float = 0.0,
    missing: Missing = "drop",
    text: Text = "refuse",
    time_limit: float = 60.0,
    seed: int = 0,
    curve: bool = False,
    verbose: bool = False,
) -> AuditReport:
    """Audit on a table.

    Parameters
    ----------
    table : Labelled
    box : float, optional
        Largest weight of a standardised feature; None to audit a logistic regression.
    epsilon : float, optional
        How much worse than the best a model may train, as a share; by default 0.05 for a logistic
        regression and 0 in a box.
    delta, time_limit
        As in `pessimal.audit`; `delta` with a box only.
    missing, text
        As in `Settings`.
    seed : int, default=0
        Draws the validation rows.
    curve : bool, default=False
        Whether to audit at several ε, for a picture.
    verbose : bool, default=False
        As in `pessimal.audit`.

    Returns
    -------
    AuditReport
        Its notes begin with what was done to rows and columns.

    Examples
    --------
    >>> from pessimal.tabular import read_source, with_labels
    >>> table = with_labels(read_source("cancer"), None)
    >>> report = audit_table(table, time_limit=0.1)
    >>> report.n_train, report.n_val, report.reference.name
    (224, 225, 'the audited LogisticRegression')
    """
    encoder = make_column_encoder(table.columns, missing, text)
    rows = complete_rows(table, np.arange(len(table.y)), encoder, "audit")
    require_both_classes(table, rows, "audit")
    X_train, X_val, y_train, y_val = train_test_split(
        rows.X, rows.y, test_size=0.5, stratify=rows.y, random_state=seed
    )
    scaler = StandardScaler().set_output(transform="pandas").fit(X_train)
    X_train, X_val = scaler.transform(X_train), scaler.transform(X_val)
    data = (X_train, table.labels(y_train), X_val, table.labels(y_val))
    epsilons = None if curve else ()
    if box is None:
        # scikit-learn refuses labels of some types, so it gets signs, and the names afterwards.
        model = LogisticRegression().fit(X_train, y_train)
        model.classes_ = np.array(table.classes, dtype=object)
        report = audit_estimator(model, *data, epsilon, epsilons, time_limit, verbose)
    else:
        report = audit(*data, box, epsilon or 0.0, delta, epsilons, time_limit, verbose)
    return replace(report, notes=(*table.notes, *encoder.notes, *rows.notes, *report.notes))
