"""What is said of a time limit that was too short for what is always done."""

from __future__ import annotations

import time
from collections.abc import Sequence

from pessimal.limits import Deadline

TOLERATED = 0.2
"""Share of a time limit by which a run may pass it without a word."""


class Laps:
    """The seconds that the parts of a run take, one after the other."""

    def __init__(self) -> None:
        self.parts: list[tuple[str, float]] = []
        self._begun = time.perf_counter()

    def lap(self, name: str) -> float:
        """Note that a part has ended; return its seconds."""
        seconds = time.perf_counter() - self._begun
        self.parts.append((name, seconds))
        self._begun += seconds
        return seconds


def overrun_notes(
    deadline: Deadline, time_limit: float, parts: Sequence[tuple[str, float]]
) -> tuple[str, ...]:
    """Say so if a run passed its limit, and for what.

    Parameters
    ----------
    deadline : Deadline
    time_limit : float
        Seconds that it began with.
    parts : sequence of (str, float)
        What the run consisted of, and the seconds that each part took.
    """
    if deadline.left >= -TOLERATED * time_limit:
        return ()
    told = [f"{name} {seconds:.1f} s" for name, seconds in parts]
    return (
        "The time limit was too short for what is always done, a first training of whatever is "
        f"asked for: all took {time_limit - deadline.left:.1f} s, of which {', '.join(told)}.",
    )
