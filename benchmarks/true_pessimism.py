"""Tune against the exact worst case: how much it gains, what it costs, whether it generalises.

Four measurements, stored as they come, so that a run that was stopped goes on where it was; the
page is written from the stored rows.

Examples
--------
::

    python benchmarks/true_pessimism.py --quick
    python benchmarks/true_pessimism.py
    python benchmarks/true_pessimism.py --report
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

import pessimism
import pessimism_page
from measuring import measure, open_store

from pessimal.environment import measured_version
from pessimal.reproduction import Study

HERE = Path(__file__).parent
PARTS = {
    "boxes": pessimism.boxes,
    "accuracy": pessimism.accuracy,
    "reach": pessimism.reach,
    "jumps": pessimism.jumps,
}


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    add = parser.add_argument
    add("--parts", nargs="+", choices=PARTS, default=list(PARTS), help="which to measure")
    add("--quick", action="store_true", help="a handful of rows, in a folder of their own")
    add("--out", type=Path, help="folder of the rows (default benchmarks/results/true_pessimism)")
    add("--page", type=Path, help="folder of true_pessimism.md and images/ (default docs)")
    add("--report", action="store_true", help="write the page from the stored rows alone")
    options = parser.parse_args(arguments)
    folder = HERE / "results" / "true_pessimism" / ("quick" if options.quick else "")
    out: Path = options.out or folder
    with open_store(out, create=not options.report) as store:
        for part in () if options.report else options.parts:
            asked = pessimism.factors(part, options.quick)
            study = Study(part, asked, PARTS[part], measured_version)
            measure(study, store, pessimism_page.COMMAND)
        docs = options.page or (out if options.quick else HERE.parent / "docs")
        pessimism_page.write_page(store, docs)


if __name__ == "__main__":
    main()
