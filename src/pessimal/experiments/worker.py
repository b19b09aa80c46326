"""What happens in a worker: one cell becomes text.

Rows are encoded where they are computed and the runner only files them, so the same cell gives the
same bytes wherever it ran.
"""

from __future__ import annotations

import time
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from pessimal.errors import PessimalError
from pessimal.experiments.store import encode
from pessimal.experiments.study import Cell, Row
from pessimal.experiments.version import code_version


@dataclass(frozen=True)
class Answer:
    """What a worker sends back: encoded rows, or what went wrong."""

    rows: str
    seconds: float
    error: str = ""
    details: str = ""


def compute(run: Callable[[Cell], Sequence[Row]], cell: Cell, version: str) -> Answer:
    """Run one cell in a worker, on one thread.

    Errors travel as text: an exception may not survive the way back.
    """
    started = time.perf_counter()
    try:
        _same_code(version)
        with threadpool_limits(1):
            rows = run(cell)
        _no_contradiction(cell, rows)
        return Answer(encode(rows), time.perf_counter() - started)
    except Exception as error:
        words = traceback.format_exception_only(error)[-1].strip()
        return Answer("", time.perf_counter() - started, words, traceback.format_exc())


def _same_code(version: str) -> None:
    if code_version() != version:
        raise PessimalError(
            f"the worker has pessimal {code_version()}, but the run was started with {version}; "
            "install the same sources on both, or start the run again"
        )


def _no_contradiction(cell: Cell, rows: Sequence[Row]) -> None:
    for row in rows:
        for name in cell.keys() & row.keys():
            if cell[name] != row[name]:
                raise PessimalError(
                    f"a row has {name} = {row[name]!r} but its cell has {cell[name]!r}; "
                    "give the column another name"
                )
