"""``pessimal report``: tables, figures and a page from the stored rows of a reproduction."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from pessimal.cli.console import say


def report(
    folder: Annotated[
        Path,
        typer.Argument(
            metavar="DIR", help="The folder given to pessimal reproduce.", show_default=False
        ),
    ],
) -> None:
    """Make tables, figures and a page of stored results.

    Example: pessimal report results
    """
    from pessimal.reproduction.report import write_report

    say(f"Report written to {write_report(folder)}.")
