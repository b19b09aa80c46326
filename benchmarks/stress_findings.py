"""Verdicts on a case, and the comparisons every judge makes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from enum import IntEnum
from fractions import Fraction

import numpy as np

SAME = 1e-6
"""Numbers that differ by no more than this, relative to those above 1, agree."""


class Verdict(IntEnum):
    """The worse, the larger."""

    SAME = 0
    OPEN = 1
    WEAK = 2
    REFUSED = 3
    WRONG = 4


class Findings:
    """What was found about one case; the worst of it is the verdict."""

    def __init__(self) -> None:
        self.found: list[tuple[Verdict, str]] = []
        self.subject = ""
        self.source = ""

    def add(self, verdict: Verdict, text: str) -> None:
        """Note a finding."""
        self.found.append((verdict, text))

    def require(self, holds: bool, text: str, otherwise: Verdict = Verdict.WRONG) -> None:
        """Note what does not hold."""
        if not holds:
            self.add(otherwise, text)

    @contextmanager
    def limited(self, limited: bool = True) -> Iterator[None]:
        """Within a limit, open bounds and weak values are no findings."""
        before = len(self.found)
        yield
        if limited:
            judged = self.found[before:]
            self.found[before:] = [finding for finding in judged if finding[0] > Verdict.WEAK]

    @property
    def verdict(self) -> Verdict:
        """The worst finding."""
        return max((verdict for verdict, _ in self.found), default=Verdict.SAME)

    def __str__(self) -> str:
        return "; ".join(text for verdict, text in self.found if verdict == self.verdict)


def at_most(low: float | Fraction, high: float | Fraction, tolerance: float = SAME) -> bool:
    """Whether ``low ≤ high`` up to rounding; false for NaN."""
    low, high = float(low), float(high)
    return low <= high + tolerance * max(1.0, abs(high)) if np.isfinite(high) else low <= high


def agree(value: float, truth: float | Fraction) -> bool:
    """Whether two numbers are the same up to rounding."""
    return at_most(value, truth) and at_most(truth, value)
