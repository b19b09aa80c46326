"""Tune a common classifier on a table from end to end, as the command line does.

Some rows are held out first. On the others the hyperparameter is chosen by cross-validation: the
candidate whose worst model that trains as well does best on the rows left out. The chosen model is
then fitted to all of them, audited together with the models that train as well on the held-out
rows, which nothing has seen, and stands there beside plain baselines.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import Pipeline

from pessimal.auditing import AuditReport
from pessimal.auditing.clock import Clock
from pessimal.auditing.text import rounded
from pessimal.errors import LearntByHeartWarning
from pessimal.interrupts import ended_by_interrupts, noted_interrupts
from pessimal.limits import AT_ONCE, Deadline
from pessimal.losses import find_loss
from pessimal.model_selection import PessimisticSearchCV
from pessimal.near_optimal.retrained.judging import losses
from pessimal.problem import Vector
from pessimal.tabular import (
    ColumnEncoder,
    CompleteRows,
    Labelled,
    complete_rows,
    draw_rows,
    make_column_encoder,
    require_both_classes,
)
from pessimal.workflows.audit import affordable, audit_fitted, weighing
from pessimal.workflows.enclosures import enclosing_seconds, enclosure_of
from pessimal.workflows.model import Fact, Label, TunedModel
from pessimal.workflows.models import MODELS, ClassWeight, ModelKind, ModelName
from pessimal.workflows.overrun import overrun_notes
from pessimal.workflows.tune import (
    CTRL_C_NOTE,
    SECONDS_AFTER_INTERRUPTION,
    TUNING_SHARE,
    Comparison,
    TableSettings,
    compare,
)

REFITS = 16
"""For the worst case of a candidate on a fold, of a model that is only found by refits."""

INTERRUPTED = "Ctrl-C"


@dataclass(frozen=True)
class SearchSettings(TableSettings):
    """How to tune a common classifier; what is not here is in `Settings`.

    Attributes
    ----------
    model : {"logistic", "linear-svc", "ridge", "forest", "boosting"}
    epsilon : float
        A model trains well when what training minimises is at most ``(1 + epsilon)·least``.
    class_weight : {"none", "balanced"}
        Whether rows of the rarer class weigh more in training, so that both classes weigh the same.
        Candidates are judged by rows that all weigh the same.
    """

    model: ModelName = "logistic"
    epsilon: float = 0.05
    class_weight: ClassWeight = "none"


@dataclass(frozen=True)
class Candidate:
    """A value of the hyperparameter, with mean losses over the rows left out of the folds.

    Attributes
    ----------
    value : float
    loss : float
        Of the model that training gives; NaN where time ran out before it.
    worst_found : float
        Of the worst model found that trains as well; NaN where none was looked for.
    worst_bound : float or None
        No model that trains as well has a larger one; None where nothing is proved.
    """

    value: float
    loss: float
    worst_found: float
    worst_bound: float | None


@dataclass(frozen=True, eq=False)
class SearchRun:
    """Everything `search_table` found out.

    Attributes
    ----------
    settings : SearchSettings
    kind : ModelKind
    search : PessimisticSearchCV
        Fitted, with labels −1 and +1.
    candidates : tuple of Candidate
        In the order in which they were looked at.
    chosen, usual : Candidate
        The one of least worst loss, and the one that ordinary tuning takes.
    stopped_by : str
        What ended the search early, "Ctrl-C" or "time_limit"; empty if nothing did.
    model : TunedModel or None
        What predicts, if it is linear.
    audit : AuditReport or None
        Models that train as well as the final one, on the held-out rows; None if there are none.
    comparison : Comparison or None
    n_tuned : int
        Rows that were not held out.
    target : str
        The column that is predicted.
    classes : tuple
    notes : tuple of str
        What was done with rows and columns, and what the search warned of.
    cells : pandas.DataFrame
        The columns of the table, for a page that shows rows of it.
    cut_short : bool
        Whether Ctrl-C came, to the search or to what follows it.
    """

    settings: SearchSettings
    kind: ModelKind
    search: PessimisticSearchCV = field(repr=False)
    candidates: tuple[Candidate, ...]
    chosen: Candidate
    usual: Candidate
    stopped_by: str
    model: TunedModel | None
    audit: AuditReport | None
    comparison: Comparison | None
    n_tuned: int
    target: str
    classes: tuple[Label, Label]
    notes: tuple[str, ...]
    cells: pd.DataFrame = field(repr=False)
    cut_short: bool = False

    def to_html(self, path: str | Path, title: str = "your data") -> None:
        """Write a page for a person, in one file; `title` is what to call the table."""
        from pessimal.report.search_page import write_search_page  # noqa: PLC0415 (slow to import)

        write_search_page(self, Path(path), title)

    def _repr_html_(self) -> str:
        from pessimal.report.search_page import notebook_of_search  # noqa: PLC0415 (slow to import)

        return notebook_of_search(self)

    @property
    def stopped(self) -> bool:
        """Whether a limit or Ctrl-C cut something short."""
        stopped = self.cut_short or bool(self.stopped_by)
        return stopped or (self.audit is not None and self.audit.stopped)

    @property
    def guarantee(self) -> str:
        """What is proved, or found, in one sentence."""
        return self.audit.guarantee if self.audit else self.over_folds

    @property
    def loss_name(self) -> str:
        """What candidates are judged by, in a sentence."""
        return f"{self.kind.loss.replace('_', ' ')} loss"

    @property
    def folds(self) -> str:
        """How many folds means are over."""
        n = self.search.n_splits_
        return "1 fold" if n == 1 else f"{n} folds"

    @property
    def over_folds(self) -> str:
        """The worst loss of the chosen candidate, mean over folds: what is known of it."""
        where = f"mean over {self.folds} on the rows left out"
        about = f"Worst {self.loss_name} of a model that trains this well, {where}"
        found, bound = self.chosen.worst_found, self.chosen.worst_bound
        if np.isnan(found):
            return f"{about}: not known, for the search was stopped before it was looked for."
        if bound is None:
            return f"{about}: {found:.4f} was found, and nothing is proved."
        return f"{about}: in [{found:.4f}, {rounded(bound, 4, 1.0):.4f}], found and proved."


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
    deadline = Deadline.after(settings.time_limit)
    kind = MODELS[settings.model]
    table = affordable(table, kind, settings.seed)
    kept, held = draw_rows(table, settings.test_size, settings.seed)
    encoder = make_column_encoder(table.columns.iloc[kept], settings.missing, settings.text)
    tuning = complete_rows(table, kept, encoder, "tune on")
    testing = complete_rows(table, held, encoder, "compare on")
    require_both_classes(table, tuning, "tune on")
    search, warned = _search(kind, tuning, settings, TUNING_SHARE * deadline.left)
    stopped_by = str(search.stopped_)
    final = search.best_estimator_
    report = None
    if len(testing.y):
        enclosing = enclosing_seconds(settings.time_limit) if kind.linear else 0.0
        left = max(deadline.left - enclosing, AT_ONCE)
        report = _audit(
            final, tuning, testing, table, settings, left, stopped_by, search.refit_time_
        )
    candidates = _candidates(kind, search)
    usual = [c.loss for c in candidates]
    with ended_by_interrupts(deadline):  # it is quick, and all else is there
        comparison = compare(final, tuning, testing) if len(testing.y) else None
    late = overrun_notes(
        deadline,
        settings.time_limit,
        f"a fit on one fold, the final fit, {search.refit_time_:.1f} s, its audit and the baseline",
    )
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

    if stopped_by == INTERRUPTED:
        return within(min(time_left, SECONDS_AFTER_INTERRUPTION))
    try:
        return within(time_left)
    except KeyboardInterrupt:
        return replace(within(SECONDS_AFTER_INTERRUPTION), stopped=True)


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


def facts(run: SearchRun) -> dict[str, Fact]:
    """Return how a run went and what came out, under plain names."""
    settings, chosen, report = run.settings, run.chosen, run.audit
    audited: dict[str, Fact] = {}
    if report is not None:
        proves, n = report.proves, report.n_val
        wrong = report.worst_error
        audited = {
            "held_out_worst_loss": report.worst_loss.value,
            "held_out_worst_loss_bound": report.worst_loss.bound if proves else None,
            "held_out_worst_errors": round(wrong.value * n),
            "held_out_worst_errors_bound": round(wrong.bound * n) if proves else None,
        }
    return {
        "model": settings.model,
        run.kind.parameter: chosen.value,
        "epsilon": settings.epsilon,
        "class_weight": settings.class_weight,
        "seed": settings.seed,
        "n_tuned": run.n_tuned,
        "n_folds": int(run.search.n_splits_),
        "loss": run.kind.loss,
        "mean_loss": chosen.loss,
        "worst_loss": None if np.isnan(chosen.worst_found) else chosen.worst_found,
        "worst_loss_bound": chosen.worst_bound,
        "usual_choice": run.usual.value,
        "stopped_by": run.stopped_by or None,
        **audited,
    }
