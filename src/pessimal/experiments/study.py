"""A study is a declaration: cells to run, and one pure function from a cell to its rows.

Cells and rows are flat records of plain values, so they can be stored, compared and sent to another
machine. The function must give the same rows for the same cell wherever and whenever it runs: what
depends on the clock (limits in seconds, time taken) has no place in it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

Value = str | int | float | bool | None
Cell = Mapping[str, Value]
Row = Mapping[str, Value]


@dataclass(frozen=True)
class Study:
    """What to run.

    Attributes
    ----------
    name : str
        As on the command line, such as ``"limited-data"``.
    cells : tuple of Cell
        One combination of factors each, the seed among them.
    run : callable
        From a cell to its rows; a function at the top of a module, so that it can be sent to
        another process by name.
    """

    name: str
    cells: tuple[Cell, ...]
    run: Callable[[Cell], Sequence[Row]]
