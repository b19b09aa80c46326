"""Ctrl-C at safe points only.

Python handles a signal between any two of its instructions, so that a KeyboardInterrupt can find
half-written state anywhere. Here Ctrl-C is written down, and raised where the code says so.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


class Interrupts:
    """Whether Ctrl-C came since the block began.

    Attributes
    ----------
    pending : bool
        Ctrl-C came, and this block has not raised it yet.
    """

    def __init__(self, outer: Interrupts | None = None) -> None:
        self.pending = False
        self._outer = outer

    def deliver(self) -> None:
        """Raise the KeyboardInterrupt that was held back, if there is one: a safe point."""
        if self.pending:
            self.pending = False
            raise KeyboardInterrupt

    def _record(self, number: int, frame: FrameType | None) -> None:
        """Handle the signal, for this block and for those around it."""
        self.pending = True
        if self._outer is not None:
            self._outer._record(number, frame)


@contextmanager
def deferred_interrupts() -> Iterator[Interrupts]:
    """Hold back Ctrl-C until the block ends or asks for it with `Interrupts.deliver`.

    Blocks may be nested: Ctrl-C then reaches each of them, the inner one first, so that all of
    them end. One that was not asked for is raised at the end of the outermost block: none is lost.
    Outside the main thread, and where a program handles Ctrl-C in its own way, nothing is held
    back.

    Examples
    --------
    >>> done = []
    >>> try:
    ...     with deferred_interrupts():
    ...         signal.raise_signal(signal.SIGINT)
    ...         done.append("the whole block")
    ... except KeyboardInterrupt:
    ...     done.append("then Ctrl-C")
    >>> done
    ['the whole block', 'then Ctrl-C']
    """
    previous = signal.getsignal(signal.SIGINT)
    outer = getattr(previous, "__self__", None)
    nested = isinstance(outer, Interrupts)
    interrupts = Interrupts(outer if nested else None)
    in_main_thread = threading.current_thread() is threading.main_thread()
    if not in_main_thread or not (nested or previous is signal.default_int_handler):
        yield interrupts
        return
    signal.signal(signal.SIGINT, interrupts._record)
    try:
        yield interrupts
    finally:
        signal.signal(signal.SIGINT, previous)
        if not nested:
            interrupts.deliver()
