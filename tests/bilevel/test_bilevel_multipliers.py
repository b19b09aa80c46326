"""Multipliers exist exactly where the certificate, which knows none, says the model is optimal."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import boxes, budgets, flip_masks, problems

from pessimal.bilevel.kkt import KKT, find_conflict, kkt
from pessimal.bilevel.paper import flipped_response, response_at
from pessimal.certificate import certify
from pessimal.near_optimal.polyhedral.linear_program import near_optimal
from pessimal.problem import Budget, Mask, TuningProblem, Vector, margin_rows


def at_model(
    problem: TuningProblem, budget: Budget, flipped: Mask, box: Vector, w: Vector, b: float
) -> tuple[KKT, Vector]:
    """Return the conditions of the inner problem and their slacks at a model."""
    conditions = kkt(flipped_response(problem, budget, flipped))
    return conditions, conditions.slacks(response_at(problem, flipped, box, w, b))


@settings(max_examples=60)
@given(st.data(), problems(), budgets())
def test_a_model_of_least_flipped_loss_has_multipliers(
    data: st.DataObject, problem: TuningProblem, budget: Budget
) -> None:
    flipped, box = data.draw(flip_masks(problem)), data.draw(boxes(problem))
    rows = margin_rows(problem.X_val[flipped], -problem.y_val[flipped])
    models = near_optimal(problem, box, budget, rows)
    u = models.minimise(hinge_cost=problem.flipped_weight(flipped))
    conditions, slack = at_model(problem, budget, flipped, box, u[:-1], float(u[-1]))
    assert find_conflict(conditions, slack, "lam") is None


@settings(max_examples=100)
@given(st.data(), problems(), budgets())
def test_any_other_model_has_none_and_every_part_of_the_conflict_is_needed(
    data: st.DataObject, problem: TuningProblem, budget: Budget
) -> None:
    flipped, box = data.draw(flip_masks(problem)), data.draw(boxes(problem))
    share = data.draw(st.lists(st.sampled_from((-1.0, -0.5, 0.0, 1.0)), min_size=2, max_size=2))
    w, b = box * share[: problem.n_features], data.draw(st.sampled_from((-1.0, 0.0, 0.25)))
    optimal = certify(problem, budget, flipped, box, w, b, problem.val_loss(w, b)).ok

    conditions, slack = at_model(problem, budget, flipped, box, w, b)
    conflict = find_conflict(conditions, slack, "lam")
    assert (conflict is None) == optimal
    if conflict is not None:
        assert (slack[conflict] > 0.0).all()
        for k in np.flatnonzero(conflict):
            rest = np.where(conflict, slack, 0.0)
            rest[k] = 0.0
            assert find_conflict(conditions, rest, "lam") is None
