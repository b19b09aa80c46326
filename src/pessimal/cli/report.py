"""``pessimal report``: tables, figures and a page from the stored rows of a reproduction."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def report(
    folder: Annotated[
        Path,
        typer.Argument(
            metavar="DIR", help="The folder given to pessimal reproduce.", show_default=False
        ),
    ],
) -> None:
    """Make tables, figures and one page from the stored rows of pessimal reproduce.

    Example: pessimal report results
    """
    raise NotImplementedError
