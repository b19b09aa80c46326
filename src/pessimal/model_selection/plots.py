"""Pictures of a search: its candidates, one hyperparameter, and rows on which models disagree.

What was found is drawn as lines and points, what is not ruled out as shades of vermilion.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import ArrayLike
from sklearn.base import is_classifier
from sklearn.utils.validation import check_is_fitted

from pessimal.errors import InvalidInputError
from pessimal.limits import TimeLimit
from pessimal.model_selection.search import LOSS_OF, PessimisticSearchCV
from pessimal.near_optimal.kinds import near_optimal_set
from pessimal.problem import Vector
from pessimal.tolerances import OPTIMAL_GAP

BLUE, ORANGE, VERMILION, GREY = "#0072B2", "#E69F00", "#D55E00", "#666666"

WIDE = 20.0
"""Positive values of a hyperparameter whose ratio is larger have a logarithmic axis."""


def draw(results: dict[str, Any], metric: str, chosen: int, axes: Axes | None = None) -> Axes:
    """Draw candidates with their spread over folds, the chosen one and the usual winner."""
    axes = _axes(axes)
    usual, found = results[f"mean_test_{metric}"], results["mean_worst_found"]
    axes.errorbar(
        usual,
        found,
        xerr=results[f"std_test_{metric}"],
        yerr=results["std_worst_found"],
        fmt="o",
        color=GREY,
        elinewidth=0.8,
        label="candidates (mean ± deviation over folds)",
    )
    bound = results["mean_worst_bound"]
    bounded = np.isfinite(bound) & (found - bound > OPTIMAL_GAP * np.maximum(1.0, np.abs(found)))
    _not_ruled_out(axes, usual[bounded], bound[bounded], found[bounded], alpha=0.4)
    winner = int(np.nanargmax(usual))
    _mark(axes, usual, found, winner, chosen)
    axes.set_xlabel(f"test score ({metric})" if metric != "score" else "test score")
    axes.set_ylabel("score of the worst equally good model")
    axes.legend(framealpha=0.8, edgecolor="none", fontsize="small")
    return axes


def plot_curve(search: PessimisticSearchCV, parameter: str, ax: Axes | None = None) -> Axes:
    """Draw worst scores along one hyperparameter, the others being as chosen.

    Parameters
    ----------
    search : PessimisticSearchCV
        Fitted.
    parameter : str
        A hyperparameter of its candidates.
    ax : Axes, optional
        Where to draw; by default on a figure of its own.

    Returns
    -------
    Axes
        With the worst scores found (mean and deviation over folds), shaded down to what is proved,
        and the test scores, where these are in the same units. Of values that were dropped there
        are test scores alone.

    Examples
    --------
    >>> from sklearn.linear_model import Ridge
    >>> from pessimal import PessimisticSearchCV
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], [0.0, 1.0, 1.0, 3.0]
    >>> search = PessimisticSearchCV(Ridge(), {"alpha": [0.1, 1.0, 10.0]}, cv=2).fit(X, y)
    >>> plot_curve(search, "alpha").get_xscale()
    'log'
    """
    check_is_fitted(search)
    results, others = search.cv_results_, dict(search.best_params_)
    if parameter not in others:
        raise InvalidInputError(
            f"parameter is {parameter!r}, which the search did not vary; pass one of "
            f"{sorted(others)}"
        )
    chosen = others.pop(parameter)
    along = [
        k
        for k, candidate in enumerate(results["params"])
        if {**candidate, parameter: None} == {**others, parameter: None}
    ]
    values = [results["params"][k][parameter] for k in along]
    axes = _axes(ax)
    x = _places(axes, values)
    order = np.argsort(x, kind="stable")
    x, along = x[order], [along[k] for k in order]
    found, bound = results["mean_worst_found"][along], results["mean_worst_bound"][along]
    found = np.where(results["worst_dropped"][along], np.nan, found)
    metric = search.refit if search.multimetric_ else "score"
    usual = results[f"mean_test_{metric}"][along]
    name = "score of the worst equally good model"
    if _same_units(search):
        axes.plot(x, usual, "o--", color=GREY, label="test score")
        name = "score"
    axes.errorbar(
        x,
        found,
        yerr=results["std_worst_found"][along],
        fmt="o-",
        color=BLUE,
        elinewidth=0.8,
        label="worst score found (mean ± deviation over folds)",
    )
    if np.isfinite(bound).any():
        known = np.isfinite(bound)
        axes.fill_between(
            x, bound, found, where=known, color=VERMILION, alpha=0.3, label="not ruled out"
        )
    values = [results["params"][k][parameter] for k in along]
    _mark(axes, x, found, int(np.nanargmax(usual)), values.index(chosen))
    axes.set_xlabel(parameter)
    axes.set_ylabel(name)
    axes.legend(framealpha=0.8, edgecolor="none", fontsize="small")
    return axes


def plot_disagreement(
    estimator: Any,
    X_train: ArrayLike,
    y_train: ArrayLike,
    X: ArrayLike,
    *,
    epsilon: float = 0.05,
    delta: float = 0.0,
    ax: Axes | None = None,
    time_limit: TimeLimit = None,
) -> Axes:
    """Draw, row by row, how far models differ that train about as well as an estimator.

    Parameters
    ----------
    estimator : classifier of two classes, or regressor
        Fitted or not; of a search its `best_estimator_`.
    X_train, y_train : array-like
        What it is trained on.
    X : array-like
        The rows to draw.
    epsilon, delta : float, default=0.05, 0.0
        How much worse than the best a model may train: relative and absolute.
    ax : Axes, optional
        Where to draw; by default on a figure of its own.
    time_limit : float, optional
        Seconds for the bounds.

    Returns
    -------
    Axes
        With the rows in the order of their score, from the least to the largest score that models
        were found to give, and as far as no model is ruled out. A row to which models found give
        different classes is orange.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1]
    >>> plot_disagreement(LogisticRegression(), X, y, X).get_ylabel()
    'score'
    """
    members = near_optimal_set(estimator, X_train, y_train, epsilon=epsilon, delta=delta)
    reached = members.score_range(X, time_limit=time_limit)
    models = [members.trained.model, *reached.models]
    scores = np.array([_scores(model, X) for model in models])
    order = np.argsort(scores[0], kind="stable")
    scores, low, high = scores[:, order], reached.low[order], reached.high[order]
    least, most = scores.min(axis=0), scores.max(axis=0)
    axes, place = _axes(ax), np.arange(len(order))
    bounded = np.isfinite(low) & np.isfinite(high)
    _not_ruled_out(axes, place[bounded], low[bounded], high[bounded], alpha=0.3)
    differ = np.zeros(len(place), np.bool_)
    if is_classifier(estimator):
        edge = 0.5 if hasattr(models[0], "predict_proba") else 0.0
        differ = (least < edge) & (edge < most)
        axes.axhline(edge, color=GREY, linewidth=0.8)
    for rows, color, label in ((~differ, GREY, "found"), (differ, ORANGE, "found to disagree")):
        if rows.any():
            axes.vlines(place[rows], least[rows], most[rows], color=color, label=label)
    axes.plot(place, scores[0], ".", color=BLUE, markersize=4, label="trained model")
    axes.set_xlabel("rows, in the order of their score")
    axes.set_ylabel("probability" if hasattr(models[0], "predict_proba") else "score")
    axes.legend(loc="upper left", framealpha=0.8, edgecolor="none", fontsize="small")
    return axes


def _axes(given: Axes | None) -> Axes:
    return given or Figure(figsize=(6.4, 4.8), layout="constrained").subplots()


def _not_ruled_out(axes: Axes, x: Any, low: Any, high: Any, alpha: float) -> None:
    if len(x):
        color, label = VERMILION, "not ruled out"
        axes.vlines(x, low, high, color=color, linewidth=3.0, alpha=alpha, label=label)


def _mark(axes: Axes, x: Any, y: Any, winner: int, chosen: int) -> None:
    """Mark the usual winner and the chosen candidate."""
    for place, marker, color, size, name in (
        (winner, "s", ORANGE, 11, "usual winner"),
        (chosen, "*", BLUE, 13, "chosen"),
    ):
        at = x[place], y[place]
        axes.plot(*at, marker, color=color, markersize=size, label=name, zorder=3, linestyle="")


def _places(axes: Axes, values: list[Any]) -> Vector:
    """Return where values of a hyperparameter stand: at their number, or side by side."""
    numbers = [isinstance(value, int | float | np.number) for value in values]
    if not all(numbers) or any(isinstance(value, bool) for value in values):
        places = np.arange(len(values), dtype=np.float64)
        axes.set_xticks(places, [str(value) for value in values])
        return places
    places = np.array(values, np.float64)
    if places.min() > 0.0 and places.max() > WIDE * places.min():
        axes.set_xscale("log")
        axes.set_xticks(places, [f"{place:g}" for place in places])
        axes.minorticks_off()
    return places


def _same_units(search: PessimisticSearchCV) -> bool:
    """Whether test scores and worst scores are of the same loss."""
    loss = search._loss()
    metric = search.scoring
    if isinstance(search.refit, str):
        metric = metric[search.refit] if isinstance(metric, dict) else search.refit
    return loss is not None and isinstance(metric, str) and LOSS_OF.get(metric) == loss


def _scores(model: Any, X: Any) -> Vector:
    """Return what a member says of each row: its probability, its score or its prediction."""
    for name in ("predict_proba", "decision_function", "predict"):
        if hasattr(model, name):
            scores = np.asarray(getattr(model, name)(X), np.float64)
            break
    if scores.ndim == 1:
        return scores
    if scores.shape[1] > 2:
        raise InvalidInputError(
            f"the estimator tells {scores.shape[1]} classes apart; pass one of two classes, or a "
            "regressor"
        )
    return scores[:, -1]
