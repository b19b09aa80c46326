"""Flip rules: which validation points enter V_f."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import ArrayLike

from pessimal.errors import InvalidInputError
from pessimal.flip import flip_mask, validation_mask
from pessimal.problem import TuningProblem, Vector

IDENTITY = (np.array([1.0]), 0.0)
"""The hyperplane whose score is the feature itself."""


def make_problem(n_train: int = 2, n_val: int = 4, **weights: ArrayLike) -> TuningProblem:
    """Validation margins under `IDENTITY`: −2 (wrong), ½ (inside), 1 (on the edge), 2 (outside)."""
    margins = np.array([-2.0, 0.5, 1.0, 2.0])
    y_val = np.array([1.0, -1.0, -1.0, 1.0])
    return TuningProblem(
        np.linspace(-1.0, 1.0, n_train)[:, None],
        np.where(np.arange(n_train) < n_train // 2, -1, 1),
        np.resize(margins * y_val, n_val)[:, None],
        np.resize(y_val, n_val),
        **weights,
    )


def hyperplane() -> tuple[Vector, float]:
    return IDENTITY


def never_called() -> tuple[Vector, float]:
    raise AssertionError("this rule needs no hyperplane")


def test_all_flips_everything_without_solving_anything() -> None:
    assert flip_mask(make_problem(), "all", never_called).tolist() == [True] * 4


def test_margin_flips_misclassified_points_and_those_inside_the_margin() -> None:
    mask = flip_mask(make_problem(), "margin", hyperplane)
    assert mask.dtype == np.bool_
    assert mask.tolist() == [True, True, False, False]


def test_a_point_on_the_edge_of_the_margin_is_outside_despite_rounding() -> None:
    mask = flip_mask(make_problem(), "margin", lambda: (np.array([1.0 - 1e-9]), 0.0))
    assert not mask[2]


def test_margin_flips_everything_when_no_point_is_inside() -> None:
    problem = TuningProblem([[-1.0], [1.0]], [-1, 1], [[3.0], [-3.0]], [1, -1])
    assert flip_mask(problem, "margin", hyperplane).tolist() == [True, True]


def test_margin_flips_everything_when_only_weightless_points_are_inside() -> None:
    problem = make_problem(val_weight=[0.0, 0.0, 1.0, 1.0])
    assert flip_mask(problem, "margin", hyperplane).tolist() == [True] * 4


@pytest.mark.parametrize(
    ("n_train", "n_val", "by_margin"), [(21, 16, True), (20, 16, False), (21, 15, False)]
)
def test_paper_rule_looks_at_both_sizes(n_train: int, n_val: int, by_margin: bool) -> None:
    problem = make_problem(n_train, n_val)
    if by_margin:
        expected = flip_mask(problem, "margin", hyperplane)
        assert not expected.all()
        assert flip_mask(problem, "paper", hyperplane).tolist() == expected.tolist()
    else:
        assert flip_mask(problem, "paper", never_called).all()


@pytest.mark.parametrize(
    "mask", [[True, False, False, True], [1, 0, 0, 1], np.array([1.0, 0, 0, 1])]
)
def test_a_mask_is_taken_as_it_is(mask: ArrayLike) -> None:
    taken = flip_mask(make_problem(), mask, never_called)
    assert taken.dtype == np.bool_
    assert taken.tolist() == [True, False, False, True]


@pytest.mark.parametrize(
    ("rule", "remedy"),
    [
        ("some", "'all', 'margin', 'paper'"),
        ([True, False], "4 booleans"),
        ([0, 2, 1, 3], "not indices"),
        ([np.nan, 0, 0, 1], "not indices"),
        (["a", "b", "c", "d"], "not indices"),
        ([False] * 4, "at least one"),
    ],
)
def test_what_is_neither_rule_nor_mask_is_refused_with_a_remedy(
    rule: str | ArrayLike, remedy: str
) -> None:
    with pytest.raises(InvalidInputError, match=remedy):
        flip_mask(make_problem(), rule, never_called)


def test_a_mask_of_weightless_points_is_refused() -> None:
    problem = make_problem(val_weight=[0.0, 1.0, 1.0, 1.0])
    with pytest.raises(InvalidInputError, match="positive weight"):
        flip_mask(problem, [True, False, False, False], never_called)


def test_a_mask_by_another_name_is_refused_by_that_name() -> None:
    assert validation_mask(make_problem(), [1, 0, 0, 1], "flipped").tolist() == [1, 0, 0, 1]
    with pytest.raises(InvalidInputError, match="flipped has shape"):
        validation_mask(make_problem(), [1, 0], "flipped")
