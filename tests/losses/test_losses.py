"""Losses: what they say of themselves, and a new one in one class."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pessimal import Budget, TuningProblem, best_case, worst_case
from pessimal.errors import InvalidInputError
from pessimal.losses import Hinge, Loss, Step, find_loss
from pessimal.losses.base import Vector
from pessimal.near_optimal import BoxSet

NAMES = ("hinge", "zero_one", "margin")


class Perceptron(Hinge):
    """A toy: points on the wrong side cost their distance from it."""

    name = "perceptron"
    breakpoints = (0.0,)


class Soft(Loss):
    """A toy that is smooth: it has no breakpoint."""

    name = "soft"

    def value(self, margins: Vector) -> Vector:
        return np.logaddexp(0.0, -margins)

    def slope(self, margins: Vector) -> Vector:
        return -1.0 / (1.0 + np.exp(margins))

    def curvature(self, low: Vector, high: Vector) -> Vector:
        del high
        return np.full(np.shape(low), 0.25)


@pytest.mark.parametrize("name", [*NAMES, "perceptron", "soft", "log", "squared_hinge"])
@given(margin=st.floats(-5.0, 5.0), other=st.floats(-5.0, 5.0))
def test_a_loss_falls_and_its_slope_is_that_of_its_values(
    name: str, margin: float, other: float
) -> None:
    loss = find_loss(name)
    low, high = sorted((margin, other))
    assert loss.value(np.array([low]))[0] >= loss.value(np.array([high]))[0]
    if all(abs(margin - at) > 1e-4 for at in loss.breakpoints):
        step = 1e-6
        up, down = (loss.value(np.array([margin + d]))[0] for d in (step, -step))
        assert loss.slope(np.array([margin]))[0] == pytest.approx(
            (up - down) / (2 * step), abs=1e-4
        )


def test_counts_and_their_opposite_add_up_to_all_points() -> None:
    margins = np.array([-1.0, -1e-9, 0.0, 1e-9, 1.0])
    step = find_loss("zero_one")
    assert isinstance(step, Step)
    assert step.value(margins).tolist() == [1.0, 0.0, 0.0, 0.0, 0.0]
    assert (step.value(margins) + step.opposite.value(-margins)).tolist() == [1.0] * 5


def test_a_loss_of_one_class_has_worst_and_best_cases() -> None:
    # Models: w = 1 with b from −.5 to .5 (or a little less w); points at .5 and −2.
    problem = TuningProblem([[-1.0], [1.0]], [-1, 1], [[0.5], [-2.0]], [1, -1])
    worst = worst_case(problem, 1.0, Budget(0.0, 0.5), loss="perceptron")
    # b = 1: the scores are −.5 and −3, so the first costs .5 and the mean is .25.
    assert worst.value == pytest.approx(0.25)
    assert worst.upper_bound == pytest.approx(0.25)
    assert best_case(problem, 1.0, Budget(0.0, 0.5), loss=Perceptron()).value == 0.0


def test_the_models_of_a_box_refuse_a_loss_without_a_breakpoint() -> None:
    problem = TuningProblem([[-1.0], [1.0]], [-1, 1], [[0.5]], [1])
    members = BoxSet(problem, np.ones(1), Budget())
    for extreme in (members.worst, members.best):
        with pytest.raises(InvalidInputError, match="loss is Soft, which is no hinge"):
            extreme(problem.X_val, problem.y_val, "soft")


def test_an_unknown_loss_is_refused_by_name() -> None:
    with pytest.raises(InvalidInputError, match="loss is 'lag'; pass one of 'hinge', 'zero_one'"):
        find_loss("lag")


@pytest.mark.parametrize("name", [*NAMES, "log", "squared_hinge", "squared"])
def test_between_two_scores_no_loss_is_beyond_the_ends(name: str) -> None:
    loss, rng = find_loss(name), np.random.default_rng(0)
    low = rng.uniform(-3.0, 2.0, 200)
    high = low + rng.exponential(size=200)
    labels = np.where(rng.random(200) < 0.5, -1.0, 1.0)
    least, largest = loss.over_scores(labels, low, high)
    between = [
        loss.of_scores(labels, low + share * (high - low)) for share in np.linspace(0.0, 1.0, 1001)
    ]
    assert np.min(between, axis=0) == pytest.approx(least, abs=1e-4)
    assert np.max(between, axis=0) == pytest.approx(largest, abs=1e-12)
    assert (np.min(between, axis=0) >= least).all()


def test_the_squared_loss_of_a_score_is_its_squared_distance_from_the_label() -> None:
    scores = np.array([3.0, -0.5])
    assert find_loss("squared").of_scores(np.array([1.0, -1.0]), scores).tolist() == [4.0, 0.25]
    assert find_loss("hinge").of_scores(np.array([1.0, -1.0]), scores).tolist() == [0.0, 0.5]
