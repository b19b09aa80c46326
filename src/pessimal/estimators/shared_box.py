"""One box for several folds, of least mean, over them, of the exact worst case.

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
from dataclasses import dataclass, field

import numpy as np
from joblib import effective_n_jobs  # type: ignore[import-untyped]
from sklearn.utils.parallel import Parallel, delayed

from pessimal.limits import Deadline
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
    """Tune one box on several folds, of the same features and with the same limits.

    `flip` and `node_limit` are those of the folds' own searches, which may take half of the time
    limit; `tell` is called with a line of text at every better box. The answer does not depend on
    `n_jobs`, the number of processes.
    """
    most = np.inf if max_boxes is None else max_boxes
    n_workers = effective_n_jobs(n_jobs)
    with Parallel(n_jobs=n_jobs) as workers:
        run = _Run(folds, budget, Deadline.after(time_limit), most, workers, n_workers, tell)
        try:
            status = run.search(flip, node_limit, seed)
        except KeyboardInterrupt:
            status = Status.INTERRUPTED
    best = run.best or _judged_coarsely(folds, budget)
    return SharedBox(
        box=best.box,
        value=best.value,
        fold_values=best.fold_values,
        lower_bound=min(run.lower_bound, best.value),
        status=status,
        judged=run.judged,
        seconds=time.perf_counter() - run.started,
    )


@dataclass(frozen=True, eq=False)
class _Judged:
    """A box and a bound on the worst case of each fold; replaced as one, so Ctrl-C splits none."""

    box: Vector
    fold_values: Vector

    @property
    def value(self) -> float:
        return float(self.fold_values.mean())


@dataclass(eq=False)
class _Run:
    """One run: the best box so far, the bound, and the time left."""

    folds: Sequence[TuningProblem]
    budget: Budget
    deadline: Deadline
    max_boxes: float
    workers: Parallel
    n_workers: int
    tell: Callable[[str], None] | None
    started: float = field(default_factory=time.perf_counter)
    best: _Judged | None = None
    lower_bound: float = 0.0
    judged: int = 0

    def search(self, flip: str, node_limit: int | None, seed: int) -> Status:
        """Propose and judge until no step helps; return why it ended."""
        own = self.own_boxes(flip, node_limit, seed)
        self.improve(_proposals(self.folds[0], own))
        for step in STEPS:
            while self.best and self.improve(_neighbours(self.folds[0], self.best.box, step)):
                pass
        if self.met():
            return Status.OPTIMAL
        return Status.TIME_LIMIT if self.deadline.over else Status.NOT_PROVED

    def own_boxes(self, flip: str, node_limit: int | None, seed: int) -> list[Vector]:
        """Tune every fold for itself, both ways; the optima give the bound."""
        rounds = -(-2 * len(self.folds) // self.n_workers)
        limit = self.seconds(OWN_SHARE / rounds)
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
            cutoff, limit = self.value() - CUTOFF, self.seconds(WORST_CASE_SHARE)
            answers = self.workers(
                delayed(_judge)(self.folds, self.budget, box, cutoff, limit) for box in batch
            )
            self.judged += len(batch)
            for box, values in zip(batch, answers, strict=True):
                if values is not None and values.mean() < self.value() - CUTOFF:
                    self.best = _Judged(box, values)
                    if self.tell is not None:
                        self.tell(
                            f"worst case {self.value():.6f}, bound {self.lower_bound:.6f}, "
                            f"{self.judged} boxes, {time.perf_counter() - self.started:.0f} s"
                        )
        return self.value() < before

    def value(self) -> float:
        return np.inf if self.best is None else self.best.value

    def met(self) -> bool:
        return self.value() - self.lower_bound <= OPTIMAL_GAP

    def spent(self) -> bool:
        return self.judged >= self.max_boxes or (self.judged > 0 and self.deadline.over)

    def seconds(self, share: float) -> float | None:
        """Return a share of the seconds left, never too few; None without a limit."""
        left = self.deadline.left
        return None if left == np.inf else max(share * left, LEAST_SECONDS)


def _judged_coarsely(folds: Sequence[TuningProblem], budget: Budget) -> _Judged:
    """Return the narrowest box with what linear programs bound, for want of a judged one."""
    box = folds[0].lower
    bounds = [worst_case(fold, box, budget, inner="flip").upper_bound for fold in folds]
    return _Judged(box, np.array(bounds))


def _judge(
    folds: Sequence[TuningProblem], budget: Budget, box: Vector, cutoff: float, limit: float | None
) -> Vector | None:
    """Worst case of each fold, or None as soon as their mean cannot be below `cutoff`.

    A worst case that is not found in the seconds given counts with its proved upper bound.
    """
    values = np.array([worst_case(fold, box, budget, inner="flip").value for fold in folds])
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
