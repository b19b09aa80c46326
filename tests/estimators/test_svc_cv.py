"""The estimator with one box for several folds."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GroupKFold, LeaveOneOut, StratifiedKFold

from pessimal.errors import InvalidInputError
from pessimal.estimators import PessimisticSVCCV
from pessimal.problem import Matrix, Vector


def overlapping(n: int = 18, p: int = 2, seed: int = 0) -> tuple[Matrix, Vector]:
    random = np.random.default_rng(seed)
    y = np.where(np.arange(n) % 2 == 0, -1.0, 1.0)
    return random.standard_normal((n, p)) + 0.8 * y[:, None], y


@pytest.mark.parametrize(
    "cv",
    [3, StratifiedKFold(3), [(np.arange(6, 18), np.arange(6)), (np.arange(12), np.arange(12, 18))]],
    ids=["int", "splitter", "indices"],
)
def test_folds_of_every_kind(cv: Any) -> None:
    X, y = overlapping()
    model = PessimisticSVCCV(cv=cv, max_boxes=4, random_state=0).fit(X, np.where(y > 0, "u", "v"))
    assert model.result_.lower_bound <= model.worst_case_loss_
    assert model.score(X, np.where(y > 0, "u", "v")) > 0.5


@pytest.mark.parametrize(
    ("cv", "y", "message"),
    [
        (2, [0, 0, 0, 0, 0, 1], "no row of class 1"),
        (7, [0, 0, 0, 1, 1, 1], "n_splits=7"),
        (LeaveOneOut(), [0, 0, 0, 0, 0, 1], "no row of class 1"),
        ([(np.arange(6), np.arange(0))], [0, 0, 0, 1, 1, 1], "no validation row"),
        (GroupKFold(2), [0, 0, 0, 1, 1, 1], "groups"),
    ],
)
@pytest.mark.filterwarnings("ignore:The least populated class")
def test_folds_that_cannot_be_used_are_named(cv: Any, y: list[int], message: str) -> None:
    X = np.arange(6.0)[:, None]
    with pytest.raises(ValueError, match=message):
        PessimisticSVCCV(cv=cv).fit(X, y)


def test_errors_are_the_packages_own() -> None:
    with pytest.raises(InvalidInputError, match="OneVsRestClassifier"):
        PessimisticSVCCV().fit(np.arange(6.0)[:, None], [0, 0, 1, 1, 2, 2])


def test_better_boxes_are_told_when_asked_for(capfd: pytest.CaptureFixture[str]) -> None:
    X, y = overlapping()
    PessimisticSVCCV(cv=2, max_boxes=2, random_state=0, verbose=1).fit(X, y)
    assert "worst case" in capfd.readouterr().err


def test_a_box_that_is_not_proved_is_announced() -> None:
    X, y = overlapping()
    with pytest.warns(ConvergenceWarning, match="not proved optimal") as caught:
        model = PessimisticSVCCV(cv=2, max_boxes=2, random_state=0).fit(X, y)
    assert [warning.filename for warning in caught] == [__file__]
    assert not model.result_.proved
    assert model.result_.objective == model.worst_case_loss_
