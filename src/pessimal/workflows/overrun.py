"""What is said of a time limit that was too short for what is always done."""

from __future__ import annotations

from pessimal.limits import Deadline

TOLERATED = 0.2
"""Share of a time limit by which a run may pass it without a word."""


def overrun_notes(deadline: Deadline, time_limit: float, always: str) -> tuple[str, ...]:
    """Say so if a run passed its limit, and for what.

    Parameters
    ----------
    deadline : Deadline
    time_limit : float
        Seconds that it began with.
    always : str
        What no limit cuts short, with the seconds that it took, where they are known.
    """
    if deadline.left >= -TOLERATED * time_limit:
        return ()
    return (
        f"The time limit was too short for what is always done ({always}): this took "
        f"{time_limit - deadline.left:.1f} s.",
    )
