"""A line now and then while the search runs: incumbent, bound, nodes, seconds."""

from __future__ import annotations

import numpy as np
from rich.console import Console

from pessimal.limits import Callback, Progress

SECONDS_BETWEEN_LINES = 1.0


def progress_lines(name: str) -> Callback:
    """Return a callback that writes at most one line a second to standard error.

    Examples
    --------
    >>> tell = progress_lines("PessimisticSVC")
    >>> tell(Progress(incumbent=0.5, bound=0.1, nodes=3, seconds=0.2))  # too early for a line
    """
    console = Console(stderr=True, highlight=False)
    last = 0.0

    def tell(progress: Progress) -> None:
        nonlocal last
        if progress.seconds - last < SECONDS_BETWEEN_LINES:
            return
        last = progress.seconds
        found = np.isfinite(progress.incumbent)
        loss = f"validation loss {progress.incumbent:.6f}" if found else "no limits judged yet"
        console.print(
            f"{name}: {loss}, bound {progress.bound:.6f}, "
            f"{progress.nodes} nodes, {progress.seconds:.0f} s"
        )

    return tell
