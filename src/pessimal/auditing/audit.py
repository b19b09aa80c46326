"""The two entry points of the audit: data with a box, and a fitted estimator.

All models that train about as well as the best are audited together: the near-optimal set
``Ψ = {(coef, intercept): L_T ≤ (1 + ε)·L_T* + δ}``, with ``L_T`` what training minimises and
``L_T*`` its least value. Of a box, that is the mean hinge loss of models with ``|coef_j| ≤ box_j``;
of an estimator whose training problem is known, its own objective. Of any other estimator those
models are audited that training it again finds.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from numpy.typing import ArrayLike

from pessimal.auditing.audited import EPSILONS, Audited, report_on
from pessimal.auditing.clock import Clock
from pessimal.auditing.report import AuditReport
from pessimal.auditing.tables import read_budget, read_epsilons, read_study
from pessimal.labels import two_classes
from pessimal.near_optimal import BoxSet, Linear

if TYPE_CHECKING:
    from pessimal.auditing.training import Training

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
    budget = read_budget(epsilon, delta)
    grid = read_epsilons(EPSILONS if epsilons is None else epsilons, budget.epsilon)
    with Clock(time_limit, verbose) as clock:
        clock.begin("training")
        members = BoxSet(study.problem, limits, budget, deadline=clock.after(0.5))
        clock.trained()
        problem, model = study.problem, members.trained.model
        val, name = (problem.X_val, problem.y_val), "a training optimum"
        audited = Audited(study, members, *val, model, name, EPSILONS, problem.y_train)
        return report_on(audited, grid, clock)


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
    from pessimal.auditing.fitted_model import audit_model  # noqa: PLC0415 (slow to import)

    rows = X_train, y_train, X_val, y_val
    return audit_model(
        model, rows, epsilon, epsilons, time_limit, verbose, training, given, given_name
    )
