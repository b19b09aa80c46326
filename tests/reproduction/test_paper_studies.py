"""The studies as declared, and the rows of single configurations."""

from __future__ import annotations

import json
import pickle
from collections.abc import Sequence
from typing import Any

import pandas as pd
import pytest

from pessimal import load_cancer, load_diabetes, solve_optimistic, solve_pessimistic
from pessimal.datasets import paper_split
from pessimal.reproduction import studies
from pessimal.reproduction.candidates import PLAIN, SEARCHED
from pessimal.reproduction.instances import tuning_problem
from pessimal.reproduction.study import Configuration, Row, Study

STUDIES = [studies.limited_data, studies.perturbed, studies.quality]

LIMITED: Configuration = {"data": "cancer", "n_train": 10, "n_val": 10, "seed": 2}
ATTACKED: Configuration = {
    "data": "diabetes",
    "n_train": 10,
    "n_val": 10,
    "seed": 0,
    "rho_val": 0.3,
    "epsilon": 0.2,
    "node_limit": 200,
}


def frame(rows: Sequence[Row]) -> pd.DataFrame:
    return pd.DataFrame([dict(row) for row in rows])


@pytest.fixture(scope="module")
def limited_rows() -> pd.DataFrame:
    return frame(studies.run_limited_data(LIMITED))


@pytest.fixture(scope="module")
def perturbed_rows() -> pd.DataFrame:
    return frame(studies.run_perturbed({**ATTACKED, "epsilon": 0.0}))


@pytest.mark.parametrize("declare", STUDIES)
@pytest.mark.parametrize("quick", [True, False])
def test_configurations_are_distinct_plain_records_and_seeds_count_from_zero(
    declare: Any, quick: bool
) -> None:
    study: Study = declare(quick=quick)
    texts = [
        json.dumps(dict(configuration), sort_keys=True) for configuration in study.configurations
    ]
    assert len(set(texts)) == len(texts)
    seeds = {int(str(configuration["seed"])) for configuration in study.configurations}
    assert seeds == set(range(len(seeds)))
    assert pickle.loads(pickle.dumps(study.run)) is study.run


@pytest.mark.parametrize("declare", STUDIES)
def test_the_quick_version_has_fewer_configurations_of_both_data_sets(declare: Any) -> None:
    full, quick = declare(), declare(quick=True)
    assert len(quick.configurations) < len(full.configurations)
    assert {configuration["data"] for configuration in quick.configurations} == {
        "cancer",
        "diabetes",
    }


def test_the_grids_are_those_of_the_paper() -> None:
    limited = frame(studies.limited_data().configurations)
    assert set(limited["n_train"]) == set(limited["n_val"]) == {5, 10, 15, 20}
    assert limited["seed"].nunique() == 10
    attacked = frame(studies.perturbed(size=30).configurations)
    assert set(attacked["n_train"]) == set(attacked["n_val"]) == {30}
    assert set(attacked["epsilon"]) == {0.0, 0.1, 0.2, 0.3, 0.4, 0.6}
    assert set(attacked["rho_val"]) == {0.0, 0.3}
    assert attacked["seed"].nunique() == 5
    assert frame(studies.quality().configurations)["rho_val"].nunique() == 3


@pytest.mark.parametrize(
    ("run", "configuration"),
    [
        (studies.run_limited_data, LIMITED),
        (studies.run_perturbed, ATTACKED),
        (studies.run_quality, ATTACKED),
    ],
)
def test_a_configuration_gives_the_same_rows_again_even_from_storage(
    run: Any, configuration: Configuration
) -> None:
    stored = json.loads(json.dumps(dict(configuration)))
    assert json.dumps(run(configuration)) == json.dumps(run(stored))


def test_limited_rows_hold_the_accuracy_of_both_views(limited_rows: pd.DataFrame) -> None:
    split = paper_split(load_cancer(), n_train=10, n_val=10, seed=2)
    problem = tuning_problem(split)
    for name, solution in (
        ("optimistic", solve_optimistic(problem)),
        ("pessimistic", solve_pessimistic(problem, flip="all")),
    ):
        correct = (split.X_test @ solution.coef + solution.intercept) * split.y_test > 0.0
        own = limited_rows[limited_rows["model"] == name]
        assert own["test_accuracy"].to_list() == pytest.approx([correct.mean()] * 2)
        assert own["proved"].all()


def test_limited_rows_have_every_model_and_column(limited_rows: pd.DataFrame) -> None:
    views = {f"{view}{end}" for view in ("optimistic", "pessimistic") for end in ("", " evaluated")}
    assert set(limited_rows["model"]) == views | {PLAIN, *SEARCHED}
    tuned = limited_rows[limited_rows["model"].isin(views)]
    assert tuned.notna().all(axis=None)
    assert {"worst_flip", "worst_exact", "worst_exact_bound"} <= set(tuned.columns)


def test_perturbed_rows_have_every_model_at_every_radius(perturbed_rows: pd.DataFrame) -> None:
    counts = perturbed_rows.groupby(["model", "tie_break", "flip"], dropna=False)["rho_test"]
    assert (counts.nunique() == 7).all()
    assert (counts.size() == 7).all()
    assert {PLAIN, *SEARCHED} <= set(perturbed_rows["model"])


def test_baselines_are_tested_once_a_draw() -> None:
    with_tolerance = frame(studies.run_perturbed(ATTACKED))
    assert PLAIN not in set(with_tolerance["model"])


def test_without_attack_the_accuracy_is_that_on_the_test_rows() -> None:
    clean = frame(studies.run_perturbed({**ATTACKED, "epsilon": 0.0, "rho_val": 0.0}))
    split = paper_split(load_diabetes(), n_train=10, n_val=10, seed=0)
    optimistic = solve_optimistic(tuning_problem(split))
    correct = (split.X_test @ optimistic.coef + optimistic.intercept) * split.y_test > 0.0
    own = clean[(clean["model"] == "optimistic") & (clean["rho_test"] == 0.0)]
    assert own["test_accuracy"].to_list() == pytest.approx([correct.mean()] * 2)


def test_a_search_that_hits_its_node_limit_says_so() -> None:
    configuration = {**ATTACKED, "n_train": 30, "n_val": 30, "node_limit": 50}
    rows = frame(studies.run_perturbed(configuration))
    assert not rows[rows["model"] == "pessimistic"]["proved"].any()
    gap = rows["objective"] - rows["lower_bound"]
    assert (gap[rows["model"] == "pessimistic"] > 0.0).all()


def test_quality_rows_have_one_line_a_box_with_exact_worst_cases() -> None:
    rows = frame(studies.run_quality(ATTACKED))
    assert rows[["model", "tie_break"]].value_counts().to_dict() == {
        (view, box): 1
        for view in ("optimistic", "pessimistic")
        for box in ("smallest_box", "largest_box")
    }
    assert (rows["worst_flip"] <= rows["worst_exact"] + 1e-6).all()
