"""``reproduce`` and ``report`` pass on what they are told and say what became of it."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from command import run_command

from pessimal.reproduction import (
    STUDIES,
    Failure,
    ReproduceResult,
    RunResult,
    Store,
    Study,
    Tally,
)
from pessimal.reproduction.store import STORE_NAME

Asked = dict[str, object]


@pytest.fixture
def studies(monkeypatch: pytest.MonkeyPatch) -> Callable[[ReproduceResult | None], Asked]:
    """Stand in for the studies, which take minutes: remember what was asked, answer as told."""

    def stand_in(result: ReproduceResult | None) -> Asked:
        asked: Asked = {}

        def reproduce(names: object, out: object, **options: object) -> ReproduceResult:
            asked.update(options, names=names, out=out)
            if result is None:
                raise KeyboardInterrupt
            return result

        def write_report(folder: Path) -> Path:
            asked["reported"] = folder
            return folder / "index.html"

        monkeypatch.setattr("pessimal.reproduction.reproduce", reproduce)
        monkeypatch.setattr("pessimal.reproduction.report.write_report", write_report)
        return asked

    return stand_in


def ended(*failures: Failure) -> ReproduceResult:
    tally = Tally(
        "quality", configurations=3, stored=0, done=3 - len(failures), failed=0, seconds=1.0
    )
    return ReproduceResult(Path("store"), (RunResult(tally, failures),))


def test_all_studies_are_run_and_reported(
    studies: Callable[[ReproduceResult | None], Asked], tmp_path: Path
) -> None:
    asked = studies(ended())
    done = run_command("reproduce", "--quick", "--jobs", "2", "--out", tmp_path)
    assert done.code == 0
    assert asked["names"] == tuple(STUDIES)
    assert (asked["quick"], asked["jobs"], asked["cluster"]) == (True, 2, None)
    assert asked["out"] == asked["reported"] == tmp_path
    assert f"Report written to {tmp_path / 'index.html'}." in done.out


def test_one_study_goes_to_a_cluster(
    studies: Callable[[ReproduceResult | None], Asked], tmp_path: Path
) -> None:
    asked = studies(ended())
    address = "tcp://somewhere:8786"
    assert run_command("reproduce", "quality", "--cluster", address, "--out", tmp_path).code == 0
    assert (asked["names"], asked["cluster"]) == (("quality",), address)


def test_options_of_a_study_reach_it(
    studies: Callable[[ReproduceResult | None], Asked], tmp_path: Path
) -> None:
    asked = studies(ended())
    done = run_command("reproduce", "--size", "30", "--data", tmp_path, "--out", tmp_path)
    assert done.code == 0
    assert asked["options"] == {
        "perturbed": {"size": 30},
        "quality": {"size": 30},
        "transfer": {"data": tmp_path},
    }


def test_configurations_that_failed_are_named_and_the_rest_is_reported(
    studies: Callable[[ReproduceResult | None], Asked], tmp_path: Path
) -> None:
    asked = studies(ended(Failure({"seed": 7}, "out of [memory]")))
    done = run_command("reproduce", "quality", "--out", tmp_path)
    assert done.code == 1
    assert done.err == "Error: quality {'seed': 7}: out of [memory]\n"
    assert asked["reported"] == tmp_path


def test_ctrl_c_says_how_to_go_on(
    studies: Callable[[ReproduceResult | None], Asked], tmp_path: Path
) -> None:
    asked = studies(None)
    done = run_command("reproduce", "quality", "--out", tmp_path)
    assert done.code == 3
    assert f"What was done is stored in {tmp_path}; the same command goes on" in done.err
    assert "reported" not in asked


def test_a_folder_without_results_is_refused(tmp_path: Path) -> None:
    done = run_command("report", tmp_path)
    assert done.code == 2
    assert len(done.err.splitlines()) == 1


@pytest.mark.parametrize("study", list(STUDIES))
@pytest.mark.parametrize("row", [{"other": 1}, {"data": 3, "model": None, "seed": "x"}])
def test_rows_that_are_not_those_of_their_study_are_refused_in_one_line(
    tmp_path: Path, study: str, row: dict[str, object]
) -> None:
    toy = Study(study, ({"seed": 0},), lambda _: [])
    with Store(tmp_path / STORE_NAME) as store:
        run = store.begin(toy, "1", command="", environment={})
        store.add(run, {"seed": 0}, json.dumps([row]), seconds=0.0, elapsed=0.0)
    done = run_command("report", tmp_path)
    assert (done.code, done.out, len(done.err.splitlines())) == (2, "", 1)
    assert f"the stored rows of study {study!r} are not those of this version" in done.err
