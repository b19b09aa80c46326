"""Means beside the paper's: small tables worked out by hand."""

from __future__ import annotations

import pandas as pd
import pytest

from pessimal.reproduction.report.readings import (
    LARGEST,
    SMALLEST,
    compare,
    evaluated,
    pessimistic,
    printed,
    summary,
)

PAPER = pd.DataFrame(
    {
        "data": ["cancer", "cancer"],
        "size": [5, 10],
        "pessimistic": [0.5, 0.75],
        "optimistic": [0.25, 0.5],
    }
)
READINGS = (pessimistic("all"), evaluated(LARGEST, "all"), evaluated(SMALLEST, "all"))


def rows() -> pd.DataFrame:
    """Two draws of two sizes: accuracies that are easy to average."""
    kinds = {
        ("pessimistic", SMALLEST): {5: (0.5, 1.0), 10: (0.5, 0.5)},
        ("pessimistic", LARGEST): {5: (9.0, 9.0), 10: (9.0, 9.0)},
        ("optimistic evaluated", LARGEST): {5: (0.0, 0.5), 10: (0.75, 0.75)},
        ("optimistic evaluated", SMALLEST): {5: (0.5, 0.5), 10: (0.25, 0.25)},
    }
    return pd.DataFrame(
        [
            {
                "data": "cancer",
                "size": size,
                "model": model,
                "tie_break": tie_break,
                "flip": "all",
                "test_accuracy": accuracy,
            }
            for (model, tie_break), sizes in kinds.items()
            for size, accuracies in sizes.items()
            for accuracy in accuracies
        ]
    )


@pytest.fixture(scope="module")
def compared() -> pd.DataFrame:
    return compare(rows(), PAPER, ("data", "size"), READINGS)


def test_each_reading_is_held_against_its_own_column(compared: pd.DataFrame) -> None:
    differences = compared.groupby("reading", sort=False)["difference"].apply(list).to_dict()
    assert differences == {
        "pessimistic": [0.25, -0.25],
        "evaluated optimistic, largest box": [0.0, 0.25],
        "evaluated optimistic, smallest box": [0.25, -0.25],
    }


def test_the_standard_error_is_that_of_the_mean(compared: pd.DataFrame) -> None:
    # Of 0.5 and 1.0: deviation 0.25·√2, divided by √2.
    assert compared["standard_error"].iloc[0] == pytest.approx(0.25)


def test_the_summary_averages_absolute_differences(compared: pd.DataFrame) -> None:
    line = summary(compared).iloc[0]
    assert line["lines"] == 2
    assert line["mean_absolute_difference"] == 0.25
    assert line["mean_difference"] == 0.0


def test_print_puts_readings_side_by_side(compared: pd.DataFrame) -> None:
    optimistic = compared[compared["reading"] != "pessimistic"]
    wide = printed(optimistic, ("data", "size"))
    assert wide["paper"].to_list() == [0.25, 0.5]
    assert wide["smallest box ours"].to_list() == [0.5, 0.25]
    assert wide["largest box difference"].to_list() == [0.0, 0.25]


def test_sizes_that_only_one_side_has_are_left_out() -> None:
    few = compare(rows(), PAPER[PAPER["size"] == 5], ("data", "size"), READINGS[:1])
    assert few["size"].to_list() == [5]
