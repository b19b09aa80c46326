"""The two entry points of the audit: data with a box, and a fitted estimator.

All models that train about as well as the best are audited together: the near-optimal set
``Ψ = {(coef, intercept): L_T ≤ (1 + ε)·L_T* + δ}``, with ``L_T`` what training minimises and
``L_T*`` its least value. Of a box, that is the mean hinge loss of models with ``|coef_j| ≤ box_j``;
of an estimator whose training problem is known, its own objective. Of any other estimator those
models are audited that training it again finds.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.pipeline import Pipeline

from pessimal.auditing.clock import Clock
from pessimal.auditing.constant import constant_model
from pessimal.auditing.extremes import End, Extremes
from pessimal.auditing.refinement import refine
from pessimal.auditing.report import AuditReport, Curve, GivenModel, ReferenceModel
from pessimal.auditing.tables import read_study, through_steps
from pessimal.auditing.training import (
    EPSILONS,
    Audited,
    Training,
    models_like,
    name_of,
    require_known,
)
from pessimal.errors import InvalidInputError
from pessimal.fitted import fitted_best, require_fitted
from pessimal.interrupts import noted_interrupts
from pessimal.labels import two_classes
from pessimal.near_optimal import BoxSet, Extreme, Linear
from pessimal.problem import Budget
from pessimal.tolerances import OPTIMAL_GAP, STRICT

TIME_LIMIT = 60.0
"""Seconds for an audit unless told otherwise."""


def audit(
    X_train: ArrayLike,
    y_train: ArrayLike,
    X_val: ArrayLike,
    y_val: ArrayLike,
    box: ArrayLike = 1.0,
    epsilon: float = 0.0,
    delta: float = 0.0,
    epsilons: Iterable[float] | None = None,
    time_limit: float | None = TIME_LIMIT,
    verbose: bool = False,
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
    time_limit : float or None, default=60.0
        Seconds for the whole audit, None for no limit. What time or Ctrl-C cuts short keeps valid
        bounds, and the report says so.
    verbose : bool, default=False
        Whether to write to standard error, once a second, what the audit is at.

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
    classes = two_classes("y_train", y_train)
    study, limits = read_study(X_train, y_train, X_val, y_val, classes).boxed(box)
    budget = _budget(epsilon, delta)
    grid = _grid(EPSILONS if epsilons is None else epsilons, budget.epsilon)
    with Clock(time_limit, verbose) as clock:
        clock.begin("training")
        members = BoxSet(study.problem, limits, budget, deadline=clock.after(0.5))
        clock.trained()
        problem, model = study.problem, members.trained.model
        val, name = (problem.X_val, problem.y_val), "a training optimum"
        audited = Audited(study, members, *val, model, name, EPSILONS, problem.y_train)
        return _report(audited, grid, clock)


def audit_estimator(
    model: Any,
    X_train: ArrayLike,
    y_train: ArrayLike,
    X_val: ArrayLike,
    y_val: ArrayLike,
    epsilon: float | None = None,
    epsilons: Iterable[float] | None = None,
    time_limit: float | None = TIME_LIMIT,
    verbose: bool = False,
    training: Training = "own",
    given: Linear | None = None,
    given_name: str = "the given model",
) -> AuditReport:
    """Audit a fitted classifier or regressor, together with models that train about as well.

    How well a model trains is measured by what the estimator itself minimises, penalty and class
    weights included: log loss for LogisticRegression, squared hinge loss for LinearSVC, squared
    loss for RidgeClassifier, Ridge, Lasso, ElasticNet and LinearRegression. All models that train
    about as well are audited, and what none of them passes is *proved*. On the validation data
    they are judged by the same loss, without penalty and weights, and by errors.

    Any other estimator, a forest, boosting, nearest neighbours, or more than two classes, is
    trained again and again, and the refits are audited that train about as well, by log loss where
    there are probabilities. What they do is *found*: there may be worse ones, and no bound is
    given.

    Parameters
    ----------
    model : estimator
        A fitted classifier or regressor; or a Pipeline that ends in one, whose earlier steps are
        applied to the data and stay as they are. Coefficients and scores are then in the units of
        the last step. Of a fitted search such as GridSearchCV the ``best_estimator_`` is audited.
    X_train, y_train, X_val, y_val
        As in `audit`, the training data being those the model was fitted to; the classes are those
        of the model.
    epsilon : float, optional
        A model counts when what training minimises is at most ``(1 + epsilon)·least + delta``, with
        delta what the audited model misses of the least, so that it counts itself. By default 0.05,
        within 5 % of the least, since one model alone has the least; and 0 for a hinge box. Of
        refits the least is the least that was seen.
    epsilons : iterable of float, optional
        Where to compute the curves against ε; by default 0, 0.01, 0.02, 0.05 and 0.1, and in a
        hinge box as in `audit`. `epsilon` itself is added.
    time_limit, verbose
        As in `audit`.
    training : {"own", "hinge box"}, default="own"
        What a model is trained to minimise: "own" is the objective of the audited model. "hinge
        box" is the mean hinge loss of models whose coefficients are no larger than ``|coef_|`` of
        the audited one, feature by feature. It is taken, too, for a linear classifier of two
        classes whose own training is not one of those known, such as that of SGDClassifier; the
        notes of the report then say why.
    given, given_name : Linear, optional, and str
        Another linear model, of the features of the last step, to be judged beside: whether it
        trains as well, and what it attains. `model` must be linear then.

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
    >>> report.loss, report.budget.epsilon, report.proves
    ('log', 0.05, True)
    """
    rows = X_train, y_train, X_val, y_val
    return audit_model(
        model, rows, epsilon, epsilons, time_limit, verbose, training, given, given_name
    )


def audit_model(
    model: Any,
    rows: tuple[ArrayLike, ArrayLike, ArrayLike, ArrayLike],
    epsilon: float | None = None,
    epsilons: Iterable[float] | None = None,
    time_limit: float | None = TIME_LIMIT,
    verbose: bool = False,
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
        _require_non_negative("epsilon", epsilon)
    with Clock(time_limit, verbose) as clock:
        clock.begin("training")
        rows = X_train, y_train, X_val, y_val
        audited = models_like(model, rows, epsilon, training, clock.after(0.5), fit_seconds)
        clock.trained()
        used = audited.members.budget.epsilon
        grid = _grid(audited.epsilons if epsilons is None else epsilons, used)
        report = _report(audited, grid, clock)
    if given is None:
        return report
    return replace(report, given=_judged(given, given_name, audited))


def _judged(model: Linear, name: str, audited: Audited) -> GivenModel:
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
    judged = audited.extremes([members.budget.epsilon]).judge(model)
    return GivenModel(
        name,
        members.contains(model),
        members.train_loss(model),
        judged.loss,
        judged.error if audited.names.classes else np.nan,
        1.0 - judged.error_in_class[1],
        1.0 - judged.error_in_class[0],
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


def _report(audited: Audited, grid: list[float], clock: Clock) -> AuditReport:
    names, members, model = audited.names, audited.members, audited.reference
    with noted_interrupts() as interrupts:
        known = audited.extremes(grid)
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


def _budget(epsilon: float, delta: float) -> Budget:
    """Build the budget under the names the user knows."""
    for name, value in (("epsilon", epsilon), ("delta", delta)):
        _require_non_negative(name, value)
    return Budget(epsilon=epsilon, delta=delta)


def _grid(epsilons: Iterable[float], epsilon: float) -> list[float]:
    try:
        given = tuple(epsilons)
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
