"""What every benchmark does: measure what its store lacks, time answers apart from their checks."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import Executor
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest import mock

from matplotlib.figure import Figure

from pessimal import solve
from pessimal.atomic import write_bytes, write_text
from pessimal.certificate import Certificate
from pessimal.environment import measured_version
from pessimal.errors import InvalidInputError
from pessimal.report.page import figure_bytes
from pessimal.reproduction import RunResult, Store, Study, open_workers, run, show_progress

STORE_NAME = "measurements.sqlite"


def open_store(folder: Path, *, create: bool) -> Store:
    """Open the measurements in a folder, or say why not in one line."""
    path = folder / STORE_NAME
    if not create and not path.exists():
        raise SystemExit(
            f"there are no measurements at {path}; files of JSON lines, which earlier versions "
            "wrote, are not read: measure again"
        )
    try:
        return Store(path, create=create)
    except InvalidInputError as error:
        raise SystemExit(str(error)) from error


def measure(
    study: Study, store: Store, command: str, executor: Executor | None = None, jobs: int = 1
) -> RunResult:
    """Measure what the store does not hold, on one process or on the executor given.

    Rows of another machine, version or build are not added to, nor may they change on the way.
    """
    _require_same_machine(study, store)
    with show_progress() as progress, open_workers(jobs) as workers:
        chosen = workers.executor if executor is None else executor
        result = run(study, store, chosen, progress, in_flight=jobs, command=command)
    measured_version.cache_clear()
    _require_same_machine(study, store)
    for failure in result.failures:
        print(f"failed: {dict(failure.configuration)}: {failure.error}", flush=True)
    return result


def _require_same_machine(study: Study, store: Store) -> None:
    if study.name in store.studies() and store.summary(study.name).version != study.version():
        raise SystemExit(
            f"the rows in {store.path} were measured on another machine, with other versions or "
            "another build of pessimal, which may have changed during the run; pass another "
            "folder with --out"
        )


def machine(store: Store, study: str, *packages: str) -> tuple[str, list[str]]:
    """Return the machine that the rows of a study are of, and the versions of some packages."""
    summary = store.summary(study)
    found = summary.runs[-1].environment
    # Without the mark of a commit: that of an installed tree may be old, the build is not.
    versions = [f"{name} {found[name].partition('+')[0]}" for name in ("pessimal", *packages)]
    words = f"Machine: {found['machine']}, {found['system']}, Python {found['Python']}"
    return words, [*versions, f"build {summary.version}"]


def write(docs: Path, name: str, sections: Sequence[str], figure: Figure | None = None) -> None:
    """Write a page, and its figure in two formats."""
    images = docs / "images"
    images.mkdir(parents=True, exist_ok=True)
    write_text(docs / f"{name}.md", "\n\n".join(s.strip("\n") for s in sections) + "\n")
    if figure is not None:
        write_bytes(images / f"{figure.get_label()}.svg", figure_bytes(figure, "svg"))
        write_bytes(images / f"{figure.get_label()}.png", figure_bytes(figure, "png"))
    print(f"report: {docs / name}.md")


@contextmanager
def certificates_timed(check: str = "certify") -> Iterator[list[float]]:
    """Collect the CPU seconds of the checks at the end of each view, by the name of the check.

    On a machine that others use too, the clock charges a run of many milliseconds for their turns
    on the processor, and one of less than a millisecond hardly ever.
    """
    checks: list[float] = []
    certify = getattr(solve, check)

    def timed(*arguments: Any) -> Certificate:
        started = time.process_time()
        certificate: Certificate = certify(*arguments)
        checks.append(time.process_time() - started)
        return certificate

    with mock.patch.object(solve, check, timed):
        yield checks


def seconds(value: float | None) -> str:
    """Write a time, in milliseconds below a second; nothing if it is not known."""
    if value is None or math.isnan(value):
        return ""
    return f"{1000 * value:.1f} ms" if value < 1.0 else f"{value:.1f} s"


def times(ratio: float | None) -> str:
    """Write a ratio; nothing if there is none."""
    return "" if ratio is None else f"{ratio:.2g}×" if ratio < 100 else f"{ratio:.0f}×"
