"""Sections of a report as one self-contained page: no script, no network, every text escaped."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterable
from importlib import resources
from pathlib import Path

from pessimal.atomic import write_text
from pessimal.markup import element, table, text
from pessimal.report.figures import figure_bytes
from pessimal.report.frames import numeric_columns, table_text
from pessimal.report.parts import Plot, Section, Table

_HEAD = (
    '<meta charset="utf-8">'
    '<meta name="viewport" content="width=device-width, initial-scale=1">'
    '<meta name="color-scheme" content="light dark">'
    # Should a text ever come through unescaped, the browser still runs and loads nothing.
    '<meta http-equiv="Content-Security-Policy" '
    "content=\"default-src 'none'; img-src data:; style-src 'unsafe-inline'\">"
)

_FEWEST_FOR_CONTENTS = 3

# More than these, and a phone scrolls the figure sideways rather than shrink it; paper shrinks the
# table.
_NARROW_INCHES, _NARROW_COLUMNS = 6.0, 8


def render_page(title: str, lead: str, sections: Iterable[Section]) -> str:
    """Write a page.

    Parameters
    ----------
    title : str
        Heading of the page.
    lead : str
        What a reader must know first, in a sentence or two.
    sections : iterable of Section
        The rest, in order.

    Returns
    -------
    str
        A whole HTML document.

    Examples
    --------
    >>> page = render_page("Report", "All is <well>.", [Section("First", ("Some text.",))])
    >>> "All is &lt;well&gt;." in page, "<script" in page
    (True, False)
    """
    sections = list(sections)
    style = resources.files("pessimal.report").joinpath("page.css").read_text("utf-8")
    head = _HEAD + element("title", text(title)) + element("style", style)
    body = [
        element("h1", text(title)),
        element("p", text(lead), class_="lead"),
        _contents(sections) if len(sections) >= _FEWEST_FOR_CONTENTS else "",
        *(_section(section, _name(place)) for place, section in enumerate(sections)),
    ]
    return "<!doctype html>\n" + element(
        "html",
        element("head", head) + element("body", element("main", "\n".join(body))),
        lang="en",
    )


def write_page(path: str | Path, title: str, lead: str, sections: Iterable[Section]) -> Path:
    """Write a page to a file, whole or not at all; see `render_page`."""
    path = Path(path)
    write_text(path, render_page(title, lead, sections))
    return path


def _name(place: int) -> str:
    return f"section-{place + 1}"


def _contents(sections: list[Section]) -> str:
    links = (
        element("li", element("a", text(section.title), href=f"#{_name(place)}"))
        for place, section in enumerate(sections)
    )
    return element("nav", element("ol", "".join(links)), **{"aria-label": "Contents"})


def _section(section: Section, name: str) -> str:
    return element(
        "section",
        "\n".join(
            [
                element("h2", text(section.title)),
                *(element("p", text(paragraph)) for paragraph in section.paragraphs),
                *(_part(part) for part in section.parts),
            ]
        ),
        id=name,
    )


def _part(part: Table | Plot) -> str:
    caption = element("figcaption", text(part.caption))
    if isinstance(part, Table):
        header, *rows = table_text(part.frame)
        shown = table([header, *rows], numeric_columns(part.frame))
        kind = "wide table" if len(header) > _NARROW_COLUMNS else "table"
        return element("figure", caption + _scrolling(shown, part.caption), class_=kind)
    figure = part.draw()
    picture = b64encode(figure_bytes(figure, "svg")).decode("ascii")
    image = element("img", "", src=f"data:image/svg+xml;base64,{picture}", alt=part.caption)
    kind = "wide plot" if figure.get_figwidth() > _NARROW_INCHES else "plot"
    return element(
        "figure", _scrolling(image.removesuffix("</img>"), part.caption) + caption, class_=kind
    )


def _scrolling(content: str, label: str) -> str:
    """Let wide content scroll by itself, by keyboard too, instead of the whole page."""
    return element(
        "div", content, class_="scroll", tabindex="0", role="region", **{"aria-label": label}
    )
