"""Groups of measurements."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from typing import TypeVar

Task = TypeVar("Task", bound=Hashable)
Found = TypeVar("Found")
Label = TypeVar("Label", bound=Hashable)


def split_by(
    found: Mapping[Task, Found], label: Callable[[Task], Label]
) -> dict[Label, dict[Task, Found]]:
    """Split what was found by a label of its task, in order of appearance.

    Examples
    --------
    >>> split_by({1: "a", 2: "b", 3: "c"}, lambda number: number % 2)
    {1: {1: 'a', 3: 'c'}, 0: {2: 'b'}}
    """
    parts: dict[Label, dict[Task, Found]] = {}
    for task, rows in found.items():
        parts.setdefault(label(task), {})[task] = rows
    return parts
