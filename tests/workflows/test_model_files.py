"""Model files by their schema: earlier ones are read, hostile ones are refused in one line."""

from __future__ import annotations

import copy
import json
import subprocess
import sys
from collections.abc import Iterator
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from command import Ended, run_command
from jsonschema import Draft202012Validator

from pessimal.errors import InvalidInputError
from pessimal.workflows import read_model

EARLIER = Path(__file__).parent / "earlier"
"""Written by `pessimal tune` before model files had a schema, and what they predicted of rows."""

NAMES = ("logistic-fill", "svc-box-drop")
ROWS = EARLIER / "rows.csv"
FRAME = pd.read_csv(ROWS)
TEXT = (EARLIER / "logistic-fill.json").read_text("utf-8")
WHOLE: dict[str, Any] = json.loads(TEXT)
SCHEMA: dict[str, Any] = json.loads(
    resources.files("pessimal.workflows").joinpath("model_file.schema.json").read_text("utf-8")
)


def content(name: str) -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads((EARLIER / f"{name}.json").read_text("utf-8"))
    return loaded


@pytest.mark.parametrize("name", NAMES)
def test_a_file_of_before_there_was_a_schema_predicts_as_it_did(name: str, tmp_path: Path) -> None:
    ended = run_command("predict", EARLIER / f"{name}.json", ROWS, "--out", tmp_path / "now.csv")
    assert ended.code == 0
    now, before = pd.read_csv(tmp_path / "now.csv"), pd.read_csv(EARLIER / f"{name}.csv")
    pd.testing.assert_frame_equal(now, before, rtol=1e-6)
    assert now["prediction"].isna().any()  # a category that tuning never saw
    assert now["prediction"].notna().any()


@pytest.mark.parametrize("name", NAMES)
def test_any_program_for_json_schema_can_check_a_file(name: str) -> None:
    Draft202012Validator.check_schema(SCHEMA)
    theirs, whole = Draft202012Validator(SCHEMA), content(name)
    assert theirs.is_valid(whole)
    for field in ("format", "version", "classes", "columns", "coef", "facts", "equally_good"):
        assert not theirs.is_valid(whole | {field: "text"}), field


def test_whatever_the_schema_refuses_it_has_words_for() -> None:
    def constraints(schema: Any) -> Iterator[dict[str, Any]]:
        if isinstance(schema, dict):
            if {"type", "const"} & set(schema):
                yield schema
            for name, part in schema.items():
                if name not in ("if", "required"):
                    yield from constraints(part)

    found = list(constraints(SCHEMA))
    assert len(found) > 10
    for schema in found:
        assert schema["description"]
        assert {"minItems", "uniqueItems"}.isdisjoint(schema) or schema["errorMessage"]


def changed(*path: Any, to: Any) -> str:
    """Return the file with another value at one place."""
    whole = copy.deepcopy(WHOLE)
    inner: Any = whole
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = to
    return json.dumps(whole)


def literally(*path: Any, to: str) -> str:
    """Return the file with text at one place that need not be JSON."""
    return changed(*path, to="@").replace('"@"', to)


def without(*names: str) -> str:
    return json.dumps({name: value for name, value in WHOLE.items() if name not in names})


def lists(depth: int) -> str:
    return "[" * depth + "]" * depth


SHORT = WHOLE["equally_good"]["outer"]["curvature"][:-1]

HOSTILE: dict[str, tuple[str, str]] = {
    "nothing": ("", "is not JSON (Expecting value"),
    "cut off": (TEXT[: len(TEXT) // 2], "is not JSON"),
    "cut off at its last brace": (TEXT.rstrip()[:-1], "is not JSON"),
    "two of them": (TEXT + TEXT, "is not JSON (Extra data"),
    "a pickle": ("cos\nsystem\n(S'true'\ntR.", "is not JSON"),
    "an array": ("[]", "the file is [] instead of an object"),
    "another program's": ('{"name": "x", "version": "1.2"}', "the file has no 'format'"),
    "a later version": (changed("version", to=2), "version is 2, and this program reads 1"),
    "version as text": (changed("version", to="1"), "version is '1' instead of 1"),
    "version true": (changed("version", to=True), "version is True instead of 1"),
    "later, with other content": (
        json.dumps({"format": "pessimal model", "version": 3}),
        "version is 3, and this program reads 1",
    ),
    "no classes": (without("classes"), "the file has no 'classes'"),
    "no box": (without("kind"), "the file has no 'box'"),
    "a nameless column": (changed("columns", 1, to={"fill": 1}), "columns[1] has no 'name'"),
    "a column of text": (changed("columns", 1, to="age"), "columns[1] is 'age' instead of an obje"),
    "a numbered column": (changed("columns", 0, "name", to=7), "columns[0].name is 7 instead of t"),
    "categories of no kind": (
        changed("columns", 2, "categories", to="ab"),
        "columns[2].categories is 'ab' instead of a list or null",
    ),
    "no categories": (
        changed("columns", 2, "categories", to=[]),
        "columns[2].categories are none, or one of them is there twice",
    ),
    "a category that is a number": (
        changed("columns", 2, "categories", 1, to=3),
        "columns[2].categories[1] is 3 instead of text",
    ),
    "a fill of text": (
        changed("columns", 0, "fill", to="x"),
        "columns[0].fill is 'x' instead of a finite number or null",
    ),
    "an unknown fill": (changed("columns", 2, "fill", to="Oslo"), "none of its categories"),
    "a boolean for a number": (changed("coef", 2, to=True), "coef[2] is True instead of a finite"),
    "a digit as text": (changed("coef", 2, to="1"), "coef[2] is '1' instead of a finite number"),
    "a coefficient too few": (changed("coef", to=[1.0]), "coef has 1 numbers instead of 6"),
    "a list for the intercept": (changed("intercept", to=[1]), "intercept is [1] instead of a fin"),
    "NaN": (literally("intercept", to="NaN"), "is not JSON (NaN is not a number"),
    "Infinity": (literally("coef", 0, to="-Infinity"), "is not JSON (-Infinity is not a number"),
    "1e400": (literally("coef", 0, to="1e400"), "coef[0] is inf instead of a finite number"),
    "400 digits": (literally("intercept", to="9" * 400), "instead of a finite number"),
    "5000 digits": (literally("intercept", to="9" * 5000), "is not JSON"),
    "a fact of 1e400": (literally("facts", "seed", to="1e400"), "facts.seed is inf instead of"),
    "a fact that is a list": (changed("facts", "a b", to=[1]), "facts['a b'] is [1] instead of"),
    "a class of half a character": (changed("classes", 0, to="\ud800"), r"classes[0] is '\ud800'"),
    "a name given twice": (TEXT.replace('"coef"', '"coef": 0, "coef"'), "'coef' stands more than"),
    "an inner name twice": (
        TEXT.replace('"slope"', '"value": 0, "slope"'),
        "'value' stands more than once",
    ),
    "lists in lists": (literally("coef", to=lists(100_000)), "is not JSON (maximum recursion"),
    "lists in a class": (literally("classes", 0, to=lists(300)), "instead of text"),
    "nothing equally good": (changed("equally_good", to=None), "equally_good is None instead of"),
    "half an ellipsoid": (changed("equally_good", to={"shift": []}), "equally_good has no 'scale'"),
    "a shift too few": (changed("equally_good", "shift", to=[0]), "has 1 numbers instead of 6"),
    "a flat scale": (changed("equally_good", "scale", 0, to=0), "a number that is not positive"),
    "no curvature": (
        changed("equally_good", "outer", to={"value": -1, "slope": []}),
        "equally_good.outer has no 'curvature'",
    ),
    "a curvature too short": (
        changed("equally_good", "outer", "curvature", to=SHORT),
        "curvature of outer has 27 numbers instead of 28",
    ),
    "an ellipsoid of 1e308": (
        changed("equally_good", "outer", "curvature", 1, to=1e308),
        "curvature of outer is not that of an ellipsoid",
    ),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_file_is_refused_in_one_line_that_says_why(name: str, tmp_path: Path) -> None:
    text, why = HOSTILE[name]
    path = tmp_path / "model.json"
    path.write_text(text, "utf-8")
    ended = run_command("predict", path, ROWS)
    assert (ended.code, ended.out) == (2, ""), ended
    [line] = ended.err.splitlines()
    assert line.startswith(f"Error: {path} is not ")
    assert why in line
    assert line.endswith(("; write it again with pessimal tune", "written by pessimal tune"))
    assert len(line) < len(str(path)) + 250


@pytest.mark.parametrize("depth", range(850, 1001, 10))
@pytest.mark.parametrize("ends", ["[]", "{}"])
def test_no_depth_of_nesting_is_more_than_one_line(depth: int, ends: str, tmp_path: Path) -> None:
    opened = ends[0] if ends == "[]" else '{"a":'
    path = tmp_path / "deep.json"
    path.write_text(literally("target", to=opened * depth + "1" + ends[1] * depth), "utf-8")
    with pytest.raises(InvalidInputError, match=r"not JSON|instead of text|too deeply"):
        read_model(path)


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the path of every value, of a long list the first and the last."""
    items = value.items() if isinstance(value, dict) else [(k, value[k]) for k in (0, -1)]
    for key, inner in items:
        yield (*path, key)
        if isinstance(inner, dict | list):
            yield from places(inner, (*path, key))


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("name", NAMES)
def test_what_is_not_refused_predicts_numbers_or_nothing(name: str, tmp_path: Path) -> None:
    path, whole = tmp_path / "model.json", content(name)
    values: list[Any] = [None, True, "x", [], {}, [[]], -1, 0, 1e308, -1e308, 5e-324, "\ud800"]
    for place in places(whole):
        for wrong in values:
            hostile = copy.deepcopy(whole)
            inner = hostile
            for key in place[:-1]:
                inner = inner[key]
            inner[place[-1]] = wrong
            path.write_text(json.dumps(hostile), "utf-8")
            try:
                said = read_model(path).predict(FRAME.head(4))
            except InvalidInputError:
                continue
            assert not np.isinf(said[["score", "low", "high"]].to_numpy()).any()
            said.to_csv().encode()


def test_what_the_schema_does_not_list_is_ignored(tmp_path: Path) -> None:
    more: dict[str, Any] = {"new": {"of": ["a later", "program"]}, "__class__": "os.system"}
    columns = [column | more for column in WHOLE["columns"]]
    path = tmp_path / "more.json"
    path.write_text(json.dumps(WHOLE | more | {"columns": columns}), "utf-8")
    assert read_model(path) == read_model(EARLIER / "logistic-fill.json")


def test_only_who_reads_a_model_file_imports_what_checks_it() -> None:
    script = (
        "import sys, pessimal, pessimal.workflows, pessimal.tabular; from pathlib import Path; "
        "from pessimal.cli import main; assert main(['--help']) == 0; "
        "assert main(['predict', '--help']) == 0; "
        "assert not {'jsonschema', 'referencing', 'rpds'} & set(sys.modules); "
        f"pessimal.workflows.read_model(Path({str(EARLIER / 'logistic-fill.json')!r})); "
        "assert 'jsonschema' in sys.modules"
    )
    ended = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False
    )
    assert Ended(ended.returncode, "", ended.stderr) == Ended(0, "", "")
