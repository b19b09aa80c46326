"""A clock that stands still until it is looked at for the n-th time, and leaps from then on."""

from __future__ import annotations

import time

import pytest


class LeapingClock:
    """Replaces ``time.perf_counter``: tests of time limits do not depend on the machine."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, still_looks: float) -> None:
        self.still_looks = still_looks
        self.looks = 0
        monkeypatch.setattr(time, "perf_counter", self)

    def __call__(self) -> float:
        self.looks += 1
        return 1000.0 * max(0.0, self.looks - self.still_looks)

    @property
    def leapt(self) -> bool:
        """Whether time has begun to pass."""
        return self.looks > self.still_looks
