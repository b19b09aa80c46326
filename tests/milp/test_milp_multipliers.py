"""Multipliers exist exactly where the certificate, which knows none, says the model is optimal."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import boxes, budgets, flip_masks, problems

from pessimal.certificate import certify
from pessimal.milp.multipliers import find_conflict, item_slacks
from pessimal.problem import Budget, TuningProblem, margin_rows
from pessimal.training.near_optimal import near_optimal


@settings(max_examples=60)
@given(st.data(), problems(), budgets())
def test_a_model_of_least_flipped_loss_has_multipliers(
    data: st.DataObject, problem: TuningProblem, budget: Budget
) -> None:
    flipped, box = data.draw(flip_masks(problem)), data.draw(boxes(problem))
    rows = margin_rows(problem.X_val[flipped], -problem.y_val[flipped])
    models = near_optimal(problem, box, budget, rows)
    u = models.minimise(hinge_cost=problem.flipped_weight(flipped))
    slacks = item_slacks(problem, budget, flipped, box, u[:-1], float(u[-1]))
    assert find_conflict(problem, flipped, slacks) is None


@settings(max_examples=100)
@given(st.data(), problems(), budgets())
def test_any_other_model_has_none_and_every_item_of_the_conflict_is_needed(
    data: st.DataObject, problem: TuningProblem, budget: Budget
) -> None:
    flipped, box = data.draw(flip_masks(problem)), data.draw(boxes(problem))
    share = data.draw(st.lists(st.sampled_from((-1.0, -0.5, 0.0, 1.0)), min_size=2, max_size=2))
    w, b = box * share[: problem.n_features], data.draw(st.sampled_from((-1.0, 0.0, 0.25)))
    optimal = certify(problem, budget, flipped, box, w, b, problem.val_loss(w, b)).ok

    slacks = item_slacks(problem, budget, flipped, box, w, b)
    conflict = find_conflict(problem, flipped, slacks)
    assert (conflict is None) == optimal
    if conflict is not None:
        assert (slacks[conflict] > 0.0).all()
        for item in np.flatnonzero(conflict):
            rest = np.where(conflict, slacks, 0.0)
            rest[item] = 0.0
            assert find_conflict(problem, flipped, rest) is None
