"""A small real table, and the numbers of a page about it, read as a reader would and ticked off.

`Page` holds what a browser shows: the text, the bars of the first screen, the pictures. A test
reads parts of it and compares them with what it computed itself; `Page.unread` is what nobody has
read.
"""

from __future__ import annotations

import re
from base64 import b64decode
from collections.abc import Iterator
from dataclasses import dataclass
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pandas as pd

COLUMNS = ["glucose", "mass", "age"]
N_ROWS = 60

NUMBER = re.compile(r"[-+−]?\d+(?:[.,:]\d+)*(?:e[-+]?\d+)?")

_SVG = "{http://www.w3.org/2000/svg}"
_BLOCKS = {"p", "tr", "li", "h1", "h2", "figcaption", "summary", "section", "figure", "table"}


def patients() -> pd.DataFrame:
    """Return sixty women of the Pima study, by three measurements; label 1 is diabetes."""
    path = Path(__file__).parents[1] / "src/pessimal/datasets/data/pima_indians_diabetes.csv"
    table = pd.read_csv(path)
    measured = table[(table["glucose"] > 0) & (table["mass"] > 0)]
    return measured[[*COLUMNS, "label"]].iloc[100 : 100 + N_ROWS].reset_index(drop=True)


@dataclass(frozen=True)
class Bar:
    """A bar of the first screen: in percent of its track, with the words beside it."""

    width: float
    words: str
    line: float | None


class _Visible(HTMLParser):
    """The text of a page: a line for each block, a tab between cells, headings after a #."""

    def __init__(self) -> None:
        super().__init__()
        self.text, self.pictures, self._hidden = "", list[bytes](), 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._hidden += tag in {"head", "style"}
        if tag in _BLOCKS and not self.text.endswith("\n"):
            self.text += "\n"
        if tag == "h2":
            self.text += "# "
        source = dict(attrs).get("src")
        if tag == "img" and source:
            self.pictures.append(b64decode(source.partition(",")[2]))

    def handle_endtag(self, tag: str) -> None:
        self._hidden -= tag in {"head", "style"}
        if tag in {"td", "th"}:
            self.text = self.text.rstrip("\n") + "\t"
        if tag in _BLOCKS:
            self.text += "\n"

    def handle_data(self, data: str) -> None:
        if not self._hidden:
            self.text += " ".join(data.split("\n"))


class Page:
    """What a reader sees of a page, and which of its numbers have been read."""

    def __init__(self, html: str) -> None:
        visible = _Visible()
        visible.feed(html)
        self.text = visible.text
        self.html = html
        self.pictures = [Picture(source) for source in visible.pictures]
        self._read = np.zeros(len(self.text), dtype=bool)

    def read(self, pattern: str, below: str = "", times: int = 1) -> re.Match[str]:
        """Find a sentence; its numbers are in the pattern, or in groups that the caller checks."""
        start, end = self._section(below) if below else (0, len(self.text))
        found = list(re.finditer(pattern, self.text[start:end]))
        assert len(found) == times, f"{len(found)} times on the page, not {times}: {pattern}"
        assert len({match[0] for match in found}) == 1
        for match in found:
            self._read[start + match.start() : start + match.end()] = True
        return found[0]

    def cells(self, below: str, table: int = 0) -> list[list[str]]:
        """Return the cells of a table below a heading, header first, for the caller to check."""
        start, end = self._section(below)
        tables = list(re.finditer(r"(?:[^\n]*\t\n+)+", self.text[start:end]))
        found = tables[table]
        self._read[start + found.start() : start + found.end()] = True
        lines = (line for line in found[0].split("\n") if line)
        return [line.removesuffix("\t").split("\t") for line in lines]

    def bars(self) -> dict[str, Bar]:
        """Return the bars by name; their words are ticked off, their lengths are in the markup."""
        rows = re.findall(
            r'<th scope="row">(.*?)</th>.*?class="bar" width="(.*?)%".*?/>(.*?)</svg>',
            self.html,
            re.S,
        )
        found = {}
        for name, width, rest in rows:
            line = re.search(r'class="bound" x="(.*?)%"', rest)
            words = self.read(rf"{re.escape(name)}\s+(\d+ of \d+)")[1]
            found[name] = Bar(float(width), words, float(line[1]) if line else None)
        assert len(found) == self.html.count('class="bar"')
        return found

    def unread(self) -> list[str]:
        """Return the numbers that nobody has read, each with the words around it."""
        return [
            self.text[max(0, n.start() - 40) : n.end() + 20]
            for n in NUMBER.finditer(self.text)
            if not self._read[n.start() : n.end()].all()
        ] + [mark for picture in self.pictures for mark in picture.unread()]

    def _section(self, heading: str) -> tuple[int, int]:
        start = self.text.index(f"# {heading}\n")
        end = self.text.find("\n# ", start)
        return start, end if end >= 0 else len(self.text)


@dataclass(frozen=True)
class Mark:
    """Something drawn in the axes of a picture: its colour and its points, in units of the axes."""

    kind: str
    colour: str
    points: np.ndarray


class Picture:
    """A picture that matplotlib drew, in SVG: what is written in it, and marks in its axes.

    The ticks give the scale of an axis if they are numbers; otherwise they are `labels`.
    """

    def __init__(self, source: bytes) -> None:
        parser = ElementTree.XMLParser(target=ElementTree.TreeBuilder(insert_comments=True))
        self._figure = ElementTree.fromstring(source, parser)
        axes = self._figure.find(f".//{_SVG}g[@id='axes_1']")
        assert axes is not None
        self._axes = axes
        scales = [self._scale(axis) for axis in (1, 2)]
        self.labels = {axis: ticks for axis, (_, ticks) in zip("xy", scales, strict=True) if ticks}
        self._marks = list(self._drawn([line for line, _ in scales]))
        ticks = {text for group in self._groups("tick") for text in self._texts(group)}
        self._told = [text for text in self._texts(self._figure) if text not in ticks]

    def read(self, pattern: str) -> re.Match[str]:
        """Find a title, a label or a line of the legend."""
        for text in self._told:
            if found := re.fullmatch(pattern, text):
                self._told.remove(text)
                return found
        raise AssertionError(f"not in {self._told}: {pattern}")

    def take(self, kind: str, colour: str) -> np.ndarray:
        """Return the points of a mark, for the caller to check; of lines, end after end."""
        for mark in self._marks:
            if (mark.kind, mark.colour) == (kind, colour.lower()):
                self._marks.remove(mark)
                return mark.points
        raise AssertionError(f"no {kind} of {colour} among {self._marks}")

    def unread(self) -> list[str]:
        """Return what nobody has read: texts with a number, marks, ticks that are labels."""
        told = [text for text in self._told if NUMBER.search(text)]
        marks = [f"{mark.kind} of {mark.colour}" for mark in self._marks]
        return [*told, *marks, *(f"labels of axis {axis}" for axis in self.labels)]

    def _groups(self, name: str) -> list[ElementTree.Element]:
        groups = self._axes.iter(f"{_SVG}g")
        return [group for group in groups if re.match(rf"[xy]?{name}", group.get("id", ""))]

    def _texts(self, group: ElementTree.Element) -> list[str]:
        comments = group.iter(ElementTree.Comment)  # type: ignore[arg-type] # a tag of its own
        return [str(comment.text).strip() for comment in comments]

    def _scale(self, axis: int) -> tuple[np.ndarray, list[str]]:
        """Return slope and offset from pixels to units, and the labels if they are no numbers."""
        letter = "xy"[axis - 1]
        ticks = self._groups(f"(?<={letter})tick")
        places, words = [], []
        for tick in ticks:
            mark = tick.find(f".//{_SVG}use[@{letter}]")
            assert mark is not None
            places.append(float(mark.get(letter, "")))
            words.append(self._texts(tick)[0].replace("−", "-"))
        numbers = [word for word in words if re.fullmatch(NUMBER, word)]
        if not ticks or len(numbers) < len(ticks):  # by place: 0, 1, 2, …
            return np.polyfit(places, range(len(places)), 1) if ticks else np.array(
                [1.0, 0.0]
            ), words
        values = np.array(words, dtype=float)
        line = np.polyfit(places, values, 1)
        np.testing.assert_allclose(np.polyval(line, places), values, atol=1e-4 * np.ptp(values))
        return line, []

    def _drawn(self, scales: list[np.ndarray]) -> Iterator[Mark]:
        def units(points: list[tuple[float, float]]) -> np.ndarray:
            array = np.array(points).reshape(-1, 2)
            return np.column_stack([np.polyval(scales[k], array[:, k]) for k in (0, 1)])

        for group in self._axes:
            name = group.get("id", "")
            if not re.match("LineCollection|line2d|FillBetween", name):
                assert re.match("patch|matplotlib.axis|text|legend", name), name
                continue
            uses = [use for use in group.iter(f"{_SVG}use") if float(use.get("x", "0")) > 0.0]
            defined = {path for defs in group.iter(f"{_SVG}defs") for path in defs}
            paths = [path for path in group.iter(f"{_SVG}path") if path not in defined]
            if "Fill" in name:
                (shape,) = defined
                down = float(next(group.iter(f"{_SVG}use")).get("y", ""))
                corners = [(x, y + down) for x, y in _corners(shape)]
                yield Mark("area", _colour(shape), units(corners))
            if paths:
                ends = [end for path in paths for end in _corners(path)]
                yield Mark("lines", _colour(paths[0]), units(ends))
            if uses:
                at = [(float(use.get("x", "")), float(use.get("y", ""))) for use in uses]
                yield Mark("marks", _colour(uses[0]), units(at))


def _corners(path: ElementTree.Element) -> list[tuple[float, float]]:
    numbers = [float(word) for word in re.findall(r"-?\d+(?:\.\d+)?", path.get("d", ""))]
    return list(zip(numbers[::2], numbers[1::2], strict=True))


def _colour(element: ElementTree.Element) -> str:
    found = re.search(r"stroke: (#\w+)", element.get("style", ""))
    assert found is not None
    return found[1]
