"""Clocks for tests of time limits, which must not depend on the machine."""

from __future__ import annotations

import time

import pytest


class LeapingClock:
    """Stands still until it is looked at for the n-th time, and leaps from then on."""

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


class WorkClock:
    """Replaces the clocks: time passes by work alone, which says how long it takes."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 0.0
        for name in ("perf_counter", "time"):  # the latter is scikit-learn's
            monkeypatch.setattr(time, name, lambda: self.now)

    def work(self, seconds: float) -> None:
        """Let time pass."""
        self.now += seconds
