"""One box for several folds: least mean, over the folds, of the exact worst case.

The worst case of fold k at a box is ``max L_V`` over the near-optimal models of that fold. No exact
method is known for several folds at once, so boxes are proposed and judged exactly:

1. every fold's own pessimistic and optimistic box, their coordinate-wise mean and median, boxes
   with one limit for all features, the full box;
2. from the best of them, steps up and down one coordinate at a time, ever smaller.

A model found by flipping labels bounds a fold's worst case from below, so most boxes are dismissed
by linear programs alone. The optimistic optimum ``P_o*`` of a fold is below its worst case at any
box, and so is the optimum of its pessimistic problem (`minimax.driver` says why). The larger of the
two, in the mean over folds, bounds the whole problem.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from joblib import effective_n_jobs  # type: ignore[import-untyped]
from sklearn.utils.parallel import Parallel, delayed

from pessimal.near_optimal import worst_case
from pessimal.problem import Budget, TuningProblem, Vector
from pessimal.solution import Status, TuningSolution
from pessimal.solve import solve_optimistic, solve_pessimistic
from pessimal.tolerances import CUTOFF, OPTIMAL_GAP

UNIFORM_SHARES = (0.0625, 0.125, 0.25, 0.5, 0.75)
"""Boxes with one limit for all features, as shares of the way from lower to upper."""

STEPS = (0.5, 0.25, 0.125)
"""Steps of the coordinate search, as shares of ``upper − lower``."""

WORST_CASE_SHARE = 0.1
"""Share of the seconds left that one worst case may take."""

OWN_SHARE = 0.5
"""Share of the seconds that the folds' own boxes may take."""

LEAST_SECONDS = 0.01
"""A worst case gets at least this, late as it may be: the first box must have a value."""


@dataclass(frozen=True, eq=False)
class SharedBox:
    """A box tuned on several folds, and what is known about it.

    Attributes
    ----------
    box : ndarray of shape (p,)
        The hyperparameters w̄, shared by all folds.
    value : float
        Mean over the folds of the worst validation loss: no near-optimal models do worse.
    fold_values : ndarray of shape (n_folds,)
        The worst validation loss of each fold.
    lower_bound : float
        No box has a smaller value.
    status : Status
        OPTIMAL when value and bound meet, TIME_LIMIT, INTERRUPTED, or NOT_PROVED when all
        proposals were judged.
    judged : int
        Number of boxes judged.
    seconds : float
        Wall-clock time.
    """

    box: Vector
    value: float
    fold_values: Vector
    lower_bound: float
    status: Status
    judged: int
    seconds: float

    @property
    def objective(self) -> float:
        """What was made small: `value`, by the name it has in a `TuningSolution`."""
        return self.value

    @property
    def gap(self) -> float:
        """Value less lower bound; 0 when they have met."""
        return max(0.0, self.value - self.lower_bound)

    @property
    def proved(self) -> bool:
        """Whether no other box is better."""
        return self.gap <= OPTIMAL_GAP


def tune_shared_box(
    folds: Sequence[TuningProblem],
    budget: Budget,
    *,
    flip: str = "all",
    time_limit: float | None = None,
    node_limit: int | None = None,
    max_boxes: int | None = None,
    seed: int = 0,
    n_jobs: int | None = None,
    tell: Callable[[str], None] | None = None,
) -> SharedBox:
    """Tune one box on several folds.

    Parameters
    ----------
    folds : sequence of TuningProblem
        With the same features and the same limits.
    budget : Budget
    flip : {"all", "margin", "paper"}, default="all"
        For the folds' own pessimistic boxes.
    time_limit : float, optional
        Seconds for everything; the folds' own boxes may take half of them.
    node_limit : int, optional
        Nodes of each fold's search.
    max_boxes : int, optional
        Number of boxes to judge.
    seed : int, default=0
    n_jobs : int, optional
        Processes; the answer does not depend on their number.
    tell : callable, optional
        Called with a line of text at every better box.

    Returns
    -------
    SharedBox

    Examples
    --------
    >>> fold = TuningProblem([[-2.0], [0.0], [1.0]], [-1, -1, 1], [[0.5], [2.0]], [-1, 1])
    >>> shared = tune_shared_box([fold, fold], Budget(epsilon=0.2))
    >>> bool(shared.lower_bound <= shared.value), shared.proved
    (True, False)
    """
    with Parallel(n_jobs=n_jobs) as workers:
        run = _Run(folds, budget, time_limit, max_boxes, workers, effective_n_jobs(n_jobs), tell)
        return run.tune(flip, node_limit, seed)


@dataclass(frozen=True, eq=False)
class _Judged:
    """A box and a bound on the worst case of each fold; replaced as one, so Ctrl-C splits none."""

    box: Vector
    fold_values: Vector

    @property
    def value(self) -> float:
        return float(self.fold_values.mean())


class _Run:
    """One run: the best box so far, the bound, and the seconds left."""

    def __init__(
        self,
        folds: Sequence[TuningProblem],
        budget: Budget,
        time_limit: float | None,
        max_boxes: int | None,
        workers: Parallel,
        n_workers: int,
        tell: Callable[[str], None] | None,
    ) -> None:
        self.folds = folds
        self.budget = budget
        self.max_boxes = np.inf if max_boxes is None else max_boxes
        self.workers = workers
        self.n_workers = n_workers
        self.tell = tell
        self.started = time.perf_counter()
        self.deadline = np.inf if time_limit is None else self.started + time_limit
        self.best: _Judged | None = None
        self.lower_bound = 0.0
        self.judged = 0

    def tune(self, flip: str, node_limit: int | None, seed: int) -> SharedBox:
        try:
            stopped = self.search(flip, node_limit, seed)
        except KeyboardInterrupt:
            stopped = Status.INTERRUPTED
        best = self.best or _judged_coarsely(self.folds, self.budget)
        return SharedBox(
            box=best.box,
            value=best.value,
            fold_values=best.fold_values,
            lower_bound=min(self.lower_bound, best.value),
            status=stopped,
            judged=self.judged,
            seconds=time.perf_counter() - self.started,
        )

    def search(self, flip: str, node_limit: int | None, seed: int) -> Status:
        """Propose and judge until no step helps; return why it ended."""
        own = self.own_boxes(flip, node_limit, seed)
        self.improve(_proposals(self.folds[0], own))
        for step in STEPS:
            while self.best and self.improve(_neighbours(self.folds[0], self.best.box, step)):
                pass
        if self.met():
            return Status.OPTIMAL
        return Status.TIME_LIMIT if self.seconds_left() <= 0.0 else Status.NOT_PROVED

    def own_boxes(self, flip: str, node_limit: int | None, seed: int) -> list[Vector]:
        """Tune every fold for itself, both ways; the optima give the bound."""
        rounds = -(-2 * len(self.folds) // self.n_workers)
        share = OWN_SHARE * self.seconds_left() / rounds
        limit = None if share == np.inf else max(share, LEAST_SECONDS)
        options = {"time_limit": limit, "node_limit": node_limit, "seed": seed}
        optimistic = self.workers(delayed(solve_optimistic)(fold, **options) for fold in self.folds)
        self.prove(optimistic)
        pessimistic = self.workers(
            delayed(solve_pessimistic)(fold, self.budget, flip=flip, **options)
            for fold in self.folds
        )
        self.prove(optimistic, pessimistic)
        return [solution.box for solution in (*pessimistic, *optimistic)]

    def prove(self, *views: list[TuningSolution]) -> None:
        """Bound the mean by the larger bound of each fold; pass on a Ctrl-C that a fold took."""
        bounds = [[solution.lower_bound for solution in solutions] for solutions in views]
        self.lower_bound = float(np.max(bounds, axis=0).mean())
        if any(solution.status is Status.INTERRUPTED for solution in views[-1]):
            raise KeyboardInterrupt

    def improve(self, boxes: Sequence[Vector]) -> bool:
        """Judge boxes in their order, some at a time; return whether one was better."""
        before = self.value()
        waiting = list(boxes)
        while waiting and not self.met() and not self.spent():
            size = int(min(self.n_workers, self.max_boxes - self.judged))
            batch, waiting = waiting[:size], waiting[size:]
            cutoff, seconds = self.value() - CUTOFF, WORST_CASE_SHARE * self.seconds_left()
            answers = self.workers(
                delayed(_judge)(self.folds, self.budget, box, cutoff, seconds) for box in batch
            )
            self.judged += len(batch)
            for box, values in zip(batch, answers, strict=True):
                if values is not None and values.mean() < self.value() - CUTOFF:
                    self.best = _Judged(box, values)
                    self.report()
        return self.value() < before

    def value(self) -> float:
        return np.inf if self.best is None else self.best.value

    def met(self) -> bool:
        return self.value() - self.lower_bound <= OPTIMAL_GAP

    def spent(self) -> bool:
        late = self.judged > 0 and self.seconds_left() <= 0.0
        return late or self.judged >= self.max_boxes

    def seconds_left(self) -> float:
        return self.deadline - time.perf_counter()

    def report(self) -> None:
        if self.tell is not None:
            self.tell(
                f"worst case {self.value():.6f}, bound {self.lower_bound:.6f}, "
                f"{self.judged} boxes, {time.perf_counter() - self.started:.0f} s"
            )


def _judged_coarsely(folds: Sequence[TuningProblem], budget: Budget) -> _Judged:
    """Return the narrowest box with what linear programs bound, for want of a judged one."""
    box = folds[0].lower
    bounds = [worst_case(fold, box, budget, method="flip").upper_bound for fold in folds]
    return _Judged(box, np.array(bounds))


def _judge(
    folds: Sequence[TuningProblem], budget: Budget, box: Vector, cutoff: float, seconds: float
) -> Vector | None:
    """Worst case of each fold, or None as soon as their mean cannot be below `cutoff`.

    A worst case that is not found in the seconds given counts with its proved upper bound.
    """
    values = np.array([worst_case(fold, box, budget, method="flip").value for fold in folds])
    limit = None if seconds == np.inf else max(seconds, LEAST_SECONDS)
    for k, fold in enumerate(folds):
        if values.mean() >= cutoff:
            return None
        values[k] = worst_case(fold, box, budget, time_limit=limit).upper_bound
    return values


def _proposals(problem: TuningProblem, own: list[Vector]) -> list[Vector]:
    """Boxes to begin with, without repetition."""
    low, span = problem.lower, problem.upper - problem.lower
    boxes = [
        np.mean(own, axis=0),
        np.median(own, axis=0),
        *(low + share * span for share in UNIFORM_SHARES),
        problem.upper,
        *own,
    ]
    unique = {box.tobytes(): box for box in (_within(problem, box) for box in boxes)}
    return list(unique.values())


def _neighbours(problem: TuningProblem, box: Vector, step: float) -> list[Vector]:
    """Boxes one step up or down in one coordinate, within the limits."""
    moves = step * np.diag(problem.upper - problem.lower)
    boxes = [_within(problem, box + move) for move in np.vstack([moves, -moves])]
    return [moved for moved in boxes if (moved != box).any()]


def _within(problem: TuningProblem, box: Vector) -> Vector:
    return np.clip(box, problem.lower, problem.upper)
