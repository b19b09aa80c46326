"""The paper's perturbed data: who is moved, how far, in which direction."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.svm import SVC

from pessimal import solve_optimistic
from pessimal.datasets import Split
from pessimal.reproduction.candidates import Candidate
from pessimal.reproduction.instances import draw, evasion, tuning_problem

RADIUS = 0.3
NODES = 10_000


@pytest.fixture(scope="module")
def split() -> Split:
    return draw("diabetes", n_train=20, n_val=20, seed=1)


def test_only_validation_rows_inside_the_clean_optimistic_margin_move(split: Split) -> None:
    clean = solve_optimistic(tuning_problem(split))
    scores = split.X_val @ clean.coef + clean.intercept
    inside = np.abs(scores) < 1.0 - 1e-6
    moved = np.linalg.norm(evasion(split, RADIUS, NODES).split.X_val - split.X_val, axis=1)
    assert 0 < inside.sum() < len(inside)
    np.testing.assert_allclose(moved, np.where(inside, RADIUS, 0.0), atol=1e-12)


def test_a_moved_row_loses_all_the_margin_that_the_radius_can_take(split: Split) -> None:
    """Cauchy and Schwarz: no step of length ρ changes a score by more than ρ·‖w‖₂."""
    svm = SVC(kernel="linear").fit(split.X_train, split.y_train)
    attack = evasion(split, 0.0, NODES)
    everywhere = Candidate({}, np.zeros(split.X_test.shape[1]), 0.0)
    moved = attack.test_rows(everywhere, RADIUS)
    lost = split.y_test * (svm.decision_function(split.X_test) - svm.decision_function(moved))
    np.testing.assert_allclose(lost, RADIUS * np.linalg.norm(svm.coef_), rtol=1e-9)


def test_training_rows_test_rows_and_labels_stay(split: Split) -> None:
    attacked = evasion(split, RADIUS, NODES).split
    for name in ("X_train", "y_train", "y_val", "X_test", "y_test"):
        np.testing.assert_array_equal(getattr(attacked, name), getattr(split, name))


def test_radius_zero_changes_nothing(split: Split) -> None:
    attack = evasion(split, 0.0, NODES)
    np.testing.assert_array_equal(attack.split.X_val, split.X_val)
    everywhere = Candidate({}, np.zeros(split.X_test.shape[1]), 0.0)
    np.testing.assert_array_equal(attack.test_rows(everywhere, 0.0), split.X_test)
