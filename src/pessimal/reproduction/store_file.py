"""The SQLite file of a store: recognised before it is opened, created whole, never half.

The rollback journal is SQLite's default and stays: a process killed in mid-write leaves a journal
that the next opening rolls back, and unlike a write-ahead log it needs no memory shared between
processes, which disks on a network do not offer. One commit per configuration is too few to gain
from more speed.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from pessimal.errors import InvalidInputError, StorageError

APPLICATION_ID = int.from_bytes(b"PESS", "big")
SCHEMA_VERSION = 1

_MAGIC = b"SQLite format 3\0"
_SECONDS_FOR_A_LOCK = 60.0

_COLUMNS = {
    "runs": {"id", "study", "version", "cells", "command", "environment", "started", "elapsed"},
    "cells": {"study", "version", "cell", "rows", "seconds"},
}
_SCHEMA = (
    """CREATE TABLE runs (
        id INTEGER PRIMARY KEY,
        study TEXT NOT NULL,
        version TEXT NOT NULL,
        cells TEXT NOT NULL,        -- the declared configurations, a JSON list in order
        command TEXT NOT NULL,
        environment TEXT NOT NULL,  -- a JSON object
        started TEXT NOT NULL,      -- UTC
        elapsed REAL NOT NULL       -- seconds until the last configuration stored
    )""",
    """CREATE TABLE cells (
        study TEXT NOT NULL,
        version TEXT NOT NULL,
        cell TEXT NOT NULL,         -- a configuration, canonical JSON
        rows TEXT NOT NULL,         -- a JSON list
        seconds REAL NOT NULL,
        PRIMARY KEY (study, version, cell)
    ) WITHOUT ROWID""",
)


def open_file(path: Path, *, create: bool) -> sqlite3.Connection:
    """Open a file that is a store and whole, or make one; any other is left as it is."""
    if create:
        _create(path)
    elif not path.is_file():
        raise InvalidInputError(
            f"there is no store of studies at {path}; pass the folder that `pessimal "
            "reproduce` wrote to"
        )
    _recognise(path)
    connection = _connect(path)
    try:
        _check(connection, path)
        _complete(connection, path)
    except BaseException:
        connection.close()
        raise
    return connection


@contextmanager
def transaction(connection: sqlite3.Connection, path: Path) -> Iterator[None]:
    """All or nothing; a disk that is full or gone is told with what is safe."""
    try:
        with connection:
            connection.execute("BEGIN IMMEDIATE")
            yield
    except sqlite3.Error as error:
        raise StorageError(
            f"{path} cannot be written ({error}). What it already holds is safe: free "
            "some space or check the disk, then run the same command again"
        ) from error


def _check(connection: sqlite3.Connection, path: Path) -> None:
    try:
        with closing(connection.execute("PRAGMA quick_check(1)")) as found:
            verdict = str(found.fetchone()[0])
    except sqlite3.Error as error:
        verdict = str(error)
    if verdict != "ok":
        raise damaged(path, verdict)


def _complete(connection: sqlite3.Connection, path: Path) -> None:
    """Write the tables of a new file; require those of any other."""
    version = _schema_version(connection)
    if version > SCHEMA_VERSION:
        raise InvalidInputError(
            f"{path} was written by a newer version of pessimal (format {version}, known "
            f"up to {SCHEMA_VERSION}); install that version, or pass another folder"
        )
    if version == SCHEMA_VERSION:
        _require_tables(connection, path)
        return
    with transaction(connection, path):
        if _schema_version(connection) == SCHEMA_VERSION:  # another process was faster
            return
        for statement in _SCHEMA:
            connection.execute(statement)
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")


def _require_tables(connection: sqlite3.Connection, path: Path) -> None:
    for table, columns in _COLUMNS.items():
        described = connection.execute(f"PRAGMA table_info({table})")
        found = {name for (_, name, *_) in described}
        if not columns <= found:
            lacking = f"its table {table} lacks {', '.join(sorted(columns - found))}"
            raise damaged(path, lacking if found else f"it has no table {table}")


def _schema_version(connection: sqlite3.Connection) -> int:
    return int(connection.execute("PRAGMA user_version").fetchone()[0])


def damaged(path: Path, reason: str) -> InvalidInputError:
    """Return the error of a file that does not hold what it should."""
    return InvalidInputError(
        f"{path} is damaged ({reason}) and was left as it is; put back a copy of it, or "
        "move it away to begin anew"
    )


def _create(path: Path) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    except OSError as error:
        raise InvalidInputError(
            f"no store can be made at {path} ({error.strerror}); pass a folder you may write to"
        ) from error


def _recognise(path: Path) -> None:
    """Read the header without SQLite, which might roll back a journal of somebody else's file."""
    try:
        with path.open("rb") as file:
            header = file.read(100)
    except OSError as error:
        raise InvalidInputError(
            f"{path} cannot be read ({error.strerror}); check its rights"
        ) from error
    application_id = int.from_bytes(header[68:72], "big")
    if header and (not header.startswith(_MAGIC) or application_id != APPLICATION_ID):
        raise InvalidInputError(
            f"{path} is not a store of studies and was left as it is; pass another folder, or move "
            "the file away"
        )


def _connect(path: Path) -> sqlite3.Connection:
    try:
        return sqlite3.connect(
            f"{path.absolute().as_uri()}?mode=rw",
            uri=True,
            timeout=_SECONDS_FOR_A_LOCK,
            isolation_level=None,  # transactions are opened by hand
        )
    except sqlite3.Error as error:
        raise InvalidInputError(f"{path} cannot be opened ({error}); check its rights") from error
