"""The benchmark of bilevel programs: who is wrong, what rivals say, and what the page says."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))

import bilevel
from bilevel import judged, large, text
from bilevel_rivals import fortuny_amat, sos1_gurobi
from catalogue import CATALOGUE

MEASURED = {"machine": "on a machine", "versions": []}


def claims(*rows: tuple[str, str, float | None, float | None]) -> pd.DataFrame:
    names = ["route", "status", "value", "attained"]
    return pd.DataFrame(rows, columns=names).assign(size=5, seed=0, seconds=0.1)


def test_a_value_that_the_decision_does_not_attain_is_wrong() -> None:
    rows = judged(claims(("a", "optimal", -3.0, -3.0), ("b", "optimal", -4.0, 2.0)))
    assert rows["wrong"].tolist() == [False, True]


def test_a_value_above_what_another_attains_is_wrong() -> None:
    rows = judged(claims(("a", "optimal", -2.0, -2.0), ("b", "time limit", -3.0, -3.0)))
    assert rows["wrong"].tolist() == [True, False]
    assert rows["proved"].tolist() == [False, False]


def test_a_program_with_a_decision_is_not_infeasible() -> None:
    rows = judged(claims(("a", "infeasible", None, None), ("b", "optimal", -3.0, -3.0)))
    assert rows["wrong"].tolist() == [True, False]


@pytest.mark.parametrize("name", ["candler_townsley_1982", "savard_1989", "bard_1991_price"])
def test_a_rival_is_given_the_same_program(name: str) -> None:
    published = next(problem for problem in CATALOGUE if problem.name == name)
    program = published.build().program()
    assert fortuny_amat(program, 1e3, 10.0).value == pytest.approx(published.optimistic)
    pytest.importorskip("gurobipy")
    assert sos1_gurobi(program, 10.0).value == pytest.approx(published.optimistic)


def test_a_drawn_program_is_the_same_again() -> None:
    first, second = large(5, 3), large(5, 3)
    assert np.array_equal(first.outer_cost, second.outer_cost)
    assert (first.followers[0].rows.inner != second.followers[0].rows.inner).nnz == 0


def test_the_page_counts_verdicts_and_leaves_out_what_was_not_measured() -> None:
    rows = pd.DataFrame(
        {"seed": [0, 1, 1], "view": "optimistic", "verdict": ["agrees", "agrees", "wrong"]}
        | {"truth": "optimal", "seconds": [0.1, 0.1, 0.3]}
    )
    page = text({"random": rows}, MEASURED)
    assert "| optimistic | 2 | 0 | 0 | 1 | 100.0 ms |" in page
    assert "Published problems" not in page


def test_the_random_part_is_a_thousand_programs() -> None:
    assert len(bilevel.factors("random", quick=False)) == 1000
