"""Exit codes, and printing: plain text, tables and JSON that survive a pipe.

Names and labels come from files. They are printed as they are, never read as markup, and
characters that do not print, such as the codes that colour a terminal, are shown as escapes.
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any

FAILED = 1  # part of the work; what there is is kept
BAD_INPUT = 2
STOPPED = 3  # at a limit or by Ctrl-C, with a usable result
INTERRUPTED = 130  # by Ctrl-C, with nothing to show; the number shells use


def printable(text: object) -> str:
    """Return text with everything that does not print written as an escape."""
    return "".join(
        letter if letter.isprintable() else letter.encode("unicode_escape").decode()
        for letter in str(text)
    )


def say(text: str = "", *, style: str = "", stderr: bool = False) -> None:
    """Print a paragraph, wrapped to a terminal, in one line to a pipe."""
    from rich.console import Console
    from rich.text import Text

    console = Console(stderr=stderr, highlight=False)
    console.print(Text(printable(text), style=style), soft_wrap=not console.is_terminal)


def tell(text: str) -> None:
    """Print what is not part of the result, to standard error."""
    say(text, stderr=True)


def complain(message: str) -> None:
    """Print an error, in one line, to standard error."""
    tell(f"Error: {' '.join(message.split())}")


def unbroken(give: Callable[[], None]) -> bool:
    """Write and say a result to its end; return whether Ctrl-C came meanwhile."""
    from pessimal.interrupts import deferred_interrupts

    with deferred_interrupts() as interrupts:
        give()
        came, interrupts.pending = interrupts.pending, False
    return came


def say_table(title: str, rows: Sequence[Sequence[object]]) -> None:
    """Print a table, its header first: names on the left, numbers on the right."""
    from rich.box import ASCII2
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    say(title, style="bold")
    table = Table(box=ASCII2)
    header, *body = ([Text(printable(cell)) for cell in row] for row in rows)
    for place, cell in enumerate(header):
        table.add_column(cell, justify="right" if place else "left", overflow="fold")
    for row in body:
        table.add_row(*row)
    Console(highlight=False).print(table)


def say_json(content: Mapping[str, Any]) -> None:
    """Print one JSON object to standard output, null for every number that is not known."""
    known = _without_nan(content)
    sys.stdout.write(json.dumps(known, indent=2, ensure_ascii=False, allow_nan=False) + "\n")


def _without_nan(content: Any) -> Any:
    if isinstance(content, Mapping):
        return {name: _without_nan(value) for name, value in content.items()}
    if isinstance(content, list | tuple):
        return [_without_nan(value) for value in content]
    return None if isinstance(content, float) and math.isnan(content) else content
