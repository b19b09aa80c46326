"""What a tuning problem accepts, what it refuses, and with which words."""

from __future__ import annotations

import dataclasses
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from scipy.sparse import csr_array
from strategies import problems

from pessimal.errors import InvalidInputError, PessimalError
from pessimal.near_optimal import worst_case
from pessimal.problem import Budget, TuningProblem, distinct_rows, hinge

NAN, INF = float("nan"), float("inf")


def arguments(**changed: Any) -> dict[str, Any]:
    """Arguments of a good problem with two features, three and two points, some replaced."""
    good: dict[str, Any] = {
        "X_train": [[0.0, 1.0], [2.0, -1.0], [1.0, 0.5]],
        "y_train": [-1, 1, 1],
        "X_val": [[1.0, 0.0], [-1.0, 2.0]],
        "y_val": [1, -1],
    }
    return good | changed


# What is wrong: (arguments replaced, argument named, value shown, remedy given).
BAD_ARGUMENTS: dict[str, tuple[dict[str, Any], str, str, str]] = {
    "nan in X": (
        {"X_train": [[0.0, NAN], [2.0, -1.0], [1.0, 0.5]]},
        "X_train", "nan at position (0, 1)", "impute or drop",
    ),
    "inf in X": (
        {"X_val": [[1.0, 0.0], [INF, 2.0]]}, "X_val", "inf at position (1, 0)", "impute or drop"
    ),
    "None in X": (
        {"X_val": [[1.0, None], [0.0, 2.0]]}, "X_val", "nan at position (0, 1)", "impute or drop"
    ),
    "text in X": (
        {"X_train": [["red", 1.0], ["blue", 2.0], ["red", 3.0]]}, "X_train", "'red'", "encode text"
    ),
    "ragged X": (
        {"X_train": [[1.0, 2.0], [3.0], [1.0, 2.0]]}, "X_train", "inhomogeneous", "encode"
    ),
    "1-D X": ({"X_train": [0.0, 2.0, 1.0]}, "X_train", "1 dimension", "shape (rows, features)"),
    "number for X": ({"X_val": 3.0}, "X_val", "dimension", "shape (rows, features)"),
    "no training point": (
        {"X_train": np.empty((0, 2)), "y_train": []}, "X_train", "(0, 2)", "at least one row"
    ),
    "no validation point": (
        {"X_val": np.empty((0, 2)), "y_val": []}, "X_val", "(0, 2)", "at least one row"
    ),
    "no feature": (
        {"X_train": np.empty((3, 0)), "X_val": np.empty((2, 0))}, "X_train", "(3, 0)", "column"
    ),
    "columns differ": (
        {"X_val": [[1.0], [2.0]]}, "X_val", "1 features but X_train has 2", "same columns"
    ),
    "too few labels": ({"y_train": [-1, 1]}, "y_train", "(2,)", "3 labels"),
    "labels in a column": ({"y_val": [[1], [-1]]}, "y_val", "(2, 1)", "2 labels"),
    "labels 0 and 1": ({"y_train": [0, 1, 1]}, "y_train", "label 0", "-1 and +1"),
    "boolean labels": ({"y_val": [True, False]}, "y_val", "label 0", "-1 and +1"),
    "labels 1 and 2": ({"y_val": [1, 2]}, "y_val", "label 2", "-1 and +1"),
    "missing label": ({"y_val": [1, NAN]}, "y_val", "label nan", "-1 and +1"),
    "text labels": ({"y_train": ["no", "yes", "yes"]}, "y_train", "'no'", "encode"),
    "only positives in T": ({"y_train": [1, 1, 1]}, "y_train", "class -1", "stratified"),
    "only negatives in T": ({"y_train": [-1, -1, -1]}, "y_train", "class +1", "stratified"),
    "a class weighs 0": (
        {"train_weight": [0, 1, 1]}, "y_train", "class -1 with positive weight", "stratified"
    ),
    "limits crossed": (
        {"lower": 0.8, "upper": [1.0, 0.5]}, "lower", "feature 1 (0.8 > 0.5)", "<= upper"
    ),
    "negative lower": ({"lower": -0.1}, "lower", "-0.1", "must not be negative"),
    "negative upper": ({"upper": [1.0, -2.0]}, "upper", "-2", "must not be negative"),
    "nan limit": ({"lower": NAN}, "lower", "nan", "first"),
    "infinite limit": ({"upper": [1.0, INF]}, "upper", "inf", "first"),
    "too many limits": ({"upper": [1.0, 1.0, 1.0]}, "upper", "(3,)", "2 numbers"),
    "text limit": ({"lower": "low"}, "lower", "'low'", "encode text"),
    "no weight may move": ({"upper": 0.0}, "upper", "0", "at least one"),
    "sparse X": (
        {"X_val": csr_array(np.eye(2))}, "X_val", "a sparse table", "pass X_val.toarray()"
    ),
    "negative weight": ({"val_weight": [1.0, -1.0]}, "val_weight", "-1", "non-negative weights"),
    "all weights 0": ({"train_weight": [0, 0, 0]}, "train_weight", "sum 0", "not all zero"),
    "too few weights": ({"val_weight": [1.0]}, "val_weight", "(1,)", "2 weights"),
    "scalar weight": ({"val_weight": 1.0}, "val_weight", "()", "2 weights"),
    "nan weight": ({"train_weight": [1.0, NAN, 1.0]}, "train_weight", "nan", "first"),
}  # fmt: skip


class TestBadInputIsTurnedAway:
    """Each message names the argument, shows the value and says what to do."""

    @pytest.mark.parametrize(
        ("changed", "argument", "value", "remedy"), BAD_ARGUMENTS.values(), ids=BAD_ARGUMENTS
    )
    def test_problem(self, changed: dict[str, Any], argument: str, value: str, remedy: str) -> None:
        with pytest.raises(InvalidInputError) as caught:
            TuningProblem(**arguments(**changed))
        message = str(caught.value)
        assert message.startswith(argument)
        assert value in message
        assert remedy in message

    @pytest.mark.parametrize("argument", ["epsilon", "delta"])
    @pytest.mark.parametrize("value", [-0.1, NAN, INF, "much", None])
    def test_budget(self, argument: str, value: Any) -> None:
        with pytest.raises(InvalidInputError) as caught:
            Budget(**{argument: value})
        message = str(caught.value)
        assert message.startswith(argument)
        assert str(value) in message
        assert "pass a" in message

    @pytest.mark.parametrize(
        ("box", "value", "remedy"),
        [
            ([0.1, 0.5], "0.1 for feature 0", "within lower and upper"),
            ([0.5, 1.5], "1.5 for feature 1", "within lower and upper"),
            (2.0, "2 for feature 0", "within lower and upper"),
            ([0.5], "(1,)", "2 numbers"),
            ([0.5, NAN], "nan", "first"),
            (-1.0, "-1", "must not be negative"),
            ("wide", "'wide'", "encode text"),
        ],
    )
    def test_box(self, box: Any, value: str, remedy: str) -> None:
        problem = TuningProblem(**arguments(lower=[0.2, 0.0]))
        with pytest.raises(InvalidInputError) as caught:
            problem.box(box)
        message = str(caught.value)
        assert message.startswith("box")
        assert value in message
        assert remedy in message

    def test_the_error_is_a_value_error_and_one_of_the_package(self) -> None:
        assert issubclass(InvalidInputError, ValueError)
        assert issubclass(InvalidInputError, PessimalError)


class TestGoodInput:
    def test_one_class_in_the_validation_set_is_fine(self) -> None:
        assert TuningProblem(**arguments(y_val=[1, 1])).y_val.tolist() == [1.0, 1.0]

    def test_data_frames_and_integers_become_float_arrays(self) -> None:
        frame = pd.DataFrame(arguments()["X_train"]).astype(int)
        problem = TuningProblem(**arguments(X_train=frame, y_train=pd.Series([-1, 1, 1])))
        assert problem.X_train.dtype == np.float64
        assert problem.X_train.tolist() == frame.to_numpy().tolist()
        assert problem.y_train.tolist() == [-1.0, 1.0, 1.0]

    def test_sizes(self) -> None:
        problem = TuningProblem(**arguments())
        assert (problem.n_train, problem.n_val, problem.n_features) == (3, 2, 2)
        assert repr(problem) == "TuningProblem(n_train=3, n_val=2, n_features=2)"

    def test_limits_default_to_zero_and_one_and_scalars_spread(self) -> None:
        problem = TuningProblem(**arguments())
        assert (problem.lower.tolist(), problem.upper.tolist()) == ([0.0, 0.0], [1.0, 1.0])
        problem = TuningProblem(**arguments(lower=0.5, upper=[0.5, 2.5]))
        assert (problem.lower.tolist(), problem.upper.tolist()) == ([0.5, 0.5], [0.5, 2.5])

    def test_weights_are_normalised(self) -> None:
        problem = TuningProblem(**arguments(train_weight=[2, 1, 1], val_weight=[0, 7]))
        assert problem.train_weight.tolist() == [0.5, 0.25, 0.25]
        assert problem.val_weight.tolist() == [0.0, 1.0]
        assert TuningProblem(**arguments()).val_weight.tolist() == [0.5, 0.5]

    def test_box_spreads_a_scalar_and_keeps_the_ends(self) -> None:
        problem = TuningProblem(**arguments(lower=0.2))
        assert problem.box(0.2).tolist() == [0.2, 0.2]
        assert problem.box([0.2, 1.0]).tolist() == [0.2, 1.0]

    def test_budget_limit(self) -> None:
        assert Budget() == Budget(epsilon=0.0, delta=0.0)
        assert Budget(epsilon=0.5, delta=0.1).limit(0.4) == pytest.approx(0.7)
        assert Budget(epsilon=0.5).limit(0.0) == 0.0
        assert repr(Budget(0.5, 0.1)) == "Budget(epsilon=0.5, delta=0.1)"

    def test_the_former_names_of_a_budget_work_and_warn(self) -> None:
        with pytest.warns(FutureWarning, match="relative of a Budget is now epsilon") as warned:
            budget = Budget(relative=0.5, absolute=0.1)
        assert {Path(warning.filename).name for warning in warned} == {Path(__file__).name}
        assert budget == Budget(0.5, 0.1)
        with pytest.warns(FutureWarning, match="absolute of a Budget is now delta"):
            assert (budget.relative, budget.absolute) == (0.5, 0.1)
        with pytest.warns(FutureWarning, match="absolute of a Budget is now delta"):
            changed = dataclasses.replace(budget, absolute=0.3)  # type: ignore[call-arg]
        assert changed == Budget(0.5, 0.3)


class TestFrozen:
    ARRAYS = (
        "X_train", "y_train", "X_val", "y_val", "lower", "upper", "train_weight", "val_weight",
    )  # fmt: skip

    @pytest.mark.parametrize("name", ARRAYS)
    def test_arrays_cannot_be_written(self, name: str) -> None:
        values = getattr(TuningProblem(**arguments()), name)
        with pytest.raises(ValueError, match="read-only"):
            values[0] = 9.0

    @pytest.mark.parametrize("name", ARRAYS)
    def test_arrays_are_copies(self, name: str) -> None:
        given_arrays = {
            "lower": np.zeros(2), "upper": np.ones(2),
            "train_weight": np.full(3, 1 / 3), "val_weight": np.full(2, 0.5),
        }  # fmt: skip
        given_arrays |= {key: np.array(value, float) for key, value in arguments().items()}
        problem = TuningProblem(**given_arrays)
        before = getattr(problem, name).copy()
        given_arrays[name] += 1.0
        assert np.array_equal(getattr(problem, name), before)

    def test_a_problem_that_was_used_is_the_same_and_frozen_after_pickling(self) -> None:
        problem = TuningProblem(**arguments())
        worst_case(problem, 1.0)
        again = pickle.loads(pickle.dumps(problem))
        for name in self.ARRAYS:
            assert np.array_equal(getattr(again, name), getattr(problem, name))
            assert not getattr(again, name).flags.writeable
        assert again.loss_unit(0.5) == problem.loss_unit(0.5)

    def test_attributes_cannot_be_replaced(self) -> None:
        problem = TuningProblem(**arguments())
        with pytest.raises(dataclasses.FrozenInstanceError):
            problem.upper = np.ones(2)  # type: ignore[misc]
        with pytest.raises(dataclasses.FrozenInstanceError):
            Budget().epsilon = 1.0  # type: ignore[misc]

    def test_a_box_given_back_may_be_written(self) -> None:
        problem, box = TuningProblem(**arguments()), np.ones(2)
        problem.box(box)[0] = 0.0
        assert box.tolist() == [1.0, 1.0]


class TestLosses:
    """Model w = (1, −1), b = 0.5: scores on T are −1.5, 2.5, 0; on V 0.5 and −3.5."""

    W, B = np.array([1.0, -1.0]), 0.5

    def test_hinge(self) -> None:
        assert hinge(np.array([-1.0, 0.0, 1.0, 3.0])).tolist() == [2.0, 1.0, 0.0, 0.0]

    def test_training_loss(self) -> None:
        # Margins 1.5, 2.5, 0: hinges 0, 0, 1.
        assert TuningProblem(**arguments()).train_loss(self.W, self.B) == pytest.approx(1 / 3)
        weighted = TuningProblem(**arguments(train_weight=[1, 1, 2]))
        assert weighted.train_loss(self.W, self.B) == pytest.approx(0.5)

    def test_validation_loss(self) -> None:
        # Margins 0.5, 3.5: hinges 0.5, 0.
        assert TuningProblem(**arguments()).val_loss(self.W, self.B) == pytest.approx(0.25)
        weighted = TuningProblem(**arguments(val_weight=[3, 1]))
        assert weighted.val_loss(self.W, self.B) == pytest.approx(0.375)

    def test_flipped_loss(self) -> None:
        # Flipped margins −0.5, −3.5: hinges 1.5, 4.5.
        problem = TuningProblem(**arguments(val_weight=[3, 1]))
        both, first = np.array([True, True]), np.array([True, False])
        assert problem.flipped_loss(self.W, self.B, both) == pytest.approx(1.5 * 0.75 + 4.5 * 0.25)
        assert problem.flipped_loss(self.W, self.B, first) == pytest.approx(1.5)
        assert problem.flipped_weight(first).tolist() == [1.0]

    @settings(max_examples=50)
    @given(problem=problems())
    def test_losses_are_the_weighted_means_of_the_definition(self, problem: TuningProblem) -> None:
        w, b = problem.upper * 0.7, 0.3
        total = 0.0
        for x, y, weight in zip(problem.X_val, problem.y_val, problem.val_weight, strict=True):
            total += weight * max(0.0, 1.0 - y * (sum(x * w) - b))
        assert problem.val_loss(w, b) == pytest.approx(total, abs=1e-12)


def test_training_weights_too_far_apart_are_refused_by_name() -> None:
    with pytest.raises(InvalidInputError, match="train_weight spans a factor of 1e\\+10"):
        TuningProblem([[0.0], [1.0]], [-1, 1], [[0.5]], [1], train_weight=[1.0, 1e-10])
    TuningProblem([[0.0], [1.0], [2.0]], [-1, 1, 1], [[0.5]], [1], train_weight=[1.0, 1e-8, 0.0])


def test_distinct_rows_are_those_of_numpy() -> None:
    rows = np.random.default_rng(0).integers(-1, 2, size=(30, 3)).astype(float)
    expected, which = np.unique(rows, axis=0, return_inverse=True)
    found = distinct_rows(rows)
    np.testing.assert_array_equal(found[0], expected)
    np.testing.assert_array_equal(found[1], which.reshape(-1))
