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

from collections.abc import Sequence

import pessimism
import pessimism_page
from measuring import command_line, measure, opened

from pessimal.environment import measured_version
from pessimal.reproduction import Study

PARTS = {
    "boxes": pessimism.boxes,
    "accuracy": pessimism.accuracy,
    "reach": pessimism.reach,
    "jumps": pessimism.jumps,
}


def main(arguments: Sequence[str] | None = None) -> None:
    parser = command_line(__doc__, "true_pessimism", "results/true_pessimism")
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=list(PARTS))
    options = parser.parse_args(arguments)
    with opened(options) as (store, docs):
        for part in () if options.report else options.parts:
            asked = pessimism.factors(part, options.quick)
            study = Study(part, asked, PARTS[part], measured_version)
            measure(study, store, pessimism_page.COMMAND)
        pessimism_page.write_page(store, docs)


if __name__ == "__main__":
    main()
