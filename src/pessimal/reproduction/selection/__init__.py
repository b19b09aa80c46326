"""The study of selection: when a candidate that was chosen pessimistically is the better one.

Four models on public tables. A seed draws tuning rows; hyperparameters are chosen on them by
cross-validation, in the usual ways and pessimistically, and the chosen candidate is trained on all
of them. Every row is a way to choose and what it is worth on held-out rows: clean, under noise,
covariate shift and evasion, and how much its predictions change when training is repeated.

Most tables come with packages that have to be installed for it, see `pessimal.reproduction.tables`;
those that are not installed are left out.
"""

from __future__ import annotations

import json
import logging
import warnings
from collections.abc import Mapping, Sequence

import numpy as np
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

from pessimal.reproduction.selection.choosing import choices
from pessimal.reproduction.selection.measures import Draw, measure
from pessimal.reproduction.selection.models import KINDS
from pessimal.reproduction.selection.remembering import remembered_fits
from pessimal.reproduction.study import Configuration, Row, Study, of_factors
from pessimal.reproduction.tables import TABLES

logger = logging.getLogger(__name__)

SIZES: Mapping[str, tuple[int, ...]] = {
    "cancer": (20, 200),
    "breast cancer": (20, 200),
    "mammographic": (20, 600),
    "digits, 4 or 9": (20,),
    "penguins": (20,),
    "diabetes": (60, 600),
    "german credit": (60, 600),
    "bupa": (60,),
    "haberman": (60,),
    "heart": (60,),
    "ionosphere": (60,),
    "rossi": (60,),
    "sonar": (60,),
    "wine, two classes": (60,),
    "affairs": (200, 2000),
    "credit card": (200, 2000),
    "magic": (200, 2000),
    "spambase": (200, 2000),
}
"""Numbers of tuning rows."""

WITH_TREES = (
    "cancer",
    "breast cancer",
    "mammographic",
    "diabetes",
    "german credit",
    "bupa",
    "haberman",
    "heart",
    "ionosphere",
    "credit card",
    "magic",
    "spambase",
)
"""Trees are trained hundreds of times for a draw: here alone."""

LARGEST_TEST = 2000
FIRST_SEED, N_DRAWS = 7000, 20
"""Nothing was tuned on these seeds."""


def study(*, quick: bool = False) -> Study:
    """Declare the study; `quick` has two draws of one table, for linear models alone."""
    there = ("cancer",) if quick else tuple(filter(_is_there, SIZES))
    draws = range(FIRST_SEED, FIRST_SEED + (2 if quick else N_DRAWS))
    drawn = [
        (data, n, model, seed)
        for seed in draws
        for data in there
        for model, kind in KINDS.items()
        if kind.linear or (data in WITH_TREES and not quick)
        for n in SIZES[data][: 1 if quick else None]
    ]

    # A run that is stopped has as many draws of every model, on every table. What takes longest,
    # trees on more than the first number of rows, comes last.
    def turn(data: str, n: int, model: str, _: int) -> int:
        return 0 if KINDS[model].linear or n == SIZES[data][0] else n

    configurations: tuple[Configuration, ...] = tuple(
        {"data": data, "n": n, "model": model, "seed": seed}
        for data, n, model, seed in sorted(drawn, key=lambda at: turn(*at))
    )
    return Study("selection", configurations, run_selection)


def _is_there(table: str) -> bool:
    reason = TABLES[table].missing()
    if reason is not None:
        logger.warning("the study of selection leaves out %r: %s", table, reason)
    return reason is None


@of_factors
def run_selection(*, data: str, n: int, model: str, seed: int) -> Sequence[Row]:
    """Choose in every way on one draw, and measure what was chosen."""
    kind, drawn = KINDS[model], draw(data, n, seed)
    rows: list[Row] = []
    measured: dict[str, Mapping[str, float]] = {}
    with remembered_fits(), warnings.catch_warnings():
        # Of trees that memorise their rows, and of solvers stopped at their limit.
        warnings.simplefilter("ignore")
        for method, parameters in choices(kind, drawn.X, drawn.y, seed).items():
            name = json.dumps(parameters)
            if name not in measured:
                measured[name] = measure(kind, parameters, drawn)
            rows.append({"method": method, "parameters": name, **measured[name]})
    return rows


def draw(data: str, n: int, seed: int) -> Draw:
    """Draw tuning rows and held-out rows of a table, stratified."""
    X, positive = TABLES[data].load()
    y = np.where(positive, 1.0, -1.0)
    X, X_test, y, y_test = train_test_split(X, y, train_size=n, stratify=y, random_state=seed)
    if len(y_test) > LARGEST_TEST:
        X_test, _, y_test, _ = train_test_split(
            X_test, y_test, train_size=LARGEST_TEST, stratify=y_test, random_state=seed
        )
    scaler = StandardScaler().fit(X)
    return Draw(scaler.transform(X), y, scaler.transform(X_test), y_test, seed)
