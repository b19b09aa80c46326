"""Splits are seeded, stratified, disjoint, and refuse sizes that cannot be drawn."""

import numpy as np
import pytest
from numpy.typing import NDArray

from pessimal.datasets import Dataset, Split, load_cancer, load_diabetes, split
from pessimal.errors import InvalidInputError

CANCER, DIABETES = load_cancer(), load_diabetes()


def split_row_numbers(data: Dataset, n_train: int, n_val: int, seed: int) -> Split:
    """Split a table whose one feature is the row's own number."""
    return split(np.arange(len(data.y))[:, None], data.y, n_train, n_val, seed)


def rows_of(part: NDArray[np.float64]) -> list[int]:
    return [int(k) for k in part.ravel()]


# Row numbers drawn by the reference recipe: three calls of scikit-learn's train_test_split.
@pytest.mark.parametrize(
    ("data", "sizes", "seed", "first_rows", "sums"),
    [
        (CANCER, (5, 5), 0, ([194, 362], [176, 299], [248, 383]), (1224, 691, 51584)),
        (CANCER, (20, 20), 0, ([362, 147], [341, 183], [248, 383]), (4458, 4048, 51584)),
        (CANCER, (15, 20), 1, ([218, 16], [174, 13], [275, 69]), (3338, 3844, 49430)),
        (DIABETES, (20, 20), 0, ([12, 725], [619, 666], [625, 280]), (7293, 9135, 148898)),
        (DIABETES, (100, 50), 7, ([504, 257], [557, 340], [367, 373]), (40294, 20113, 146279)),
    ],
)
def test_a_named_instance_always_holds_the_same_rows(
    data: Dataset,
    sizes: tuple[int, int],
    seed: int,
    first_rows: tuple[list[int], list[int], list[int]],
    sums: tuple[int, int, int],
) -> None:
    parts = split_row_numbers(data, *sizes, seed)
    train, val, test = rows_of(parts.X_train), rows_of(parts.X_val), rows_of(parts.X_test)
    assert (train[:2], val[:2], test[:2]) == first_rows
    assert (sum(train), sum(val), sum(test)) == sums


@pytest.mark.parametrize(("data", "n_test"), [(CANCER, 225), (DIABETES, 384)])
@pytest.mark.parametrize(("n_train", "n_val"), [(5, 5), (20, 10), (50, 100)])
def test_sets_have_the_asked_sizes_and_share_no_row(
    data: Dataset, n_test: int, n_train: int, n_val: int
) -> None:
    parts = split_row_numbers(data, n_train, n_val, seed=3)
    train, val, test = rows_of(parts.X_train), rows_of(parts.X_val), rows_of(parts.X_test)
    assert (len(train), len(val), len(test)) == (n_train, n_val, n_test)
    assert len({*train, *val, *test}) == n_train + n_val + n_test


def test_labels_stay_with_their_rows() -> None:
    parts = split_row_numbers(DIABETES, 20, 20, seed=1)
    for X, y in (
        (parts.X_train, parts.y_train),
        (parts.X_val, parts.y_val),
        (parts.X_test, parts.y_test),
    ):
        np.testing.assert_array_equal(DIABETES.y[rows_of(X)], y)


@pytest.mark.parametrize("data", [CANCER, DIABETES])
@pytest.mark.parametrize("seed", range(5))
def test_every_set_keeps_the_share_of_the_classes(data: Dataset, seed: int) -> None:
    parts = split_row_numbers(data, 20, 15, seed)
    share = np.mean(data.y == 1)
    for y in (parts.y_train, parts.y_val, parts.y_test):
        # Each of the three nested draws may round by less than one row.
        assert abs(np.sum(y == 1) - share * len(y)) < 2


def test_another_seed_gives_another_split() -> None:
    first, second = (split_row_numbers(CANCER, 20, 20, seed) for seed in (0, 1))
    assert rows_of(first.X_train) != rows_of(second.X_train)


@pytest.mark.parametrize(
    ("n_train", "n_val", "message"),
    [
        (1, 5, r"n_train is 1; .* at least 2"),
        (5, 0, r"n_val is 0; .* at least 2"),
        (-3, 5, r"n_train is -3"),
        (2.5, 5, r"n_train is 2.5; pass a whole number"),
        (200, 23, r"200 \+ 23 = 223, .* at most 222 .* ask for fewer rows"),
    ],
)
def test_impossible_sizes_are_refused_by_name(n_train: int, n_val: int, message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        split(CANCER.X, CANCER.y, n_train, n_val, seed=0)


def test_the_largest_possible_draw_works() -> None:
    assert len(split(CANCER.X, CANCER.y, 200, 22, seed=0).y_val) == 22


def test_a_class_too_rare_for_the_training_set_is_refused() -> None:
    y = np.where(np.arange(100) < 8, 1.0, -1.0)
    with pytest.raises(InvalidInputError, match="training set of 3 rows would hold one class only"):
        split(np.zeros((100, 1)), y, 3, 20, seed=0)


def test_a_class_of_one_row_is_refused() -> None:
    y = np.where(np.arange(100) < 1, 1.0, -1.0)
    with pytest.raises(InvalidInputError, match=r"too few rows .* 1 of class 1 left of 100"):
        split(np.zeros((100, 1)), y, 10, 10, seed=0)


@pytest.mark.parametrize(("labels", "count"), [([1.0], 1), ([-1.0, 0.0, 1.0], 3)])
def test_labels_of_one_or_three_classes_are_refused(labels: list[float], count: int) -> None:
    with pytest.raises(InvalidInputError, match=f"y holds {count} distinct"):
        split(np.zeros((30, 1)), np.resize(labels, 30), 4, 4, seed=0)


def test_rows_and_labels_must_match() -> None:
    with pytest.raises(InvalidInputError, match=r"X has shape \(449, 9\) and y has shape \(448,\)"):
        split(CANCER.X, CANCER.y[1:], 5, 5, seed=0)


@pytest.mark.parametrize("seed", [-1, 2**32, 0.5, None])
def test_a_seed_that_names_no_instance_is_refused(seed: int) -> None:
    with pytest.raises(InvalidInputError, match="seed is"):
        split(CANCER.X, CANCER.y, 5, 5, seed)
