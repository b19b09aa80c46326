"""Accuracy on unseen rows, as they are and attacked, of true pessimism and of what else there is.

The attacker knows the model and moves every test row against its label, by at most `RADIUS` in the
2-norm of features scaled by the tuning rows: the strongest attack on a linear model.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

from instances import LOADERS
from sklearn.exceptions import ConvergenceWarning

from pessimal import OptimisticSVC, PessimisticSVC
from pessimal.attacks import evade
from pessimal.datasets import Split, split, standardize_on_tuning_rows
from pessimal.estimators.split import SplitClassifier
from pessimal.experiments.baselines import PLAIN, baselines
from pessimal.experiments.contenders import Contender
from pessimal.experiments.draws import tuning_problem

ROWS = (20, 40)
SEEDS = range(2000, 2030)
EPSILON, DELTA = 0.2, 0.05
RADIUS = 0.3
TIME_LIMIT = 4.0
"""Seconds on the clock for tuning."""

REFERENCE = PLAIN
PAPER = "PessimisticSVC"
TRUE = ("PessimisticSVC, exact, one", "PessimisticSVC, exact, each")


@dataclass(frozen=True)
class Draw:
    """Which rows tune: half of them train, half validate."""

    data: str
    n_rows: int
    seed: int

    def split(self) -> Split:
        """Draw them, scaled by themselves; all others test."""
        data, half = LOADERS[self.data](), self.n_rows // 2
        return standardize_on_tuning_rows(split(data.X, data.y, half, half, self.seed))


@dataclass(frozen=True)
class Score:
    """A model on the rows that test; how long it took to tune, and whether to a proved optimum."""

    method: str
    accuracy: float
    attacked: float
    seconds: float | None = None
    proved: bool | None = None


def draws(quick: bool) -> Iterator[Draw]:
    """Yield all draws; for a quick look, the first two."""
    sizes, seeds = (ROWS[:1], SEEDS[:1]) if quick else (ROWS, SEEDS)
    for seed, data, n_rows in product(seeds, LOADERS, sizes):
        yield Draw(data, n_rows, seed)


def measure(draw: Draw) -> list[Score]:
    """Fit every method on the same rows, and test it on the same others."""
    sets = draw.split()
    scores = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # a time limit that was reached
        for name, estimator in _tuned(draw.seed).items():
            started = time.process_time()
            estimator.fit(sets.X_train, sets.y_train, X_val=sets.X_val, y_val=sets.y_val)
            seconds = time.process_time() - started
            fitted = Contender({}, estimator.coef_[0], float(estimator.intercept_[0]))
            score = _score(name, fitted, sets)
            scores.append(replace(score, seconds=seconds, proved=estimator.result_.proved))
    return scores + [
        _score(str(fitted.columns["model"]), fitted, sets)
        for fitted in baselines(tuning_problem(sets))
    ]


def _tuned(seed: int) -> dict[str, SplitClassifier]:
    common: dict[str, Any] = {
        "epsilon": EPSILON,
        "delta": DELTA,
        "time_limit": TIME_LIMIT,
        "random_state": seed,
    }
    return {
        "OptimisticSVC": OptimisticSVC(**common),
        PAPER: PessimisticSVC(**common),
        TRUE[0]: PessimisticSVC(inner="exact", groups="one", **common),
        TRUE[1]: PessimisticSVC(inner="exact", groups="each", **common),
    }


def _score(method: str, fitted: Contender, sets: Split) -> Score:
    moved = evade((fitted.coef, fitted.intercept), sets.X_test, sets.y_test, RADIUS)
    return Score(
        method=method,
        accuracy=fitted.accuracy(sets.X_test, sets.y_test),
        attacked=fitted.accuracy(moved, sets.y_test),
    )
