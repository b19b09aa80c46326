"""Audit on a table from end to end, as the command line does.

The rows are split in two halves, one to train and one to validate, and standardised by the first.
Audited are models that train about as well as one fitted to the first half, or all models of a box.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from sklearn.model_selection import train_test_split
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler

from pessimal.auditing import AuditReport, audit
from pessimal.auditing.fitted_model import audit_model
from pessimal.labels import spoken
from pessimal.limits import AT_ONCE, Deadline
from pessimal.problem import Vector
from pessimal.tabular import (
    CompleteRows,
    Labelled,
    Missing,
    Text,
    complete_rows,
    draw_rows,
    make_column_encoder,
    require_both_classes,
)
from pessimal.workflows.given import Given, GivenSource
from pessimal.workflows.models import MODELS, ClassWeight, ModelKind, ModelName
from pessimal.workflows.overrun import Laps, overrun_notes

MOST_ROWS = 2000
"""Of a table, for a model that is trained hundreds of times."""


def audit_table(
    table: Labelled,
    *,
    model: ModelName = "logistic",
    box: float | None = None,
    epsilon: float | None = None,
    delta: float = 0.0,
    missing: Missing = "drop",
    text: Text = "refuse",
    time_limit: float = 60.0,
    seed: int = 0,
    curve: bool = False,
    verbose: bool = False,
    class_weight: ClassWeight = "none",
    given: GivenSource | None = None,
) -> AuditReport:
    """Audit on a table.

    Parameters
    ----------
    table : Labelled
    model : {"logistic", "linear-svc", "ridge", "forest", "boosting"}, default="logistic"
        What is fitted to the training rows, and audited; of a forest and of boosting nothing is
        proved.
    box : float, optional
        Largest weight of a standardised feature; None to audit `model` instead.
    epsilon : float, optional
        How much worse than the best a model may train, as a share; by default 0.05, and 0 in a box.
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
    class_weight : {"none", "balanced"}, default="none"
        Whether rows of the rarer class weigh more in training, so that both classes weigh the same;
        not in a box.
    given : GivenSource, optional
        Where a linear model is read from that is judged beside; not in a box.

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
    deadline, laps = Deadline.after(time_limit), Laps()
    kind = MODELS[model]
    if box is None:
        table = affordable(table, kind, seed)
    encoder = make_column_encoder(table.columns, missing, text)
    rows = complete_rows(table, np.arange(len(table.y)), encoder, "audit")
    require_both_classes(table, rows, "audit")
    brought = given.read(rows.X, table.classes) if given else None
    X_train, X_val, y_train, y_val = train_test_split(
        rows.X, rows.y, test_size=0.5, stratify=rows.y, random_state=seed
    )
    laps.lap("reading the columns")
    if box is None:
        pipeline = kind.pipeline(seed, class_weight).fit(X_train, y_train)
        train, val = CompleteRows(X_train, y_train, ()), CompleteRows(X_val, y_val, ())
        took = laps.lap("the fit")
        left = max(deadline.left, AT_ONCE)
        report = audit_fitted(
            pipeline, train, val, table, epsilon, curve, left, verbose, took, brought
        )
    else:
        scaler = StandardScaler().set_output(transform="pandas").fit(X_train)
        report = audit(
            scaler.transform(X_train),
            table.labels(y_train),
            scaler.transform(X_val),
            table.labels(y_val),
            box,
            epsilon or 0.0,
            delta,
            None if curve else (),
            max(deadline.left, AT_ONCE),
            verbose,
        )
    laps.lap("the audit")
    weighed = weighing(table, rows.y, class_weight if box is None else None)
    told = brought.notes if brought else ()
    notes = (*table.notes, *encoder.notes, *rows.notes, weighed, *told, *report.notes)
    notes += overrun_notes(deadline, time_limit, laps.parts)
    return replace(report, notes=notes)


def weighing(table: Labelled, y: Vector, class_weight: ClassWeight | None) -> str:
    """Say how frequent the rarer class is, and how classes weigh in training.

    None is for models that have no choice.
    """
    share = float(np.mean(y > 0.0))
    which = int(share <= 0.5)
    rarer, name = str(table.classes[which]), spoken(table.classes)[which]
    called = rarer if name == rarer else f"{rarer} ({name})"
    how = "every row weighs the same in training"
    if class_weight == "none":
        how += "; --class-weight balanced weighs classes the same"
    if class_weight == "balanced":
        how = "both classes weigh the same in training (--class-weight balanced)"
    return f"Class {called} has {min(share, 1.0 - share):.1%} of the rows; {how}."


def affordable(table: Labelled, kind: ModelKind, seed: int) -> Labelled:
    """Return the table, or a draw of its rows for a model that is trained hundreds of times."""
    n = len(table.y)
    if kind.linear or n <= MOST_ROWS:
        return table
    _, drawn = draw_rows(table, (MOST_ROWS - 0.5) / n, seed)  # a share is rounded up
    note = f"Rows drawn, since a {kind.title} is trained hundreds of times: {len(drawn)} of {n}."
    return replace(
        table, columns=table.columns.iloc[drawn], y=table.y[drawn], notes=(*table.notes, note)
    )


def audit_fitted(
    pipeline: Pipeline,
    train: CompleteRows,
    val: CompleteRows,
    table: Labelled,
    epsilon: float | None,
    curve: bool,
    time_limit: float,
    verbose: bool,
    fit_seconds: float,
    given: Given | None = None,
) -> AuditReport:
    """Audit a pipeline that was fitted to rows with signs for labels; report by the labels."""
    # scikit-learn refuses labels of some types, so it gets signs, and the names afterwards.
    report = audit_model(
        pipeline,
        (train.X, train.y, val.X, val.y),
        epsilon=epsilon,
        epsilons=None if curve else (),
        time_limit=time_limit,
        verbose=verbose,
        fit_seconds=fit_seconds,
        **(given.scaled(pipeline[0]) if given else {}),
    )
    constant = report.constant
    if constant is not None:
        constant = replace(constant, label=table.classes[int(constant.label > 0.0)])
    labels = table.labels(val.y)
    return replace(report, classes=table.classes, labels=labels, constant=constant)
