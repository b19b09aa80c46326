"""A time limit of `fit` holds for everything that it solves."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from clocks import LeapingClock

from pessimal.estimators import OptimisticSVC, PessimisticSVC, PessimisticSVCCV, svc
from pessimal.limits import Deadline
from pessimal.lp.highs import WarmProgram
from pessimal.problem import Matrix, Vector
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
