"""The time of an audit: shared among its steps, and told while it passes."""

from __future__ import annotations

import sys
import threading
import time
from typing import Self

from pessimal.interrupts import InterruptibleDeadline, Interrupts
from pessimal.limits import Deadline, read_time_limit

SECONDS_BETWEEN_LINES = 1.0


class Clock:
    """Shares what is left of a time limit among the steps still to come.

    As a context manager it writes what the audit, or what it is named for, is at to standard error,
    once a second, if asked to; a quick one writes nothing.

    Attributes
    ----------
    interrupts : Interrupts
        Of the block in which the steps are: Ctrl-C ends a step as its deadline does.
    """

    def __init__(self, seconds: float | None, verbose: bool = False, name: str = "audit") -> None:
        seconds = read_time_limit(seconds)
        self._name = name
        self._begun = time.perf_counter()
        self._deadline = Deadline.after(seconds)
        self._program = 0.0
        self.interrupts = Interrupts()
        self._at = ""
        self._ended = threading.Event()
        self._teller = threading.Thread(target=self._tell, daemon=True) if verbose else None

    def __enter__(self) -> Self:
        if self._teller is not None:
            self._teller.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()

    def trained(self) -> None:
        """Remember how long it took to train: no program of an audit is smaller."""
        self._program = time.perf_counter() - self._begun

    @property
    def over(self) -> bool:
        """Whether there is no time left for another program."""
        return self._program > self._deadline.left

    def after(self, part: float) -> Deadline:
        """Return the moment when a part of what is left has passed; Ctrl-C comes before it."""
        share = self._deadline.share(part)
        return InterruptibleDeadline(share.moment, share.end, self.interrupts)

    def begin(self, step: str) -> bool:
        """Remember what comes next; return whether there is time for it."""
        self._at = step
        return not self.over

    def _tell(self) -> None:
        while not self._ended.wait(SECONDS_BETWEEN_LINES):
            seconds = time.perf_counter() - self._begun
            sys.stderr.write(f"{self._name}: {self._at}, {seconds:.0f} s\n")
            sys.stderr.flush()
