"""Pictures of a search show its numbers: what was found, what is not ruled out, what was chosen."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection, PolyCollection
from matplotlib.colors import to_hex
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.tree import DecisionTreeClassifier

from pessimal import PessimisticSearchCV
from pessimal.errors import InvalidInputError
from pessimal.model_selection.plots import (
    BLUE,
    GREY,
    ORANGE,
    VERMILION,
    draw,
    plot_curve,
    plot_disagreement,
)

X, Y = make_classification(60, 4, flip_y=0.2, random_state=0)
C_GRID = [0.01, 1.0, 0.1, 10.0]


@pytest.fixture(scope="module")
def search() -> PessimisticSearchCV:
    search = PessimisticSearchCV(
        LogisticRegression(),
        {"C": C_GRID, "fit_intercept": [True, False]},
        epsilon=0.2,
        criterion="found",
        scoring="neg_log_loss",
        cv=3,
    )
    search.fit(X, Y)
    return search


def points(axes: Axes, label: str) -> Any:
    """Return the places of the points with a label in the legend."""
    lines: list[Any] = [line for line in axes.lines if line.get_label() == label]
    containers: Any = axes.containers
    bars = [bar.lines[0] for bar in containers if bar.get_label() == label]
    (found,) = lines or bars
    return np.column_stack(found.get_data())


def segments(axes: Axes, color: str) -> Any:
    """Return where vertical lines of a colour stand, from where to where."""
    found: list[Any] = [each for each in axes.collections if isinstance(each, LineCollection)]
    lines = [
        line
        for each in found
        if to_hex(each.get_color()[0]) == color.lower()
        for line in each.get_segments()
    ]
    return np.array([(line[0, 0], line[:, 1].min(), line[:, 1].max()) for line in lines])


def test_candidates_have_error_bars_over_folds(search: PessimisticSearchCV) -> None:
    axes = search.plot()
    results = search.cv_results_
    usual = np.array([results[f"split{k}_test_score"] for k in range(3)])
    worst = np.array([results[f"split{k}_worst_found"] for k in range(3)])
    label = "candidates (mean ± deviation over folds)"
    assert points(axes, label) == pytest.approx(np.column_stack([usual.mean(0), worst.mean(0)]))
    containers: Any = axes.containers
    (bars,) = [bar for bar in containers if bar.get_label() == label]
    across, along = (np.array(part.get_segments()) for part in bars.lines[2])
    assert np.ptp(across[:, :, 0], axis=1) == pytest.approx(2.0 * usual.std(axis=0))
    assert np.ptp(along[:, :, 1], axis=1) == pytest.approx(2.0 * worst.std(axis=0))


def test_the_chosen_candidate_and_the_usual_winner_are_marked(search: PessimisticSearchCV) -> None:
    axes = search.plot()
    usual, worst = search.cv_results_["mean_test_score"], search.cv_results_["mean_worst_found"]
    chosen, winner = worst.argmax(), usual.argmax()
    assert points(axes, "chosen") == pytest.approx(np.array([[usual[chosen], worst[chosen]]]))
    assert points(axes, "usual winner") == pytest.approx(np.array([[usual[winner], worst[winner]]]))


def test_what_is_not_ruled_out_of_a_candidate_reaches_down_to_its_bound() -> None:
    results = {
        "mean_test_score": np.array([0.8, 0.9]),
        "std_test_score": np.zeros(2),
        "mean_worst_found": np.array([0.7, 0.6]),
        "std_worst_found": np.zeros(2),
        "mean_worst_bound": np.array([0.5, -np.inf]),
    }
    axes = draw(results, "score", chosen=0)
    assert segments(axes, VERMILION) == pytest.approx(np.array([[0.8, 0.5, 0.7]]))


def test_a_curve_runs_along_one_hyperparameter_with_the_others_as_chosen(
    search: PessimisticSearchCV,
) -> None:
    axes = plot_curve(search, "C")
    results, intercept = search.cv_results_, search.best_params_["fit_intercept"]
    expected = sorted(
        (params["C"], results["mean_worst_found"][k], results["mean_test_score"][k])
        for k, params in enumerate(results["params"])
        if params["fit_intercept"] == intercept
    )
    C, found, usual = np.array(expected).T
    label = "worst score found (mean ± deviation over folds)"
    assert points(axes, label) == pytest.approx(np.column_stack([C, found]))
    assert points(axes, "test score") == pytest.approx(np.column_stack([C, usual]))
    assert points(axes, "chosen")[0, 0] == search.best_params_["C"]
    assert points(axes, "usual winner")[0, 0] == C[usual.argmax()]
    assert (axes.get_xlabel(), axes.get_xscale()) == ("C", "log")
    assert sorted(tick.get_text() for tick in axes.get_xticklabels()) == ["0.01", "0.1", "1", "10"]


def test_bounds_are_shaded_below_the_curve(search: PessimisticSearchCV) -> None:
    axes = plot_curve(search, "C")
    collections: Any = axes.collections
    shade: Any
    (shade,) = [each for each in collections if isinstance(each, PolyCollection)]
    intercept = search.best_params_["fit_intercept"]
    own = [p["fit_intercept"] == intercept for p in search.cv_results_["params"]]
    bounds = search.cv_results_["mean_worst_bound"][own]
    assert shade.get_paths()[0].vertices[:, 1].min() == pytest.approx(bounds.min())
    assert to_hex(shade.get_facecolor()[0]) == VERMILION.lower()


def test_without_bounds_or_common_units_nothing_of_them_is_drawn() -> None:
    tree = DecisionTreeClassifier(min_samples_leaf=12, random_state=0)
    search = PessimisticSearchCV(tree, {"max_depth": [1, None]}, cv=2, node_limit=2).fit(X, Y)
    axes = plot_curve(search, "max_depth")
    labels = axes.get_legend_handles_labels()[1]
    assert not {"not ruled out", "test score"} & set(labels)
    assert [tick.get_text() for tick in axes.get_xticklabels()] == ["1", "None"]


def test_a_parameter_that_was_not_varied_is_named(search: PessimisticSearchCV) -> None:
    with pytest.raises(InvalidInputError, match=r"'alpha'.*\['C', 'fit_intercept'\]"):
        plot_curve(search, "alpha")


def test_disagreement_of_one_feature_is_its_closed_form() -> None:
    # Members of ridge without intercept: |u − û|² ≤ (ε·R*)/(mean x² + penalty), with u the slope.
    x, y = np.array([1.0, 2.0, -1.0]), np.array([1.0, 1.5, -2.0])
    slope = (x @ y) / (x @ x + 1.0)
    least = np.square(y - x * slope).sum() + slope**2
    radius = np.sqrt(0.1 * least / (x @ x + 1.0))
    model = Ridge(alpha=1.0, fit_intercept=False)
    axes = plot_disagreement(model, x[:, None], y, [[3.0], [-2.0]], epsilon=0.1)
    low, high = slope - radius, slope + radius
    expected = np.array([[0.0, -2.0 * high, -2.0 * low], [1.0, 3.0 * low, 3.0 * high]])
    assert segments(axes, VERMILION) == pytest.approx(expected, rel=1e-5)
    assert segments(axes, GREY) == pytest.approx(expected, rel=1e-5)
    assert points(axes, "trained model")[:, 1] == pytest.approx([-2.0 * slope, 3.0 * slope])


def test_rows_with_models_on_both_sides_are_orange() -> None:
    model = LogisticRegression().fit(X, Y)
    axes = plot_disagreement(model, X, Y, X, epsilon=0.05)
    orange, grey = segments(axes, ORANGE), segments(axes, GREY)
    assert len(orange) + len(grey) == len(X)
    assert np.all((orange[:, 1] < 0.0) & (orange[:, 2] > 0.0))
    assert not np.any((grey[:, 1] < 0.0) & (grey[:, 2] > 0.0))
    scores = points(axes, "trained model")[:, 1]
    assert scores == pytest.approx(np.sort(model.decision_function(X)), abs=1e-3)
    found, bounds = np.concatenate([orange, grey]), segments(axes, VERMILION)
    found, bounds = (each[each[:, 0].argsort()] for each in (found, bounds))
    assert np.all(bounds[:, 1] <= found[:, 1] + 1e-6)
    assert np.all(found[:, 2] <= bounds[:, 2] + 1e-6)


def test_models_without_bounds_are_drawn_as_found() -> None:
    axes = plot_disagreement(DecisionTreeClassifier(max_depth=2, random_state=0), X, Y, X)
    assert len(segments(axes, VERMILION)) == 0
    assert axes.get_ylabel() == "probability"
    assert to_hex(axes.lines[-1].get_color()) == BLUE.lower()


def test_more_than_two_classes_are_refused() -> None:
    with pytest.raises(InvalidInputError, match="3 classes"):
        plot_disagreement(DecisionTreeClassifier(max_depth=1), X, np.arange(len(X)) % 3, X)
