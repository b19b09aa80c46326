"""The two UCI data sets have the sizes of the paper's Table 1 and the files' own contents."""

import csv
from collections.abc import Callable
from importlib import resources

import numpy as np
import pytest

from pessimal.datasets import Dataset, load_cancer, load_diabetes


def raw_rows(file: str) -> list[dict[str, str]]:
    path = resources.files("pessimal.datasets") / "data" / file
    return list(csv.DictReader(path.read_text(encoding="utf-8").splitlines()))


@pytest.mark.parametrize(
    ("load", "n_rows", "n_features", "n_negative", "n_positive"),
    [(load_cancer, 449, 9, 213, 236), (load_diabetes, 768, 8, 500, 268)],
)
def test_sizes_are_those_of_the_paper(
    load: Callable[[], Dataset], n_rows: int, n_features: int, n_negative: int, n_positive: int
) -> None:
    data = load()
    assert data.X.shape == (n_rows, n_features)
    assert data.X.dtype == np.float64
    assert len(data.feature_names) == n_features
    assert (np.sum(data.y == -1), np.sum(data.y == 1)) == (n_negative, n_positive)
    assert len(data.y) == n_rows


def test_cancer_keeps_the_first_of_equal_complete_rows_in_file_order() -> None:
    data = load_cancer()
    kept: dict[tuple[float, ...], float] = {}
    for row in raw_rows("breast_cancer_wisconsin_original.csv"):
        cells = [row[name] for name in data.feature_names]
        if all(cells):
            label = 1.0 if row["class"] == "malignant" else -1.0
            kept.setdefault(tuple(map(float, cells)), label)
    np.testing.assert_array_equal(data.X, list(kept))
    np.testing.assert_array_equal(data.y, list(kept.values()))


def test_diabetes_drops_and_scales_nothing() -> None:
    data = load_diabetes()
    rows = raw_rows("pima_indians_diabetes.csv")
    expected = [[float(row[name]) for name in data.feature_names] for row in rows]
    np.testing.assert_array_equal(data.X, expected)
    np.testing.assert_array_equal(data.y, [1 if row["diabetes"] == "pos" else -1 for row in rows])


def test_neither_identifier_nor_class_is_a_feature() -> None:
    names = {*load_cancer().feature_names, *load_diabetes().feature_names}
    assert names.isdisjoint({"id", "class", "diabetes", "label"})


@pytest.mark.parametrize("load", [load_cancer, load_diabetes])
def test_arrays_cannot_be_changed_by_accident(load: Callable[[], Dataset]) -> None:
    data = load()
    with pytest.raises(ValueError, match="read-only"):
        data.X[0, 0] = 0.0
    with pytest.raises(ValueError, match="read-only"):
        data.y[0] = 0.0
