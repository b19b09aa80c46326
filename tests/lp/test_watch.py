"""A linear program that is told to stop has a valid bound and can be solved on."""

from __future__ import annotations

import numpy as np
import pytest

from pessimal.lp.codes import OPTIMAL, STALLED
from pessimal.lp.program import KinkedProgram
from pessimal.lp.simplex import Simplex
from pessimal.lp.watch import Watch

INF = np.inf


def hinges() -> KinkedProgram:
    """Fit 30 weights in a box to 500 labels by their hinges: some hundreds of steps."""
    rng = np.random.default_rng(0)
    A = rng.normal(size=(500, 30)) + 0.1
    high = np.concatenate([np.ones(30), np.full(500, 100.0)])
    slope_left = np.concatenate([np.zeros(30), np.full(500, -1.0 / 500)])
    kink = np.concatenate([np.zeros(30), np.ones(500)])
    return KinkedProgram(A, -high, high, slope_left, np.zeros(530), kink)


@pytest.mark.parametrize("looks", [0, 1, 2])
def test_stopping_leaves_a_bound_and_a_program_that_can_go_on(looks: int) -> None:
    program = hinges()
    truth = Simplex(program)
    assert truth.solve(INF) == OPTIMAL
    told = iter([False] * looks + [True])
    watch = Watch(lambda: next(told))
    simplex = Simplex(program, watch)
    assert simplex.solve(INF) == STALLED
    assert watch.over
    assert simplex.objective < truth.objective
    assert simplex.solve(INF) == STALLED  # it is not asked again
    watch.dismiss()
    assert simplex.solve(INF) == OPTIMAL
    assert simplex.objective == pytest.approx(truth.objective, abs=1e-9)


def test_what_the_question_raises_is_kept() -> None:
    def interrupted() -> bool:
        raise KeyboardInterrupt

    watch = Watch(interrupted)
    assert Simplex(hinges(), watch).solve(INF) == STALLED
    assert isinstance(watch.error, KeyboardInterrupt)
