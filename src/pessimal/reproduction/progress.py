"""Show how far a run has come: a bar in a terminal, a line now and then in a pipe."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
from rich.progress import Progress as Bar

from pessimal.reproduction.runner import Progress, Tally

LINES_IN_A_PIPE = 10


@contextmanager
def show_progress(console: Console | None = None) -> Iterator[Progress]:
    """Yield a callback for the runner that shows one study after another.

    Parameters
    ----------
    console : rich.console.Console, optional
        Where to show it; standard error by default.

    Examples
    --------
    >>> import sys
    >>> with show_progress(Console(file=sys.stdout)) as tell:
    ...     tell(Tally("quality", configurations=40, stored=8, done=0, failed=0, seconds=0.0))
    ...     tell(Tally("quality", configurations=40, stored=8, done=16, failed=1, seconds=32.0))
    quality: 8 of 40 configurations stored
    quality: 24 of 40 configurations stored, 1 failed, about 0:00:28 left
    """
    console = Console(stderr=True) if console is None else console
    if console.is_terminal:
        with _bars(console) as tell:
            yield tell
    else:
        yield _lines(console)


@contextmanager
def _bars(console: Console) -> Iterator[Progress]:
    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("{task.fields[outlook]}", markup=False),
    )
    with Bar(*columns, console=console) as bar:
        tasks = {}

        def tell(tally: Tally) -> None:
            if tally.study not in tasks:
                tasks[tally.study] = bar.add_task(
                    tally.study, total=tally.configurations, outlook=""
                )
            bar.update(
                tasks[tally.study],
                completed=tally.stored + tally.done,
                outlook=", ".join(_outlook(tally)),
            )

        yield tell


def _lines(console: Console) -> Progress:
    """At most so many lines a study, and one whenever a configuration has failed."""
    last: dict[str, tuple[int, int]] = {}

    def tell(tally: Tally) -> None:
        ended = tally.done + tally.failed
        now = (tally.failed, LINES_IN_A_PIPE * ended // max(1, tally.configurations - tally.stored))
        if now == last.get(tally.study):
            return
        last[tally.study] = now
        stored = f"{tally.stored + tally.done} of {tally.configurations}"
        head = f"{tally.study}: {stored} configurations stored"
        line = ", ".join([head, *_outlook(tally)])
        console.print(line, markup=False, highlight=False, soft_wrap=True)

    return tell


def _outlook(tally: Tally) -> list[str]:
    """Say what failed, and how long the rest takes if it goes on like this."""
    words = [f"{tally.failed} failed"] if tally.failed else []
    ended = tally.done + tally.failed
    left = tally.configurations - tally.stored - ended
    if ended and left:
        seconds = round(tally.seconds / ended * left)
        words.append(f"about {timedelta(seconds=seconds)} left")
    return words
