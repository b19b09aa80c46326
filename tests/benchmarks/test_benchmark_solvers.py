"""The benchmark of solvers: rows are stored, a run resumes, the report judges disagreements."""

from __future__ import annotations

import math
import os
import signal
import sys
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))

import candidates
import solvers
from instances import VIEWS, Instance, instances
from judging import (
    CONFIGURATION,
    FAILED,
    LIMIT,
    OURS,
    PROVED,
    TOO_LARGE,
    comparable,
    judge,
    losses,
    summarise,
    table_of,
)
from measuring import STORE_NAME

from pessimal.environment import measured_version
from pessimal.reproduction import Configuration, Store, Study
from pessimal.reproduction.store import encode

INSTANCE = Instance("grid", "diabetes", 20, 20, 100, "pessimistic", 0.0)
MACHINE = {"machine": "a processor", "system": "Linux", "Python": "3.11", "pessimal": "1"}
MACHINE |= {"numpy": "2", "scipy": "1", "cvxpy": "1"}

Row = dict[str, Any]


def row(
    solver: str, seconds: float | None, objective: float, on: Instance = INSTANCE, **fields: Any
) -> Row:
    values = {"status": PROVED, "limit": 60.0, "bound": objective, "certified": objective}
    found = {"version": "1", "seconds": seconds, "objective": objective, "inner_gap": 0.0}
    return {**asdict(on), "solver": solver, **values, **found, **fields}


def group(*rows: Row) -> pd.DataFrame:
    return judge(table_of(rows))


def wrong_claim(*rows: Row) -> Any:
    """Return the one wrong claim among rows."""
    judged = group(*rows)
    (claim,) = judged[judged["wrong"]].itertuples()
    return claim


def write_page(*rows: Row) -> str:
    measured = {"machine": "on a machine", "versions": [], "commands": []}
    return solvers.text(table_of(rows), [], measured)


def store_rows(folder: Path, *rows: Row, version: str | None = None) -> None:
    study = Study(solvers.STUDY, tuple(map(configuration, rows)), candidates.run)
    with Store(folder / STORE_NAME) as store:
        run = store.begin(
            study, version or measured_version(), command="a command", environment=MACHINE
        )
        for found in rows:
            at = configuration(found)
            kept = {name: value for name, value in found.items() if name not in at}
            store.add(run, at, encode([kept]), seconds=0.0, elapsed=0.0)


def configuration(row: Row) -> Configuration:
    return {name: row[name] for name in CONFIGURATION}


def test_the_grid_has_every_size_data_set_and_view_once_a_seed() -> None:
    found = list(instances("grid", [100, 101, 102]))
    assert len(found) == len({instance.key for instance in found}) == 2 * 16 * 3 * 3


def test_the_transfer_size_has_its_own_upper_limit() -> None:
    problems = {instance.data: instance.problem() for instance in instances("wide", [100])}
    assert {p.n_features: p.upper.max() for p in problems.values()} == {20: 1, 50: 1, 100: 2.5}


def test_large_instances_can_be_drawn() -> None:
    problems = [instance.problem() for instance in instances("large", [100])]
    assert {problem.n_train for problem in problems} == {30, 40, 60, 100}


def test_ours_and_highs_agree() -> None:
    for view in VIEWS[:2]:
        instance = Instance("grid", "diabetes", 5, 5, 100, *view)
        ours, highs = (candidates.solve(instance, solver, 20.0) for solver in (OURS, "highs"))
        assert ours["status"] == highs["status"] == PROVED
        assert ours["objective"] == pytest.approx(highs["objective"], abs=1e-6)
        assert highs["certified"] == pytest.approx(highs["objective"], abs=1e-6)
        assert ours["certified"] is not None
        assert highs["version"].startswith("HiGHS")


def die(_: Configuration) -> list[dict[str, str]]:
    os.kill(os.getpid(), signal.SIGKILL)
    return []


def test_a_dead_worker_gives_a_failed_row_and_the_next_run_solves_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    instance = Instance("grid", "cancer", 5, 5, 100, "optimistic", 0.0)
    task = {**asdict(instance), "solver": OURS, "limit": 20.0}
    with Store(tmp_path / STORE_NAME) as store:
        with monkeypatch.context() as patch:
            patch.setattr(candidates, "run", die)
            solvers.run([task], store, 1, "a command")
        (dead,) = solvers.stored_rows(store).itertuples()
        assert dead.status == FAILED
        assert "its worker process died" in dead.message
        solvers.run([task], store, 1, "a command")
        (solved,) = solvers.stored_rows(store).itertuples()
    assert solved.status == PROVED
    assert math.isnan(solved.memory_peak) or solved.memory_peak > 0.0


def test_a_second_run_skips_what_is_stored_and_retries_failures(tmp_path: Path) -> None:
    options = solvers._parse(["--seeds", "100", "--solvers", "pessimal,highs"])
    everything = list(solvers.tasks(options, table_of([])))
    (first, second), own = everything[:2], {"objective": 0.1, "certified": 0.1}
    solved, failed = {**first, **own, "status": PROVED}, {**second, **own, "status": FAILED}
    store_rows(tmp_path, solved, failed)
    with Store(tmp_path / STORE_NAME) as store:
        left = list(solvers.tasks(options, solvers.stored_rows(store)))
    assert left == everything[1:]


def test_slow_solvers_have_their_own_limits_and_seeds() -> None:
    words = ["--seeds", "100,101", "--solver-limit", "scip=5", "--solver-seeds", "scip=1"]
    options = solvers._parse([*words, "--solvers", "cplex,scip"])
    asked = {
        (task["seed"], task["solver"], task["limit"])
        for task in solvers.tasks(options, table_of([]))
    }
    assert asked == {(100, "cplex", 60.0), (101, "cplex", 60.0), (100, "scip", 5.0)}


def test_rows_of_all_runs_count_and_the_later_of_two(tmp_path: Path) -> None:
    store_rows(tmp_path, row(OURS, 1.0, 0.25))
    store_rows(tmp_path, row("highs", 2.0, 0.25))
    with Store(tmp_path / STORE_NAME) as store:
        rows = solvers.stored_rows(store)
    pd.testing.assert_frame_equal(rows, table_of([row(OURS, 1.0, 0.25), row("highs", 2.0, 0.25)]))
    later = table_of([row(OURS, 1.0, 0.25, limit=10.0), row(OURS, 2.0, 0.25)])
    assert later["seconds"].tolist() == [2.0]


def test_rows_of_another_build_are_not_added_to(tmp_path: Path) -> None:
    store_rows(tmp_path, row(OURS, 1.0, 0.25), version="another")
    with Store(tmp_path / STORE_NAME) as store, pytest.raises(SystemExit, match="another build"):
        solvers.run([configuration(row(OURS, 1.0, 0.25))], store, 1, "a command")


def test_results_of_earlier_versions_are_refused_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "rows.jsonl").write_text("{}", encoding="utf-8")
    with pytest.raises(SystemExit, match=r"no measurements.*measure again"):
        solvers.main(["--report", "--out", str(tmp_path)])


def test_a_value_above_a_certified_point_is_wrong() -> None:
    capped = row("cplex", 2.0, 0.4248, multiplier_cap=1000.0)
    claim = wrong_claim(row(OURS, 0.1, 0.4235), capped)
    assert claim.solver == "cplex"
    assert claim.reference == 0.4235
    assert "caps λ at 1000" in write_page(row(OURS, 0.1, 0.4235), capped)


def test_a_value_below_a_proved_one_is_wrong_if_its_point_fails_the_certificate() -> None:
    leaking = row("gurobi", 2.0, 0.30, certified=None, inner_gap=1e-3)
    claim = wrong_claim(row(OURS, 0.1, 0.35), leaking)
    assert (claim.solver, claim.reference) == ("gurobi", 0.35)
    assert "1.0e-03" in write_page(row(OURS, 0.1, 0.35), leaking)


def test_ours_is_the_wrong_one_when_another_point_is_better_and_certified() -> None:
    claim = wrong_claim(row(OURS, 0.1, 0.35), row("gurobi", 2.0, 0.30))
    assert claim.solver == OURS


def test_a_bound_at_the_limit_above_a_certified_point_is_wrong() -> None:
    ours = row(OURS, 60.0, 0.5, status=LIMIT, bound=0.4)
    claim = wrong_claim(ours, row("cplex", 1.0, 0.3))
    assert claim.solver == OURS


def test_differences_within_the_tolerance_are_no_disagreement() -> None:
    loose = row("scip", 1.0, 0.3500005, certified=None, inner_gap=2e-6)
    assert not group(row(OURS, 0.1, 0.35), loose)["wrong"].any()


def test_times_are_cut_at_the_smaller_limit() -> None:
    slow = group(row(OURS, 25.0, 0.3), row("highs", 10.0, 0.4, status=LIMIT, limit=10.0, bound=0))
    assert comparable(slow).empty
    fast = group(row(OURS, 0.5, 0.3), row("highs", 10.0, 0.4, status=LIMIT, limit=10.0, bound=0))
    assert comparable(fast)["ratio"].tolist() == [20.0]


def test_a_solver_stopped_by_the_clock_counts_as_the_time_it_had() -> None:
    stopped = row("cplex", 8.0, 0.4, status=LIMIT, limit=20.0, bound=0.0)
    assert comparable(group(row(OURS, 2.0, 0.3), stopped))["ratio"].tolist() == [4.0]
    assert comparable(group(row(OURS, 9.0, 0.3), stopped)).empty


def test_a_solver_that_proves_what_ours_does_not_is_a_loss() -> None:
    ours = row(OURS, 60.1, 0.3, status=LIMIT, bound=0.1)
    assert losses(group(ours, row("cplex", 30.0, 0.3)))["ratio"].tolist() == [0.5]


def test_wrong_answers_have_no_ratio_and_are_not_proved() -> None:
    found = group(row(OURS, 0.1, 0.3), row("cplex", 1.0, 0.4))
    summary = summarise(found, ["solver"]).loc["cplex"]
    assert (summary.proved, summary.wrong) == (0, 1)
    assert math.isnan(summary.ratio)


def test_the_page_shows_figures_losses_wrong_answers_and_failures() -> None:
    text = write_page(
        row(OURS, 0.1, 0.3),
        row("cplex", 0.05, 0.3),
        row("gurobi", 2.0, 0.4),
        row("scip", None, 0.3, status=FAILED, message="exit code -11"),
        row("highs", None, 0.3, status=TOO_LARGE),
    )
    assert "| pessimistic, ε = 0 | diabetes | cplex | 1 | 100 % | 0 | 50.0 ms |" in text
    assert "| cplex | 50.0 ms | 100.0 ms |" in text.split("## Where ours is slower")[1]
    assert "| gurobi | 0.4000000 | 0.3000000 |" in text.split("## Wrong answers")[1]
    assert "exit code -11" in text.split("## Failures")[1]
    assert "| highs | 1 | too large for the licence |" in text


def test_the_grid_is_summed_up_over_both_data_sets() -> None:
    cancer = replace(INSTANCE, data="cancer")
    text = write_page(
        row(OURS, 0.1, 0.3),
        row("cplex", 2.0, 0.3),
        row(OURS, 0.1, 0.2, on=cancer),
        row("cplex", 0.4, 0.2, on=cancer),
    )
    (both,) = [line for line in text.split("\n") if "| both data sets | cplex |" in line]
    assert both.endswith("| 2 | 100 % | 0 | 1.2 s | 2.0 s |  | 12× | 12× |")


def test_the_longest_check_on_the_grid_is_shown() -> None:
    large = replace(INSTANCE, suite="large", n_train=100, n_val=100)
    text = write_page(
        row(OURS, 0.1, 0.3, certificate_seconds=0.001),
        row(OURS, 0.1, 0.3, on=large, certificate_seconds=0.2),
    )
    assert f"| {OURS} | 100.5 ms | 1.0 ms |" in text


def test_the_report_is_written_from_stored_rows_alone(tmp_path: Path) -> None:
    store_rows(tmp_path, row(OURS, 0.1, 0.3), row("cplex", 1.0, 0.3))
    solvers.main(["--report", "--out", str(tmp_path), "--page", str(tmp_path / "docs")])
    assert "a processor" in (tmp_path / "docs" / "benchmarks.md").read_text(encoding="utf-8")
    assert (tmp_path / "docs" / "images" / "solvers.png").stat().st_size > 0
    assert (tmp_path / "docs" / "images" / "solvers.svg").stat().st_size > 0
