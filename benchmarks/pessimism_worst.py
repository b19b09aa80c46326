"""How many validation rows an exact worst case bears, and whether it jumps as the box moves.

*Reach*: one exact worst case in the widest box, by the package's branch and bound and by the
mixed-integer program of `pessimal.training.exact` on HiGHS, training included in both.

*Jumps*: with one limit h for all features and no tolerance, ``|W(h ± s) − W(h)|`` at every
breakpoint h of the least training loss, for ever smaller steps s.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

import numpy as np
from instances import LOADERS

from pessimal import Budget
from pessimal.experiments.draws import draw, tuning_problem
from pessimal.minimax.evaluations import Evaluations
from pessimal.minimax.groups import groups_of
from pessimal.minimax.line import breakpoints
from pessimal.search import Limits
from pessimal.training.exact import largest_hinge
from pessimal.training.near_optimal import near_optimal
from pessimal.worst.cases import WorstCases

N_TRAIN = 20
VALIDATION_SIZES = (5, 10, 20, 40, 80)
EPSILONS = (0.0, 0.2)
DELTAS = (0.0, 0.1)
SEEDS = range(720, 723)
TIME_LIMIT = 10.0
"""Seconds on the clock, for either method."""

OURS, HIGHS = "pessimal", "HiGHS"

LINE_SIZES = (5, 10, 20)
LINE_SEEDS = range(730, 740)
STEPS = (1e-2, 1e-3, 1e-4, 1e-5)


@dataclass(frozen=True)
class Size:
    """A draw with a number of validation rows, and a budget."""

    data: str
    n_val: int
    epsilon: float
    delta: float
    seed: int


@dataclass(frozen=True)
class Evaluation:
    """One exact worst case: a loss that is attained, one that is not exceeded, CPU seconds."""

    method: str
    value: float
    upper_bound: float
    seconds: float
    nodes: int | None


def sizes(quick: bool) -> Iterator[Size]:
    """Yield all sizes; for a quick look, the smallest of one draw."""
    numbers, seeds = (VALIDATION_SIZES[:1], SEEDS[:1]) if quick else (VALIDATION_SIZES, SEEDS)
    for n_val, data, epsilon, delta, seed in product(numbers, LOADERS, EPSILONS, DELTAS, seeds):
        yield Size(data, n_val, epsilon, delta, seed)


def evaluate(size: Size) -> list[Evaluation]:
    """Find the worst case of the widest box by both methods."""
    problem = tuning_problem(draw(size.data, N_TRAIN, size.n_val, size.seed))
    budget, box = Budget(size.epsilon, size.delta), problem.upper

    started, deadline = time.process_time(), time.perf_counter() + TIME_LIMIT
    cases = WorstCases(problem, budget)
    worst = cases.worst(box, cases.limit(box), deadline=deadline)
    seconds = time.process_time() - started
    ours = Evaluation(OURS, worst.value, worst.upper_bound, seconds, worst.nodes)

    started, deadline = time.process_time(), time.perf_counter() + TIME_LIMIT
    bound = largest_hinge(near_optimal(problem, box, budget), deadline)
    seconds = time.process_time() - started
    # Theirs is a bound alone; it has met the worst case when it is that of our model.
    return [ours, Evaluation(HIGHS, min(worst.value, bound), bound, seconds, None)]


@dataclass(frozen=True)
class Line:
    """A draw whose features share one limit."""

    data: str
    n_rows: int
    seed: int


@dataclass(frozen=True)
class Jump:
    """Largest change of the worst case within a step of a breakpoint, and how many there are."""

    step: float
    change: float
    breakpoints: int


def lines(quick: bool) -> Iterator[Line]:
    """Yield all lines; for a quick look, those of five rows and one seed."""
    numbers, seeds = (LINE_SIZES[:1], LINE_SEEDS[:1]) if quick else (LINE_SIZES, LINE_SEEDS)
    for n_rows, data, seed in product(numbers, LOADERS, seeds):
        yield Line(data, n_rows, seed)


def jumps(line: Line) -> list[Jump]:
    """Step away from every breakpoint, on either side."""
    problem = tuning_problem(draw(line.data, line.n_rows, line.n_rows, line.seed))
    groups = groups_of(problem, "one")
    evaluations = Evaluations(problem, Budget(), groups, Limits())

    def worst(h: float) -> float:
        return evaluations.at(np.clip([h], groups.lower, groups.upper)).value

    at = {h: worst(h) for h in breakpoints(evaluations)}
    return [
        Jump(
            step=step,
            change=max(abs(worst(h + s) - value) for h, value in at.items() for s in (-step, step)),
            breakpoints=len(at),
        )
        for step in STEPS
    ]
