"""Both views, and the worst that their boxes let through."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from oracles import brute_force_worst_case, in_near_optimal_set, least_training_loss

from pessimal import Budget, TuningProblem
from pessimal.reproduction.candidates import Candidate, candidates
from pessimal.reproduction.instances import draw, tuning_problem

TOLERANCE = 1e-6
BUDGET = Budget(epsilon=0.3)


@pytest.fixture(scope="module")
def problem() -> TuningProblem:
    """Six and five rows of two features that no line separates."""
    rng = np.random.default_rng(5)
    X = rng.normal(size=(11, 2))
    y = np.where(X[:, 0] + rng.normal(size=11) > 0.0, 1.0, -1.0)
    y[:2] = -1.0, 1.0
    return TuningProblem(X[:6], y[:6], X[6:], y[6:])


@pytest.fixture(scope="module")
def models(problem: TuningProblem) -> list[Candidate]:
    return candidates(problem, BUDGET, flips=("margin", "all"), node_limit=10_000, exact=True)


def table(models: list[Candidate]) -> pd.DataFrame:
    return pd.DataFrame([dict(model.columns) for model in models])


def test_every_view_comes_in_both_boxes_with_each_evaluation(models: list[Candidate]) -> None:
    kinds = [(m.columns["model"], m.columns["tie_break"], m.columns["flip"]) for m in models]
    assert kinds == [
        (f"{view}{evaluated}", f"{size}_box", flip)
        for view in ("optimistic", "pessimistic")
        for size in ("smallest", "largest")
        for evaluated, flip in (("", "margin"), (" evaluated", "margin"), (" evaluated", "all"))
    ]


def test_validation_loss_is_that_of_the_model(
    problem: TuningProblem, models: list[Candidate]
) -> None:
    for model in models:
        scores = problem.X_val @ model.coef + model.intercept
        loss = np.maximum(0.0, 1.0 - problem.y_val * scores).mean()
        assert model.columns["validation_loss"] == pytest.approx(loss, abs=TOLERANCE)


def test_losses_are_ordered_as_the_theory_has_it(models: list[Candidate]) -> None:
    """P_o* is least; a model of Ψ never exceeds the exact worst case, nor that its bound."""
    rows = table(models)
    assert (rows["objective"].iloc[0] <= rows["worst_flip"] + TOLERANCE).all()
    assert (rows["worst_flip"] <= rows["worst_exact"] + TOLERANCE).all()
    assert (rows["worst_exact"] <= rows["worst_exact_bound"] + TOLERANCE).all()
    evaluated = rows[rows["model"].str.endswith("evaluated")]
    assert (evaluated["validation_loss"] <= evaluated["worst_exact"] + TOLERANCE).all()


def test_exact_worst_case_of_the_smallest_box_equals_brute_force(
    problem: TuningProblem, models: list[Candidate]
) -> None:
    box = np.abs(models[0].coef)
    expected = brute_force_worst_case(problem, box, BUDGET)
    assert models[0].columns["worst_exact"] == pytest.approx(expected, abs=TOLERANCE)


def test_evaluated_models_of_the_smallest_box_are_near_optimal_in_it(
    problem: TuningProblem, models: list[Candidate]
) -> None:
    box = np.abs(models[0].coef)
    assert least_training_loss(problem, box) > 0.0
    for evaluated in models[1:3]:
        assert in_near_optimal_set(problem, evaluated.coef, -evaluated.intercept, box, BUDGET)


def test_the_largest_box_has_the_larger_worst_case_without_a_budget() -> None:
    """With ε = 0 both boxes share L_T*: what the smaller lets through, the larger does too."""
    problem = tuning_problem(draw("cancer", n_train=5, n_val=5, seed=0))
    rows = table(candidates(problem, Budget(), flips=("all",), node_limit=10_000, exact=True))
    optimistic = rows[rows["model"] == "optimistic"].set_index("tie_break")["worst_exact"]
    assert optimistic["smallest_box"] <= optimistic["largest_box"] + TOLERANCE


def test_accuracy_counts_labels() -> None:
    model = Candidate({}, np.array([1.0]), -0.5)
    X = np.array([[0.0], [1.0], [2.0], [-1.0]])
    assert model.accuracy(X, np.array([-1.0, 1.0, -1.0, -1.0])) == 0.75
