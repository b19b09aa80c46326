"""The built site, opened in a browser: it can be read, in full, and used without a mouse."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from browser import DESK, PHONE, Scheme, Tab, chromium, needs_chromium

pytestmark = needs_chromium

READ = ("", "tutorial", "gallery", "gallery/clinical", "reference/audit", "reference/estimators")
"""Pages whose colours and links are looked at; the others have the same style sheets."""

# Signatures that hide the ends of lines, and what else is wider than the screen without scrolling.
CUT_OFF = """
[...document.querySelectorAll(".doc-signature code")]
  .filter(e => e.scrollWidth > e.clientWidth + 1).map(e => e.textContent.slice(0, 60))
"""
# Every text with its colour and all backgrounds behind it, the nearest first.
COLOURS = """
[...new Set([...document.querySelectorAll("body *")]
  .filter(e => [...e.childNodes].some(n => n.nodeType === 3 && n.data.trim()))
  .filter(e => e.checkVisibility({opacityProperty: true, visibilityProperty: true}))
  .filter(e => !e.matches(".headerlink, .md-clipboard, .md-code__button"))
  .map(e => {
    const colours = [getComputedStyle(e).color];
    for (let at = e; at; at = at.parentElement) colours.push(getComputedStyle(at).backgroundColor);
    return colours.filter(c => c !== "rgba(0, 0, 0, 0)").join(" on ");
  }))]
"""
# What the Tab key must reach: all that can be followed, pressed or filled in, and is shown.
STOPS = """
[...document.querySelectorAll("a[href], button, input, select, textarea, summary, [tabindex]")]
  .filter(e => e.tabIndex >= 0 && e.getClientRects().length)
  .filter(e => e.checkVisibility({opacityProperty: true, visibilityProperty: true}))
"""
# Where the focus is, unless it has been there before, and whether that is seen: the element, or
# the label that stands for it, is shown with an outline. What fades in is taken as it ends.
FOCUSED = """
(e => {
  document.reached ??= new Set();
  if (e === document.body || document.reached.has(e)) return null;
  document.reached.add(e);
  document.getAnimations().forEach(animation => animation.finish());
  const shown = e.getClientRects().length && e.offsetWidth ? e : e.nextElementSibling;
  return [
    e.outerHTML.slice(0, 80),
    shown.checkVisibility({opacityProperty: true, visibilityProperty: true}),
    getComputedStyle(shown).outlineStyle !== "none",
  ];
})(document.activeElement)
"""


@pytest.fixture(scope="module")
def tab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tab]:
    with chromium(tmp_path_factory.mktemp("browser")) as opened:
        yield opened


@pytest.mark.parametrize("width", [DESK, PHONE])
def test_no_page_is_wider_than_the_screen_and_no_signature_is_cut_off(
    site: Path, tab: Tab, width: int
) -> None:
    pages = [page for page in sorted(site.rglob("index.html")) if "results" not in page.parts]
    assert len(pages) > 20
    wide, cut_off = [], {}
    for page in pages:
        tab.open(page, width)
        name = str(page.parent.relative_to(site))
        if tab.evaluate("document.documentElement.scrollWidth") > width:
            wide.append(name)
        if found := tab.evaluate(CUT_OFF):
            cut_off[name] = found
    assert wide == []
    assert cut_off == {}


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_can_be_read(site: Path, tab: Tab, scheme: Scheme) -> None:
    poor = {}
    for name in READ:
        tab.open(site / name / "index.html", scheme=scheme)
        stacks = tab.evaluate(COLOURS)
        assert len(stacks) >= 2
        for stack in stacks:
            found = contrast(stack)
            if found < 4.5:  # WCAG 2.2, level AA, text
                poor[f"{name}: {stack}"] = round(found, 2)
    assert poor == {}


@pytest.mark.parametrize("name", READ)
def test_everything_can_be_reached_with_the_keyboard_and_the_focus_is_seen(
    site: Path, tab: Tab, name: str
) -> None:
    tab.open(site / name / "index.html")
    n_stops = tab.evaluate(f"{STOPS}.length")
    assert n_stops > 30
    hidden = []
    # Each press goes on, until the page has been left or begins anew: the focus is not trapped.
    for _ in range(2 * n_stops):
        tab.press("Tab", 9)
        focused = tab.evaluate(FOCUSED)
        if focused is None:
            break
        element, shown, outlined = focused
        if not (shown and outlined):
            hidden.append(element)
    ends = "[document.body, [...document.reached][0]].includes(document.activeElement)"
    assert tab.evaluate(ends)
    missed = f"{STOPS}.filter(e => !document.reached.has(e)).map(e => e.outerHTML.slice(0, 80))"
    assert tab.evaluate(missed) == []
    assert hidden == []


def contrast(stack: str) -> float:
    """Return the contrast of a text with what lies behind it, translucent layers included."""
    layers = [channels(colour) for colour in stack.split(" on ")]
    behind = np.ones(3)
    for colour in reversed(layers[1:]):
        behind = colour[:3] * colour[3] + behind * (1.0 - colour[3])
    ink = layers[0][:3] * layers[0][3] + behind * (1.0 - layers[0][3])
    lighter, darker = sorted((luminance(ink), luminance(behind)), reverse=True)
    return (lighter + 0.05) / (darker + 0.05)


def channels(colour: str) -> np.ndarray:
    """Return red, green, blue and opacity, between 0 and 1."""
    numbers = [float(number) for number in re.findall(r"[\d.]+", colour)]
    return np.array([*(value / 255.0 for value in numbers[:3]), *(numbers[3:] or [1.0])])


def luminance(colour: np.ndarray) -> float:
    """Return the relative luminance of WCAG 2.2."""
    linear = np.where(colour <= 0.04045, colour / 12.92, ((colour + 0.055) / 1.055) ** 2.4)
    return float(linear @ np.array([0.2126, 0.7152, 0.0722]))
