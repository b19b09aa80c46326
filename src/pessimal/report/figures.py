"""Figures as bytes: the same figure gives the same bytes, today and tomorrow."""

from __future__ import annotations

from io import BytesIO
from typing import Literal

import matplotlib
from matplotlib.figure import Figure

_NO_DATE: dict[str, dict[str, str | None]] = {"svg": {"Date": None}, "png": {"Software": None}}
_DPI = 110


def figure_bytes(figure: Figure, kind: Literal["svg", "png"]) -> bytes:
    """Return a figure as a file, without the date and the names matplotlib draws by lot.

    Examples
    --------
    >>> figure_bytes(Figure(), "svg") == figure_bytes(Figure(), "svg")
    True
    """
    buffer = BytesIO()
    with matplotlib.rc_context({"svg.hashsalt": "pessimal"}):
        figure.savefig(buffer, format=kind, dpi=_DPI, metadata=_NO_DATE[kind])
    return buffer.getvalue()
