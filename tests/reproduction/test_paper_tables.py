"""The paper's tables, digit for digit where a reader can check them."""

from __future__ import annotations

import pytest

from pessimal.reproduction.report.readings import paper_table

A1_CORNERS = {
    ("cancer", 5, 5): (0.861, 0.066, 0.600, 0.199),
    ("cancer", 10, 5): (0.885, 0.038, 0.553, 0.174),
    ("cancer", 20, 20): (0.928, 0.015, 0.886, 0.031),
    ("diabetes", 5, 5): (0.674, 0.022, 0.542, 0.097),
    ("diabetes", 15, 10): (0.731, 0.031, 0.689, 0.059),
    ("diabetes", 20, 20): (0.741, 0.016, 0.741, 0.016),
}


def test_table_1_has_the_sizes_of_the_data_sets() -> None:
    assert paper_table("1").to_numpy().tolist() == [
        ["diabetes", 768, 384, 8],
        ["cancer", 449, 225, 9],
    ]


@pytest.mark.parametrize("key", list(A1_CORNERS))
def test_table_a1_has_the_printed_accuracies(key: tuple[str, int, int]) -> None:
    table = paper_table("a1").set_index(["data", "n_val", "n_train"])
    assert tuple(table.loc[key]) == A1_CORNERS[key]


def test_table_a1_covers_the_grid_once() -> None:
    table = paper_table("a1")
    assert len(table) == 32
    assert not table.duplicated(["data", "n_val", "n_train"]).any()


@pytest.mark.parametrize(
    ("name", "rho_val", "first", "last"),
    [
        ("a2", 0.0, (0.938, 0.007, 0.930, 0.021), (0.629, 0.027, 0.633, 0.035)),
        ("a3", 0.3, (0.945, 0.080, 0.933, 0.013), (0.633, 0.051, 0.627, 0.057)),
    ],
)
def test_tables_a2_and_a3_have_seven_radii_of_each_data_set(
    name: str, rho_val: float, first: tuple[float, ...], last: tuple[float, ...]
) -> None:
    table = paper_table(name)  # type: ignore[arg-type]
    assert (table["rho_val"] == rho_val).all()
    assert table["rho_test"].to_list() == [0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6] * 2
    assert tuple(table.iloc[0, 3:]) == first
    assert tuple(table.iloc[-1, 3:]) == last
