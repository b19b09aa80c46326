"""Tune against the exact worst case: how much it gains, what it costs, whether it generalises.

Four measurements, stored line by line, so that a run that was stopped goes on where it was; the
page is written from the stored lines.

Examples
--------
::

    python benchmarks/true_pessimism.py --quick
    python benchmarks/true_pessimism.py
    python benchmarks/true_pessimism.py --report
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import pessimism_accuracy
import pessimism_boxes
import pessimism_page
import pessimism_plot
import pessimism_worst
from lines import Lines
from machine import Machine, describe
from pessimism_checks import by_method
from profile_plot import save
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

HERE = Path(__file__).parent


@dataclass(frozen=True)
class Part:
    """A measurement: its tasks, what measures one, and the types in which both are stored."""

    tasks: Callable[[bool], Iterable[Any]]
    measure: Callable[[Any], list[Any]]
    task: type
    row: type

    def read(self, store: Lines) -> dict[Any, list[Any]]:
        """Return the rows of every task that is done."""
        return {
            self.task(**line["task"]): [self.row(**row) for row in line["rows"]]
            for line in store.read()
        }


PARTS = {
    "boxes": Part(
        pessimism_boxes.cells,
        pessimism_boxes.measure,
        pessimism_boxes.Cell,
        pessimism_boxes.Answer,
    ),
    "accuracy": Part(
        pessimism_accuracy.draws,
        pessimism_accuracy.measure,
        pessimism_accuracy.Draw,
        pessimism_accuracy.Score,
    ),
    "reach": Part(
        pessimism_worst.sizes,
        pessimism_worst.evaluate,
        pessimism_worst.Size,
        pessimism_worst.Evaluation,
    ),
    "jumps": Part(
        pessimism_worst.lines,
        pessimism_worst.jumps,
        pessimism_worst.Line,
        pessimism_worst.Jump,
    ),
}


def main(arguments: Sequence[str] | None = None) -> None:
    options = _parse(sys.argv[1:] if arguments is None else arguments)
    out: Path = options.out or HERE / "results" / "true_pessimism" / (
        "quick" if options.quick else ""
    )
    if not options.report:
        _require_same_machine(out / "machine.json")
        for name in options.parts:
            run(name, out, options.quick)
        _require_same_machine(out / "machine.json")
    report(out, options.page or (out if options.quick else HERE.parent / "docs"))


def run(name: str, out: Path, quick: bool) -> None:
    """Measure what is left of a part."""
    part, store = PARTS[name], Lines(out / f"{name}.jsonl")
    done = part.read(store)
    left = [task for task in part.tasks(quick) if task not in done]
    for number, task in enumerate(left, 1):
        # On so few rows the threads of a linear algebra library cost more than they save.
        with threadpool_limits(1):
            rows = part.measure(task)
        store.add({"task": asdict(task), "rows": [asdict(row) for row in rows]})
        print(f"{name} {number}/{len(left)} {task}", flush=True)


def report(out: Path, docs: Path) -> None:
    """Write the page and its figure."""
    machine = Machine(**json.loads((out / "machine.json").read_text(encoding="utf-8")))
    found = {name: part.read(Lines(out / f"{name}.jsonl")) for name, part in PARTS.items()}
    evidence = pessimism_page.Evidence(machine=machine, **found)
    docs.mkdir(parents=True, exist_ok=True)
    path = docs / "true_pessimism.md"
    path.write_text(pessimism_page.write(evidence), encoding="utf-8")
    save(pessimism_plot.bars(by_method(evidence.boxes)), docs / "images", pessimism_page.FIGURE)
    print(f"report: {os.path.relpath(path)}")


def _require_same_machine(path: Path) -> None:
    """Note the machine; refuse to add rows to those of another machine, version or build."""
    here = asdict(describe())
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(here, indent=1), encoding="utf-8")
    elif json.loads(path.read_text(encoding="utf-8")) != here:
        raise SystemExit(
            f"the rows beside {path} were measured on another machine, with other versions or "
            "another build of pessimal; pass another folder with --out"
        )


def _parse(words: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    add = parser.add_argument
    add("--parts", nargs="+", choices=PARTS, default=list(PARTS), help="which to measure")
    add("--quick", action="store_true", help="a handful of tasks, in a folder of their own")
    add("--out", type=Path, help="folder of the rows (default benchmarks/results/true_pessimism)")
    add("--page", type=Path, help="folder of true_pessimism.md and images/ (default docs)")
    add("--report", action="store_true", help="write the page from the stored rows alone")
    return parser.parse_args(words)


if __name__ == "__main__":
    main()
