"""Larger problems against themselves in another form: what may not change an answer."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from stress_cases import Case, Rng
from stress_findings import Findings, Verdict, at_most

from pessimal import (
    Budget,
    TuningSolution,
    best_case,
    solve_optimistic,
    solve_pessimistic,
    worst_case,
)
from pessimal.near_optimal import least_loss
from pessimal.problem import Matrix, Vector

SECONDS = 5.0
"""Time limit of each search."""

Interval = tuple[float, float]
"""A proved lower and upper bound on one number."""

Rows = NDArray[np.int64]


def permuted_rows(case: Case) -> Case:
    return _take(
        case, case.rng.permutation(len(case.y_train)), case.rng.permutation(len(case.y_val))
    )


def permuted_columns(case: Case) -> Case:
    order = case.rng.permutation(len(case.box))
    columns = {name: getattr(case, name)[:, order] for name in ("X_train", "X_val")}
    limits = {name: getattr(case, name)[order] for name in ("lower", "upper", "box", "scale")}
    return replace(case, **columns, **limits)


def mirrored_columns(case: Case) -> Case:
    signs = case.rng.choice((-1.0, 1.0), len(case.box))
    return replace(case, X_train=case.X_train * signs, X_val=case.X_val * signs)


def swapped_labels(case: Case) -> Case:
    return replace(case, y_train=-case.y_train, y_val=-case.y_val)


def repeated_rows(case: Case) -> Case:
    """Rows of weight two as two rows; `relation` gives the weights."""
    assert case.train_weight is not None
    assert case.val_weight is not None
    train, val = (
        np.repeat(np.arange(len(weight)), weight.astype(np.int64))
        for weight in (case.train_weight, case.val_weight)
    )
    return replace(_take(case, train, val), train_weight=None, val_weight=None)


def doubled_columns(case: Case) -> Case:
    return replace(case, scale=np.power(2.0, case.rng.integers(-20, 21, len(case.box))))


def _take(case: Case, train: Rows, val: Rows) -> Case:
    weights = case.train_weight, case.val_weight
    return replace(
        case,
        X_train=case.X_train[train],
        y_train=case.y_train[train],
        X_val=case.X_val[val],
        y_val=case.y_val[val],
        flipped=case.flipped[val],
        train_weight=None if weights[0] is None else weights[0][train],
        val_weight=None if weights[1] is None else weights[1][val],
    )


def _worst(case: Case, loss: str) -> Interval:
    found = worst_case(case.problem, case.limits, case.budget, loss=loss, time_limit=SECONDS)
    return found.value, found.upper_bound


def _of(solution: TuningSolution) -> Interval:
    return solution.lower_bound, solution.objective


ANSWERS: dict[str, Callable[[Case], Interval]] = {
    "least loss": lambda case: (least_loss(case.problem, case.limits).value,) * 2,
    "best case": lambda case: (
        best_case(case.problem, case.limits, case.budget).value,
    ) * 2,
    "hinge": lambda case: _worst(case, "hinge"),
    "zero_one": lambda case: _worst(case, "zero_one"),
    "margin": lambda case: _worst(case, "margin"),
    "optimistic": lambda case: _of(solve_optimistic(case.problem, time_limit=SECONDS)),
    "flip": lambda case: _of(
        solve_pessimistic(case.problem, case.budget, flip=case.flipped, time_limit=SECONDS)
    ),
    "exact, one limit": lambda case: _of(
        solve_pessimistic(
            case.problem, case.budget, inner="exact", groups="one", time_limit=SECONDS
        )
    ),
    "exact": lambda case: _of(
        solve_pessimistic(case.problem, case.budget, inner="exact", time_limit=SECONDS)
    ),
}  # fmt: skip

RELATIONS = (
    permuted_rows,
    permuted_columns,
    mirrored_columns,
    swapped_labels,
    repeated_rows,
    doubled_columns,
)


def relation(rng: Rng, number: int, findings: Findings) -> None:
    """Ask a problem of 20 to 100 rows, and the same in another form."""
    name = list(ANSWERS)[number % len(ANSWERS)]
    change = RELATIONS[number // len(ANSWERS) % len(RELATIONS)]
    case = _draw(rng)
    if name == "exact, one limit":
        # One limit for all columns means something else in other units.
        change = permuted_rows if change is doubled_columns else change
        case = replace(case, lower=np.zeros_like(case.lower))
    if change is repeated_rows:
        train_weight, val_weight = (
            rng.integers(1, 3, len(y)).astype(float) for y in (case.y_train, case.y_val)
        )
        case = replace(case, train_weight=train_weight, val_weight=val_weight)
    findings.subject, findings.source = f"{name}, {change.__name__}", case.source()
    answer = ANSWERS[name]
    (low, high), (other_low, other_high) = answer(case), answer(change(case))
    text = f"[{low:.9g}, {high:.9g}] and [{other_low:.9g}, {other_high:.9g}]"
    findings.require(at_most(low, other_high) and at_most(other_low, high), f"{text} do not meet")
    met = at_most(high, low) and at_most(other_high, other_low)
    findings.require(met, text, Verdict.OPEN)


def _draw(rng: Rng) -> Case:
    """Two to six features, a hyperplane in the data, ties in two of three."""
    p, n, m = int(rng.integers(2, 7)), int(rng.integers(10, 51)), int(rng.integers(10, 51))
    match rng.integers(3):
        case 0:
            table = rng.integers(-2, 3, (n + m, p)).astype(float)
        case 1:
            table = rng.integers(0, 2, (n + m, p)).astype(float)
        case _:
            table = rng.normal(size=(n + m, p))
    labels = _labels(rng, table)
    labels[:2] = -1.0, 1.0
    budgets = (Budget(), Budget(0.2), Budget(0.05), Budget(0.0, 0.05))
    return Case(
        table[:n],
        labels[:n],
        table[n:],
        labels[n:],
        lower=np.zeros(p) if rng.random() < 0.7 else np.full(p, 0.1),
        upper=np.ones(p),
        box=rng.choice((0.25, 0.5, 1.0), p),
        budget=budgets[rng.integers(len(budgets))],
        flipped=np.ones(m, dtype=bool) if rng.random() < 0.5 else np.arange(m) % 2 == 0,
        scale=np.ones(p),
        rng=rng,
    )


def _labels(rng: Rng, table: Matrix) -> Vector:
    scores = (table - table.mean(axis=0)) @ rng.normal(size=table.shape[1])
    noise = rng.choice((0.2, 1.0, 3.0)) * rng.normal(size=len(table))
    return np.where(scores + noise > 0.0, 1.0, -1.0)
