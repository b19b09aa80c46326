"""A model file gives back the model it was made of; anything else is refused."""

import copy
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pessimal import tabular
from pessimal.errors import InvalidInputError
from pessimal.tabular import Column, ColumnEncoder
from pessimal.workflows import TunedModel, read_model, write_model

MODEL = TunedModel(
    target="outcome",
    classes=("ill", "well"),
    encoder=ColumnEncoder(
        (Column("age", fill=40.0), Column("site [x]", ("north", "süd"), "north"))
    ),
    coef=(0.1, -2.0, 1e-300),
    intercept=1.0 / 3.0,
    box=(1.0, 0.0, 0.5),
    guarantee="No model does worse.",
    facts={"epsilon": 0.2, "proved": True, "n_train": 20, "status": "optimal", "note": None},
)

NO_TEXT: list[Any] = [None, 1, True, [], {}]
NO_NUMBER: list[Any] = [None, "1", True, [], {}]
NO_THREE_NUMBERS: list[Any] = [*NO_NUMBER, [1, 2], [1, 2, 3, 4], [1, 2, "3"], [1, 2, True]]
WRONG_VALUES: dict[str, list[Any]] = {
    "format": [*NO_TEXT, "other"],
    "version": [None, True, "1", 2, 1.0, 1.5, [1], {}],
    "target": NO_TEXT,
    "classes": [None, "ab", 1, {}, [], ["a"], ["a", None], [["a"], "b"]],
    "columns": [None, "a", 1, {}, ["a"], [{}], [{"name": 1}], [{"name": "a", "fill": "b"}]],
    "coef": NO_THREE_NUMBERS,
    "intercept": NO_NUMBER,
    "box": NO_THREE_NUMBERS,
    "guarantee": NO_TEXT,
    "facts": [None, "a", 1, [], {"a": []}, {"a": {}}],
}


def content(folder: Path) -> dict[str, Any]:
    write_model(MODEL, folder / "model.json")
    loaded: dict[str, Any] = json.loads((folder / "model.json").read_text("utf-8"))
    return loaded


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the path of every value inside a JSON value."""
    items = value.items() if isinstance(value, dict) else enumerate(value)
    for key, inner in items:
        yield (*path, key)
        if isinstance(inner, dict | list):
            yield from places(inner, (*path, key))


def parent(value: Any, path: tuple[Any, ...]) -> Any:
    for key in path[:-1]:
        value = value[key]
    return value


def refusal(folder: Path, changed: Any) -> str | None:
    path = folder / "changed.json"
    path.write_text(json.dumps(changed), "utf-8")
    try:
        read_model(path)
    except InvalidInputError as error:
        return str(error)
    return None


@pytest.mark.parametrize("classes", [("ill", "well"), (0, 1), (False, True), (-0.5, 2.5)])
def test_a_model_comes_back_as_it_was(tmp_path: Path, classes: tuple[Any, Any]) -> None:
    model = TunedModel(**{**MODEL.__dict__, "classes": classes})
    write_model(model, tmp_path / "model.json")
    again = read_model(tmp_path / "model.json")
    assert again == model
    assert [type(label) for label in again.classes] == [type(label) for label in classes]


def test_every_part_that_is_missing_is_noticed(tmp_path: Path) -> None:
    whole = content(tmp_path)
    for path in places(whole):
        if path[0] in ("facts", "written_by") and path != ("facts",):
            continue  # said about the model, not needed to use it
        if path[-1] == "fill" or path == ("columns", 0, "categories"):
            continue  # absent is the same as null there
        changed = copy.deepcopy(whole)
        del parent(changed, path)[path[-1]]
        message = refusal(tmp_path, changed)
        assert message is not None, path
        assert "is not a model file: " in message


def test_values_of_another_type_are_noticed(tmp_path: Path) -> None:
    whole = content(tmp_path)
    assert set(whole) == {*WRONG_VALUES, "written_by"}
    for name, values in WRONG_VALUES.items():
        for wrong in values:
            message = refusal(tmp_path, whole | {name: wrong})
            assert message is not None, (name, wrong)
            assert "is not a model file: " in message


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"format": "other"}, "format is 'other' instead of 'pessimal model'"),
        ({"version": 2}, "version is 2, and this program reads 1"),
        ({"classes": ["a", "a"]}, "classes are not two different labels"),
        ({"classes": ["a", "b", "c"]}, "classes are not two different labels"),
        ({"classes": [["a"], "b"]}, "a label or fact is"),
        ({"coef": [1.0, 2.0]}, "coef has 2 numbers instead of 3"),
        ({"coef": [1.0, 2.0, 10**400]}, "instead of a finite number"),
        ({"columns": []}, "columns is empty or names a column twice"),
        ({"columns": [{"name": "a"}, {"name": "a"}]}, "columns is empty or names a column twice"),
        ({"columns": [{"name": "a", "categories": ["x", "x"]}]}, "one of them is there twice"),
        ({"columns": [{"name": "a", "categories": ["x"], "fill": 1}]}, "none of its categories"),
    ],
)
def test_contradictions_are_named(tmp_path: Path, change: dict[str, Any], message: str) -> None:
    assert message in (refusal(tmp_path, content(tmp_path) | change) or "")


@pytest.mark.parametrize(
    "text",
    ["", "{", "[]", "null", '"model"', "[" * 100_000, '{"coef": NaN}', "9" * 5000, "\x00"],
)
def test_what_is_not_json_or_no_object_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "model.json"
    path.write_text(text, "utf-8")
    with pytest.raises(InvalidInputError, match=r"is not (JSON|a model file)"):
        read_model(path)


@pytest.mark.parametrize("name", ["intercept", "name"])
def test_a_name_that_stands_twice_is_refused(tmp_path: Path, name: str) -> None:
    text = json.dumps(content(tmp_path))
    path = tmp_path / "twice.json"
    path.write_text(text.replace(f'"{name}":', f'"{name}": null, "{name}":'), "utf-8")
    with pytest.raises(InvalidInputError, match=f"the name '{name}' stands more than once"):
        read_model(path)


def test_bytes_that_are_no_text_and_missing_files_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "model.json"
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(InvalidInputError, match="is not JSON"):
        read_model(path)
    with pytest.raises(InvalidInputError, match="cannot be read"):
        read_model(tmp_path / "nowhere.json")


def test_a_failed_write_leaves_the_old_file_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "model.json"
    write_model(MODEL, path)
    before = path.read_bytes()
    unwritable = TunedModel(**{**MODEL.__dict__, "target": "\ud800"})
    with pytest.raises(UnicodeEncodeError):
        write_model(unwritable, path)
    assert path.read_bytes() == before
    assert [item.name for item in tmp_path.iterdir()] == ["model.json"]


def test_the_former_name_of_the_column_encoder_works_and_warns() -> None:
    with pytest.warns(FutureWarning, match="TunedModel.encoder"):
        assert MODEL.recipe is MODEL.encoder
    with pytest.warns(FutureWarning, match="ColumnEncoder"):
        assert tabular.Recipe is ColumnEncoder
