"""The few pieces of HTML that reports are built from; text goes in through `text` or a table."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from html import escape


def element(tag: str, content: str, **attributes: str) -> str:
    """Wrap content that is HTML already; the values of attributes are escaped.

    A name that Python keeps for itself is given with an underscore, as ``class_``.

    Examples
    --------
    >>> element("p", text("a < b"), title='"quoted"')
    '<p title="&quot;quoted&quot;">a &lt; b</p>'
    """
    named = "".join(f' {name.rstrip("_")}="{escape(value)}"' for name, value in attributes.items())
    return f"<{tag}{named}>{content}</{tag}>"


def text(value: object) -> str:
    """Make anything safe to stand between tags."""
    return escape(str(value))


def table(rows: Iterable[Sequence[object]], numeric: Collection[int] = ()) -> str:
    """Write a table whose first row is its header; numeric columns get the class ``number``."""
    header, *body = rows
    head = element("thead", _row("th", header, numeric))
    return element(
        "table", head + element("tbody", "".join(_row("td", cells, numeric) for cells in body))
    )


def _row(tag: str, cells: Sequence[object], numeric: Collection[int]) -> str:
    return element(
        "tr",
        "".join(
            element(tag, text(cell), **({"class": "number"} if place in numeric else {}))
            for place, cell in enumerate(cells)
        ),
    )
