"""Tables and numbers as the pages write them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence


def table(head: Sequence[str], lines: Iterable[Sequence[str]]) -> str:
    """Return a table in Markdown.

    Examples
    --------
    >>> print(table(["a", "b"], [["1", "2"]]))
    | a | b |
    | --- | --- |
    | 1 | 2 |
    """
    rule = ["---"] * len(head)
    return "\n".join(f"| {' | '.join(line)} |" for line in [head, rule, *lines])


def seconds(value: float) -> str:
    """Return a time, in milliseconds below a second; nothing if it is not known."""
    if math.isnan(value):
        return ""
    return f"{1000 * value:.1f} ms" if value < 1.0 else f"{value:.1f} s"


def times(ratio: float | None) -> str:
    """Return a ratio; nothing if there is none."""
    return "" if ratio is None else f"{ratio:.2g}×" if ratio < 100 else f"{ratio:.0f}×"
