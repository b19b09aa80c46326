"""A table for a page, and its numbers read as a reader would: bars, tables, sentences."""

from __future__ import annotations

import re
from html import unescape

import numpy as np
import pandas as pd


def trial(n: int) -> pd.DataFrame:
    """Return a small trial: whether a patient was cured depends on the dose, and on luck."""
    rng = np.random.default_rng(11)
    table = pd.DataFrame(
        {
            "dose": rng.normal(10.0, 3.0, n).round(1),
            "urea": rng.normal(5.0, 1.0, n).round(1),
            "age": rng.integers(20, 80, n),
        }
    )
    table["cured"] = (0.5 * (table["dose"] - 9.0) + rng.normal(0.0, 1.2, n) > 0.0).astype(int)
    return table


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
