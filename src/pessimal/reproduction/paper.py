"""Run studies by name into one folder; a run that was stopped goes on."""

from __future__ import annotations

import logging
import shlex
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from pessimal.errors import InvalidInputError
from pessimal.reproduction import selection, studies, transfer
from pessimal.reproduction.executors import open_workers
from pessimal.reproduction.runner import Progress, RunResult, run
from pessimal.reproduction.store import STORE_NAME, Store
from pessimal.reproduction.study import Study

logger = logging.getLogger(__name__)

Option = str | int | float | Path


STUDIES: Mapping[str, Callable[..., Study]] = {
    "limited-data": studies.limited_data,
    "perturbed": studies.perturbed,
    "transfer": transfer.study,
    "quality": studies.quality,
    "selection": selection.study,
}
"""What declares each study, with ``quick=`` and options of its own."""


@dataclass(frozen=True)
class ReproduceResult:
    """Where the rows are, and what became of each study."""

    store: Path
    runs: tuple[RunResult, ...]

    @property
    def complete(self) -> bool:
        """Whether every configuration of every study asked for is stored."""
        return all(run.complete for run in self.runs)


def reproduce(
    names: Iterable[str],
    out: str | Path,
    *,
    quick: bool = False,
    jobs: int | None = None,
    cluster: str | None = None,
    options: Mapping[str, Mapping[str, Option]] | None = None,
    progress: Progress | None = None,
) -> ReproduceResult:
    """Run studies, and keep their rows in a folder.

    Parameters
    ----------
    names : iterable of str
        Keys of `STUDIES`.
    out : path-like
        Folder of the store, made if need be. What it already holds is not computed again.
    quick : bool, default=False
        Run the small version of each study.
    jobs : int, optional
        Processes on this machine; by default one per core.
    cluster : str, optional
        Address of a Dask scheduler, ``tcp://host:port``, instead of processes on this machine.
    options : mapping, optional
        For a study's name, options of its own: ``{"perturbed": {"size": 30}}``.
    progress : callable, optional
        Called with a `Tally` whenever a configuration has ended; see `show_progress`.

    Returns
    -------
    ReproduceResult
        Its `complete` is false when a configuration has failed.
    """
    names = list(dict.fromkeys(names))
    options = options or {}
    for name in [*names, *options]:
        if name not in STUDIES:
            raise InvalidInputError(f"study {name!r} is not known; pass some of {list(STUDIES)}")
    # All are declared before any is run: what is missing shows at once, not after an hour.
    declared = {name: STUDIES[name](quick=quick, **options.get(name, {})) for name in names}
    results = []
    with Store(Path(out) / STORE_NAME) as store, open_workers(jobs, cluster) as workers:
        logger.info("running %s on %s", ", ".join(names), workers.name)
        executor, in_flight = workers.executor, workers.in_flight
        for name, study in declared.items():
            words = _command(name, quick=quick, jobs=jobs, **options.get(name, {}))
            ended = run(study, store, executor, progress, in_flight=in_flight, command=words)
            results.append(ended)
    return ReproduceResult(store.path, tuple(results))


def _command(name: str, *, quick: bool, **options: Option | None) -> str:
    """Return the command line that does the same."""
    words = ["pessimal", "reproduce", name, *(["--quick"] if quick else [])]
    for option, value in options.items():
        if value is not None:
            words += [f"--{option}", str(value)]
    return shlex.join(words)
