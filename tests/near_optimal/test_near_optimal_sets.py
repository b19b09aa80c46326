"""Near-optimal sets: the interface, the models of a box, and a new kind in one class."""

from __future__ import annotations

from dataclasses import replace
from operator import attrgetter
from typing import Any, Self

import numpy as np
import pytest
from clocks import LeapingClock
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from oracles import brute_force_worst_case, in_near_optimal_set
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier
from strategies import boxes, budgets, problems

from pessimal import Budget, PessimisticSVC, TuningProblem
from pessimal.auditing.extremes import Extremes
from pessimal.errors import InvalidInputError
from pessimal.limits import NEVER, Deadline
from pessimal.losses import HINGE, Loss
from pessimal.near_optimal import (
    BoxSet,
    Extreme,
    Linear,
    NearOptimalSet,
    ScoreRange,
    near_optimal_set,
)

TOLERANCE = 1e-6


def random_problem(seed: int) -> TuningProblem:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(18, 3))
    y = np.where(X[:, 0] + rng.normal(size=18) > 0.0, 1.0, -1.0)
    y[:2] = 1.0, -1.0
    return TuningProblem(X[:10], y[:10], X[10:], y[10:])


class Listed(NearOptimalSet):
    """A toy kind: the models of a list; nothing is proved of any other."""

    loss = HINGE

    def __init__(self, models: list[Linear], X: Any, y: Any, budget: Budget) -> None:
        self.models, self.X, self.y, self.budget = models, np.asarray(X), np.asarray(y), budget
        best = min(models, key=self.train_loss)
        least = self.train_loss(best)
        self.trained = Extreme(least, least, least, best)

    @classmethod
    def accepts(cls, estimator: Any) -> bool:
        return isinstance(estimator, list)

    @classmethod
    def of(cls, estimator: Any, X: Any, y: Any, budget: Budget, sample_weight: Any = None) -> Self:
        return cls(estimator, X, y, budget)

    def train_loss(self, model: Linear) -> float:
        margins = self.y * model.decision_function(self.X)
        return float(HINGE.value(margins).mean())

    def contains(self, model: Linear) -> bool:
        return model in self.models and self.train_loss(model) <= self.limit

    def judged(self, X: Any, y: Any, loss: Loss) -> list[Extreme]:
        values = [
            (float(loss.value(y * model.decision_function(X)).mean()), model)
            for model in self.sample(len(self.models))
        ]
        return [Extreme(value, value, value, model) for value, model in values]

    def _worst(
        self, X: Any, y: Any, loss: Loss, deadline: Deadline, node_limit: int | None
    ) -> Extreme:
        return max(self.judged(X, y, loss), key=attrgetter("value"))

    def _best(self, X: Any, y: Any, loss: Loss, deadline: Deadline) -> Extreme:
        return min(self.judged(X, y, loss), key=attrgetter("value"))

    def _score_range(self, X: Any, deadline: Deadline) -> ScoreRange:
        members = [model for model in self.models if self.contains(model)]
        scores = np.array([model.decision_function(X) for model in members])
        return ScoreRange(scores.min(0), scores.max(0), np.ones(len(X), np.bool_), members)

    def _sample(self, n: int, rng: np.random.Generator, deadline: Deadline) -> list[Linear]:
        return [model for model in self.models if self.contains(model)][:n]


def test_a_kind_of_one_class_is_found_and_audited() -> None:
    models = [Linear(np.array([w]), b) for w, b in ((1.0, 0.0), (1.0, 0.4), (-1.0, 0.0))]
    X, y = np.array([[-1.0], [1.0]]), np.array([-1.0, 1.0])
    members = near_optimal_set(models, X, y, delta=0.3)
    assert isinstance(members, Listed)
    assert members.sample(3) == models[:2]
    known = Extremes(members, np.array([[-0.2], [2.0]]), y, [0.0], models[0], NEVER)
    known.find_worst_loss(0, NEVER)
    known.find_worst_error(0, NEVER)
    known.find_ranges(lambda _: True, NEVER, all_points=True)
    # The second model scores −.2 as .2: wrong, at a hinge loss of 1.2.
    assert known.worst_loss[0].known().value == pytest.approx(0.6)
    assert known.worst_error[0].known().bound == 0.5
    assert known.undecided.tolist() == [False, False]
    assert (known.low[0], known.high[0]) == pytest.approx((-0.2, 0.2))


@settings(max_examples=25)
@given(problem=problems(), budget=budgets(), data=st.data())
def test_members_of_a_box_are_members_by_definition(
    problem: TuningProblem, budget: Budget, data: st.DataObject
) -> None:
    box = data.draw(boxes(problem))
    assume(box.any())
    members = BoxSet(problem, box, budget)
    X, y = problem.X_val, problem.y_val
    scores = members.score_range(X)
    assert scores.exact.all()
    for model in (*members.sample(3, 0), *scores.models, members.trained.model):
        assert members.contains(model)
        assert in_near_optimal_set(problem, model.coef, -model.intercept, box, budget)
        found = model.decision_function(X)
        assert (scores.low - TOLERANCE <= found).all()
        assert (found <= scores.high + TOLERANCE).all()
    further = replace(members.trained.model, coef=members.trained.coef + 2.0 * box)
    assert not members.contains(further)
    even = replace(problem, val_weight=np.full(len(y), 1.0 / len(y)))
    worst = members.worst(X.copy(), y)
    expected = brute_force_worst_case(even, box, budget)
    assert worst.value == pytest.approx(expected, abs=TOLERANCE)
    assert members.worst(-X, -y).upper_bound >= members.best(-X, -y).value - TOLERANCE


def test_another_budget_needs_no_training() -> None:
    problem = random_problem(0)
    tight = BoxSet(problem, np.ones(3), Budget())
    loose = tight.with_budget(Budget(0.5))
    assert loose.trained is tight.trained
    X, y = problem.X_val, problem.y_val
    assert loose.worst(X, y).value > tight.worst(X, y).value
    assert loose.best(X, y).value <= tight.best(X, y).value
    assert (loose.limit, tight.limit) == pytest.approx(
        (1.5 * tight.trained.value, tight.trained.value)
    )


def test_past_the_deadline_ranges_are_coarse_and_one_member_is_left(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    problem = random_problem(1)
    members = BoxSet(problem, np.ones(3), Budget(0.2))
    exact = members.score_range(problem.X_val)
    over = Deadline.after(-1.0)
    unasked = BoxSet(problem, np.ones(3), Budget(0.2))
    coarse = unasked.score_range(problem.X_val, time_limit=over)
    assert not coarse.exact.any()
    assert (coarse.low <= exact.low).all()
    assert (coarse.high >= exact.high).all()
    assert len(members.sample(5, time_limit=over)) == 1
    LeapingClock(monkeypatch, 5)
    assert 0 < len(members.sample(50, time_limit=1.0)) < 50


def test_a_tuned_estimator_has_its_set_in_the_units_of_its_features() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 2)) * [1.0, 1000.0]
    y = np.where(X[:, 0] + X[:, 1] / 1000.0 + rng.normal(size=40) > 0.0, "sick", "well")
    tuned = PessimisticSVC(epsilon=0.1, random_state=0).fit(X, y)
    members = near_optimal_set(tuned, X, y, epsilon=0.1)
    assert isinstance(members, BoxSet)
    assert members.contains(Linear(tuned.coef_[0], float(tuned.intercept_[0])))


def test_an_estimator_without_a_kind_is_refused() -> None:
    with pytest.raises(InvalidInputError, match="estimator is a dict, for which no kind"):
        near_optimal_set({}, [[0.0]], [1])


def test_every_kind_refuses_a_node_limit_that_is_no_positive_whole_number() -> None:
    problem = random_problem(2)
    X, y = problem.X_train, problem.y_train
    pipeline = make_pipeline(StandardScaler(), LogisticRegression())
    for members in (
        BoxSet(problem, np.ones(3), Budget(0.1)),
        near_optimal_set(pipeline, X, y, epsilon=0.1),
        near_optimal_set(DecisionTreeClassifier(max_depth=1), X, y, epsilon=0.1),
    ):
        with pytest.raises(InvalidInputError, match="node_limit is 0; pass a positive"):
            members.worst(X, y, node_limit=0)
