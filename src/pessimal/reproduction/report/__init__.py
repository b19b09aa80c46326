"""The report of a folder of studies: tables, figures and a page, from its store alone."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cache
from pathlib import Path

import pandas as pd

from pessimal.atomic import write_bytes, write_text
from pessimal.errors import InvalidInputError, StorageError
from pessimal.report.frames import flat, markdown_table
from pessimal.report.page import Plot, Section, Table, figure_bytes, write_page
from pessimal.reproduction import paper
from pessimal.reproduction.report.provenance import missing_configurations, provenance
from pessimal.reproduction.store import STORE_NAME, Store, Summary

PAGE_NAME = "index.html"


def write_report(folder: str | Path) -> Path:
    """Make tables, figures and one page from the rows stored in a folder.

    Every table goes to ``tables/`` as CSV, with exact values, and as Markdown; every figure to
    ``figures/`` as SVG and PNG; the page, with all of them inside, to ``index.html``. The same
    store gives the same files.

    Parameters
    ----------
    folder : path-like
        The folder that `pessimal.reproduction.reproduce` wrote to.

    Returns
    -------
    Path
        The page.
    """
    folder = Path(folder)
    with Store(folder / STORE_NAME, create=False) as store:
        studies = {name: (store.frame(name), store.summary(name)) for name in store.studies()}
    if not studies:
        raise InvalidInputError(
            f"{folder / STORE_NAME} holds no study yet; run `pessimal reproduce` first"
        )
    sections = []
    try:
        for name, (rows, summary) in studies.items():
            _write_csv(_place(folder, "tables", name, "rows"), rows)
            with _readable(name, folder):
                for section in _sections(name, rows, summary):
                    sections.append(_drawn_once(section))
                    _write_parts(folder, name, sections[-1])
        sections.append(provenance(studies))
        _write_parts(folder, "all", sections[-1])
        return write_page(folder / PAGE_NAME, "The paper's studies, run again", _LEAD, sections)
    except OSError as error:
        raise StorageError(
            f"the report in {folder} cannot be written ({error}). The store is safe: free some "
            "space or check the disk, then make the report again"
        ) from error


_LEAD = (
    "Experiments of “Hyperparameter Tuning Through Pessimistic Bilevel Optimization” (Apaydin "
    "Ustun, Xu, Zeng and Qian, arXiv:2412.03666), computed anew with proved optima wherever the "
    "search could prove them. The folders tables and figures beside this page hold everything on "
    "it, one file each."
)


@contextmanager
def _readable(name: str, folder: Path) -> Iterator[None]:
    """Refuse rows that lack what the report of their study is about, or hold something else."""
    try:
        yield
    except (LookupError, TypeError, ValueError) as error:
        raise InvalidInputError(
            f"the stored rows of study {name!r} are not those of this version of pessimal "
            f"({type(error).__name__}: {error}); run `pessimal reproduce {name}` into another "
            f"folder, or see {folder / 'tables'} for the rows as they are"
        ) from error


def _sections(name: str, rows: pd.DataFrame, summary: Summary) -> Sequence[Section]:
    if rows.empty:
        return [Section(name, (missing_configurations(name, summary),))]
    if name in paper.STUDIES:
        first, *others = paper.STUDIES[name].sections(rows)
    else:
        words = f"{len(rows)} rows, all of them in tables/{_file_name(name, 'rows')}.csv."
        first, others = Section(name, (words,)), []
    if warning := missing_configurations(name, summary):
        first = replace(first, paragraphs=(warning, *first.paragraphs))
    return [first, *others]


def _drawn_once(section: Section) -> Section:
    """Remember figures, which go to two files and the page."""
    return replace(
        section,
        parts=tuple(
            replace(part, draw=cache(part.draw)) if isinstance(part, Plot) else part
            for part in section.parts
        ),
    )


def _write_parts(folder: Path, study: str, section: Section) -> None:
    for part in section.parts:
        if isinstance(part, Table):
            _write_table(folder, study, part)
        else:
            _write_figure(folder, study, part)


def _write_table(folder: Path, study: str, table: Table) -> None:
    path = _place(folder, "tables", study, table.name)
    _write_csv(path, table.frame)
    write_text(path.with_suffix(".md"), markdown_table(table.frame))


def _write_csv(path: Path, frame: pd.DataFrame) -> None:
    write_text(path.with_suffix(".csv"), flat(frame).to_csv(index=False, lineterminator="\n"))


def _write_figure(folder: Path, study: str, plot: Plot) -> None:
    path = _place(folder, "figures", study, plot.name)
    figure = plot.draw()
    write_bytes(path.with_suffix(".svg"), figure_bytes(figure, "svg"))
    write_bytes(path.with_suffix(".png"), figure_bytes(figure, "png"))


def _place(folder: Path, kind: str, study: str, name: str) -> Path:
    (folder / kind).mkdir(exist_ok=True)
    return folder / kind / _file_name(study, name)


def _file_name(study: str, name: str) -> str:
    """Return a name that any file system takes, the study's name in front, but not twice."""
    begin, rest = (re.sub(r"[^a-z0-9]+", "-", word.lower()).strip("-") for word in (study, name))
    return rest if f"{rest}-".startswith(f"{begin}-") else f"{begin}-{rest}"
