"""The report of a folder of studies: tables, figures and a page, from its store alone."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import timedelta
from functools import cache
from pathlib import Path

import pandas as pd

from pessimal.atomic import write_text
from pessimal.errors import InvalidInputError, StorageError
from pessimal.report.frames import flat, markdown_table
from pessimal.report.page import Plot, Section, Table, write_figure, write_page
from pessimal.reproduction.report import limited_data, perturbed, quality, selection, transfer
from pessimal.reproduction.store import STORE_NAME, Store, Summary

PAGE_NAME = "index.html"

SECTIONS: Mapping[str, Callable[[pd.DataFrame], Sequence[Section]]] = {
    "limited-data": limited_data.sections,
    "perturbed": perturbed.sections,
    "transfer": transfer.sections,
    "quality": quality.sections,
    "selection": selection.sections,
}
"""What turns the rows of each study into its part of the report."""


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
        sections.append(_provenance(studies))
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
    "search could prove them; the study of selection is not the paper's. The folders tables and "
    "figures beside this page hold everything on it, one file each."
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
        return [Section(name, (_missing(name, summary),))]
    if name in SECTIONS:
        first, *others = SECTIONS[name](rows)
    else:
        words = f"{len(rows)} rows, all of them in tables/{_file_name(name, 'rows')}.csv."
        first, others = Section(name, (words,)), []
    if warning := _missing(name, summary):
        first = replace(first, paragraphs=(warning, *first.paragraphs))
    return [first, *others]


def _missing(name: str, summary: Summary) -> str:
    """Say how many configurations are missing, and how to get them; nothing when none is."""
    if not summary.missing:
        return ""
    return (
        f"Not complete: {summary.missing} of {summary.configurations} configurations of the study "
        f"{name} are missing. To compute them, run again: {summary.runs[-1].command}"
    )


def _provenance(studies: Mapping[str, tuple[pd.DataFrame, Summary]]) -> Section:
    """Say how the rows came about: which commands, on what, in how much time, what is proved."""
    runs = pd.DataFrame(
        {
            "study": name,
            "configurations": summary.configurations,
            "missing": summary.missing,
            "certified": certified(rows, summary.factors),
            "computing time": _duration(summary.seconds),
            "elapsed time": _duration(sum(run.elapsed for run in summary.runs)),
            "begun": summary.runs[0].started,
            "code version": summary.version,
        }
        for name, (rows, summary) in studies.items()
    )
    every = [(name, run) for name, (_, summary) in studies.items() for run in summary.runs]
    commands = pd.DataFrame([{"study": name, "command": run.command} for name, run in every])
    facts = [fact for _, run in every for fact in run.environment.items()]
    # Several values of an item when the runs were not made on the same.
    items = pd.DataFrame(facts, columns=["item", "value"]).drop_duplicates()
    versions = items.groupby("item", sort=False)["value"].agg("; ".join).reset_index()
    return Section(
        "How this was computed",
        (
            "Every table and figure of this page is made from the stored rows alone. A "
            "configuration is one combination of a study's factors and seed. It is certified when "
            "every optimum in it was proved and checked by a second program. Computing time is "
            "summed over all workers; elapsed time is what a clock on the wall showed.",
        ),
        (
            Table("runs", "Configurations and times of each study.", runs),
            Table("commands", "The commands that computed the rows.", commands.drop_duplicates()),
            Table("versions", "What they ran on.", versions),
        ),
    )


def certified(rows: pd.DataFrame, factors: Sequence[str]) -> str:
    """Count the configurations whose every answer that can be proved is proved."""
    if "proved" not in rows:
        return "–"
    answers = rows.dropna(subset="proved")
    flags = answers["proved"].astype(bool).groupby([answers[name] for name in factors]).all()
    return f"{flags.sum()} of {len(flags)} ({100 * flags.mean():.1f} %)" if len(flags) else "–"


def _duration(seconds: float) -> str:
    return str(timedelta(seconds=round(seconds)))


def _drawn_once(section: Section) -> Section:
    """Remember figures, which go to two files and the page."""
    parts = (
        replace(part, draw=cache(part.draw)) if isinstance(part, Plot) else part
        for part in section.parts
    )
    return replace(section, parts=tuple(parts))


def _write_parts(folder: Path, study: str, section: Section) -> None:
    for part in section.parts:
        if isinstance(part, Table):
            path = _place(folder, "tables", study, part.name)
            _write_csv(path, part.frame)
            write_text(path.with_suffix(".md"), markdown_table(part.frame))
        else:
            write_figure(_place(folder, "figures", study, part.name), part.draw())


def _write_csv(path: Path, frame: pd.DataFrame) -> None:
    write_text(path.with_suffix(".csv"), flat(frame).to_csv(index=False, lineterminator="\n"))


def _place(folder: Path, kind: str, study: str, name: str) -> Path:
    (folder / kind).mkdir(exist_ok=True)
    return folder / kind / _file_name(study, name)


def _file_name(study: str, name: str) -> str:
    """Return a name that any file system takes, the study's name in front, but not twice."""
    begin, rest = (re.sub(r"[^a-z0-9]+", "-", word.lower()).strip("-") for word in (study, name))
    return rest if f"{rest}-".startswith(f"{begin}-") else f"{begin}-{rest}"
