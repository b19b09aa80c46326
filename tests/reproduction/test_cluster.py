"""A Dask cluster gives the rows that this machine gives, even when it loses a worker."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from toy_studies import FOLDER, contents, times_computed, toy_study

from pessimal.errors import InvalidInputError, MissingExtraError
from pessimal.reproduction import Store, executors, open_workers, run

distributed = pytest.importorskip(
    "distributed", reason="the extra 'cluster' (dask[distributed]) is not installed"
)


@pytest.fixture
def marks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the configurations of a test leave their marks; set before any worker starts."""
    monkeypatch.setenv(FOLDER, str(tmp_path))
    return tmp_path


@pytest.fixture
def address(marks: Path) -> Iterator[str]:
    """Scheduler of two worker processes."""
    with distributed.LocalCluster(
        n_workers=2,
        threads_per_worker=1,
        processes=True,
        dashboard_address=None,
        local_directory=str(marks),
    ) as cluster:
        yield cluster.scheduler_address


def test_a_worker_killed_in_mid_run_changes_no_row(
    tmp_path: Path, marks: Path, address: str
) -> None:
    study = toy_study(12, c5="die once", c8="fail")
    with Store(tmp_path / "cluster.sqlite") as store, open_workers(cluster=address) as workers:
        result = run(study, store, workers.executor, in_flight=workers.in_flight)
    assert [failure.configuration["seed"] for failure in result.failures] == [8]
    assert times_computed(marks)[5] == 2
    with Store(tmp_path / "here.sqlite") as store, ThreadPoolExecutor(2) as executor:
        run(study, store, executor)
    assert len(contents(tmp_path / "here.sqlite")) == 11
    assert contents(tmp_path / "cluster.sqlite") == contents(tmp_path / "here.sqlite")


@pytest.mark.parametrize("wrong", ["tcp://127.0.0.1:1", "nonsense://there"])
def test_an_address_without_scheduler_is_named(monkeypatch: pytest.MonkeyPatch, wrong: str) -> None:
    monkeypatch.setattr(executors, "_SECONDS_TO_CONNECT", 1)
    with pytest.raises(InvalidInputError, match="no Dask scheduler answers"):
        open_workers(cluster=wrong).__enter__()


def test_without_dask_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(MissingExtraError, match=r"pessimal\[cluster\]"):
        open_workers(cluster="tcp://127.0.0.1:1").__enter__()
