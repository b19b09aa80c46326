"""Exact worst cases at the boxes that the two views return and at the boxes of true pessimism.

All of them on one draw, with one budget. The paper's search has as many nodes as the start that
true pessimism takes from it, so that both find the same box.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from itertools import product
from typing import Protocol

from instances import LOADERS
from timing import certificates_timed

from pessimal import Budget, TuningProblem, solve_optimistic, solve_pessimistic, worst_case
from pessimal.experiments.draws import draw, tuning_problem
from pessimal.minimax.driver import START_NODES
from pessimal.solution import TuningSolution

SIZES = (5, 10, 20)
EPSILONS = (0.0, 0.2, 0.4)
DELTAS = (0.0, 0.1)
SEEDS = range(700, 710)

OPTIMISTIC, PAPER, ONE, EACH = "optimistic", "paper", "one", "each"

PAPER_NODES = START_NODES
"""Of the search of the paper's problem."""

ONE_LIMIT, EACH_LIMIT = 60.0, 12.0
"""Seconds on the clock; one limit a feature need not end with a proof."""


@dataclass(frozen=True)
class Cell:
    """A draw and a budget."""

    data: str
    n_train: int
    n_val: int
    epsilon: float
    delta: float
    seed: int

    @property
    def budget(self) -> Budget:
        """ε and δ, as the package takes them."""
        return Budget(self.epsilon, self.delta)

    def problem(self) -> TuningProblem:
        """Draw the data."""
        return tuning_problem(draw(self.data, self.n_train, self.n_val, self.seed))


@dataclass(frozen=True)
class Answer:
    """A box and what is known of its worst case.

    Attributes
    ----------
    method : str
    width : float
        Largest limit of the box.
    value, upper_bound : float
        A loss that a near-optimal model of the box has, and one that none exceeds.
    lower_bound : float or None
        No box that the method could return has a smaller worst case; None where the worst case is
        not what it minimises.
    proved : bool
        Whether the method's own problem is solved to proved optimality.
    status : str
    seconds, check_seconds : float
        CPU time of the method, and of the check of its answer by HiGHS.
    """

    method: str
    width: float
    value: float
    upper_bound: float
    lower_bound: float | None
    proved: bool
    status: str
    seconds: float
    check_seconds: float


class _Solve(Protocol):
    def __call__(self, problem: TuningProblem) -> TuningSolution: ...


def cells(quick: bool) -> Iterator[Cell]:
    """Yield all cells, seed after seed; for a quick look, one draw of five rows each."""
    sizes, seeds = (SIZES[:1], SEEDS[:1]) if quick else (SIZES, SEEDS)
    for seed, data, n_train, n_val in product(seeds, LOADERS, sizes, sizes):
        for delta, epsilon in product(DELTAS, EPSILONS):
            yield Cell(data, n_train, n_val, epsilon, delta, seed)


def measure(cell: Cell) -> list[Answer]:
    """Tune by every method, and find the exact worst case of every box."""
    paper = partial(solve_pessimistic, budget=cell.budget, flip="all", node_limit=PAPER_NODES)
    exact = partial(solve_pessimistic, budget=cell.budget, inner="exact")
    return [
        _of_view(OPTIMISTIC, cell, solve_optimistic),
        _of_view(PAPER, cell, paper),
        _ours(ONE, cell, partial(exact, groups="one", time_limit=ONE_LIMIT)),
        _ours(EACH, cell, partial(exact, groups="each", time_limit=EACH_LIMIT)),
    ]


def _of_view(method: str, cell: Cell, solve: _Solve) -> Answer:
    solution, seconds, check_seconds = _timed(cell, solve, "certify")
    worst = worst_case(solution.problem, solution.box, cell.budget)
    return Answer(
        method=method,
        width=float(solution.box.max()),
        value=worst.value,
        upper_bound=worst.upper_bound,
        lower_bound=None,
        proved=solution.proved,
        status=solution.status.value,
        seconds=seconds,
        check_seconds=check_seconds,
    )


def _ours(method: str, cell: Cell, solve: _Solve) -> Answer:
    solution, seconds, check_seconds = _timed(cell, solve, "certify_worst_case")
    return Answer(
        method=method,
        width=float(solution.box.max()),
        value=solution.objective,
        upper_bound=solution.objective + solution.certificate.inner_gap,
        lower_bound=solution.lower_bound,
        proved=solution.proved,
        status=solution.status.value,
        seconds=seconds,
        check_seconds=check_seconds,
    )


def _timed(cell: Cell, solve: _Solve, check: str) -> tuple[TuningSolution, float, float]:
    problem = cell.problem()
    with certificates_timed(check) as checks:
        started = time.process_time()
        solution = solve(problem)
        seconds = time.process_time() - started - sum(checks)
    return solution, seconds, sum(checks)
