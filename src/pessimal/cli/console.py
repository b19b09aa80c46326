"""Printing: plain text, tables and JSON that survive a pipe, and data that cannot disguise itself.

Names and labels come from files. They are printed as they are, never read as markup, and
characters that do not print, such as the codes that colour a terminal, are shown as escapes.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from rich.box import ASCII2
from rich.console import Console
from rich.table import Table
from rich.text import Text


def printable(text: object) -> str:
    r"""Return text with everything that does not print written as an escape.

    Examples
    --------
    >>> printable("a\x1b[31m\nb")
    'a\\x1b[31m\\nb'
    """
    return "".join(
        letter if letter.isprintable() else letter.encode("unicode_escape").decode()
        for letter in str(text)
    )


def say(text: str = "", *, bold: bool = False) -> None:
    """Print a paragraph to standard output."""
    Console(highlight=False, soft_wrap=not sys.stdout.isatty()).print(
        Text(printable(text), style="bold" if bold else "")
    )


def tell(text: str) -> None:
    """Print a line beside the result, to standard error."""
    Console(stderr=True, highlight=False, soft_wrap=True).print(Text(printable(text)))


def complain(message: str) -> None:
    """Print an error, in one line, to standard error."""
    tell(f"Error: {' '.join(message.split())}")


def say_table(title: str, header: Sequence[object], rows: Sequence[Sequence[object]]) -> None:
    """Print a table: names on the left, numbers on the right."""
    table = Table(box=ASCII2, title=Text(printable(title)), title_justify="left")
    for position, name in enumerate(header):
        justify = "left" if position == 0 else "right"
        table.add_column(Text(printable(name)), justify=justify, overflow="fold")  # type: ignore
    for row in rows:
        table.add_row(*(Text(printable(cell)) for cell in row))
    Console(highlight=False).print(table)


def say_json(content: Mapping[str, Any]) -> None:
    """Print one JSON object to standard output."""
    sys.stdout.write(json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False) + "\n")
