"""The rest of a large tree, explored by several processes.

An open node is data: the bounds that tell it from the root. A *job* is some open nodes and the loss
to beat. A worker explores them for a number of nodes and answers with those that are open by then.
Jobs are made, and their answers taken up, in one order: there are always as many under way, however
many workers there are, and the next ones are made when the first has been answered. So what is
found does not depend on the number of workers, nor on which of them is quicker.

Until its answer has been taken up a job counts with the lowest bound of its nodes. So the bound of
the tree holds at every moment, whatever becomes of a worker. When one dies, or cannot be started,
this process does all the jobs itself.
"""

from __future__ import annotations

import os
import signal
import threading
import time
from bisect import bisect_right
from collections import deque
from collections.abc import Iterator
from concurrent.futures import BrokenExecutor, Future, wait
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from multiprocessing import Pipe, resource_tracker
from multiprocessing.connection import Connection
from typing import NamedTuple

import numpy as np
from joblib.externals.loky import ProcessPoolExecutor  # type: ignore[import-untyped]
from numpy.typing import NDArray

from pessimal.lp.watch import Watch
from pessimal.problem import Vector
from pessimal.solvers.base import Task
from pessimal.solvers.search.node import OpenNode
from pessimal.solvers.search.parts import parts_of
from pessimal.solvers.search.tree import Tree
from pessimal.tolerances import CUTOFF

UNDER_WAY = 64
"""Jobs under way, and so the most workers that are of use."""

WORK, FEWEST = 1e6, 10
"""Nodes of a job, times entries of a node's dictionaries; and how many nodes at least.

That takes a worker some hundredths of a second: less would be spent on handing over, more would let
all the others go on without what it finds.
"""

STARTS = 4
"""Open nodes that a job begins with, at most: the first may be closed soon."""

BYTES = 2**30
"""Memory for open nodes; when it is in use, those come first that are closed soonest."""

CANNOT_WORK = (BrokenExecutor, OSError, RuntimeError, AssertionError)
"""What says that a worker has died, or that none may be started: in a daemonic process it is an
AssertionError, without files or threads left one of the others."""

SECONDS_TO_STOP = 0.2
"""Workers that are told to stop answer within milliseconds, unless they have yet to start."""

SECONDS_TO_LIVE = 5.0
"""Of a worker that was told to stop, or whose parent has been killed."""


class Job(NamedTuple):
    """Open nodes, the one of lowest bound last, the loss to beat, the cap of λ, and nodes."""

    starts: list[OpenNode]
    best: float
    multiplier_cap: float
    n_nodes: int


class Explored(NamedTuple):
    """The answer to a job: ``u``, its box and its loss if one was found, and what is open."""

    point: tuple[Vector, Vector] | None
    best: float
    nodes: int
    unresolved: int
    unresolved_bound: float
    open: list[OpenNode]


class Explorer:
    """Does jobs on one part of a problem, each as if it were the first."""

    def __init__(self, task: Task, part: int, costs: NDArray[np.float64], watch: Watch) -> None:
        self.task = task
        self.part = part
        self.costs = costs
        self.watch = watch

    def explore(self, job: Job) -> Explored:
        """Explore subtrees; when the watch says stop, answer with what there is."""
        if self.watch.over:
            return Explored(None, job.best, 0, 0, np.inf, job.starts)
        tree = parts_of(self.task, 0, self.watch)[self.part].tree
        assert isinstance(tree, Tree)
        tree.incumbent.best = job.best
        tree.cap_multiplier(job.multiplier_cap)
        tree.begin_from(job.starts, self.costs)
        tree.advance(job.n_nodes)
        return Explored(
            tree.incumbent.point() if tree.incumbent.found else None,
            tree.incumbent.best,
            tree.nodes,
            tree.unresolved,
            tree.unresolved_bound,
            tree.open_nodes(),
        )


class _Worker:
    """What a worker process keeps from one job to the next."""

    explorer: Explorer

    @classmethod
    def begin(cls, task: Task, part: int, costs: NDArray[np.float64], stop: Connection) -> None:
        """Leave Ctrl-C to the parent; stop when it says so, or is gone, which looks the same."""
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        threading.Thread(target=_end_after, args=(stop,), daemon=True).start()
        cls.explorer = Explorer(task, part, costs, Watch(stop.poll))

    @classmethod
    def explore(cls, job: Job) -> Explored:
        return cls.explorer.explore(job)


@contextmanager
def _ctrl_c_blocked() -> Iterator[None]:
    """Keep Ctrl-C waiting. A process that is started meanwhile never sees it."""
    if not hasattr(signal, "pthread_sigmask"):  # Windows
        yield
        return
    resource_tracker.ensure_running()  # which a first process starts, and which lets Ctrl-C through
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _end_after(stop: Connection) -> None:
    """Do not wait for ever for a parent that was killed to read an answer."""
    with suppress(OSError):
        stop.poll(None)
    time.sleep(SECONDS_TO_LIVE)
    os._exit(1)


@dataclass(eq=False)
class _UnderWay:
    """A job, the lowest bound of its nodes, and its answer, if a worker is to give it."""

    job: Job
    bound: float
    answer: Future[Explored] | None = None

    @property
    def answered(self) -> bool:
        """Whether a worker has answered; one that died has not."""
        answer = self.answer
        return answer is not None and answer.done() and answer.exception() is None


class Subtrees:
    """Takes the place of a part's tree: its open nodes, and the jobs under way."""

    def __init__(
        self, tree: Tree, explorer: Explorer, n_entries: int, n_workers: int, node_limit: float
    ) -> None:
        self.incumbent = tree.incumbent
        self.nodes = tree.nodes
        self.unresolved = tree.unresolved
        self.unresolved_bound = tree.unresolved_bound
        self.multiplier_cap = np.inf
        self.node_limit = node_limit
        self.nodes_per_job = max(FEWEST, int(WORK / n_entries))
        # Bound with the opposite sign, number, node: sorted, the lowest bound is last, and among
        # equal ones the latest.
        self.open: list[tuple[float, int, OpenNode]] = []
        self.n_opened = 0
        self.under_way: deque[_UnderWay] = deque()
        self.add(tree.open_nodes())
        self.most_open = BYTES // max(node.decided.nbytes for _, _, node in self.open)
        self.notes: tuple[str, ...] = ()
        self.explorer = explorer
        self.stop_sign: Connection | None = None
        self.stopper: Connection | None = None
        self.workers: ProcessPoolExecutor | None = None
        try:
            self.stop_sign, self.stopper = Pipe(duplex=False)
            # Not multiprocessing's: that would run the caller's script again unless it is guarded.
            self.workers = ProcessPoolExecutor(
                min(n_workers, UNDER_WAY),
                initializer=_Worker.begin,
                initargs=(explorer.task, explorer.part, explorer.costs, self.stop_sign),
            )
        except CANNOT_WORK:
            self.give_up_workers()

    @property
    def finished(self) -> bool:
        """Whether no node is left."""
        return not self.open and not self.under_way

    def open_bound(self) -> float:
        """Return the smallest bound of a node that is open, under way or left unresolved."""
        bound = min((one.bound for one in self.under_way), default=np.inf)
        if self.open:
            bound = min(bound, -self.open[-1][0])
        return min(bound, self.unresolved_bound)

    def cap_multiplier(self, cap: float) -> None:
        """Have λ no larger than `cap` in all jobs to come."""
        self.multiplier_cap = min(self.multiplier_cap, cap)

    def advance(self, seconds: float) -> bool:
        """Wait some time for the next answer; return whether one was taken up."""
        self.hand_out()
        if not self.under_way:
            return False
        answer = self.under_way[0].answer
        if answer is not None and not wait([answer], seconds).done:
            return False
        self.take_up()
        return True

    def hand_out(self) -> None:
        """Make jobs of open nodes until enough are under way."""
        cutoff = self.incumbent.best - CUTOFF
        del self.open[: bisect_right(self.open, (-cutoff, self.n_opened))]
        # Without a model the search goes on beyond the limit.
        left = self.node_limit if self.incumbent.best < np.inf else np.inf
        left -= self.nodes + sum(one.job.n_nodes for one in self.under_way)
        while self.open and left > 0 and len(self.under_way) < UNDER_WAY:
            n_nodes = int(min(self.nodes_per_job, left))
            n_starts = min(STARTS, -(-len(self.open) // UNDER_WAY))
            end = len(self.open)
            short = end > self.most_open
            some = slice(0, n_starts) if short else slice(end - n_starts, end)
            starts = [node for _, _, node in self.open[some]]
            job = Job(starts, self.incumbent.best, self.multiplier_cap, n_nodes)
            one = _UnderWay(job, starts[-1].bound)
            # In this order: whatever a signal handler raises, no node is lost.
            self.under_way.append(one)
            del self.open[some]
            left -= n_nodes
            if self.workers is not None:
                try:
                    with _ctrl_c_blocked():  # in workers that this starts, too
                        one.answer = self.workers.submit(_Worker.explore, job)
                except CANNOT_WORK:
                    self.give_up_workers()

    def take_up(self) -> None:
        """Take up the answer to the first job; find it here if no worker does."""
        first = self.under_way[0]
        explored = None
        if first.answer is not None:
            try:
                explored = first.answer.result()
            except (*CANNOT_WORK, MemoryError):
                self.give_up_workers()
        if explored is None:
            explored = self.explorer.explore(first.job)
        if explored.point is not None and explored.best < self.incumbent.best:
            self.incumbent.take(*explored.point, explored.best)
        self.unresolved_bound = min(self.unresolved_bound, explored.unresolved_bound)
        self.unresolved += explored.unresolved
        self.add(explored.open)
        self.under_way.popleft()
        self.nodes += explored.nodes

    def add(self, nodes: list[OpenNode]) -> None:
        """Add open nodes."""
        numbers = range(self.n_opened, self.n_opened + len(nodes))
        self.n_opened += len(nodes)
        self.open += [(-node.bound, k, node) for k, node in zip(numbers, nodes, strict=True)]
        self.open.sort()

    def give_up_workers(self) -> None:
        """Go on in this process alone."""
        self.notes = ("worker processes failed, so that the search went on in one",)
        if self.workers is not None:
            self.workers.shutdown(kill_workers=True)
            self.workers = None
        for one in self.under_way:
            if not one.answered:
                one.answer = None

    def stop(self) -> None:
        """Have the workers answer at once, and take up what they have."""
        self.tell_to_stop()
        while self.under_way and self.under_way[0].answered:
            self.take_up()

    def close(self) -> None:
        """End the workers."""
        self.tell_to_stop()
        if self.workers is not None:
            late = any(one.answer and not one.answer.done() for one in self.under_way)
            self.workers.shutdown(kill_workers=late)
            self.workers = None
        for end in (self.stopper, self.stop_sign):
            if end is not None:
                end.close()

    def tell_to_stop(self) -> None:
        """Tell the workers, and wait until they have answered."""
        if self.workers is None or self.stopper is None or self.stopper.closed:
            return
        self.stopper.send_bytes(b"stop")
        self.stopper.close()
        wait([one.answer for one in self.under_way if one.answer], SECONDS_TO_STOP)
