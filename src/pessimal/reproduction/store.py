"""One file that keeps the rows of every study as they are computed.

Rows are keyed by study, configuration and version of the code. They are kept as JSON, in which
every float keeps its exact value; the time they took stands apart, for rows must not depend on it.
Each run also writes down which configurations it was asked for: what is read back is what the last
run declared, in the order declared, whatever else the file holds from other versions or settings.
The file calls a configuration a cell, as it always did.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pandas as pd

from pessimal.errors import InvalidInputError, shortened
from pessimal.reproduction.store_file import damaged, open_file, transaction
from pessimal.reproduction.study import Configuration, Row, Study, Value

STORE_NAME = "studies.sqlite"
"""Name of the file in an output folder."""


@dataclass(frozen=True)
class Run:
    """One call of the runner: how it was started, where, and how long it worked."""

    command: str
    environment: Mapping[str, str]
    started: str
    elapsed: float


@dataclass(frozen=True)
class Summary:
    """What the store knows about a study.

    Computing time is summed over all workers. The runs are those that declared these
    configurations, oldest first; one that was killed counts until the last that it stored.
    """

    version: str
    factors: tuple[str, ...]  # columns of the configurations
    configurations: int
    missing: int  # how many of the configurations have no rows yet
    seconds: float
    runs: tuple[Run, ...]


class Store:
    """Rows of studies in one SQLite file; used as a context manager.

    Parameters
    ----------
    path : path-like
        The file.
    create : bool, default=True
        Whether to make the file, and its folder, when there is none.

    Raises
    ------
    InvalidInputError
        When the file is not a store, or is damaged; it is left as it is.

    Examples
    --------
    >>> import tempfile
    >>> study = Study("squares", ({"x": 2}, {"x": 3}), lambda at: [{"square": at["x"] ** 2}])
    >>> with tempfile.TemporaryDirectory() as folder, Store(Path(folder) / STORE_NAME) as store:
    ...     run = store.begin(study, "1.0", command="", environment={})
    ...     store.add(run, {"x": 3}, encode([{"square": 9}]), seconds=0.1, elapsed=0.2)
    ...     print(store.frame("squares").to_dict("records"), store.summary("squares").missing)
    [{'x': 3, 'square': 9}] 1
    """

    def __init__(self, path: str | Path, *, create: bool = True) -> None:
        self.path = Path(path)
        self._connection = open_file(self.path, create=create)

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file."""
        self._connection.close()

    def begin(
        self, study: Study, version: str, *, command: str, environment: Mapping[str, str]
    ) -> int:
        """Write down that a run begins, and with which configurations; return its number."""
        started = datetime.now(UTC).isoformat(timespec="seconds")
        declared = encode(list(_keyed(study.configurations).values()))
        values = (study.name, version, declared, command, _dump(dict(environment)), started)
        with transaction(self._connection, self.path):
            cursor = self._connection.execute(
                "INSERT INTO runs (study, version, cells, command, environment, started, elapsed) "
                "VALUES (?, ?, ?, ?, ?, ?, 0)",
                values,
            )
        assert cursor.lastrowid is not None
        return cursor.lastrowid

    def add(
        self, run: int, configuration: Configuration, rows: str, *, seconds: float, elapsed: float
    ) -> None:
        """Store the encoded rows of a configuration, all or none; what is stored stays as it is."""
        with transaction(self._connection, self.path):
            self._connection.execute(
                "INSERT OR IGNORE INTO cells (study, version, cell, rows, seconds) "
                "SELECT study, version, ?, ?, ? FROM runs WHERE id = ?",
                (canonical(configuration), rows, seconds, run),
            )
            self._connection.execute("UPDATE runs SET elapsed = ? WHERE id = ?", (elapsed, run))

    def discard(self, study: str, version: str, configurations: Iterable[Configuration]) -> None:
        """Forget the rows of some configurations, so that the next run computes them again."""
        with transaction(self._connection, self.path):
            self._connection.executemany(
                "DELETE FROM cells WHERE study = ? AND version = ? AND cell = ?",
                [(study, version, canonical(configuration)) for configuration in configurations],
            )

    def pending(self, study: Study, version: str) -> list[Configuration]:
        """Return what has no rows of this version yet, each once, in order."""
        stored = self._stored(study.name, version)
        keyed = _keyed(study.configurations)
        return [configuration for key, configuration in keyed.items() if key not in stored]

    def studies(self) -> list[str]:
        """Names of the studies in the store, in the order they were first run."""
        found = self._connection.execute("SELECT study FROM runs GROUP BY study ORDER BY min(id)")
        return [str(name) for (name,) in found]

    def frame(self, study: str, version: str | None = None) -> pd.DataFrame:
        """Read the rows of a study: the columns of its configurations, then those of its rows.

        Versions are never mixed. By default the version is that of the last run, so after an edit
        of the package the table starts anew; the rows of earlier versions stay in the file.

        Parameters
        ----------
        study : str
            Name of the study.
        version : str, optional
            A code version in the store.

        Returns
        -------
        pandas.DataFrame
            Only configurations that the last run of that version declared, in its order.
        """
        return pd.DataFrame.from_records(self.records(study, version))

    def records(
        self, study: str, version: str | None = None, *, all_runs: bool = False
    ) -> list[dict[str, Value]]:
        """Read the rows of `frame` as they were stored, of all runs of the version if asked for."""
        version, declared, _ = self._plan(study, version, all_runs)
        stored = self._stored(study, version)
        return [
            {**configuration, **row}
            for key, configuration in declared.items()
            for row in self._json(stored.get(key, ("[]",))[0], "rows", _are_plain)
        ]

    def summary(self, study: str, *, all_runs: bool = False) -> Summary:
        """Say what the rows of `frame`, or of all runs of their version, were made from."""
        version, declared, runs = self._plan(study, None, all_runs)
        stored = self._stored(study, version)
        return Summary(
            version=version,
            factors=tuple(dict.fromkeys(name for each in declared.values() for name in each)),
            configurations=len(declared),
            missing=sum(key not in stored for key in declared),
            seconds=sum(stored[key][1] for key in declared if key in stored),
            runs=tuple(
                Run(
                    str(command),
                    self._json(environment, "an environment", _is_of_texts),
                    str(started),
                    self._number(elapsed),
                )
                for command, environment, started, elapsed in runs
            ),
        )

    def _plan(
        self, study: str, version: str | None, all_runs: bool
    ) -> tuple[str, dict[str, Configuration], list[tuple[Any, ...]]]:
        """Return version, configurations and runs: the last run's, or of all of its version."""
        runs = self._connection.execute(
            "SELECT version, cells, command, environment, started, elapsed FROM runs "
            "WHERE study = ?1 AND version = ifnull(?2, (SELECT version FROM runs "
            "WHERE study = ?1 ORDER BY id DESC LIMIT 1)) ORDER BY id",
            (study, version),
        ).fetchall()
        if not runs:
            wanted = f"{study!r}" if version is None else f"{study!r} of version {version}"
            raise InvalidInputError(
                f"{self.path} has no rows of study {wanted}; it has {self.studies()}"
            )
        kept = [run for run in runs if all_runs or run[1] == runs[-1][1]]
        declared = [each for run in kept for each in self._json(run[1], "cells", _are_plain)]
        return str(runs[-1][0]), _keyed(declared), [run[2:] for run in kept]

    def _stored(self, study: str, version: str) -> dict[str, tuple[str, float]]:
        """Read the encoded rows and the seconds of every stored configuration."""
        found = self._connection.execute(
            "SELECT cell, rows, seconds FROM cells WHERE study = ? AND version = ?",
            (study, version),
        )
        return {key: (rows, self._number(seconds)) for key, rows, seconds in found}

    def _json(self, text: Any, what: str, fits: Callable[[Any], bool]) -> Any:
        """Read JSON that is known to be of some kind, or say that the file is damaged."""
        try:
            content = json.loads(text)
        except (TypeError, ValueError, RecursionError):
            content = None
        if not fits(content):
            raise damaged(self.path, f"it holds {shortened(text)} where {what} should be")
        return content

    def _number(self, value: Any) -> float:
        if not isinstance(value, int | float) or not math.isfinite(value):
            raise damaged(self.path, f"it holds {shortened(value)} where seconds should be")
        return float(value)


def canonical(configuration: Configuration) -> str:
    """Write a configuration so that equal configurations give equal text."""
    return _dump(dict(configuration), sort_keys=True)


def _keyed(configurations: Iterable[Configuration]) -> dict[str, Configuration]:
    """Return configurations by their key, each once, in order."""
    return {canonical(configuration): configuration for configuration in configurations}


def encode(rows: Sequence[Row]) -> str:
    """Write rows as JSON, every float with its exact value."""
    return _dump([dict(row) for row in rows])


def _dump(value: object, *, sort_keys: bool = False) -> str:
    return json.dumps(value, sort_keys=sort_keys, separators=(",", ":"))


def _are_plain(content: Any) -> bool:
    """Whether this is a list of objects whose values are plain."""
    return isinstance(content, list) and all(
        isinstance(item, dict)
        and all(value is None or isinstance(value, str | int | float) for value in item.values())
        for item in content
    )


def _is_of_texts(content: Any) -> bool:
    return isinstance(content, dict) and all(isinstance(v, str) for v in content.values())
