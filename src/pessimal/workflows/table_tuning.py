"""What both ways to tune on a table share: settings, held-out rows, the audit, the comparison."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from pessimal.auditing import AuditReport
from pessimal.tabular import (
    ColumnEncoder,
    CompleteRows,
    Labelled,
    Missing,
    Text,
    complete_rows,
    draw_rows,
    make_column_encoder,
    require_both_classes,
)
from pessimal.workflows.models import ClassWeight

TUNING_SHARE = 2.0 / 3.0
"""Most of the time that tuning may take; the guarantee needs the rest."""

SECONDS_AFTER_INTERRUPTION = 5.0
"""Whoever presses Ctrl-C waits no longer than this for the audit of what was found."""

CTRL_C_NOTE = "Ctrl-C came before the end: what it cut short is kept as far as it went."


@dataclass(frozen=True)
class TableSettings:
    """What every way to tune on a table has to know.

    Attributes
    ----------
    test_size : float
        Share of the rows to hold out; 0 for none.
    missing : {"drop", "fill"}
        Leave rows with missing cells out, or fill in the median (text: the most frequent category).
    text : {"refuse", "one-hot"}
        Refuse text columns, or make one feature of every category.
    time_limit : float
        Seconds for tuning and audit together. Tuning has two thirds of them at most, the audit
        what is left.
    seed : int
        Draws the held-out and the validation rows.
    curve : bool
        Whether to audit at several ε, for a picture.
    verbose : bool
        Whether to write to standard error how far tuning is.
    """

    test_size: float = 0.25
    missing: Missing = "drop"
    text: Text = "refuse"
    time_limit: float = 60.0
    seed: int = 0
    curve: bool = False
    verbose: bool = False


@dataclass(frozen=True)
class InClass:
    """What of `Comparison` is about the rows of one class."""

    n_rows: int
    n_right: int
    n_right_logistic: int
    n_only: int
    n_only_logistic: int


@dataclass(frozen=True)
class Comparison:
    """The tuned model and logistic regression on the rows neither has seen.

    Attributes
    ----------
    n_rows : int
    n_right, n_right_logistic : int
        Rows classified as labelled.
    n_only, n_only_logistic : int
        Rows that one of them has right and the other has not.
    n_majority : int
        Rows of the class that most rows to tune on have.
    classes : tuple of InClass
        The same counts of the negative and of the positive class.
    balanced : bool
        Whether both classes weighed the same in training, of logistic regression as well.
    """

    n_rows: int
    n_right: int
    n_right_logistic: int
    n_only: int
    n_only_logistic: int
    n_majority: int
    classes: tuple[InClass, InClass]
    balanced: bool = False

    @property
    def shares_right(self) -> tuple[float, float]:
        """Share of the rows of each class that the tuned model has right."""
        negative, positive = (c.n_right / c.n_rows for c in self.classes)
        return negative, positive

    @property
    def shares_right_logistic(self) -> tuple[float, float]:
        """Share of the rows of each class that logistic regression has right."""
        negative, positive = (c.n_right_logistic / c.n_rows for c in self.classes)
        return negative, positive


def hold_out(
    table: Labelled, settings: TableSettings
) -> tuple[ColumnEncoder, CompleteRows, CompleteRows]:
    """Return how columns become features, the rows to tune on, and those held out."""
    kept, held = draw_rows(table, settings.test_size, settings.seed)
    encoder = make_column_encoder(table.columns.iloc[kept], settings.missing, settings.text)
    tuning = complete_rows(table, kept, encoder, "tune on")
    testing = complete_rows(table, held, encoder, "compare on")
    require_both_classes(table, tuning, "tune on")
    return encoder, tuning, testing


def audit_in_time(
    within: Callable[[float], AuditReport], time_left: float, interrupted: bool
) -> AuditReport:
    """Audit within the seconds left, or soon after Ctrl-C, whether it came before or comes now."""
    if interrupted:
        return within(min(time_left, SECONDS_AFTER_INTERRUPTION))
    try:
        return within(time_left)
    except KeyboardInterrupt:
        return replace(within(SECONDS_AFTER_INTERRUPTION), stopped=True)


def compare(
    estimator: Any,
    tuning: CompleteRows,
    testing: CompleteRows,
    class_weight: ClassWeight = "none",
) -> Comparison:
    """Count what a fitted model, logistic regression and the majority get right on other rows."""
    balanced = class_weight == "balanced"
    plain = LogisticRegression(class_weight="balanced" if balanced else None)
    logistic = make_pipeline(StandardScaler(), plain).fit(tuning.X, tuning.y)
    ours = estimator.predict(testing.X) == testing.y
    theirs = logistic.predict(testing.X) == testing.y

    def counted(rows: NDArray[np.bool_]) -> InClass:
        return InClass(
            n_rows=int(rows.sum()),
            n_right=int((rows & ours).sum()),
            n_right_logistic=int((rows & theirs).sum()),
            n_only=int((rows & ours & ~theirs).sum()),
            n_only_logistic=int((rows & theirs & ~ours).sum()),
        )

    return Comparison(
        **asdict(counted(np.ones_like(ours))),
        n_majority=int(np.sum(testing.y == (1.0 if tuning.y.mean() > 0.0 else -1.0))),
        classes=(counted(testing.y < 0.0), counted(testing.y > 0.0)),
        balanced=balanced,
    )
