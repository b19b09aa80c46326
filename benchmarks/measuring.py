"""What every benchmark does: measure what its store lacks, time answers, render its page."""

from __future__ import annotations

import math
import time
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, TypeVar
from unittest import mock

import pandas as pd
from jinja2 import FileSystemLoader
from matplotlib import rc_context
from matplotlib.figure import Figure

from pessimal import solve
from pessimal.atomic import write_text
from pessimal.environment import measured_version
from pessimal.errors import InvalidInputError
from pessimal.markup import templates
from pessimal.report.frames import markdown
from pessimal.report.page import write_figure
from pessimal.reproduction import Configuration, Row, RunResult, Store, Study, open_workers, run
from pessimal.reproduction.runner import show_progress

HERE = Path(__file__).parent
STORE_NAME = "measurements.sqlite"

T = TypeVar("T")

COLOURS = ("#000000", "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00")
"""Colours that the colour-blind tell apart (Okabe and Ito)."""

PATHS = ArgumentParser(add_help=False)
PATHS.add_argument("--out", type=Path, help="folder of the rows (default in benchmarks/results)")
PATHS.add_argument("--page", type=Path, help="folder of the page and images/ (default docs)")


def command_line(module: str | None, results: str, parts: Iterable[str] = ()) -> ArgumentParser:
    """Return what every benchmark can be asked, described by the first line of its module."""
    first_line = (module or "").split("\n", maxsplit=1)[0]
    parser = ArgumentParser(description=first_line, parents=[PATHS])
    add = parser.add_argument
    add("--quick", action="store_true", help="a handful of rows, in a folder of their own")
    add("--report", action="store_true", help="write the page from the stored rows alone")
    if parts:
        add("--parts", nargs="+", choices=list(parts), default=list(parts))
    parser.set_defaults(results=HERE / results)
    return parser


@contextmanager
def opened(options: Namespace) -> Iterator[tuple[Store, Path]]:
    """Open the store that the options name, or say why not; say where the page goes."""
    out: Path = options.out or options.results / ("quick" if options.quick else "")
    path = out / STORE_NAME
    if options.report and not path.exists():
        raise SystemExit(
            f"there are no measurements at {path}; files of JSON lines, which earlier versions "
            "wrote, are not read: measure again"
        )
    try:
        store = Store(path)
    except InvalidInputError as error:
        raise SystemExit(str(error)) from error
    with store:
        yield store, options.page or (out if options.quick else HERE.parent / "docs")


def measure(
    study: Study, store: Store, command: str, executor: Executor | None = None, jobs: int = 1
) -> RunResult:
    """Measure what the store does not hold, on one process or on the executor given.

    Rows of another machine, version or build are not added to, nor may they change on the way.
    """
    study = replace(study, version=measured_version)
    _require_same_machine(study, store)
    with show_progress() as progress, open_workers(jobs) as workers:
        chosen = workers.executor if executor is None else executor
        result = run(study, store, chosen, progress, in_flight=jobs, command=command)
    measured_version.cache_clear()
    _require_same_machine(study, store)
    return result


def measure_parts(
    options: Namespace,
    store: Store,
    factors: Callable[[str, bool], tuple[Configuration, ...]],
    parts: Mapping[str, Callable[[Configuration], Sequence[Row]]],
    command: str,
    parallel: Container[str] = (),
) -> tuple[dict[str, pd.DataFrame], dict[str, Any]]:
    """Measure the parts asked for; return all that is stored, by part, and the machine."""
    for part in () if options.report else options.parts:
        study = Study(part, factors(part, options.quick), parts[part])
        measure(study, store, command, jobs=options.jobs if part in parallel else 1)
    found = {part: store.frame(part) for part in parts if part in store.studies()}
    return found, machine(store, next(iter(found)))


def _require_same_machine(study: Study, store: Store) -> None:
    if study.name in store.studies() and store.summary(study.name).version != study.version():
        raise SystemExit(
            f"the rows in {store.path} were measured on another machine, with other versions or "
            "another build of pessimal, which may have changed during the run; pass another "
            "folder with --out"
        )


def machine(store: Store, study: str) -> dict[str, Any]:
    """Return the machine that the rows of a study are of, and what they were measured with."""
    summary = store.summary(study)
    found = summary.runs[-1].environment
    # Without the mark of a commit: that of an installed tree may be old, the build is not.
    names = ("pessimal", "numpy", "scipy", "cvxpy")
    versions = [f"{name} {found[name].partition('+')[0]}" for name in names]
    words = f"Machine: {found['machine']}, {found['system']}, Python {found['Python']}"
    return {"machine": words, "versions": [*versions, f"build {summary.version}"]}


def timed(function: Callable[..., T], *arguments: Any, **options: Any) -> tuple[T, float]:
    """Return the answer of a function and its CPU seconds.

    On a machine that others use too, the clock charges a run of many milliseconds for their turns
    on the processor, and one of less than a millisecond hardly ever.
    """
    started = time.process_time()
    return function(*arguments, **options), time.process_time() - started


def timed_apart(view: Callable[..., T], *arguments: Any, **options: Any) -> tuple[T, float, float]:
    """Return an answer, its CPU seconds without those of its certificate, and these."""
    checks: list[float] = []

    def checked(certify: Callable[..., Any], *claim: Any) -> Any:
        certificate, seconds = timed(certify, *claim)
        checks.append(seconds)
        return certificate

    names = ("certify", "certify_worst_case")
    both: dict[str, Any] = {name: partial(checked, getattr(solve, name)) for name in names}
    with mock.patch.multiple(solve, **both):
        answer, seconds = timed(view, *arguments, **options)
    return answer, seconds - sum(checks), sum(checks)


def memory(field: str) -> float | None:
    """Return resident memory in MB (VmRSS) or its peak (VmHWM), None where Linux does not tell."""
    try:
        lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    except OSError:
        return None
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith(field))


def paired(rows: pd.DataFrame, draw: list[str], score: str, other: str) -> pd.DataFrame:
    """Return each method's mean in per cent, its lead over another on the same draws, its error."""
    scores = 100.0 * rows.pivot(index=draw, columns="method", values=score)
    lead = scores.sub(scores[other], axis=0)
    return pd.DataFrame({"mean": scores.mean(), "points": lead.mean(), "error": lead.sem()})


def panels(label: str, parts: Any, draw: Callable[..., str], height: float, **axes: Any) -> Figure:
    """Draw groups of rows beside each other, in small letters, with one legend below.

    The function draws a group, its name and its rows, on axes; it returns the title of the panel.
    """
    figure = Figure(figsize=(9.0, height), layout="constrained", label=label)
    with rc_context({"axes.labelsize": 9}):
        every = figure.subplots(1, len(parts), squeeze=False, **axes)[0]
    for panel, part in zip(every, parts, strict=True):
        panel.set_title(draw(panel, *part), fontsize=9)
        panel.tick_params(labelsize=8)
    handles, labels = every[0].get_legend_handles_labels()
    figure.legend(handles, labels, fontsize=8, loc="outside lower center", ncols=len(labels))
    return figure


def render(template: str, **values: Any) -> str:
    """Fill a template of a page; a name that it uses and that is not given is an error."""
    return _TEMPLATES.get_template(f"{template}.md.j2").render(values)


def write(docs: Path, name: str, page: str, figure: Figure | None = None) -> None:
    """Write a page, and its figure in two formats."""
    (docs / "images").mkdir(parents=True, exist_ok=True)
    write_text(docs / f"{name}.md", page)
    if figure is not None:
        write_figure(docs / "images" / str(figure.get_label()), figure)
    print(f"report: {docs / name}.md")


def _seconds(value: float) -> str:
    return f"{1000 * value:.1f} ms" if value < 1.0 else f"{value:.1f} s"


def _times(ratio: float) -> str:
    return f"{ratio:.2g}×" if ratio < 100 else f"{ratio:.0f}×"


def _if_known(written: Callable[[float], str]) -> Callable[[float], str]:
    return lambda value: "" if math.isnan(value) else written(value)


_TEMPLATES = templates(FileSystemLoader(HERE / "templates"), keep_trailing_newline=True)
_TEMPLATES.filters |= {
    "number": format,
    "seconds": _if_known(_seconds),
    "times": _if_known(_times),
    "share": _if_known("{:.0%}".format),
    "megabytes": _if_known("{:.0f} MB".format),
}
_TEMPLATES.globals["table"] = markdown
