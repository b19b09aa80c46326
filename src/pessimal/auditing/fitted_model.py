"""The audit of a fitted estimator; unlike that of a box, it needs scikit-learn."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.pipeline import Pipeline

from pessimal.auditing.audited import Audited, report_on
from pessimal.auditing.clock import Clock
from pessimal.auditing.report import AuditReport, GivenModel
from pessimal.auditing.tables import read_epsilons, require_non_negative, through_steps
from pessimal.auditing.training import Training, models_like, require_known
from pessimal.errors import InvalidInputError
from pessimal.fitted import fitted_best, require_fitted
from pessimal.limits import Deadline
from pessimal.near_optimal import Linear


def audit_model(
    model: Any,
    rows: tuple[ArrayLike, ArrayLike, ArrayLike, ArrayLike],
    epsilon: float | None,
    epsilons: Iterable[float] | None,
    time_limit: float | None,
    verbose: bool,
    training: Training = "own",
    given: Linear | None = None,
    given_name: str = "the given model",
    fit_seconds: float = 0.0,
) -> AuditReport:
    """Audit as `audit_estimator` does; who has fitted the model can say how long that took."""
    X_train, y_train, X_val, y_val = rows
    require_known(training)
    model = fitted_best(model)
    if isinstance(model, Pipeline):
        require_fitted(model[-1])
        X_train, X_val = through_steps(model, X_train), through_steps(model, X_val)
        model = model[-1]
    if epsilon is not None:
        require_non_negative("epsilon", epsilon)
    with Clock(time_limit, verbose) as clock:
        clock.begin("training")
        rows = X_train, y_train, X_val, y_val
        audited = models_like(model, rows, epsilon, training, clock.after(0.5), fit_seconds)
        clock.trained()
        used = audited.members.budget.epsilon
        grid = read_epsilons(audited.epsilons if epsilons is None else epsilons, used)
        report = report_on(audited, grid, clock)
    weight = getattr(model, "class_weight", None)
    report = replace(report, balanced=report.box is None and str(weight) == "balanced")
    if given is None:
        return report
    return replace(report, given=_judged(given, given_name, audited, clock.after(1.0)))


def _judged(model: Linear, name: str, audited: Audited, deadline: Deadline) -> GivenModel:
    """Judge a model that was brought along by what the audited ones are judged by."""
    members = audited.members
    if not members.proves:
        raise InvalidInputError(
            f"model is a {audited.name.split()[-1]}, whose training no given linear model can be "
            "measured by; pass a linear one, such as LogisticRegression"
        )
    if len(model.coef) != len(audited.names.feature_names):
        raise InvalidInputError(
            f"given has {len(model.coef)} coefficients; pass {len(audited.names.feature_names)}, "
            "one per feature"
        )
    judged = audited.extremes([members.budget.epsilon], deadline).judge(model)
    return GivenModel(
        name,
        members.contains(model),
        members.train_loss(model),
        judged.loss,
        judged.error if audited.names.classes else np.nan,
        1.0 - judged.error_in_class[1],
        1.0 - judged.error_in_class[0],
    )
