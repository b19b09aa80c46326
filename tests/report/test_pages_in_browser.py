"""The pages of ``tune`` and ``audit``, opened in a browser, are what a reader can use."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from browser import DESK, PHONE, Scheme, Tab, chromium, needs_chromium
from command import messy_table, run_command

pytestmark = needs_chromium

LONG = "<script>alert('x')</script> & \"quoted\", and a name as long as names in real tables are"

# Every text with the colour behind it, which is that of the nearest ancestor that has one.
TEXT_COLOURS = """
[...new Set([...document.querySelectorAll("body *")]
  .filter(e => [...e.childNodes].some(n => n.nodeType === 3 && n.data.trim()))
  .map(e => {
    let behind = e;
    while (getComputedStyle(behind).backgroundColor === "rgba(0, 0, 0, 0)")
      behind = behind.parentElement;
    return getComputedStyle(e).color + " on " + getComputedStyle(behind).backgroundColor;
  }))]
"""
FIGURES = """
[...document.images].map(image => image.getBoundingClientRect())
  .map(place => [place.left, place.top, place.right, place.bottom].map(Math.round))
"""
CUT_OFF = """
[...document.querySelectorAll("figure")]
  .filter(f => (box => box.scrollWidth > box.clientWidth)(f.querySelector(".scroll")))
  .map(f => f.querySelector("figcaption").textContent)
"""


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("pages")
    frame = messy_table(60).rename(columns={"age": LONG})
    frame["ward"] = np.resize([f"ward {k} of {LONG[:40]}" for k in range(12)], len(frame))
    frame.to_csv(folder / "data.csv", index=False)
    options = ("--target", "diagnosis", "--text", "one-hot", "--time-limit", 1)
    made = {}
    for command in (("tune", "--view", "optimistic"), ("audit",)):
        made[command[0]] = folder / f"{command[0]}.html"
        arguments = (*command, folder / "data.csv", *options, "--report", made[command[0]])
        assert run_command(*arguments).code in (0, 3)
    return made


@pytest.fixture(scope="module")
def tab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tab]:
    with chromium(tmp_path_factory.mktemp("browser")) as opened:
        yield opened


@pytest.mark.parametrize("name", ["tune", "audit"])
@pytest.mark.parametrize("width", [DESK, PHONE])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_page_opens_silently_fits_and_shows_its_figures(
    pages: dict[str, Path], tab: Tab, name: str, width: int, scheme: Scheme
) -> None:
    tab.open(pages[name], width, scheme)
    assert tab.complaints == []
    assert tab.requests == []
    assert tab.evaluate("document.documentElement.scrollWidth") <= width
    picture, places = tab.picture(), tab.evaluate(FIGURES)
    assert len(places) == 3
    for left, top, right, bottom in places:
        pixels = picture[top:bottom, left:right].reshape(-1, 3)
        assert len(np.unique(pixels, axis=0)) > 20  # a blank one has one colour


@pytest.mark.parametrize("name", ["tune", "audit"])
def test_a_phone_shows_figures_and_the_guarantee_whole(
    pages: dict[str, Path], tab: Tab, name: str
) -> None:
    tab.open(pages[name], PHONE)
    # Four numbers beside names as long as these are the only table that may need a finger.
    assert all(
        caption.startswith("The same in numbers; the box") for caption in tab.evaluate(CUT_OFF)
    )
    scales = tab.evaluate("[...document.images].map(image => image.width / image.naturalWidth)")
    assert min(scales) * 10 * 96 / 72 >= 8.0  # letters of 10 points, in pixels


@pytest.mark.parametrize("name", ["tune", "audit"])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_can_be_read_in_both_colour_schemes(
    pages: dict[str, Path], tab: Tab, name: str, scheme: Scheme
) -> None:
    tab.open(pages[name], scheme=scheme)
    pairs = [pair.split(" on ") for pair in tab.evaluate(TEXT_COLOURS)]
    assert len(pairs) >= 3
    for ink, paper in pairs:
        assert (luminance(paper) < 0.5) == (scheme == "dark")
        lighter, darker = sorted((luminance(ink), luminance(paper)), reverse=True)
        assert (lighter + 0.05) / (darker + 0.05) >= 4.5, (ink, paper)  # WCAG 2.2, level AA


def luminance(colour: str) -> float:
    """Return the relative luminance of WCAG 2.2."""
    channels = np.array([int(digits) for digits in re.findall(r"\d+", colour)][:3]) / 255.0
    linear = np.where(channels <= 0.04045, channels / 12.92, ((channels + 0.055) / 1.055) ** 2.4)
    return float(linear @ np.array([0.2126, 0.7152, 0.0722]))
