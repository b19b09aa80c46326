"""One box for several folds, of least mean, over them, of the exact worst case.

The worst case of fold k at a box is ``max L_V`` over the near-optimal models of that fold. No exact
method is known for several folds at once, so boxes are proposed and judged exactly:

1. every fold's own pessimistic and optimistic box, their coordinate-wise mean and median, boxes
   with one limit for all features, the full box;
2. from the best of them, steps up and down one coordinate at a time, ever smaller.

What box and budget allow costs nothing, so the narrowest box has a value before any other. A model
found by flipping labels bounds a fold's worst case from below, so most boxes are dismissed by
linear programs alone. The optimistic optimum ``P_o*`` of a fold is below its worst case at any
box, and so is the optimum of its pessimistic problem (`minimax.driver` says why). The larger of the
two, in the mean over folds, bounds the whole problem.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np
from joblib import effective_n_jobs  # type: ignore[import-untyped]
from sklearn.utils.parallel import Parallel, delayed

from pessimal.flip import flip_mask
from pessimal.interrupts import Interrupts, noted_interrupts
from pessimal.limits import AT_ONCE, Deadline, Limits
from pessimal.losses import HINGE
from pessimal.near_optimal.polyhedral.box_set import BoxSet
from pessimal.near_optimal.polyhedral.program import best_intercept, coarse_bound
from pessimal.problem import Budget, TuningProblem, Vector
from pessimal.solvers.base import Result, Status, Task
from pessimal.solvers.search.driver import SearchSolver
from pessimal.ties import smallest_box
from pessimal.tolerances import CUTOFF, OPTIMAL_GAP

UNIFORM_SHARES = (0.0, 0.0625, 0.125, 0.25, 0.5, 0.75)
"""Boxes with one limit for all features, as shares of the way from lower to upper."""

STEPS = (0.5, 0.25, 0.125)
"""Steps of the coordinate search, as shares of ``upper − lower``."""

BOX_SHARE = 0.5
"""Share of the seconds left that one box may take, over all folds."""

OWN_SHARE = 0.5
"""Share of the seconds that the folds' own boxes may take."""

LEAST_SECONDS = 0.05
"""The first box gets at least this, late as it may be."""


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
    with Parallel(n_jobs=n_jobs) as workers, noted_interrupts() as interrupts:
        deadline = Deadline.after(time_limit)
        run = _Run(folds, budget, deadline, most, workers, n_workers, tell, interrupts)
        try:
            status = run.search(flip, node_limit, seed)
            interrupts.deliver()
        except KeyboardInterrupt:
            status = Status.INTERRUPTED
    return SharedBox(
        box=run.best.box,
        value=run.best.value,
        fold_values=run.best.fold_values,
        lower_bound=min(run.lower_bound, run.best.value),
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
    interrupts: Interrupts
    started: float = field(default_factory=time.perf_counter)
    best: _Judged = field(init=False)
    lower_bound: float = 0.0
    judged: int = 0

    def __post_init__(self) -> None:
        narrowest = self.folds[0].lower
        values = [_coarse(fold, self.budget, narrowest) for fold in self.folds]
        self.best = _Judged(narrowest, np.array(values))

    def search(self, flip: str, node_limit: int | None, seed: int) -> Status:
        """Propose and judge until no step helps; return why it ended."""
        own = self.own_boxes(flip, node_limit, seed)
        self.improve(_proposals(self.folds[0], own))
        for step in STEPS:
            while self.improve(_neighbours(self.folds[0], self.best.box, step)):
                pass
        if self.met():
            return Status.OPTIMAL
        return Status.TIME_LIMIT if self.deadline.over else Status.NOT_PROVED

    def own_boxes(self, flip: str, node_limit: int | None, seed: int) -> list[Vector]:
        """Tune folds for themselves, both ways, as far as there is time; the optima give the bound.

        A fold that time does not suffice for has neither a box nor a bound.
        """
        limits = Limits(node_limit=node_limit, seed=seed)
        deadline = self.deadline.share(OWN_SHARE)
        optimistic = self.tune(list(map(Task, self.folds)), limits, deadline.share(0.5))
        self.prove(optimistic)
        tasks = []
        for fold, own in zip(self.folds, optimistic, strict=False):
            flipped = flip_mask(fold, flip, partial(_hyperplane, own))
            tasks.append(Task(fold, self.budget, flipped))
        pessimistic = self.tune(tasks, limits, deadline)
        self.prove(optimistic, pessimistic)
        return [result.box for result in (*pessimistic, *optimistic)]

    def tune(self, tasks: list[Task], limits: Limits, deadline: Deadline) -> list[Result]:
        """Solve tasks in their order, some at a time, until the deadline or Ctrl-C."""
        results: list[Result] = []
        waiting = tasks
        while waiting and not deadline.over and not _interrupted(results):
            rounds = -(-len(waiting) // self.n_workers)
            seconds = None if deadline.left == np.inf else max(AT_ONCE, deadline.left / rounds)
            one = replace(limits, time_limit=seconds)
            batch, waiting = waiting[: self.n_workers], waiting[self.n_workers :]
            results += self.workers(delayed(_tuned)(task, one) for task in batch)
        return results

    def prove(self, *views: list[Result]) -> None:
        """Bound the mean by the larger bound of each fold; pass on a Ctrl-C that a fold took."""
        bounds = np.zeros((len(views), len(self.folds)))
        for known, results in zip(bounds, views, strict=True):
            known[: len(results)] = [result.lower_bound for result in results]
        self.lower_bound = float(bounds.max(axis=0).mean())
        if _interrupted(views[-1]):
            raise KeyboardInterrupt

    def improve(self, boxes: Sequence[Vector]) -> bool:
        """Judge boxes in their order, some at a time; return whether one was better."""
        before = self.best.value
        waiting = list(boxes)
        while waiting and not self.met() and not self.spent():
            size = int(min(self.n_workers, self.max_boxes - self.judged))
            batch, waiting = waiting[:size], waiting[size:]
            cutoff, limit = self.best.value - CUTOFF, self.seconds(BOX_SHARE)
            answers = self.workers(
                delayed(_judge)(self.folds, self.budget, box, cutoff, limit) for box in batch
            )
            self.judged += len(batch)
            self.interrupts.deliver()  # a worst case ends at Ctrl-C with a bound, and says nothing
            for box, values in zip(batch, answers, strict=True):
                if values is not None and values.mean() < self.best.value - CUTOFF:
                    self.best = _Judged(box, values)
                    if self.tell is not None:
                        self.tell(
                            f"worst case {self.best.value:.6f}, bound {self.lower_bound:.6f}, "
                            f"{self.judged} boxes, {time.perf_counter() - self.started:.0f} s"
                        )
        return self.best.value < before

    def met(self) -> bool:
        return self.best.value - self.lower_bound <= OPTIMAL_GAP

    def spent(self) -> bool:
        return self.judged >= self.max_boxes or (self.judged > 0 and self.deadline.over)

    def seconds(self, share: float) -> float | None:
        """Return a share of the seconds left, never too few; None without a limit."""
        left = self.deadline.left
        return None if left == np.inf else max(share * left, LEAST_SECONDS)


def _tuned(task: Task, limits: Limits) -> Result:
    """Solve a fold's own problem; its box is the smallest that keeps the model."""
    deadline = Deadline.after(limits.time_limit)
    result = SearchSolver().solve(task, limits)
    box = smallest_box(task, result.w, result.b, result.box, deadline)
    return replace(result, box=box)


def _interrupted(results: list[Result]) -> bool:
    return any(result.status is Status.INTERRUPTED for result in results)


def _hyperplane(result: Result) -> tuple[Vector, float]:
    return result.w, result.b


def _judge(
    folds: Sequence[TuningProblem],
    budget: Budget,
    box: Vector,
    cutoff: float,
    seconds: float | None,
) -> Vector | None:
    """Worst case of each fold, or None as soon as their mean cannot be below `cutoff`.

    A worst case that is not found in the seconds given counts with its proved upper bound.
    """
    deadline = Deadline.after(seconds)
    values, sets = np.zeros(len(folds)), []
    for k, fold in enumerate(folds):
        if deadline.over:
            break
        sets.append(BoxSet(fold, box, budget, deadline=deadline))
        everyone = np.ones(fold.n_val, dtype=np.bool_)
        values[k] = sets[k].flipped_on(fold, HINGE, everyone, deadline).lower_bound
    for k, fold in enumerate(folds):
        if values.mean() >= cutoff:
            return None
        if k < len(sets):
            share = deadline.share(1.0 / (len(folds) - k))
            values[k] = sets[k].worst_on(fold, HINGE, share, None).upper_bound
        else:
            values[k] = _coarse(fold, budget, box)
    return values


def _coarse(fold: TuningProblem, budget: Budget, box: Vector) -> float:
    """Bound the worst case of a fold without training: some model of the box has no weights."""
    w = np.zeros(fold.n_features)
    trained = fold.train_loss(w, best_intercept(fold, w))
    return coarse_bound(fold, box, fold.training_limit(budget, trained))


def _proposals(problem: TuningProblem, own: list[Vector]) -> list[Vector]:
    """Boxes to begin with, without repetition."""
    low, span = problem.lower, problem.upper - problem.lower
    boxes = [
        *(middle(own, axis=0) for middle in (np.mean, np.median) if own),
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
