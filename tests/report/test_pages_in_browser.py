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

NAMES = ("tune", "box", "audit")

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
BARS = """
[...document.querySelectorAll("rect.bar, rect.bound")]
  .map(e => getComputedStyle(e).fill + " on " + getComputedStyle(document.body).backgroundColor)
"""
# What the Tab key must reach, and what shows that it has.
STOPS = """
document.querySelectorAll("a[href], summary, section > figure .scroll").length
"""
FOCUSED = """
(e => e === document.body ? null : [e.tagName, e.getAttribute("href") || e.textContent.slice(0, 40),
  parseFloat(getComputedStyle(e).outlineWidth)])(document.activeElement)
"""
FIGURES = """
[...document.images].map(image => image.getBoundingClientRect())
  .map(place => [place.left, place.top, place.right, place.bottom].map(Math.round))
"""
CUT_OFF = """
[...document.querySelectorAll("section > figure")]
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
    commands = {"tune": ("tune",), "box": ("tune", "--view", "optimistic"), "audit": ("audit",)}
    for name, command in commands.items():
        made[name] = folder / f"{name}.html"
        arguments = (*command, folder / "data.csv", *options, "--report", made[name])
        assert run_command(*arguments).code in (0, 3)
    return made


@pytest.fixture(scope="module")
def tab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tab]:
    with chromium(tmp_path_factory.mktemp("browser")) as opened:
        yield opened


@pytest.mark.parametrize("name", NAMES)
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
    assert len(places) == (4 if name == "tune" else 3)
    for left, top, right, bottom in places:
        pixels = picture[top:bottom, left:right].reshape(-1, 3)
        assert len(np.unique(pixels, axis=0)) > 20  # a blank one has one colour


@pytest.mark.parametrize("name", NAMES)
def test_a_phone_shows_figures_and_the_guarantee_whole(
    pages: dict[str, Path], tab: Tab, name: str
) -> None:
    tab.open(pages[name], PHONE)
    # Rows with all their entries, and words beside numbers, are what may need a finger.
    wide = ("Rows with the same entries", "The same in numbers and words")
    assert all(caption.startswith(wide) for caption in tab.evaluate(CUT_OFF))
    scales = tab.evaluate("[...document.images].map(image => image.width / image.naturalWidth)")
    assert min(scales) * 10 * 96 / 72 >= 8.0  # letters of 10 points, in pixels


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_can_be_read_in_both_colour_schemes(
    pages: dict[str, Path], tab: Tab, name: str, scheme: Scheme
) -> None:
    tab.open(pages[name], scheme=scheme)
    pairs = [pair.split(" on ") for pair in tab.evaluate(TEXT_COLOURS)]
    assert len(pairs) >= 3
    for ink, paper in pairs:
        assert (luminance(paper) < 0.5) == (scheme == "dark")
        assert contrast(ink, paper) >= 4.5, (ink, paper)  # WCAG 2.2, level AA, text
    bars = [pair.split(" on ") for pair in tab.evaluate(BARS)]
    assert len(bars) >= 4
    for ink, paper in bars:
        assert contrast(ink, paper) >= 3.0, (ink, paper)  # the same, of what is drawn


@pytest.mark.parametrize("name", NAMES)
def test_everything_can_be_reached_and_opened_with_the_keyboard(
    pages: dict[str, Path], tab: Tab, name: str
) -> None:
    tab.open(pages[name])
    n_stops = tab.evaluate(STOPS)
    reached = []
    for _ in range(n_stops + 5):
        tab.press("Tab", 9)
        focused = tab.evaluate(FOCUSED)
        if focused is None:
            break
        reached.append(focused)
        if focused[0] == "SUMMARY" and focused[1] == "Notes":
            tab.press("Enter", 13)
    opened = tab.evaluate("document.querySelectorAll('details[open]').length")
    assert opened == 1
    assert len(reached) >= n_stops
    assert min(width for *_, width in reached) >= 2.0  # and it is seen where one is


def test_the_first_screen_holds_the_answer_on_a_desk(pages: dict[str, Path], tab: Tab) -> None:
    for name in NAMES:
        tab.open(pages[name])
        ends = tab.evaluate("document.querySelector('.bars').getBoundingClientRect().bottom")
        assert ends <= 900, name


def contrast(ink: str, paper: str) -> float:
    lighter, darker = sorted((luminance(ink), luminance(paper)), reverse=True)
    return (lighter + 0.05) / (darker + 0.05)


def luminance(colour: str) -> float:
    """Return the relative luminance of WCAG 2.2."""
    channels = np.array([int(digits) for digits in re.findall(r"\d+", colour)][:3]) / 255.0
    linear = np.where(channels <= 0.04045, channels / 12.92, ((channels + 0.055) / 1.055) ** 2.4)
    return float(linear @ np.array([0.2126, 0.7152, 0.0722]))
