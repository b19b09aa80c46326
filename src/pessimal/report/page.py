"""Sections of text, tables and figures, and the one self-contained page they end on.

A page has no script and loads nothing, every text in it is escaped, and the same sections give the
same bytes.
"""

from __future__ import annotations

import warnings
from base64 import b64encode
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Literal, TypeAlias

import matplotlib
import pandas as pd
from matplotlib.figure import Figure

from pessimal.atomic import write_bytes, write_text
from pessimal.markup import render
from pessimal.report.answer import Answer
from pessimal.report.frames import numeric_columns, table_text

# More than these, and a phone scrolls the figure sideways rather than shrink it; paper shrinks the
# table.
_NARROW_INCHES, _NARROW_COLUMNS = 6.0, 8

FileKind: TypeAlias = Literal["svg", "png"]
_NO_DATE: dict[FileKind, dict[str, str | None]] = {"svg": {"Date": None}, "png": {"Software": None}}
_DPI = 110


Standing: TypeAlias = Literal["proved", "found", ""]
"""Whether a statement is proved, or of what was found, which pages show in colour."""


@dataclass(frozen=True, eq=False)
class Table:
    """A table with a name to file it under and a sentence that says what it shows.

    Attributes
    ----------
    name, caption : str
    frame : pandas.DataFrame
    standings : tuple of str
        Of each row; empty for a table of another kind.
    """

    name: str
    caption: str
    frame: pd.DataFrame
    standings: tuple[Standing, ...] = ()


@dataclass(frozen=True)
class Plot:
    """A figure, drawn when it is needed."""

    name: str
    caption: str
    draw: Callable[[], Figure]


@dataclass(frozen=True)
class Section:
    """A heading, plain paragraphs, then tables and plots; folded away if few will read it."""

    title: str
    paragraphs: tuple[str, ...]
    parts: tuple[Table | Plot, ...] = ()
    folded: bool = False


def render_page(title: str, lead: str | Answer, sections: Iterable[Section]) -> str:
    """Return a whole HTML document; the lead is what a reader must know first."""
    return render(
        "templates/page.html.j2",
        title=title,
        lead=lead,
        sections=list(sections),
        show=_shown,
    )


def write_page(path: Path, title: str, lead: str | Answer, sections: Iterable[Section]) -> Path:
    """Write a page to a file, whole or not at all; see `render_page`."""
    write_text(path, render_page(title, lead, sections))
    return path


def render_in_notebook(lead: Answer, sections: Iterable[Section]) -> str:
    """Return the first screen of a page for a notebook, with words and tables folded below it."""
    details = [
        (section, [table_text(part.frame) for part in section.parts if isinstance(part, Table)])
        for section in sections
    ]
    return render("templates/notebook.html.j2", shown=lead, details=details)


def _shown(part: Table | Plot) -> dict[str, object]:
    """Return what the template needs of a table or a plot."""
    if isinstance(part, Table):
        rows, numeric = table_text(part.frame), numeric_columns(part.frame)
        wide = len(rows[0]) > _NARROW_COLUMNS
        shown = {"caption": part.caption, "wide": wide, "rows": rows, "numeric": numeric}
        return {**shown, "standings": part.standings}
    figure = part.draw()
    picture = b64encode(figure_bytes(figure, "svg")).decode("ascii")
    wide = figure.get_figwidth() > _NARROW_INCHES
    return {"caption": part.caption, "wide": wide, "picture": picture}


def write_figure(path: Path, figure: Figure) -> None:
    """Write a figure as SVG and as PNG; the path has no suffix."""
    for kind in _NO_DATE:
        write_bytes(path.with_name(f"{path.name}.{kind}"), figure_bytes(figure, kind))


def figure_bytes(figure: Figure, kind: FileKind) -> bytes:
    """Return a figure as a file, without the date and the names matplotlib draws by lot."""
    buffer = BytesIO()
    with matplotlib.rc_context({"svg.hashsalt": "pessimal"}), warnings.catch_warnings():
        # The font of the figures lacks some scripts; names are in the tables as well.
        warnings.filterwarnings("ignore", message="Glyph .* missing from")
        figure.savefig(buffer, format=kind, dpi=_DPI, metadata=_NO_DATE[kind])
    return buffer.getvalue()
