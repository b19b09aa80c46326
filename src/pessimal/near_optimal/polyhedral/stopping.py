"""Compiled code that stops at a deadline or Ctrl-C."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from pessimal.interrupts import deferred_interrupts
from pessimal.limits import Deadline
from pessimal.lp.watch import Watch


@contextmanager
def stopping(watch: Watch, deadline: Deadline) -> Iterator[Callable[[], bool]]:
    """Stop compiled code at a deadline or Ctrl-C, which is raised when all is whole again."""
    with deferred_interrupts() as interrupts:

        def stops() -> bool:
            return interrupts.pending or deadline.over

        watch.begin(stops)
        try:
            yield stops
        finally:
            watch.dismiss()
        if watch.error is not None:
            raise watch.error
        interrupts.deliver()
