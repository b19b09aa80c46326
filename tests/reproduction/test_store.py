"""The store gives back what it was given, and refuses files that are not its own."""

from __future__ import annotations

import ast
import math
import shutil
import sqlite3
from pathlib import Path

import pytest

import pessimal
from pessimal.environment import fingerprint, is_shown_only
from pessimal.errors import InvalidInputError
from pessimal.reproduction import Store, Study, Value
from pessimal.reproduction.store import encode

STUDY = Study("toy", ({"seed": 0}, {"seed": 1}, {"seed": 2}), lambda _: [])


def filled(path: Path, version: str = "1", seeds: tuple[int, ...] = (2, 0)) -> None:
    with Store(path) as store:
        run = store.begin(STUDY, version, command="make it", environment={"machine": "abacus"})
        for seed in seeds:
            rows = encode([{"value": 0.1 * seed, "version": version}])
            store.add(run, {"seed": seed}, rows, seconds=1.5, elapsed=2.0 + seed)


@pytest.mark.parametrize(
    "value",
    [0.1 + 0.2, 5e-324, -0.0, math.inf, 2**80, True, None, "naïve \x00 <b>'\"", ""],
)
def test_values_come_back_as_they_were(tmp_path: Path, value: Value) -> None:
    with Store(tmp_path / "s.sqlite") as store:
        run = store.begin(STUDY, "1", command="", environment={})
        store.add(run, {"seed": 0}, encode([{"value": value}]), seconds=0.0, elapsed=0.0)
        found = store.frame("toy")["value"].astype(object)[0]
        assert type(found) is type(value) or isinstance(value, bool)
        assert found == value
        assert str(found) == str(value)  # minus zero equals zero


def test_rows_come_in_the_order_of_declaration_beside_their_configuration(tmp_path: Path) -> None:
    filled(tmp_path / "s.sqlite", seeds=(2, 0))
    with Store(tmp_path / "s.sqlite", create=False) as store:
        assert store.frame("toy").to_dict("list") == {
            "seed": [0, 2],
            "value": [0.0, 0.2],
            "version": ["1", "1"],
        }


def test_a_configuration_is_stored_once_whatever_the_order_of_its_keys(tmp_path: Path) -> None:
    study = Study("toy", ({"a": 1, "b": 2},), lambda _: [])
    with Store(tmp_path / "s.sqlite") as store:
        run = store.begin(study, "1", command="", environment={})
        for value in (1, 2):
            row = encode([{"value": value}])
            store.add(run, {"b": 2, "a": 1}, row, seconds=0.0, elapsed=0.0)
        assert store.pending(study, "1") == []
        assert list(store.frame("toy")["value"]) == [1]


def test_versions_are_never_mixed_and_the_last_run_counts(tmp_path: Path) -> None:
    path = tmp_path / "s.sqlite"
    filled(path, "1", (0, 1, 2))
    filled(path, "2", (1,))
    with Store(path) as store:
        assert list(store.frame("toy")["version"]) == ["2"]
        assert store.summary("toy").missing == 2
        assert list(store.frame("toy", "1")["version"]) == ["1", "1", "1"]
        assert [configuration["seed"] for configuration in store.pending(STUDY, "2")] == [0, 2]
        with pytest.raises(InvalidInputError, match="version 3"):
            store.frame("toy", "3")


def test_the_summary_counts_configurations_time_and_runs(tmp_path: Path) -> None:
    path = tmp_path / "s.sqlite"
    filled(path, seeds=(2,))
    filled(path, seeds=(0,))
    with Store(path) as store:
        summary = store.summary("toy")
    assert (summary.version, summary.configurations, summary.missing) == ("1", 3, 1)
    assert summary.seconds == 3.0
    assert [run.elapsed for run in summary.runs] == [4.0, 2.0]
    assert {run.command for run in summary.runs} == {"make it"}
    assert summary.runs[0].environment == {"machine": "abacus"}


def foreign_database(path: Path) -> None:
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE runs (precious TEXT)")


def text(path: Path) -> None:
    path.write_text("Dear diary, " * 1000, encoding="utf-8")


def truncated(path: Path) -> None:
    filled(path)
    path.write_bytes(path.read_bytes()[:5000])


def overwritten(path: Path) -> None:
    filled(path)
    whole = path.read_bytes()
    path.write_bytes(whole[:4096] + b"\xff" * (len(whole) - 4096))


def from_the_future(path: Path) -> None:
    filled(path)
    with sqlite3.connect(path) as connection:
        connection.execute("PRAGMA user_version = 99")


def without_a_table(path: Path) -> None:
    filled(path)
    with sqlite3.connect(path) as connection:
        connection.execute("DROP TABLE cells")


def without_a_column(path: Path) -> None:
    filled(path)
    with sqlite3.connect(path) as connection:
        connection.execute("ALTER TABLE cells DROP COLUMN seconds")


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (foreign_database, "not a store"),
        (text, "not a store"),
        (truncated, "damaged"),
        (overwritten, "damaged"),
        (from_the_future, "newer version"),
        (without_a_table, "it has no table cells"),
        (without_a_column, "its table cells lacks seconds"),
    ],
)
def test_a_file_that_cannot_be_used_is_refused_and_left_alone(
    tmp_path: Path, spoil: object, message: str
) -> None:
    path = tmp_path / "s.sqlite"
    assert callable(spoil)
    spoil(path)
    before = path.read_bytes()
    with pytest.raises(InvalidInputError, match=message) as raised:
        Store(path)
    assert str(path) in str(raised.value)
    assert path.read_bytes() == before
    assert [entry.name for entry in tmp_path.iterdir()] == [path.name]


@pytest.mark.parametrize("text", ["{", "1", "[1]", '[{"a": [1]}]', "", None, b"\xff", 2.5])
@pytest.mark.parametrize("place", ["runs.cells", "cells.rows", "runs.environment"])
def test_content_of_another_kind_is_named_when_read(
    tmp_path: Path, place: str, text: object
) -> None:
    path = tmp_path / "s.sqlite"
    filled(path)
    table, column = place.split(".")
    with sqlite3.connect(path) as connection:
        connection.execute("PRAGMA writable_schema = ON")
        connection.execute("UPDATE sqlite_master SET sql = replace(sql, ' NOT NULL', '')")
    with sqlite3.connect(path) as connection:
        connection.execute(f"UPDATE {table} SET {column} = ?", (text,))
    with Store(path) as store, pytest.raises(InvalidInputError, match="damaged"):
        assert store.frame("toy").empty or store.summary("toy")


def test_a_file_left_empty_by_a_killed_creation_is_completed(tmp_path: Path) -> None:
    (tmp_path / "s.sqlite").touch()
    filled(tmp_path / "s.sqlite")


def test_a_store_that_is_not_there_is_not_made_by_reading(tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match="no store"):
        Store(tmp_path / "s.sqlite", create=False)
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_is_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "out").write_text("precious", encoding="utf-8")
    with pytest.raises(InvalidInputError, match="pass a folder"):
        Store(tmp_path / "out" / "s.sqlite")


def test_an_unknown_study_is_named_with_the_known_ones(tmp_path: Path) -> None:
    filled(tmp_path / "s.sqlite")
    with (
        Store(tmp_path / "s.sqlite") as store,
        pytest.raises(InvalidInputError, match=r"'other'.*\['toy'\]"),
    ):
        store.frame("other")


def test_the_code_version_changes_with_what_computes_and_not_with_what_shows(
    tmp_path: Path,
) -> None:
    package = tmp_path / "pessimal"
    source = Path(next(iter(pessimal.__path__)))
    shutil.copytree(source, package, ignore=shutil.ignore_patterns("*.so", "__pycache__"))
    seen = fingerprint(package)
    assert seen == fingerprint(source)
    for name in (
        "report/page.py",
        "reproduction/report/quality.py",
        "demo.py",
        "cli/tune.py",
        "workflows/words.py",
    ):
        (package / name).write_text("# edited", encoding="utf-8")
        assert fingerprint(package) == seen
    for name in (
        "solve.py",
        "solvers/search/tree.py",
        "lp/simplex.pxd",
        "datasets/data/pima_indians_diabetes.csv",
    ):
        (package / name).write_text("# edited", encoding="utf-8")
        assert fingerprint(package) != seen
        seen = fingerprint(package)


def test_nothing_that_counts_imports_what_does_not() -> None:
    package = Path(next(iter(pessimal.__path__)))
    for path in package.rglob("*.py"):
        own = path.relative_to(package).as_posix()
        if own == "__init__.py" or is_shown_only(own):
            continue
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            names = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            names += [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            for name in names:
                if name.startswith("pessimal."):
                    module = name.removeprefix("pessimal.").replace(".", "/")
                    shown = is_shown_only(module) or is_shown_only(f"{module}.py")
                    assert not shown, (path, name)
