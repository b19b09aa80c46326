"""A time limit of `fit` holds for everything that it solves."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from clocks import LeapingClock

from pessimal.estimators import OptimisticSVC, PessimisticSVC, PessimisticSVCCV, svc
from pessimal.estimators.split import Rows
from pessimal.limits import Deadline
from pessimal.lp.highs import WarmProgram
from pessimal.near_optimal.polyhedral.box_set import BoxSet
from pessimal.near_optimal.polyhedral.linear_program import BoxModels
from pessimal.problem import Budget, Matrix, TuningProblem, Vector
from pessimal.solve import solve_optimistic

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

ESTIMATORS = [
    PessimisticSVC(),
    PessimisticSVC(tie_break="largest_box"),
    PessimisticSVC(inner="exact"),
    OptimisticSVC(),
    OptimisticSVC(final="centre"),
    OptimisticSVC(final="refit"),
    PessimisticSVCCV(cv=2, max_boxes=3),
]


def overlapping(n: int = 24, p: int = 3) -> tuple[Matrix, Vector]:
    random = np.random.default_rng(0)
    y = np.where(np.arange(n) % 2 == 0, -1.0, 1.0)
    return random.standard_normal((n, p)) + 0.3 * y[:, None], y


@pytest.mark.parametrize("model", ESTIMATORS, ids=str)
def test_no_linear_program_over_the_rows_may_run_forever(
    model: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    X, y = overlapping()
    deadlines: list[Deadline] = []
    real = WarmProgram._run

    def run(program: WarmProgram, deadline: Deadline) -> Any:
        if program._scaled.matrix.shape[1] > len(y) / 2:  # not the small ones of a descent
            deadlines.append(deadline)
        return real(program, deadline)

    monkeypatch.setattr(WarmProgram, "_run", run)
    model.set_params(time_limit=1000.0, node_limit=20, random_state=0).fit(X, y)
    assert deadlines
    assert max(deadline.moment for deadline in deadlines) < np.inf


@pytest.mark.parametrize("model", ESTIMATORS, ids=str)
@pytest.mark.parametrize("still_looks", [0, 5, 20, 100])
def test_whenever_time_runs_out_the_model_keeps_to_its_box(
    model: Any, still_looks: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    X, y = overlapping()
    LeapingClock(monkeypatch, still_looks)
    model.set_params(time_limit=1.0, node_limit=20, random_state=0).fit(X, y)
    assert (np.abs(model.coef_[0] * model.scale_) <= model.box_ + 1e-12).all()
    assert np.isfinite(model.intercept_).all()


def test_tuning_has_what_reading_and_the_final_model_leave_of_the_limit(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    limits: list[float] = []

    def solve(*arguments: Any, **options: Any) -> Any:
        limits.append(options["time_limit"])
        return solve_optimistic(*arguments, **options)

    monkeypatch.setattr(svc, "solve_optimistic", solve)
    model = OptimisticSVC(time_limit=1000.0, random_state=0).fit(*overlapping())
    assert 0.0 < limits[0] <= 900.0
    assert model.result_.time_limit == 1000.0  # of a worst case, which is found later


@pytest.mark.parametrize(("rows", "kept"), [(60, 0.25), (5000, 0.75)])
def test_of_a_large_table_more_time_is_kept_for_certificate_and_final_model(
    rows: int, kept: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    LeapingClock(monkeypatch, np.inf)
    model = PessimisticSVC(time_limit=2.0)
    X = np.zeros((rows, 200))
    seconds = model._tuning_seconds(model._deadline(), Rows(X, X[:, 0], X[:, 0]))
    assert seconds == pytest.approx(2.0 * (1.0 - kept))


@pytest.mark.parametrize("final", ["mean", "centre", "refit"])
def test_models_that_train_as_well_are_those_of_the_final_training(
    final: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    X, y = overlapping()
    model = PessimisticSVC(final=final, node_limit=20, random_state=0).fit(X, y)
    scaled = (X - model.mean_) / model.scale_
    anew = BoxSet(TuningProblem(scaled, y, scaled, y), model.box_, Budget(0.2))
    monkeypatch.setattr(BoxModels, "least_loss", None)  # nothing is trained again
    members = model.near_optimal_set()
    assert members.trained.value == pytest.approx(anew.trained.value, abs=1e-9)
    assert members.inner.training_limit == pytest.approx(anew.training_limit, abs=1e-9)
