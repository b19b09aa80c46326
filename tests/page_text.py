"""Read numbers off a page as a reader would: its bars, its tables, its sentences."""

from __future__ import annotations

import re
from html import unescape


def bars(page: str) -> dict[str, tuple[float, str, float | None]]:
    """Width, words and place of the green line of each bar, by name."""
    found = re.findall(
        r'<th scope="row">(.*?)</th>.*?class="bar" width="(.*?)%".*?/>(.*?)</svg>'
        r".*?<strong>(.*?)</strong>",
        page,
        re.S,
    )
    lines = [re.search(r'class="bound" x="(.*?)%"', rest) for _, _, rest, _ in found]
    return {
        unescape(name): (float(width), words, float(line[1]) if line else None)
        for (name, width, _, words), line in zip(found, lines, strict=True)
    }


def section(page: str, heading: str) -> str:
    """Return what stands below a heading, markup and all."""
    return page.partition(f"<h2>{heading}</h2>")[2].partition("</section>")[0]


def cells_below(page: str, heading: str) -> list[list[str]]:
    """Return the cells of the first table below a heading, row by row."""
    body = section(page, heading).partition("<tbody>")[2].partition("</tbody>")[0]
    return [
        [unescape(cell) for cell in re.findall(r"<td.*?>(.*?)</td>", row)]
        for row in body.split("</tr>")[:-1]
    ]
