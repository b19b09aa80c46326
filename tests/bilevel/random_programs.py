"""Random small bilevel programs, built to be awkward, and what enumeration says of an answer.

Data are small integers, so that followers are degenerate: ties between vertices, rows through one
point, rows twice, costs of 0. Variables are free, bounded or non-negative; rows are equations now
and then; there are infeasible and unbounded programs, several followers, integer outer variables,
outer constraints on responses, prices, squares.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import cvxpy
import numpy as np
from enumeration import (
    INFEASIBLE,
    OPTIMAL,
    UNATTAINED,
    UNBOUNDED,
    Outcome,
    optimistic,
    pessimistic,
    pessimistic_on_line,
    reason,
    worst_at,
)
from plain_arrays import Array, Arrays, arrays_of

from pessimal.bilevel import BilevelProblem, Follower

cp: Any = cvxpy

NO_DECISION = ("infeasible", "inner infeasible", "inner unbounded", "worst response unbounded")
AGREES, WRONG, NOT_PROVED = "agrees", "wrong", "not proved"
_TOLERANCE = 1e-5


@dataclass(frozen=True)
class Drawn:
    """A program, the tolerances of its pessimistic view, and its matrices."""

    problem: Any
    arrays: Arrays
    epsilon: float
    delta: float

    @property
    def priced(self) -> bool:
        return any(np.any(f.price) for f in self.arrays.followers)

    @property
    def curved(self) -> bool:
        """Whether a square holds a response."""
        inner = any(np.any(f.curvature) for f in self.arrays.followers)
        return inner or bool(np.any(self.arrays.curvature[self.arrays.n_outer :]))

    def solve(self, view: str, **how: Any) -> None:
        """Solve in a view, with the tolerances where it has any."""
        if view == "pessimistic":
            how |= {"epsilon": self.epsilon, "delta": self.delta}
        self.problem.solve(view, **how)

    def enumerate(self, view: str) -> Outcome | None:
        """Solve by enumeration; None where that does not know how."""
        if view == "optimistic":
            return optimistic(self.arrays)
        if self.curved:
            return None
        if not self.priced:
            return pessimistic(self.arrays, self.epsilon, self.delta)
        plain = self.epsilon == self.delta == 0.0 and not np.any(self.arrays.rows.B)
        return pessimistic_on_line(self.arrays) if plain else None


def draw(seed: int) -> Drawn:
    """Return the program of a seed."""
    rng = np.random.default_rng([seed, 16])
    priced = rng.random() < 0.2
    n = 1 if priced else int(rng.integers(1, 4))
    x = _variable(rng, n, bounded=priced, whole=rng.random() < 0.25)
    goals: list[tuple[Any, list[Any]]] = []
    responses: list[Any] = []
    for _ in range(2 if rng.random() < 0.2 else 1):
        m = int(rng.integers(1, 4)) if not goals else 1
        y = _variable(rng, m, bounded=priced)
        rows = _rows(rng, [x, y], int(rng.integers(1, 4)))
        cost = _integers(rng, m)
        goal = cost @ y
        if priced:
            goal = goal + x[0] * (_integers(rng, m) @ y)
        if rng.random() < 0.2:
            goal = goal + _integers(rng, n) @ x + int(rng.integers(-3, 4))
        goals.append((goal, rows))
        responses.append(y)
    outer = _integers(rng, n) @ x + sum(_integers(rng, y.size) @ y for y in responses)
    own = [x, *responses] if rng.random() < 0.25 else [x]
    rows = _rows(rng, own, int(rng.integers(0, 3)), equations=0.1)
    tolerant = rng.random() < 0.6 and not priced  # refused otherwise
    epsilon = float(rng.choice([0.0, 0.1, 0.5])) if tolerant else 0.0
    delta = float(rng.choice([0.0, 0.25, 1.0])) if tolerant else 0.0
    if rng.random() < 0.2 and not x.attributes["integer"]:
        if rng.random() < 0.6:
            outer = outer + sum(_square(rng, v) for v in (x, *responses) if rng.random() < 0.7)
        else:
            goals = [
                (goal + _square(rng, y), inner)
                for (goal, inner), y in zip(goals, responses, strict=True)
            ]
    followers = [
        Follower(cp.Minimize(goal), inner, variables=[y])
        for (goal, inner), y in zip(goals, responses, strict=True)
    ]
    problem = BilevelProblem(cp.Minimize(outer), rows, followers)
    return Drawn(problem, arrays_of(problem), epsilon, delta)


def _square(rng: np.random.Generator, variable: Any) -> Any:
    """Return a square that is flat in some directions, or a sum of squares that is not."""
    if rng.random() < 0.5:
        return cp.square(_integers(rng, variable.size) @ variable - float(rng.integers(-2, 3)))
    return cp.sum_squares(variable - _integers(rng, variable.size))


def _integers(rng: np.random.Generator, size: int) -> Array:
    drawn = rng.integers(-3, 4, size) * (rng.random(size) < 0.7)
    return drawn.astype(np.float64)


def _variable(
    rng: np.random.Generator, size: int, bounded: bool = False, whole: bool = False
) -> Any:
    kind = rng.choice(["nonneg", "box", "free"], p=[0.35, 0.5, 0.15])
    if whole or bounded or kind == "box":
        low = int(rng.integers(-2, 1))
        return cp.Variable(size, bounds=[low, low + int(rng.integers(1, 5))], integer=whole)
    return cp.Variable(size, nonneg=True) if kind == "nonneg" else cp.Variable(size)


def _rows(
    rng: np.random.Generator, variables: list[Any], count: int, equations: float = 0.15
) -> list[Any]:
    rows: list[Any] = []
    for _ in range(count):
        if rows and rng.random() < 0.1:
            rows.append(rows[-1])
            continue
        left = sum(_integers(rng, v.size) @ v for v in variables)
        right = float(rng.integers(-1, 8)) if rng.random() < 0.8 else 0.0
        scale = float(rng.choice([1.0, 1.0, 1.0, 100.0, 0.01]))
        if rng.random() < equations:
            rows.append(scale * left == scale * right)
        else:
            rows.append(scale * left <= scale * right)
    return rows


def judge(drawn: Drawn, view: str, expected: Outcome | None) -> tuple[str, str]:
    """Compare the answer that the problem holds with enumeration, and check it by itself."""
    problem = drawn.problem
    status, value, bound = problem.status.value, problem.value, problem.bound
    told = f"{status}, value {value!r}, bound {bound!r}; enumeration {expected}"
    faults = []
    if expected is not None:
        faults += _against(expected, status, value, bound)
    if status in NO_DECISION:
        why = reason(drawn.arrays)
        faults += [(bool(why) and status != why, f"the reason is {why}")]
        faults += [(not why and status in NO_DECISION[1:3], "the reason is another")]
    if status == "optimal":
        faults += [(not problem.certificate.ok, "optimal without a certificate")]
    if status == "optimal" and view == "pessimistic" and not drawn.curved:
        x = drawn.arrays.decision()
        worst = worst_at(drawn.arrays, x, drawn.epsilon, drawn.delta)
        apart = abs(worst - value) > 10 * _TOLERANCE * max(1.0, abs(value))
        faults += [(apart, f"the worst value at x = {x} is {worst!r}")]
    for wrong, fault in faults:
        if wrong:
            return WRONG, f"{fault}: {told}"
    done = status in ("optimal", *NO_DECISION, "unbounded", "not attained")
    return (AGREES if done else NOT_PROVED), told


def _against(expected: Outcome, status: str, value: float, bound: float) -> list[tuple[bool, str]]:
    size = _TOLERANCE * max(1.0, abs(value) if math.isfinite(value) else 1.0)
    truth = {INFEASIBLE: math.inf, UNBOUNDED: -math.inf}.get(expected.status, expected.value)
    right = {
        "optimal": expected.status == OPTIMAL and abs(value - truth) <= size,
        "unbounded": expected.status == UNBOUNDED,
        "not attained": expected.status == UNATTAINED and abs(bound - truth) <= size,
        **dict.fromkeys(NO_DECISION, expected.status == INFEASIBLE),
    }
    return [
        (bound > truth + size, "the bound is too high"),
        (value < truth - size, "the value is too low"),
        (not right.get(status, True), "the status is wrong"),
    ]
