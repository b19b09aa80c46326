"""The two doors of the audit: data with a box, and a fitted classifier.

All models that train about as well as the best are audited together: the near-optimal set
``Ψ = {(coef, intercept): |coef_j| ≤ box_j, L_T ≤ (1 + ε)·L_T* + δ}``, with ``L_T`` the mean hinge
loss on the training data and ``L_T*`` its least value in the box.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.pipeline import Pipeline

from pessimal.auditing.extremes import (
    Clock,
    best_error,
    discrepancy,
    error,
    growing_ends,
    score_ranges,
)
from pessimal.auditing.report import AuditReport, Curve, ReferenceModel
from pessimal.auditing.tables import Study, read_study, through_steps
from pessimal.errors import InvalidInputError
from pessimal.fitted import LinearModel, read_linear_model
from pessimal.labels import two_classes
from pessimal.problem import Budget
from pessimal.tolerances import OPTIMAL_GAP
from pessimal.training import least_loss

EPSILONS = (0.0, 0.05, 0.1, 0.2, 0.4)


def audit(
    X_train: ArrayLike,
    y_train: ArrayLike,
    X_val: ArrayLike,
    y_val: ArrayLike,
    box: ArrayLike = 1.0,
    epsilon: float = 0.0,
    delta: float = 0.0,
    epsilons: Iterable[float] | None = None,
    time_limit: float | None = None,
) -> AuditReport:
    """Best and worst on validation data of all linear models that train about as well as the best.

    Nothing is scaled: `box` limits the coefficients of the features as they are. Standardise
    features first, or a limit of 1 means something else for every feature.

    Parameters
    ----------
    X_train, X_val : array-like of shape (n_train, p), (n_val, p)
        Features; the index and the columns of pandas tables are kept for the report.
    y_train, y_val : array-like of shape (n_train,), (n_val,)
        Labels of any two classes; the class that sorts last has the positive scores. The training
        data must hold both.
    box : float or array-like of shape (p,), default=1.0
        Largest size of each coefficient.
    epsilon, delta : float, default=0.0
        A model counts when its mean hinge loss on the training data is at most
        ``(1 + epsilon)·least + delta``.
    epsilons : iterable of float, optional
        Where to compute the curves against ε; by default 0, 0.05, 0.1, 0.2 and 0.4. `epsilon`
        itself is added.
    time_limit : float, optional
        Seconds for the whole audit; what time cuts short keeps valid bounds.

    Returns
    -------
    AuditReport

    Examples
    --------
    >>> report = audit([[-1.0], [1.0]], ["no", "yes"], [[0.5], [-2.0]], ["yes", "no"], delta=0.5)
    >>> print(report.guarantee)
    No model that trains this well does worse than a mean hinge loss of 0.7500 and 1 of 2 points \
wrong on your validation data.
    """
    study = read_study(X_train, y_train, X_val, y_val, box, two_classes("y_train", y_train))
    budget = _budget(epsilon, delta)
    trained = least_loss(study.problem, study.box)
    reference = LinearModel(trained.w, -trained.b, study.classes, "a training optimum")
    return _report(study, budget, reference, trained.value, epsilons, time_limit, ())


def audit_estimator(
    model: Any,
    X_train: ArrayLike,
    y_train: ArrayLike,
    X_val: ArrayLike,
    y_val: ArrayLike,
    epsilon: float = 0.0,
    epsilons: Iterable[float] | None = None,
    time_limit: float | None = None,
) -> AuditReport:
    """Audit a fitted linear classifier, together with all models no larger that train no worse.

    The box is ``|coef_|`` of the model, feature by feature, and δ the hinge loss by which it
    misses the least training loss in that box. So the model is one of those audited: everything
    the report says is said of models its training data cannot tell from it by hinge loss.

    Parameters
    ----------
    model : estimator
        Fitted LogisticRegression, LinearSVC, SGDClassifier or another linear classifier of two
        classes; or a Pipeline that ends in one, whose earlier steps are applied to the data. Box
        and scores are then in the units of the last step.
    X_train, y_train, X_val, y_val, epsilon, epsilons, time_limit
        As in `audit`; the classes are those of the model.

    Returns
    -------
    AuditReport
        Its reference is the audited model.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> X, y = [[-2.0], [-1.0], [1.0], [2.0]], ["no", "no", "yes", "yes"]
    >>> report = audit_estimator(LogisticRegression().fit(X, y), X, y, [[0.5]], ["yes"])
    >>> report.best_loss.value <= report.reference.loss <= report.worst_loss.value
    True
    """
    if isinstance(model, Pipeline):
        linear = read_linear_model(model[-1])
        X_train, X_val = through_steps(model, X_train), through_steps(model, X_val)
    else:
        linear = read_linear_model(model)
    size = np.abs(linear.coef)
    if not size.any():
        raise InvalidInputError(
            f"model is a {linear.name} whose coefficients are all 0; it says the same of every "
            "point, so there is nothing to audit"
        )
    study = read_study(X_train, y_train, X_val, y_val, size, linear.classes)
    least = least_loss(study.problem, study.box).value
    missed = study.problem.train_loss(linear.coef, -linear.intercept) - least
    budget = _budget(epsilon, max(0.0, missed))
    note = (
        f"The box is |coef_| of the audited {linear.name}, and delta = {budget.absolute:.4g} is "
        "the mean hinge loss by which it misses the least training loss in that box: the models "
        "audited have coefficients no larger and train no worse than it does, and it is one of "
        "them."
    )
    named = replace(linear, name=f"the audited {linear.name}")
    return _report(study, budget, named, least, epsilons, time_limit, (note,))


def _report(
    study: Study,
    budget: Budget,
    model: LinearModel,
    least: float,
    epsilons: Iterable[float] | None,
    time_limit: float | None,
    notes: tuple[str, ...],
) -> AuditReport:
    problem, box = study.problem, study.box
    grid = _grid(epsilons, budget.relative)
    branching = 2 * len(grid) + 2
    clock = Clock(time_limit, programs=2 * branching)
    # Half of the time if need be: what the report says of single points hangs on them.
    scores = score_ranges(problem, box, budget, clock.share(branching))
    ends = growing_ends(problem, box, budget, grid, scores, clock)
    here = ends[grid.index(budget.relative)]
    if not scores.found.all():
        notes += (
            f"Time ran out before the score ranges of the last {np.sum(~scores.found)} validation "
            "rows were found. Theirs are wider than they need be, so some of these rows may be "
            "called ambiguous without being so.",
        )
    if least <= OPTIMAL_GAP and any(grid):
        notes += (
            "The training data can be fitted without loss in this box, so a relative budget "
            "(epsilon) changes nothing; allow an absolute one (delta).",
        )
    return AuditReport(
        best_loss=here.best_loss,
        worst_loss=here.worst_loss,
        best_error=best_error(problem, box, budget, here, scores, clock),
        worst_error=here.worst_error,
        discrepancy=discrepancy(problem, box, budget, model, scores, clock),
        score_low=scores.low,
        score_high=scores.high,
        curve=Curve(
            epsilons=np.array(grid),
            best_loss=np.array([end.best_loss.value for end in ends]),
            worst_loss=np.array([end.worst_loss.value for end in ends]),
            worst_loss_bound=np.array([end.worst_loss.bound for end in ends]),
            worst_error=np.array([end.worst_error.value for end in ends]),
            worst_error_bound=np.array([end.worst_error.bound for end in ends]),
        ),
        reference=ReferenceModel(
            name=model.name,
            coef=model.coef,
            intercept=model.intercept,
            train_loss=problem.train_loss(model.coef, -model.intercept),
            loss=problem.val_loss(model.coef, -model.intercept),
            error=error(problem, model.coef, model.intercept),
            scores=problem.X_val @ model.coef + model.intercept,
        ),
        least_train_loss=least,
        train_limit=budget.limit(least),
        budget=budget,
        box=box,
        n_train=problem.n_train,
        classes=study.classes,
        labels=study.labels,
        feature_names=study.feature_names,
        index=study.index,
        notes=notes,
    )


def _budget(epsilon: float, delta: float) -> Budget:
    """Build the budget under the names the user knows."""
    for name, value in (("epsilon", epsilon), ("delta", delta)):
        _require_non_negative(name, value)
    return Budget(relative=epsilon, absolute=delta)


def _grid(epsilons: Iterable[float] | None, epsilon: float) -> list[float]:
    try:
        given = EPSILONS if epsilons is None else tuple(epsilons)
    except TypeError:
        raise InvalidInputError(f"epsilons is {epsilons!r}; pass a list of numbers") from None
    for value in given:
        _require_non_negative("an entry of epsilons", value)
    return sorted({float(value) for value in given} | {epsilon})


def _require_non_negative(name: str, value: float) -> None:
    try:
        usable = 0.0 <= float(value) < np.inf
    except (TypeError, ValueError):
        usable = False
    if not usable:
        raise InvalidInputError(f"{name} is {value!r}; pass a finite number that is not negative")
