"""One process a solver, so that none inherits another's memory, threads or crash.

A worker warms up once on a small instance, then solves what it is sent. A solver that overshoots
its limit by far is ended with its worker.
"""

from __future__ import annotations

import multiprocessing
import signal
from dataclasses import replace
from multiprocessing.connection import Connection
from types import TracebackType

import memory
from contenders import run
from instances import VIEWS, Instance
from rows import FAILED, LIMIT, Row

GRACE = 120.0
"""Seconds beyond the limit for start-up, writing the program and checking the answer."""

_WARM_UP = [Instance("warm-up", "cancer", 5, 5, 99, view, epsilon) for view, epsilon in VIEWS]


class Worker:
    """A process that runs one solver; used as a context manager."""

    def __init__(self, contender: str) -> None:
        self.contender = contender
        self._process: multiprocessing.process.BaseProcess | None = None
        self._pipe: Connection | None = None

    def __enter__(self) -> Worker:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._end()

    def solve(self, instance: Instance, limit: float) -> Row:
        """Return the row of an instance, whatever happens to the process."""
        if self._pipe is None:
            self._start()
        assert self._pipe is not None
        try:
            self._pipe.send((instance, limit))
            if self._pipe.poll(limit + GRACE):
                row: Row = self._pipe.recv()
                return row
            status, message = LIMIT, f"still running {GRACE:g} s after its limit; ended"
        except (EOFError, OSError):
            status, message = FAILED, f"the process ended by itself, {self._exit_code()}"
        self._end()
        return Row(instance, self.contender, "", limit, status, message=message)

    def _start(self) -> None:
        # A fresh interpreter: a forked one would share the parent's memory and thread pools.
        context = multiprocessing.get_context("spawn")
        self._pipe, far_end = context.Pipe()
        self._process = context.Process(target=_serve, args=(self.contender, far_end), daemon=True)
        self._process.start()
        far_end.close()

    def _exit_code(self) -> str:
        assert self._process is not None
        self._process.join(5.0)
        return f"exit code {self._process.exitcode}"

    def _end(self) -> None:
        if self._process is not None and self._pipe is not None:
            self._pipe.close()
            self._process.kill()
            self._process.join()
        self._process = self._pipe = None


def _serve(contender: str, pipe: Connection) -> None:
    # Ctrl-C is the parent's to handle; it ends its workers.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    for instance in _WARM_UP:
        run(instance, contender, 10.0)
    while True:
        try:
            instance, limit = pipe.recv()
        except EOFError:
            return
        before = memory.reset_peak()
        row = run(instance, contender, limit)
        pipe.send(replace(row, memory_before=before, memory_peak=memory.peak()))
