"""Links of the built site and of the pages beside it lead somewhere; none is asked of a network."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

ROOT = Path(__file__).parents[2]
BESIDE = ("README.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md")


class Links(HTMLParser):
    """What a page links to and loads, and what in it can be linked to."""

    def __init__(self, page: Path) -> None:
        super().__init__()
        self.targets: list[str] = []
        self.names: set[str] = set()
        self.feed(page.read_text("utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value for name, value in attrs if value}
        self.names |= {given[name] for name in ("id", "name") if name in given}
        if tag in ("a", "img", "link", "script"):
            self.targets += [given[name] for name in ("href", "src") if name in given]


@pytest.fixture(scope="module")
def pages(site: Path) -> dict[Path, Links]:
    return {page: Links(page) for page in site.rglob("*.html")}


def test_every_link_within_the_site_leads_to_a_page_and_a_place_in_it(
    site: Path, pages: dict[Path, Links]
) -> None:
    assert len(pages) > 20
    broken = []
    for page, links in pages.items():
        if page.name == "404.html":  # shown at any address, so its links begin at the root
            continue
        for target in links.targets:
            parts = urlsplit(target)
            if parts.scheme or parts.netloc:
                continue
            path = (page.parent / unquote(parts.path)).resolve() if parts.path else page
            path = path / "index.html" if path.is_dir() else path
            anchor = unquote(parts.fragment)
            known = pages[path].names if path in pages else set()
            if not path.is_file() or (anchor and path in pages and anchor not in known):
                broken.append(f"{page.relative_to(site)}: {target}")
    assert broken == []


def test_the_reference_describes_every_object_once(pages: dict[Path, Links]) -> None:
    described: dict[str, list[str]] = {}
    for page in pages:
        if page.parent.parent.name == "reference":
            text = page.read_text("utf-8")
            for name in re.findall(r'<h[2-4] id="(pessimal[\w.]*)"', text):
                described.setdefault(name, []).append(page.parent.name)
    assert described
    assert {name: at for name, at in described.items() if len(at) > 1} == {}


@pytest.mark.parametrize("name", BESIDE)
def test_links_of_a_page_of_the_repository_lead_to_files_and_headings(name: str) -> None:
    page = ROOT / name
    for target in re.findall(r"\]\((?!https?:)([^)]+)\)", page.read_text("utf-8")):
        path, _, anchor = target.partition("#")
        file = page.parent / path if path else page
        assert file.exists(), target
        if anchor:
            headings = re.findall(r"^#+ (.+)$", file.read_text("utf-8"), re.M)
            assert anchor in {re.sub(r"[^\w -]", "", h).lower().replace(" ", "-") for h in headings}
