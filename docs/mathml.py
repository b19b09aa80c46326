"""Equations as MathML, written when the site is built: browsers draw it.

`pymdownx.arithmatex` marks what stands between dollar signs and leaves it in
TeX. A script in the reader's browser usually does the rest, fetched from
elsewhere; here nothing is fetched and no script runs, and a page can be read
offline.
"""

from __future__ import annotations

import re
from html import unescape
from typing import Any

from latex2mathml.converter import convert

_MARKED = re.compile(
    r'<(?P<tag>span|div) class="arithmatex">'
    r"\\[(\[](?P<tex>.*?)\\[)\]]</(?P=tag)>",
    re.DOTALL,
)


def on_page_content(html: str, **_: Any) -> str:
    """Replace every marked equation of a page; called by MkDocs."""
    return _MARKED.sub(_mathml, html)


def _mathml(match: re.Match[str]) -> str:
    tex = unescape(match["tex"]).strip()
    display = "block" if match["tag"] == "div" else "inline"
    mathml: str = convert(tex, display=display)
    if "\\" in mathml:
        raise ValueError(f"latex2mathml does not know a command of {tex!r}")
    return mathml
