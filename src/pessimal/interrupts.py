"""Ctrl-C at safe points only.

Python handles a signal between any two of its instructions, so that a KeyboardInterrupt can find
half-written state anywhere. Here Ctrl-C is written down, and raised where the code says so.
"""

from __future__ import annotations

import signal
import threading
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import FrameType
from typing import Any

from pessimal.limits import Deadline


class Interrupts:
    """Whether Ctrl-C came since the block began.

    Attributes
    ----------
    pending : bool
        Ctrl-C came, and this block has not raised it yet.
    """

    def __init__(self) -> None:
        self.pending = False

    def deliver(self) -> None:
        """Raise the KeyboardInterrupt that was held back, if there is one: a safe point."""
        if self.pending:
            self.pending = False
            raise KeyboardInterrupt


class _Recorder:
    """Handles Ctrl-C for a block and for those around it.

    Another signal's handler may raise just where the block ends and keep it from putting the former
    handler back. So a recorder whose block is gone steps aside.
    """

    def __init__(
        self, block: Interrupts, previous: Callable[[int, FrameType | None], Any], holds: bool
    ) -> None:
        self.block = weakref.ref(block)
        self.previous = previous
        self.holds = holds

    def __call__(self, number: int, frame: FrameType | None) -> None:
        held = False
        handler: Callable[[int, FrameType | None], Any] = self
        while isinstance(handler, _Recorder):
            block = handler.block()
            if block is not None:
                block.pending = True
                held |= handler.holds
            handler = handler.previous
        if not held:
            handler(number, frame)

    @property
    def held(self) -> bool:
        """Whether this block, or one around it, holds Ctrl-C back."""
        outer = isinstance(self.previous, _Recorder) and self.previous.held
        return outer or (self.holds and self.block() is not None)


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
    with _recorded(holds=True) as interrupts:
        yield interrupts


@contextmanager
def noted_interrupts() -> Iterator[Interrupts]:
    """Note that Ctrl-C came, and hold nothing back.

    What is called in the block may end at Ctrl-C with what it has by then, and keep that to itself.
    Whoever has to tell of it, or to end as well, asks here.

    Examples
    --------
    >>> with noted_interrupts() as interrupts:
    ...     try:
    ...         signal.raise_signal(signal.SIGINT)
    ...     except KeyboardInterrupt:
    ...         pass
    ...     interrupts.pending
    True
    """
    with _recorded(holds=False) as interrupts:
        yield interrupts


@contextmanager
def _recorded(holds: bool) -> Iterator[Interrupts]:
    interrupts = Interrupts()
    previous = signal.getsignal(signal.SIGINT)
    while isinstance(previous, _Recorder) and previous.block() is None:
        previous = previous.previous
    nested = isinstance(previous, _Recorder)
    in_main_thread = threading.current_thread() is threading.main_thread()
    if not in_main_thread or not (nested or previous is signal.default_int_handler):
        yield interrupts
        return
    assert callable(previous)
    raises = holds and not (isinstance(previous, _Recorder) and previous.held)
    try:
        signal.signal(signal.SIGINT, _Recorder(interrupts, previous, holds))
        yield interrupts
    finally:
        signal.signal(signal.SIGINT, previous)
        if raises:
            interrupts.deliver()


@dataclass(frozen=True)
class InterruptibleDeadline(Deadline):
    """A deadline that is also over when Ctrl-C came."""

    interrupts: Interrupts = field(default_factory=Interrupts)

    @property
    def over(self) -> bool:
        """Whether it has passed, or Ctrl-C came."""
        return self.interrupts.pending or super().over


@contextmanager
def ended_by_interrupts(deadline: Deadline) -> Iterator[Deadline]:
    """Let Ctrl-C end a block as its deadline does: with what it has by then.

    Examples
    --------
    >>> with ended_by_interrupts(Deadline()) as deadline:
    ...     before = deadline.over
    ...     signal.raise_signal(signal.SIGINT)
    ...     before, deadline.share(0.5).over
    (False, True)
    """
    with deferred_interrupts() as interrupts:
        yield InterruptibleDeadline(deadline.moment, deadline.end, interrupts)
        interrupts.pending = False
