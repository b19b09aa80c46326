"""The page of the documentation about the study of selection, from stored rows alone.

    python -m pessimal.reproduction.report.selection_page RESULTS DOCS

writes ``selection.md`` and ``images/selection.svg``.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pandas as pd

from pessimal.atomic import write_bytes, write_text
from pessimal.report.frames import markdown_table
from pessimal.report.page import Plot, figure_bytes
from pessimal.reproduction.report.selection import sections
from pessimal.reproduction.store import STORE_NAME, Store, Summary
from pessimal.reproduction.tables import TABLES

LEAD = """\
Hyperparameters chosen by `PessimisticSearchCV` and in the usual ways, on the same draws of public
tables: what the chosen models are worth on held-out rows. Every number is computed from stored
rows.
"""


def write_page(results: Path, docs: Path) -> None:
    """Write the page and its figure from the rows stored in a folder."""
    with Store(results / STORE_NAME, create=False) as store:
        rows = pd.DataFrame.from_records(store.records("selection", all_runs=True))
        summary = store.summary("selection", all_runs=True)
    (docs / "images").mkdir(parents=True, exist_ok=True)
    write_text(docs / "selection.md", "\n".join(_blocks(rows, summary, docs)))


def _blocks(rows: pd.DataFrame, summary: Summary, docs: Path) -> Iterator[str]:
    yield f"# Selection, measured\n\n{LEAD}"
    for section in sections(rows):
        yield f"## {section.title}\n"
        for paragraph in section.paragraphs:
            yield f"{paragraph}\n"
        for part in section.parts:
            if isinstance(part, Plot):
                image = f"images/{part.name}.svg"
                write_bytes(docs / image, figure_bytes(part.draw(), "svg"))
                yield f"![{part.caption}]({image})\n"
            else:
                yield f"{part.caption}\n\n{markdown_table(part.frame)}"
    yield "## Run it again\n"
    packages = {TABLES[name].package for name in pd.unique(rows["data"])}
    others = sorted(packages - {"pessimal", "scikit-learn"})
    if others:
        yield f"    pip install --no-deps {' '.join(others)}"
    yield f"    {summary.runs[-1].command}"
    yield "    python -m pessimal.reproduction.report.selection_page results docs\n"
    on = summary.runs[-1].environment
    yield (
        f"{summary.configurations - summary.missing:,} of {summary.configurations:,} "
        f"configurations are stored. {summary.seconds / 60.0:.0f} minutes on the clock, one "
        f"process on a machine that others used too ({on['machine']}); Python {on['Python']}, "
        f"scikit-learn {on['scikit-learn']}, numpy {on['numpy']}, sources {summary.version}.\n"
    )


if __name__ == "__main__":
    write_page(*map(Path, sys.argv[1:]))
