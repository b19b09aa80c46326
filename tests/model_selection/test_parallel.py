"""The answer of a search does not depend on where its fits run, nor on a worker that dies."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import joblib  # type: ignore[import-untyped]
import numpy as np
import pytest
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

from pessimal import PessimisticSearchCV

DIE_IN = "PESSIMAL_TEST_DIE_IN"
MARK = "died"


class Mortal(LogisticRegression):  # type: ignore[misc]
    """Logistic regression whose first fit in a folder ends the process it runs in."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Mortal:
        folder = os.environ.get(DIE_IN)
        if folder is not None:
            try:
                (Path(folder) / MARK).touch(exist_ok=False)
            except FileExistsError:
                pass
            else:
                os._exit(1)
        super().fit(X, y, sample_weight)
        return self


def search(estimator: Any, grid: dict[str, Any], **options: Any) -> PessimisticSearchCV:
    return PessimisticSearchCV(
        estimator, grid, scoring="neg_log_loss", cv=3, node_limit=6, **options
    )


LOGISTIC = search(LogisticRegression(), {"C": [0.1, 1.0, 10.0]})
TREE = search(
    DecisionTreeClassifier(max_depth=2, min_samples_leaf=8, random_state=0),
    {"min_samples_leaf": [8, 12]},
)


@pytest.fixture(scope="module")
def rows() -> tuple[Any, Any]:
    X, y = make_classification(75, 4, flip_y=0.2, random_state=1)
    return X, y


def assert_same(one: PessimisticSearchCV, other: PessimisticSearchCV) -> None:
    """Compare all but times."""
    assert one.best_params_ == other.best_params_
    assert one.best_score_ == other.best_score_
    for name, column in one.cv_results_.items():
        if not name.endswith("_time"):
            np.testing.assert_array_equal(column, other.cv_results_[name], err_msg=name)


@pytest.mark.parametrize("task", [LOGISTIC, TREE], ids=["logistic", "tree"])
@pytest.mark.parametrize("backend", ["threading", "loky"])
def test_two_workers_give_the_answer_of_one(
    task: PessimisticSearchCV, backend: str, rows: tuple[Any, Any]
) -> None:
    alone = search(task.estimator, task.param_grid).fit(*rows)
    with joblib.parallel_config(backend, n_jobs=2):
        together = search(task.estimator, task.param_grid).fit(*rows)
    assert_same(alone, together)


def test_a_cluster_that_loses_a_worker_gives_the_answer_of_one_process(
    rows: tuple[Any, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    distributed = pytest.importorskip(
        "distributed", reason="the extra 'cluster' (dask[distributed]) is not installed"
    )
    grid = {"C": [0.1, 1.0, 10.0]}
    alone = search(Mortal(), grid).fit(*rows)
    # Workers have the variable from their start, this process never: the refit is made here.
    with monkeypatch.context() as patch:
        patch.setenv(DIE_IN, str(tmp_path))
        cluster = distributed.LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            processes=True,
            dashboard_address=None,
            local_directory=str(tmp_path),
        )
    with cluster, distributed.Client(cluster):
        before = set(cluster.scheduler.workers)
        with joblib.parallel_config("dask"):
            together = search(Mortal(), grid).fit(*rows)
        after = set(cluster.scheduler.workers)
    assert (tmp_path / MARK).exists()
    assert before - after, "no worker was lost"
    assert_same(alone, together)
