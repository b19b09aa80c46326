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
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pandas as pd

from pessimal.errors import InvalidInputError
from pessimal.reproduction.store_file import damaged, open_store, transaction
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

    Attributes
    ----------
    version : str
        Code version of the rows.
    factors : tuple of str
        Columns of the configurations.
    configurations, missing : int
        Configurations declared by the last run, and how many of them have no rows yet.
    seconds : float
        Computing time of the configurations, summed over all workers.
    runs : tuple of Run
        The runs that declared these configurations, oldest first; one that was killed counts until
        the last configuration that it stored.
    """

    version: str
    factors: tuple[str, ...]
    configurations: int
    missing: int
    seconds: float
    runs: tuple[Run, ...]


@dataclass(frozen=True)
class _Plan:
    """What was declared: version, configurations by their key, and the runs that did so."""

    version: str
    configurations: Mapping[str, Configuration]
    runs: Sequence[tuple[Any, ...]]


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
        self._connection = open_store(self.path, create=create)

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
        configurations = _dump([dict(configuration) for configuration in _keyed(study).values()])
        values = (study.name, version, configurations, command, _dump(dict(environment)), started)
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
        return [configuration for key, configuration in _keyed(study).items() if key not in stored]

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
        plan = self._plan(study, version, all_runs)
        stored = self._stored(study, plan.version)
        return [
            {**configuration, **row}
            for key, configuration in plan.configurations.items()
            for row in self._objects("rows", stored.get(key, ("[]",))[0])
        ]

    def summary(self, study: str, *, all_runs: bool = False) -> Summary:
        """Say what the rows of `frame`, or of all runs of their version, were made from."""
        plan = self._plan(study, None, all_runs)
        stored = self._stored(study, plan.version)
        keys = list(plan.configurations)
        return Summary(
            version=plan.version,
            factors=tuple(dict.fromkeys(n for each in plan.configurations.values() for n in each)),
            configurations=len(keys),
            missing=sum(key not in stored for key in keys),
            seconds=sum(stored[key][1] for key in keys if key in stored),
            runs=tuple(
                Run(str(command), self._object(environment), str(started), self._number(elapsed))
                for _, command, environment, started, elapsed in plan.runs
            ),
        )

    def _plan(self, study: str, version: str | None, all_runs: bool) -> _Plan:
        """Return what the last run of a study declared, or all runs of its version."""
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
        kept = [run[1:] for run in runs if all_runs or run[1] == runs[-1][1]]
        declared = [each for run in kept for each in self._objects("cells", run[0])]
        return _Plan(str(runs[-1][0]), {canonical(each): each for each in declared}, kept)

    def _stored(self, study: str, version: str) -> dict[str, tuple[str, float]]:
        """Read the encoded rows and the seconds of every stored configuration."""
        found = self._connection.execute(
            "SELECT cell, rows, seconds FROM cells WHERE study = ? AND version = ?",
            (study, version),
        )
        return {
            configuration: (rows, self._number(seconds)) for configuration, rows, seconds in found
        }

    def _objects(self, what: str, text: Any) -> list[Mapping[str, Value]]:
        """Read a JSON list of objects whose values are plain."""
        content = self._json(text)
        if not isinstance(content, list) or not all(map(_is_plain, content)):
            raise damaged(self.path, f"{what} are no list of plain objects: {_start(text)}")
        return content

    def _object(self, text: Any) -> dict[str, str]:
        """Read a JSON object of texts."""
        content = self._json(text)
        if not isinstance(content, dict) or not all(isinstance(v, str) for v in content.values()):
            raise damaged(self.path, f"an environment is no object of texts: {_start(text)}")
        return content

    def _json(self, text: Any) -> Any:
        try:
            return json.loads(text)
        except (TypeError, ValueError, RecursionError):
            raise damaged(self.path, f"it holds {_start(text)} where JSON should be") from None

    def _number(self, value: Any) -> float:
        if not isinstance(value, int | float) or not math.isfinite(value):
            raise damaged(self.path, f"it holds {_start(value)} where seconds should be")
        return float(value)


def canonical(configuration: Configuration) -> str:
    """Write a configuration so that equal configurations give equal text.

    Examples
    --------
    >>> canonical({"seed": 1, "data": "cancer"}) == canonical({"data": "cancer", "seed": 1})
    True
    """
    return _dump(dict(configuration), sort_keys=True)


def _keyed(study: Study) -> dict[str, Configuration]:
    """Return the configurations of a study by their key, each once, in order."""
    return {canonical(configuration): configuration for configuration in study.configurations}


def encode(rows: Sequence[Row]) -> str:
    """Write rows as JSON, every float with its exact value."""
    return _dump([dict(row) for row in rows])


def _is_plain(content: Any) -> bool:
    return isinstance(content, dict) and all(
        value is None or isinstance(value, str | int | float) for value in content.values()
    )


def _start(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 40 else text[:37] + "..."


def _dump(value: object, *, sort_keys: bool = False) -> str:
    return json.dumps(value, sort_keys=sort_keys, separators=(",", ":"))
