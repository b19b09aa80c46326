"""Where configurations run: processes on this machine, or an existing Dask cluster."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import BrokenExecutor, Executor, Future, ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from typing import ParamSpec, TypeVar

from joblib import cpu_count  # type: ignore[import-untyped]

from pessimal.errors import InvalidInputError, import_extra

P = ParamSpec("P")
T = TypeVar("T")

CLUSTER_IN_FLIGHT = 256
"""Configurations that a cluster holds at a time: workers come and go, so they are no guide."""

_SECONDS_TO_CONNECT = 10


@dataclass(frozen=True)
class Workers:
    """An executor, how many configurations to hand it at a time, and what to call it."""

    executor: Executor
    in_flight: int
    name: str


@contextmanager
def open_workers(jobs: int | None = None, cluster: str | None = None) -> Iterator[Workers]:
    """Open processes on this machine, by default one per core, or the Dask cluster at an address.

    A cluster's workers want one thread each, ``dask worker --nthreads 1``: configurations compute,
    they do not wait.
    """
    if cluster is not None:
        if jobs is not None:
            raise InvalidInputError(
                f"jobs is {jobs} but cluster is {cluster!r}, which has workers of its own; "
                "pass one of the two"
            )
        with _dask(cluster) as executor:
            yield Workers(executor, CLUSTER_IN_FLIGHT, f"Dask cluster {cluster}")
        return
    jobs = int(cpu_count()) if jobs is None else jobs
    if not jobs >= 1:
        raise InvalidInputError(f"jobs is {jobs}; pass a number of processes from 1 on")
    with Processes(jobs) as executor:
        # One more than there are processes: the next configuration waits at the entry.
        yield Workers(executor, jobs + 1, f"this machine, {jobs} at a time")


class Processes(Executor):
    """Processes on this machine; when one dies and takes the pool with it, a new pool begins.

    Fresh interpreters are started, not forks: those would share locks and threads of this process.
    """

    def __init__(self, jobs: int) -> None:
        self._jobs = jobs
        self._pool = self._new_pool()

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """Hand over a call, to a new pool if the old one is broken."""
        try:
            return self._pool.submit(fn, *args, **kwargs)
        except BrokenExecutor:
            self._pool.shutdown()
            self._pool = self._new_pool()
            return self._pool.submit(fn, *args, **kwargs)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """End the processes when they have finished what they were given."""
        self._pool.shutdown(wait, cancel_futures=cancel_futures)

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is not None:
            # Nobody waits for what still runs. Python 3.14 has terminate_workers() for this.
            for process in list((self._pool._processes or {}).values()):
                process.terminate()
        self.shutdown(cancel_futures=True)

    def _new_pool(self) -> ProcessPoolExecutor:
        return ProcessPoolExecutor(
            self._jobs, mp_context=multiprocessing.get_context("spawn"), initializer=_begin_worker
        )


def _begin_worker() -> None:
    """Leave Ctrl-C to the parent, and do not outlive it.

    A search that is interrupted returns its incumbent, which must not be taken for the answer.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)


@contextmanager
def _dask(address: str) -> Iterator[Executor]:
    distributed = import_extra("distributed", "cluster")
    try:
        client = distributed.Client(address, timeout=_SECONDS_TO_CONNECT, set_as_default=False)
    except (OSError, ValueError) as error:
        raise InvalidInputError(
            f"cluster is {address!r}, but no Dask scheduler answers there ({error}); start one "
            "with `dask scheduler` and pass the tcp:// address it prints"
        ) from error
    # Not pure: a configuration may have failed before for want of a file that is there now.
    with client, client.get_executor(pure=False) as executor:
        yield executor
