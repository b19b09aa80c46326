"""What is kept of a box of models for new rows: bounds that all of them obey."""

from __future__ import annotations

import numpy as np
import pytest
from clocks import LeapingClock
from scipy.optimize import linprog

from pessimal import Budget
from pessimal.near_optimal.polyhedral.box_set import BoxSet
from pessimal.near_optimal.polyhedral.enclosure import BoxEnclosure
from pessimal.problem import TuningProblem

RNG = np.random.default_rng(0)
N, P = 60, 4
X = RNG.standard_normal((2 * N, P))
Y = np.where(X[:, 0] + 0.5 * RNG.standard_normal(2 * N) > 0.0, 1.0, -1.0)
PROBLEM = TuningProblem(X[:N], Y[:N], X[N:], Y[N:])
MEMBERS = BoxSet(PROBLEM, np.ones(P), Budget(0.2))
SHIFT, SCALE = np.full(P, 0.5), np.full(P, 2.0)


def most(enclosure: BoxEnclosure, z: np.ndarray) -> float:
    D, ends = enclosure.directions, np.append(enclosure.high, -enclosure.low)
    return -float(linprog(-z, np.vstack([D, -D]), ends, bounds=(None, None)).fun)


@pytest.mark.parametrize("axes_alone", [False, True])
def test_bounds_are_the_ends_of_what_lies_within_all_ranges(axes_alone: bool) -> None:
    whole = MEMBERS.enclosure(SHIFT, SCALE)
    count = P + 1 if axes_alone else len(whole.low)
    parts = whole.directions[:count], whole.low[:count], whole.high[:count]
    enclosure = BoxEnclosure(SHIFT, SCALE, *parts, whole.members)
    rows = X[N : N + 20]
    low, high, least, largest = enclosure.score_range(rows)
    Z = np.column_stack([(rows - SHIFT) / SCALE, -np.ones(len(rows))])
    np.testing.assert_allclose(high, [most(enclosure, z) for z in Z], atol=1e-6)
    np.testing.assert_allclose(low, [-most(enclosure, -z) for z in Z], atol=1e-6)
    scores = Z @ whole.members.T
    assert np.all(low[:, None] <= scores)
    assert np.all(scores <= high[:, None])
    np.testing.assert_allclose(np.stack([least, largest]), [scores.min(axis=1), scores.max(axis=1)])


def test_a_direction_without_time_for_its_range_is_left_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    whole = MEMBERS.enclosure(SHIFT, SCALE)
    LeapingClock(monkeypatch, still_looks=40)
    cut = MEMBERS.enclosure(SHIFT, SCALE, time_limit=1.0)
    count = len(cut.low)
    assert P + 1 < count < len(whole.low)
    assert len(cut.members) == 1 + 2 * count
    np.testing.assert_allclose(cut.low, whole.low[:count], atol=1e-6)
    np.testing.assert_allclose(cut.high, whole.high[:count], atol=1e-6)
