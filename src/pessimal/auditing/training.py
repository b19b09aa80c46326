"""Which models a fitted classifier is audited with: those that train about as well as it can.

How well a model trains is measured by the classifier's own objective where that is known, else, or
if asked for by name, by the hinge loss in a box around the classifier.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias, get_args

import numpy as np
from sklearn.base import clone

from pessimal.auditing.tables import Study
from pessimal.auditing.text import NEGLIGIBLE
from pessimal.errors import InvalidInputError, SolverError
from pessimal.fitted import LinearModel
from pessimal.limits import Deadline
from pessimal.losses import Loss
from pessimal.near_optimal import BoxSet, NearOptimalSet
from pessimal.near_optimal.smooth.smooth_set import SmoothSet
from pessimal.problem import Budget

Training: TypeAlias = Literal["own", "hinge box"]
"""What models are trained to minimise."""

EPSILONS = (0.0, 0.05, 0.1, 0.2, 0.4)
"""Of the curves, in a box."""

OWN_EPSILON = 0.05
"""For an objective that one model alone minimises, so that others count, too."""

OWN_EPSILONS = (0.0, 0.01, 0.02, 0.05, 0.1)
"""Of the curves, for such an objective."""


@dataclass(frozen=True, eq=False)
class Audited:
    """The models to audit, one of which is the classifier.

    Attributes
    ----------
    study : Study
    members : NearOptimalSet
    epsilons : tuple of float
        Where curves are of interest.
    notes : tuple of str
        What a reader must know of the models.
    """

    study: Study
    members: NearOptimalSet
    epsilons: tuple[float, ...]
    notes: tuple[str, ...]


def require_known(training: Training) -> None:
    """Refuse a name of a training problem that there is not."""
    if training not in get_args(Training):
        names = " or ".join(map(repr, get_args(Training)))
        raise InvalidInputError(f"training is {training!r}; pass {names}")


def name_of(loss: Loss) -> str:
    """Return what a loss is called in a sentence."""
    return loss.name.replace("_", " ")


def models_like(
    estimator: Any,
    model: LinearModel,
    study: Study,
    epsilon: float | None,
    training: Training,
    deadline: Deadline,
) -> Audited:
    """Return the models that train about as well as a fitted estimator, which is `model`."""
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
    least = members.trained.value
    budget = replace(budget, delta=max(0.0, members.train_loss(model) - least))
    loss = name_of(members.loss)
    weighted = getattr(estimator, "class_weight", None) is not None
    notes = [
        f"Models train as the audited {model.name} does: its training objective is the mean {loss} "
        f"loss on the training points{', weighted by class,' if weighted else ''} plus its "
        f"penalty. On validation data the {loss} loss is without penalty, and every point counts "
        "once."
    ]
    if budget.delta > NEGLIGIBLE * least:
        notes.append(
            f"The audited {model.name} misses the least training objective by "
            f"{budget.delta:.4g} ({budget.delta / least:.2%}): it stopped early, or was "
            "fitted to other data or weights than these. That is delta, so that it is one of the "
            "models audited."
        )
    return Audited(study, members.with_budget(budget), OWN_EPSILONS, tuple(notes))


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
    missed = members.train_loss(model) - members.trained.value
    budget = replace(budget, delta=max(0.0, missed))
    note = (
        f"The box is |coef_| of the audited {model.name}, and delta = {budget.delta:.4g} "
        "is the mean hinge loss by which it misses the least training loss in that box: the "
        "models audited have coefficients no larger and train no worse than it does, and it "
        "is one of them."
    )
    return Audited(study, members.with_budget(budget), EPSILONS, (note,))
