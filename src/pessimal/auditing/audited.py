"""The models to audit, however they came about, and the report on them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from pessimal.auditing.clock import Clock
from pessimal.auditing.constant import constant_model
from pessimal.auditing.extremes import End, Extremes
from pessimal.auditing.refinement import refine
from pessimal.auditing.report import AuditReport, Curve, ReferenceModel
from pessimal.auditing.tables import Names
from pessimal.interrupts import noted_interrupts
from pessimal.limits import Deadline
from pessimal.losses import Loss
from pessimal.near_optimal import BoxSet, Extreme, Linear, NearOptimalSet
from pessimal.tolerances import OPTIMAL_GAP, STRICT

EPSILONS = (0.0, 0.05, 0.1, 0.2, 0.4)
"""Of the curves, in a box."""


@dataclass(frozen=True, eq=False)
class Audited:
    """The models to audit, one of which is the chosen one.

    Attributes
    ----------
    names : Names
    members : NearOptimalSet
    X_val, y_val : array-like
        The validation data, as members take them.
    reference : Model
        The chosen one.
    name : str
        What it is.
    epsilons : tuple of float
        Where curves are of interest.
    y_train : ndarray
        The training labels, as `y_val`.
    notes : tuple of str
        What a reader must know of the models.
    search : type
        What looks for their extremes.
    """

    names: Names
    members: NearOptimalSet
    X_val: Any
    y_val: Any
    reference: Any
    name: str
    epsilons: tuple[float, ...]
    y_train: Any
    notes: tuple[str, ...] = ()
    search: type[Extremes] = Extremes

    def extremes(self, grid: list[float], deadline: Deadline) -> Extremes:
        """Begin to look for the extremes of the models."""
        return self.search(self.members, self.X_val, self.y_val, grid, self.reference, deadline)


def name_of(loss: Loss) -> str:
    """Return what a loss is called in a sentence."""
    return loss.name.replace("_", "-" if loss.name == "zero_one" else " ")


def report_on(audited: Audited, grid: list[float], clock: Clock) -> AuditReport:
    """Find the extremes of the models in the time there is, and put down what is known."""
    names, members, model = audited.names, audited.members, audited.reference
    with noted_interrupts() as interrupts:
        known = audited.extremes(grid, clock.after(0.5))
    if not members.proves:
        clock.trained()  # and how long judging takes, as every refit will be judged
    ended = refine(known, clock, interrupts, errors=bool(names.classes))
    box = members.box if isinstance(members, BoxSet) else None
    least = members.trained.value
    if least <= OPTIMAL_GAP and any(grid):
        ended.notes += (
            "The training data can be fitted without loss in this box, so a relative budget "
            "(epsilon) changes nothing; allow an absolute one (delta)."
            if box is not None
            else "The training data can be fitted almost without loss, so a relative budget "
            "(epsilon) allows next to nothing; near_optimal_set takes an absolute one (delta).",
        )
    reference, unknown = known.judge(model), Extreme(np.nan, np.nan, np.nan, model)
    losses = [end.known() for end in known.worst_loss]
    # A regressor makes no errors that could be counted.
    errors = [end.known() if names.classes else unknown for end in known.worst_error]
    return AuditReport(
        best_loss=known.best_loss[known.here].known(),
        worst_loss=losses[known.here],
        best_error=known.best_error.known() if names.classes else unknown,
        worst_error=errors[known.here],
        discrepancy=known.discrepancy.known() if names.classes else unknown,
        worst_sensitivity=_complement(known.worst_in_class[1]),
        worst_specificity=_complement(known.worst_in_class[0]),
        constant=constant_model(
            members.loss, audited.y_train, audited.y_val, known.labels, names.classes
        ),
        score_low=known.low,
        score_high=known.high,
        found_low=known.found_low,
        found_high=known.found_high,
        curve=Curve(
            epsilons=np.array(grid),
            best_loss=np.array([end.value for end in known.best_loss]),
            worst_loss=np.array([end.value for end in losses]),
            worst_loss_bound=np.array([end.bound for end in losses]),
            worst_error=np.array([end.value for end in errors]),
            worst_error_bound=np.array([end.bound for end in errors]),
        ),
        reference=ReferenceModel(
            name=audited.name,
            coef=model.coef if isinstance(model, Linear) else np.zeros(0),
            intercept=model.intercept if isinstance(model, Linear) else np.nan,
            train_loss=members.train_loss(model),
            loss=reference.loss,
            error=reference.error if names.classes else np.nan,
            scores=reference.scores,
            sensitivity=1.0 - reference.error_in_class[1],
            specificity=1.0 - reference.error_in_class[0],
        ),
        least_train_loss=least,
        train_limit=members.limit,
        budget=members.budget,
        loss=name_of(members.loss),
        box=box,
        n_train=names.n_train,
        classes=names.classes,
        labels=names.labels,
        feature_names=names.feature_names,
        index=names.index,
        stopped=ended.early,
        proves=members.proves,
        said=known.said,
        coefficients=known.coefficients,
        notes=(
            *audited.notes,
            *(_training_notes(members.trained) if members.proves else ()),
            *(_tie_notes(known) if members.proves and names.classes else ()),
            *known.warned,
            *ended.notes,
        ),
    )


def _training_notes(trained: Extreme) -> tuple[str, ...]:
    """Say so if time ran out before the least training loss was known."""
    if trained.value - trained.lower_bound <= OPTIMAL_GAP:
        return ()
    return (
        f"Time ran out before the least training loss was known: it lies between "
        f"{trained.lower_bound:.4f} and {trained.value:.4f}. The models audited are those within "
        "the budget of the latter, and some of them may train worse than epsilon and delta allow.",
    )


def _complement(errors: End) -> Extreme:
    """Return the share that is right, given the largest that is wrong."""
    end = errors.known()
    if not np.isfinite(end.value):  # no point of this class, or not two classes
        return Extreme(np.nan, np.nan, np.nan, end.model)
    return Extreme(1.0 - end.value, 1.0 - end.upper_bound, 1.0 - end.lower_bound, end.model)


def _tie_notes(known: Extremes) -> tuple[str, ...]:
    """Say so if scores of 0 keep errors from being counted, of all models or of the best."""
    always = int(np.sum((known.low >= -STRICT) & (known.high <= STRICT)))
    if always:
        return (
            f"Every model audited gives {always} of {len(known.y)} validation points a score of 0. "
            "That is on neither side and counts as no error in this audit, not in the worst case "
            "either; a prediction takes it for negative, and is wrong where the class is positive.",
        )
    scores = known.best_error.model.decision_function(known.X)
    ties = int(np.sum(np.abs(scores) <= STRICT))
    if not ties:
        return ()
    return (
        f"The model of least error gives {ties} of {len(scores)} validation points a score of 0. "
        "That is on neither side and counts as no error in this audit; a prediction takes it for "
        "negative.",
    )
