"""Tuned models as JSON files: a stated format, checked field by field on reading.

Nothing in a file is ever executed, and a file that is not exactly a model is refused.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from dataclasses import asdict
from pathlib import Path
from typing import Any, NoReturn

from pessimal import __version__
from pessimal.atomic import write_text
from pessimal.errors import InvalidInputError
from pessimal.tabular import Column, Recipe
from pessimal.workflows.model import TunedModel

FORMAT = "pessimal model"
VERSION = 1


def write_model(model: TunedModel, path: Path) -> None:
    """Write a model file.

    Examples
    --------
    >>> import tempfile
    >>> recipe = Recipe((Column("size"),))
    >>> model = TunedModel("kind", ("a", "b"), recipe, (1.0,), -2.0, (1.0,), "", {"epsilon": 0.2})
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_model(model, Path(folder) / "model.json")
    ...     read_model(Path(folder) / "model.json") == model
    True
    """
    content = {
        "format": FORMAT,
        "version": VERSION,
        "written_by": f"pessimal {__version__}",
        "target": model.target,
        "classes": model.classes,
        "columns": [asdict(column) for column in model.recipe.columns],
        "coef": model.coef,
        "intercept": model.intercept,
        "box": model.box,
        "guarantee": model.guarantee,
        "facts": dict(model.facts),
    }
    write_text(path, json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False) + "\n")


def read_model(path: Path) -> TunedModel:
    """Read a model file, and refuse whatever is not one.

    Parameters
    ----------
    path : Path

    Returns
    -------
    TunedModel
        Without the notes of its recipe.
    """
    try:
        text = path.read_text(encoding="utf-8")
        content = json.loads(text, parse_constant=_no_constant, object_pairs_hook=_distinct)
    except OSError as error:
        raise InvalidInputError(
            f"{path} cannot be read ({error.strerror}); pass a model file written by pessimal tune"
        ) from None
    except (ValueError, RecursionError) as error:
        raise InvalidInputError(
            f"{path} is not JSON ({error}); pass a model file written by pessimal tune"
        ) from None
    try:
        return _model(content)
    except _Wrong as wrong:
        raise InvalidInputError(
            f"{path} is not a model file: {wrong}; write it again with pessimal tune"
        ) from None


class _Wrong(Exception):  # noqa: N818 (becomes an error of the package, with the path)
    """What is wrong with the content of a file."""


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a number")


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Make an object of its pairs; of a name given twice, JSON readers differ on which counts."""
    fields = dict(pairs)
    if len(fields) < len(pairs):
        name, _ = Counter(name for name, _ in pairs).most_common(1)[0]
        raise ValueError(f"the name {_short(name)} stands more than once in an object")
    return fields


def _model(content: Any) -> TunedModel:
    fields = _object("the file", content)
    if fields.get("format") != FORMAT:
        raise _Wrong(f"format is {_short(fields.get('format'))} instead of {FORMAT!r}")
    if type(fields.get("version")) is not int or fields["version"] != VERSION:
        raise _Wrong(
            f"version is {_short(fields.get('version'))}, and this program reads {VERSION}"
        )
    columns = tuple(_column(item) for item in _list("columns", fields.get("columns")))
    recipe = Recipe(columns)
    names = [column.name for column in columns]
    if not names or len(set(names)) < len(names):
        raise _Wrong("columns is empty or names a column twice")
    classes = tuple(_label(item) for item in _list("classes", fields.get("classes")))
    if len(classes) != 2 or classes[0] == classes[1]:
        raise _Wrong("classes are not two different labels")
    n_features = len(recipe.feature_names)
    facts = _object("facts", fields.get("facts"))
    return TunedModel(
        target=_text("target", fields.get("target")),
        classes=(classes[0], classes[1]),
        recipe=recipe,
        coef=_numbers("coef", fields.get("coef"), n_features),
        intercept=_number("intercept", fields.get("intercept")),
        box=_numbers("box", fields.get("box"), n_features),
        guarantee=_text("guarantee", fields.get("guarantee")),
        facts={name: None if fact is None else _label(fact) for name, fact in facts.items()},
    )


def _column(content: Any) -> Column:
    fields = _object("a column", content)
    name = _text("the name of a column", fields.get("name"))
    fill = fields.get("fill")
    if fields.get("categories") is None:
        return Column(name, fill=None if fill is None else _number(f"fill of {name!r}", fill))
    categories = tuple(
        _text(f"a category of {name!r}", item)
        for item in _list(f"categories of {name!r}", fields["categories"])
    )
    if not categories or len(set(categories)) < len(categories):
        raise _Wrong(f"categories of {name!r} are none, or one of them is there twice")
    if fill is not None and fill not in categories:
        raise _Wrong(f"fill of {name!r} is {_short(fill)}, which is none of its categories")
    return Column(name, categories, fill)


def _object(name: str, value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise _Wrong(f"{name} is {_short(value)} instead of an object")
    return value


def _list(name: str, value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise _Wrong(f"{name} is {_short(value)} instead of a list")
    return value


def _text(name: str, value: Any) -> str:
    if not isinstance(value, str):
        raise _Wrong(f"{name} is {_short(value)} instead of text")
    return value


def _number(name: str, value: Any) -> float:
    if isinstance(value, int | float) and not isinstance(value, bool):
        try:
            number = float(value)
        except OverflowError:
            number = math.inf
        if math.isfinite(number):
            return number
    raise _Wrong(f"{name} is {_short(value)} instead of a finite number")


def _numbers(name: str, value: Any, length: int) -> tuple[float, ...]:
    values = _list(name, value)
    if len(values) != length:
        raise _Wrong(f"{name} has {len(values)} numbers for {length} features")
    return tuple(_number(f"a number of {name}", item) for item in values)


def _label(value: Any) -> str | int | float | bool:
    return value if isinstance(value, str | int) else _number("a label or fact", value)


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 40 else text[:37] + "..."
