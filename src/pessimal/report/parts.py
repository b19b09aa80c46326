"""What a report is made of: sections of text, tables and figures, whatever page they end on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pandas as pd
from matplotlib.figure import Figure


@dataclass(frozen=True, eq=False)
class Table:
    """A table with a name to file it under and a sentence that says what it shows."""

    name: str
    caption: str
    frame: pd.DataFrame


@dataclass(frozen=True)
class Plot:
    """A figure, drawn when it is needed."""

    name: str
    caption: str
    draw: Callable[[], Figure]


@dataclass(frozen=True)
class Section:
    """A heading, plain paragraphs, then tables and plots."""

    title: str
    paragraphs: tuple[str, ...]
    parts: tuple[Table | Plot, ...] = ()
