"""What tuning a common classifier on a table has found, and what is known of it in sentences."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pandas as pd

from pessimal.auditing import AuditReport
from pessimal.auditing.text import rounded
from pessimal.model_selection import PessimisticSearchCV
from pessimal.workflows.model import Fact, Label, TunedModel
from pessimal.workflows.models import ClassWeight, ModelKind, ModelName
from pessimal.workflows.table_tuning import Comparison, TableSettings

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
