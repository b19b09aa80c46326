"""Tune on a table from end to end, as the command line does.

Some rows are held out first. On the others the view's estimator tunes the box; an audit then says
what all models of that box that train well do on the validation rows; and the model that predicts
stands beside logistic regression on the held-out rows, which neither of them has seen.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, TypeAlias

import numpy as np
import pandas as pd
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from pessimal.auditing import AuditReport, audit
from pessimal.estimators import OptimisticSVC, PessimisticSVC
from pessimal.estimators.final import FinalModelWarning
from pessimal.interrupts import ended_by_interrupts, noted_interrupts
from pessimal.limits import AT_ONCE, Deadline
from pessimal.near_optimal.polyhedral.box_set import BoxSet
from pessimal.near_optimal.polyhedral.enclosure import BoxEnclosure
from pessimal.problem import Vector
from pessimal.solution import Status, TuningSolution
from pessimal.solve import Inner
from pessimal.solvers.minimax.groups import GroupsSpec
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
from pessimal.workflows.enclosures import MOST_FEATURES, enclosing_seconds
from pessimal.workflows.model import Fact, TunedModel
from pessimal.workflows.ordinary import Ordinary, tuned_ordinarily
from pessimal.workflows.overrun import overrun_notes

View: TypeAlias = Literal["pessimistic", "optimistic"]

_STOPPED = (Status.TIME_LIMIT, Status.NODE_LIMIT, Status.INTERRUPTED)

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
class Settings(TableSettings):
    """How to tune a box.

    Attributes
    ----------
    view : {"pessimistic", "optimistic"}
    inner, groups
        As in `PessimisticSVC`; the optimistic view has neither.
    epsilon, delta : float
        A model trains well when its loss is at most ``(1 + epsilon)·least + delta``.
    test_size, missing, text, time_limit, seed, curve, verbose
        As in `SearchSettings`.
    """

    view: View = "pessimistic"
    inner: Inner = "flip"
    groups: GroupsSpec = "each"
    epsilon: float = 0.2
    delta: float = 0.0


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
    """

    n_rows: int
    n_right: int
    n_right_logistic: int
    n_only: int
    n_only_logistic: int
    n_majority: int


@dataclass(frozen=True, eq=False)
class TuningRun:
    """Everything `tune_table` found out.

    Attributes
    ----------
    model : TunedModel
        What predicts.
    weights : ndarray of shape (p,)
        Its weights of the standardised features, within the tuned box.
    settings : Settings
    solution : TuningSolution
        The answer of the search, in standardised features.
    audit : AuditReport
        All models of the tuned box that train well, on the validation rows.
    comparison : Comparison or None
        None when no row was held out.
    notes : tuple of str
        What was done with rows and columns.
    cells : pandas.DataFrame
        The columns of the table, for a page that shows rows of it.
    cut_short : bool
        Whether time cut the final model short, or Ctrl-C came at all.
    ordinary : Ordinary or None
        What ordinary tuning would give; None for the optimistic view, which is that, and where
        there was no time.
    """

    model: TunedModel
    weights: Vector
    settings: Settings
    solution: TuningSolution
    audit: AuditReport
    comparison: Comparison | None
    notes: tuple[str, ...]
    cells: pd.DataFrame = field(repr=False)
    cut_short: bool = False
    ordinary: Ordinary | None = None

    def to_html(self, path: str | Path, title: str = "your data") -> None:
        """Write a page for a person, in one file; `title` is what to call the table."""
        from pessimal.report.tuning import write_tuning_page  # noqa: PLC0415 (slow to import)

        write_tuning_page(self, Path(path), title)

    def _repr_html_(self) -> str:
        from pessimal.report.tuning import notebook_of_tuning  # noqa: PLC0415 (slow to import)

        return notebook_of_tuning(self)

    @property
    def stopped(self) -> bool:
        """Whether a limit or Ctrl-C cut something short."""
        return self.cut_short or self.audit.stopped or self.solution.status in _STOPPED


def tune_table(table: Labelled, settings: Settings) -> TuningRun:
    """Tune on a table.

    Parameters
    ----------
    table : Labelled
    settings : Settings

    Returns
    -------
    TuningRun

    Examples
    --------
    >>> from pessimal.tabular import read_source, with_labels
    >>> run = tune_table(with_labels(read_source("cancer"), None), Settings(test_size=0.92))
    >>> run.solution.proved, run.stopped, run.comparison.n_rows
    (True, False, 414)
    """
    with noted_interrupts() as interrupts:
        run = _tune(table, settings)
    if not interrupts.pending:
        return run
    return replace(run, cut_short=True, notes=(*run.notes, CTRL_C_NOTE))


def _tune(table: Labelled, settings: Settings) -> TuningRun:
    deadline = Deadline.after(settings.time_limit)
    kept, held = draw_rows(table, settings.test_size, settings.seed)
    encoder = make_column_encoder(table.columns.iloc[kept], settings.missing, settings.text)
    tuning = complete_rows(table, kept, encoder, "tune on")
    testing = complete_rows(table, held, encoder, "compare on")
    require_both_classes(table, tuning, "tune on")
    estimator, shortened = _fit(tuning, settings, max(TUNING_SHARE * deadline.left, AT_ONCE))
    ordinary = None
    if settings.view == "pessimistic":
        ordinary = tuned_ordinarily(estimator.result_, deadline, settings.seed)
    left = max(deadline.left - enclosing_seconds(settings.time_limit), AT_ONCE)
    report = _audit(estimator, tuning, table, settings, left)
    model = TunedModel(
        target=table.target,
        classes=table.classes,
        encoder=encoder,
        coef=tuple(estimator.coef_[0].tolist()),
        intercept=float(estimator.intercept_[0]),
        box=tuple(estimator.box_.tolist()),
        guarantee=report.guarantee,
        facts=_facts(settings, estimator.result_, report),
        equally_good=_enclosure(estimator, deadline),
    )
    with ended_by_interrupts(deadline):  # it is quick, and all else is there
        comparison = compare(estimator, tuning, testing) if len(testing.y) else None
    always = "a first training of the box, the final model, its audit and the baseline"
    late = overrun_notes(deadline, settings.time_limit, always)
    return TuningRun(
        model=model,
        weights=estimator.coef_[0] * estimator.scale_,
        settings=settings,
        solution=estimator.result_,
        audit=report,
        comparison=comparison,
        notes=(*table.notes, *encoder.notes, *tuning.notes, *testing.notes, *shortened, *late),
        cells=table.columns,
        cut_short=bool(shortened),
        ordinary=ordinary,
    )


def _fit(rows: CompleteRows, settings: Settings, seconds: float) -> tuple[Any, tuple[str, ...]]:
    """Tune and train; return the estimator, and a note if its final model was cut short."""
    shared: dict[str, Any] = {
        "epsilon": settings.epsilon,
        "delta": settings.delta,
        "time_limit": seconds,
        "random_state": settings.seed,
        "verbose": int(settings.verbose),
    }
    if settings.view == "optimistic":
        estimator = OptimisticSVC(**shared)
    else:
        estimator = PessimisticSVC(inner=settings.inner, groups=settings.groups, **shared)
    with warnings.catch_warnings(record=True) as caught:
        # What was not proved is in the result, and is said with it.
        warnings.simplefilter("always", ConvergenceWarning)
        estimator.fit(rows.X, rows.y)
    for w in caught:
        if not issubclass(w.category, ConvergenceWarning):
            warnings.warn_explicit(w.message, w.category, w.filename, w.lineno)
    told = [w.message for w in caught if isinstance(w.message, FinalModelWarning)]
    return estimator, tuple(f"{warning.what}." for warning in told)


def _audit(
    estimator: Any, rows: CompleteRows, table: Labelled, settings: Settings, time_left: float
) -> AuditReport:
    """Audit the tuned box, on the rows and in the units it was tuned in."""
    scaled = (rows.X - estimator.mean_) / estimator.scale_
    labels = table.labels(rows.y)
    val = estimator.validation_

    def within(seconds: float) -> AuditReport:
        return audit(
            scaled[~val],
            labels[~val],
            scaled[val],
            labels[val],
            box=estimator.box_,
            epsilon=settings.epsilon,
            delta=settings.delta,
            epsilons=None if settings.curve else (),
            time_limit=seconds,
            verbose=settings.verbose,
        )

    if estimator.result_.status is Status.INTERRUPTED:
        return within(min(time_left, SECONDS_AFTER_INTERRUPTION))
    try:
        return within(time_left)
    except KeyboardInterrupt:
        return replace(within(SECONDS_AFTER_INTERRUPTION), stopped=True)


def _enclosure(estimator: Any, deadline: Deadline) -> BoxEnclosure | None:
    """Bound the models of the tuned box that train well on all rows; coarsely, if time is up.

    After Ctrl-C there are no bounds, nor if there was no time to train on all rows.
    """
    scale = np.where(estimator._scaling.varies, estimator.scale_, 0.0)
    if len(scale) > MOST_FEATURES or (estimator._trained is None and deadline.over):
        return None
    try:
        members: BoxSet = estimator.near_optimal_set().inner
        return members.enclosure(estimator.mean_, scale, time_limit=deadline)
    except KeyboardInterrupt:
        return None


def _facts(settings: Settings, solution: TuningSolution, report: AuditReport) -> dict[str, Fact]:
    pessimistic = {"inner": settings.inner, "groups": str(settings.groups)}
    return {
        "view": settings.view,
        **(pessimistic if settings.view == "pessimistic" else {}),
        "epsilon": settings.epsilon,
        "delta": settings.delta,
        "seed": settings.seed,
        "n_train": report.n_train,
        "n_val": report.n_val,
        "validation_loss": solution.objective,
        "lower_bound": solution.lower_bound,
        "status": solution.status.value,
        "proved": solution.proved,
        "nodes": solution.nodes,
        "seconds": solution.seconds,
        "method": solution.method,
        "certificate_ok": bool(solution.certificate.ok),
        "certificate_inner_gap": solution.certificate.inner_gap,
        "worst_loss": report.worst_loss.value,
        "worst_loss_bound": report.worst_loss.bound,
        "worst_errors": round(report.worst_error.value * report.n_val),
        "worst_errors_bound": round(report.worst_error.bound * report.n_val),
        "best_loss": report.best_loss.value,
        "ambiguous_rows": int(report.ambiguous.sum()),
        "ambiguous_rows_bound": int((report.ambiguous | report.undecided).sum()),
    }


def compare(estimator: Any, tuning: CompleteRows, testing: CompleteRows) -> Comparison:
    """Count what a fitted model, logistic regression and the majority get right on other rows."""
    logistic = make_pipeline(StandardScaler(), LogisticRegression()).fit(tuning.X, tuning.y)
    ours = estimator.predict(testing.X) == testing.y
    theirs = logistic.predict(testing.X) == testing.y
    return Comparison(
        n_rows=len(testing.y),
        n_right=int(ours.sum()),
        n_right_logistic=int(theirs.sum()),
        n_only=int((ours & ~theirs).sum()),
        n_only_logistic=int((theirs & ~ours).sum()),
        n_majority=int(np.sum(testing.y == (1.0 if tuning.y.mean() > 0.0 else -1.0))),
    )
