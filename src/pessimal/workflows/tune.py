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
from pessimal.tabular import CompleteRows, Labelled
from pessimal.workflows.enclosures import MOST_FEATURES, enclosing_seconds
from pessimal.workflows.model import Fact, TunedModel
from pessimal.workflows.ordinary import Ordinary, tuned_ordinarily
from pessimal.workflows.overrun import Laps, overrun_notes
from pessimal.workflows.table_tuning import (
    CTRL_C_NOTE,
    TUNING_SHARE,
    Comparison,
    TableSettings,
    audit_in_time,
    compare,
    hold_out,
)

View: TypeAlias = Literal["pessimistic", "optimistic"]

_STOPPED = (Status.TIME_LIMIT, Status.NODE_LIMIT, Status.INTERRUPTED)


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
    jobs : int
        Processes of the search, when it takes long.
    test_size, missing, text, time_limit, seed, curve, verbose
        As in `SearchSettings`.
    """

    view: View = "pessimistic"
    inner: Inner = "flip"
    groups: GroupsSpec = "each"
    epsilon: float = 0.2
    delta: float = 0.0
    jobs: int = 1


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
    deadline, laps = Deadline.after(settings.time_limit), Laps()
    encoder, tuning, testing = hold_out(table, settings)
    laps.lap("reading the columns")
    estimator, shortened = _fit(tuning, settings, max(TUNING_SHARE * deadline.left, AT_ONCE))
    laps.lap("tuning")
    ordinary = None
    if settings.view == "pessimistic":
        ordinary = tuned_ordinarily(estimator.result_, deadline, settings.seed)
    left = max(deadline.left - enclosing_seconds(settings.time_limit), AT_ONCE)
    report = _audit(estimator, tuning, table, settings, left)
    laps.lap("the audit")
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
    laps.lap("the baseline")
    late = overrun_notes(deadline, settings.time_limit, laps.parts)
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
        "n_jobs": settings.jobs,
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

    return audit_in_time(within, time_left, estimator.result_.status is Status.INTERRUPTED)


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
