"""Tune a common classifier on a table from end to end, as the command line does.

Some rows are held out first. On the others the hyperparameter is chosen by cross-validation: the
candidate whose worst model that trains as well does best on the rows left out. The chosen model is
then fitted to all of them, audited together with the models that train as well on the held-out
rows, which nothing has seen, and stands there beside plain baselines.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import Pipeline

from pessimal.auditing import AuditReport
from pessimal.auditing.clock import Clock
from pessimal.errors import LearntByHeartWarning
from pessimal.interrupts import ended_by_interrupts, noted_interrupts
from pessimal.limits import AT_ONCE, Deadline
from pessimal.losses import find_loss
from pessimal.model_selection import PessimisticSearchCV
from pessimal.near_optimal.retrained.judging import losses
from pessimal.problem import Vector
from pessimal.tabular import ColumnEncoder, CompleteRows, Labelled
from pessimal.workflows.audit import affordable, audit_fitted, weighing
from pessimal.workflows.enclosures import enclosing_seconds, enclosure_of
from pessimal.workflows.model import TunedModel
from pessimal.workflows.models import MODELS, ModelKind
from pessimal.workflows.overrun import Laps, overrun_notes
from pessimal.workflows.search_run import INTERRUPTED, Candidate, SearchRun, SearchSettings, facts
from pessimal.workflows.table_tuning import (
    CTRL_C_NOTE,
    TUNING_SHARE,
    audit_in_time,
    compare,
    hold_out,
)

REFITS = 16
"""For the worst case of a candidate on a fold, of a model that is only found by refits."""


def search_table(table: Labelled, settings: SearchSettings) -> SearchRun:
    """Tune a common classifier on a table.

    Parameters
    ----------
    table : Labelled
    settings : SearchSettings

    Returns
    -------
    SearchRun

    Examples
    --------
    >>> from pessimal.tabular import read_source, with_labels
    >>> settings = SearchSettings(model="ridge", test_size=0.8)
    >>> run = search_table(with_labels(read_source("cancer"), None), settings)
    >>> run.chosen.worst_found <= run.usual.worst_found, run.comparison.n_rows
    (True, 360)
    """
    with noted_interrupts() as interrupts:
        run = _tune(table, settings)
    if not interrupts.pending:
        return run
    return replace(run, cut_short=True, notes=(*run.notes, CTRL_C_NOTE))


def _tune(table: Labelled, settings: SearchSettings) -> SearchRun:
    deadline, laps = Deadline.after(settings.time_limit), Laps()
    kind = MODELS[settings.model]
    table = affordable(table, kind, settings.seed)
    encoder, tuning, testing = hold_out(table, settings)
    laps.lap("reading the columns")
    search, warned = _search(kind, tuning, settings, TUNING_SHARE * deadline.left)
    laps.lap("tuning")
    stopped_by = str(search.stopped_)
    final = search.best_estimator_
    report = None
    if len(testing.y):
        enclosing = enclosing_seconds(settings.time_limit) if kind.linear else 0.0
        left = max(deadline.left - enclosing, AT_ONCE)
        report = _audit(
            final, tuning, testing, table, settings, left, stopped_by, search.refit_time_
        )
        laps.lap("the audit")
    candidates = _candidates(kind, search)
    usual = [c.loss for c in candidates]
    with ended_by_interrupts(deadline):  # it is quick, and all else is there
        weight = settings.class_weight
        comparison = compare(final, tuning, testing, weight) if len(testing.y) else None
    laps.lap("the baseline")
    late = overrun_notes(deadline, settings.time_limit, laps.parts)
    run = SearchRun(
        settings=settings,
        kind=kind,
        search=search,
        candidates=candidates,
        chosen=candidates[search.best_index_],
        usual=candidates[int(np.nanargmin(usual))],
        stopped_by=stopped_by,
        model=None,
        audit=report,
        comparison=comparison,
        n_tuned=len(tuning.y),
        target=table.target,
        classes=table.classes,
        notes=(
            *table.notes,
            *encoder.notes,
            *tuning.notes,
            *testing.notes,
            weighing(table, tuning.y, settings.class_weight),
            *warned,
            *late,
        ),
        cells=table.columns,
    )
    if not kind.linear:
        return run
    with ended_by_interrupts(deadline):
        return replace(run, model=_model(run, final, table, encoder, deadline))


def _search(
    kind: ModelKind, rows: CompleteRows, settings: SearchSettings, seconds: float
) -> tuple[PessimisticSearchCV, tuple[str, ...]]:
    """Run the search in its share of the time; return it with what it warned of."""
    seconds = max(seconds, AT_ONCE)
    pipeline = kind.pipeline(settings.seed, settings.class_weight)
    grid = kind.grid(pipeline)
    fewest = int(min(np.sum(rows.y < 0.0), np.sum(rows.y > 0.0)))
    n_folds = min(kind.n_folds, fewest)
    with (
        Clock(seconds, settings.verbose, "tune") as clock,
        warnings.catch_warnings(record=True) as caught,
    ):
        warnings.simplefilter("always")
        search = PessimisticSearchCV(
            pipeline,
            grid,
            epsilon=settings.epsilon,
            loss=kind.loss,
            scoring=_Score(kind.loss, clock, len(grid) * n_folds),
            cv=StratifiedKFold(n_folds, shuffle=True, random_state=settings.seed),
            time_limit=seconds,
            node_limit=None if kind.linear else REFITS,
        ).fit(rows.X, rows.y)
    told = [f"{w.message}." for w in caught if w.category is LearntByHeartWarning]
    return search, tuple(dict.fromkeys(told))


@dataclass
class _Score:
    """Minus the mean loss of a fit; it is counted, for whoever waits."""

    loss: str
    clock: Clock
    n_fits: int
    done: int = 0

    def __call__(self, model: Any, X: Any, y: Vector) -> float:
        self.done += 1
        last = self.done >= self.n_fits
        self.clock.begin("bounds" if last else f"fit {self.done} of {self.n_fits}")
        return -float(losses(model, X, y, find_loss(self.loss)).mean())


def _audit(
    final: Pipeline,
    tuning: CompleteRows,
    testing: CompleteRows,
    table: Labelled,
    settings: SearchSettings,
    time_left: float,
    stopped_by: str,
    fit_seconds: float,
) -> AuditReport:
    """Audit the final model on the held-out rows."""

    def within(seconds: float) -> AuditReport:
        return audit_fitted(
            final,
            tuning,
            testing,
            table,
            settings.epsilon,
            settings.curve,
            seconds,
            settings.verbose,
            fit_seconds,
        )

    return audit_in_time(within, time_left, stopped_by == INTERRUPTED)


def _candidates(kind: ModelKind, search: PessimisticSearchCV) -> tuple[Candidate, ...]:
    """Return the candidates of a search, by losses instead of scores."""
    results = search.cv_results_
    columns = ("mean_test_score", "mean_worst_found", "mean_worst_bound")
    numbers = (-np.array([results[name] for name in columns])).T.tolist()
    return tuple(
        Candidate(value, loss, found, bound if np.isfinite(bound) else None)
        for value, (loss, found, bound) in zip(kind.values, numbers, strict=True)
    )


def _model(
    run: SearchRun, final: Pipeline, table: Labelled, encoder: ColumnEncoder, deadline: Deadline
) -> TunedModel:
    """Return the final model for the features as they are in the table."""
    scaler, linear = final
    coef = np.ravel(linear.coef_) / scaler.scale_
    intercept = float(np.ravel(linear.intercept_)[0] - coef @ scaler.mean_)
    return TunedModel(
        target=table.target,
        classes=table.classes,
        encoder=encoder,
        coef=tuple(coef.tolist()),
        intercept=intercept,
        box=None,
        guarantee=run.guarantee,
        facts=facts(run),
        kind=run.settings.model,
        equally_good=None if deadline.over else enclosure_of(run.search.near_optimal_set()),
    )
