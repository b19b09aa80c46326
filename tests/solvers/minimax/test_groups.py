"""Hyperparameters in groups: what is accepted, what is refused, and which boxes they stand for."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from pessimal import TuningProblem, solve_pessimistic
from pessimal.errors import InvalidInputError
from pessimal.solvers.minimax.groups import groups_of


def problem_with(lower: Any = 0.0, upper: Any = 1.0) -> TuningProblem:
    X = [[0.0, 1.0, 0.5], [1.0, 0.0, -0.5], [1.0, 1.0, 0.0]]
    return TuningProblem(X, [-1, 1, 1], X[:1], [1], lower=lower, upper=upper)


def test_each_one_and_lists() -> None:
    problem = problem_with(upper=[0.5, 1.0, 2.0])
    each, one = groups_of(problem, "each"), groups_of(problem, "one")
    assert (len(each), len(one)) == (3, 1)
    assert each.box(np.array([0.1, 0.2, 0.3])).tolist() == [0.1, 0.2, 0.3]
    assert one.box(np.array([0.75])).tolist() == [0.5, 0.75, 0.75]
    two = groups_of(problem, [[2, 0], [1]])
    assert two.box(np.array([1.5, 0.25])).tolist() == [0.5, 0.25, 1.5]
    assert two.upper.tolist() == [2.0, 1.0]


@pytest.mark.parametrize("groups", [((0,), (2, 1)), [np.array([0]), np.array([2, 1])]], ids=str)
def test_tuples_and_arrays_will_do(groups: Any) -> None:
    assert groups_of(problem_with(), groups).of_feature.tolist() == [0, 1, 1]


def test_the_groups_around_a_box_hold_it() -> None:
    problem = problem_with(lower=0.1, upper=[0.5, 1.0, 2.0])
    two = groups_of(problem, [[2, 0], [1]])
    box = np.array([0.4, 0.1, 0.3])
    assert two.around(box).tolist() == [0.4, 0.1]
    assert (two.box(two.around(box)) >= box).all()
    one = groups_of(problem, "one")
    shared = one.box(np.array([0.75]))
    assert np.array_equal(two.box(two.around(shared)), shared)


@pytest.mark.parametrize(
    ("groups", "message"),
    [
        ("all", "groups is 'all'; pass 'each', 'one', or lists"),
        ([[0, 1], [1, 2]], "groups names feature 1 twice; name each of the features 0 to 2"),
        ([[0], [1]], "groups leaves out feature 2"),
        ([], "groups leaves out feature 0"),
        ([[0, 1, 2], []], r"groups\[1\] is empty"),
        ([[0, 1], [3]], r"groups\[1\] names feature 3"),
        ([[0, 1], [-1]], r"groups\[1\] names feature -1"),
        ([[0, 1], [2.0]], r"groups\[1\] names feature 2.0"),
        ([[False, True], [2]], r"groups\[0\] names feature False"),
        ([["a"], [1, 2]], r"groups\[0\] names feature 'a'"),
        ([0, 1, 2], r"groups is \[0, 1, 2\]; pass lists"),
        (3, "groups is 3; pass lists"),
        (None, "groups is None; pass lists"),
    ],
)
def test_what_is_refused(groups: Any, message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        solve_pessimistic(problem_with(), inner="exact", groups=groups)


def test_a_group_has_one_lower_limit() -> None:
    problem = problem_with(lower=[0.1, 0.2, 0.2])
    groups_of(problem, [[0], [1, 2]])
    for groups in ("one", [[0, 1], [2]]):
        with pytest.raises(
            InvalidInputError, match=r"lower is 0.1 for feature 0 .* one lower limit"
        ):
            groups_of(problem, groups)
