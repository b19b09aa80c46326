"""The benchmark of solvers: rows are stored, a run resumes, the report judges disagreements."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))

import page
import solvers
from comparison import comparable, losses, summarise
from instances import VIEWS, Instance, grid, large, wide
from machine import Machine
from rows import FAILED, LIMIT, OURS, PROVED, TOO_LARGE, Row, Store, by_instance
from verdicts import wrong_claims
from workers import Worker

INSTANCE = Instance("grid", "diabetes", 20, 20, 100, "pessimistic", 0.0)
MACHINE = Machine("a processor", 2, 8.0, "Linux", "CPython", {"numpy": "2"})


def row(solver: str, seconds: float, objective: float, **fields: Any) -> Row:
    values: dict[str, Any] = {
        "status": PROVED,
        "limit": 60.0,
        "bound": objective,
        "certified": objective,
        "inner_gap": 0.0,
    }
    return Row(
        instance=INSTANCE,
        solver=solver,
        version="1",
        seconds=seconds,
        objective=objective,
        **(values | fields),
    )


def group(*rows: Row) -> dict[Instance, dict[str, Row]]:
    return by_instance(rows)


def write_page(*rows: Row) -> str:
    return page.write(page.Evidence(rows, MACHINE, [], ["python benchmarks/solvers.py"]))


def test_the_grid_has_every_size_data_set_and_view_once_a_seed() -> None:
    instances = list(grid([100, 101, 102]))
    assert len(instances) == len({instance.key for instance in instances}) == 2 * 16 * 3 * 3


def test_the_transfer_size_has_its_own_upper_limit() -> None:
    problems = {instance.data: instance.problem() for instance in wide([100])}
    assert {p.n_features: p.upper.max() for p in problems.values()} == {20: 1, 50: 1, 100: 2.5}


def test_large_instances_can_be_drawn() -> None:
    assert {instance.problem().n_train for instance in large([100])} == {30, 50, 100}


def test_a_worker_returns_rows_of_ours_and_highs_that_agree() -> None:
    instances = [Instance("grid", "diabetes", 5, 5, 100, *view) for view in VIEWS[:2]]
    found = {}
    for solver in (OURS, "highs"):
        with Worker(solver) as worker:
            found[solver] = [worker.solve(instance, 20.0) for instance in instances]
    for ours, highs in zip(found[OURS], found["highs"], strict=True):
        assert ours.status == highs.status == PROVED
        assert ours.objective == pytest.approx(highs.objective, abs=1e-6)
        assert highs.certified == pytest.approx(highs.objective, abs=1e-6)
        assert ours.certified is not None
        assert highs.version.startswith("HiGHS")


def test_a_dead_worker_gives_a_failed_row_and_the_next_one_starts_afresh() -> None:
    instance = Instance("grid", "cancer", 5, 5, 100, "optimistic", 0.0)
    with Worker(OURS) as worker:
        worker.solve(instance, 20.0)
        assert worker._process is not None
        worker._process.kill()
        dead = worker.solve(instance, 20.0)
        assert dead.status == FAILED
        assert "exit code -9" in dead.message
        assert worker.solve(instance, 20.0).status == PROVED


def test_a_second_run_skips_what_is_stored_and_retries_failures(tmp_path: Path) -> None:
    store = Store(tmp_path / "rows.jsonl")
    options = solvers._parse(["--seeds", "100", "--solvers", "pessimal,highs"])
    everything = list(solvers.tasks(options, store.done()))
    (first, _, _), (second, _, _) = everything[:2]
    store.add(replace(row(OURS, 1.0, 0.1), instance=first))
    store.add(replace(row("highs", 1.0, 0.1), instance=second, status=FAILED))
    left = list(solvers.tasks(options, store.done()))
    assert left == everything[1:]


def test_slow_solvers_have_their_own_limits_and_seeds() -> None:
    words = ["--seeds", "100,101", "--solver-limit", "scip=5", "--solver-seeds", "scip=1"]
    options = solvers._parse([*words, "--solvers", "cplex,scip"])
    asked = {(task.seed, solver, limit) for task, solver, limit in solvers.tasks(options, set())}
    assert asked == {(100, "cplex", 60.0), (101, "cplex", 60.0), (100, "scip", 5.0)}


def test_a_line_cut_short_by_a_kill_is_dropped(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    Store(path).add(row(OURS, 1.0, 0.25))
    with path.open("a", encoding="utf-8") as file:
        file.write('{"instance": {"suite"')
    store = Store(path)
    store.add(row("highs", 2.0, 0.25))
    assert store.rows() == [row(OURS, 1.0, 0.25), row("highs", 2.0, 0.25)]


def test_rows_of_another_build_are_not_added_to(tmp_path: Path) -> None:
    notes = {"machine": {"cpu": "another"}, "start_ups": [], "commands": []}
    (tmp_path / "run.json").write_text(json.dumps(notes), encoding="utf-8")
    with pytest.raises(SystemExit, match="another build"):
        solvers.main(["--quick", "--solvers", "pessimal", "--out", str(tmp_path)])


def test_a_value_above_a_certified_point_is_wrong() -> None:
    capped = row("cplex", 2.0, 0.4248, multiplier_cap=1000.0)
    (claim,) = wrong_claims({OURS: row(OURS, 0.1, 0.4235), "cplex": capped})
    assert claim.row == capped
    assert claim.reference == 0.4235
    assert "caps λ at 1000" in claim.reason


def test_a_value_below_a_proved_one_is_wrong_if_its_point_fails_the_certificate() -> None:
    leaking = row("gurobi", 2.0, 0.30, certified=None, inner_gap=1e-3)
    (claim,) = wrong_claims({OURS: row(OURS, 0.1, 0.35), "gurobi": leaking})
    assert claim.row == leaking
    assert "1.0e-03" in claim.reason


def test_ours_is_the_wrong_one_when_another_point_is_better_and_certified() -> None:
    ours = row(OURS, 0.1, 0.35)
    (claim,) = wrong_claims({OURS: ours, "gurobi": row("gurobi", 2.0, 0.30)})
    assert claim.row == ours


def test_a_bound_at_the_limit_above_a_certified_point_is_wrong() -> None:
    ours = row(OURS, 60.0, 0.5, status=LIMIT, bound=0.4)
    (claim,) = wrong_claims({OURS: ours, "cplex": row("cplex", 1.0, 0.3)})
    assert claim.row == ours


def test_differences_within_the_tolerance_are_no_disagreement() -> None:
    loose = row("scip", 1.0, 0.3500005, certified=None, inner_gap=2e-6)
    assert wrong_claims({OURS: row(OURS, 0.1, 0.35), "scip": loose}) == []


def test_times_are_cut_at_the_smaller_limit() -> None:
    slow = group(row(OURS, 25.0, 0.3), row("highs", 10.0, 0.4, status=LIMIT, limit=10.0, bound=0))
    assert comparable(slow, "highs") == []
    fast = group(row(OURS, 0.5, 0.3), row("highs", 10.0, 0.4, status=LIMIT, limit=10.0, bound=0))
    (pair,) = comparable(fast, "highs")
    assert pair.ratio == 20.0


def test_a_solver_stopped_by_the_clock_counts_as_the_time_it_had() -> None:
    stopped = row("cplex", 8.0, 0.4, status=LIMIT, limit=20.0, bound=0.0)
    (pair,) = comparable(group(row(OURS, 2.0, 0.3), stopped), "cplex")
    assert pair.ratio == 4.0
    assert comparable(group(row(OURS, 9.0, 0.3), stopped), "cplex") == []


def test_a_solver_that_proves_what_ours_does_not_is_a_loss() -> None:
    ours = row(OURS, 60.1, 0.3, status=LIMIT, bound=0.1)
    (loss,) = losses(group(ours, row("cplex", 30.0, 0.3)))
    assert loss.ratio == 0.5


def test_wrong_answers_have_no_ratio_and_are_not_proved() -> None:
    found = group(row(OURS, 0.1, 0.3), row("cplex", 1.0, 0.4))
    summary = summarise(found, "cplex")
    assert summary is not None
    assert (summary.proved, summary.wrong, summary.median_ratio) == (0, 1, None)


def test_the_page_shows_figures_losses_wrong_answers_and_failures() -> None:
    text = write_page(
        row(OURS, 0.1, 0.3),
        row("cplex", 0.05, 0.3),
        row("gurobi", 2.0, 0.4),
        replace(row("scip", 1.0, 0.3), status=FAILED, seconds=None, message="exit code -11"),
        replace(row("highs", 1.0, 0.3), status=TOO_LARGE, seconds=None),
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
        replace(row(OURS, 0.1, 0.2), instance=cancer),
        replace(row("cplex", 0.4, 0.2), instance=cancer),
    )
    (both,) = [line for line in text.split("\n") if "| both data sets | cplex |" in line]
    assert both.endswith("| 2 | 100 % | 0 | 1.2 s | 2.0 s | 12× | 12× |")


def test_the_longest_check_on_the_grid_is_shown() -> None:
    large = replace(INSTANCE, suite="large", n_train=100, n_val=100)
    text = write_page(
        row(OURS, 0.1, 0.3, certificate_seconds=0.001),
        replace(row(OURS, 0.1, 0.3, certificate_seconds=0.2), instance=large),
    )
    assert f"| {OURS} | 100.5 ms | 1.0 ms |" in text


def test_the_report_is_written_from_stored_rows_alone(tmp_path: Path) -> None:
    store = Store(tmp_path / "rows.jsonl")
    store.add(row(OURS, 0.1, 0.3))
    store.add(row("cplex", 1.0, 0.3))
    notes = {"machine": vars(MACHINE), "start_ups": [], "commands": []}
    (tmp_path / "run.json").write_text(json.dumps(notes), encoding="utf-8")
    solvers.main(["--report", "--out", str(tmp_path), "--page", str(tmp_path / "docs")])
    assert "a processor" in (tmp_path / "docs" / "benchmarks.md").read_text(encoding="utf-8")
    assert (tmp_path / "docs" / "images" / "solvers.png").stat().st_size > 0
    assert (tmp_path / "docs" / "images" / "solvers.svg").stat().st_size > 0
