"""A report shows what the store holds, the same every time, and lets no text become markup."""

from __future__ import annotations

import resource
import shutil
from collections.abc import Sequence
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from browser import chromium, needs_chromium
from jinja2 import UndefinedError
from matplotlib.figure import Figure
from matplotlib.image import imread

from pessimal.errors import InvalidInputError, StorageError
from pessimal.markup import render
from pessimal.report import Plot, Section, Table, render_page, write_page
from pessimal.reproduction import STORE_NAME, Configuration, Store, Study
from pessimal.reproduction.report import write_report
from pessimal.reproduction.store import encode

EVIL = "<script>alert(1)</script><img src=x onerror=alert(2)> \"' | `b` &lt;"
MAGENTA = "#ff00aa"


def magenta_figure() -> Figure:
    figure = Figure(figsize=(6.0, 3.0), layout="constrained")
    axes = figure.subplots()
    axes.bar([0, 1, 2], [3.0, 1.0, 2.0], color=MAGENTA)
    axes.set_title(EVIL.replace("$", r"\$"))
    return figure


def toy_sections(rows: pd.DataFrame) -> Sequence[Section]:
    means = rows.groupby("data")["accuracy"].agg(["mean", "count"])
    return (
        Section(
            f"Toy {EVIL}",
            ("A paragraph.", EVIL),
            (
                Table("means", f"Means {EVIL}", means),
                Plot("A Figure/1", f"Bars {EVIL}", magenta_figure),
            ),
        ),
        Section("Second", ("More.",)),
    )


def fill(folder: Path, n_configurations: int = 4, n_stored: int = 4, name: str = "toy") -> None:
    """A store whose configuration 1 is not certified."""
    configurations: tuple[Configuration, ...] = tuple(
        {"data": f"data {EVIL}", "seed": seed} for seed in range(n_configurations)
    )
    study = Study(name, configurations, lambda _: [])
    with Store(folder / STORE_NAME) as store:
        run = store.begin(
            study, "1+abc", command=f"run {EVIL}", environment={"machine": f"abacus {EVIL}"}
        )
        for seed in range(n_stored):
            rows = encode(
                [
                    {"model": "tuned", "accuracy": 0.1 + 0.2 * seed, "proved": seed != 1},
                    {"model": "plain", "accuracy": 0.5, "proved": None},
                ]
            )
            store.add(run, configurations[seed], rows, seconds=1800.0, elapsed=60.0 * (1 + seed))


@pytest.fixture(autouse=True)
def _toy_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pessimal.reproduction.report.SECTIONS", {"toy": toy_sections})


class Page(HTMLParser):
    """Tags, attributes and text of a page; complains when tags do not nest."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: list[tuple[str, str]] = []
        self.text = ""
        self._open: list[str] = []
        self.feed(page)
        assert self._open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes += [(name, value or "") for name, value in attrs]
        if tag not in {"meta", "img"}:
            self._open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


def test_names_with_markup_stay_text(tmp_path: Path) -> None:
    fill(tmp_path)
    page = Page(write_report(tmp_path).read_text("utf-8"))
    assert "script" not in page.tags
    assert {name for name, _ in page.attributes if name.startswith("on")} == set()
    sources = [value for name, value in page.attributes if name in {"src", "href"}]
    assert all(value.startswith(("data:image/svg+xml;base64,", "#section-")) for value in sources)
    # Title, paragraph, two captions, data, command, machine, contents.
    assert page.text.count(EVIL) >= 8


def test_markdown_tables_keep_their_columns_whatever_the_names(tmp_path: Path) -> None:
    fill(tmp_path)
    write_report(tmp_path)
    header, rule, row = (tmp_path / "tables/toy-means.md").read_text("utf-8").splitlines()
    assert rule == "| --- | ---: | ---: |"
    assert header == "| data | mean | count |"
    assert "<" not in row
    assert row.replace(r"\|", "").count("|") == 4


def test_tables_are_stored_with_exact_values(tmp_path: Path) -> None:
    fill(tmp_path)
    write_report(tmp_path)
    rows = pd.read_csv(tmp_path / "tables/toy-rows.csv", dtype=str)
    tuned = rows[rows["model"] == "tuned"]
    assert [float(text) for text in tuned["accuracy"]] == [0.1 + 0.2 * seed for seed in range(4)]
    assert list(rows.columns) == ["data", "seed", "model", "accuracy", "proved"]


def test_figures_are_stored_as_svg_and_png(tmp_path: Path) -> None:
    fill(tmp_path)
    write_report(tmp_path)
    assert b"<svg" in (tmp_path / "figures/toy-a-figure-1.svg").read_bytes()
    picture = imread(tmp_path / "figures/toy-a-figure-1.png")
    assert share_of_magenta(picture) > 0.05


def test_the_same_store_gives_the_same_files(tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    fill(first)
    shutil.copytree(first, second)
    write_report(first)
    write_report(second)
    write_report(second)
    names = sorted(path.relative_to(first) for path in first.rglob("*") if path.is_file())
    assert names == sorted(path.relative_to(second) for path in second.rglob("*") if path.is_file())
    for name in names:
        assert (first / name).read_bytes() == (second / name).read_bytes(), name


def test_the_page_says_what_is_missing_certified_and_how_long_it_took(tmp_path: Path) -> None:
    fill(tmp_path, n_configurations=5, n_stored=4)
    text = Page(write_report(tmp_path).read_text("utf-8")).text
    assert "Not complete: 1 of 5 configurations of the study toy are missing" in text
    assert "3 of 4 (75.0 %)" in text
    assert "2:00:00" in text  # four configurations of half an hour
    assert "0:04:00" in text  # on the wall
    assert "1+abc" in text


def test_a_study_without_rows_or_without_a_report_is_shown_as_it_is(tmp_path: Path) -> None:
    fill(tmp_path, n_stored=0)
    fill(tmp_path, name="my own")
    text = Page(write_report(tmp_path).read_text("utf-8")).text
    assert "Not complete: 4 of 4 configurations of the study toy" in text
    assert "8 rows, all of them in tables/my-own-rows.csv" in text


def test_a_folder_without_studies_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match="no store of studies"):
        write_report(tmp_path)
    with Store(tmp_path / STORE_NAME):
        pass
    with pytest.raises(InvalidInputError, match="no study yet"):
        write_report(tmp_path)


def test_a_full_disk_leaves_the_old_page_and_no_debris(tmp_path: Path) -> None:
    fill(tmp_path)
    page = write_report(tmp_path)
    before = page.read_bytes()
    names = set(tmp_path.rglob("*"))
    fill(tmp_path, n_configurations=5)
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (5_000, limits[1]))
    try:
        with pytest.raises(StorageError, match="The store is safe"):
            write_report(tmp_path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert page.read_bytes() == before
    assert set(tmp_path.rglob("*")) == names


def test_values_are_shown_in_words_and_rounded(tmp_path: Path) -> None:
    frame = pd.DataFrame(
        {
            "whole": [1, 2],
            "real": [0.12345, np.nan],
            "tiny": [1.5e-7, 0.0],
            "truth": [True, False],
            "mixed": [None, np.True_],
        }
    )
    page = write_page(tmp_path / "p.html", "Title", "Lead.", [Section("S", (), (table(frame),))])
    words = page.read_text("utf-8")
    for shown in (">1<", ">0.123<", ">–<", ">1.5e-07<", ">0.000<", ">yes<", ">no<"):
        assert shown in words


def table(frame: pd.DataFrame) -> Table:
    return Table("t", "A caption.", frame)


def share_of_magenta(picture: np.ndarray) -> float:
    distance = np.abs(picture[..., :3] - np.array([1.0, 0.0, 2.0 / 3.0])).max(axis=2)
    return float((distance < 0.05).mean())


@needs_chromium
def test_the_page_opens_in_a_browser_without_errors_and_shows_its_figures(tmp_path: Path) -> None:
    fill(tmp_path)
    page = write_report(tmp_path)
    with chromium(tmp_path) as tab:
        tab.open(page)
        assert tab.complaints == []
        assert tab.requests == []
        assert share_of_magenta(tab.picture()) > 0.01
        # The same eyes do see an error, a request, and the absence of a figure.
        page.write_text("<script>nonsense(</script><img src='absent.png'>", encoding="utf-8")
        tab.open(page)
        assert tab.complaints != []
        assert tab.requests == [(tmp_path / "absent.png").as_uri()]
        assert share_of_magenta(tab.picture()) == 0.0


def test_a_page_is_whole_without_any_section() -> None:
    assert "Nothing" in Page(render_page("Empty", "Nothing to see.", [])).text


def test_a_template_that_lacks_a_value_is_an_error_and_not_a_gap_in_the_page() -> None:
    with pytest.raises(UndefinedError, match="lead"):
        render("templates/page.html.j2", title="Title", sections=[])
