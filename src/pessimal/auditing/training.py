"""Which models a fitted estimator is audited with: those that train about as well as it can.

How well a model trains is measured by the estimator's own objective where that is known: all such
models are audited, and bounded. A linear classifier of two classes whose objective is not known is
audited by the hinge loss in a box around it, which can be asked for by name, too. All other
estimators are trained again and again: their models are found one by one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Literal, TypeAlias, TypeVar, get_args

import numpy as np
from scipy.sparse import issparse
from sklearn.base import clone, is_classifier

from pessimal.auditing.audited import EPSILONS, Audited, name_of
from pessimal.auditing.extremes import Extremes
from pessimal.auditing.refits import RefitExtremes
from pessimal.auditing.tables import Names, Study, read_rows, read_study
from pessimal.auditing.text import NEGLIGIBLE
from pessimal.errors import InvalidInputError, SolverError
from pessimal.fitted import LinearModel, read_linear_model, require_fitted
from pessimal.limits import Deadline
from pessimal.near_optimal import BoxSet, Linear, NearOptimalSet
from pessimal.near_optimal.retrained.retrained_set import RetrainedSet
from pessimal.near_optimal.smooth.smooth_set import SmoothSet
from pessimal.problem import Budget, Vector

TWO = 2

SetT = TypeVar("SetT", bound=NearOptimalSet)

Training: TypeAlias = Literal["own", "hinge box"]
"""What models are trained to minimise."""

OWN_EPSILON = 0.05
"""For an objective that one model alone minimises, so that others count, too."""

OWN_EPSILONS = (0.0, 0.01, 0.02, 0.05, 0.1)
"""Of the curves, for such an objective."""


def require_known(training: Training) -> None:
    """Refuse a name of a training problem that there is not."""
    if training not in get_args(Training):
        names = " or ".join(map(repr, get_args(Training)))
        raise InvalidInputError(f"training is {training!r}; pass {names}")


def models_like(
    estimator: Any,
    rows: tuple[Any, Any, Any, Any],
    epsilon: float | None,
    training: Training,
    deadline: Deadline,
    fit_seconds: float = 0.0,
) -> Audited:
    """Return the models that train about as well as a fitted estimator.

    The rows are X_train, y_train, X_val, y_val. Where models are refits, one that would take
    longer than is left, if it is known how long the first fit took, is not begun.
    """
    if training == "hinge box" or _is_linear_classifier(estimator):
        return _linear(estimator, rows, epsilon, training, deadline)
    name = require_fitted(estimator)
    if not RetrainedSet.accepts(estimator):
        raise InvalidInputError(
            f"model is a {name}; pass a fitted classifier or regressor, or a pipeline that ends in "
            "one"
        )
    classes = tuple(np.asarray(estimator.classes_).tolist()) if is_classifier(estimator) else ()
    names, y_train, y_val = read_rows(*rows, classes)
    if not classes:
        y_train, y_val = (_numbers(*named) for named in (("y_train", y_train), ("y_val", y_val)))
        names = replace(names, labels=y_val)
    budget = Budget(OWN_EPSILON if epsilon is None else epsilon)
    named = hasattr(estimator, "feature_names_in_")
    X_train, X_val = (X if named or issparse(X) else np.asarray(X) for X in rows[::2])
    data = X_train, y_train, X_val, y_val
    why: tuple[str, ...] = ()
    if not classes and SmoothSet.accepts(estimator):
        try:
            return _linear_regression(estimator, data, names, budget)
        except (InvalidInputError, SolverError) as refusal:
            why = (f"Models of {name} are found, none is proved to be the worst: {refusal}.",)
    refits = _refits(estimator, data, names, budget, deadline, fit_seconds)
    return replace(refits, notes=(*why, *refits.notes))


def _is_linear_classifier(estimator: Any) -> bool:
    if not all(hasattr(estimator, part) for part in ("coef_", "intercept_", "classes_")):
        return False
    return len(np.atleast_2d(estimator.coef_)) == 1 and len(estimator.classes_) == TWO


def _linear(
    estimator: Any,
    rows: tuple[Any, Any, Any, Any],
    epsilon: float | None,
    training: Training,
    deadline: Deadline,
) -> Audited:
    """Return linear classifiers: by the estimator's own objective, or in a hinge box."""
    model = read_linear_model(estimator)
    study = read_study(*rows, model.classes)
    if training == "hinge box":
        return _hinge_box(model, study, epsilon, deadline)
    n_features = study.problem.n_features
    if len(model.coef) != n_features:
        raise InvalidInputError(
            f"model is a {model.name} with {len(model.coef)} coefficient(s), but X_train has "
            f"{n_features} column(s); pass the data it was fitted to"
        )
    try:
        return _own_problem(estimator, model, study, epsilon)
    except (InvalidInputError, SolverError) as refusal:
        note = (
            f"Models are measured by the hinge loss in a box, not by what {model.name} itself "
            f"minimises, because that cannot be audited: {refusal}."
        )
        boxed = _hinge_box(model, study, epsilon, deadline)
        return replace(boxed, notes=(note, *boxed.notes))


def _own_problem(
    estimator: Any, model: LinearModel, study: Study, epsilon: float | None
) -> Audited:
    """Return the models within ε of the least that the estimator's own objective can be."""
    budget = Budget(OWN_EPSILON if epsilon is None else epsilon)
    problem = study.problem
    estimator = _with_signs(estimator, model)
    members = SmoothSet.of(estimator, problem.X_train, problem.y_train, budget)
    members = _with_reference(members, model)
    loss = name_of(members.loss)
    weighted = getattr(estimator, "class_weight", None) is not None
    note = (
        f"Models train as the audited {model.name} does: its training objective is the mean {loss} "
        f"loss on the training points{', weighted by class,' if weighted else ''} plus its "
        f"penalty. On validation data the {loss} loss is without penalty, and every point counts "
        "once."
    )
    targets = problem.y_train, problem.y_val
    return _audited(study, members, problem.X_val, targets, model, model.name, note)


def _linear_regression(
    estimator: Any, data: tuple[Any, Any, Any, Any], names: Names, budget: Budget
) -> Audited:
    """Return the linear regressions within ε of the least objective."""
    X_train, y_train, X_val, y_val = data
    name = type(estimator).__name__
    model = Linear(np.ravel(estimator.coef_), float(np.ravel(estimator.intercept_)[0]))
    members = _with_reference(SmoothSet.of(estimator, X_train, y_train, budget), model)
    note = (
        f"Models train as the audited {name} does: its training objective is the mean squared "
        "error on the training points plus its penalty, if it has one. On validation data the "
        "squared error is without penalty."
    )
    rows, targets = np.asarray(X_val, np.float64), (y_train, y_val)
    return _audited(names, members, rows, targets, model, name, note)


def _refits(
    estimator: Any,
    data: tuple[Any, Any, Any, Any],
    names: Names,
    budget: Budget,
    deadline: Deadline,
    fit_seconds: float,
) -> Audited:
    """Return what refits can find within ε of the least training loss seen."""
    X_train, y_train, X_val, y_val = data
    name = type(estimator).__name__
    members = RetrainedSet(
        estimator,
        X_train,
        y_train,
        budget,
        deadline=deadline,
        fitted=estimator,
        fit_seconds=fit_seconds,
    )
    members = _with_reference(members, estimator)
    note = (
        f"Models are found by training {name} again: on rows weighted otherwise, with validation "
        "points added, rightly or wrongly labelled, from other seeds. One counts when its mean "
        f"{name_of(members.loss)} loss on the training points is within the budget. All numbers "
        "are of models that were found; of others nothing is proved."
    )
    return _audited(names, members, X_val, (y_train, y_val), estimator, name, note)


def _audited(
    names: Names,
    members: NearOptimalSet,
    X_val: Any,
    targets: tuple[Any, Any],
    reference: Any,
    name: str,
    note: str,
) -> Audited:
    least, delta = members.trained.value, members.budget.delta
    measure = "objective" if members.proves else "loss seen"
    why = "" if members.proves else "another seed did better, "
    missed = (
        f"The audited {name} misses the least training {measure} by {delta:.4g} "
        f"({delta / least if least else np.inf:.2%}): {why}it stopped early, took a column in "
        "far smaller units for rounding, or was fitted to other data or weights than these. That "
        "is delta, so that it is one of the models audited."
    )
    notes = (note, missed) if delta > NEGLIGIBLE * least else (note,)
    title, (y_train, y_val) = f"the audited {name}", targets
    search = RefitExtremes if isinstance(members, RetrainedSet) else Extremes
    shown = reference, title, OWN_EPSILONS
    return Audited(names, members, X_val, y_val, *shown, y_train, notes, search)


def _with_reference(members: SetT, model: Any) -> SetT:
    """Allow as much more training loss as the reference needs to be a member."""
    missed = max(0.0, members.train_loss(model) - members.trained.value)
    return members.with_budget(replace(members.budget, delta=missed))


def _numbers(name: str, y: Any) -> Vector:
    try:
        numbers = np.asarray(y, np.float64)
    except (TypeError, ValueError):
        numbers = np.array([np.nan])
    if not np.isfinite(numbers).all():
        raise InvalidInputError(f"{name} is to be predicted by a regressor; pass finite numbers")
    return numbers


def _with_signs(estimator: Any, model: LinearModel) -> Any:
    """Return the estimator for labels −1 and +1: class weights name the classes."""
    weights = getattr(estimator, "class_weight", None)
    if not isinstance(weights, Mapping):
        return estimator
    negative, positive = (weights.get(name, 1.0) for name in model.classes)
    return clone(estimator).set_params(class_weight={-1.0: negative, 1.0: positive})


def _hinge_box(
    model: LinearModel, study: Study, epsilon: float | None, deadline: Deadline
) -> Audited:
    """Return the models no larger than a given one that train about as well by hinge loss."""
    size = np.abs(model.coef)
    if not size.any():
        raise InvalidInputError(
            f"model is a {model.name} whose coefficients are all 0; it says the same of every "
            "point, so there is nothing to audit"
        )
    study, box = study.boxed(size)
    budget = Budget(0.0 if epsilon is None else epsilon)
    members = BoxSet(study.problem, box, budget, deadline=deadline)
    members = _with_reference(members, model)
    note = (
        f"The box is |coef_| of the audited {model.name}, and delta = {members.budget.delta:.4g} "
        "is the mean hinge loss by which it misses the least training loss in that box: the "
        "models audited have coefficients no larger and train no worse than it does, and it "
        "is one of them."
    )
    X_val, y_val, title = study.problem.X_val, study.problem.y_val, f"the audited {model.name}"
    y_train = study.problem.y_train
    return Audited(study, members, X_val, y_val, model, title, EPSILONS, y_train, (note,))
